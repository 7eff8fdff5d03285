/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shape - what of an object is kept, left out, and looked at: the paths of keep, drop and match as
 * one tree that is followed (shape_walk) while the object's tokens stream by; pure, immutable.
 */
#ifndef KUBE_SHAPE_H
#define KUBE_SHAPE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

struct shape;

/* The entries of a watch (docs/design.md "Selection and pruning"). keep and drop hold paths as in
 * json_path.h, without numeric indices. match holds PATH=VALUE, PATH!=VALUE, PATH (present, not
 * null), !PATH (absent or null); a VALUE may stand in ' or ", with \ before such a quote.
 * Copied. */
struct shape_params {
    const char *const *keep;
    size_t keep_count;
    const char *const *drop;
    size_t drop_count;
    const char *const *match;
    size_t match_count;
    const char *label_selector; /* the labels that it looks at stay; NULL or "" = none */
};

/* Makes a shape, which many readers may share. ERR_CONFIG says which entry, at which character and
 * what was expected; *out is then NULL. */
enum err_kind shape_create(const struct shape_params *p, struct shape **out,
                           struct err *err) MUST_CHECK;

/* Frees the shape and sets *s to NULL. NULL is fine. */
void shape_destroy(struct shape **s);

/* Is this an entry of keep or drop? ERR_CONFIG says at which character not, and what was expected.
 */
enum err_kind shape_check_path(const char *text, struct err *err) MUST_CHECK;

/* The like for an entry of match. */
enum err_kind shape_check_match(const char *text, struct err *err) MUST_CHECK;

/* Does it keep something, but nothing outside of metadata, and look at nothing else? Then the
 * server may be asked for PartialObjectMetadata
 * (docs/kubernetes-protocol.md "PartialObjectMetadata"). */
bool shape_is_metadata_only(const struct shape *s);

#endif
