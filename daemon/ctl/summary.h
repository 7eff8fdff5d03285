/* SPDX-License-Identifier: Apache-2.0 */
/*
 * summary - the answer of /v1/status for people, and its verdict; pure.
 */
#ifndef CTL_SUMMARY_H
#define CTL_SUMMARY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

/* Appends version, uptime, what is degraded, and the tables of clusters, watches and hooks. now_s:
 * wall clock. ERR_PROTOCOL: json is none; out may then hold a part. */
enum err_kind summary_put(struct buf *out, struct str json, bool wide, int64_t now_s,
                          struct err *err) MUST_CHECK;

/* Sets *degraded if the status names any reason. ERR_PROTOCOL as above. */
enum err_kind summary_verdict(struct str json, bool *degraded, struct err *err) MUST_CHECK;

#endif
