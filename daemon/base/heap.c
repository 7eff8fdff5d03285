/* SPDX-License-Identifier: Apache-2.0 */
#include "base/heap.h"

#include <stddef.h>

static bool before(const struct heap_node *a, const struct heap_node *b)
{
    return a->due_ms != b->due_ms ? a->due_ms < b->due_ms : a->order < b->order;
}

/* Joins two heaps, of which either may be NULL. Neither root has siblings. The root that is due
 * later becomes the first child of the other one. */
static struct heap_node *meld(struct heap_node *a, struct heap_node *b)
{
    if (a == NULL || b == NULL)
        return a != NULL ? a : b;
    if (before(b, a)) {
        struct heap_node *t = a;
        a = b;
        b = t;
    }
    b->next = a->child;
    if (a->child != NULL)
        a->child->prev = b;
    b->prev = a;
    a->child = b;
    return a;
}

/* Joins a chain of siblings into one heap in two passes: pairs from the left, then the pairs from
 * the right to the left. Without the first pass each heap_remove() of the root could take O(n). */
static struct heap_node *meld_siblings(struct heap_node *first)
{
    struct heap_node *pairs = NULL;

    while (first != NULL) {
        struct heap_node *a = first;
        struct heap_node *b = a->next;

        first = b != NULL ? b->next : NULL;
        a->next = a->prev = NULL;
        if (b != NULL)
            b->next = b->prev = NULL;
        a = meld(a, b);
        a->next = pairs;
        pairs = a;
    }
    struct heap_node *root = NULL;
    while (pairs != NULL) {
        struct heap_node *next = pairs->next;

        pairs->next = NULL;
        root = meld(root, pairs);
        pairs = next;
    }
    return root;
}

void heap_push(struct heap *h, struct heap_node *node, uint64_t due_ms)
{
    *node = (struct heap_node){.due_ms = due_ms, .order = h->pushes++};
    h->root = meld(h->root, node);
}

struct heap_node *heap_peek(const struct heap *h)
{
    return h->root;
}

/* The children of the node become a heap of their own, which takes its place if it was the root,
 * and else is joined to the root. */
void heap_remove(struct heap *h, struct heap_node *node)
{
    struct heap_node *rest = meld_siblings(node->child);

    if (node == h->root) {
        h->root = rest;
        return;
    }
    /* The prev of a first child is its parent. */
    if (node->prev->child == node)
        node->prev->child = node->next;
    else
        node->prev->next = node->next;
    if (node->next != NULL)
        node->next->prev = node->prev;
    h->root = meld(h->root, rest);
}
