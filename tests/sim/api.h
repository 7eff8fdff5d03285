/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api - what a simulated cluster has in its etcd: a handful of objects of one resource that are
 * created, changed, relabelled, deleted and created again, their history, compaction, a backup and
 * its restoration; and what watches see of it.
 */
#ifndef SIM_API_H
#define SIM_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"
#include "sim/clock.h"

enum { API_KEYS = 12, API_HOT_KEYS = 2, API_SPACES = 2 };

/* Who looks for EndpointSlices sees the keys below, who looks for Services the others. */
enum { API_SLICES = 8 };

/* The version of a cluster in which nothing has happened. */
enum { API_FIRST_RV = 10 };

/* Objects in a simulation at most. */
enum { API_LIVES = 4000 };

/* Why nobody can use this state. */
enum api_odd { API_USABLE, API_DEEP, API_NUMBER, API_LARGE, API_ODDS };

/* One state of one key. uid 0 = there is no such object. */
struct api_object {
    uint64_t uid;
    uint64_t rv;    /* of its last change */
    unsigned value; /* what hooks look at */
    unsigned noise; /* what the hook with changes_in does not look at */
    bool labelled;  /* what a label selector asks for */
    bool shown;     /* what match asks for */
    unsigned uses;  /* in the view: see view_oracle.h */
    enum api_odd odd;
};

enum api_change { API_ADDED, API_MODIFIED, API_DELETED, API_ELSEWHERE };

/* One event: the object as it is from rv on. DELETED: the last state, with the RV of the deletion.
 * ELSEWHERE: another resource was written, only the version moved. */
struct api_event {
    uint64_t rv;
    uint64_t at_ms;
    size_t key;
    enum api_change change;
    struct api_object object;
    struct api_object before;
};

/* How things were. */
struct api_backup {
    struct api_object now[API_KEYS];
    size_t events;
    uint64_t rv;
};

struct api {
    struct clock *clock;
    struct api_object now[API_KEYS];
    struct api_event *history; /* all of it; what is compacted cannot be asked for */
    size_t events;
    uint64_t rv;
    uint64_t compacted;                /* versions below are gone */
    unsigned hot_percent;              /* of the changes, to API_HOT_KEYS of the keys */
    unsigned odd_percent;              /* of new states cannot be used */
    uint64_t next_uid;                 /* from 2 on: 1 is left to what else has lives */
    struct api_backup backup;          /* rv 0 = none */
    bool restored;                     /* once, for good */
    bool was_deleted[API_LIVES];       /* by uid: once, or by the restoration */
    struct api_object last[API_LIVES]; /* by uid: the final state of what was deleted */
};

/* As what it shows objects. */
enum lens_kind { LENS_CONFIG, LENS_SERVICE, LENS_SLICE, LENS_KINDS };

/* What a watch sees. */
struct lens {
    enum lens_kind kind;
    size_t space;  /* API_SPACES = all */
    bool labelled; /* by a label selector: the server leaves the others out */
    bool shown;    /* by match: the client does */
};

/* An empty cluster. */
void api_init(struct api *a, struct clock *clock);
/* Frees the history. */
void api_fini(struct api *a);

/* One random change. */
void api_mutate(struct api *a);

/* Objects that nobody can use are mended; false: there are none. */
bool api_mend(struct api *a);

/* Another resource was written by versions, so many. */
void api_write_elsewhere(struct api *a, uint64_t versions);

/* Forgets some of the history. */
void api_compact(struct api *a);

/* Keeps how things are. From here on versions are so far away that the restored cluster does not
 * come to them again: what a client with such a version then cannot notice, nobody can. */
void api_back_up(struct api *a);

/* Objects and versions go back to the backup, which is then gone; uids do not. */
void api_restore(struct api *a);

/* "NAMESPACE/NAME" of a key. */
const char *api_key(size_t key);
/* The key of such a text. */
size_t api_find(struct str text);
/* The number of its namespace: 0 <= n < API_SPACES. */
size_t api_space(size_t key);
/* The name of a namespace. */
const char *api_space_name(size_t space);

/* All objects as they were at rv. */
void api_state_at(const struct api *a, uint64_t rv, struct api_object out[API_KEYS]);

/* Equal, versions too? */
bool api_same(const struct api_object *a, const struct api_object *b);

/* Does the server show this state of a key to the watch? Not if there is no such object. */
bool lens_selects(const struct lens *v, size_t key, const struct api_object *o);

/* And does it belong in the cache? */
bool lens_keeps(const struct lens *v, size_t key, const struct api_object *o);

#endif
