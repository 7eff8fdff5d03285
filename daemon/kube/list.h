/* SPDX-License-Identifier: Apache-2.0 */
/*
 * list - the body of a LIST, item by item while it streams in; pure. items may stand before or
 * after metadata (docs/kubernetes-protocol.md "List bodies"). The reader never holds more than one
 * item.
 */
#ifndef KUBE_LIST_H
#define KUBE_LIST_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "kube/object.h"
#include "kube/object_rules.h"
#include "kube/unusable.h"

/* The result of one page; its strings are borrowed from the reader. */
struct list_page {
    struct str rv;   /* resourceVersion; empty = the server gives none, or "0" */
    struct str next; /* continue token; empty = this is the last page */
    struct str kind; /* of the items: the list's kind without "List", or the kind of the rules */
    size_t items;    /* items that on_item was called for */
    size_t skipped;  /* items that cannot be used */
};

/* Called from list_reader_feed(), in the order of the body. */
struct list_events {
    /* An item. It is borrowed: take a reference to keep it. selected: match holds. An item that
     * match does not select may be a bare object (object_is_bare()): its identity is all that is
     * needed then. */
    void (*on_item)(void *arg, struct object *o, bool selected);
    /* An item that cannot be used and is skipped; u is borrowed until return. */
    void (*on_unusable)(void *arg, const struct unusable *u);
};

struct list_reader;

/* Makes a reader that calls events with arg. rules are copied except for the shape, which must
 * outlive the reader, as must events. The kind and apiVersion of rules complete items that have
 * none of their own while the list has not said its own yet. If rules say that
 * PartialObjectMetadata may come, a PartialObjectMetadataList gives the same items as the whole
 * list. rules->object_size bounds the bytes that are kept of an item. Never NULL. */
struct list_reader *list_reader_create(const struct object_rules *rules,
                                       const struct list_events *events, void *arg);

/* Frees the reader and sets *r to NULL. NULL is fine. Not from inside its callbacks. */
void list_reader_destroy(struct list_reader **r);

/* Feeds n bytes of the body; callbacks come before return. ERR_PROTOCOL: the body is no JSON, a
 * Table, an object that is no list (docs/kubernetes-protocol.md "List bodies"), items whose kind
 * neither rules nor list nor item name, or PartialObjectMetadata when the rules do not name the
 * kind. ERR_TOO_BIG: the bytes before, between or behind the items are over object_size, or an
 * item is over object_size + 64 MiB. Feed nothing after an error. */
enum err_kind list_reader_feed(struct list_reader *r, const char *data, size_t n,
                               struct err *err) MUST_CHECK;

/* The body is complete: fills *page. ERR_PROTOCOL if the body was cut short or is no list (it has
 * neither a resourceVersion nor items). */
enum err_kind list_reader_end(struct list_reader *r, struct list_page *page,
                              struct err *err) MUST_CHECK;

#endif
