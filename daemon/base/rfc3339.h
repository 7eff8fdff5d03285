/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rfc3339 - reads a time as Kubernetes writes it, "2026-01-31T23:59:59.5+01:00"; pure.
 */
#ifndef BASE_RFC3339_H
#define BASE_RFC3339_H

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/str.h"

/* Reads a date-time of RFC 3339 5.6. *ms is the time in milliseconds since 1970, less than 0 before
 * that; digits of the fraction below a millisecond are cut off. False, with *ms unchanged: the text is
 * none, or names a day or hour that does not exist. A second 60 is a leap second and counts as the next
 * second, as the system's clock has no leap seconds. */
bool rfc3339_read(struct str text, int64_t *ms) MUST_CHECK;

#endif
