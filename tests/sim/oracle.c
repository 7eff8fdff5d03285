/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/oracle.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/panic.h"
#include "sim/answer.h"
#include "sim/rules.h"
#include "sim/world.h"

enum { KEEP_MS = 3600000 };

static void forget_old(struct sights *s, uint64_t now_ms)
{
    size_t old = 0;

    while (old + 1 < s->n && s->v[old + 1].from_ms + KEEP_MS < now_ms)
        old++;
    if (old > 0)
        memmove(s->v, s->v + old, (s->n - old) * sizeof(*s->v));
    s->n -= old;
}

static void add(struct sights *s, struct sight sight)
{
    if (s->n == s->room)
        forget_old(s, sight.from_ms);
    if (s->n == s->room) {
        s->room = s->room > 0 ? 2 * s->room : 32;
        s->v = mem_realloc(s->v, s->room * sizeof(*s->v));
    }
    s->v[s->n++] = sight;
}

size_t oracle_bytes(const struct oracle *o)
{
    size_t n = 0;

    for (size_t w = 0; w < WATCHES; w++)
        for (size_t key = 0; key < API_KEYS; key++)
            n += o->sights[w][key].room * sizeof(struct sight);
    return n;
}

void oracle_note(struct oracle *o)
{
    for (size_t w = 0; w < WATCHES; w++)
        for (size_t key = 0; key < API_KEYS; key++) {
            const struct api_object *is = &o->api->now[key];
            struct sights *s = &o->sights[w][key];
            struct sight sight = {.from_ms = o->clock->now_ms};

            /* Whether match selects an object that cannot be used is not always known; then the
             * watch records it as skipped. */
            sight.odd = lens_selects(sim_daemon_lens(w), key, is) && is->odd != API_USABLE;
            if (lens_keeps(sim_daemon_lens(w), key, is)) {
                sight.uid = is->uid;
                sight.rv = is->rv;
            }
            if (s->n == 0 || s->v[s->n - 1].uid != sight.uid || s->v[s->n - 1].rv != sight.rv ||
                s->v[s->n - 1].odd != sight.odd)
                add(s, sight);
        }
}

void oracle_init(struct oracle *o, const struct clock *clock, const struct api *api,
                 const struct setup *setup, uint64_t *features)
{
    *o = (struct oracle){
        .clock = clock, .api = api, .setup = setup, .silence_ms = setup_silence_ms(setup)};
    o->features = features;
    for (size_t w = 0; w < WATCHES; w++)
        o->due_to[w] = BEHIND_LAG;
    oracle_note(o);
}

void oracle_fini(struct oracle *o)
{
    for (size_t w = 0; w < WATCHES; w++)
        for (size_t key = 0; key < API_KEYS; key++)
            free(o->sights[w][key].v);
}

static uint64_t number_from(struct str text, size_t from)
{
    uint64_t n = 0;

    for (size_t i = from; i < text.n; i++)
        n = n * 10 + (uint64_t)(text.p[i] - '0');
    return n;
}

static void remember(struct oracle *o, const struct disk *r, size_t number)
{
    memset(o->last[number], 0, sizeof(o->last[number]));
    for (size_t key = 0; key < API_KEYS; key++) {
        const struct object *is = r->objects[number][key];

        if (is == NULL)
            continue;
        o->objects[number]++;
        o->last[number][key] =
            (struct told_last){number_from(object_uid(is), 1), number_from(object_rv(is), 0)};
    }
}

void oracle_begin(struct oracle *o, const struct disk *r)
{
    for (size_t w = 0; w < WATCHES; w++) {
        o->told_ms[w] = o->clock->now_ms;
        o->objects[w] = 0;
        o->bursts[w] = (struct burst){0};
        remember(o, r, w);
    }
    memset(o->guarded, 0, sizeof(o->guarded));
}

void oracle_know(struct oracle *o, size_t number, size_t key, uint64_t uid)
{
    o->objects[number]++;
    o->last[number][key] = (struct told_last){.uid = uid};
}

void oracle_replace(struct oracle *o, const struct watch *w, size_t number)
{
    o->told_ms[number] = o->clock->now_ms;
    o->objects[number] = store_count(watch_store(w));
    o->bursts[number] = (struct burst){0};
    memset(o->guarded[number], 0, sizeof(o->guarded[number]));
}

bool oracle_is_missing(const struct skip *s)
{
    return s->missing;
}

static void look_for_list(void *arg, const struct skip *s)
{
    bool *waits = arg;

    *waits = *waits || s->name.n == 0 || str_is(s->why, "it has no metadata.name") ||
             oracle_is_missing(s);
}

bool oracle_waits_for_list(const struct watch *w)
{
    bool waits = false;

    skips_each(store_skips(watch_store(w)), look_for_list, &waits);
    return waits;
}

struct marked {
    struct str key;
    bool is;
};

static void look_for_mark(void *arg, const struct skip *s)
{
    struct marked *m = arg;

    m->is = m->is || str_eq(s->id, m->key);
}

static bool is_marked(const struct watch *w, size_t key)
{
    struct marked m = {.key = str_c(api_key(key))};

    skips_each(store_skips(watch_store(w)), look_for_mark, &m);
    return m.is;
}

/* Was the list that is applied now held for long enough, or accepted by a person? */
static bool was_held(const struct oracle *o, const struct guarded *g)
{
    uint64_t until_ms = g->held_ms + o->setup->guard.hold_ms;

    return g->held_ms != 0 && (g->accepted || (!g->rejected && o->clock->now_ms >= until_ms));
}

static void look_at_list_watch(struct oracle *o, const struct list_watch_status *s,
                               struct guarded *g)
{
    uint64_t rv = number_from(str_c(s->rv), 0);
    bool moved = rv != g->rv && s->events == g->events;

    /* The versions are those of an earlier process, and may be those of events. */
    if (g->rv == 0 && s->resume != RESUME_NONE && s->resume != RESUME_OVER) {
        g->mark = number_from(str_c(s->collection_rv), 0);
        moved = false;
    }

    if (*s->rv == '\0') { /* the server gives no version */
        g->mark = 0;
        moved = false;
    }
    if (moved && rv < g->mark && !was_held(o, g))
        panic("the version went back from %" PRIu64 " to %" PRIu64 ", and nobody was asked",
              g->mark, rv);
    g->rv = rv;
    g->events = s->events;
    g->mark = moved || rv < g->mark ? rv : g->mark;
    if (!guard_holds(s->guard))
        *g = (struct guarded){.mark = g->mark, .rv = rv, .events = s->events};
    else if (g->held_ms == 0)
        g->held_ms = o->clock->now_ms;
}

void oracle_look(struct oracle *o, const struct watch *w, size_t number)
{
    struct watch_status s = watch_status(w, o->clock->now_ms);

    if (s.stale || s.held != GUARD_NOTHING || !s.synced || watch_incomplete(w) ||
        oracle_waits_for_list(w))
        o->told_ms[number] = o->clock->now_ms;
    for (size_t i = 0; i < watch_list_watch_count(w); i++) {
        struct list_watch_status list_watch = list_watch_status(watch_list_watch(w, i));

        look_at_list_watch(o, &list_watch, &o->guarded[number][i]);
    }
}

void oracle_decide(struct oracle *o, const struct watch *w, size_t number, bool accept)
{
    for (size_t i = 0; i < watch_list_watch_count(w); i++) {
        struct guarded *g = &o->guarded[number][i];

        if (!guard_holds(list_watch_status(watch_list_watch(w, i)).guard))
            continue;
        g->accepted = accept;
        g->rejected = !accept;
    }
}

/* Counts the deletes of lists. Only for watches of one scope whose deltas all come at one
 * moment. */
static void check_burst(struct oracle *o, size_t number, bool deleted)
{
    const struct guard_params *p = &o->setup->guard;
    struct burst *b = &o->bursts[number];

    if (b->at_ms != o->clock->now_ms)
        *b = (struct burst){.at_ms = o->clock->now_ms, .before = o->objects[number]};
    b->deletes += deleted;
    if (p->relist_deletes == GUARD_OFF || b->before < p->at_least ||
        b->deletes * 100 <= p->relist_deletes * b->before)
        return;
    if (!was_held(o, &o->guarded[number][0]))
        panic("watch %zu: %zu of %zu objects deleted by a list that nobody held", number,
              b->deletes, b->before);
}

/* Each change is reported once, and no state is older than the one before. */
static void check_told_once(struct oracle *o, size_t number, const struct delta *d)
{
    struct told_last *last = &o->last[number][api_find(object_key(d->object))];
    struct told_last is = {number_from(object_uid(d->object), 1),
                           number_from(object_rv(d->object), 0)};
    bool restored = o->api->restored;
    bool good = is.uid == last->uid;

    if (d->type == DELTA_ADDED)
        good = last->uid == 0;
    else if (d->type == DELTA_MODIFIED)
        good = good && (is.rv > last->rv || restored);
    if (!good)
        panic("watch %zu: %s %.*s of incarnation %" PRIu64 ", version %" PRIu64
              ", and the last one was incarnation %" PRIu64 ", version %" PRIu64,
              number, delta_type_name(d->type), STR_ARG(object_key(d->object)), is.uid, is.rv,
              last->uid, last->rv);
    *last = rules_is_end(d->type) ? (struct told_last){0} : is;
}

static void count_missed(struct oracle *o, const struct delta *d)
{
    if (d->cause == CAUSE_CONFIG && d->type == DELTA_LEFT)
        o->features[FEATURE_MISSED_LEFT]++;
    else if (d->cause == CAUSE_RESTART)
        o->features[d->type == DELTA_DELETED ? FEATURE_MISSED_END : FEATURE_MISSED]++;
    else if (d->cause == CAUSE_RELIST && d->type == DELTA_DELETED)
        o->features[FEATURE_RELIST_END]++;
}

void oracle_delta(struct oracle *o, size_t number, const struct delta *d)
{
    bool at_once = number == EVERYWHERE || number == MATCHED;
    uint64_t uid = number_from(object_uid(d->object), 1);

    check_told_once(o, number, d);
    count_missed(o, d);
    if ((d->cause == CAUSE_RELIST || d->cause == CAUSE_RESTART) && at_once)
        check_burst(o, number, d->type == DELTA_DELETED);
    if (d->type == DELTA_DELETED && o->api->last[uid].odd != API_USABLE)
        o->features[FEATURE_ODD_END]++;
    if (d->type == DELTA_DELETED && number != PICKED && !o->api->was_deleted[uid])
        panic("watch %zu: %.*s is said to be deleted, and never was", number,
              STR_ARG(object_key(d->object)));
    if (d->type == DELTA_ADDED)
        o->objects[number]++;
    else if (d->type == DELTA_DELETED || d->type == DELTA_LEFT)
        o->objects[number]--;
}

/* When the state of a key in the cache was replaced in the cluster; UINT64_MAX = it is the
 * newest. */
static uint64_t outdated_ms(const struct oracle *o, const struct watch *w, size_t number,
                            size_t key)
{
    const struct object *have = store_get(watch_store(w), str_c(api_key(key)));
    const struct sights *s = &o->sights[number][key];
    uint64_t uid = have != NULL ? number_from(object_uid(have), 1) : 0;
    uint64_t rv = have != NULL ? number_from(object_rv(have), 0) : 0;

    if (have != NULL && object_is_bare(have)) /* a bare object shows no state */
        return UINT64_MAX;
    bool marked = is_marked(w, key); /* the watch says that the object cannot be used */
    for (size_t i = s->n; i > 0; i--)
        if (marked
                ? s->v[i - 1].odd
                : s->v[i - 1].uid == uid && s->v[i - 1].rv == rv && (!s->v[i - 1].odd || uid == 0))
            return i == s->n ? UINT64_MAX : s->v[i].from_ms;
    if (marked && oracle_waits_for_list(w))
        return UINT64_MAX;
    panic("watch %s: %s of version %" PRIu64 " never was", watch_name(w), api_key(key), rv);
}

const char *oracle_behind_text(enum behind why)
{
#define BEHIND_TEXT(id, text) text,
    static const char *const texts[] = {BEHIND_MAP(BEHIND_TEXT)};
#undef BEHIND_TEXT

    return texts[why];
}

/* Why a stream is behind the cluster. */
static enum behind behind(const struct stream *s)
{
    if (s->state == STREAM_STALLED)
        return BEHIND_HUNG;
    if (s->state == STREAM_WATCHING && s->serving.after > s->net->api->rv)
        return BEHIND_RESTORED;
    if (s->net->foreign_rv > 0)
        return BEHIND_FOREIGN;
    if (s->server != NULL && s->server->split)
        return BEHIND_SPLIT;
    return s->state == STREAM_WATCHING ? BEHIND_LAG : BEHIND_LOST;
}

/* Why a watch is behind: the reason of its worst stream. */
static enum behind behind_of(const struct sim_daemon *l, size_t number)
{
    enum behind worst = BEHIND_LAG;

    for (size_t i = 0; i < l->stream_count; i++)
        if (l->streams[i].arg == &l->posts[number] && behind(&l->streams[i]) < worst)
            worst = behind(&l->streams[i]);
    return worst;
}

static void sample(struct oracle *o, const struct sim_daemon *l, size_t number)
{
    const struct watch *w = l->watches[number];
    bool is_silent = false;
    enum behind now = behind_of(l, number);

    oracle_look(o, w, number);
    if (now < o->due_to[number])
        o->due_to[number] = now;
    for (size_t key = 0; key < API_KEYS; key++) {
        uint64_t since_ms = outdated_ms(o, w, number, key);

        if (since_ms < o->told_ms[number])
            since_ms = o->told_ms[number];
        if (since_ms >= o->clock->now_ms)
            continue;
        uint64_t silent_ms = o->clock->now_ms - since_ms;
        uint64_t percent = silent_ms * 100 / o->silence_ms;
        o->worst_ms = silent_ms > o->worst_ms ? silent_ms : o->worst_ms;
        is_silent = true;
        enum behind why = o->due_to[number];
        if (silent_ms > o->worst_by[why])
            o->worst_by[why] = silent_ms;
        o->worst_percent = percent > o->worst_percent ? percent : o->worst_percent;
        if (silent_ms > o->silence_ms)
            panic("watch %s: %s is silently stale for %" PRIu64 " s", watch_name(w), api_key(key),
                  silent_ms / 1000);
    }
    if (!is_silent)
        o->due_to[number] = BEHIND_LAG;
}

/* Has the watch reported the freshness that its status shows? An alarm of this very moment may still
 * have to run. */
static void check_told(const struct oracle *o, const struct sim_daemon *l, size_t number)
{
    bool is = watch_status(l->watches[number], o->clock->now_ms).stale;
    bool was = watch_status(l->watches[number], o->clock->now_ms - 1).stale;

    if (is == was && l->stale[number] != is)
        panic("watch %s is %s, and did not tell", watch_name(l->watches[number]),
              is ? "stale" : "fresh");
}

void oracle_sample(struct oracle *o, const struct sim_daemon *l)
{
    for (size_t w = 0; w < WATCHES; w++) {
        sample(o, l, w);
        check_told(o, l, w);
    }
    view_oracle_sample(&l->view_oracle);
}

void oracle_check_outage(const struct oracle *o, const struct sim_daemon *l)
{
    for (size_t w = 0; w < WATCHES; w++)
        if (!watch_status(l->watches[w], o->clock->now_ms).stale)
            panic("watch %s has no server, and is not stale", watch_name(l->watches[w]));
    ensure(view_stale(l->view_oracle.view));
    world_check_outage(&l->sim_hooks);
}

static bool was_seen(const struct sights *s, const struct told_last *is)
{
    for (size_t i = 0; i < s->n; i++)
        if (s->v[i].uid == is->uid && s->v[i].rv == is->rv && !s->v[i].odd)
            return true;
    return false;
}

/* Checks a key whose object cannot be used: its old state stays, if there was one. */
static void check_odd(const struct oracle *o, const struct watch *w, size_t number, size_t key)
{
    const struct object *have = store_get(watch_store(w), str_c(api_key(key)));
    const struct told_last *last = &o->last[number][key];

    if (!is_marked(w, key))
        panic("watch %s: %s cannot be used, and is not recorded as skipped", watch_name(w),
              api_key(key));
    if ((have != NULL) != (last->uid != 0))
        panic("watch %s: %s cannot be used, and is not what was told", watch_name(w), api_key(key));
    if (have != NULL && !object_is_bare(have) &&
        (!was_seen(&o->sights[number][key], last) || number_from(object_rv(have), 0) != last->rv))
        panic("watch %s: %s has version %.*s, was told of %" PRIu64, watch_name(w), api_key(key),
              STR_ARG(object_rv(have)), last->rv);
}

static void check_usable(const struct oracle *o, const struct watch *w, size_t number, size_t key)
{
    const struct api_object *want = &o->api->now[key];
    bool wanted = lens_keeps(sim_daemon_lens(number), key, want);
    const struct object *have = store_get(watch_store(w), str_c(api_key(key)));

    if ((have != NULL) != wanted)
        panic("watch %s: %s is %s", watch_name(w), api_key(key),
              have != NULL ? "extra" : "missing");
    if (o->last[number][key].uid != (wanted ? want->uid : 0) ||
        o->last[number][key].rv != (wanted ? want->rv : 0))
        panic("watch %s: %s was told to be something else", watch_name(w), api_key(key));
    if (have == NULL)
        return;
    struct api_object got = answer_read(have);
    if (!api_same(&got, want))
        panic("watch %s: %s differs", watch_name(w), api_key(key));
}

static void check_cache(const struct oracle *o, const struct watch *w, size_t number)
{
    const struct store *store = watch_store(w);
    size_t count = 0;
    uint64_t odd = 0;

    for (size_t key = 0; key < API_KEYS; key++) {
        const struct api_object *want = &o->api->now[key];

        count += store_get(store, str_c(api_key(key))) != NULL;
        if (want->odd == API_USABLE || !lens_keeps(sim_daemon_lens(number), key, want)) {
            check_usable(o, w, number, key);
            continue;
        }
        check_odd(o, w, number, key);
        odd++;
    }
    ensure(count == store_count(store));
    if (odd != skips_count(store_skips(store)))
        panic("watch %s: skips %" PRIu64 " objects, and not %" PRIu64, watch_name(w),
              (uint64_t)skips_count(store_skips(store)), odd);
}

static void check_status(const struct oracle *o, const struct watch *w)
{
    struct watch_status s = watch_status(w, o->clock->now_ms);

    ensure(!watch_incomplete(w));
    if (s.stale || s.held != GUARD_NOTHING || !s.synced || s.err->kind != ERR_OK)
        panic("watch %s: all is well, but it says: stale %d, held %s, synced %d, error %s",
              watch_name(w), s.stale,
              s.held != GUARD_NOTHING ? guard_reason_name(s.held) : "nothing", s.synced,
              s.err->text);
}

void oracle_check(struct oracle *o, const struct sim_daemon *l)
{
    for (size_t w = 0; w < WATCHES; w++) {
        check_cache(o, l->watches[w], w);
        check_status(o, l->watches[w]);
    }
    for (size_t key = 0; key < API_KEYS; key++)
        if (o->api->now[key].odd != API_USABLE)
            return; /* hooks rightly have the old state of such an object */
    view_oracle_check(&l->view_oracle, o->api->now);
    world_check(&l->sim_hooks, o->api);
    sim_hooks_check_quiet(&l->sim_hooks);
}
