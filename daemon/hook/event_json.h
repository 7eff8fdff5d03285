/* SPDX-License-Identifier: Apache-2.0 */
/*
 * event_json - the EVENT object of the hooks' input, of `informerctl stream` too
 * (docs/design.md "Events"); pure.
 */
#ifndef HOOK_EVENT_JSON_H
#define HOOK_EVENT_JSON_H

#include <stdbool.h>
#include <stdint.h>

#include "cache/delta.h"
#include "proto/json_out.h"

/* What one event says; all borrowed. */
struct event_json {
    enum delta_type type;
    enum delta_cause cause;
    const char *cluster;
    const char *source;          /* the name of the watch or view that the reader knows */
    const struct object *object; /* of STALE and FRESH it is not looked at */
    bool final_state_unknown;
    uint64_t received_ns; /* wall clock; 0 = not known, null */
};

/* Writes the '{' and all members from type to received; the caller adds what it likes and
 * closes. */
void event_json_open(struct json_out *j, const struct event_json *ev);

/* Writes a member with the object, or null; also for one of which no more is known than its name. */
void event_json_object(struct json_out *j, const char *key, const struct object *o);

/* Writes the whole event: what event_json_open() does, its object, the '}'. */
void event_json_put(struct json_out *j, const struct event_json *ev);

/* The object that the event is about: STALE and FRESH are of the source, of no object in it
 * (NULL). */
const struct object *event_json_about(const struct event_json *ev);

#endif
