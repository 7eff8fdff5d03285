/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watch_conf - one watch as it is configured: which objects, and which parts of them; with the
 * table of its settings; pure.
 */
#ifndef CONF_WATCH_CONF_H
#define CONF_WATCH_CONF_H

#include <stddef.h>

#include "conf/problems.h"
#include "conf/setting.h"
#include "conf/where.h"

struct conf;

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

/* The table that fills a struct conf_watch. */
extern const struct setting watch_conf_settings[];

/* Is its resource Secrets of the core group? */
bool watch_conf_has_secrets(const struct conf_watch *w);

/* If the watch names no cluster, fills in the only one of c. If persist is not set, fills in its
 * default for the resource of the watch. Reports problems that only several settings together
 * show. */
void watch_conf_check(const struct conf *c, struct conf_watch *watch, struct problems *p);

#endif
