/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view_conf - one view as it is configured: which objects it computes, and from which watches;
 * with the table of its settings; pure.
 */
#ifndef CONF_VIEW_CONF_H
#define CONF_VIEW_CONF_H

#include "conf/problems.h"
#include "conf/setting.h"
#include "conf/where.h"

struct conf;

enum conf_view_type { CONF_VIEW_SERVICE_ENDPOINTS };

struct conf_view {
    struct conf_str name;
    struct conf_word type;    /* enum conf_view_type */
    struct conf_str services; /* the name of a watch */
    struct conf_str slices;   /* the name of a watch */
    struct conf_bool local_only;
    struct conf_ms hold_empty; /* 0 = a port that runs empty is empty at once */
};

/* The table that fills a struct conf_view. */
extern const struct setting view_conf_settings[];

/* Reports a name that a watch has, too, and names of watches that do not exist. Whether the watches
 * have the right resources only the cache can say: app/check.h asks it. */
void view_conf_check(const struct conf *c, const struct conf_view *view, struct problems *p);

#endif
