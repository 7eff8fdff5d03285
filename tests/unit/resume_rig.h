/* SPDX-License-Identifier: Apache-2.0 */
/*
 * resume_rig - a watch of configmaps that an earlier process had before: the objects that are loaded,
 * the answers of the server then, which deltas the watch reports, and which objects are kept for the
 * next process.
 */
#ifndef UNIT_RESUME_RIG_H
#define UNIT_RESUME_RIG_H

#include "list_watch_script.h"
#include "objects.h"

/* Targets that the first scope asks for. */
#define LISTS_FROM(rv) PATH "?resourceVersion=" rv
#define LISTS_NEWEST   PATH "?limit=500"
#define WATCHES(rv) \
    PATH "?watch=true&allowWatchBookmarks=true&timeoutSeconds=300&resourceVersion=" rv

struct resume_rig {
    struct watch *w;
    struct watch_params params; /* for resume_rig_make() */
    struct now now;
    struct list_watch_action next; /* the next action of the first scope */
    struct buf heard;
    struct buf kept;
};

extern struct resume_rig resume_rig;

/* All namespaces. */
extern const char *const resume_rig_everywhere[1];

/* The setup of a test with cmocka: a watch of one scope, the guard off. */
int resume_rig_set_up(void **state);
/* The teardown of a test with cmocka. */
int resume_rig_clean_up(void **state);

/* Makes the watch anew, with resume_rig.params. */
void resume_rig_make(void);

/* The earlier process had this object. */
void resume_rig_load(const char *key, const char *uid, const char *rv);
/* The earlier process had this object, of which no more than the name is left. */
void resume_rig_load_bare(const char *ns, const char *name, const char *uid);
/* The earlier process had seen this version in each scope, and collection_rv 9. */
void resume_rig_resume(enum resume_kind kind, const char *rv);

/* The list_watch of the first scope. */
struct list_watch *resume_rig_list_watch(void);
/* The list_watch of the first scope is started. */
void resume_rig_start(void);

/* Loads ns/a (u1, 3) and ns/b (u2, 4), then resume_rig_resume() and resume_rig_start(). */
void resume_rig_start_from(enum resume_kind kind, const char *rv);

/* The whole answer of the server. */
void resume_rig_answer(const char *body);
/* The head of an answer of the server. */
void resume_rig_head(void);
/* A piece of the body of that answer. */
void resume_rig_body(const char *text);

/* So much time passes, and nothing comes. */
void resume_rig_silence(uint64_t ms);

/* The target that the first scope asks for now. */
void resume_rig_asks(const char *want);

/* All deltas since the last time: "+key:uid:rv(cause) ~ - x", with "?" for a final state that is
 * not known; and "stale", "fresh". */
void resume_rig_hears(const char *want);

/* All changes of the objects to keep since the last time: "SCOPE+key:rv SCOPE-key". */
void resume_rig_keeps(const char *want);

/* "RV COLLECTION_RV" of the first scope; "" = the versions that were kept before still hold. */
void resume_rig_has_version(const char *want);

#endif
