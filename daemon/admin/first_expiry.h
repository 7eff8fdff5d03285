/* SPDX-License-Identifier: Apache-2.0 */
/*
 * first_expiry - finds the credential of a cluster that expires first, for status, metrics and page; pure.
 */
#ifndef ADMIN_FIRST_EXPIRY_H
#define ADMIN_FIRST_EXPIRY_H

#include <stdint.h>

#include "kube/expiry.h"

struct admin_cluster;

/* The view of the credential of that type that expires first, of all that the cluster uses; state NONE =
 * none does. now_s: wall clock, seconds since 1970. */
struct expiry_view first_expiry_look(const struct admin_cluster *c, enum expiry_item item,
                                     int64_t now_s, int64_t window_s);

#endif
