/* SPDX-License-Identifier: Apache-2.0 */
/*
 * version - the version of an API server, as GET /version tells it; pure.
 */
#ifndef KUBE_VERSION_H
#define KUBE_VERSION_H

#include "base/err.h"
#include "base/str.h"

struct version {
    unsigned major;
    unsigned minor;
};

/* Reads {"major":"1","minor":"34+",...}: the digits that each begins with. ERR_PROTOCOL: it does
 * not say both. */
enum err_kind version_parse(struct str body, struct version *out, struct err *err) MUST_CHECK;

#endif
