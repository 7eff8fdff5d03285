/* SPDX-License-Identifier: Apache-2.0 */
#include "cache/renewal.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/panic.h"

enum state {
    RENEWAL_ASKED, /* the head has not come */
    RENEWAL_TRIAL, /* a good head has come, and no event */
    RENEWAL_FAILED,
};

struct renewal {
    enum state state;
    struct event_reader *events;
    struct api_error api_error;
    int64_t retry_after_s; /* of an ERROR event; <= 0 = none */
    struct err failure;    /* FAILED, unless the error response itself says why */
};

struct renewal *renewal_create(const struct object_rules *rules)
{
    return MEM_NEW(struct renewal, .events = event_reader_create(rules));
}

void renewal_destroy(struct renewal **rp)
{
    struct renewal *r = *rp;

    if (r == NULL)
        return;
    *rp = NULL;
    event_reader_destroy(&r->events);
    api_error_reset(&r->api_error);
    free(r);
}

bool renewal_head(struct renewal *r, const struct http_head *head)
{
    ensure(r->state == RENEWAL_ASKED);
    api_error_head(&r->api_error, head);
    bool good = head->status == 200 && api_error_type(head, &r->failure) == ERR_OK;

    r->state = good ? RENEWAL_TRIAL : RENEWAL_FAILED;
    return good;
}

/* Broken bytes behind good events fail the renewal, too: a stream that is broken already is not
 * worth giving up one that is well. */
static enum renewal_outcome look_at_events(struct renewal *r, const char *data, size_t n)
{
    enum err_kind kind = event_reader_feed(r->events, data, n, &r->failure);
    const struct event *first = event_reader_first(r->events);

    if (kind == ERR_OK && first == NULL)
        return RENEWAL_GOES_ON;
    if (kind == ERR_OK && first->type != EVENT_ERROR)
        return RENEWAL_SERVED;
    if (kind == ERR_OK) {
        status_to_err(first->status, &r->failure);
        r->retry_after_s = first->status->retry_after_s;
    }
    r->state = RENEWAL_FAILED;
    return RENEWAL_REFUSED;
}

enum renewal_outcome renewal_body(struct renewal *r, const char *data, size_t n)
{
    if (r->state == RENEWAL_TRIAL)
        return look_at_events(r, data, n);
    ensure(r->state == RENEWAL_FAILED);
    if (r->failure.kind == ERR_OK && api_error_body(&r->api_error, data, n))
        return RENEWAL_GOES_ON;
    return RENEWAL_REFUSED;
}

struct event_reader *renewal_take(struct renewal *r, struct api_error *api_error)
{
    struct event_reader *events = r->events;

    ensure(r->state == RENEWAL_TRIAL);
    api_error_reset(api_error);
    *api_error = r->api_error;
    r->api_error = (struct api_error){0};
    r->events = NULL;
    return events;
}

uint64_t renewal_why(struct renewal *r, const struct err *err, struct err *why)
{
    if (r->failure.kind != ERR_OK)
        *why = r->failure;
    else if (r->state == RENEWAL_FAILED)
        api_error_read(&r->api_error, why);
    else if (err != NULL)
        *why = *err;
    else
        err_set(why, ERR_SERVER, 0, "the server ended the new watch at once, without an event");
    return api_error_wait_ms(&r->api_error, r->retry_after_s);
}
