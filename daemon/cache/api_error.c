/* SPDX-License-Identifier: Apache-2.0 */
#include "cache/api_error.h"

#include <string.h>

#include "kube/status.h"

/* Enough for a Status; the rest of an error body is not needed. */
#define BODY_BYTES 65536

/* A page that says "back in a day" must not keep a watch dead for a day (API servers say 1..32
 * s). */
#define RETRY_AFTER_MAX_S 300

/* Keeps the target of a redirect. A user name and a query may be secret; addresses have no bytes but
 * ASCII. */
static void keep_location(struct api_error *r, struct str location)
{
    size_t n = 0;

    if (location.n > 0 && memchr(location.p, '@', location.n) != NULL)
        location.n = 0;
    while (n < location.n && n < sizeof(r->location) - 1 && location.p[n] > ' ' &&
           location.p[n] < 0x7f && strchr("?#", location.p[n]) == NULL) {
        r->location[n] = location.p[n];
        n++;
    }
    r->location[n] = '\0';
}

void api_error_head(struct api_error *r, const struct http_head *head)
{
    r->code = head->status;
    r->retry_after_s = head->retry_after_s;
    keep_location(r, head->location);
}

/* A 200 with HTML is mostly an address that belongs to a proxy or a web server. Some proxies drop
 * the Content-Type, and then the parser finds out what the body is. */
enum err_kind api_error_type(const struct http_head *head, struct err *err)
{
    if (head->content_type.n == 0 || str_is(head->content_type, "application/json"))
        return ERR_OK;
    return err_set(err, ERR_PROTOCOL, 200,
                   "the server answered with %.*s, not JSON: is its address that of an API server?",
                   STR_ARG(head->content_type));
}

bool api_error_body(struct api_error *r, const char *data, size_t n)
{
    size_t room = BODY_BYTES - r->body.len;

    buf_append(&r->body, data, n < room ? n : room);
    return n < room;
}

/* No API server redirects a LIST or a WATCH. Following would send the credentials to whatever
 * address the answer names. */
static void refuse_redirect(const struct api_error *r, struct err *err)
{
    err_set(err, ERR_PROTOCOL, r->code,
            "the server answers with a redirect (%d)%s%s, and redirects are not followed: is its "
            "address that of an API server?",
            r->code, r->location[0] != '\0' ? " to " : "", r->location);
}

void api_error_read(struct api_error *r, struct err *err)
{
    struct status status;

    if (r->code / 100 == 3) {
        refuse_redirect(r, err);
        return;
    }
    status_parse(&status, r->code, buf_str(&r->body));
    /* The longer one of header and Status counts (docs/kubernetes-protocol.md "Retry-After"). */
    if (status.retry_after_s > r->retry_after_s)
        r->retry_after_s = status.retry_after_s;
    else
        status.retry_after_s = r->retry_after_s;
    status_to_err(&status, err);
}

uint64_t api_error_wait_ms(const struct api_error *r, int64_t event_s)
{
    int64_t s = event_s > 0 ? event_s : r->retry_after_s;

    if (s <= 0)
        return 0;
    return (uint64_t)(s < RETRY_AFTER_MAX_S ? s : RETRY_AFTER_MAX_S) * 1000;
}

void api_error_reset(struct api_error *r)
{
    buf_free(&r->body);
    *r = (struct api_error){0};
}
