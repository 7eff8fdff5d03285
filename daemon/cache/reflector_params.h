/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reflector_params - the settings of a reflector; pure.
 */
#ifndef CACHE_REFLECTOR_PARAMS_H
#define CACHE_REFLECTOR_PARAMS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/backoff.h"

/* How a list may come: by LIST alone, or as a streaming list, which goes on as the watch
 * (docs/kubernetes-protocol.md "Streaming lists"). */
enum watch_list {
    /* The first list by LIST; later ones, not older than a version, as streaming lists if the
     * server is known to support them. */
    WATCH_LIST_AUTO,
    WATCH_LIST_ON, /* each as a streaming list, by LIST only when the server refuses that */
    WATCH_LIST_OFF,
};

struct reflector_params {
    struct backoff_params backoff;
    /* Watches that follow each other without a wait for so long reset the backoff. */
    uint64_t reset_after_ms;
    unsigned page_size; /* 0 = no paging */
    /* The user chose the page size: lists from a version come in pages, too. */
    bool page_always;
    unsigned watch_min_s; /* timeoutSeconds is drawn from [min, max] for each watch */
    unsigned watch_max_s;
    uint64_t start_jitter_ms;  /* before the first request: drawn from [0, this] */
    uint64_t relist_jitter_ms; /* the same, on top of the wait before a later list */
    enum watch_list watch_list;
};

#endif
