/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report - the state of clusters, watches, views and hooks as JSON; pure. The members
 * that users may rely on are listed in informerctl(1) (docs/design.md "Status report").
 */
#ifndef ADMIN_REPORT_H
#define ADMIN_REPORT_H

#include <stdint.h>

struct admin_model;
struct buf;
struct watch;

/* So many objects that are skipped are named. */
enum { REPORT_SKIPS = 100 };

/* Appends the object of GET /v1/status. */
void report_put_status(struct buf *out, const struct admin_model *m, uint64_t now_ms);

/* Appends {"watches":{...},"views":{...}}. */
void report_put_watches(struct buf *out, const struct admin_model *m, uint64_t now_ms);

/* Appends {"hooks":{...}}. */
void report_put_hooks(struct buf *out, const struct admin_model *m, uint64_t now_ms);

/* Appends where the watch's comparison with the server stands and what the last one found: number
 * of those that ended, state, done_age_s, applied, compared, differences, keys (the first ones)
 * and error. */
void report_put_verify(struct buf *out, const struct watch *w, uint64_t now_ms);

#endif
