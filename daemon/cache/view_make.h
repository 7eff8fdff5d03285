/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view_make - makes the object of one Service from its slices and from held endpoints; pure.
 */
#ifndef CACHE_VIEW_MAKE_H
#define CACHE_VIEW_MAKE_H

#include <stdint.h>

#include "cache/view_hold.h"
#include "cache/view_pick.h"
#include "kube/object.h"

/* Borrowed. */
struct view_make {
    const char *cluster;
    const struct object *service;
    const struct service *read; /* the contents of service */
    struct view_pick pick;
    struct view_hold *hold; /* brought up to date */
    uint64_t hold_ms;       /* 0 = no port is held */
    uint64_t now_ms;
};

/* The object as it is now, one reference for the caller. *due_ms: when it changes by itself because
 * a hold is over, UINT64_MAX = it does not. NULL: the Service has more than VIEW_PICK_MAX addresses
 * times ports. */
struct object *view_make_object(const struct view_make *in, uint64_t *due_ms);

#endif
