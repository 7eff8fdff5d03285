/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/life.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/panic.h"
#include "cache/confirm.h"
#include "sim/answer.h"
#include "sim/oracle.h"

const struct lens *life_lens(size_t watch)
{
    static const struct lens everything = {.space = API_SPACES};
    static const struct lens picked = {.space = API_SPACES, .labelled = true};
    static const struct lens matched = {.space = API_SPACES, .shown = true};
    static const struct lens services = {.kind = LENS_SERVICE, .space = API_SPACES};
    static const struct lens slices = {.kind = LENS_SLICE, .space = API_SPACES};
    static const struct lens *const all[WATCHES] = {&everything, &everything, &picked,
                                                    &matched,    &services,   &slices};

    return all[watch];
}

/* DESIGN 1.4.1, asked of each stream by itself. */
static bool watch_is_synced(const struct watch *w)
{
    for (size_t i = 0; i < watch_list_watch_count(w); i++)
        if (!list_watch_status(watch_list_watch(w, i)).synced)
            return false;
    return true;
}

/* Hooks may look at what streams have brought. */
static void start_due(struct life *l)
{
    bool synced[SOURCES];

    for (size_t i = 0; i < WATCHES; i++)
        synced[i] = l->begun[i] || watch_is_synced(l->watches[i]);
    synced[VIEWED] = view_synced(l->viewed.view);
    ensure(!synced[VIEWED] || (synced[SERVICES] && synced[SLICES]));
    crew_start_due(&l->crew, synced);
}

/* As io/watch_driver does it. */
static void look(struct post *p)
{
    struct life *l = p->life;
    struct clock *c = l->params.clock;
    struct list_watch_now now = {.ms = c->now_ms, .wall_ns = c->now_ms * 1000000};
    uint64_t next_ms = watch_tick(l->watches[p->watch], now);

    if (next_ms == UINT64_MAX)
        clock_clear(c, &p->tick);
    else
        clock_set_at(c, &p->tick, next_ms);
    l->params.on_look(l->params.arg, l->watches[p->watch], p->watch);
}

static void ask_confirm(struct post *p);

static void on_progress(void *arg)
{
    struct post *p = arg;

    look(p);
    ask_confirm(p);
    viewed_look(&p->life->viewed);
    crew_keep(&p->life->crew);
    restore_turn(p->life->params.restore, p->watch, p->life->watches[p->watch]);
    start_due(p->life);
}

/* As io/watch_driver does it: what is ordered is carried out. */
static void on_tick(struct alarm *a)
{
    struct post *p = container_of(a, struct post, tick);

    on_progress(p);
    for (size_t i = 0; i < p->life->stream_count; i++)
        if (p->life->streams[i].arg == p)
            stream_poke(&p->life->streams[i]);
}

/* What etcd says of an object, if it is asked at all. */
static enum confirm_answer look_up(struct net *n, const char *key, uint64_t uid)
{
    const struct server *s = &n->servers[clock_pick(n->clock, 0, SERVERS - 1)];

    if (s->away || s->split || net_strikes(n, FAULT_ERROR))
        return CONFIRM_NO_ANSWER;
    return n->api->now[api_find(str_c(key))].uid == uid ? CONFIRM_SAME : CONFIRM_GONE;
}

static void on_answer(struct alarm *a)
{
    struct post *p = container_of(a, struct post, answer);
    struct life *l = p->life;
    enum confirm_answer answer = look_up(l->params.net, p->key, p->uid);

    confirm_answer(watch_confirm(l->watches[p->watch]), answer, l->params.clock->now_ms);
    on_progress(p);
}

/* As io/confirm_driver does it. */
static void ask_confirm(struct post *p)
{
    struct life *l = p->life;
    struct clock *c = l->params.clock;
    struct confirm *confirm = watch_confirm(l->watches[p->watch]);

    if (confirm == NULL)
        return;
    confirm_tick(confirm, c->now_ms);
    const struct object *o = confirm_next(confirm, c->now_ms);
    if (o != NULL) {
        l->params.net->requests[REQUEST_GET]++;
        p->uid = answer_uid(o);
        snprintf(p->key, sizeof(p->key), "%.*s", STR_ARG(object_key(o)));
        confirm_started(confirm, c->now_ms);
        clock_set(c, &p->answer, clock_pick(c, 0, 100));
    }
    clock_clear(c, &p->confirm);
    if (confirm_due_ms(confirm) != UINT64_MAX)
        clock_set_at(c, &p->confirm, confirm_due_ms(confirm));
}

static void on_confirm(struct alarm *a)
{
    on_progress(container_of(a, struct post, confirm));
}

static size_t number_of(const struct life *l, const struct watch *w)
{
    size_t number = 0;

    while (l->watches[number] != w)
        number++;
    return number;
}

static void on_kept(void *arg, struct watch *w, size_t stream, struct object *o, bool gone)
{
    struct life *l = arg;
    size_t number = number_of(l, w);
    bool is_second = number == BY_SPACE && api_space(api_find(object_key(o))) == 1;

    ensure(stream == (is_second ? 1 : 0));
    restore_kept(l->params.restore, number, o, gone);
}

static void count_skip(const struct life *l, const struct watch *w, const struct skip *s)
{
    uint64_t *features = l->params.features;

    enum reflector_state state = list_watch_status(watch_list_watch(w, s->scope)).state;

    if (state == REFLECTOR_LISTING)
        features[FEATURE_ODD_ITEM]++;
    else if (state == REFLECTOR_STREAMING)
        features[FEATURE_ODD_INITIAL]++;
    else
        features[FEATURE_ODD_EVENT]++;
    if (s->name.n == 0)
        features[FEATURE_ODD_UNNAMED]++;
    else if (oracle_is_missing(s))
        features[FEATURE_ODD_MISSING]++;
    else if (store_get(watch_store(w), s->id) != NULL)
        features[FEATURE_ODD_KEPT]++;
}

static void on_skipped(void *arg, struct watch *w, const struct skip *s, bool gone)
{
    struct life *l = arg;

    clock_trace(l->params.clock, "%s: %s %.*s", watch_name(w), gone ? "usable" : "skipped",
                STR_ARG(s->name.n > 0 ? s->name : str_c("without a name")));
    restore_skipped(l->params.restore, number_of(l, w), s, gone);
    if (gone)
        l->params.features[FEATURE_ODD_AGAIN]++;
    else
        count_skip(l, w, s);
}

static void on_delta(void *arg, struct watch *w, const struct delta *d)
{
    struct life *l = arg;
    size_t number = number_of(l, w);

    l->params.on_delta(l->params.arg, number, d);
    if (d->cause == CAUSE_WATCH && !watch_is_synced(w))
        l->params.features[l->begun[number] ? FEATURE_BEGUN_MISSED : FEATURE_REPLAYED]++;
    clock_trace(l->params.clock, "%s: %s %.*s %.*s", watch_name(w), delta_type_name(d->type),
                STR_ARG(object_key(d->object)), STR_ARG(object_rv(d->object)));
    crew_delta(&l->crew, number, d);
    viewed_delta(&l->viewed, w, d);
}

static void on_view_delta(void *arg, const struct delta *d)
{
    struct life *l = arg;

    crew_delta(&l->crew, VIEWED, d);
}

static void on_view_stale(void *arg, bool stale, uint64_t wall_ns)
{
    struct life *l = arg;

    crew_stale(&l->crew, VIEWED, stale, wall_ns);
}

static void on_view_time(void *arg)
{
    struct life *l = arg;

    viewed_look(&l->viewed);
    start_due(l);
}

static void add_view(struct life *l)
{
    static const struct viewed_events events = {on_view_delta, on_view_stale, on_view_time};

    viewed_init(&l->viewed,
                &(struct viewed_params){.clock = l->params.clock,
                                        .services = l->watches[SERVICES],
                                        .slices = l->watches[SLICES],
                                        .hold_empty_ms = l->params.net->setup->hold_empty_ms,
                                        .features = l->params.features,
                                        .events = &events,
                                        .arg = l});
}

static void on_stale(void *arg, struct watch *w, bool stale, uint64_t wall_ns)
{
    struct life *l = arg;
    size_t number = number_of(l, w);

    l->stale[number] = stale;
    clock_trace(l->params.clock, "%s: %s", watch_name(w), stale ? "STALE" : "FRESH");
    crew_stale(&l->crew, number, stale, wall_ns);
}

static void add_watch(struct life *l, size_t number)
{
    static const struct watch_events events = {
        .on_delta = on_delta, .on_stale = on_stale, .on_kept = on_kept, .on_skipped = on_skipped};
    static const char *const all[] = {"*"};
    static const char *const spaces[] = {"east", "west"};
    static const char *const match[] = {"data.on=yes"};
    static const char *const names[] = {"everywhere", "by-space", "picked",
                                        "matched",    "services", "slices"};
    const struct setup *s = l->params.net->setup;
    struct err err;
    struct watch_params p = {
        .name = names[number],
        .cluster = "sim",
        .resource = number == SERVICES ? "services"
                    : number == SLICES ? "endpointslices"
                                       : "configmaps",
        .namespaces = number == BY_SPACE ? spaces : all,
        .namespace_count = number == BY_SPACE ? API_SPACES : 1,
        .label_selector = number == PICKED ? "app=x" : "",
        .field_selector = "",
        .shape = {.match = match, .match_count = number == MATCHED ? 1 : 0},
        .object_size = 8192,
        .reflector = s->reflector,
        .guard = s->guard,
        .bookmark_timeout_ms = s->bookmark_timeout_ms,
        .list_idle_timeout_ms = s->list_idle_timeout_ms,
        .stale_after_ms = s->stale_after_ms,
        .confirm_deletes = number == PICKED && s->confirm,
        .seed = l->params.seed + number * SCOPES,
    };

    if (watch_create(&p, &events, l, &l->watches[number], &err) != ERR_OK)
        panic("%s", err.text);
    l->posts[number] = (struct post){.life = l,
                                     .watch = number,
                                     .tick.fn = on_tick,
                                     .confirm.fn = on_confirm,
                                     .answer.fn = on_answer};
}

static void add_streams(struct life *l, size_t number)
{
    struct watch *w = l->watches[number];

    for (size_t i = 0; i < watch_list_watch_count(w); i++) {
        struct stream *s = &l->streams[l->stream_count++];

        *s = (struct stream){
            .net = l->params.net,
            .list_watch = watch_list_watch(w, i),
            .lens = *life_lens(number),
            .on_progress = on_progress,
            .arg = &l->posts[number],
        };
        if (number == BY_SPACE)
            s->lens.space = i;
        stream_start(s, l->whole[number][i]);
    }
}

static bool was_answered(const struct watch *w)
{
    for (size_t i = 0; i < watch_list_watch_count(w); i++)
        if (list_watch_status(watch_list_watch(w, i)).contact_ms > 0)
            return true;
    return false;
}

/* As app/persist_cluster does it, but for each watch. */
static void on_patience(struct alarm *a)
{
    struct life *l = container_of(a, struct life, patience);
    struct clock *c = l->params.clock;
    struct list_watch_now now = {.ms = c->now_ms, .wall_ns = c->now_ms * 1000000};

    for (size_t i = 0; i < WATCHES; i++) {
        if (was_answered(l->watches[i]) || !watch_begin_stale(l->watches[i], now, 0))
            continue;
        ensure(watch_synced(l->watches[i]) && l->stale[i]);
        l->begun[i] = true;
        l->params.features[FEATURE_BEGUN_STALE]++;
    }
    for (size_t i = 0; i < WATCHES; i++)
        if (l->begun[i])
            on_progress(&l->posts[i]);
}

/* Now and then its settings are others. */
static void load(struct life *l, size_t number)
{
    bool edited = clock_percent(l->params.clock, l->params.edited_percent);

    restore_load(l->params.restore, number, l->watches[number], edited);
    for (size_t i = 0; i < watch_scope_count(l->watches[number]); i++)
        l->whole[number][i] = restore_is_whole(l->params.restore, number, i, edited);
    if (edited && store_count(watch_store(l->watches[number])) > 0)
        l->params.features[FEATURE_EDITED]++;
    l->params.features[FEATURE_ODD_RESTORED] +=
        skips_count(store_skips(watch_store(l->watches[number])));
}

struct loading {
    struct life *life;
    size_t number;
};

static void tell_loaded(void *arg, struct object *o)
{
    const struct loading *to = arg;
    const struct delta d = {.type = DELTA_ADDED, .cause = CAUSE_RESTART, .object = o};

    crew_delta(&to->life->crew, to->number, &d);
    viewed_delta(&to->life->viewed, to->life->watches[to->number], &d);
}

/* As load_known() of app/persist does it. */
static void know(void *arg, size_t hook, size_t source, struct str key, struct str uid)
{
    struct life *l = arg;
    size_t number = l->params.rules[hook].sources[source];
    size_t watch = number == VIEWED ? SERVICES : number;

    if (!restore_know(l->watches[watch], key, uid))
        return;
    const struct object *o = store_get(watch_store(l->watches[watch]), key);
    l->params.on_known(l->params.arg, watch, api_find(key), answer_uid(o));
}

struct life *life_create(const struct life_params *params)
{
    struct life *l = mem_zalloc(sizeof(*l));

    l->params = *params;
    for (size_t i = 0; i < WATCHES; i++) {
        add_watch(l, i);
        load(l, i);
    }
    if (params->memory != NULL)
        marks_each(&params->memory->marks, know, l);
    add_view(l);
    crew_init(&l->crew, &(struct crew_params){.clock = params->clock,
                                              .handlers = params->handlers,
                                              .rules = params->rules,
                                              .watches = l->watches,
                                              .view = l->viewed.view,
                                              .slots = params->net->setup->hook_slots,
                                              .seed = params->seed,
                                              .features = params->features,
                                              .memory = params->memory,
                                              .reaper = params->reaper});
    for (size_t i = 0; i < WATCHES; i++)
        store_each(watch_store(l->watches[i]), tell_loaded, &(struct loading){l, i});
    viewed_restored(&l->viewed);
    crew_loaded(&l->crew);
    for (size_t i = 0; i < WATCHES; i++)
        add_streams(l, i);
    l->patience.fn = on_patience;
    clock_set(params->clock, &l->patience, clock_pick(params->clock, 1000, 20000));
    return l;
}

static void count_resumed(const struct life *l)
{
    for (size_t i = 0; i < l->stream_count; i++) {
        const struct stream *s = &l->streams[i];

        if (s->resumed && s->listed)
            l->params.features[FEATURE_NOT_RESUMED]++;
        else if (s->resumed && list_watch_status(s->list_watch).synced)
            l->params.features[FEATURE_RESUMED]++;
    }
}

void life_stop(struct life *l)
{
    crew_stop(&l->crew);
}

void life_destroy(struct life **lp)
{
    struct life *l = *lp;

    *lp = NULL;
    count_resumed(l);
    clock_clear(l->params.clock, &l->patience);
    for (size_t i = 0; i < l->stream_count; i++)
        stream_fini(&l->streams[i]);
    crew_fini(&l->crew);
    viewed_fini(&l->viewed);
    for (size_t i = 0; i < WATCHES; i++) {
        clock_clear(l->params.clock, &l->posts[i].tick);
        clock_clear(l->params.clock, &l->posts[i].confirm);
        clock_clear(l->params.clock, &l->posts[i].answer);
        watch_destroy(&l->watches[i]);
    }
    free(l);
}

void life_poke(struct life *l, size_t watch)
{
    for (size_t i = 0; i < l->stream_count; i++)
        if (l->streams[i].arg == &l->posts[watch])
            stream_poke(&l->streams[i]);
    on_progress(&l->posts[watch]);
}

bool life_is_quiet(const struct life *l)
{
    for (size_t i = 0; i < l->stream_count; i++)
        if (!stream_is_current(&l->streams[i]))
            return false;
    for (size_t i = 0; i < WATCHES; i++)
        if (watch_confirm(l->watches[i]) != NULL && confirm_count(watch_confirm(l->watches[i])) > 0)
            return false;
    return viewed_is_quiet(&l->viewed) && crew_is_quiet(&l->crew);
}
