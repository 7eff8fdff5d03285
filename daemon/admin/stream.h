/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stream - answers without an end: the objects of a source and then its changes, or the lines of
 * the journal, as NDJSON that the caller pulls; pure. A reader that does not keep up is cut off;
 * informerd does not wait for it (docs/design.md "Control socket"). Or one line, as soon as a
 * condition holds.
 */
#ifndef ADMIN_STREAM_H
#define ADMIN_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "admin/wait.h"
#include "cache/source.h"

struct admin_model;
struct admin_stream;
struct admin_streams;
struct buf;
struct subscriber;
struct journal;
struct str;

/* How many changes, and bytes of their objects, may wait for a reader. On top of them come the changes
 * of one list that replaces all objects of the source at once. */
enum { ADMIN_STREAM_BACKLOG = 10000, ADMIN_STREAM_BACKLOG_BYTES = 64 * 1024 * 1024 };

/* Makes the hub of all open streams. journal is borrowed; the hub sets its only on_line
 * (journal_watch_lines()). Never NULL. */
struct admin_streams *admin_streams_create(struct journal *journal);

/* Frees the hub and sets *hub to NULL; no stream may be open. NULL is fine. */
void admin_streams_destroy(struct admin_streams **hub);

/* For the sources, with the hub as arg: passes each change of a source on to the streams that
 * follow it, and when it becomes stale or fresh. No source may change inside admin_stream_pull(). */
extern const struct subscriber admin_streams_subscriber;

/* Starts the streams whose source has synced in the meantime. To be called after data came from a
 * server; cheap. Not inside the events of watches and views, where a store may be half changed. */
void admin_streams_synced(struct admin_streams *hub);

/* Follows a source under the name that the request used (copied); the source must outlive the
 * stream. Once the source is synced, the stream gives ADDED for each object, sorted by key, then
 * {"type":"SYNCED","cluster":C,"source":S,"objects":N,"stale":BOOL}, then each change: EVENTs as in
 * the input of hooks. Never NULL; release with admin_stream_destroy(). */
struct admin_stream *admin_streams_follow(struct admin_streams *hub, const char *name,
                                          struct source source);

/* The source is about to be destroyed: cuts off the streams that follow it. */
void admin_streams_leave(struct admin_streams *hub, struct source source);

/* Follows the journal: first the lines that are kept, then each new line. Never NULL; release with
 * admin_stream_destroy(). */
struct admin_stream *admin_streams_follow_journal(struct admin_streams *hub);

/* Waits for a condition: gives one line when it holds (wait_put_done()), and ends. holds: does it now?
 * Never NULL; release with admin_stream_destroy(). */
struct admin_stream *admin_streams_wait(struct admin_streams *hub, enum wait_for what, bool holds);

/* Waits for the answer with this number, > 0: gives its line when it comes, and ends. Never NULL; release
 * with admin_stream_destroy(). */
struct admin_stream *admin_streams_await(struct admin_streams *hub, uint64_t number);

/* Gives the line, with its newline, to all streams that wait for this number. */
void admin_streams_answer(struct admin_streams *hub, uint64_t number, struct str line);

/* Does a stream wait for a condition? */
bool admin_streams_waits(const struct admin_streams *hub);

/* Looks at the conditions that streams wait for. To be called whenever one of them may hold. */
void admin_streams_look(struct admin_streams *hub, const struct admin_model *m, uint64_t now_ms);

/* Frees the stream and sets *s to NULL. NULL is fine. Not inside ready. */
void admin_stream_destroy(struct admin_stream **s);

/* Sets ready, which runs once when there is something to pull after ADMIN_STREAM_EMPTY, inside the
 * calls on the hub or on the journal, never inside a pull. It must neither pull nor destroy. */
void admin_stream_on_ready(struct admin_stream *s, void (*ready)(void *arg), void *arg);

/* The result of a pull. */
enum admin_stream_pulled {
    ADMIN_STREAM_MORE,  /* max was reached: there may be more to pull at once */
    ADMIN_STREAM_EMPTY, /* there is nothing to pull now */
    ADMIN_STREAM_ENDED  /* the stream is over: it was cut off, and its last line says so */
};

/* Appends whole lines until they have max bytes or just more. Lines may have been appended with every
 * result. */
enum admin_stream_pulled admin_stream_pull(struct admin_stream *s, struct buf *out, size_t max);

/* Why the stream was cut off, for the log; NULL = it was not. */
const char *admin_stream_complaint(const struct admin_stream *s);

/* The name that the request used for the source; "events" for the journal. */
const char *admin_stream_name(const struct admin_stream *s);

#endif
