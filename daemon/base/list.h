/* SPDX-License-Identifier: Apache-2.0 */
/*
 * list - an intrusive doubly linked ring; pure. A link that is on no list points to itself, so
 * list_remove() may be called for a link that is on no list.
 */
#ifndef BASE_LIST_H
#define BASE_LIST_H

#include <stdbool.h>
#include <stddef.h>

#include "base/compiler.h"

struct list {
    struct list *next;
    struct list *prev;
};

/* Makes l an empty head, or a link that is on no list. */
static inline void list_init(struct list *l)
{
    l->next = l;
    l->prev = l;
}

/* Is this head empty? Or, of a link: is it on no list? */
static inline bool list_is_empty(const struct list *l)
{
    return l->next == l;
}

/* Adds a link at the end; it must be on no list. */
static inline void list_append(struct list *head, struct list *link)
{
    link->prev = head->prev;
    link->next = head;
    head->prev->next = link;
    head->prev = link;
}

/* Takes a link off its list, if it is on one. */
static inline void list_remove(struct list *link)
{
    link->prev->next = link->next;
    link->next->prev = link->prev;
    list_init(link);
}

/* The first link, or NULL. */
static inline struct list *list_first(const struct list *head)
{
    return head->next == head ? NULL : head->next;
}

#define list_entry(link, type, member) container_of(link, type, member)

/* Walks links; the body may remove (and free) the current one. */
/* NOLINTBEGIN(bugprone-macro-parentheses): pos and tmp are declared here */
#define list_each(pos, tmp, head)                                          \
    for (struct list *pos = (head)->next, *tmp = pos->next; pos != (head); \
         pos = tmp, tmp = pos->next)
/* NOLINTEND(bugprone-macro-parentheses) */

#endif
