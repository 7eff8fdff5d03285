/* SPDX-License-Identifier: Apache-2.0 */
/*
 * version - the version of an API server, as GET /version tells it; pure.
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

/* Reads {"major":"1","minor":"34+",...}: the digits that each begins with. False if it does not say
 * both, or is no JSON. */
bool version_parse(struct str body, struct version *out) MUST_CHECK;

#endif
