/* SPDX-License-Identifier: Apache-2.0 */
/*
 * renewal - the second watch of a scope while it is on trial: the first one, whose connection has
 * older credentials, is given up only when the second one has shown that it is served; pure. For
 * list_watch.
 *
 * A server may answer a watch with 200 and then end it at once, or send an ERROR event
 * (docs/kubernetes-protocol.md "Start of a watch"). So a good head is not enough: the trial is over
 * when the first event has come that is no ERROR, or when the watch has lived for RENEWAL_TRIAL_MS.
 */
#ifndef CACHE_RENEWAL_H
#define CACHE_RENEWAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "cache/api_error.h"
#include "kube/event.h"
#include "kube/object_rules.h"
#include "proto/http_in.h"

/* From the head on. A watch that ends sooner was not really served
 * (docs/kubernetes-protocol.md "Very short watches"). */
enum { RENEWAL_TRIAL_MS = 1000 };

struct renewal;

/* A second watch is asked for; rules as for event_reader_create(). Never NULL; release with
 * renewal_destroy(). */
struct renewal *renewal_create(const struct object_rules *rules);

/* There is no second watch any more: *r is NULL. NULL is fine. */
void renewal_destroy(struct renewal **r);

/* Takes the head of its response. Returns true if the trial begins: the head is good. */
bool renewal_head(struct renewal *r, const struct http_head *head);

enum renewal_outcome {
    RENEWAL_GOES_ON, /* nothing is decided yet */
    RENEWAL_SERVED,  /* an event has come; it waits in the reader */
    RENEWAL_REFUSED, /* no more is needed of the response */
};

/* Takes a piece of the body. */
enum renewal_outcome renewal_body(struct renewal *r, const char *data, size_t n) MUST_CHECK;

/* The trial is over. Hands over to the caller the reader, with the events that wait in it, and the
 * values of the head. */
struct event_reader *renewal_take(struct renewal *r, struct api_error *api_error);

/* Why the second watch has failed. err NULL: its response is complete or was given up by
 * renewal_body(); else err says how the request ended. Returns for how many ms the server wants to
 * be left alone. */
uint64_t renewal_why(struct renewal *r, const struct err *err, struct err *why);

#endif
