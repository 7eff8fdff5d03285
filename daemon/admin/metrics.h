/* SPDX-License-Identifier: Apache-2.0 */
/*
 * metrics - the daemon in numbers, as Prometheus reads them (docs/metrics.md names them all); pure.
 * No label is made of objects, so there are as many series as the configuration makes.
 */
#ifndef ADMIN_METRICS_H
#define ADMIN_METRICS_H

#include <stdint.h>

struct admin_model;
struct buf;
struct call;

/* Answers GET /metrics. */
void metrics_answer(struct call *c);

/* Appends the metrics that begin with informerd_, without those of the process, which have the same
 * names in every program: for a file that another exporter reads, whose own metrics they would meet. */
void metrics_put(struct buf *out, const struct admin_model *m, uint64_t now_ms);

#endif
