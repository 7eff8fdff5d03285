/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/api.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/panic.h"

/* More versions than a simulation makes in an hour. */
#define FAR_AWAY 1000000

void api_init(struct api *a, struct clock *clock, uint64_t hours)
{
    *a = (struct api){.clock = clock, .rv = API_FIRST_RV, .compacted = 1, .next_uid = 2};
    a->far_away = FAR_AWAY * hours;
    a->lives = API_LIVES * hours;
    a->was_deleted = mem_zalloc(a->lives * sizeof(*a->was_deleted));
    a->last = mem_zalloc(a->lives * sizeof(*a->last));
}

void api_fini(struct api *a)
{
    free(a->history);
    free(a->was_deleted);
    free(a->last);
}

const char *api_space_name(size_t space)
{
    static const char *const names[API_SPACES] = {"east", "west"};

    return names[space];
}

size_t api_space(size_t key)
{
    return key % API_SPACES;
}

const char *api_key(size_t key)
{
    static const char *const keys[API_KEYS] = {"east/a", "west/b", "east/c", "west/d",
                                               "east/e", "west/f", "east/g", "west/h",
                                               "east/i", "west/j", "east/k", "west/l"};

    return keys[key];
}

size_t api_find(struct str text)
{
    for (size_t i = 0; i < API_KEYS; i++)
        if (str_is(text, api_key(i)))
            return i;
    panic("an unknown key: %.*s", STR_ARG(text));
}

static enum api_odd draw_odd(struct api *a)
{
    return clock_percent(a->clock, a->odd_percent)
               ? (enum api_odd)clock_pick(a->clock, API_DEEP, API_ODDS - 1)
               : API_USABLE;
}

static void record(struct api *a, const struct api_event *e)
{
    size_t kept = a->events - a->dropped;

    if (kept == a->room) {
        a->room = a->room > 0 ? 2 * a->room : 256;
        a->history = mem_realloc(a->history, a->room * sizeof(*a->history));
    }
    a->history[kept] = *e;
    a->events++;
}

const struct api_event *api_event_at(const struct api *a, size_t number)
{
    ensure(number >= a->dropped && number < a->events);
    return &a->history[number - a->dropped];
}

size_t api_bytes(const struct api *a)
{
    return a->room * sizeof(*a->history) + a->lives * (sizeof(*a->was_deleted) + sizeof(*a->last));
}

static void apply(struct api_object state[API_KEYS], const struct api_event *e)
{
    if (e->change != API_ELSEWHERE)
        state[e->key] = e->change == API_DELETED ? (struct api_object){0} : e->object;
}

uint64_t api_drop(struct api *a, uint64_t since_ms, size_t seen)
{
    size_t upto = a->backup.rv > 0 && a->backup.events < seen ? a->backup.events : seen;
    size_t n = 0;

    while (a->dropped + n < upto && a->history[n].at_ms < since_ms)
        apply(a->base, &a->history[n++]);
    if (n == 0)
        return 0;
    uint64_t rv = a->history[n - 1].rv;
    a->dropped += n;
    memmove(a->history, a->history + n, (a->events - a->dropped) * sizeof(*a->history));
    a->compacted = rv > a->compacted ? rv : a->compacted;
    return rv;
}

static void set(struct api *a, size_t key, enum api_change change, struct api_object o)
{
    a->rv += clock_pick(a->clock, 1, 3); /* versions have gaps */
    o.rv = a->rv;
    record(a, &(struct api_event){.rv = a->rv,
                                  .at_ms = a->clock->now_ms,
                                  .key = key,
                                  .change = change,
                                  .object = o,
                                  .before = a->now[key]});
    a->now[key] = change == API_DELETED ? (struct api_object){0} : o;
    if (change == API_DELETED) {
        a->was_deleted[o.uid] = true;
        a->last[o.uid] = o;
    }
}

static void change(struct api *a, size_t key)
{
    struct api_object o = a->now[key];

    if (clock_percent(a->clock, 20))
        o.labelled = !o.labelled;
    else if (clock_percent(a->clock, 20))
        o.shown = !o.shown;
    else if (clock_percent(a->clock, 30))
        o.noise++;
    else
        o.value =
            (unsigned)clock_pick(a->clock, 0, 3); /* few values, so that it often changes back */
    o.odd = draw_odd(a);
    set(a, key, API_MODIFIED, o);
}

bool api_mend(struct api *a)
{
    bool any = false;

    for (size_t key = 0; key < API_KEYS; key++) {
        struct api_object o = a->now[key];

        if (o.odd == API_USABLE)
            continue;
        any = true;
        o.odd = API_USABLE;
        set(a, key, API_MODIFIED, o);
    }
    return any;
}

void api_mutate(struct api *a)
{
    bool hot = clock_percent(a->clock, a->hot_percent);
    size_t key = clock_pick(a->clock, 0, hot ? API_HOT_KEYS - 1 : API_KEYS - 1);

    ensure(a->next_uid < a->lives);
    if (a->now[key].uid == 0)
        set(a, key, API_ADDED,
            (struct api_object){.uid = a->next_uid++,
                                .value = (unsigned)clock_pick(a->clock, 0, 3),
                                .labelled = clock_percent(a->clock, 70),
                                .shown = clock_percent(a->clock, 70),
                                .odd = draw_odd(a)});
    else if (clock_percent(a->clock, 35))
        set(a, key, API_DELETED, a->now[key]);
    else
        change(a, key);
}

void api_write_elsewhere(struct api *a, uint64_t versions)
{
    a->rv += versions;
    record(a, &(struct api_event){.rv = a->rv, .at_ms = a->clock->now_ms, .change = API_ELSEWHERE});
}

void api_compact(struct api *a)
{
    a->compacted = clock_pick(a->clock, a->compacted, a->rv);
}

void api_back_up(struct api *a)
{
    a->backup = (struct api_backup){.events = a->events, .rv = a->rv};
    memcpy(a->backup.now, a->now, sizeof(a->now));
    api_write_elsewhere(a, (a->highest > a->rv ? a->highest - a->rv : 0) + a->far_away);
}

void api_restore(struct api *a)
{
    const struct api_backup *b = &a->backup;

    ensure(b->rv > 0);
    for (size_t key = 0; key < API_KEYS; key++)
        if (a->now[key].uid != b->now[key].uid)
            a->was_deleted[a->now[key].uid] = true;
    memcpy(a->now, b->now, sizeof(a->now));
    a->highest = a->rv > a->highest ? a->rv : a->highest;
    a->events = b->events;
    a->rv = b->rv;
    a->compacted = a->compacted < a->rv ? a->compacted : a->rv;
    a->backup = (struct api_backup){0};
    a->restored = true;
}

void api_state_at(const struct api *a, uint64_t rv, struct api_object out[API_KEYS])
{
    memcpy(out, a->base, sizeof(a->base));
    for (size_t i = a->dropped; i < a->events && api_event_at(a, i)->rv <= rv; i++)
        apply(out, api_event_at(a, i));
}

bool api_same(const struct api_object *a, const struct api_object *b)
{
    return a->uid == b->uid && a->rv == b->rv && a->value == b->value && a->noise == b->noise &&
           a->labelled == b->labelled && a->shown == b->shown && a->uses == b->uses;
}

unsigned api_differences(const struct api_object *a, const struct api_object *b)
{
    return (a->noise != b->noise ? API_PATH_NOISE : 0U) |
           (a->shown != b->shown ? API_PATH_ON : 0U) |
           (a->value != b->value ? API_PATH_VALUE : 0U) |
           (a->labelled != b->labelled ? API_PATH_LABEL : 0U) |
           (a->uses != b->uses ? API_PATH_USES : 0U);
}

static bool has_key(const struct lens *v, size_t key)
{
    return v->kind == LENS_CONFIG || (v->kind == LENS_SLICE) == (key < API_SLICES);
}

bool lens_selects(const struct lens *v, size_t key, const struct api_object *o)
{
    return o->uid != 0 && has_key(v, key) &&
           (v->space == API_SPACES || v->space == api_space(key)) && (!v->labelled || o->labelled);
}

bool lens_keeps(const struct lens *v, size_t key, const struct api_object *o)
{
    return lens_selects(v, key, o) && (!v->shown || o->shown);
}
