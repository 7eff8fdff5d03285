/* SPDX-License-Identifier: Apache-2.0 */
#include "hook_schedule_oracle.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/mem.h"
#include "campaign.h"

/* Random programs of changes, relists, pauses, manual runs, and runs that succeed, fail, overlap
 * and hang, in virtual time, judged by hook_oracle and hook_schedule_oracle. PROGRAM=N in the
 * environment runs one of them, PROGRAMS=N so many. */

enum { HOOKS = 3, STEPS = 90, INITIAL_MS = 100, ALL = 0x3f, OBJECTS = 0xf };

static struct hooks hooks;
static const char *const hook_names[HOOKS] = {"h0", "h1", "h2"};
static struct oracle oracles[HOOKS];
static struct hook_schedule_oracle schedule_oracles[HOOKS];
static struct oracle_cache cache;
static struct watch *watches[ORACLE_SOURCES];
static struct store *stores[ORACLE_SOURCES];
static struct run *running[256];
static size_t running_count;
static struct rng rng;
static uint64_t now;
static unsigned uids;
static unsigned last_uid[ORACLE_SOURCES][ORACLE_KEYS];
static bool failing;
static bool upwards; /* a hook may wait for the next hook, else for the one before */

static unsigned pick(unsigned n)
{
    return (unsigned)rng_between(&rng, 0, n - 1);
}

static unsigned state_of(const struct object *o)
{
    char text[16] = "";

    memcpy(text, object_rv(o).p, object_rv(o).n);
    return (unsigned)strtoul(text, NULL, 10);
}

/* A delta of the store goes to the oracles, then to the hooks. */
static void on_delta(void *arg, const struct delta *d)
{
    size_t source = (size_t)((struct store **)arg - stores);
    size_t key = (size_t)(object_name(d->object).p[1] - '0');

    bool end = d->type == DELTA_DELETED || d->type == DELTA_LEFT;

    unsigned was = cache.now[source][key];
    cache.now[source][key] = end ? 0 : state_of(d->object);
    for (size_t i = 0; i < HOOKS; i++) {
        if ((oracles[i].sources & 1U << source) == 0)
            continue;
        oracle_delta(&oracles[i], source, d);
        if (d->type != DELTA_MODIFIED || oracle_differ(&oracles[i], was, cache.now[source][key]))
            hook_schedule_oracle_change(&schedule_oracles[i], source, key,
                                        d->type != DELTA_MODIFIED, end);
    }
    hooks_subscriber.on_delta(&hooks, (struct source){.watch = watches[source]}, d);
    for (size_t i = 0; i < HOOKS; i++)
        oracle_settled(&oracles[i]);
}

static struct filter random_filter(struct oracle *o, enum hook_when_stale when_stale)
{
    static const char *const paths[] = {"data.a"};
    unsigned all =
        when_stale == HOOK_STALE_WAIT ? OBJECTS : ALL; /* the configuration demands the same */
    unsigned events = pick(2) == 0 ? all : 1 + pick(all);
    struct filter f;

    o->only_a = pick(3) == 0;
    assert_int_equal(filter_init(&f, events, paths, o->only_a ? 1 : 0, NULL), ERR_OK);
    return f;
}

static struct work_queue_params random_work_queue(void)
{
    uint64_t settle = pick(2) == 0 ? 0 : pick(150);

    return (struct work_queue_params){
        .settle_ms = settle,
        .settle_max_ms = settle + pick(300),
        .splay_ms = pick(3) == 0 ? 100 : 0,
        .min_interval_ms = pick(3) == 0 ? 1 + pick(400) : 0,
        .rerun_ms = pick(3) == 0 ? 500 + pick(1500) : 0,
        .concurrency = 1 + pick(3),
        .retry = {.initial_ms = INITIAL_MS, .max_ms = 1000, .factor = 2, .jitter = 0},
        .attempts = pick(2) == 0 ? 0 : 1 + pick(6),
    };
}

/* An array with the name of a hook. */
static char **name_hook(size_t number)
{
    char **names = mem_array(1, sizeof(*names));

    names[0] = mem_strdup(number < HOOKS ? hook_names[number] : "");
    return names;
}

/* No two hooks wait for each other. */
static struct hook_rules random_rules(size_t i)
{
    static const int park = SCHEDULE_PARK;
    size_t before = upwards ? i + 1 : i - 1;
    bool after = pick(4) == 0 && !(upwards ? i == HOOKS - 1 : i == 0);

    return (struct hook_rules){
        .mode = (enum hook_mode)pick(3),
        .existing = pick(3) == 0 ? HOOK_EXISTING_SKIP : HOOK_EXISTING_RUN,
        .require = pick(2) == 0 ? HOOK_REQUIRE_ALL : HOOK_REQUIRE_ANY,
        .when_stale = pick(3) == 0 ? HOOK_STALE_WAIT : HOOK_STALE_RUN,
        .after = after ? name_hook(before) : NULL,
        .after_count = after,
        .park_exit = mem_dup(&park, sizeof(park)),
        .park_exit_count = 1,
    };
}

static void add_hook(size_t i)
{
    struct oracle *o = &oracles[i];
    struct hook_source sources[ORACLE_SOURCES];
    struct hook_params p = {
        .name = hook_names[i], .index = i, .rules = random_rules(i), .sources = sources};

    *o = (struct oracle){.cache = &cache, .rng = &rng};
    o->sources = 1 + pick((1U << ORACLE_SOURCES) - 1);
    for (size_t s = 0; s < ORACLE_SOURCES; s++) {
        if ((o->sources & 1U << s) == 0)
            continue;
        o->source_of[p.source_count] = s;
        sources[p.source_count++] = (struct hook_source){.name = "s", .of.watch = watches[s]};
    }
    p.filter = random_filter(o, p.rules.when_stale);
    p.work_queue = random_work_queue();
    hooks_add(&hooks, &p);
    o->hook = hooks.v[i];
    schedule_oracles[i] = (struct hook_schedule_oracle){.cache = &cache, .hook = o->hook};
    memcpy(schedule_oracles[i].source_of, o->source_of, sizeof(o->source_of));
}

static void begin(uint64_t seed)
{
    rng_seed(&rng, seed);
    cache = (struct oracle_cache){.state_count = 1};
    now = 10000;
    uids = 0;
    running_count = 0;
    memset(last_uid, 0, sizeof(last_uid));
    hooks_init(&hooks, pick(4), seed);
    for (size_t s = 0; s < ORACLE_SOURCES; s++) {
        watches[s] = objects_watch(s == 0 ? "w0" : "w1", NULL, NULL);
        stores[s] = store_create(1, on_delta, &stores[s]);
    }
    upwards = pick(2) == 0;
    for (size_t i = 0; i < HOOKS; i++)
        add_hook(i);
    failing = true;
}

static void end(void)
{
    hooks_fini(&hooks);
    for (size_t s = 0; s < ORACLE_SOURCES; s++) {
        watch_destroy(&watches[s]);
        store_destroy(&stores[s]);
    }
}

/* ---- Runs. */

static struct run *next_run(void)
{
    struct run *run = hooks_next(&hooks, now);

    for (size_t i = 0; i < HOOKS; i++) {
        hook_schedule_oracle_gate(&schedule_oracles[i], &hooks, now);
        oracle_gate(&oracles[i]);
    }
    return run;
}

static void pump(void)
{
    for (struct run *run; (run = next_run()) != NULL;) {
        hook_schedule_oracle_started(schedule_oracles, HOOKS, &hooks, run, now);
        oracle_started(&oracles[run->hook->index], run);
        assert_true(running_count < ARRAY_LEN(running));
        running[running_count++] = run;
    }
    assert_true(hooks_wake_ms(&hooks) > now);
}

static struct run_result random_result(void)
{
    struct run_result r = {.text = "exit 1"};
    unsigned what = failing ? pick(10) : 0;

    if (what < 4)
        r.end.value = 0;
    else if (what < 8)
        r.end.value = 1;
    else if (what < 9)
        r.end.value = SCHEDULE_PARK;
    else if (pick(3) == 0)
        r.end = run_end_refused(RUN_PROGRAM_COMMAND, RUN_STAGE_FIELDS, 0);
    else
        r.end.cut = RUN_CUT_TIMEOUT;
    return r;
}

static void finish_one(void)
{
    if (running_count == 0)
        return;
    size_t i = pick((unsigned)running_count);
    struct run *run = running[i];
    size_t hook = run->hook->index;
    struct run_result result = random_result();
    bool ok = run_end_is_good(&result.end);

    running[i] = running[--running_count];
    hook_schedule_oracle_ended(&schedule_oracles[hook], run, &result, now);
    oracle_ended(&oracles[hook], run, ok,
                 hook_schedule_oracle_parks(&schedule_oracles[hook], run, &result));
    hooks_finish(&hooks, run, &result, now);
    oracle_settled(&oracles[hook]);
}

static void advance(void)
{
    uint64_t wake = hooks_wake_ms(&hooks);

    if (pick(3) > 0 || wake == NEVER_MS)
        now += pick(300);
    else if (wake > now)
        now = wake;
}

/* ---- People. */

static void pause_one(void)
{
    size_t i = pick(HOOKS);
    bool paused = pick(2) == 0;

    hook_pause(hooks.v[i], paused);
    schedule_oracles[i].paused = paused;
}

/* Key ORACLE_KEYS is the empty key of an outage, ORACLE_KEYS + 1 stands for all keys. */
static void order_run(size_t i, size_t key)
{
    struct err err = {0};
    struct hook *h = hooks.v[i];
    bool keyed = h->rules.mode == HOOK_OBJECT && key <= ORACLE_KEYS;

    for (size_t s = 0; keyed && s < ORACLE_SOURCES; s++) {
        char text[16] = "";

        if (key < ORACLE_KEYS)
            snprintf(text, sizeof(text), "s%zu/k%zu", s, key);
        if (hook_run_manually(h, str_c(text), &err) == ERR_OK)
            hook_schedule_oracle_ordered(&schedule_oracles[i], key);
    }
    if (keyed || hook_run_manually(h, (struct str){0}, &err) != ERR_OK)
        return;
    hook_schedule_oracle_ordered(&schedule_oracles[i], ORACLE_KEYS + 1);
}

/* ---- Changes. */

static struct object *next_object(size_t source, size_t key, unsigned uid)
{
    const struct oracle_state state = {.uid = uid, .a = pick(3), .b = pick(2)};

    last_uid[source][key] = uid;
    return oracle_object(&cache, source, key, &state);
}

/* Most changes keep the incarnation; some bring the last one back (it left a selector and returns),
 * or an earlier one (etcd was restored from a backup). */
static unsigned next_uid(size_t source, size_t key)
{
    unsigned is = cache.states[cache.now[source][key]].uid;

    if (is != 0 && pick(4) > 0)
        return is;
    if (uids > 0 && pick(6) == 0)
        return 1 + pick(uids);
    return is == 0 && last_uid[source][key] != 0 && pick(3) == 0 ? last_uid[source][key] : ++uids;
}

static void change_one(void)
{
    size_t source = pick(ORACLE_SOURCES);
    size_t key = pick(ORACLE_KEYS);
    unsigned is = cache.states[cache.now[source][key]].uid;
    struct object *o;

    if (is != 0 && pick(3) == 0) {
        o = next_object(source, key, is);
        store_remove(stores[source], o, (struct now){now, now});
    } else if (is != 0 && pick(4) == 0) {
        o = next_object(source, key, pick(4) > 0 ? is : ++uids);
        store_leave(stores[source], o, (struct now){now, now});
    } else {
        o = next_object(source, key, next_uid(source, key));
        store_apply(stores[source], 0, o, (struct now){now, now});
    }
    object_unref(&o);
}

static void relist(size_t source, bool empty)
{
    store_begin(stores[source], 0);
    for (size_t key = 0; key < ORACLE_KEYS && !empty; key++) {
        if (pick(3) == 0)
            continue;
        struct object *o = next_object(source, key, next_uid(source, key));
        if (pick(6) == 0)
            store_stage_left(stores[source], 0, o);
        else
            store_stage(stores[source], 0, o);
        object_unref(&o);
    }
    store_commit(stores[source], 0, CAUSE_RELIST, (struct now){now, now});
}

/* A source may be reported as stale or fresh once more. */
static void turn_stale(size_t source, bool stale)
{
    bool was = cache.stale[source];
    cache.stale[source] = stale;
    for (size_t i = 0; i < HOOKS; i++) {
        if ((oracles[i].sources & 1U << source) == 0)
            continue;
        oracle_stale(&oracles[i], source);
        if (was != stale)
            hook_schedule_oracle_change(&schedule_oracles[i], source, SCHEDULE_OUTAGE, true,
                                        !stale);
    }
    hooks_subscriber.on_stale(&hooks, (struct source){.watch = watches[source]}, stale,
                              (struct now){now, now});
    for (size_t i = 0; i < HOOKS; i++)
        oracle_settled(&oracles[i]);
}

static void sync_source(size_t source)
{
    if (!cache.synced[source])
        objects_sync(watches[source], "", "1", (struct now){now, now});
    cache.synced[source] = true;
}

static void step(void)
{
    unsigned what = pick(25);

    if (what < 8)
        change_one();
    else if (what < 9)
        relist(pick(ORACLE_SOURCES), false);
    else if (what < 14)
        finish_one();
    else if (what < 19)
        advance();
    else if (what < 20)
        sync_source(pick(ORACLE_SOURCES));
    else if (what < 22)
        turn_stale(pick(ORACLE_SOURCES), pick(2) == 0);
    else if (what < 23)
        pause_one();
    else
        order_run(pick(HOOKS), pick(ORACLE_KEYS + 2));
    if (pick(4) > 0)
        pump();
}

/* No source is stale or without a list any more, and a person resumes the hooks and asks for runs
 * of parked keys. */
static void put_right(void)
{
    for (size_t s = 0; s < ORACLE_SOURCES; s++) {
        sync_source(s);
        turn_stale(s, false);
    }
    for (size_t i = 0; i < HOOKS; i++) {
        hook_pause(hooks.v[i], false);
        schedule_oracles[i].paused = false;
    }
    pump();
    for (size_t i = 0; i < HOOKS; i++)
        if (hook_parked(hooks.v[i]) > 0)
            order_run(i, ORACLE_KEYS + 1);
}

/* Everything succeeds from now on, until nothing is left to do. */
static void drain(void)
{
    failing = false;
    put_right();
    pump();
    for (int i = 0; running_count > 0 || !hooks_quiet(&hooks); i++) {
        assert_true(i < 1000);
        if (running_count > 0)
            finish_one();
        else
            now = hooks_wake_ms(&hooks);
        assert_int_not_equal(now, NEVER_MS);
        pump();
    }
    for (size_t i = 0; i < HOOKS; i++) {
        oracle_quiet(&oracles[i]);
        hook_schedule_oracle_quiet(&schedule_oracles[i]);
    }
    assert_true(hooks_ready(&hooks));
}

static void check_nothing_is_kept(void)
{
    for (size_t s = 0; s < ORACLE_SOURCES; s++) {
        relist(s, true);
        turn_stale(s, false);
    }
    drain();
    for (size_t i = 0; i < HOOKS; i++) {
        assert_int_equal(hooks.v[i]->queue.existing_left, 0);
        for (size_t s = 0; s < hooks.v[i]->source_count; s++)
            assert_int_equal(map_count(&hooks.v[i]->queue.sources[s].by_key), 0);
    }
}

static void run_program(uint64_t seed)
{
    begin(seed);
    for (int round = 0; round < 2; round++) {
        failing = true;
        for (int i = 0; i < STEPS; i++)
            step();
        drain();
    }
    check_nothing_is_kept();
    end();
}

static void test_random_programs_keep_the_guarantees(void **state)
{
    (void)state;
    log_set_level(LOG_LVL_ERROR);
    campaign_programs(run_program, 400, 3000);
}

/* A stop in the middle of a program leaks nothing. */
static void test_a_stop_at_any_time_is_clean(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 200; seed++) {
        begin(seed);
        for (uint64_t i = 0; i < seed; i++)
            step();
        end();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_programs_keep_the_guarantees),
        cmocka_unit_test(test_a_stop_at_any_time_is_clean),
    };

    return campaign_verdict(cmocka_run_group_tests(tests, NULL, NULL));
}
