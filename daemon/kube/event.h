/* SPDX-License-Identifier: Apache-2.0 */
/*
 * event - the body of a watch, cut anywhere, as events; pure (PROTOCOL 1.6, 1.19).
 */
#ifndef KUBE_EVENT_H
#define KUBE_EVENT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "kube/object.h"
#include "kube/object_rules.h"
#include "kube/status.h"

enum event_type {
    EVENT_ADDED,
    EVENT_MODIFIED,
    EVENT_DELETED,
    EVENT_BOOKMARK,
    EVENT_ERROR,
    EVENT_SKIPPED, /* wrong kind or no metadata: say so, do not advance the RV */
};

/* Borrowed until the callback returns. */
struct event {
    enum event_type type;
    struct object *object;       /* ADDED, MODIFIED, DELETED; take a reference to keep it */
    bool selected;               /* the above: match holds */
    struct str rv;               /* the same (empty = it has none) and BOOKMARK */
    bool initial_events_end;     /* BOOKMARK */
    const struct status *status; /* ERROR */
    const char *why;             /* SKIPPED: a constant text for the log ... */
    struct str key;              /* ... and the object's key if it is known */
};

/* One event. False stops the reader. */
typedef bool event_cb(void *arg, const struct event *e);

struct event_reader;

/* rules are copied, but for the shape. Events are the same for a PartialObjectMetadata as for the
 * object itself, where that may come. object_size bounds an object, and with 4 KiB more its frame.
 * Never NULL. */
struct event_reader *event_reader_create(const struct object_rules *rules, event_cb *cb, void *arg);

/* Frees the reader and sets *r to NULL. NULL is fine. Not from inside its callback. */
void event_reader_destroy(struct event_reader **r);

/* Feeds n bytes of the body; events come before return. ERR_PROTOCOL: no JSON, no event, unknown
 * type. ERR_TOO_BIG: a frame over object_size, or nested too deep. ERR_CLOSED: the callback
 * returned false. Feed nothing after an error. */
enum err_kind event_reader_feed(struct event_reader *r, const char *data, size_t n,
                                struct err *err) MUST_CHECK;

#endif
