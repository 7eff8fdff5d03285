/* SPDX-License-Identifier: Apache-2.0 */
/*
 * oracle_outage - what hook_oracle knows of outages: what is promised for the life of a key, in words
 * of their own; pure.
 */
#ifndef UNIT_ORACLE_OUTAGE_H
#define UNIT_ORACLE_OUTAGE_H

#include "hook_oracle.h"

/* The source is seen, or became stale or fresh: a hook that does not take STALE is owed the end of
 * what it was not told. */
void oracle_accept_outage(struct oracle *o, size_t source);

/* A run with this event starts. */
void oracle_start_outage(struct oracle *o, const struct run_event *e);

/* It has ended. */
void oracle_end_outage(struct oracle *o, const struct run_event *e, bool ok);

/* Nothing is left to do. */
void oracle_check_outage(const struct oracle *o, size_t source);

#endif
