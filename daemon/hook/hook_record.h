/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hook_record - what of a whole hook outlives the process, beside the marks of its queue
 * (hook/delivery_log) and what its files hold (hook/files): what it owes though no key tells of it; pure.
 */
#ifndef HOOK_HOOK_RECORD_H
#define HOOK_HOOK_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "hook/hook.h"

struct hook_record {
    bool owes_snapshot; /* a run is due though nothing has changed, or under way, or to come with a
                           source that the last one lacked */
    bool owes_renewal;  /* batch, snapshot: what it did is gone, and no run has succeeded since */
    bool owes_apply;    /* what was written is to be applied, or that is under way */
    bool is_paused;     /* a person paused it */
    uint64_t forgotten; /* parked ends that were given up, by all processes */
};

/* As it is now; to be kept when it changes, before a run starts and when it has ended. */
struct hook_record hook_record_of(const struct hook *h);

/* An earlier process had the hook, with the same settings or others, and has left this. Before its
 * sources are opened. */
void hook_record_restore(struct hook *h, const struct hook_record *m, uint64_t now_ms);

/* The effects of the hook's runs are gone, or it is another hook by now (docs/design.md "Renewal"):
 * its delivery records must be recalled before. Before its sources are opened. */
void hook_record_renew(struct hook *h);

/* Beside that, for people: "its settings changed". why is a constant. */
void hook_record_renew_why(struct hook *h, const char *why);

#endif
