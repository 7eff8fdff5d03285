/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api - a simulated API server: a handful of objects of one resource that are created, changed,
 * deleted and created again, their history, compaction, and how it answers LIST and WATCH at any
 * point of that history (PROTOCOL 1.3-1.8).
 */
#ifndef SIM_API_H
#define SIM_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"
#include "sim/clock.h"

enum { API_KEYS = 12, API_SPACES = 2 };

/* One state of one key. uid 0 = there is no such object. */
struct api_object {
    uint64_t uid;
    uint64_t rv;    /* of its last change */
    unsigned value; /* what hooks look at */
    unsigned noise; /* what the hook with changes_in does not look at */
};

/* One event: the object as it is from rv on. A DELETED has the last state, with the RV of the deletion. */
struct api_event {
    uint64_t rv;
    size_t key;
    const char *type;
    struct api_object object;
};

struct api {
    struct clock *clock;
    struct api_object now[API_KEYS];
    struct api_event *history; /* all of it; what is compacted cannot be asked for */
    size_t events;
    uint64_t rv;
    uint64_t compacted; /* versions below are gone */
    uint64_t next_uid;
};

/* An empty server. */
void api_init(struct api *a, struct clock *clock);
/* Frees the history. */
void api_fini(struct api *a);

/* One random change. */
void api_mutate(struct api *a);

/* Forgets some of the history. */
void api_compact(struct api *a);

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

/* Appends an object as the server writes it; in a list without kind and apiVersion. */
void api_put_object(struct buf *out, size_t key, const struct api_object *o, bool in_list);

/* Appends a watch frame. */
void api_put_event(struct buf *out, const struct api_event *e);

/* Appends a Status. */
void api_put_status(struct buf *out, int code, const char *reason, const char *message);

#endif
