/* SPDX-License-Identifier: Apache-2.0 */
/*
 * list - the body of a LIST, item by item while it streams in; pure. items may stand before or
 * after metadata (docs/kubernetes-protocol.md "List bodies"). Never holds more than one item.
 */
#ifndef KUBE_LIST_H
#define KUBE_LIST_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "kube/object.h"
#include "kube/object_rules.h"
#include "kube/unusable.h"

/* What one page said; borrowed from the reader. */
struct list_page {
    struct str rv;   /* empty = the server gives none ("0" is none, too) */
    struct str next; /* continue token; empty = this is the last page */
    struct str kind; /* of the items: from the list's kind without "List", or as rules say */
    size_t items;    /* handed out */
    size_t skipped;  /* cannot be used */
};

struct list_events {
    /* The object is borrowed: take a reference to keep it. selected: match holds; else it may be a
     * bare one, which is all that is needed then. */
    void (*on_item)(void *arg, struct object *o, bool selected);
    void (*on_unusable)(void *arg, const struct unusable *u); /* an item that is skipped */
};

struct list_reader;

/* rules are copied, but for the shape. What they say of the kind completes items that do not say it
 * when the list has not said its own yet. A PartialObjectMetadataList gives the same items as the
 * list itself, where that may come. object_size bounds what is kept. events must outlive the
 * reader. Never NULL. */
struct list_reader *list_reader_create(const struct object_rules *rules,
                                       const struct list_events *events, void *arg);

/* Frees the reader and sets *r to NULL. NULL is fine. Not from inside its callbacks. */
void list_reader_destroy(struct list_reader **r);

/* Feeds n bytes of the body; items come before return. ERR_PROTOCOL: no JSON, a Table
 * (docs/kubernetes-protocol.md "List bodies"), an object that is no list, items whose kind
 * nobody says, a PartialObjectMetadata when the
 * rules do not say of what. ERR_TOO_BIG: what stands before, between or behind the items is over
 * object_size, or an item is over object_size + 64 MiB. Feed nothing after an error. */
enum err_kind list_reader_feed(struct list_reader *r, const char *data, size_t n,
                               struct err *err) MUST_CHECK;

/* The body is complete: fills *page. ERR_PROTOCOL when it was cut short or is no list (it
 * has neither a version nor items). */
enum err_kind list_reader_end(struct list_reader *r, struct list_page *page,
                              struct err *err) MUST_CHECK;

#endif
