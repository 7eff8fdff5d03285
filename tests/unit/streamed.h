/* SPDX-License-Identifier: Apache-2.0 */
/*
 * streamed - a watch of configmaps, a journal, and a stream of one of them that a test pulls; pure.
 */
#ifndef UNIT_STREAMED_H
#define UNIT_STREAMED_H

#include "objects.h"

#include "admin/admin.h"
#include "admin/journal.h"
#include "admin/stream.h"

enum { STREAMED_WALL_NS = 1000000001, STREAMED_PIECE = 65536 };

/* One at a time. */
struct streamed {
    struct watch *watch; /* "w" of cluster "c" */
    struct list_watch_now now;
    struct journal *journal;
    struct admin_streams *hub;
    struct admin_stream *stream;
    struct buf out; /* what was pulled */
    struct buf summary;
    unsigned woken; /* how often the stream said that it is ready */
};

extern struct streamed streamed;

/* For cmocka: the watch is not listed yet, and nothing follows. */
int streamed_set_up(void **state);
/* See above. */
int streamed_tear_down(void **state);

/* Makes the stream. */
void streamed_follow(const char *name);
/* See above. */
void streamed_follow_journal(void);

/* The watch gets a list with these keys, of uid "u", or with keys "0" to n - 1. */
void streamed_sync(const char *const *keys, const char *rv);
/* See above. */
void streamed_sync_many(size_t n, const char *uid, const char *rv);

/* The watch, which is synced, asks for another list. */
void streamed_ask_anew(void);

/* The watch gets an event. */
void streamed_say(const char *type, const char *key, const char *rv);

/* "TYPE name;" for each line in out, all of which are JSON; empties it. */
const char *streamed_sum_up(void);

/* Pulls once: this must be said, and these lines come, summed up. */
void streamed_expect(enum admin_stream_pulled pulled, const char *lines);

/* Lines in out. */
size_t streamed_lines(void);

/* Pulls until there is no more for now; out is just that. */
enum admin_stream_pulled streamed_pull_all(void);

#endif
