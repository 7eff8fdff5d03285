/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api - the etcd of a simulated cluster: a handful of objects of one resource that are created,
 * changed, relabelled, deleted and created again, their history, compaction, a backup and its
 * restoration; and which of the objects a watch sees.
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

/* A watch of EndpointSlices sees the keys below this one, a watch of Services the others. */
enum { API_SLICES = 8 };

/* The version of a cluster in which nothing has happened yet. */
enum { API_FIRST_RV = 10 };

/* At most so many incarnations in an hour of virtual time; a short simulation is one hour. */
enum { API_LIVES = 4000 };

/* Why a client cannot use this state of an object (docs/design.md "Skipped objects"). */
enum api_odd { API_USABLE, API_DEEP, API_NUMBER, API_LARGE, API_ODDS };

/* One state of one key. uid 0 = there is no such object. */
struct api_object {
    uint64_t uid;
    uint64_t rv;    /* of the last change */
    unsigned value; /* all hooks look at this */
    unsigned noise; /* the hook with changes_in does not look at this */
    bool labelled;  /* a label selector asks for this */
    bool shown;     /* match asks for this */
    unsigned uses;  /* of objects of the view: view_oracle_uses() */
    enum api_odd odd;
};

enum api_change { API_ADDED, API_MODIFIED, API_DELETED, API_ELSEWHERE };

/* One event: the object as it is from rv on. DELETED: the last state, with the version of the
 * deletion. ELSEWHERE: another resource was written, and only the version has moved. */
struct api_event {
    uint64_t rv;
    uint64_t at_ms;
    size_t key;
    enum api_change change;
    struct api_object object;
    struct api_object before;
};

/* The cluster as it was at the time of the backup. */
struct api_backup {
    struct api_object now[API_KEYS];
    size_t events;
    uint64_t rv;
};

struct api {
    struct clock *clock;
    struct api_object now[API_KEYS];
    struct api_event *history;        /* from the event `dropped` on: api_event_at() */
    size_t room;                      /* of history */
    size_t dropped;                   /* so many of the oldest events are not kept any more */
    struct api_object base[API_KEYS]; /* all objects before the first event that is kept */
    size_t events;                    /* so many in all */
    uint64_t rv;
    uint64_t highest;         /* no version that a restoration has taken back is above */
    uint64_t far_away;        /* more versions than the simulation makes */
    uint64_t compacted;       /* versions below cannot be asked for */
    unsigned hot_percent;     /* so many of the changes go to API_HOT_KEYS of the keys */
    unsigned odd_percent;     /* so many of the new states cannot be used */
    uint64_t next_uid;        /* from 2 on: 1 is the uid of outages (RULES_OUTAGE) */
    uint64_t lives;           /* uids are below */
    struct api_backup backup; /* rv 0 = none */
    bool restored;            /* a backup was restored, and somebody may still know a lost change */
    bool *was_deleted;        /* by uid: at any time, or by the restoration */
    struct api_object *last;  /* by uid: the final state of a deleted object */
};

/* The kind as which a watch gets the objects. */
enum lens_kind { LENS_CONFIG, LENS_SERVICE, LENS_SLICE, LENS_KINDS };

/* Which objects a watch sees. */
struct lens {
    enum lens_kind kind;
    size_t space;  /* API_SPACES = all */
    bool labelled; /* it has a label selector: the server leaves the other objects out */
    bool shown;    /* it has match: the client leaves the others out */
};

/* Makes an empty cluster for so many hours. */
void api_init(struct api *a, struct clock *clock, uint64_t hours);

/* Frees all that the cluster holds. */
void api_fini(struct api *a);

/* Makes one random change. */
void api_mutate(struct api *a);

/* Makes all objects usable that are not; false: there was no such object. */
bool api_mend(struct api *a);

/* Another resource is written: the version moves by so many. */
void api_write_elsewhere(struct api *a, uint64_t versions);

/* Forgets some of the history. */
void api_compact(struct api *a);

/* Compacts all events before since_ms, and frees the first of them, as far as `seen` events, which all
 * servers have. Returns the oldest version from which a watch can begin. */
uint64_t api_drop(struct api *a, uint64_t since_ms, size_t seen);

/* An event by its number: dropped <= number < events. */
const struct api_event *api_event_at(const struct api *a, size_t number);

/* The heap that the cluster takes. */
size_t api_bytes(const struct api *a);

/* Keeps the cluster as it is. From here on versions are so far away that the restored cluster does
 * not come to them again: a client with a version that the restored cluster gives out once more
 * could not notice the restoration. */
void api_back_up(struct api *a);

/* Objects and versions go back to the backup, which is used up by that; new uids stay new. */
void api_restore(struct api *a);

/* "NAMESPACE/NAME" of a key. */
const char *api_key(size_t key);

/* The key with that text. */
size_t api_find(struct str text);

/* The number of the namespace of a key: 0 <= n < API_SPACES. */
size_t api_space(size_t key);

/* The name of a namespace. */
const char *api_space_name(size_t space);

/* All objects as they were at rv. */
void api_state_at(const struct api *a, uint64_t rv, struct api_object out[API_KEYS]);

/* Are two states equal, their versions included? */
bool api_same(const struct api_object *a, const struct api_object *b);

/* The parts that may differ between two states of one incarnation. */
enum {
    API_PATH_NOISE = 1,
    API_PATH_ON = 2,
    API_PATH_VALUE = 4,
    API_PATH_LABEL = 8,
    API_PATH_USES = 16
};

/* The parts in which two states differ: API_PATH_ bits. */
unsigned api_differences(const struct api_object *a, const struct api_object *b);

/* Does the server show this state of a key to the watch? False if there is no such object. */
bool lens_selects(const struct lens *v, size_t key, const struct api_object *o);

/* Does this state belong in the cache of the watch? */
bool lens_keeps(const struct lens *v, size_t key, const struct api_object *o);

#endif
