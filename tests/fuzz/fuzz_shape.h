/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_shape - for targets that read objects: a shape that prunes and selects them, and a check of
 * their JSON.
 */
#ifndef FUZZ_SHAPE_H
#define FUZZ_SHAPE_H

#include "base/buf.h"
#include "base/panic.h"
#include "kube/object.h"
#include "kube/shape.h"
#include "proto/json_in.h"

static inline bool fuzz_shape_on_token(void *arg, const struct json_token *t)
{
    (void)arg;
    (void)t;
    return true;
}

/* Appends the key of an object and its JSON, which must be valid. */
static inline void fuzz_shape_put(struct buf *out, const struct object *o)
{
    struct buf json = {0};

    object_put_json(&json, o);
    ensure(json_in_scan(buf_str(&json), fuzz_shape_on_token, NULL, NULL) == ERR_OK);
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
