/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/address_race.h"

#include <string.h>

#include "base/panic.h"
#include "base/str.h"

/* Attempts are at least so far apart, however short the timeout is (RFC 8305 section 5). */
enum { DELAY_LEAST_MS = 10 };

static bool failed_lately(const struct address *a, uint64_t now_ms)
{
    return a->failed_ms != 0 && now_ms - a->failed_ms < ADDRESS_RACE_MEMORY_MS;
}

static void append(struct address_race *r, const struct address *a)
{
    if (r->n < ADDRESS_RACE_MAX)
        r->v[r->n++] = (struct address_attempt){.address = *a};
}

/* The next address from *at on that has this family and has not failed lately; NULL = there is none
 * any more. Moves *at behind it. */
static const struct address *take(const struct addresses *from, size_t *at, int family,
                                  uint64_t now_ms)
{
    while (*at < from->n) {
        const struct address *a = &from->v[(*at)++];

        if (a->to.any.sa_family == family && !failed_lately(a, now_ms))
            return a;
    }
    return NULL;
}

static void append_alternating(struct address_race *r, const struct addresses *from,
                               uint64_t now_ms)
{
    int first = from->n > 0 ? from->v[0].to.any.sa_family : AF_INET6;
    const int families[] = {first, first == AF_INET6 ? AF_INET : AF_INET6};
    size_t at[2] = {0, 0};
    const struct address *found[2];

    do {
        for (size_t i = 0; i < 2; i++) {
            found[i] = take(from, &at[i], families[i], now_ms);
            if (found[i] != NULL)
                append(r, found[i]);
        }
    } while (found[0] != NULL || found[1] != NULL);
}

/* Appends those that failed lately, by the time of their failure; of equal times the first one goes
 * first. */
static void append_failed(struct address_race *r, const struct addresses *from, uint64_t now_ms)
{
    bool taken[ADDRESSES_MAX] = {false};

    for (;;) {
        size_t oldest = from->n;

        for (size_t i = 0; i < from->n; i++)
            if (!taken[i] && failed_lately(&from->v[i], now_ms) &&
                (oldest == from->n || from->v[i].failed_ms < from->v[oldest].failed_ms))
                oldest = i;
        if (oldest == from->n)
            return;
        taken[oldest] = true;
        append(r, &from->v[oldest]);
    }
}

void address_race_init(struct address_race *r, const struct addresses *from, uint64_t timeout_ms,
                       uint64_t now_ms)
{
    *r = (struct address_race){.timeout_ms = timeout_ms,
                               .delay_ms = ADDRESS_RACE_DELAY_MS,
                               .next_ms = now_ms,
                               .end_ms = now_ms + timeout_ms};
    append_alternating(r, from, now_ms);
    append_failed(r, from, now_ms);
    /* Each address gets its attempt before the end. */
    if (r->n > 0 && timeout_ms / r->n < r->delay_ms)
        r->delay_ms = timeout_ms / r->n > DELAY_LEAST_MS ? timeout_ms / r->n : DELAY_LEAST_MS;
}

static bool is_over(const struct address_race *r)
{
    for (size_t i = 0; i < r->started; i++)
        if (r->v[i].state == ATTEMPT_CONNECTED)
            return true;
    return r->started == r->n;
}

size_t address_race_next(struct address_race *r, uint64_t now_ms)
{
    if (is_over(r) || now_ms < r->next_ms || now_ms >= r->end_ms)
        return ADDRESS_RACE_NONE;
    r->next_ms = now_ms + r->delay_ms;
    r->v[r->started].state = ATTEMPT_TRYING;
    return r->started++;
}

void address_race_failed(struct address_race *r, size_t i, enum err_kind kind, int code,
                         const char *why)
{
    struct address_attempt *a = &r->v[i];

    ensure(a->state == ATTEMPT_TRYING);
    a->state = ATTEMPT_FAILED;
    a->kind = kind;
    a->code = code;
    a->why = why;
    r->next_ms = 0;
}

void address_race_connected(struct address_race *r, size_t i)
{
    ensure(r->v[i].state == ATTEMPT_TRYING);
    r->v[i].state = ATTEMPT_CONNECTED;
}

uint64_t address_race_due_ms(const struct address_race *r)
{
    return is_over(r) || r->end_ms < r->next_ms ? r->end_ms : r->next_ms;
}

/* An attempt that has not begun fails as well: it is too late for it. */
void address_race_time_out(struct address_race *r, uint64_t now_ms)
{
    if (now_ms < r->end_ms)
        return;
    for (size_t i = 0; i < r->n; i++) {
        if (r->v[i].state == ATTEMPT_WAITING)
            r->v[i].state = ATTEMPT_TRYING;
        if (r->v[i].state == ATTEMPT_TRYING)
            address_race_failed(r, i, ERR_TIMEOUT, 0, NULL);
    }
    r->started = r->n;
}

bool address_race_is_lost(const struct address_race *r)
{
    for (size_t i = 0; i < r->n; i++)
        if (r->v[i].state != ATTEMPT_FAILED)
            return false;
    return true;
}

bool address_race_was_bad(const struct address_race *r, size_t i)
{
    if (r->v[i].state == ATTEMPT_FAILED)
        return true;
    for (size_t later = i + 1; later < r->started; later++)
        if (r->v[i].state == ATTEMPT_TRYING && r->v[later].state == ATTEMPT_CONNECTED)
            return true;
    return false;
}

/* A time-out has no text of its own. */
static bool is_same_reason(const struct address_attempt *a, const struct address_attempt *b)
{
    return str_same(a->why, b->why);
}

/* Appends the reason of attempt i and all addresses that failed for the same one. Does nothing if
 * an earlier attempt has that reason. */
static void put_reason(const struct address_race *r, size_t i, bool with_addresses, struct buf *out)
{
    const char *between = " (";

    for (size_t before = 0; before < i; before++)
        if (is_same_reason(&r->v[before], &r->v[i]))
            return;
    if (out->len > 0)
        buf_puts(out, ", ");
    if (r->v[i].why == NULL)
        buf_printf(out, "no answer within %llu ms", (unsigned long long)r->timeout_ms);
    else
        buf_puts(out, r->v[i].why);
    for (size_t k = i; with_addresses && k < r->n; k++) {
        if (!is_same_reason(&r->v[k], &r->v[i]))
            continue;
        buf_puts(out, between);
        address_put(out, &r->v[k].address);
        between = ", ";
    }
    if (with_addresses)
        buf_putc(out, ')');
}

void address_race_explain(const struct address_race *r, const char *host, struct err *err)
{
    struct buf only = {0}, text = {0};
    size_t best = 0;

    ensure(r->n > 0 && address_race_is_lost(r));
    address_put(&only, &r->v[0].address);
    bool with_addresses = r->n > 1 || !str_is(buf_str(&only), host);
    for (size_t i = r->n; i-- > 0;)
        if (r->v[i].kind == ERR_REFUSED)
            best = i;
    if (r->v[best].kind == ERR_REFUSED)
        put_reason(r, best, with_addresses, &text);
    for (size_t i = 0; i < r->n; i++)
        if (r->v[i].kind != ERR_REFUSED)
            put_reason(r, i, with_addresses, &text);
    err_set(err, r->v[best].kind, r->v[best].code, "%s", buf_cstr(&text));
    buf_free(&only);
    buf_free(&text);
}
