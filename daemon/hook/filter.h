/* SPDX-License-Identifier: Apache-2.0 */
/*
 * filter - what a hook wants to hear of; pure. A change counts if the kept values differ without
 * resourceVersion, generation and managedFields, or, with changes_in, if those at one of the paths
 * do (docs/design.md "Equality").
 */
#ifndef HOOK_FILTER_H
#define HOOK_FILTER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "cache/delta.h"
#include "hook/known.h"
#include "proto/json_path.h"

struct filter {
    unsigned events;          /* bit 1 << enum delta_type */
    struct json_path **paths; /* changes_in; none = any value */
    size_t path_count;
};

/* Parses n paths. ERR_CONFIG names the path; *f is then empty. Release with filter_fini(). */
enum err_kind filter_init(struct filter *f, unsigned events, const char *const *paths, size_t n,
                          struct err *err) MUST_CHECK;

/* Frees the paths. */
void filter_fini(struct filter *f);

/* Does the hook take events of this type? */
bool filter_takes(const struct filter *f, enum delta_type type);

/* Is b a change from a (the same life of one key) that counts? */
bool filter_changed(const struct filter *f, const struct object *a, const struct object *b);

/* What two states must share so that the later one is no change that counts: by this alone a later
 * process knows a state again. Halves as object_digest(). */
struct digest filter_digest(const struct filter *f, const struct object *o);

/* The digest of a state of which perhaps no more is known; there must be one. */
struct digest filter_known_digest(const struct filter *f, const struct known *l);

/* The like of filter_changed() for such a state. */
bool filter_known_changed(const struct filter *f, const struct known *l, const struct object *o);

#endif
