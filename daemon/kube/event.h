/* SPDX-License-Identifier: Apache-2.0 */
/*
 * event - the body of a watch, cut anywhere, as events; pure
 * (docs/kubernetes-protocol.md "Event frames", "Event types").
 */
#ifndef KUBE_EVENT_H
#define KUBE_EVENT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "kube/object.h"
#include "kube/object_rules.h"
#include "kube/status.h"
#include "kube/unusable.h"

enum event_type {
    EVENT_ADDED,
    EVENT_MODIFIED,
    EVENT_DELETED,
    EVENT_BOOKMARK,
    EVENT_ERROR,
    EVENT_UNUSABLE, /* one of the first three, of an object that cannot be used */
    EVENT_SKIPPED,  /* a bookmark that cannot be used: say so, do not advance the RV */
};

/* Borrowed until the callback returns. */
struct event {
    enum event_type type;
    struct object *object;   /* ADDED, MODIFIED, DELETED; take a reference to keep it; a bare one
                                    is all that is needed of what match does not select */
    bool selected;           /* the above: match holds */
    struct str rv;           /* the same, UNUSABLE and BOOKMARK; empty = not known, or none of
                                    this watch */
    bool initial_events_end; /* BOOKMARK */
    const struct status *status;     /* ERROR */
    const struct unusable *unusable; /* UNUSABLE: what is known of it ... */
    bool gone;                       /* ... it was DELETED */
    const char *why;                 /* SKIPPED: a constant text for the log */
};

/* One event. False stops the reader. */
typedef bool event_cb(void *arg, const struct event *e);

struct event_reader;

/* rules are copied, but for the shape. Events are the same for a PartialObjectMetadata as for the
 * object itself, where that may come. object_size bounds what is kept of an object, and with 4 KiB
 * more its frame; a larger one is unusable. Never NULL. */
struct event_reader *event_reader_create(const struct object_rules *rules, event_cb *cb, void *arg);

/* Frees the reader and sets *r to NULL. NULL is fine. Not from inside its callback. */
void event_reader_destroy(struct event_reader **r);

/* Feeds n bytes of the body; events come before return. ERR_PROTOCOL: no JSON, no event, unknown
 * type. ERR_TOO_BIG: what stands beside an object is over object_size + 4 KiB, or an object over
 * object_size + 64 MiB. ERR_CLOSED: the callback returned false. Feed nothing after an error. */
enum err_kind event_reader_feed(struct event_reader *r, const char *data, size_t n,
                                struct err *err) MUST_CHECK;

#endif
