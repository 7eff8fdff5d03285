/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_shape - for targets that read objects: a shape that prunes and selects them, and a check of
 * their JSON.
 */
#ifndef FUZZ_SHAPE_H
#define FUZZ_SHAPE_H

#include "base/buf.h"
#include "base/panic.h"
#include "kube/event.h"
#include "kube/object.h"
#include "kube/shape.h"
#include "proto/json_in.h"

static inline bool fuzz_shape_on_token(void *arg, const struct json_token *t)
{
    (void)arg;
    (void)t;
    return true;
}

/* Reads the bytes of an object once more, as those of an event: the result is the same object. */
static inline void fuzz_shape_again(const struct object *o, struct str json,
                                    const struct shape *shape)
{
    const struct object_rules rules = {NULL, NULL, 1 << 20, shape, false};
    struct event_reader *r = event_reader_create(&rules);
    struct buf frame = {0};

    buf_printf(&frame, "{\"type\":\"ADDED\",\"object\":%.*s}", STR_ARG(json));
    ensure(event_reader_feed(r, frame.data, frame.len, NULL) == ERR_OK);
    const struct event *e = event_reader_next(r);
    ensure(e != NULL && e->object != NULL && object_same_bytes(o, e->object));
    ensure(str_eq(object_key(o), object_key(e->object)) &&
           str_eq(object_uid(o), object_uid(e->object)) &&
           str_eq(object_rv(o), object_rv(e->object)));
    event_reader_destroy(&r);
    buf_free(&frame);
}

/* Appends the key of an object and its JSON, which must be valid and read as the same object again. */
static inline void fuzz_shape_put(struct buf *out, const struct object *o,
                                  const struct shape *shape)
{
    struct buf json = {0};

    object_put_json(&json, o);
    ensure(json_in_scan(buf_str(&json), fuzz_shape_on_token, NULL, NULL) == ERR_OK);
    if (!object_is_bare(o))
        fuzz_shape_again(o, buf_str(&json), shape);
    buf_append_str(out, object_key(o));
    buf_append_str(out, buf_str(&json));
    buf_free(&json);
}

/* A shape with a setting of each sort; shape_destroy() frees it. */
static inline struct shape *fuzz_shape_make(void)
{
    static const char *const keep[] = {"metadata.labels", "spec.a[*].b", "spec.*.c"};
    static const char *const drop[] = {"metadata.labels.x", "spec.a[*].b.c"};
    static const char *const match[] = {"spec.a[*].x=1", "!spec.y", "metadata.labels.*!=z"};
    const struct shape_params params = {keep, 3, drop, 2, match, 3, NULL};
    struct shape *shape;

    ensure(shape_create(&params, &shape, NULL) == ERR_OK);
    return shape;
}

#endif
