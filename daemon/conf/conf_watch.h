/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conf_watch - one watch as it is configured: which objects, and which parts of them; pure. The
 * table of its settings: conf/watch_conf.h.
 */
#ifndef CONF_CONF_WATCH_H
#define CONF_CONF_WATCH_H

#include <stddef.h>

#include "conf/where.h"

enum { CONF_GUARD_OFF = 101 }; /* relist_deletes = "off": a percentage that no list exceeds */

/* Which parts of the objects the state keeps over restarts. */
enum conf_persist {
    CONF_PERSIST_FULL,   /* the objects as they are */
    CONF_PERSIST_DIGEST, /* a digest of each: enough to tell whether an object has changed */
    CONF_PERSIST_NONE
};

struct conf_guard {
    struct conf_int relist_deletes; /* percent, 0 to 100, or CONF_GUARD_OFF */
    struct conf_int at_least;
    struct conf_ms hold; /* 0 = informerd asks for a second list at once */
};

struct conf_watch {
    struct conf_str name;
    struct conf_str cluster;        /* filled in if there is only one cluster */
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
    size_t first;         /* index of the first watch that is equal: conf_watch_equal() */
};

#endif
