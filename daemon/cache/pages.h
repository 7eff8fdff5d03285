/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pages - keeps a list that comes in pages from going on for ever; pure.
 */
#ifndef CACHE_PAGES_H
#define CACHE_PAGES_H

#include "kube/list.h"

/* Zero-initialised: no list is under way. */
struct pages {
    char *continue_token; /* a page was asked for with this token; NULL = none yet */
    unsigned asked;       /* pages since that one */
    unsigned pages_left;  /* pages till a newer one takes its place */
    unsigned empty;       /* pages without an item in a row */
};

/* A page is asked for; token NULL = a new list begins. Copied. */
void pages_ask(struct pages *p, const char *token);

/* The page is there. ERR_PROTOCOL: its version or token cannot be used, its token was given before
 * (soon found out, not at once), or too many pages in a row had no item. */
enum err_kind pages_check(struct pages *p, const struct list_page *page,
                          struct err *err) MUST_CHECK;

/* Frees what it holds. */
void pages_fini(struct pages *p);

#endif
