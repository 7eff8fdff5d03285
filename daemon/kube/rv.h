/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rv - which of two resourceVersions is the newer one; pure. The order means something only within
 * one resource of one cluster, and only where both versions are written as numbers
 * (docs/kubernetes-protocol.md "Order of versions").
 */
#ifndef KUBE_RV_H
#define KUBE_RV_H

#include "base/str.h"

enum rv_order { RV_OLDER, RV_SAME, RV_NEWER, RV_UNKNOWN };

/* The order of a relative to b: RV_OLDER if a is older. RV_UNKNOWN: one of them is not digits
 * alone, has a leading zero, is "0" or empty; also if both are equal and like this. */
enum rv_order rv_order(struct str a, struct str b);

#endif
