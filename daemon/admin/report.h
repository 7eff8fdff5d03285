/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report - the state of clusters, watches, views and hooks as JSON; pure. informerctl(1) lists the
 * members that users may rely on (docs/design.md "Status report").
 */
#ifndef ADMIN_REPORT_H
#define ADMIN_REPORT_H

#include <stdint.h>

struct admin_model;
struct buf;
struct watch;

/* The most skipped objects of a watch that are listed by name. */
enum { REPORT_SKIPS = 100 };

/* Appends the object of GET /v1/status. */
void report_put_status(struct buf *out, const struct admin_model *m, uint64_t now_ms);

/* Appends {"watches":{...},"views":{...}}. */
void report_put_watches(struct buf *out, const struct admin_model *m, uint64_t now_ms);

/* Appends {"hooks":{...}}. */
void report_put_hooks(struct buf *out, const struct admin_model *m, uint64_t now_ms);

/* Appends the state of the watch's audit and the result of the last one: number (audits that have
 * ended), state, done_age_s, applied, compared, not_compared, differences, keys (the first ones
 * that differ) and error. */
void report_put_verify(struct buf *out, const struct watch *w, uint64_t now_ms);

#endif
