/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conf_watch - one watch as it is configured: which objects, and what of them; pure. The settings
 * behind it: watch_conf.
 */
#ifndef CONF_CONF_WATCH_H
#define CONF_CONF_WATCH_H

#include <stddef.h>

#include "conf/where.h"

enum { CONF_GUARD_OFF = 101 }; /* as relist_deletes */

/* What is kept of it over restarts. */
enum conf_persist {
    CONF_PERSIST_FULL,   /* objects as they are */
    CONF_PERSIST_DIGEST, /* of each object whether it is the same */
    CONF_PERSIST_NONE
};

struct conf_guard {
    struct conf_int relist_deletes; /* percent, 0 to 100, or CONF_GUARD_OFF */
    struct conf_int at_least;
    struct conf_ms hold; /* 0 = a second list at once */
};

struct conf_watch {
    struct conf_str name;
    struct conf_str cluster;        /* filled in when there is only one */
    struct conf_str resource;       /* not parsed: kube/resource.h */
    struct conf_list namespaces;    /* distinct; "*" stands alone */
    struct conf_list names;         /* distinct */
    struct conf_str label_selector; /* ${node_name} not yet replaced */
    struct conf_str field_selector; /* ${node_name} not yet replaced */
    struct conf_list match;         /* not parsed: kube/shape.h; ${node_name} not yet replaced */
    struct conf_list keep;          /* paths, not parsed: kube/shape.h */
    struct conf_list drop;
    struct conf_word persist; /* enum conf_persist; the default depends on resource */
    struct conf_guard guard;
    struct conf_bool confirm_deletes;
    struct conf_ms audit; /* 0 = off */
    size_t first;         /* place of the first watch that is equal to it: conf_watch_equal() */
};

#endif
