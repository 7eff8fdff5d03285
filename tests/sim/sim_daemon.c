/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/sim_daemon.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/panic.h"
#include "cache/confirm.h"
#include "hook/reload.h"
#include "sim/answer.h"
#include "sim/oracle.h"
#include "sim/sim_reload.h"

const struct lens *sim_daemon_lens(size_t watch)
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

/* docs/design.md "Synced", asked of each scope by itself. */
static bool watch_is_synced(const struct watch *w)
{
    for (size_t i = 0; i < watch_list_watch_count(w); i++)
        if (!list_watch_status(watch_list_watch(w, i)).synced)
            return false;
    return true;
}

/* Lets hooks start runs for the changes that streams have brought. */
static void start_due(struct sim_daemon *l)
{
    bool synced[SOURCES];

    for (size_t i = 0; i < WATCHES; i++)
        synced[i] = l->begun[i] || watch_is_synced(l->watches[i]);
    synced[VIEW_ORACLE] = view_synced(l->view_oracle.view);
    ensure(!synced[VIEW_ORACLE] || (synced[SERVICES] && synced[SLICES]));
    sim_hooks_start_due(&l->sim_hooks, synced);
}

/* A watch that a reload has put in the place of a synced one has begun stale. */
static void note_begun(struct sim_daemon *l, size_t number)
{
    const struct watch *w = l->watches[number];

    if (l->begun[number] || !watch_synced(w) || watch_is_synced(w))
        return;
    bool is_held = watch_status(w, l->params.clock->now_ms).held != GUARD_NOTHING;
    ensure(l->may_begin[number] && (l->stale[number] || is_held));
    l->begun[number] = true;
    l->params.features[FEATURE_BEGUN_RELOADED]++;
}

/* Looks at a watch behind an event, as io/watch_driver does. */
static void look(struct post *p)
{
    struct sim_daemon *l = p->sim_daemon;
    struct clock *c = l->params.clock;
    struct now now = {.ms = c->now_ms, .wall_ns = c->now_ms * 1000000};
    uint64_t next_ms = watch_tick(l->watches[p->watch], now);

    if (next_ms == UINT64_MAX)
        clock_clear(c, &p->tick);
    else
        clock_set_at(c, &p->tick, next_ms);
    note_begun(l, p->watch);
    l->params.on_look(l->params.arg, l->watches[p->watch], p->watch);
}

static void ask_confirm(struct post *p);

static void on_progress(void *arg)
{
    struct post *p = arg;

    look(p);
    ask_confirm(p);
    view_oracle_look(&p->sim_daemon->view_oracle);
    sim_hooks_keep(&p->sim_daemon->sim_hooks);
    disk_turn(p->sim_daemon->params.disk, p->watch, p->sim_daemon->watches[p->watch]);
    start_due(p->sim_daemon);
}

/* As io/watch_driver does: carries out the requests of people, and lets the watch become stale in
 * time. */
static void on_tick(struct alarm *a)
{
    struct post *p = container_of(a, struct post, tick);

    on_progress(p);
    for (size_t i = 0; i < p->sim_daemon->stream_count; i++)
        if (p->sim_daemon->streams[i].arg == p)
            stream_poke(&p->sim_daemon->streams[i]);
}

/* The answer to the GET of an object, if a server gives one. */
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
    struct sim_daemon *l = p->sim_daemon;
    enum confirm_answer answer = look_up(l->params.net, p->key, p->uid);

    confirm_answer(watch_confirm(l->watches[p->watch]), answer, l->params.clock->now_ms);
    on_progress(p);
}

/* Makes the next GET for confirm_deletes, as io/confirm_driver does. */
static void ask_confirm(struct post *p)
{
    struct sim_daemon *l = p->sim_daemon;
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

static size_t number_of(const struct sim_daemon *l, const struct watch *w)
{
    size_t number = 0;

    while (l->watches[number] != w)
        number++;
    return number;
}

static void keep(struct sim_daemon *l, size_t number, const struct delta *d)
{
    bool is_second = number == BY_SPACE && api_space(api_find(object_key(d->object))) == 1;

    ensure(watch_scope_of(l->watches[number], d->object) == (is_second ? 1 : 0));
    disk_kept(l->params.disk, number, d->object, d->type == DELTA_DELETED || d->type == DELTA_LEFT);
}

static void count_skip(const struct sim_daemon *l, const struct watch *w, const struct skip *s)
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

static void on_skipped(void *arg, struct source from, const struct skip *s, bool gone)
{
    struct sim_daemon *l = arg;
    const struct watch *w = from.watch;

    clock_trace(l->params.clock, "%s: %s %.*s", watch_name(w), gone ? "usable" : "skipped",
                STR_ARG(s->name.n > 0 ? s->name : str_c("without a name")));
    disk_skipped(l->params.disk, number_of(l, w), s, gone);
    if (gone)
        l->params.features[FEATURE_ODD_AGAIN]++;
    else
        count_skip(l, w, s);
}

static void on_delta(void *arg, struct source from, const struct delta *d)
{
    struct sim_daemon *l = arg;
    size_t number = number_of(l, from.watch);

    keep(l, number, d);
    l->params.on_delta(l->params.arg, number, d);
    if (d->cause == CAUSE_WATCH && !watch_is_synced(from.watch))
        l->params.features[l->begun[number] ? FEATURE_BEGUN_MISSED : FEATURE_REPLAYED]++;
    clock_trace(l->params.clock, "%s: %s %.*s %.*s", watch_name(from.watch),
                delta_type_name(d->type), STR_ARG(object_key(d->object)),
                STR_ARG(object_rv(d->object)));
    sim_hooks_delta(&l->sim_hooks, number, d);
    view_oracle_delta(&l->view_oracle, from.watch, d);
}

static void on_restored(void *arg, struct source from, const struct delta *d)
{
    struct sim_daemon *l = arg;

    sim_hooks_delta(&l->sim_hooks, number_of(l, from.watch), d);
    view_oracle_delta(&l->view_oracle, from.watch, d);
}

static void on_view_delta(void *arg, const struct delta *d)
{
    struct sim_daemon *l = arg;

    sim_hooks_delta(&l->sim_hooks, VIEW_ORACLE, d);
}

static void on_view_stale(void *arg, bool stale, struct now now)
{
    struct sim_daemon *l = arg;

    sim_hooks_stale(&l->sim_hooks, VIEW_ORACLE, stale, now);
}

static void on_view_incomplete(void *arg, bool incomplete, struct now now)
{
    struct sim_daemon *l = arg;

    sim_hooks_incomplete(&l->sim_hooks, VIEW_ORACLE, incomplete, now);
}

static void on_view_time(void *arg)
{
    struct sim_daemon *l = arg;

    view_oracle_look(&l->view_oracle);
    start_due(l);
}

static void add_view(struct sim_daemon *l)
{
    static const struct view_oracle_events events = {on_view_delta, on_view_stale,
                                                     on_view_incomplete, on_view_time};

    view_oracle_init(&l->view_oracle, &(struct view_oracle_params){
                                          .clock = l->params.clock,
                                          .services = l->watches[SERVICES],
                                          .slices = l->watches[SLICES],
                                          .hold_empty_ms = l->params.net->setup->hold_empty_ms,
                                          .features = l->params.features,
                                          .events = &events,
                                          .arg = l});
}

static void on_stale(void *arg, struct source from, bool stale, struct now now)
{
    struct sim_daemon *l = arg;
    size_t number = number_of(l, from.watch);

    l->stale[number] = stale;
    clock_trace(l->params.clock, "%s: %s", watch_name(from.watch), stale ? "STALE" : "FRESH");
    sim_hooks_stale(&l->sim_hooks, number, stale, now);
}

static void on_incomplete(void *arg, struct source from, bool incomplete, struct now now)
{
    struct sim_daemon *l = arg;

    l->incomplete += incomplete;
    clock_trace(l->params.clock, "%s: %s", watch_name(from.watch),
                incomplete ? "incomplete" : "complete");
    sim_hooks_incomplete(&l->sim_hooks, number_of(l, from.watch), incomplete, now);
}

/* Makes a watch; other settings than before are other numbers in `edits`. */
static struct watch *make_watch(const struct sim_daemon *l, size_t number)
{
    static const char *const all[] = {"*"};
    static const char *const spaces[] = {"east", "west"};
    static const char *const match[] = {"data.on=yes"};
    static const char *const names[] = {"everywhere", "by-space", "picked",
                                        "matched",    "services", "slices"};
    const struct setup *s = l->params.net->setup;
    struct watch *w;
    struct err err;
    char none[40];

    snprintf(none, sizeof(none), "metadata.name!=none-%u", l->edits[number].selection);
    struct watch_params p = {
        .name = names[number],
        .cluster = "sim",
        .resource = number == SERVICES ? "services"
                    : number == SLICES ? "endpointslices"
                                       : "configmaps",
        .namespaces = number == BY_SPACE ? spaces : all,
        .namespace_count = number == BY_SPACE ? API_SPACES : 1,
        .label_selector = number == PICKED ? "app=x" : "",
        .field_selector = l->edits[number].selection > 0 ? none : "",
        .shape = {.match = match, .match_count = number == MATCHED ? 1 : 0},
        .object_size = 8192 + l->edits[number].extent,
        .reflector = s->reflector,
        .guard = s->guard,
        .bookmark_timeout_ms = s->bookmark_timeout_ms,
        .list_idle_timeout_ms = s->list_idle_timeout_ms,
        .stale_after_ms = s->stale_after_ms,
        .confirm_deletes = number == PICKED && s->confirm,
        .seed = l->params.seed + number * SCOPES,
    };

    if (watch_create(&p, &w, &err) != ERR_OK)
        panic("%s", err.text);
    return w;
}

static void put_watch(struct sim_daemon *l, size_t number, struct watch *w)
{
    static const struct subscriber events = {.on_delta = on_delta,
                                             .on_restored = on_restored,
                                             .on_stale = on_stale,
                                             .on_incomplete = on_incomplete,
                                             .on_skipped = on_skipped};

    l->watches[number] = w;
    watch_limit_memory(w, &l->memory);
    watch_subscribe(w, &events, l);
    l->posts[number] = (struct post){.sim_daemon = l,
                                     .watch = number,
                                     .tick.fn = on_tick,
                                     .confirm.fn = on_confirm,
                                     .answer.fn = on_answer};
}

/* Starts the streams of a watch, from streams[at] on. */
static void start_streams(struct sim_daemon *l, size_t number, size_t at)
{
    struct watch *w = l->watches[number];

    for (size_t i = 0; i < watch_list_watch_count(w); i++) {
        struct stream *s = &l->streams[at + i];

        *s = (struct stream){
            .net = l->params.net,
            .list_watch = watch_list_watch(w, i),
            .lens = *sim_daemon_lens(number),
            .on_progress = on_progress,
            .arg = &l->posts[number],
        };
        if (number == BY_SPACE)
            s->lens.space = i;
        stream_start(s, l->whole[number][i]);
    }
}

static void add_streams(struct sim_daemon *l, size_t number)
{
    size_t at = l->stream_count;

    l->stream_count += watch_list_watch_count(l->watches[number]);
    start_streams(l, number, at);
}

static bool was_answered(const struct watch *w)
{
    for (size_t i = 0; i < watch_list_watch_count(w); i++)
        if (list_watch_status(watch_list_watch(w, i)).contact_ms > 0)
            return true;
    return false;
}

/* Watches without an answer begin stale, as persist/cluster decides it, but each watch by
 * itself. */
static void on_patience(struct alarm *a)
{
    struct sim_daemon *l = container_of(a, struct sim_daemon, patience);
    struct clock *c = l->params.clock;
    struct now now = {.ms = c->now_ms, .wall_ns = c->now_ms * 1000000};

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

/* Loads a watch from disk. At times its settings have been edited. */
static void load(struct sim_daemon *l, size_t number)
{
    bool edited = clock_percent(l->params.clock, l->params.edited_percent);

    disk_load(l->params.disk, number, l->watches[number], edited);
    for (size_t i = 0; i < watch_scope_count(l->watches[number]); i++)
        l->whole[number][i] = disk_is_whole(l->params.disk, number, i, edited);
    if (edited && store_count(watch_store(l->watches[number])) > 0)
        l->params.features[FEATURE_EDITED]++;
    for (size_t i = 0; i < watch_scope_count(l->watches[number]); i++)
        disk_edit(l->params.disk, number, i, l->watches[number]);
    l->params.features[FEATURE_ODD_RESTORED] +=
        skips_count(store_skips(watch_store(l->watches[number])));
}

/* Tells the watch of an object that only a hook knows, as load_known_of() in persist/persist does. */
static void know(void *arg, size_t hook, size_t source, struct str key, struct str uid)
{
    struct sim_daemon *l = arg;
    size_t number = l->params.rules[hook].sources[source];
    size_t watch = number == VIEW_ORACLE ? SERVICES : number;

    if (!disk_know(l->watches[watch], key, uid))
        return;
    const struct object *o = store_get(watch_store(l->watches[watch]), key);
    l->params.on_known(l->params.arg, watch, api_find(key), answer_uid(o));
}

static void on_change(struct alarm *a);

struct sim_daemon *sim_daemon_create(const struct sim_daemon_params *params)
{
    struct sim_daemon *l = mem_zalloc(sizeof(*l));

    l->params = *params;
    for (size_t i = 0; i < WATCHES; i++) {
        put_watch(l, i, make_watch(l, i));
        load(l, i);
    }
    if (params->persist != NULL)
        disk_hooks_each(&params->persist->disk_hooks, know, l);
    add_view(l);
    sim_hooks_init(&l->sim_hooks,
                   &(struct sim_hooks_params){.clock = params->clock,
                                              .handlers = params->handlers,
                                              .rules = params->rules,
                                              .watches = l->watches,
                                              .view = l->view_oracle.view,
                                              .slots = params->net->setup->hook_slots,
                                              .seed = params->seed,
                                              .features = params->features,
                                              .persist = params->persist,
                                              .reaper = params->reaper,
                                              .change = &l->change});
    const struct clock *c = params->clock;

    for (size_t i = 0; i < WATCHES; i++)
        watch_restore(l->watches[i], (struct now){.ms = c->now_ms, .wall_ns = c->now_ms * 1000000});
    view_oracle_restored(&l->view_oracle);
    sim_hooks_loaded(&l->sim_hooks);
    for (size_t i = 0; i < WATCHES; i++)
        add_streams(l, i);
    l->change.fn = on_change;
    l->patience.fn = on_patience;
    clock_set(params->clock, &l->patience, clock_pick(params->clock, 1000, 20000));
    return l;
}

static void count_resumed(const struct sim_daemon *l)
{
    for (size_t i = 0; i < l->stream_count; i++) {
        const struct stream *s = &l->streams[i];

        if (s->resumed && s->listed)
            l->params.features[FEATURE_NOT_RESUMED]++;
        else if (s->resumed && list_watch_status(s->list_watch).synced)
            l->params.features[FEATURE_RESUMED]++;
    }
}

void sim_daemon_stop(struct sim_daemon *l)
{
    sim_hooks_stop(&l->sim_hooks);
}

static void clear_post(struct sim_daemon *l, size_t number)
{
    clock_clear(l->params.clock, &l->posts[number].tick);
    clock_clear(l->params.clock, &l->posts[number].confirm);
    clock_clear(l->params.clock, &l->posts[number].answer);
}

void sim_daemon_destroy(struct sim_daemon **lp)
{
    struct sim_daemon *l = *lp;

    *lp = NULL;
    count_resumed(l);
    clock_clear(l->params.clock, &l->patience);
    clock_clear(l->params.clock, &l->change);
    for (size_t i = 0; i < l->stream_count; i++)
        stream_fini(&l->streams[i]);
    sim_hooks_fini(&l->sim_hooks);
    view_oracle_fini(&l->view_oracle);
    for (size_t i = 0; i < WATCHES; i++) {
        clear_post(l, i);
        watch_destroy(&l->watches[i]);
    }
    free(l);
}

void sim_daemon_poke(struct sim_daemon *l, size_t watch)
{
    for (size_t i = 0; i < l->stream_count; i++)
        if (l->streams[i].arg == &l->posts[watch])
            stream_poke(&l->streams[i]);
    on_progress(&l->posts[watch]);
}

void sim_daemon_limit(struct sim_daemon *l, uint64_t bytes)
{
    l->memory.bytes = bytes;
}

void sim_daemon_trim(struct sim_daemon *l)
{
    for (size_t i = 0; i < l->stream_count; i++)
        stream_trim(&l->streams[i]);
}

bool sim_daemon_is_quiet(const struct sim_daemon *l)
{
    if (l->sim_hooks.changing != WATCHES)
        return false;
    for (size_t i = 0; i < l->stream_count; i++)
        if (!stream_is_current(&l->streams[i]))
            return false;
    for (size_t i = 0; i < WATCHES; i++)
        if (watch_confirm(l->watches[i]) != NULL && confirm_count(watch_confirm(l->watches[i])) > 0)
            return false;
    return view_oracle_is_quiet(&l->view_oracle) && sim_hooks_is_quiet(&l->sim_hooks);
}

/* ---- A reload changes a watch. */

static size_t first_stream(const struct sim_daemon *l, size_t number)
{
    size_t at = 0;

    while (l->streams[at].arg != &l->posts[number])
        at++;
    return at;
}

/* Returns the view before. */
static struct view *replace_view(struct sim_daemon *l)
{
    struct view *old = l->view_oracle.view;
    struct view_oracle was = l->view_oracle;

    clock_clear(l->params.clock, &l->view_oracle.look);
    add_view(l);
    l->sim_hooks.params.view = l->view_oracle.view;
    l->sim_hooks.hook_checker.incomplete[VIEW_ORACLE] = view_incomplete(l->view_oracle.view);
    for (size_t i = 0; i < API_KEYS; i++)
        l->view_oracle.keys[i].slice = was.keys[i].slice;
    return old;
}

/* Returns the watch before. */
static struct watch *replace_watch(struct sim_daemon *l, size_t number)
{
    const struct clock *c = l->params.clock;
    struct watch *old = l->watches[number];
    struct watch *w = make_watch(l, number);

    watch_inherit(w, old, (struct now){.ms = c->now_ms, .wall_ns = c->now_ms * 1000000});
    clear_post(l, number);
    put_watch(l, number, w);
    l->begun[number] = l->stale[number] = false;
    l->sim_hooks.hook_checker.incomplete[number] = watch_incomplete(w);
    oracle_replace(l->params.oracle, w, number);
    for (size_t i = 0; i < watch_scope_count(w); i++) {
        disk_edit(l->params.disk, number, i, w);
        l->whole[number][i] = watch_resume_left(w, i) == RESUME_WHOLE;
    }
    return old;
}

static void count_replaced(const struct sim_daemon *l, size_t number)
{
    static const enum feature features[] = {
        [RESUME_NONE] = FEATURE_RELOAD_EMPTY,        [RESUME_PARTIAL] = FEATURE_RELOAD_PARTIAL,
        [RESUME_RESHAPED] = FEATURE_RELOAD_RESHAPED, [RESUME_EDITED] = FEATURE_RELOAD_EDITED,
        [RESUME_WHOLE] = FEATURE_RELOAD_WHOLE,
    };

    for (size_t i = 0; i < watch_scope_count(l->watches[number]); i++)
        l->params.features[features[watch_resume_left(l->watches[number], i)]]++;
}

/* The order of app/reload_switch: the watch, its view, the hooks, and then the objects that they are
 * shown. */
static void switch_sources(struct sim_daemon *l, size_t number)
{
    bool has_view = number == SERVICES || number == SLICES;
    struct watch *old = replace_watch(l, number);
    struct view *old_view = has_view ? replace_view(l) : NULL;

    count_replaced(l, number);
    sim_reload_replace_all(&l->sim_hooks);
    if (has_view)
        view_oracle_restored(&l->view_oracle);
    sim_reload_attach_all(&l->sim_hooks);
    view_destroy(&old_view);
    watch_destroy(&old);
}

static void switch_over(struct sim_daemon *l)
{
    size_t number = l->sim_hooks.changing;
    size_t at = first_stream(l, number);

    clock_trace(l->params.clock, "reload: %s is replaced, edit %d", watch_name(l->watches[number]),
                (int)l->edit);
    if (l->sim_hooks.is_watched)
        hook_checker_before(&l->sim_hooks.hook_checker);
    l->edits[number].selection += l->edit == SIM_DAEMON_SELECTION;
    l->edits[number].extent += l->edit == SIM_DAEMON_EXTENT;
    l->may_begin[number] = watch_synced(l->watches[number]) && l->edit == SIM_DAEMON_NOTHING;
    for (size_t i = 0; i < watch_list_watch_count(l->watches[number]); i++)
        stream_fini(&l->streams[at + i]);
    switch_sources(l, number);
    start_streams(l, number, at);
    on_progress(&l->posts[number]);
}

static void on_change(struct alarm *a)
{
    struct sim_daemon *l = container_of(a, struct sim_daemon, change);

    if (sim_reload_is_due(&l->sim_hooks))
        switch_over(l);
}

void sim_daemon_reload(struct sim_daemon *l, size_t number, enum sim_daemon_edit edit)
{
    if (l->sim_hooks.changing != WATCHES)
        return;
    if (l->sim_hooks.is_watched)
        hook_checker_before(&l->sim_hooks.hook_checker);
    l->edit = edit;
    sim_reload_retire_all(&l->sim_hooks, number);
    if (sim_reload_is_due(&l->sim_hooks))
        switch_over(l);
    else
        start_due(l);
}
