/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shape - which parts of an object are kept, left out, and looked at: the paths of keep, drop and
 * match as one tree, which is followed (shape_walk) while the tokens of the object stream by; pure,
 * immutable.
 */
#ifndef KUBE_SHAPE_H
#define KUBE_SHAPE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

struct shape;

/* The entries of a watch (docs/design.md "Selection and pruning"). keep and drop have paths as in
 * json_path.h, without numeric indices. match has PATH=VALUE, PATH!=VALUE, PATH (present, not
 * null), !PATH (absent or null); a VALUE may stand in ' or ", with \ before such a quote inside.
 * All of them are copied. */
struct shape_params {
    const char *const *keep;
    size_t keep_count;
    const char *const *drop;
    size_t drop_count;
    const char *const *match;
    size_t match_count;
    const char *label_selector; /* labels that it names always stay; NULL or "" = none */
};

/* Makes a shape, which many readers may share. ERR_CONFIG says which entry is wrong, at which
 * character, and what was expected there; *out is then NULL. */
enum err_kind shape_create(const struct shape_params *p, struct shape **out,
                           struct err *err) MUST_CHECK;

/* Frees the shape and sets *s to NULL. NULL is fine. */
void shape_destroy(struct shape **s);

/* Checks an entry of keep or drop. ERR_CONFIG says at which character it is wrong, and what was
 * expected there. */
enum err_kind shape_check_path(const char *text, struct err *err) MUST_CHECK;

/* The same for an entry of match. */
enum err_kind shape_check_match(const char *text, struct err *err) MUST_CHECK;

/* Does the shape have paths of keep, and are all paths of keep and match in metadata? Then the
 * server may be asked for PartialObjectMetadata
 * (docs/kubernetes-protocol.md "PartialObjectMetadata"). */
bool shape_is_metadata_only(const struct shape *s);

#endif
