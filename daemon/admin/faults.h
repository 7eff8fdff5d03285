/* SPDX-License-Identifier: Apache-2.0 */
/*
 * faults - the faults that there are now, in sentences for people (docs/design.md "Health"): the member
 * `degraded` of the status, /healthz, and some of the findings of informerctl doctor; pure.
 */
#ifndef ADMIN_FAULTS_H
#define ADMIN_FAULTS_H

#include <stdbool.h>
#include <stdint.h>

#include "admin/finding.h"

struct admin_model;

/* Calls cb for each fault: the last reload has failed; the state cannot be written; a cluster is
 * another one or has not said yet which it is, its credentials cannot be used or expire soon, or its
 * servers are not verified; a watch is refused by the server, started stale, is stale, or fails before
 * its first list is complete; the guard holds a list; objects of a watch cannot be used; a key of a
 * hook is pending, or a file of it waits for apply, for longer than limits.pending; metrics.textfile
 * cannot be written; a kubeconfig does not exist yet; a credential is not valid yet. A short
 * interruption of a watch is no fault. */
void faults_each(const struct admin_model *m, uint64_t now_ms, finding_cb *cb, void *arg);

/* Is this longer than a key or a file of a hook may wait (limits.pending)? */
bool faults_is_overdue(const struct admin_model *m, uint64_t oldest_ms);

#endif
