/* SPDX-License-Identifier: Apache-2.0 */
/*
 * event_json - an event as JSON, for the input of hooks and for `informerctl stream`
 * (docs/design.md "Events"); pure.
 */
#ifndef HOOK_EVENT_JSON_H
#define HOOK_EVENT_JSON_H

#include <stdbool.h>
#include <stdint.h>

#include "cache/delta.h"
#include "proto/json_out.h"

/* The contents of one event; all borrowed. */
struct event_json {
    enum delta_type type;
    enum delta_cause cause;
    const char *cluster;
    const char *source;          /* the name of the watch or view as the reader knows it */
    const struct object *object; /* not used for STALE and FRESH */
    bool final_state_unknown;
    uint64_t received_ns; /* wall clock; 0 = not known, written as null */
};

/* Writes the '{' and all members from type to received. The caller may add members and closes the
 * object. */
void event_json_open(struct json_out *j, const struct event_json *ev);

/* Writes a member with the object; null if o is NULL, or if the bytes of the object are not
 * known. */
void event_json_object(struct json_out *j, const char *key, const struct object *o);

/* Writes the whole event: all that event_json_open() writes, the object, and the '}'. */
void event_json_put(struct json_out *j, const struct event_json *ev);

/* The object of the event, or NULL: STALE and FRESH are about a source, not about an object in
 * it. */
const struct object *event_json_about(const struct event_json *ev);

#endif
