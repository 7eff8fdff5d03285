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
    EVENT_UNUSABLE, /* ADDED, MODIFIED or DELETED of an object that cannot be used */
    EVENT_SKIPPED,  /* a bookmark that cannot be used: log it, keep the resourceVersion */
};
enum { EVENT_TYPES = EVENT_SKIPPED + 1 };

/* Borrowed until the next call on its reader. */
struct event {
    enum event_type type;
    /* ADDED, MODIFIED, DELETED. Take a reference to keep it. An object that match does not select
     * may be a bare one (object_is_bare()): its identity is all that is needed then. */
    struct object *object;
    bool selected; /* of object: match holds */
    /* Of object, of an UNUSABLE one, or of the BOOKMARK. Empty: the object has none that can be
     * read, or it is of another kind, whose resourceVersion means nothing to this watch. */
    struct str rv;
    bool initial_events_end;         /* BOOKMARK: the end of the initial events */
    const struct status *status;     /* ERROR */
    const struct unusable *unusable; /* UNUSABLE: the readable parts of the object */
    bool deleted;                    /* UNUSABLE: its event is DELETED */
    const char *why;                 /* SKIPPED: a constant text for the log */
};

struct event_reader;

/* Makes a reader. rules are copied except for the shape, which must
 * outlive the reader. If rules say that PartialObjectMetadata may come, its events are the same
 * as those of the whole object. rules->object_size bounds the bytes that are kept of an object,
 * and with 4 KiB more the frame around it; a larger object is unusable. Never NULL. */
struct event_reader *event_reader_create(const struct object_rules *rules);

/* Frees the reader with the events that nobody took, and sets *r to NULL. NULL is fine. */
void event_reader_destroy(struct event_reader **r);

/* Feeds n bytes of the body. The events that they complete wait for event_reader_next(), also those
 * before an error. ERR_PROTOCOL: the body is no JSON, a frame is no event, or the type is unknown.
 * ERR_TOO_BIG: the frame without its object is over object_size + 4 KiB, or an object is over
 * object_size + 64 MiB. Feed nothing after an error. */
enum err_kind event_reader_feed(struct event_reader *r, const char *data, size_t n,
                                struct err *err) MUST_CHECK;

/* The oldest event that waits, without taking it; NULL = no event waits. */
const struct event *event_reader_first(const struct event_reader *r);

/* Takes the oldest event that waits; NULL = no event waits. */
const struct event *event_reader_next(struct event_reader *r);

#endif
