/* SPDX-License-Identifier: Apache-2.0 */
#include "cache/refusal.h"

#include "kube/status.h"

/* Enough for a Status; more of an error body is not needed. */
#define BODY_BYTES 65536

/* A page that says "back in a day" must not keep a watch dead for a day (API servers say 1..32
 * s). */
#define RETRY_AFTER_MAX_S 300

void refusal_head(struct refusal *r, const struct http_head *head)
{
    r->code = head->status;
    r->retry_after_s = head->retry_after_s;
}

bool refusal_body(struct refusal *r, const char *data, size_t n)
{
    size_t room = BODY_BYTES - r->body.len;

    buf_append(&r->body, data, n < room ? n : room);
    return n < room;
}

void refusal_read(struct refusal *r, struct err *err)
{
    struct status status;

    status_parse(&status, r->code, buf_str(&r->body));
    if (status.retry_after_s > r->retry_after_s)
        r->retry_after_s = status.retry_after_s;
    else
        status.retry_after_s = r->retry_after_s;
    status_to_err(&status, err);
}

uint64_t refusal_wait_ms(const struct refusal *r, int64_t event_s)
{
    int64_t s = event_s > 0 ? event_s : r->retry_after_s;

    if (s <= 0)
        return 0;
    return (uint64_t)(s < RETRY_AFTER_MAX_S ? s : RETRY_AFTER_MAX_S) * 1000;
}

void refusal_reset(struct refusal *r)
{
    buf_free(&r->body);
    *r = (struct refusal){0};
}
