/* SPDX-License-Identifier: Apache-2.0 */
/* cache/ingest: what a list or an event may do to objects that are stored already, in the cases that
 * bodies bring about only together with a server that changes its mind. */
#include "objects.h"

#include <stdlib.h>

#include "cache/ingest.h"

/* One scope, and the calls of its sinks. */
struct world {
    struct store *store;
    struct ingest in;
    struct guard_window window;
    struct buf heard;   /* "+KEY:UID ~KEY:UID -KEY:UID <KEY:UID" (LEFT) */
    struct buf skipped; /* "NAME:WHY" */
};

static struct world world;

static void on_delta(void *arg, const struct delta *d)
{
    struct world *w = arg;

    buf_printf(&w->heard, "%s%c%.*s:%.*s", w->heard.len > 0 ? " " : "", "+~-<"[d->type],
               STR_ARG(object_key(d->object)), STR_ARG(object_uid(d->object)));
}

static void on_skip(void *arg, const struct skip *s, bool gone)
{
    struct world *w = arg;

    assert_false(gone);
    buf_printf(&w->skipped, "%.*s:%.*s", STR_ARG(s->name), STR_ARG(s->why));
}

/* A scope that has not asked for anything. */
static void begin(enum watch_list watch_list)
{
    const struct reflector_params params = {
        .backoff = {.initial_ms = 800, .max_ms = 30000, .factor = 2},
        .watch_min_s = 300,
        .watch_max_s = 600,
        .watch_list = watch_list
    };

    world = (struct world){.store = store_create(1, on_delta, &world)};
    store_on_skip(world.store, on_skip, &world);
    world.in = (struct ingest){.cluster = "c",
                               .watch = "w",
                               .store = world.store,
                               .reflector = reflector_create(&params, 1),
                               .window = &world.window,
                               .guard.params = {.relist_deletes = GUARD_OFF},
                               .now.ms = 1000};
}

/* An earlier process has left an object, and no resume point. */
static void load(const char *key, const char *uid)
{
    struct object *o = objects_make(key, uid, "3", NULL);

    store_load(world.store, 0, o);
    object_unref(&o);
}

/* The reflector asks for its list. */
static void ask(enum reflector_do what)
{
    assert_int_equal(reflector_start(world.in.reflector, 1000).what, what);
    ingest_begin(&world.in);
}

static void item(const char *key, const char *uid)
{
    struct object *o = objects_make(key, uid, "4", NULL);

    ingest_list_events.on_item(&world.in, o, true);
    object_unref(&o);
}

static void event(enum event_type type, const char *key, const char *uid, const char *rv,
                  bool selected)
{
    struct object *o = objects_make(key, uid, rv, NULL);

    assert_true(ingest_event(
        &world.in,
        &(struct event){.type = type, .object = o, .selected = selected, .rv = object_rv(o)}));
    object_unref(&o);
}

/* All deltas since the last call. */
static void assert_heard(const char *heard)
{
    assert_string_equal(buf_cstr(&world.heard), heard);
    buf_clear(&world.heard);
}

static int clean_up(void **state)
{
    (void)state;
    ingest_fini(&world.in);
    reflector_destroy(&world.in.reflector);
    store_destroy(&world.store);
    buf_free(&world.heard);
    buf_free(&world.skipped);
    return 0;
}

/* Nothing is known of the watch but the objects themselves. They may be those of another cluster
 * than the one that answers. */
static void test_a_first_list_ends_nothing_without_an_identity(void **state)
{
    (void)state;
    begin(WATCH_LIST_OFF);
    load("ns/a", "u1");
    ask(REFLECTOR_LIST);
    item("ns/b", "u2");
    assert_int_equal(ingest_commit(&world.in, str_c("10")), INGEST_UNPROVEN);
    assert_int_equal(world.in.wants, PROOF_IDENTITY);
    assert_heard("");
    world.in.proof = world.in.wants;
    assert_int_equal(ingest_commit(&world.in, str_c(world.in.rv)), INGEST_GOES_ON);
    assert_heard("-ns/a:u1 +ns/b:u2");
}

static void test_a_first_list_that_only_adds_needs_no_proof(void **state)
{
    (void)state;
    begin(WATCH_LIST_OFF);
    load("ns/a", "u1");
    ask(REFLECTOR_LIST);
    item("ns/a", "u1");
    item("ns/b", "u2");
    assert_int_equal(ingest_commit(&world.in, str_c("10")), INGEST_GOES_ON);
    assert_heard("~ns/a:u1 +ns/b:u2");
}

/* Which object was deleted? Perhaps not the stored one, so it stays (docs/decisions.md "A list with
 * a name that cannot be read deletes nothing"). */
static void test_an_initial_event_without_a_name_takes_nothing_out(void **state)
{
    const struct unusable nobody = {.why = "it has no name", .uid = str_c("u7")};

    (void)state;
    begin(WATCH_LIST_ON);
    load("ns/a", "u1");
    ask(REFLECTOR_STREAM);
    assert_true(ingest_event(
        &world.in, &(struct event){.type = EVENT_UNUSABLE, .deleted = true, .unusable = &nobody}));
    assert_true(ingest_event(
        &world.in,
        &(struct event){.type = EVENT_BOOKMARK, .initial_events_end = true, .rv = str_c("10")}));
    assert_heard("");
    assert_int_equal(store_count(world.store), 1);
}

/* The watch runs before the LIST beside it has shown which objects were deleted. */
static void compare(void)
{
    begin(WATCH_LIST_OFF);
    ask(REFLECTOR_LIST);
    item("ns/a", "u1");
    assert_int_equal(ingest_commit(&world.in, str_c("")), INGEST_GOES_ON);
    assert_heard("+ns/a:u1");
    reflector_listed(world.in.reflector, str_c(""), str_c(""), 1000);
    assert_int_equal(reflector_state(world.in.reflector), REFLECTOR_COMPARING);
    ingest_begin(&world.in);
    world.in.proof = PROOF_IDENTITY;
    event(EVENT_MODIFIED, "ns/a", "u1", "5", true);
    assert_heard("~ns/a:u1");
}

static void test_the_end_of_an_incarnation_waits_for_the_list_beside_the_watch(void **state)
{
    (void)state;
    compare();
    event(EVENT_ADDED, "ns/a", "u2", "6", true);
    assert_heard("");
    assert_int_equal(ingest_commit(&world.in, str_c("")), INGEST_GOES_ON);
    assert_heard("-ns/a:u1 +ns/a:u2");
}

/* The next incarnation is not selected: it is not told, but the end of the stored one is. */
static void test_so_does_an_end_that_an_unselected_object_shows(void **state)
{
    (void)state;
    compare();
    event(EVENT_ADDED, "ns/a", "u2", "6", false);
    assert_heard("");
    assert_int_equal(ingest_commit(&world.in, str_c("")), INGEST_GOES_ON);
    assert_heard("-ns/a:u1");
    assert_int_equal(store_count(world.store), 0);
}

static void test_an_object_without_a_version_is_skipped_by_its_name(void **state)
{
    (void)state;
    begin(WATCH_LIST_OFF);
    ask(REFLECTOR_LIST);
    assert_int_equal(ingest_commit(&world.in, str_c("10")), INGEST_GOES_ON);
    reflector_listed(world.in.reflector, str_c("10"), str_c(""), 1000);
    event(EVENT_ADDED, "ns/a", "u1", NULL, true);
    assert_heard("");
    assert_string_equal(buf_cstr(&world.skipped), "ns/a:it has no metadata.resourceVersion");
}

/* Of the answer to a probe only the version counts. Its item may be one that cannot be used. */
static void test_the_events_of_a_probe_stage_nothing(void **state)
{
    struct object *o = objects_make("ns/a", "u1", "4", NULL);

    (void)state;
    begin(WATCH_LIST_OFF);
    ask(REFLECTOR_LIST);
    ingest_no_events.on_item(&world.in, o, true);
    ingest_no_events.on_unusable(&world.in, &(struct unusable){.why = "it has no name"});
    assert_int_equal(ingest_commit(&world.in, str_c("10")), INGEST_GOES_ON);
    assert_int_equal(store_count(world.store), 0);
    assert_int_equal(skips_count(store_skips(world.store)), 0);
    object_unref(&o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_a_first_list_ends_nothing_without_an_identity, clean_up),
        cmocka_unit_test_teardown(test_a_first_list_that_only_adds_needs_no_proof, clean_up),
        cmocka_unit_test_teardown(test_an_initial_event_without_a_name_takes_nothing_out, clean_up),
        cmocka_unit_test_teardown(
            test_the_end_of_an_incarnation_waits_for_the_list_beside_the_watch, clean_up),
        cmocka_unit_test_teardown(test_so_does_an_end_that_an_unselected_object_shows, clean_up),
        cmocka_unit_test_teardown(test_an_object_without_a_version_is_skipped_by_its_name,
                                  clean_up),
        cmocka_unit_test_teardown(test_the_events_of_a_probe_stage_nothing, clean_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
