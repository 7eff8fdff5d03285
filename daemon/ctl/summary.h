/* SPDX-License-Identifier: Apache-2.0 */
/*
 * summary - prints the answer of /v1/status for people, and reads whether informerd is degraded;
 * pure.
 */
#ifndef CTL_SUMMARY_H
#define CTL_SUMMARY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

/* Appends version, uptime, the reasons why informerd is degraded, and the tables of clusters,
 * watches, views and hooks. now_s is the wall clock. ERR_PROTOCOL: json is no JSON; out may then
 * have a part. */
enum err_kind summary_put(struct buf *out, struct str json, bool wide, int64_t now_s,
                          struct err *err) MUST_CHECK;

/* Sets *degraded to whether the status names any reason. ERR_PROTOCOL: json is no JSON. */
enum err_kind summary_verdict(struct str json, bool *degraded, struct err *err) MUST_CHECK;

#endif
