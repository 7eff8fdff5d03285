/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stream - answers that go on: the objects of a source and then its changes, or the lines of the
 * journal, as NDJSON that somebody pulls; pure. A reader that stays behind is cut off; nobody waits
 * for it (docs/design.md "Control socket").
 */
#ifndef ADMIN_STREAM_H
#define ADMIN_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cache/source.h"

struct admin_stream;
struct admin_streams;
struct buf;
struct delta;
struct journal;

/* Changes, and bytes of their objects, that may wait for a reader, beyond what one list that
 * replaces the whole source makes at once. */
enum { ADMIN_STREAM_BACKLOG = 10000, ADMIN_STREAM_BACKLOG_BYTES = 64 * 1024 * 1024 };

/* All streams that are open. journal is borrowed and its watch_lines taken. Never NULL. */
struct admin_streams *admin_streams_create(struct journal *journal);

/* Frees it and sets *hub to NULL; no stream may be open. NULL is fine. */
void admin_streams_destroy(struct admin_streams **hub);

/* What watch_events and view_events tell, for each stream that follows the source. Not inside
 * admin_stream_pull(). */
void admin_streams_delta(struct admin_streams *hub, struct source from, const struct delta *d);
/* See above. */
void admin_streams_stale(struct admin_streams *hub, struct source from, bool stale,
                         uint64_t wall_ns);

/* Something has come from a server: streams that wait for a source that is synced now begin. Cheap;
 * not inside a call of those events, where a store may be half changed. */
void admin_streams_synced(struct admin_streams *hub);

/* Follows a source under the name it was asked by (copied); it must outlive the stream. Once it is
 * synced come ADDED for each object, sorted by key, {"type":"SYNCED","cluster":C,"source":S,
 * "objects":N,"stale":BOOL}, and each change from then on: EVENTs as in the hooks' input. Never
 * NULL. */
struct admin_stream *admin_streams_follow(struct admin_streams *hub, const char *name,
                                          struct source source, uint64_t now_ms);

/* Follows the journal: the lines that are kept, then those that come. Never NULL. */
struct admin_stream *admin_streams_follow_journal(struct admin_streams *hub);

/* The end for the reader: frees it and sets *s to NULL. NULL is fine. Not inside ready. */
void admin_stream_destroy(struct admin_stream **s);

/* ready runs once, when something comes after EMPTY: inside the calls on the hub or on the journal,
 * never inside a pull. It must neither pull nor destroy. */
void admin_stream_on_ready(struct admin_stream *s, void (*ready)(void *arg), void *arg);

enum admin_stream_pulled {
    ADMIN_STREAM_MORE,  /* there may be more at once */
    ADMIN_STREAM_EMPTY, /* nothing now */
    ADMIN_STREAM_ENDED  /* nothing more ever: it was cut off, and its last line says so */
};

/* Appends whole lines until they are max bytes or just over. Of the three, something may have been
 * appended. */
enum admin_stream_pulled admin_stream_pull(struct admin_stream *s, struct buf *out, size_t max);

/* Why it was cut off, for the log; NULL if it was not. */
const char *admin_stream_complaint(const struct admin_stream *s);

/* The name it was asked by, "events" for the journal. */
const char *admin_stream_name(const struct admin_stream *s);

#endif
