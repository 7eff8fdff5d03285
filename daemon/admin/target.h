/* SPDX-License-Identifier: Apache-2.0 */
/*
 * target - the path of a request, split at its slashes and percent-decoded; pure.
 */
#ifndef ADMIN_TARGET_H
#define ADMIN_TARGET_H

#include <stdbool.h>
#include <stddef.h>

#include "base/compiler.h"
#include "base/str.h"

/* The most parts of a path. The last one takes the rest, slashes included:
 * /v1/sources/NAME/objects/NAMESPACE/NAME. */
enum { TARGET_PARTS = 5 };

struct target {
    char *bytes; /* owned; the parts point into it */
    struct str part[TARGET_PARTS];
    size_t count;
};

/* Drops the query and splits the path; that of "/" has no parts. False: there is no path, or a percent
 * sign is not followed by two hex digits, or stands for NUL; then nothing is to be released. */
bool target_parse(struct target *t, struct str text) MUST_CHECK;

/* Whether the parts match a pattern of TARGET_PARTS words, where "*" matches any part that is not
 * empty and NULL ends the pattern. */
bool target_fits(const struct target *t, const char *const pattern[TARGET_PARTS]);

/* Frees what target_parse() allocated. */
void target_fini(struct target *t);

#endif
