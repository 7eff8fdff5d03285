/* SPDX-License-Identifier: Apache-2.0 */
/*
 * summary - prints the answer of /v1/status for people, and reads whether informerd is degraded;
 * pure.
 */
#ifndef CTL_SUMMARY_H
#define CTL_SUMMARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

/* How it is printed, as struct listing_look. */
struct summary_look {
    bool wide;
    size_t width;
    int64_t now_s;
    bool colour;
};

/* Appends version, uptime, the reasons why informerd is degraded, and the tables of clusters,
 * watches, views and hooks. ERR_PROTOCOL: json is no JSON; out may then
 * have a part. */
enum err_kind summary_put(struct buf *out, struct str json, const struct summary_look *look,
                          struct err *err) MUST_CHECK;

/* Sets *degraded to whether the status names any reason. ERR_PROTOCOL: json is no JSON. */
enum err_kind summary_verdict(struct str json, bool *degraded, struct err *err) MUST_CHECK;

#endif
