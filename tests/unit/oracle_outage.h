/* SPDX-License-Identifier: Apache-2.0 */
/*
 * oracle_outage - the part of hook_oracle about outages: an outage of a source is treated like an
 * incarnation of a key; pure.
 */
#ifndef UNIT_ORACLE_OUTAGE_H
#define UNIT_ORACLE_OUTAGE_H

#include "hook_oracle.h"

/* The source is seen, or became stale or fresh: a hook that does not take STALE still gets the end
 * of the outage. */
void oracle_accept_outage(struct oracle *o, size_t source);

/* A run with this event starts. */
void oracle_start_outage(struct oracle *o, const struct run_event *e);

/* A run with this event has ended. */
void oracle_end_outage(struct oracle *o, const struct run_event *e, bool ok);

/* Nothing is left to do. */
void oracle_check_outage(const struct oracle *o, size_t source);

#endif
