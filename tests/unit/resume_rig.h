/* SPDX-License-Identifier: Apache-2.0 */
/*
 * resume_rig - a watch of configmaps with one that was before it: what is loaded, what the server says
 * then, what it tells of that, and what whoever keeps its objects hears.
 */
#ifndef UNIT_RESUME_RIG_H
#define UNIT_RESUME_RIG_H

#include "list_watch_script.h"
#include "objects.h"

/* What its first stream asks for. */
#define LISTS_FROM(rv) PATH "?resourceVersion=" rv
#define LISTS_NEWEST   PATH "?limit=500"
#define WATCHES(rv) \
    PATH "?watch=true&allowWatchBookmarks=true&timeoutSeconds=300&resourceVersion=" rv

struct resume_rig {
    struct watch *w;
    struct watch_params params; /* for resume_rig_make() */
    struct list_watch_now now;
    struct list_watch_action next; /* of the first stream */
    struct buf heard;
    struct buf kept;
};

extern struct resume_rig resume_rig;

/* All namespaces. */
extern const char *const resume_rig_everywhere[1];

/* For cmocka: a watch of one stream, the guard off. */
int resume_rig_set_up(void **state);
/* See above. */
int resume_rig_clean_up(void **state);

/* Makes it anew. */
void resume_rig_make(void);

/* Was there before: an object; one of which no more is left; a version, of all streams, with mark
 * 9. */
void resume_rig_load(const char *key, const char *uid, const char *rv);
/* See above. */
void resume_rig_load_bare(const char *ns, const char *name, const char *uid);
/* See above. */
void resume_rig_resume(enum resume_kind kind, const char *rv);

/* Its first stream, and its start. */
struct list_watch *resume_rig_feed(void);
/* See above. */
void resume_rig_start(void);

/* The same with ns/a (u1, 3) and ns/b (u2, 4) loaded. */
void resume_rig_start_from(enum resume_kind kind, const char *rv);

/* The whole answer of the server; or its head, and a piece of it. */
void resume_rig_answer(const char *body);
/* See above. */
void resume_rig_head(void);
/* See above. */
void resume_rig_body(const char *text);

/* Nothing comes for so long. */
void resume_rig_silence(uint64_t ms);

/* What the stream asks for now. */
void resume_rig_asks(const char *want);

/* All deltas since the last time: "+key:uid:rv(cause) ~ - x", with "?" for a final state that is not
 * known; and "stale", "fresh". */
void resume_rig_hears(const char *want);

/* All that is to be kept: "STREAM+key:rv STREAM-key". */
void resume_rig_keeps(const char *want);

/* "RV MARK" of the first stream; "" = what was kept before stands. */
void resume_rig_has_version(const char *want);

#endif
