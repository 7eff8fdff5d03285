/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/chaos.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/meter.h"
#include "base/panic.h"
#include "sim/hours.h"
#include "sim/sim_reload.h"
#include "sim/world.h"

enum { SAMPLE_MS = 5000, WINDOW_MS = 300000 };

struct chaos {
    uint64_t seed;
    const struct chaos_options *options;
    struct clock clock;
    struct setup setup;
    struct api api;
    struct net net;
    struct rules rules[HOOKS];
    struct handler handlers[HOOKS];
    struct operator operator;
    struct oracle oracle;
    struct persist persist;
    struct sim_daemon *sim_daemon; /* NULL = down */
    bool immortal;                 /* nothing kills the daemon */
    uint64_t lives;
    uint64_t changes;
    bool restored; /* etcd was; a storm has one backup only: api_back_up() */
    bool calm;
    struct alarm change;
    struct alarm elsewhere;
    struct alarm rotation;
    struct alarm disaster;
    struct alarm birth;
    struct alarm sample;
    struct alarm reaper;
    struct alarm heals[SERVERS];
    struct alarm give_back;
    struct alarm
        window; /* etcd and the servers keep so old events: in worlds that live for hours */
    struct hours hours;
    struct alarm memory;
    uint64_t memory_bytes; /* limits.memory; 0 = no limit */
    uint64_t incomplete;   /* so often has it stopped a watch of an earlier process */
    size_t pending;        /* the most of this storm: sim/hours */
    size_t batches;
    uint64_t relists[RELIST_REASONS];
    uint64_t features[FEATURES];
};

static uint64_t max(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* etcd has changed: tells the oracle and the servers. */
static void changed(struct chaos *x)
{
    oracle_note(&x->oracle);
    net_poke(&x->net);
}

static void mutate(struct chaos *x, uint64_t times)
{
    for (; times > 0; times--, x->changes++) {
        api_mutate(&x->api);
        oracle_note(&x->oracle);
    }
    net_poke(&x->net);
}

static void on_change(struct alarm *a)
{
    struct chaos *x = container_of(a, struct chaos, change);

    mutate(x, clock_pick(&x->clock, 1, 4));
    clock_set(&x->clock, a, clock_pick(&x->clock, 1, x->setup.change_every_ms));
}

static void on_elsewhere(struct alarm *a)
{
    struct chaos *x = container_of(a, struct chaos, elsewhere);

    api_write_elsewhere(&x->api, clock_pick(&x->clock, 1, 5));
    net_poke(&x->net);
    clock_set(&x->clock, a, clock_pick(&x->clock, 500, 15000) + (x->calm ? 30000 : 0));
}

/* The daemon gets new credentials. */
static void rotate(struct chaos *x)
{
    for (size_t i = 0; x->sim_daemon != NULL && i < x->sim_daemon->stream_count; i++)
        stream_renew(&x->sim_daemon->streams[i]);
}

static void on_rotation(struct alarm *a)
{
    struct chaos *x = container_of(a, struct chaos, rotation);

    rotate(x);
    clock_set(&x->clock, a, clock_pick(&x->clock, 100, 20000));
}

static void on_look(void *arg, struct watch *w, size_t number)
{
    struct chaos *x = arg;

    oracle_look(&x->oracle, w, number);
}

static void on_delta(void *arg, size_t watch, const struct delta *d)
{
    struct chaos *x = arg;

    oracle_delta(&x->oracle, watch, d);
}

static void on_known(void *arg, size_t watch, size_t key, uint64_t uid)
{
    struct chaos *x = arg;

    oracle_know(&x->oracle, watch, key, uid);
}

/* The disk loses an object. Not where objects cannot be used at times: of an object that is lost
 * and then cannot be used only the hooks know, and if they know different incarnations, nobody can
 * tell which one exists. */
static void lose(struct chaos *x)
{
    if (x->setup.odd_percent > 0)
        return;
    for (size_t w = 0; w < WATCHES; w++)
        if (clock_percent(&x->clock, 10) && disk_lose(&x->persist.disk, w))
            x->features[FEATURE_LOST]++;
}

static void on_birth(struct alarm *a)
{
    struct chaos *x = container_of(a, struct chaos, birth);

    if (x->net.foreign_rv > 0) { /* a first start would take the other cluster for its own */
        clock_set(&x->clock, a, 1000);
        return;
    }
    if (!x->calm)
        lose(x);
    if (!x->calm && x->setup.remembers)
        persist_renew_some(&x->persist, 4);
    clock_trace(&x->clock, "the daemon starts");
    x->net.asks_all = false;
    oracle_begin(&x->oracle, &x->persist.disk);
    x->sim_daemon = sim_daemon_create(
        &(struct sim_daemon_params){.clock = &x->clock,
                                    .net = &x->net,
                                    .handlers = x->handlers,
                                    .rules = x->rules,
                                    .disk = &x->persist.disk,
                                    .oracle = &x->oracle,
                                    .persist = x->setup.remembers ? &x->persist : NULL,
                                    .reaper = &x->reaper,
                                    .features = x->features,
                                    .edited_percent = x->calm ? 0 : 10,
                                    .seed = x->seed + x->lives++ * 1000,
                                    .on_look = on_look,
                                    .on_delta = on_delta,
                                    .on_known = on_known,
                                    .arg = x});
    x->operator.sim_hooks = & x->sim_daemon->sim_hooks;
    sim_daemon_limit(x->sim_daemon, x->memory_bytes);
    if (x->calm && x->setup.remembers)
        operator_leave(&x->operator); /* resumes the hooks that were paused when the storm ended */
}

static void end_life(struct chaos *x)
{
    for (size_t w = 0; w < WATCHES; w++) {
        struct watch_status s = watch_status(x->sim_daemon->watches[w], x->clock.now_ms);

        for (size_t i = 0; i < RELIST_REASONS; i++)
            x->relists[i] += s.relists_by[i];
    }
    x->incomplete += x->sim_daemon->incomplete;
    x->operator.sim_hooks = NULL;
    sim_daemon_destroy(&x->sim_daemon);
}

static void die(struct chaos *x, bool orderly)
{
    clock_trace(&x->clock, "the daemon %s", orderly ? "ends" : "dies");
    if (orderly)
        sim_daemon_stop(x->sim_daemon);
    end_life(x);
    persist_end_incarnation(&x->persist, orderly);
}

static void crash(struct chaos *x)
{
    if (x->sim_daemon == NULL || x->immortal)
        return;
    net_count(&x->net, FAULT_CRASH);
    die(x, !clock_percent(&x->clock, 70));
    clock_set(&x->clock, &x->birth, clock_pick(&x->clock, 0, 5000));
}

/* Kills a daemon with delivery records: at any moment, and often soon again. */
static void on_reaper(struct alarm *a)
{
    struct chaos *x = container_of(a, struct chaos, reaper);

    crash(x);
    clock_set(&x->clock, a,
              clock_pick(&x->clock, 100, clock_percent(&x->clock, 50) ? 4000 : 30000));
}

static struct server *some_server(struct chaos *x, size_t *number)
{
    *number = clock_pick(&x->clock, 0, SERVERS - 1);
    return &x->net.servers[*number];
}

static void on_heal(struct chaos *x, size_t number)
{
    struct server *s = &x->net.servers[number];

    s->away = false;
    s->split = false;
    server_poke(s);
}

static void on_heal_0(struct alarm *a)
{
    on_heal(container_of(a, struct chaos, heals[0]), 0);
}

static void on_heal_1(struct alarm *a)
{
    on_heal(container_of(a, struct chaos, heals[1]), 1);
}

static void on_heal_2(struct alarm *a)
{
    on_heal(container_of(a, struct chaos, heals[2]), 2);
}

static void take_away(struct chaos *x)
{
    size_t n;
    struct server *s = some_server(x, &n);

    if (clock_percent(&x->clock, 50)) {
        net_take_away(&x->net, s);
    } else {
        net_count(&x->net, FAULT_SPLIT);
        s->split = true;
    }
    clock_set(&x->clock, &x->heals[n], clock_pick(&x->clock, 500, x->setup.outage_ms));
}

static void restart(struct chaos *x)
{
    size_t n;

    net_restart(&x->net, some_server(x, &n));
}

static void forget(struct chaos *x)
{
    net_count(&x->net, FAULT_COMPACTED);
    api_compact(&x->api);
    for (size_t i = 0; i < SERVERS; i++)
        if (clock_percent(&x->clock, 70))
            server_forget(&x->net.servers[i]);
}

/* As etcd and the servers do it in time: the history does not become longer and longer. */
static void on_window(struct alarm *a)
{
    struct chaos *x = container_of(a, struct chaos, window);
    size_t seen = x->api.events;

    for (size_t i = 0; i < SERVERS; i++)
        seen = x->net.servers[i].upto < seen ? x->net.servers[i].upto : seen;
    if (x->clock.now_ms > WINDOW_MS) {
        uint64_t oldest = api_drop(&x->api, x->clock.now_ms - WINDOW_MS, seen);

        for (size_t i = 0; i < SERVERS; i++)
            x->net.servers[i].oldest = max(x->net.servers[i].oldest, oldest);
    }
    clock_set(&x->clock, a, WINDOW_MS);
}

static void limit_memory(struct chaos *x, uint64_t bytes)
{
    clock_trace(&x->clock, "limits.memory is %" PRIu64, bytes);
    x->memory_bytes = bytes;
    if (x->sim_daemon != NULL)
        sim_daemon_limit(x->sim_daemon, bytes);
}

/* A reload changes limits.memory: there is room for nothing new, or for some, or there is no limit. */
static void on_memory(struct alarm *a)
{
    struct chaos *x = container_of(a, struct chaos, memory);
    bool limited = clock_percent(&x->clock, 50);

    limit_memory(x, limited ? meter_bytes() * clock_pick(&x->clock, 60, 160) / 100 : 0);
    clock_set(&x->clock, a, clock_pick(&x->clock, 5000, 120000));
}

static void disk(struct chaos *x)
{
    if (x->restored)
        return;
    if (x->api.backup.rv == 0) {
        api_back_up(&x->api);
        changed(x);
        return;
    }
    stream_blame_all(&x->net, FAULT_RESTORE);
    x->restored = true;
    api_restore(&x->api);
    oracle_note(&x->oracle);
    for (size_t i = 0; i < SERVERS; i++)
        net_restart(&x->net, &x->net.servers[i]);
}

static void on_give_back(struct alarm *a)
{
    net_give_back(&container_of(a, struct chaos, give_back)->net);
}

static void replace(struct chaos *x)
{
    static const enum fault kinds[] = {FAULT_FOREIGN_LOWER, FAULT_FOREIGN_EQUAL,
                                       FAULT_FOREIGN_HIGHER};

    /* A first start cannot tell another cluster from its own. */
    if (x->net.foreign_rv > 0 || !x->net.asks_all)
        return;
    net_replace(&x->net, kinds[clock_pick(&x->clock, 0, ARRAY_LEN(kinds) - 1)]);
    clock_set(&x->clock, &x->give_back, clock_pick(&x->clock, 100, x->setup.outage_ms));
}

static void order(struct chaos *x)
{
    size_t n = clock_pick(&x->clock, 0, WATCHES - 1);

    if (x->sim_daemon == NULL)
        return;
    net_count(&x->net, FAULT_ORDER);
    watch_relist(x->sim_daemon->watches[n], RELIST_MANUAL);
    sim_daemon_poke(x->sim_daemon, n);
    for (size_t i = 0; i < watch_list_watch_count(x->sim_daemon->watches[n]); i++) {
        enum reflector_state state =
            list_watch_status(watch_list_watch(x->sim_daemon->watches[n], i)).state;

        ensure(state == REFLECTOR_LISTING || state == REFLECTOR_STREAMING);
    }
}

static void decide(struct chaos *x)
{
    bool accept = clock_percent(&x->clock, 50);

    for (size_t n = 0; x->sim_daemon != NULL && n < WATCHES; n++) {
        oracle_decide(&x->oracle, x->sim_daemon->watches[n], n, accept);
        if (!watch_guard(x->sim_daemon->watches[n], accept))
            continue;
        net_count(&x->net, accept ? FAULT_ACCEPT : FAULT_REJECT);
        sim_daemon_poke(x->sim_daemon, n);
    }
}

/* A reload changes a watch. */
static void reload(struct chaos *x)
{
    if (x->sim_daemon == NULL || !x->setup.remembers)
        return;
    sim_daemon_reload(x->sim_daemon, clock_pick(&x->clock, 0, WATCHES - 1),
                      (enum sim_daemon_edit)clock_pick(&x->clock, 0, SIM_DAEMON_SELECTION));
}

static void on_disaster(struct alarm *a)
{
    static void (*const disasters[])(struct chaos * x) = {take_away, restart, forget, disk,
                                                          order,     crash,   replace};
    struct chaos *x = container_of(a, struct chaos, disaster);

    if (clock_percent(&x->clock, x->setup.disaster_percent))
        disasters[clock_pick(&x->clock, 0, ARRAY_LEN(disasters) - 1)](x);
    if (clock_percent(&x->clock, x->setup.reload_percent / 2))
        reload(x);
    if (clock_percent(&x->clock, 5))
        decide(x);
    clock_set(&x->clock, a, clock_pick(&x->clock, 100, 2000));
}

/* Accepts the lists that a person has rejected: nobody else will, unless the next list is not
 * held. */
static void accept_rejected(struct chaos *x)
{
    for (size_t n = 0; n < WATCHES; n++) {
        struct watch *w = x->sim_daemon->watches[n];
        bool rejected = false;

        for (size_t i = 0; i < watch_list_watch_count(w); i++)
            if (list_watch_status(watch_list_watch(w, i)).guard->state == GUARD_REJECTED)
                rejected = true;
        if (!rejected)
            continue;
        net_count(&x->net, FAULT_ACCEPT);
        oracle_decide(&x->oracle, w, n, true);
        watch_guard(w, true);
        sim_daemon_poke(x->sim_daemon, n);
    }
}

static void on_sample(struct alarm *a)
{
    struct chaos *x = container_of(a, struct chaos, sample);

    x->batches = max(x->batches, disk_batches(&x->persist.disk));
    if (x->sim_daemon != NULL) {
        oracle_sample(&x->oracle, x->sim_daemon);
        x->pending = max(x->pending, sim_hooks_pending(&x->sim_daemon->sim_hooks));
    }
    if (x->sim_daemon != NULL && x->calm)
        accept_rejected(x);
    clock_set(&x->clock, a, SAMPLE_MS);
}

/* All that happens from now on happens again and again until end_storm(). */
static void begin_storm(struct chaos *x)
{
    clock_set(&x->clock, &x->change, 1);
    clock_set(&x->clock, &x->disaster, 1000);
    clock_set(&x->clock, &x->rotation, 1000);
    clock_set(&x->clock, &x->sample, SAMPLE_MS);
    if (x->setup.remembers)
        clock_set(&x->clock, &x->reaper, 5000);
    operator_come(&x->operator, & x->setup);
    if (x->setup.others)
        clock_set(&x->clock, &x->elsewhere, 1);
}

static void storm(struct chaos *x)
{
    uint64_t until_ms = x->clock.now_ms + x->setup.storm_ms;

    x->net.percent = x->setup.fault_percent;
    mutate(x, clock_pick(&x->clock, 0, 20));
    clock_set(&x->clock, &x->birth, 0);
    begin_storm(x);
    while (clock_step(&x->clock, until_ms))
        continue;
}

static bool is_quiet(const struct chaos *x)
{
    return x->sim_daemon != NULL && sim_daemon_is_quiet(x->sim_daemon);
}

/* A person has those watches listed anew that know of an object without a name. A watch that misses
 * objects in a list with such an item lists by itself. */
static bool lists_anew(struct chaos *x)
{
    bool any = false;

    for (size_t n = 0; n < WATCHES; n++) {
        if (!oracle_waits_for_list(x->sim_daemon->watches[n]))
            continue;
        any = true;
        if (store_skips(watch_store(x->sim_daemon->watches[n]))->missing > 0)
            continue;
        watch_relist(x->sim_daemon->watches[n], RELIST_MANUAL);
        sim_daemon_poke(x->sim_daemon, n);
    }
    return any;
}

static void settle(struct chaos *x)
{
    uint64_t until_ms = x->clock.now_ms + setup_calm_ms(&x->setup);

    while ((!is_quiet(x) || lists_anew(x)) && clock_step(&x->clock, until_ms))
        continue;
    if (!is_quiet(x))
        panic("it never becomes quiet");
    oracle_check(&x->oracle, x->sim_daemon);
}

static uint64_t count_runs(const struct chaos *x)
{
    uint64_t n = 0;

    for (size_t i = 0; i < HOOKS; i++)
        n += x->handlers[i].runs;
    return n;
}

/* Starts the daemon again while all is well: it must go on from where it was. */
static void start_again(struct chaos *x)
{
    uint64_t until_ms = x->clock.now_ms + clock_pick(&x->clock, 0, 500);
    uint64_t runs = count_runs(x);

    if (clock_percent(&x->clock, 50))
        mutate(x, clock_pick(&x->clock, 1, 6));
    while (clock_step(&x->clock, until_ms))
        continue;
    die(x, !clock_percent(&x->clock, 50));
    if (x->setup.remembers && clock_percent(&x->clock, 30))
        persist_renew_some(&x->persist, 50);
    if (clock_percent(&x->clock, 50))
        mutate(x, clock_pick(&x->clock, 1, 6));
    clock_set(&x->clock, &x->birth, clock_pick(&x->clock, 0, 60000));
    settle(x);
    if (x->setup.remembers && count_runs(x) == runs)
        x->features[FEATURE_KEPT_QUIET]++;
    for (size_t i = 0; i < x->sim_daemon->stream_count; i++)
        if (!x->sim_daemon->streams[i].resumed || x->sim_daemon->streams[i].listed)
            return;
    x->features[FEATURE_WARM]++;
}

/* All servers are gone for longer than stale_after: hooks get STALE, and FRESH when they are
 * back. */
static void drill(struct chaos *x)
{
    uint64_t until_ms = x->clock.now_ms + x->setup.stale_after_ms + 60000;

    net_cut_off(&x->net);
    while (clock_step(&x->clock, until_ms))
        continue;
    oracle_check_outage(&x->oracle, x->sim_daemon);
    net_heal(&x->net);
    settle(x);
}

/* An object that cannot be used is still known as such after a restart without a list. Then all
 * objects are mended. */
static void mend(struct chaos *x)
{
    if (clock_percent(&x->clock, 50)) {
        die(x, !clock_percent(&x->clock, 50));
        clock_set(&x->clock, &x->birth, clock_pick(&x->clock, 0, 5000));
        settle(x);
    }
    if (!api_mend(&x->api))
        return;
    changed(x);
    settle(x);
}

/* Lists that streams with versions have asked for. */
static unsigned count_lists(const struct chaos *x)
{
    unsigned n = 0;

    for (size_t i = 0; i < x->sim_daemon->stream_count; i++)
        if (!x->setup.unversioned[x->sim_daemon->streams[i].lens.kind])
            n += x->sim_daemon->streams[i].lists;
    return n;
}

/* Faults that a storm has drawn may happen after it: watches are to break at these times. */
static uint64_t count_faults(const struct chaos *x)
{
    uint64_t n = 0;

    for (size_t i = 0; i < FAULTS; i++)
        n += x->net.injected[i];
    return n;
}

/* In calm weather new credentials cause no list. But where a server that lags answers with an error,
 * the next watch may do so by itself. */
static void renew_in_peace(struct chaos *x)
{
    unsigned lists = count_lists(x);
    uint64_t faults = count_faults(x);

    rotate(x);
    for (int i = 0; i < 5; i++) {
        uint64_t until_ms = x->clock.now_ms + clock_pick(&x->clock, 0, 500);

        mutate(x, 1);
        while (clock_step(&x->clock, until_ms))
            continue;
    }
    settle(x);
    if (count_lists(x) != lists && count_faults(x) == faults && !x->setup.future_fails)
        panic("a list after new credentials");
}

/* Lists of all streams but those of one watch, and of kinds without versions: such a watch lists each time
 * that it ends. */
static unsigned count_other_lists(const struct chaos *x, size_t watch)
{
    unsigned n = 0;

    for (size_t i = 0; i < x->sim_daemon->stream_count; i++) {
        const struct stream *s = &x->sim_daemon->streams[i];

        if (s->arg != &x->sim_daemon->posts[watch] && !x->setup.unversioned[s->lens.kind])
            n += s->lists;
    }
    return n;
}

/* Can nothing but a fault make the hook run? It has no reruns then, and nothing is due for it. */
static bool owes_nothing(const struct chaos *x, const struct hook *h)
{
    const struct hooks *hooks = &x->sim_daemon->sim_hooks.hooks;

    return h != NULL && h->gate == GATE_OPEN && !h->paused && hook_is_quiet(hooks, h) &&
           hook_parked(h) == 0 && h->work_queue.params.rerun_ms == 0;
}

/* In calm weather a hook that is replaced, and not renewed, does not run again. */
static void replace_in_peace(struct chaos *x, size_t hook)
{
    struct sim_hooks *hooks = &x->sim_daemon->sim_hooks;
    bool quiet = owes_nothing(x, rules_find(&hooks->hooks, hook));
    uint64_t runs = x->handlers[hook].runs;
    uint64_t replaced = x->features[FEATURE_RELOAD_REPLACED];
    uint64_t faults = count_faults(x);

    sim_reload_replace(hooks, hook, false);
    settle(x);
    /* A hook that was dropped before is not replaced. */
    if (x->features[FEATURE_RELOAD_REPLACED] == replaced || count_faults(x) != faults)
        return;
    if (x->handlers[hook].runs == runs)
        x->features[FEATURE_RELOAD_QUIET]++;
    else if (quiet)
        panic("hook %zu runs though it was only replaced", hook);
}

/* In calm weather a reload that changes one watch makes no other watch list, and one that changes hooks
 * makes none list. A watch does not list either if the new settings leave its cache as it is. */
static void reload_in_peace(struct chaos *x)
{
    size_t watch = clock_pick(&x->clock, 0, WATCHES - 1);
    enum sim_daemon_edit edit =
        (enum sim_daemon_edit)clock_pick(&x->clock, 0, SIM_DAEMON_SELECTION);
    unsigned others = count_other_lists(x, watch);
    uint64_t faults = count_faults(x);

    replace_in_peace(x, clock_pick(&x->clock, 0, HOOKS - 1));
    sim_daemon_reload(x->sim_daemon, watch, edit);
    settle(x);
    if (x->sim_daemon->sim_hooks.changing != WATCHES)
        panic("a reload of watch %zu has not ended", watch);
    if (count_faults(x) != faults || x->setup.future_fails)
        return;
    if (count_other_lists(x, watch) != others)
        panic("a reload that changes watch %zu makes another one list", watch);
    for (size_t i = 0; i < x->sim_daemon->stream_count; i++) {
        const struct stream *s = &x->sim_daemon->streams[i];

        if (s->arg == &x->sim_daemon->posts[watch] && s->resumed && s->lists > 0 &&
            !x->setup.unversioned[s->lens.kind])
            panic("watch %zu lists although its settings are the same", watch);
        if (s->arg == &x->sim_daemon->posts[watch])
            x->features[FEATURE_RELOAD_ALONE] += s->resumed && s->lists == 0;
    }
}

static void end_storm(struct chaos *x)
{
    clock_trace(&x->clock, "the storm is over");
    x->calm = true;
    x->net.percent = 0;
    for (size_t i = 0; i < HOOKS; i++)
        x->handlers[i].well = true;
    operator_leave(&x->operator);
    clock_clear(&x->clock, &x->change);
    clock_clear(&x->clock, &x->disaster);
    clock_clear(&x->clock, &x->rotation);
    clock_clear(&x->clock, &x->reaper);
    clock_clear(&x->clock, &x->memory);
    if (x->memory_bytes > 0)
        limit_memory(x, 0);
    for (size_t i = 0; i < SERVERS; i++)
        clock_clear(&x->clock, &x->heals[i]);
    clock_clear(&x->clock, &x->give_back);
    if (x->net.foreign_rv > 0)
        net_give_back(&x->net);
    net_heal(&x->net);
    x->api.odd_percent = 0;
}

static void calm(struct chaos *x)
{
    end_storm(x);
    if (clock_percent(&x->clock, 50))
        mutate(x, 1);
    settle(x);
    mend(x);
    clock_trace(&x->clock, "all is quiet");
    mutate(x, 3); /* shows whether the streams still deliver */
    settle(x);
    renew_in_peace(x);
    if (x->setup.remembers)
        reload_in_peace(x);
    if (clock_percent(&x->clock, 50))
        start_again(x);
    if (clock_percent(&x->clock, 25))
        drill(x);
}

/* ---- Worlds that live for hours. */

/* All is well for a moment: nothing may be lost. Then nobody knows what a restoration has taken back,
 * except for hooks that have parked it. */
static void rest(struct chaos *x)
{
    bool parked = false;

    end_storm(x);
    settle(x);
    if (api_mend(&x->api)) {
        changed(x);
        settle(x);
    }
    disk_sync(&x->persist.disk);
    world_check_disk(&x->sim_daemon->sim_hooks, &x->persist.disk, &x->api);
    for (size_t i = 0; i < HOOKS; i++)
        parked = parked || hook_parked(rules_find(&x->sim_daemon->sim_hooks.hooks, i)) > 0;
    if (!parked)
        x->api.restored = x->restored = false;
}

static void note_hour(struct chaos *x)
{
    const uint64_t *requests = x->net.requests;
    struct hours_sample s = {
        .virtual_ms = x->clock.now_ms,
        .changes = x->changes,
        .runs = count_runs(x),
        .faults = count_faults(x),
        .watches = requests[REQUEST_WATCH],
        .starts = x->lives,
        .incomplete = x->incomplete + x->sim_daemon->incomplete,
        .pending = x->pending,
        .batches = x->batches,
    };

    s.lists = requests[REQUEST_FIRST] + requests[REQUEST_NEWEST] + requests[REQUEST_SINCE] +
              requests[REQUEST_STREAM];
    disk_measure(&x->persist.disk, &s.state_rows, &s.state_bytes);
    disk_hooks_measure(&x->persist.disk_hooks, &s.state_rows, &s.state_bytes);
    sim_daemon_trim(x->sim_daemon);
    s.heap_bytes = hours_heap_bytes(api_bytes(&x->api) + oracle_bytes(&x->oracle));
    hours_note(&x->hours, &s);
    x->pending = x->batches = 0;
}

static void storm_again(struct chaos *x)
{
    setup_redraw_weather(&x->setup, &x->clock);
    x->calm = false;
    x->net.percent = x->setup.fault_percent;
    x->api.hot_percent = x->setup.hot_percent;
    x->api.odd_percent = x->setup.odd_percent;
    for (size_t i = 0; i < HOOKS; i++)
        x->handlers[i].well = false;
    begin_storm(x);
    clock_set(&x->clock, &x->memory, 1000);
}

/* Instead of one storm of some minutes. */
static void live_for_hours(struct chaos *x)
{
    hours_init(&x->hours, x->options->hours);
    x->immortal = !x->options->remembers;
    clock_set(&x->clock, &x->birth, 0);
    clock_set(&x->clock, &x->window, WINDOW_MS);
    for (uint64_t i = 0; i < x->hours.storms; i++) {
        uint64_t until_ms = x->clock.now_ms + x->hours.storm_ms;

        storm_again(x);
        while (clock_step(&x->clock, until_ms))
            continue;
        rest(x);
        note_hour(x);
    }
    hours_check(&x->hours, x->seed);
    hours_fini(&x->hours);
}

static void sum_up(const struct chaos *x, struct totals *t)
{
    t->seeds++;
    t->virtual_ms += x->clock.now_ms;
    t->changes += x->changes;
    t->starts += x->lives;
    t->worst_ms = max(t->worst_ms, x->oracle.worst_ms);
    for (size_t i = 0; i < BEHINDS; i++)
        t->worst_by[i] = max(t->worst_by[i], x->oracle.worst_by[i]);
    t->worst_percent = max(t->worst_percent, x->oracle.worst_percent);
    t->busiest = max(t->busiest, x->net.busiest);
    for (size_t i = 0; i < HOOKS; i++) {
        t->runs += x->handlers[i].runs;
        t->failures += x->handlers[i].failures;
    }
    for (size_t i = 0; i < FAULTS; i++)
        t->injected[i] += x->net.injected[i];
    for (size_t i = 0; i < REQUESTS; i++)
        t->requests[i] += x->net.requests[i];
    for (size_t i = 0; i < RELIST_REASONS; i++)
        t->relists[i] += x->relists[i];
    for (size_t i = 0; i < FEATURES; i++)
        t->features[i] += x->features[i];
}

static void begin(struct chaos *x)
{
    clock_init(&x->clock, x->seed, x->options->verbose);
    setup_draw(&x->setup, &x->clock);
    x->setup.remembers = x->options->remembers || x->seed % 2 == 1;
    api_init(&x->api, &x->clock, x->options->hours + 1);
    x->api.hot_percent = x->setup.hot_percent;
    x->api.odd_percent = x->setup.odd_percent;
    oracle_init(&x->oracle, &x->clock, &x->api, &x->setup, x->features);
    net_init(&x->net, &x->clock, &x->api, &x->setup);
    x->net.features = x->features;
    rules_draw(x->rules, &x->clock, &x->setup);
    rules_trace(x->rules, &x->clock);
    for (size_t i = 0; i < HOOKS; i++)
        x->handlers[i] = (struct handler){
            .rules = &x->rules[i],
            .clock = &x->clock,
            .output_files = {.rules = &x->rules[i], .clock = &x->clock, .features = x->features},
        };
    persist_init(&x->persist, &x->clock, &x->api, x->rules, x->handlers, x->features);
    operator_init(&x->operator, & x->clock, x->rules);
    x->change.fn = on_change;
    x->elsewhere.fn = on_elsewhere;
    x->disaster.fn = on_disaster;
    x->rotation.fn = on_rotation;
    x->birth.fn = on_birth;
    x->sample.fn = on_sample;
    x->reaper.fn = on_reaper;
    x->give_back.fn = on_give_back;
    x->window.fn = on_window;
    x->memory.fn = on_memory;
    x->heals[0].fn = on_heal_0;
    x->heals[1].fn = on_heal_1;
    x->heals[2].fn = on_heal_2;
}

void chaos_run(uint64_t seed, const struct chaos_options *options, struct totals *totals)
{
    struct chaos *x = MEM_NEW(struct chaos, .seed = seed, .options = options);

    begin(x);
    if (options->hours > 0)
        live_for_hours(x);
    else
        storm(x);
    calm(x);
    end_life(x);
    sum_up(x, totals);
    oracle_fini(&x->oracle);
    persist_fini(&x->persist);
    api_fini(&x->api);
    free(x);
}
