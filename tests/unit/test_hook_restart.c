/* SPDX-License-Identifier: Apache-2.0 */
#include "hook_disk.h"
#include "hook_oracle.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/mem.h"
#include "campaign.h"

/* Random programs of changes and runs, in virtual time, of a hook whose process dies at any point
 * and is followed by one that has restored the delivery log, judged by hook_oracle over all of
 * them. PROGRAM=N in the environment runs one of them, PROGRAMS=N so many. */

enum { STEPS = 120, PARK = 75, ALL = 0x3f };

static struct hook_disk disk;

static struct hooks processes[2];
static struct hooks *hooks = processes;
static struct oracle oracle;
static struct oracle_cache cache;
static struct object *cached[ORACLE_SOURCES][ORACLE_KEYS];
static struct watch *watches[ORACLE_SOURCES];
static struct run *running[64];
static size_t running_count;
static struct rng rng;
static uint64_t now;
static unsigned uids;
static bool failing;
static enum { NOTHING, NAMES, BODIES } left; /* how much is on disk of each object */
static uint64_t program;

/* The configuration. */
static struct hook_rules rules;
static struct work_queue_params work_queue;
static unsigned events;

static unsigned pick(unsigned n)
{
    return (unsigned)rng_between(&rng, 0, n - 1);
}

/* ---- Processes. */

static struct hook *start_process(void)
{
    static const char *const paths[] = {"data.a"};
    static const int park = PARK;
    struct hook_source sources[ORACLE_SOURCES];
    struct hook_params p = {
        .name = "h", .rules = rules, .work_queue = work_queue, .sources = sources};

    p.rules.park_exit = mem_dup(&park, sizeof(park));
    p.rules.park_exit_count = 1;
    hooks_init(hooks, pick(4), program);
    for (size_t s = 0; s < ORACLE_SOURCES; s++) {
        watches[s] = objects_watch(s == 0 ? "w0" : "w1", NULL, NULL);
        cache.synced[s] = false;
        oracle.source_of[p.source_count] = s;
        sources[p.source_count++] = (struct hook_source){.name = "s", .of.watch = watches[s]};
    }
    assert_int_equal(filter_init(&p.filter, events, paths, oracle.only_a ? 1 : 0, NULL), ERR_OK);
    hooks_add(hooks, &p);
    return hooks->v[0];
}

static void stop_process(void)
{
    hooks_fini(hooks);
    running_count = 0;
    for (size_t s = 0; s < ORACLE_SOURCES; s++)
        watch_destroy(&watches[s]);
}

static void begin(uint64_t seed)
{
    rng_seed(&rng, seed);
    cache = (struct oracle_cache){.state_count = 1};
    now = 10000;
    uids = 0;
    oracle = (struct oracle){.cache = &cache, .rng = &rng, .only_a = pick(3) == 0};
    oracle.sources = (1U << ORACLE_SOURCES) - 1;
    rules = (struct hook_rules){
        .mode = (enum hook_mode)pick(3),
        .existing = pick(3) == 0 ? HOOK_EXISTING_SKIP : HOOK_EXISTING_RUN,
        .require = pick(2) == 0 ? HOOK_REQUIRE_ALL : HOOK_REQUIRE_ANY,
    };
    work_queue = (struct work_queue_params){
        .settle_ms = pick(2) == 0 ? 0 : 50,
        .settle_max_ms = 100,
        .concurrency = 1 + pick(3),
        .retry = {.initial_ms = 100, .max_ms = 1000, .factor = 2},
        .attempts = pick(2) == 0 ? 0 : 1 + pick(6),
    };
    events = pick(2) == 0 ? ALL : 1 + pick(ALL);
    left = pick(4) > 1 ? BODIES : pick(2) == 0 ? NAMES : NOTHING;
    oracle.hook = start_process();
    failing = true;
}

static void end(void)
{
    stop_process();
    for (size_t s = 0; s < ORACLE_SOURCES; s++)
        for (size_t k = 0; k < ORACLE_KEYS; k++)
            object_unref(&cached[s][k]);
    hook_disk_clear(&disk);
}

/* ---- Changes. */

static struct object *next_object(size_t source, size_t key, unsigned uid)
{
    const struct oracle_state state = {.uid = uid, .a = pick(3), .b = pick(2)};

    return oracle_object(&cache, source, key, &state);
}

/* The cache changes; process_runs = false: there is no process that could see an end. */
static void change(enum delta_type type, enum delta_cause cause, struct object *o,
                   bool process_runs)
{
    size_t source = (size_t)(object_namespace(o).p[1] - '0');
    size_t key = oracle_key_index(o);
    bool over = type == DELTA_DELETED || type == DELTA_LEFT;
    const struct delta d = {.type = type,
                            .cause = cause,
                            .object = o,
                            .received_ns = now,
                            .now_ms = now,
                            .final_state_unknown = cause == CAUSE_RESTART && over};
    struct object *old = cached[source][key];

    cached[source][key] = over ? NULL : object_ref(o);
    cache.now[source][key] = over ? 0 : oracle_number(object_rv(o));
    oracle_delta(&oracle, source, &d);
    if (process_runs)
        hooks_subscriber.on_delta(hooks, (struct source){.watch = watches[source]}, &d);
    oracle_settled(&oracle);
    object_unref(&old);
}

static void change_key(size_t source, size_t key, enum delta_cause cause, bool process_runs)
{
    struct object *was = cached[source][key];
    unsigned uid = was != NULL ? oracle_number(object_uid(was)) : 0;
    bool ends = was != NULL && pick(3) == 0;
    bool same = was != NULL && pick(3) > 0;
    bool back = was == NULL && uids > 0 && pick(4) == 0;

    if (was != NULL && !same) {
        object_ref(was);
        change(pick(3) == 0 && process_runs ? DELTA_LEFT : DELTA_DELETED, cause, was, process_runs);
        object_unref(&was);
    }
    if (ends && !same)
        return;
    uid = same ? uid : back ? 1 + pick(uids) : ++uids;
    was = next_object(source, key, uid);
    change(same ? DELTA_MODIFIED : DELTA_ADDED, cause, was, process_runs);
    object_unref(&was);
}

static void turn_stale(size_t source, bool stale)
{
    cache.stale[source] = stale;
    oracle_stale(&oracle, source);
    hooks_subscriber.on_stale(hooks, (struct source){.watch = watches[source]}, stale,
                              (struct now){now, now});
    oracle_settled(&oracle);
}

static void sync_source(size_t source)
{
    if (!cache.synced[source])
        objects_sync(watches[source], "", "1", (struct now){now, now});
    cache.synced[source] = true;
}

/* ---- Runs. */

/* If the last state is on disk, a run for an end has it. */
static void check_last(const struct run *run)
{
    for (size_t i = 0; i < run->event_count; i++) {
        const struct delivery_event *ev = &run->events[i].ev;
        bool over = ev->type == DELTA_DELETED || ev->type == DELTA_LEFT;

        assert_true(!over || left != BODIES || !object_is_bare(ev->object));
        assert_true(!over || ev->cause != CAUSE_RESTART || ev->final_state_unknown);
    }
}

static void pump(void)
{
    for (struct run *run; (run = hooks_next(hooks, now)) != NULL;) {
        oracle_gate(&oracle);
        hook_disk_commit(&disk, hooks->v[0]); /* before it starts */
        check_last(run);
        oracle_started(&oracle, run);
        assert_true(running_count < ARRAY_LEN(running));
        running[running_count++] = run;
    }
    oracle_gate(&oracle);
}

static bool wants_park(const struct run *run, const struct run_result *r)
{
    return r->end.value == PARK || (work_queue.attempts > 0 && run->attempt >= work_queue.attempts);
}

static void finish_one(void)
{
    if (running_count == 0)
        return;
    size_t i = pick((unsigned)running_count);
    struct run *run = running[i];
    unsigned what = failing ? pick(5) : 0;
    struct run_result r = {.text = "", .end.value = what < 3 ? 0 : what < 4 ? 1 : PARK};

    running[i] = running[--running_count];
    oracle_ended(&oracle, run, r.end.value == 0, r.end.value != 0 && wants_park(run, &r));
    hooks_finish(hooks, run, &r, now);
    oracle_settled(&oracle);
}

/* ---- Deaths. */

/* The hook gets an object of which only the name is left. */
static void deliver_bare(enum delta_type type, size_t source, const struct object *of)
{
    struct object *o = object_create(&(struct object_parts){.ns = object_namespace(of),
                                                            .name = object_name(of),
                                                            .uid = object_uid(of),
                                                            .rv_at = SIZE_MAX,
                                                            .generation_at = SIZE_MAX});
    const struct delta d = {.type = type,
                            .cause = CAUSE_RESTART,
                            .object = o,
                            .final_state_unknown = type == DELTA_DELETED,
                            .received_ns = now,
                            .now_ms = now};

    hooks_subscriber.on_delta(hooks, (struct source){.watch = watches[source]}, &d);
    object_unref(&o);
}

/* The hook gets the objects that the cache holds, or held; to the oracle that is no change. */
static void deliver_all(enum delta_cause cause)
{
    for (size_t s = 0; s < ORACLE_SOURCES; s++)
        for (size_t k = 0; k < ORACLE_KEYS; k++) {
            const struct delta d = {.type = DELTA_ADDED,
                                    .cause = cause,
                                    .object = cached[s][k],
                                    .received_ns = now,
                                    .now_ms = now};

            if (cached[s][k] != NULL && left == NAMES && cause == CAUSE_RESTART)
                deliver_bare(DELTA_ADDED, s, cached[s][k]);
            else if (cached[s][k] != NULL)
                hooks_subscriber.on_delta(hooks, (struct source){.watch = watches[s]}, &d);
        }
}

static void change_some(bool process_runs)
{
    for (size_t s = 0; s < ORACLE_SOURCES; s++)
        for (size_t k = 0; k < ORACLE_KEYS; k++)
            if (pick(2) == 0)
                change_key(s, k, CAUSE_RESTART, process_runs);
}

/* The outage ends while no process runs. */
static void end_outage(size_t source)
{
    cache.stale[source] = false;
    oracle_stale(&oracle, source);
}

/* The next process finds out anew whether a source is stale. */
static void look_at_outages(void)
{
    for (size_t s = 0; s < ORACLE_SOURCES; s++) {
        bool stays = cache.stale[s] && pick(2) == 0;

        if (stays)
            hooks_subscriber.on_stale(hooks, (struct source){.watch = watches[s]}, true,
                                      (struct now){now, now});
        else if (cache.stale[s])
            end_outage(s);
    }
}

/* The process is followed by another one, which has restored the rows on disk. */
static void replace_process(void)
{
    struct hooks *dead = hooks;
    struct watch *watched[ORACLE_SOURCES];

    memcpy(watched, watches, sizeof(watched));
    hooks = dead == processes ? processes + 1 : processes;
    oracle_restarted(&oracle, running, running_count, start_process());
    running_count = 0;
    hooks_fini(dead);
    for (size_t s = 0; s < ORACLE_SOURCES; s++)
        watch_destroy(&watched[s]);
    hook_disk_restore(&disk, hooks->v[0], now);
}

/* The next process loads names only; before its list is delivered, the objects that the list does
 * not have are deleted. */
static void change_named(void)
{
    struct object *was[ORACLE_SOURCES][ORACLE_KEYS];

    for (size_t s = 0; s < ORACLE_SOURCES; s++)
        for (size_t k = 0; k < ORACLE_KEYS; k++)
            was[s][k] = cached[s][k] != NULL ? object_ref(cached[s][k]) : NULL;
    deliver_all(CAUSE_RESTART);
    change_some(false);
    for (size_t s = 0; s < ORACLE_SOURCES; s++)
        for (size_t k = 0; k < ORACLE_KEYS; k++) {
            struct object *is = cached[s][k];

            if (was[s][k] != NULL && (is == NULL || !str_eq(object_uid(is), object_uid(was[s][k]))))
                deliver_bare(DELTA_DELETED, s, was[s][k]);
            object_unref(&was[s][k]);
        }
}

/* The effects of the hook are gone, or its settings have changed. */
static void renew(void)
{
    if (rules.existing == HOOK_EXISTING_SKIP || pick(4) > 0)
        return;
    hook_record_renew(hooks->v[0]);
    oracle_renewed(&oracle);
}

static void die(void)
{
    replace_process();
    renew();
    if (left == BODIES)
        deliver_all(CAUSE_RESTART);
    if (left == NAMES)
        change_named();
    else
        change_some(left == BODIES);
    if (left != BODIES) {
        deliver_all(CAUSE_RELIST);
        sync_source(
            0); /* to the hook, an object that ended and comes back before that was never away */
        sync_source(1);
    }
    look_at_outages();
    if (left != BODIES)
        pump();
}

/* ---- Programs. */

static void step(void)
{
    unsigned what = pick(20);

    if (what < 7)
        change_key(pick(ORACLE_SOURCES), pick(ORACLE_KEYS), CAUSE_WATCH, true);
    else if (what < 12)
        finish_one();
    else if (what < 15)
        now += pick(300);
    else if (what < 17)
        sync_source(pick(ORACLE_SOURCES));
    else if (what < 18)
        turn_stale(pick(ORACLE_SOURCES), pick(2) == 0);
    else if (pick(3) == 0)
        die();
    if (pick(4) > 0)
        pump();
    hook_disk_commit(&disk, hooks->v[0]);
}

static void unpark(void)
{
    struct err err = {0};

    if (hook_parked(hooks->v[0]) > 0)
        assert_int_equal(hook_run_manually(hooks->v[0], (struct str){0}, &err), ERR_OK);
}

/* Everything succeeds from now on, until nothing is left to do. */
static void drain(void)
{
    failing = false;
    for (size_t s = 0; s < ORACLE_SOURCES; s++) {
        sync_source(s);
        turn_stale(s, false);
    }
    pump();
    unpark();
    pump();
    for (int i = 0; running_count > 0 || !hooks_quiet(hooks); i++) {
        assert_true(i < 1000);
        if (running_count > 0)
            finish_one();
        else
            now = hooks_wake_ms(hooks);
        assert_int_not_equal(now, NEVER_MS);
        pump();
    }
    hook_disk_commit(&disk, hooks->v[0]);
    oracle_quiet(&oracle);
    assert_true(hooks_ready(hooks));
}

/* Handled objects stay quiet over a restart. */
static void check_quiet_restart(void)
{
    replace_process();
    deliver_all(left != NOTHING ? CAUSE_RESTART : CAUSE_RELIST);
    for (size_t s = 0; s < ORACLE_SOURCES; s++)
        sync_source(s);
    assert_null(hooks_next(hooks, now));
    /* until then the objects were bare, like those that are too big for a list */
    if (left == NAMES)
        deliver_all(CAUSE_RELIST);
    assert_null(hooks_next(hooks, now));
    oracle_gate(&oracle);
    assert_true(hooks_ready(hooks) && hooks_quiet(hooks));
}

static void check_nothing_is_kept(void)
{
    for (size_t s = 0; s < ORACLE_SOURCES; s++)
        for (size_t k = 0; k < ORACLE_KEYS; k++) {
            struct object *o = cached[s][k];

            if (o == NULL)
                continue;
            object_ref(o);
            change(DELTA_DELETED, CAUSE_WATCH, o, true);
            object_unref(&o);
        }
    drain();
    assert_int_equal(disk.row_count, 0);
    for (size_t s = 0; s < ORACLE_SOURCES; s++)
        assert_int_equal(map_count(&hooks->v[0]->queue.sources[s].by_key), 0);
}

static void run_program(uint64_t seed)
{
    program = seed;
    begin(seed);
    for (int round = 0; round < 2; round++) {
        failing = true;
        for (int i = 0; i < STEPS; i++)
            step();
        drain();
        check_quiet_restart();
    }
    check_nothing_is_kept();
    end();
}

static void test_the_guarantees_hold_over_deaths_at_any_point(void **state)
{
    (void)state;
    log_set_level(LOG_LVL_ERROR);
    campaign_programs(run_program, 400, 3000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_guarantees_hold_over_deaths_at_any_point),
    };

    return campaign_verdict(cmocka_run_group_tests(tests, NULL, NULL));
}
