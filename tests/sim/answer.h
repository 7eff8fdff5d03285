/* SPDX-License-Identifier: Apache-2.0 */
/*
 * answer - the bytes of a simulated server: pages of lists, watch frames, Status objects
 * (docs/kubernetes-protocol.md "List bodies", "Event types", "Errors").
 */
#ifndef SIM_ANSWER_H
#define SIM_ANSWER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "kube/object.h"
#include "sim/api.h"

struct answer_page {
    const struct lens *lens;
    const struct api_object *state; /* API_KEYS objects, as of rv */
    uint64_t rv;
    uint64_t
        told_rv;    /* the version that the page names; clients heed that of the first page only */
    size_t from;    /* the first key that may be on the page */
    uint64_t limit; /* items at most; 0 = all */
    bool items_first; /* items stand before metadata, as in lists of custom resources */
    bool unversioned; /* the page names no version, in one of three spellings: */
    size_t spelling;
    bool unnamed; /* the first item has no name */
};

/* Appends a page of a list. Its continue token is version * 100 + key. */
void answer_put_page(struct buf *out, const struct answer_page *p);

/* Appends the frame of an event as the watch sees it; false: the watch does not see the event.
 * unnamed: the object in the frame has no name. */
bool answer_put_event(struct buf *out, const struct lens *v, const struct api_event *e,
                      bool unnamed);

/* Appends the ADDED frame of an object that exists. */
void answer_put_added(struct buf *out, const struct lens *v, size_t key,
                      const struct api_object *o);

/* Appends a bookmark; end: the one that ends the initial events. */
void answer_put_bookmark(struct buf *out, const struct lens *v, uint64_t rv, bool end);

/* Appends a Status. */
void answer_put_status(struct buf *out, int code, const char *reason, const char *message);

/* Appends a Status that says "Too large resource version" in one of three spellings. */
void answer_put_too_large(struct buf *out, size_t spelling);

/* Appends an ERROR frame around the Status that answer_put_status() appends. */
void answer_put_error(struct buf *out, int code, const char *reason, const char *message);

/* Appends an ERROR frame around the Status that answer_put_too_large() appends. */
void answer_put_error_too_large(struct buf *out, size_t spelling);

/* The parts of an object that the simulation looks at, read from the first object in json. An
 * object of the view begins with its Service. */
struct api_object answer_parse(const char *json);

/* The same from an object of the daemon. */
struct api_object answer_read(const struct object *o);

/* The uid of an object. */
uint64_t answer_uid(const struct object *o);

/* Has data.noise of this object a value that no environment variable can hold? Objects of the view
 * never have. */
bool answer_is_unfit(const struct object *o);

#endif
