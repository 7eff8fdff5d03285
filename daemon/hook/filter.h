/* SPDX-License-Identifier: Apache-2.0 */
/*
 * filter - which events and which changes a hook takes; pure. A change counts if the kept values
 * differ without resourceVersion, generation and managedFields; with changes_in, if the values at
 * one of these paths differ (docs/design.md "Equality").
 */
#ifndef HOOK_FILTER_H
#define HOOK_FILTER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "cache/delta.h"
#include "hook/known.h"
#include "proto/json_path.h"

/* The settings events and changes_in of a hook. */
struct filter {
    unsigned events;          /* a bit 1 << enum delta_type for each type that it takes */
    struct json_path **paths; /* changes_in; none = any value */
    size_t path_count;
};

/* Parses n paths. ERR_CONFIG names the bad path; *f is empty then. Release with filter_fini(). */
enum err_kind filter_init(struct filter *f, unsigned events, const char *const *paths, size_t n,
                          struct err *err) MUST_CHECK;

/* Frees the paths; *f is empty then. */
void filter_fini(struct filter *f);

/* Does the hook take events of this type? */
bool filter_takes(const struct filter *f, enum delta_type type);

/* Is b a change from a that counts? Both are states of one incarnation. */
bool filter_changed(const struct filter *f, const struct object *a, const struct object *b);

/* The digest of a state as the filter sees it: if two states have it in common, the later one is no
 * change that counts. Kept on disk, so that a later process knows the state again. Halves as
 * object_digest(). Of the state perhaps only this digest is known; l must not be empty. */
struct digest filter_known_digest(const struct filter *f, const struct known *l);

/* As filter_changed(), from such a state to o. */
bool filter_known_changed(const struct filter *f, const struct known *l, const struct object *o);

#endif
