/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/expiry.h"

#include <stdlib.h>
#include <time.h>

#include "base/mem.h"
#include "kube/token.h"

/* Of a credential that lives for less than ten windows, the last tenth of its life counts. */
enum { LIFE_PARTS = 10 };

static void clear(struct expiry *e, enum expiry_item item)
{
    for (size_t i = 0; i < e->items[item].n; i++)
        free(e->items[item].v[i].who);
    free(e->items[item].from);
    e->items[item].n = 0;
    e->items[item].from = NULL;
    e->items[item].is_given = false;
}

void expiry_set(struct expiry *e, enum expiry_item item, struct str text, const char *from)
{
    struct tls_dates *v = e->items[item].v;
    size_t n = 0;

    clear(e, item);
    if (text.n == 0)
        return;
    if (item == EXPIRY_TOKEN) {
        *v = (struct tls_dates){.who = NULL};
        n = token_dates(text, &v->from_s, &v->till_s) ? 1 : 0;
        v->who = n > 0 ? token_subject(text) : NULL;
    } else {
        n = tls_dates_read(text, v, item == EXPIRY_CA ? EXPIRY_CAS_MAX : 1);
    }
    e->items[item].n = n;
    if (item != EXPIRY_CA && n > 1)
        e->items[item].n = 1;
    if (n > EXPIRY_CAS_MAX) {
        e->items[item].n = EXPIRY_CAS_MAX;
        clear(e, item);
    }
    e->items[item].from = mem_strdup(from);
}

void expiry_set_given(struct expiry *e, enum expiry_item item, struct str text, const char *from,
                      int64_t till_s)
{
    struct tls_dates *v = e->items[item].v;

    expiry_set(e, item, text, from);
    e->items[item].is_given = true;
    if (text.n == 0 || till_s == 0)
        return;
    if (e->items[item].n == 0)
        *v = (struct tls_dates){.till_s = till_s};
    e->items[item].n = 1;
    v->till_s = v->till_s < till_s ? v->till_s : till_s;
}

/* The one of several that counts: see expiry_look(). */
static const struct tls_dates *choose(const struct expiry *e, enum expiry_item item, int64_t now_s)
{
    const struct tls_dates *next = NULL;
    const struct tls_dates *last = NULL;

    for (size_t i = 0; i < e->items[item].n; i++) {
        const struct tls_dates *d = &e->items[item].v[i];

        if (d->till_s > now_s && (next == NULL || d->till_s < next->till_s))
            next = d;
        if (last == NULL || d->till_s > last->till_s)
            last = d;
    }
    return next != NULL ? next : last;
}

/* From when on one of the dates of an item is soon. */
static int64_t soon_s(const struct expiry *e, enum expiry_item item, const struct tls_dates *d,
                      int64_t window_s)
{
    int64_t part_s = (d->till_s - d->from_s) / LIFE_PARTS;

    if (e->items[item].is_given)
        return d->till_s;
    return d->till_s - (d->from_s > 0 && part_s < window_s ? part_s : window_s);
}

struct expiry_view expiry_look(const struct expiry *e, enum expiry_item item, int64_t now_s,
                               int64_t window_s)
{
    const struct tls_dates *d = choose(e, item, now_s);

    if (d == NULL)
        return (struct expiry_view){EXPIRY_NONE, NULL};
    /* A token is valid from its nbf on, and the server's clock decides. iat is often a second ahead
     * of ours. */
    bool early = item != EXPIRY_TOKEN && now_s < d->from_s;
    enum expiry_state state = now_s >= d->till_s                      ? EXPIRY_OVER
                              : early                                 ? EXPIRY_EARLY
                              : now_s >= soon_s(e, item, d, window_s) ? EXPIRY_SOON
                                                                      : EXPIRY_VALID;
    return (struct expiry_view){state, d};
}

int64_t expiry_first_s(const struct expiry *e, int64_t now_s)
{
    int64_t first_s = 0;

    for (enum expiry_item i = EXPIRY_CA; i < EXPIRY_ITEMS; i++) {
        const struct tls_dates *d = choose(e, i, now_s);

        if (d != NULL && (first_s == 0 || d->till_s < first_s))
            first_s = d->till_s;
    }
    return first_s;
}

int64_t expiry_next_s(const struct expiry *e, int64_t now_s, int64_t window_s)
{
    int64_t next_s = INT64_MAX;

    for (enum expiry_item item = EXPIRY_CA; item < EXPIRY_ITEMS; item++)
        for (size_t i = 0; i < e->items[item].n; i++) {
            const struct tls_dates *d = &e->items[item].v[i];
            const int64_t turns[] = {d->from_s, soon_s(e, item, d, window_s), d->till_s};

            for (size_t k = 0; k < ARRAY_LEN(turns); k++)
                if (turns[k] > now_s && turns[k] < next_s)
                    next_s = turns[k];
        }
    return next_s;
}

static bool is_well(enum expiry_state state)
{
    return state == EXPIRY_NONE || state == EXPIRY_VALID;
}

bool expiry_is_news(struct expiry_said *said, const struct expiry_view *view)
{
    int64_t till_s = view->dates != NULL ? view->dates->till_s : 0;
    bool is_same = said->state == view->state && said->till_s == till_s;
    bool is_news = is_well(view->state) ? !is_well(said->state) : !is_same;

    *said = (struct expiry_said){view->state, till_s};
    return is_news;
}

const char *expiry_item_name(enum expiry_item item)
{
    static const char *const names[] = {
        [EXPIRY_CA] = "ca", [EXPIRY_CERT] = "certificate", [EXPIRY_TOKEN] = "token"};

    return names[item];
}

void expiry_put_time(struct buf *out, int64_t s)
{
    time_t t = (time_t)s;
    struct tm tm;
    char text[40];

    gmtime_r(&t, &tm);
    strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S UTC", &tm);
    buf_puts(out, text);
}

static void put_dates(struct buf *out, enum expiry_item item, const struct expiry_view *view)
{
    static const char *const remedies[] = {
        [EXPIRY_CA] = "; configure the CA that follows it",
        [EXPIRY_CERT] = "; renew it",
        [EXPIRY_TOKEN] = "; renew it",
    };
    static const char *const states[] = {
        [EXPIRY_VALID] = " is valid until ",
        [EXPIRY_SOON] = " expires on ",
        [EXPIRY_EARLY] = " is not valid before ",
        [EXPIRY_OVER] = " expired on ",
    };

    if (view->dates == NULL) /* NONE */
        return;
    buf_puts(out, states[view->state]);
    expiry_put_time(out, view->state == EXPIRY_EARLY ? view->dates->from_s : view->dates->till_s);
    if (view->state == EXPIRY_EARLY)
        buf_puts(out, "; correct the clock");
    if (view->state == EXPIRY_SOON || view->state == EXPIRY_OVER)
        buf_puts(out, remedies[item]);
    if (view->state == EXPIRY_OVER)
        buf_puts(out, ", or correct the clock");
}

void expiry_put(struct buf *out, const struct expiry *e, enum expiry_item item,
                const struct expiry_view *view)
{
    static const char *const names[] = {
        [EXPIRY_CA] = "CA certificate",
        [EXPIRY_CERT] = "client certificate",
        [EXPIRY_TOKEN] = "token",
    };
    const char *who = view->dates != NULL ? view->dates->who : NULL;

    buf_puts(out, names[item]);
    if (who != NULL)
        buf_printf(out, item == EXPIRY_TOKEN ? " (%s)" : " %s", who);
    if (e->items[item].from != NULL)
        buf_printf(out, " in %s", e->items[item].from);
    put_dates(out, item, view);
}

void expiry_fini(struct expiry *e)
{
    for (enum expiry_item i = EXPIRY_CA; i < EXPIRY_ITEMS; i++)
        clear(e, i);
    *e = (struct expiry){0};
}
