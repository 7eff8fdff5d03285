/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heap - an intrusive priority queue of due times; pure. A pairing heap: push takes O(1), remove
 * O(log n) amortised, and nothing is allocated
 * (docs/decisions.md "A pairing heap of our own orders due times"). Of nodes with equal times the
 * one that came first is due first.
 */
#ifndef BASE_HEAP_H
#define BASE_HEAP_H

#include <stdbool.h>
#include <stdint.h>

struct heap_node {
    uint64_t due_ms;
    uint64_t order;         /* tie-break: the number of the push */
    struct heap_node *prev; /* left sibling, or the parent of a first child */
    struct heap_node *next; /* right sibling */
    struct heap_node *child;
};

/* Zero-initialised is empty. */
struct heap {
    struct heap_node *root;
    uint64_t pushes;
};

/* Adds a node that is in no heap. */
void heap_push(struct heap *h, struct heap_node *node, uint64_t due_ms);

/* The node that is due first, or NULL if the heap is empty. The node stays in the heap. */
struct heap_node *heap_peek(const struct heap *h);

/* Takes a node out of the heap that it is in. */
void heap_remove(struct heap *h, struct heap_node *node);

#endif
