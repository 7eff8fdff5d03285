/* SPDX-License-Identifier: Apache-2.0 */
/*
 * metrics_out - writes the text format of Prometheus, version 0.0.4: families with HELP and TYPE, and
 * their samples; pure.
 */
#ifndef ADMIN_METRICS_OUT_H
#define ADMIN_METRICS_OUT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/histogram.h"
#include "base/str.h"

#define METRICS_OUT_TYPE "text/plain; version=0.0.4; charset=utf-8"

struct metrics_out {
    struct buf *text;
    const char *name; /* of the family */
};

/* Begins a family; its samples follow. type: "counter", "gauge" or "histogram". All are constants without
 * characters that need an escape. */
void metrics_out_family(struct metrics_out *m, const char *name, const char *type,
                        const char *help);

/* Appends NAME="VALUE" to a list of labels, with a comma if it is not the first. */
void metrics_out_label(struct buf *labels, const char *name, struct str value);

/* A sample of the family. labels: a list as metrics_out_label() makes it, "" = none. */
void metrics_out_u64(struct metrics_out *m, struct str labels, uint64_t value);

/* A sample whose value is a duration or a time; it is written in seconds. */
void metrics_out_seconds(struct metrics_out *m, struct str labels, uint64_t ms);

/* A sample with one label more. */
void metrics_out_by(struct metrics_out *m, struct str labels, const char *label, const char *word,
                    uint64_t value);

/* The samples of a histogram of durations: the buckets in seconds, sum and count. */
void metrics_out_histogram(struct metrics_out *m, struct str labels, const struct histogram *h,
                           uint64_t sum_ms);

#endif
