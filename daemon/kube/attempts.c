/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/attempts.h"

#include <stdlib.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/panic.h"

/* Room for "64 servers were tried: ". */
enum { TEXT_BEGIN = 24 };

static uint64_t set_of(size_t i)
{
    return (uint64_t)1 << i;
}

void attempts_failed(struct attempts *a, struct servers *s, size_t i, const struct err *err,
                     enum server_fault fault, uint64_t now_ms)
{
    if (a->failures == NULL)
        a->failures = mem_array(s->n, sizeof(*a->failures));
    a->failures[i] = *err;
    a->tried |= set_of(i);
    a->unproven &= ~set_of(i);
    a->lagging &= ~set_of(i);
    if (fault == FAULT_CERTAIN)
        servers_failed(s, i, err, now_ms);
    if (fault == FAULT_UNPROVEN || fault == FAULT_LAGS)
        a->unproven |= set_of(i);
    if (fault == FAULT_LAGS)
        a->lagging |= set_of(i);
}

/* Each server may give a request the same bad answer, and then none of them is worse than the
 * others: a 5xx of an aggregated API without its server, or of a conversion webhook that is down. An
 * aggregated API may also number its versions apart, so that etcd seems to be behind at each
 * server. */
void attempts_answered(struct attempts *a, struct servers *s, size_t i, uint64_t now_ms)
{
    for (size_t k = 0; k < s->n; k++) {
        if ((a->unproven & set_of(k)) == 0)
            continue;
        if ((a->lagging & set_of(k)) != 0)
            servers_lags(s, k, &a->failures[k], now_ms);
        else
            servers_failed(s, k, &a->failures[k], now_ms);
    }
    a->unproven = 0;
    servers_answered(s, i, now_ms);
}

bool attempts_left(const struct attempts *a, const struct servers *s, size_t but)
{
    for (size_t i = 0; i < s->n; i++)
        if (i != but && (a->tried & set_of(i)) == 0)
            return true;
    return false;
}

/* Does an error of the first kind count for the sum, rather than one of the second? A 401 comes first
 * as something can be done at once: a newer credential may be in its file. */
static bool is_told_before(enum err_kind kind, enum err_kind other)
{
    if (other == ERR_OK || kind == ERR_UNAUTHORIZED)
        return other != ERR_UNAUTHORIZED;
    return other == ERR_SERVER && kind != ERR_SERVER;
}

/* The texts come in the order of the servers, so that the same failure has the same text each time,
 * whichever server was tried first. Each one gets a share of the room. */
struct err attempts_sum(const struct attempts *a, const struct servers *s)
{
    const int room = (int)sizeof(((struct err *)NULL)->text) - TEXT_BEGIN;
    int count = __builtin_popcountll(a->tried);
    struct err sum = {0};
    struct buf text = {0};

    ensure(a->tried != 0);
    for (size_t i = 0; i < s->n; i++) {
        const struct err *err = &a->failures[i];

        if ((a->tried & set_of(i)) == 0)
            continue;
        if (is_told_before(err->kind, sum.kind))
            sum = *err;
        buf_printf(&text, "%s%.*s", text.len > 0 ? "; " : "", room / count - 2, err->text);
    }
    if (count > 1)
        err_set(&sum, sum.kind, sum.code, "%d servers were tried: %s", count, buf_cstr(&text));
    buf_free(&text);
    return sum;
}

void attempts_reset(struct attempts *a)
{
    free(a->failures);
    *a = (struct attempts){0};
}
