/* SPDX-License-Identifier: Apache-2.0 */
/*
 * why - the one reason for which a key, a hook or its `apply` waits: the answer of informerctl why
 * (docs/design.md "Status report"); pure.
 */
#ifndef HOOK_WHY_H
#define HOOK_WHY_H

#include <stdint.h>

#include "hook/hook.h"

/* The thing that a hook or a key waits for. */
enum why_reason {
    WHY_HANDLED, /* nothing is due */
    WHY_RUNNING,
    WHY_SETTLING,
    WHY_MIN_INTERVAL,
    WHY_BACKOFF,
    WHY_PARKED,
    WHY_GUARD,      /* the guard holds a list of the source */
    WHY_NOT_SYNCED, /* the source is not synced */
    WHY_INCOMPLETE, /* limits.memory keeps objects out of the source */
    WHY_STALE,      /* the source is stale, and the hook waits (when_stale) */
    WHY_AFTER,      /* the first runs of another hook have not ended */
    WHY_SLOT,       /* all slots are in use */
    /* apply: the hook's command is running or about to run, or a hook that shares the program runs,
     * or is about to */
    WHY_HOLDING,
    WHY_PAUSED,
    WHY_SHORTAGE, /* the last run could not be started: the system was short of something */
    WHY_STRAYS,   /* obsolete output files of the hook are being removed */
    WHY_STARTING, /* informerd or the hook has just started, and starts no runs yet */
    WHY_RELOAD,   /* a reload changes the hook when its runs have ended */
    WHY_STOPPING, /* informerd ends */
    WHY_REASONS,
};

/* The knowledge of the time before this start of informerd, or before a reload that replaced the hook. */
enum why_before {
    WHY_BEFORE_NONE,
    WHY_BEFORE_HANDLED, /* its last run, before the start, succeeded */
    /* A run was started before the start and did not succeed; it may have been cut off. */
    WHY_BEFORE_ATTEMPTED,
    WHY_BEFORE_RENEW, /* the hook is renewed: it runs again for all objects */
};

/* One answer; all borrowed from the hooks. */
struct why {
    enum why_reason reason;
    enum why_before before_restart;
    bool before_reload;    /* before_restart is about the time before a reload */
    const char *renew_why; /* WHY_BEFORE_RENEW: "its settings have changed"; else NULL */
    /* GUARD, NOT_SYNCED, INCOMPLETE, STALE: the source; AFTER, and HOLDING if it is another one: the hook; else
     * NULL */
    const char *of;
    /* SETTLING, MIN_INTERVAL, BACKOFF, SHORTAGE, HOLDING: when it ends, monotonic; else 0. */
    uint64_t until_ms;
    unsigned failures;                  /* in a row */
    bool is_apply;                      /* the answer is about `apply` */
    const struct delivery_event *event; /* the last one known; NULL = none */
    const struct history_run *last_run; /* the newest run that the answer is about; NULL = none */
};

/* Why the key of a delivery waits, in any mode. */
struct why why_delivery(const struct hooks *hs, const struct hook *h, const struct delivery *dl,
                        uint64_t now_ms);

/* Why the files of the hook are not applied yet. WHY_HANDLED: they are, or there are none. */
struct why why_apply(const struct hooks *hs, const struct hook *h, uint64_t now_ms);

/* Why the hook as a whole waits: the reason of its next run (modes batch and snapshot), or the reason
 * that keeps all its keys from running (mode object). */
struct why why_hook(const struct hooks *hs, const struct hook *h, uint64_t now_ms);

/* "handled", "running", "settling", "min_interval", "backoff", "parked", "guard", "not_synced",
 * "incomplete", "stale", "after", "slot", "holding", "paused", "shortage", "strays", "starting", "reload",
 * "stopping". */
const char *why_reason_name(enum why_reason reason);

/* "handled", "open", "renew"; NULL for WHY_BEFORE_NONE. */
const char *why_before_name(enum why_before before_restart);

/* Appends the answer in words, without the time: "source services not synced", "handled before the
 * restart". */
void why_put_text(struct buf *out, const struct why *w);

/* Appends a sentence that says what a person can do about it, or why there is nothing to do. Nothing for
 * HANDLED and where until_ms is known. */
void why_put_advice(struct buf *out, const struct why *w, const struct hook *h);

#endif
