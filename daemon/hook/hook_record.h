/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hook_record - the part of a hook that outlives the process beside the records of its deliveries
 * (hook/delivery_log) and its files (hook/files): runs that it owes although no key is due; pure.
 */
#ifndef HOOK_HOOK_RECORD_H
#define HOOK_HOOK_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "hook/hook.h"

/* The record of one hook. */
struct hook_record {
    /* A snapshot is due though no key has changed, is under way, or will be due when a source opens
     * that the last snapshot lacked. */
    bool owes_snapshot;
    /* Batch, snapshot: the effects of its runs are gone, and no run has succeeded since. */
    bool owes_renewal;
    bool owes_apply; /* files are to be applied, or apply is under way */
    bool is_paused;  /* a person has paused it */
    /* Batch, snapshot: the hook is parked. The events of its last run are not delivered again before a
     * change. */
    bool is_parked;
    uint64_t forgotten; /* parked ends that all processes have given up */
};

/* The record as it is now. It is to be written when it has changed: before a run starts, and when a
 * run has ended. */
struct hook_record hook_record_of(const struct hook *h);

/* Takes over the record that an earlier process has left of this hook, whether its settings were
 * the same or not. Before the hook's sources are opened. */
void hook_record_restore(struct hook *h, const struct hook_record *m, uint64_t now_ms);

/* Renews the hook because the effects of its runs are gone or the hook has changed
 * (docs/design.md "Renewal"). Its delivery records must have been restored before, and its sources
 * must not be open yet. */
void hook_record_renew(struct hook *h);

/* Says for people why the hook was renewed, for example "its settings have changed". why is a
 * constant. */
void hook_record_renew_why(struct hook *h, const char *why);

#endif
