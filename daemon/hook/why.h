/* SPDX-License-Identifier: Apache-2.0 */
/*
 * why - what a key, or a hook as a whole, waits for: the answer of informerctl why; pure.
 */
#ifndef HOOK_WHY_H
#define HOOK_WHY_H

#include <stdint.h>

#include "hook/hook.h"

enum why_reason {
    WHY_HANDLED, /* nothing is due */
    WHY_RUNNING,
    WHY_SETTLING,
    WHY_MIN_INTERVAL,
    WHY_BACKOFF,
    WHY_PARKED,
    WHY_GUARD,      /* a list of the source is held: what it says is not known here */
    WHY_NOT_SYNCED, /* the source */
    WHY_STALE,      /* the source, and the hook waits until it is not */
    WHY_AFTER,      /* another hook, whose first runs have not ended */
    WHY_SLOT,       /* too much else is running */
    WHY_HOLDING,    /* apply: the hook's command is running or about to */
    WHY_PAUSED,
};

/* What there is to say of the time before informerd was started anew. */
enum why_past {
    WHY_PAST_NONE,
    WHY_PAST_HANDLED,   /* its last run succeeded then */
    WHY_PAST_ATTEMPTED, /* a run was started then and did not succeed: it may have been cut off */
    WHY_PAST_RENEW,     /* what was done then is gone, or the hook is another: all runs again */
};

/* One answer; all borrowed from the hooks. */
struct why {
    enum why_reason reason;
    enum why_past past;
    const char *past_why; /* RENEW: "its settings changed"; else NULL */
    const char *of;       /* GUARD, NOT_SYNCED, STALE: the source; AFTER: the hook; else NULL */
    uint64_t until_ms;    /* SETTLING, MIN_INTERVAL, BACKOFF, HOLDING: monotonic; else 0 */
    unsigned failures;    /* in a row */
    bool is_apply;        /* by why_apply() */
    const struct delivery_event *event; /* the last one known, or NULL */
    const struct history_run *last_run; /* or NULL */
};

/* About an entry of the hook, in any mode. */
struct why why_entry(const struct hooks *hs, const struct hook *h, const struct delivery *dl,
                     uint64_t now_ms);

/* About what the hook wrote: why it is not applied yet. HANDLED: it is, or there is nothing. */
struct why why_apply(const struct hooks *hs, const struct hook *h, uint64_t now_ms);

/* About the hook as a whole: its next run (batch, snapshot), or what keeps all its keys
 * (object). */
struct why why_hook(const struct hooks *hs, const struct hook *h, uint64_t now_ms);

/* "handled", "running", "settling", "min_interval", "backoff", "parked", "guard", "not_synced",
 * "stale", "after", "slot", "holding", "paused". */
const char *why_reason_name(enum why_reason reason);

/* "handled", "open", "renew"; NULL = NONE. */
const char *why_past_name(enum why_past past);

/* Appends it in words, without the time: "source services not synced", "handled before the
 * restart". */
void why_put_text(struct buf *out, const struct why *w);

#endif
