/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scan_probe - one object_scan and a reader that feeds it. For tests.
 */
#ifndef UNIT_SCAN_PROBE_H
#define UNIT_SCAN_PROBE_H

#include "json_ref.h"

#include "kube/object_scan.h"

/* The scan under test. */
extern struct object_scan *scan;

/* The setup of a group with cmocka: makes the scan, with a limit of 1 MiB. */
int scan_set_up(void **state);
/* The teardown of a group with cmocka: ends the scan. */
int scan_clean_up(void **state);

/* Scans the object in text, which comes in pieces, the first one of another size. */
void scan_feed(struct str text, size_t first, size_t piece);

/* Fails the test unless the JSON of o is this. */
void scan_assert_json(const struct object *o, const char *want);

#endif
