/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conf_view - one view as it is configured: which objects it computes, and from which watches;
 * pure. The table of its settings: conf/view_conf.h.
 */
#ifndef CONF_CONF_VIEW_H
#define CONF_CONF_VIEW_H

#include "conf/where.h"

enum conf_view_type { CONF_VIEW_SERVICE_ENDPOINTS };

struct conf_view {
    struct conf_str name;
    struct conf_word type;    /* enum conf_view_type */
    struct conf_str services; /* the name of a watch */
    struct conf_str slices;   /* the name of a watch */
    struct conf_bool local_only;
    struct conf_ms hold_empty; /* 0 = a port that runs empty is empty at once */
};

#endif
