/* SPDX-License-Identifier: Apache-2.0 */
/*
 * journal - the last lines about what happened in the daemon, one JSON object each, in a ring that
 * never grows: what `informerctl events` prints; pure. It knows who an object is, never what is in
 * it.
 */
#ifndef ADMIN_JOURNAL_H
#define ADMIN_JOURNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "cache/source.h"

struct buf;
struct delta;
struct journal;

/* Whichever is reached first: the oldest lines go. A line of 1000 is about 250 bytes long. */
enum { JOURNAL_LINES = 1000, JOURNAL_BYTES = 256 * 1024 };

/* Longer values of a line are cut to this many bytes, as names of objects that a server made up. */
enum { JOURNAL_VALUE_BYTES = 512 };

/* An empty one, whose lines are numbered from 1. Never NULL. */
struct journal *journal_create(void);

/* Frees it and sets *j to NULL. NULL is fine. */
void journal_destroy(struct journal **j);

/* on_line runs after each new line, inside the call that wrote it; it must not write one. */
void journal_watch_lines(struct journal *j, void (*on_line)(void *arg), void *arg);

/* Writes: the cache of a watch, or a view, has changed. The time is d->received_ns. */
void journal_change(struct journal *j, struct source from, const struct delta *d);

/* Writes: a watch or view is now "stale", "fresh" or "synced", a watch "held" or "released". */
void journal_source(struct journal *j, uint64_t wall_ns, struct source from, const char *state);

/* Writes: a watch begins with so many objects that an earlier process has left. Of none of them is
 * a line written. */
void journal_resumed(struct journal *j, uint64_t wall_ns, struct source from, size_t objects);

/* A run that has ended; all borrowed. */
struct journal_run {
    const char *hook;
    struct str run;      /* its id, as in INFORMERD_RUN */
    struct str key;      /* mode object; else empty */
    const char *type;    /* of its event, mode object; else NULL */
    const char *program; /* run_kind_name(); NULL = the command */
    const char *file;    /* what became of it is told as well; NULL = nothing did */
    const char *became;
    const char *reason; /* as in INFORMERD_REASON */
    unsigned attempt;
    bool ok;
    const char *result; /* "exit 3" */
    uint64_t took_ms;
};

/* Writes: a run has ended. */
void journal_run(struct journal *j, uint64_t wall_ns, const struct journal_run *run);

/* Writes: a hook is "paused" or "resumed", or a key of it (empty: all of it) "parked". */
void journal_hook(struct journal *j, uint64_t wall_ns, const char *hook, struct str key,
                  const char *state);

/* The number of the oldest line that is kept, and of the next one that will be written. */
uint64_t journal_first(const struct journal *j);
/* See above. */
uint64_t journal_next(const struct journal *j);

/* Appends the line of this number, which is kept, with its newline. */
void journal_put_line(struct buf *out, const struct journal *j, uint64_t seq);

/* Appends all lines. */
void journal_put_all(struct buf *out, const struct journal *j);

#endif
