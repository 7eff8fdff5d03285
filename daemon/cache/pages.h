/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pages - keeps a list that comes in pages from going on for ever; pure.
 */
#ifndef CACHE_PAGES_H
#define CACHE_PAGES_H

#include "kube/list.h"

/* Zero-initialised: no list is under way. */
struct pages {
    /* The token that is remembered: a page was asked for with it; NULL = no token yet. */
    char *continue_token;
    unsigned asked;      /* pages that were asked for since then */
    unsigned pages_left; /* so many pages later a newer token takes its place */
    unsigned empty;      /* pages in a row without an item */
};

/* A page is asked for with this token, which is copied; NULL = page 1 of a new list. */
void pages_ask(struct pages *p, const char *token);

/* The page came. ERR_PROTOCOL: its version or token has a NUL, its token was given before (which is
 * found soon, not at once), or too many pages in a row had no item. */
enum err_kind pages_check(struct pages *p, const struct list_page *page,
                          struct err *err) MUST_CHECK;

/* Frees its memory; no list is under way then. */
void pages_fini(struct pages *p);

#endif
