/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/servers.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/panic.h"
#include "base/rng.h"

#define NS_PER_S 1000000000U

/* With this step the hold time is beyond its maximum. */
enum { HOLD_STEPS = 6 };

void servers_init(struct servers *s, const struct servers_entry *v, size_t n, uint64_t seed)
{
    struct rng rng;

    ensure(n <= SERVERS_MAX);
    *s = (struct servers){.v = mem_array(n, sizeof(*s->v)),
                          .n = n,
                          .place = mem_array(n, sizeof(*s->place)),
                          .in_use = SERVERS_NONE};
    rng_seed(&rng, seed);
    /* A random order (Fisher-Yates). */
    for (size_t i = 0; i < n; i++) {
        size_t other = (size_t)rng_between(&rng, 0, i);

        s->v[i] = (struct server_health){.name = mem_strdup(v[i].name), .tier = v[i].tier};
        s->place[i] = s->place[other];
        s->place[other] = (unsigned)i;
    }
    for (size_t i = 0; i < n; i++)
        if (s->place[i] == 0)
            s->choice = i;
}

void servers_fini(struct servers *s)
{
    for (size_t i = 0; i < s->n; i++)
        free(s->v[i].name);
    free(s->v);
    free(s->place);
    *s = (struct servers){0};
}

static bool is_in(uint64_t set, size_t i)
{
    return (set >> i & 1) != 0;
}

static bool is_held(const struct server_health *h, uint64_t now_ms)
{
    return now_ms < h->hold_until_ms;
}

static bool is_well(const struct server_health *h)
{
    return h->state == SERVER_UNTRIED || h->state == SERVER_GOOD;
}

/* How many places behind the choice the server comes. The choice itself is 0, which makes it
 * sticky. */
static size_t distance(const struct servers *s, size_t i)
{
    return (s->n + s->place[i] - s->place[s->choice]) % s->n;
}

/* Should a request go to server a rather than to b? */
static bool is_better(const struct servers *s, size_t a, size_t b, uint64_t now_ms)
{
    const struct server_health *x = &s->v[a];
    const struct server_health *y = &s->v[b];
    bool held = is_held(x, now_ms);

    if (held != is_held(y, now_ms))
        return !held;
    if (!held && x->tier != y->tier)
        return x->tier < y->tier;
    if (!held && is_well(x) != is_well(y))
        return is_well(x);
    if ((held || !is_well(x)) && x->failed_ms != y->failed_ms)
        return x->failed_ms < y->failed_ms;
    return distance(s, a) < distance(s, b);
}

/* Server i may be back, while another one serves well: a single request is to find out. */
static bool comes_back(const struct servers *s, size_t i, uint64_t now_ms)
{
    if (is_well(&s->v[i]) || is_held(&s->v[i], now_ms))
        return false;
    for (size_t k = 0; k < s->n; k++)
        if (is_well(&s->v[k]) && !is_held(&s->v[k], now_ms))
            return true;
    return false;
}

/* The choice is the best server that is well. While none is, it stays, as they are then gone
 * through by the age of their failures. */
static void decide(struct servers *s, uint64_t now_ms)
{
    size_t best = SERVERS_NONE;

    for (size_t i = 0; i < s->n; i++)
        if (is_well(&s->v[i]) && (best == SERVERS_NONE || is_better(s, i, best, now_ms)))
            best = i;
    if (best != SERVERS_NONE)
        s->choice = best;
}

size_t servers_choose(struct servers *s, uint64_t tried, uint64_t now_ms)
{
    size_t best = SERVERS_NONE;

    decide(s, now_ms);
    for (size_t i = 0; i < s->n; i++)
        if (!is_in(tried, i) && (best == SERVERS_NONE || is_better(s, i, best, now_ms)))
            best = i;
    if (best != SERVERS_NONE && comes_back(s, best, now_ms)) {
        s->v[best].state = SERVER_RETURNING;
        s->v[best].hold_until_ms = now_ms + SERVERS_HOLD_MS;
    }
    return best;
}

/* A server that lags may answer requests that were sent before this was known. Only if all servers
 * lag, or are down, one that lags is as good as any. */
void servers_answered(struct servers *s, size_t i, uint64_t now_ms)
{
    struct server_health *h = &s->v[i];

    if (h->state == SERVER_LAGS && servers_others(s, i, 0, now_ms) > 0)
        return;
    if (h->state != SERVER_GOOD)
        h->since_ms = now_ms;
    h->state = SERVER_GOOD;
    h->hold_until_ms = 0;
    decide(s, now_ms);
    if (s->choice == i)
        s->in_use = i;
}

void servers_dated(struct servers *s, size_t i, int64_t date_s, uint64_t sent_ns, uint64_t read_ns)
{
    int64_t sent_s = (int64_t)(sent_ns / NS_PER_S);
    int64_t read_s = (int64_t)(read_ns / NS_PER_S);
    struct server_health *h = &s->v[i];

    if (date_s == 0)
        return;
    h->clock_ahead_s = 0;
    if (date_s > read_s)
        h->clock_ahead_s = date_s - read_s;
    else if (date_s < sent_s)
        h->clock_ahead_s = date_s - sent_s;
}

/* The server goes into a state that is not well. A hold under way is not made longer: requests that
 * were under way fail one after the other. */
static void fall(struct servers *s, size_t i, enum server_state state, const struct err *err,
                 uint64_t now_ms)
{
    struct server_health *h = &s->v[i];
    bool known = is_held(h, now_ms) && h->state != SERVER_RETURNING;
    bool recovered = h->state == SERVER_GOOD && now_ms - h->since_ms >= SERVERS_HOLD_MAX_MS;

    if (is_well(h))
        h->since_ms = now_ms;
    h->state = state;
    h->failed_ms = now_ms;
    h->err = *err;
    if (known)
        return;
    h->failures = recovered ? 1 : h->failures + 1;
    unsigned step = h->failures < HOLD_STEPS ? h->failures - 1 : HOLD_STEPS - 1;
    uint64_t hold_ms = SERVERS_HOLD_MS << step;

    h->hold_until_ms = now_ms + (hold_ms < SERVERS_HOLD_MAX_MS ? hold_ms : SERVERS_HOLD_MAX_MS);
}

void servers_failed(struct servers *s, size_t i, const struct err *err, uint64_t now_ms)
{
    fall(s, i, SERVER_FAILED, err, now_ms);
}

void servers_lags(struct servers *s, size_t i, const struct err *err, uint64_t now_ms)
{
    fall(s, i, SERVER_LAGS, err, now_ms);
}

void servers_renewed(struct servers *s, size_t i)
{
    struct server_health *h = &s->v[i];

    if (is_well(h))
        return;
    h->state = SERVER_UNTRIED;
    h->since_ms = h->hold_until_ms = 0;
    h->failures = 0;
}

unsigned servers_others(const struct servers *s, size_t i, uint64_t tried, uint64_t now_ms)
{
    unsigned n = 0;

    if (!is_held(&s->v[i], now_ms))
        return 0;
    for (size_t k = 0; k < s->n; k++)
        n += k != i && !is_in(tried, k) && !is_held(&s->v[k], now_ms);
    return n;
}

const char *server_state_name(enum server_state state)
{
    static const char *const names[] = {"untried", "good", "failed", "lags", "returning"};

    return names[state];
}
