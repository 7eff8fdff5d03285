/* SPDX-License-Identifier: Apache-2.0 */
/*
 * admin_stream_rig - a watch of configmaps, a journal, and a stream of one of them that a test
 * pulls; pure.
 */
#ifndef UNIT_ADMIN_STREAM_RIG_H
#define UNIT_ADMIN_STREAM_RIG_H

#include "objects.h"

#include "admin/admin.h"
#include "admin/journal.h"
#include "admin/stream.h"

enum { ADMIN_STREAM_RIG_WALL_NS = 1000000001, ADMIN_STREAM_RIG_PIECE = 65536 };

/* One at a time. */
struct admin_stream_rig {
    struct watch *watch; /* "w" of cluster "c" */
    struct now now;
    struct journal *journal;
    struct admin_streams *hub;
    struct admin_stream *stream;
    struct buf out; /* the lines that were pulled */
    struct buf summary;
    unsigned woken; /* how often on_ready() was called */
};

extern struct admin_stream_rig admin_stream_rig;

/* The hub hears that the watch has changed, or is stale or fresh. */
void admin_stream_rig_delta(const struct delta *d);
void admin_stream_rig_stale(bool stale);

/* The setup of a test with cmocka: the watch is not listed yet, and there is no stream. */
int admin_stream_rig_set_up(void **state);
/* The teardown of a test with cmocka. */
int admin_stream_rig_tear_down(void **state);

/* Makes a stream of the watch. */
void admin_stream_rig_follow(const char *name);
/* Makes a stream of the journal. */
void admin_stream_rig_follow_journal(void);

/* The watch gets a list of these keys, each with uid "u". */
void admin_stream_rig_sync(const char *const *keys, const char *rv);
/* The watch gets a list of the keys "0" to n - 1. */
void admin_stream_rig_sync_many(size_t n, const char *uid, const char *rv);

/* The watch, which is synced, asks for another list. */
void admin_stream_rig_ask_anew(void);

/* The watch gets an event. */
void admin_stream_rig_say(const char *type, const char *key, const char *rv);

/* "TYPE name;" for each line in out, each of which must be JSON; empties out. */
const char *admin_stream_rig_sum_up(void);

/* Pulls once: this must be the result, and these lines must come, in the form of
 * admin_stream_rig_sum_up(). */
void admin_stream_rig_expect(enum admin_stream_pulled pulled, const char *lines);

/* Lines in out. */
size_t admin_stream_rig_lines(void);

/* Pulls until the stream has no more for now; out then holds just that. */
enum admin_stream_pulled admin_stream_rig_pull_all(void);

#endif
