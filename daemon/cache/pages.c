/* SPDX-License-Identifier: Apache-2.0 */
#include "cache/pages.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* Empty pages are legal (every object on them was filtered out), but no server needs so many in a
 * row. */
#define EMPTY_PAGES 1000

/* One token is remembered, each next one for twice as long: a cycle of tokens, however long, comes
 * back to it in the end (Brent's algorithm). So no list of tokens is kept. */
void pages_ask(struct pages *p, const char *token)
{
    if (token == NULL) {
        pages_fini(p);
        return;
    }
    if (++p->asked <= p->pages_left)
        return;
    p->asked = 0;
    p->pages_left = p->pages_left * 2 + 1;
    free(p->continue_token);
    p->continue_token = mem_strdup(token);
}

/* A version or token goes into the target of the next request as a C string. */
static bool has_nul(struct str s)
{
    return s.n > 0 && memchr(s.p, '\0', s.n) != NULL;
}

enum err_kind pages_check(struct pages *p, const struct list_page *page, struct err *err)
{
    if (has_nul(page->rv) || has_nul(page->next))
        return err_set(err, ERR_PROTOCOL, 0,
                       "list: its resourceVersion or continue token has a NUL in it");
    /* A page whose items were all skipped is not an empty one. */
    p->empty = page->items + page->skipped == 0 ? p->empty + 1 : 0;
    if (page->next.n == 0)
        return ERR_OK;
    if (p->continue_token != NULL && str_is(page->next, p->continue_token))
        return err_set(err, ERR_PROTOCOL, 0,
                       "list: the server gives the same continue token again and again");
    if (p->empty >= EMPTY_PAGES)
        return err_set(err, ERR_PROTOCOL, 0, "list: %u pages in a row are empty", p->empty);
    return ERR_OK;
}

void pages_fini(struct pages *p)
{
    free(p->continue_token);
    *p = (struct pages){0};
}
