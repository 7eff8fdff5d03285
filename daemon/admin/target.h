/* SPDX-License-Identifier: Apache-2.0 */
/*
 * target - the path of a request, cut at its slashes and percent-decoded; pure.
 */
#ifndef ADMIN_TARGET_H
#define ADMIN_TARGET_H

#include <stdbool.h>
#include <stddef.h>

#include "base/compiler.h"
#include "base/str.h"

/* The last part takes the rest, slashes included: /v1/sources/NAME/objects/NAMESPACE/NAME. */
enum { TARGET_PARTS = 5 };

struct target {
    char *bytes; /* what the parts point into */
    struct str part[TARGET_PARTS];
    size_t count;
};

/* Cuts off the query and takes the path apart. False: no path, or a percent sign without two hex
 * digits behind it, or one that stands for NUL; nothing is to be released then. */
bool target_parse(struct target *t, struct str text) MUST_CHECK;

/* Do the parts fit a pattern of TARGET_PARTS words, where "*" takes any part that is not empty and
 * NULL ends it? */
bool target_fits(const struct target *t, const char *const pattern[TARGET_PARTS]);

/* Frees what target_parse() allocated. */
void target_fini(struct target *t);

#endif
