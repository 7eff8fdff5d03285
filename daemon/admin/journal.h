/* SPDX-License-Identifier: Apache-2.0 */
/*
 * journal - the last lines about what happened in the daemon, one JSON object each, in a ring of
 * fixed size: `informerctl events` prints them; pure. A line names objects and never holds their
 * contents.
 */
#ifndef ADMIN_JOURNAL_H
#define ADMIN_JOURNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "cache/source.h"

struct buf;
struct history_run;
struct journal;
struct subscriber;

/* Beyond either limit the oldest lines are dropped. Lines of about 250 bytes, which is usual, reach
 * both limits together. */
enum { JOURNAL_LINES = 1000, JOURNAL_BYTES = 256 * 1024 };

/* Longer values of a line are cut to this many bytes: a server may make up names of any length. */
enum { JOURNAL_VALUE_BYTES = 512 };

/* Makes an empty journal, whose lines are numbered from 1. Never NULL; release with
 * journal_destroy(). */
struct journal *journal_create(void);

/* Frees the journal and sets *j to NULL. NULL is fine. */
void journal_destroy(struct journal **j);

/* Sets on_line, which runs after each new line, inside the call that wrote the line; it must not
 * write one. There is one on_line at a time; NULL = none. */
void journal_watch_lines(struct journal *j, void (*on_line)(void *arg), void *arg);

/* For the sources, with a struct journal as arg: writes each change of their caches, with
 * d->received_ns as its time, and when they become stale or fresh. */
extern const struct subscriber journal_subscriber;

/* Writes that a watch or view is now "stale", "fresh" or "synced", or that a watch is "held" or
 * "released" by the guard. */
void journal_source(struct journal *j, uint64_t wall_ns, struct source from, const char *state);

/* Writes that a watch begins with this many objects that an earlier process stored. There is no
 * line for each of them. */
void journal_resumed(struct journal *j, uint64_t wall_ns, struct source from, size_t objects);

/* Writes that a run of the hook has ended. id is the run's id as in INFORMERD_RUN. */
void journal_run(struct journal *j, const char *hook, struct str id, const struct history_run *run);

/* Writes that a hook is "paused" or "resumed", or that one of its keys is "parked" (an empty key:
 * the whole hook). */
void journal_hook(struct journal *j, uint64_t wall_ns, const char *hook, struct str key,
                  const char *state);

/* Writes how a reload ended: "reloaded", "invalid" or "failed"; problem is the first one, may be empty. */
void journal_reload(struct journal *j, uint64_t wall_ns, const char *result, struct str problem);

/* The number of the oldest line that is kept. */
uint64_t journal_first(const struct journal *j);
/* The number that the next line will have. */
uint64_t journal_next(const struct journal *j);

/* Appends the line with this number and its newline. The line must be kept: journal_first() <= seq
 * < journal_next(). */
void journal_put_line(struct buf *out, const struct journal *j, uint64_t seq);

/* Appends all lines that are kept, oldest first. */
void journal_put_all(struct buf *out, const struct journal *j);

#endif
