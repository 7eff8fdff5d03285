/* SPDX-License-Identifier: Apache-2.0 */
/*
 * value - the texts that stand for sizes, signals and modes (docs/design.md "Values"; durations:
 * base/amount); pure. Each reader returns false, and leaves *out alone, for any text that is not of
 * the form which its comment shows.
 */
#ifndef CONF_VALUE_H
#define CONF_VALUE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/compiler.h"

/* "100B", "64KiB", "16MiB", "1GiB": a whole number and its unit, in bytes. */
bool value_size(const char *text, uint64_t *out) MUST_CHECK;

/* "TERM" or "SIGTERM": the number of a signal. */
bool value_signal(const char *text, int64_t *out) MUST_CHECK;

/* "0022": one to four octal digits, at most 0777. */
bool value_umask(const char *text, int64_t *out) MUST_CHECK;

/* "50%": a whole percentage, at most 100. */
bool value_percent(const char *text, int64_t *out) MUST_CHECK;

/* "150%" of one CPU: a whole percentage from 1 to 100000; "infinity": 0. */
bool value_cpu_max(const char *text, int64_t *out) MUST_CHECK;

/* Appends a size in the largest unit that keeps it whole. */
void value_put_size(struct buf *out, uint64_t bytes);

/* Appends the name of a signal that value_signal() gave. */
void value_put_signal(struct buf *out, int64_t number);

/* Appends a mode in four octal digits, as value_umask() reads it. */
void value_put_umask(struct buf *out, int64_t mode);

/* Appends a percentage with its sign, as value_percent() reads it. */
void value_put_percent(struct buf *out, int64_t percent);

/* Appends a share of CPU time, as value_cpu_max() reads it. */
void value_put_cpu_max(struct buf *out, int64_t percent);

#endif
