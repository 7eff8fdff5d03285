/* SPDX-License-Identifier: Apache-2.0 */
/*
 * version - the version of an API server, from its answer to GET /version; pure.
 */
#ifndef KUBE_VERSION_H
#define KUBE_VERSION_H

#include <stdbool.h>

#include "base/compiler.h"
#include "base/str.h"

struct version {
    unsigned major;
    unsigned minor;
};

/* Reads {"major":"1","minor":"34+",...}: the digits at the beginning of each. False if body is no
 * JSON or lacks one of the two. */
bool version_parse(struct str body, struct version *out) MUST_CHECK;

#endif
