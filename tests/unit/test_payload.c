/* SPDX-License-Identifier: Apache-2.0 */
#include "hook_rig.h"
#include "identified.h"

#include <string.h>

#include "hook/payload.h"
#include "proto/json_in.h"

/* 2023-11-14T22:13:20.000000042Z */
#define WALL_NS 1700000000000000042U

#define OBJECT(name, uid, rv, data)                                                              \
    "{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"metadata\":{\"namespace\":\"ns\",\"name\":" \
    "\"" name "\",\"uid\":\"" uid "\",\"resourceVersion\":\"" rv "\"},\"data\":{" data "}}"
#define ITEM(name, uid, rv, data)                                              \
    "{\"metadata\":{\"namespace\":\"ns\",\"name\":\"" name "\",\"uid\":\"" uid \
    "\",\"resourceVersion\":\"" rv "\"},\"data\":{" data "}}"
#define SOURCE_IS(name, stale, age, held)                                                \
    "\"" name "\":{\"cluster\":\"c\",\"synced\":true,\"stale\":" stale ",\"age_s\":" age \
    ",\"held\":" held "}"
#define SOURCE(name) SOURCE_IS(name, "false", "1.5", "false")
#define EVENT(type, cause, name, uid, rv, unknown)                                            \
    "{\"type\":\"" type "\",\"cause\":\"" cause "\",\"cluster\":\"c\",\"source\":\"one\","    \
    "\"api_version\":\"v1\",\"kind\":\"ConfigMap\",\"namespace\":\"ns\",\"name\":\"" name     \
    "\",\"uid\":\"" uid "\",\"resource_version\":\"" rv "\",\"final_state_unknown\":" unknown \
    ",\"received\":\"2023-11-14T22:13:20.000000042Z\",\"changed\":[]"

static const struct payload_context context = {.node = "n\"1", .instance = "boot-7"};
static const struct now begin = {100000, WALL_NS};
static struct buf out;

static int set_up(void **state)
{
    (void)state;
    hook_rig_init(2, &hooks_subscriber, NULL);
    return 0;
}

static int clean_up(void **state)
{
    buf_free(&out);
    return hook_rig_clean_up(state);
}

static void add(enum hook_mode mode, size_t sources)
{
    hook_rig_add(&(struct hook_rig_hook){
        .rules = {.mode = mode}, .sources = sources, .work_queue = {.concurrency = 1}});
}

static bool any_token(void *arg, const struct json_token *t)
{
    (void)arg, (void)t;
    return true;
}

/* The input of the next run, 1.5 s after the last contact. */
static struct run *next(void)
{
    struct run *run = hook_rig_next();

    buf_clear(&out);
    payload_put_json(&out, &context, run, begin.ms + 1500, NULL);
    assert_int_equal(json_in_scan(buf_str(&out), any_token, NULL, NULL), ERR_OK);
    return run;
}

static void assert_input(const char *want)
{
    assert_string_equal(buf_cstr(&out), want);
}

static void end(struct run *run)
{
    hooks_finish(&hook_rig.hooks, run, &(struct run_result){.text = "exit status 0"}, begin.ms);
}

static void watch_says(const char *events)
{
    objects_answer(watch_list_watch(hook_rig.watches[0], 0), events, begin);
}

static void test_mode_object_is_one_event(void **state)
{
    (void)state;
    add(HOOK_OBJECT, 1);
    objects_sync(hook_rig.watches[0], ITEM("a", "u1", "3", "\"x\":[ 1, 2 ]"), "9", begin);
    end(next());
    assert_input("{\"version\":1,\"hook\":\"h0\",\"run\":\"boot-7-1\",\"attempt\":1,\"reason\":"
                 "\"existing\",\"sources\":{" SOURCE("one") "},\"event\":" EVENT(
                     "ADDED", "relist", "a", "u1", "3",
                     "false") ",\"object\":" OBJECT("a", "u1", "3", "\"x\":[ 1, 2 ]") "}}\n");
}

static void test_bytes_are_those_of_the_server(void **state)
{
    static const char object[] =
        "{ \"apiVersion\":\"v1\" , "
        "\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"a\",\"namespace\":"
        "\"ns\",\"generation\": 7,\"resourceVersion\":\"10\",\"uid\":\"u1\"},\"data\":{\"k\":"
        "\"\\u00e9\\n\xc3\xa9\",\"n\":1.50e+3}}";
    struct buf frame = {0};

    (void)state;
    add(HOOK_OBJECT, 1);
    objects_sync(hook_rig.watches[0], "", "9", begin);
    buf_printf(&frame, "{\"type\":\"ADDED\",\"object\":%s}", object);
    watch_says(buf_cstr(&frame));
    end(next());
    assert_non_null(strstr(buf_cstr(&out), object));
    buf_free(&frame);
}

static void test_a_delete_carries_the_last_object(void **state)
{
    (void)state;
    add(HOOK_OBJECT, 1);
    objects_sync(hook_rig.watches[0], ITEM("a", "u1", "3", "\"x\":1"), "9", begin);
    end(next());
    watch_says("{\"type\":\"DELETED\",\"object\":" OBJECT("a", "u1", "12", "\"x\":2") "}");
    end(next());
    assert_input("{\"version\":1,\"hook\":\"h0\",\"run\":\"boot-7-2\",\"attempt\":1,\"reason\":"
                 "\"change\",\"sources\":{" SOURCE("one") "},\"event\":" EVENT(
                     "DELETED", "watch", "a", "u1", "12",
                     "false") ",\"object\":" OBJECT("a", "u1", "12", "\"x\":2") "}}\n");
}

static void test_a_delete_found_by_a_relist_says_so(void **state)
{
    const struct err lost = {.kind = ERR_SERVER, .text = "x"};

    (void)state;
    add(HOOK_OBJECT, 1);
    objects_sync(hook_rig.watches[0], ITEM("a", "u1", "3", "\"x\":1"), "9", begin);
    end(next());
    list_watch_end_identified(watch_list_watch(hook_rig.watches[0], 0), &lost, begin);
    list_watch_timer(watch_list_watch(hook_rig.watches[0], 0), begin.ms);
    objects_sync(hook_rig.watches[0], "", "20", begin);
    end(next());
    assert_non_null(strstr(buf_cstr(&out),
                           EVENT("DELETED", "relist", "a", "u1", "3",
                                 "true") ",\"object\":" OBJECT("a", "u1", "3", "\"x\":1") "}}\n"));
}

static void test_mode_snapshot_is_changes_and_everything_sorted_by_key(void **state)
{
    static const char items[] = ITEM("b", "u2", "4", "") "," ITEM("a", "u1", "3", "");
    static const char changes[] = EVENT("ADDED", "relist", "b", "u2", "4", "false") "}," EVENT(
        "ADDED", "relist", "a", "u1", "3", "false") "}";
    static const char objects[] = OBJECT("a", "u1", "3", "") "," OBJECT("b", "u2", "4", "");
    struct buf want = {0};

    (void)state;
    add(HOOK_SNAPSHOT, 2);
    objects_sync(hook_rig.watches[0], items, "9", begin);
    assert_null(hooks_next(&hook_rig.hooks, begin.ms));
    objects_sync(hook_rig.watches[1], "", "9", begin);
    end(next());
    buf_printf(&want,
               "{\"version\":1,\"hook\":\"h0\",\"run\":\"boot-7-1\",\"attempt\":1,\"reason\":"
               "\"existing\",\"sources\":{%s,%s},\"changes\":[%s],\"snapshot\":{\"one\":[%s],"
               "\"two\":[]}}\n",
               SOURCE("one"), SOURCE("two"), changes, objects);
    assert_input(buf_cstr(&want));
    buf_free(&want);
}

static void test_two_incarnations_of_a_key_are_two_changes(void **state)
{
    (void)state;
    add(HOOK_SNAPSHOT, 1);
    objects_sync(hook_rig.watches[0], ITEM("a", "u1", "3", ""), "9", begin);
    end(next());
    watch_says("{\"type\":\"ADDED\",\"object\":" OBJECT("a", "u2", "12", "") "}");
    end(next());
    assert_non_null(
        strstr(buf_cstr(&out),
               "\"changes\":[" EVENT("DELETED", "watch", "a", "u1", "3", "true") "}," EVENT(
                   "ADDED", "watch", "a", "u2", "12",
                   "false") "}],\"snapshot\":{\"one\":[" OBJECT("a", "u2", "12", "") "]}}\n"));
}

#define OUTAGE(type)                                                                    \
    "{\"type\":\"" type "\",\"cause\":\"watch\",\"cluster\":\"c\",\"source\":\"one\","  \
    "\"api_version\":null,\"kind\":null,\"namespace\":null,\"name\":null,\"uid\":null," \
    "\"resource_version\":null,\"final_state_unknown\":false,"                          \
    "\"received\":\"2023-11-14T22:13:20.000000042Z\",\"changed\":[]"

static void test_an_outage_is_an_event_without_an_object(void **state)
{
    (void)state;
    add(HOOK_OBJECT, 1);
    objects_sync(hook_rig.watches[0], "", "9", begin);
    hooks_subscriber.on_stale(&hook_rig.hooks, (struct source){.watch = hook_rig.watches[0]}, true,
                              begin);
    end(next());
    assert_input("{\"version\":1,\"hook\":\"h0\",\"run\":\"boot-7-1\",\"attempt\":1,\"reason\":"
                 "\"existing\",\"sources\":{" SOURCE("one") "},\"event\":" OUTAGE(
                     "STALE") ",\"object\":null}}\n");
    hooks_subscriber.on_stale(&hook_rig.hooks, (struct source){.watch = hook_rig.watches[0]}, false,
                              begin);
    end(next());
    assert_non_null(strstr(buf_cstr(&out), OUTAGE("FRESH") ",\"object\":null}}\n"));
}

static void test_in_mode_snapshot_an_outage_is_a_change(void **state)
{
    (void)state;
    add(HOOK_SNAPSHOT, 1);
    objects_sync(hook_rig.watches[0], "", "9", begin);
    end(next());
    hooks_subscriber.on_stale(&hook_rig.hooks, (struct source){.watch = hook_rig.watches[0]}, true,
                              begin);
    end(next());
    assert_non_null(strstr(buf_cstr(&out), "\"changes\":[" OUTAGE("STALE") "}],\"snapshot\":"));
}

static void test_an_object_that_left_says_so(void **state)
{
    struct object *o = objects_make("ns/a", "u1", "3", NULL);

    (void)state;
    add(HOOK_OBJECT, 1);
    objects_sync(hook_rig.watches[0], ITEM("a", "u1", "3", ""), "9", begin);
    end(next());
    hooks_subscriber.on_delta(&hook_rig.hooks, (struct source){.watch = hook_rig.watches[0]},
                              &(struct delta){.type = DELTA_LEFT,
                                              .cause = CAUSE_AUDIT,
                                              .object = o,
                                              .received_ns = WALL_NS,
                                              .now_ms = begin.ms});
    end(next());
    assert_non_null(strstr(buf_cstr(&out), EVENT("LEFT", "audit", "a", "u1", "3", "false")));
    object_unref(&o);
}

/* Lists as often as the list_watch asks for it. */
static void list_anew(const char *rv)
{
    struct list_watch *f = watch_list_watch(hook_rig.watches[0], 0);
    struct buf body = {0};

    buf_printf(&body,
               "{\"kind\":\"ConfigMapList\",\"apiVersion\":\"v1\",\"metadata\":{"
               "\"resourceVersion\":\"%s\"},\"items\":[]}",
               rv);
    watch_relist(hook_rig.watches[0], RELIST_MANUAL);
    struct list_watch_action action = list_watch_restart(f, begin);
    for (int i = 0; action.what == LW_LIST; i++) {
        assert_true(i < 5);
        action = objects_answer(f, buf_cstr(&body), begin);
    }
    buf_free(&body);
}

static void test_a_source_whose_list_is_held_back_says_so(void **state)
{
    (void)state;
    add(HOOK_OBJECT, 1);
    objects_sync(hook_rig.watches[0], ITEM("a", "u1", "3", ""), "9", begin);
    struct run *run = next();
    list_anew("5");
    buf_clear(&out);
    payload_put_json(&out, &context, run, begin.ms + 1500, NULL);
    assert_non_null(strstr(buf_cstr(&out), SOURCE_IS("one", "false", "1.5", "true")));
    end(run);
}

static void test_a_source_without_a_watch_request_is_stale(void **state)
{
    (void)state;
    add(HOOK_OBJECT, 1);
    objects_sync(hook_rig.watches[0], ITEM("a", "u1", "3", ""), "9", begin);
    struct run *run = next();
    buf_clear(&out);
    payload_put_json(&out, &context, run, begin.ms + 30000, NULL);
    assert_non_null(strstr(buf_cstr(&out), SOURCE_IS("one", "true", "30", "false")));
    end(run);
}

/* NAME=VALUE strings with NUL behind each, as lines. */
static const char *env(const struct run *run)
{
    buf_clear(&out);
    assert_int_equal(payload_put_env(&out, &context, run, NULL), ERR_OK);
    assert_true(out.len > 0 && out.data[out.len - 1] == '\0');
    for (size_t i = 0; i < out.len; i++)
        out.data[i] = (char)(out.data[i] == '\0' ? '\n' : out.data[i]);
    return buf_cstr(&out);
}

static void test_the_environment_of_mode_object(void **state)
{
    (void)state;
    add(HOOK_OBJECT, 1);
    objects_sync(hook_rig.watches[0], ITEM("a", "u1", "3", "\"x\":1"), "9", begin);
    struct run *run = next();
    assert_string_equal(env(run), "INFORMERD_HOOK=h0\n"
                                  "INFORMERD_RUN=boot-7-1\n"
                                  "INFORMERD_ATTEMPT=1\n"
                                  "INFORMERD_REASON=existing\n"
                                  "INFORMERD_NODE=n\"1\n"
                                  "INFORMERD_EVENT=ADDED\n"
                                  "INFORMERD_CLUSTER=c\n"
                                  "INFORMERD_SOURCE=one\n"
                                  "INFORMERD_NAMESPACE=ns\n"
                                  "INFORMERD_NAME=a\n"
                                  "INFORMERD_UID=u1\n"
                                  "INFORMERD_RESOURCE_VERSION=3\n");
    end(run);
}

static void test_the_environment_of_an_outage(void **state)
{
    (void)state;
    add(HOOK_OBJECT, 1);
    objects_sync(hook_rig.watches[0], "", "9", begin);
    hooks_subscriber.on_stale(&hook_rig.hooks, (struct source){.watch = hook_rig.watches[0]}, true,
                              begin);
    struct run *run = next();
    assert_non_null(strstr(env(run), "INFORMERD_EVENT=STALE\n"
                                     "INFORMERD_CLUSTER=c\n"
                                     "INFORMERD_SOURCE=one\n"
                                     "INFORMERD_NAMESPACE=\n"
                                     "INFORMERD_NAME=\n"
                                     "INFORMERD_UID=\n"
                                     "INFORMERD_RESOURCE_VERSION=\n"));
    end(run);
}

static void test_the_environment_of_mode_snapshot(void **state)
{
    (void)state;
    add(HOOK_SNAPSHOT, 1);
    objects_sync(hook_rig.watches[0], "", "9", begin);
    struct run *run = next();
    hooks_finish(&hook_rig.hooks, run, &(struct run_result){.end.value = 1, .text = "x"}, begin.ms);
    run = hooks_next(&hook_rig.hooks, begin.ms + HOOK_RIG_INITIAL_MS);
    assert_string_equal(env(run), "INFORMERD_HOOK=h0\n"
                                  "INFORMERD_RUN=boot-7-2\n"
                                  "INFORMERD_ATTEMPT=2\n"
                                  "INFORMERD_REASON=retry\n"
                                  "INFORMERD_NODE=n\"1\n");
    end(run);
}

/* A line end in a value would look like another variable in a shell's env. */
static void test_no_object_can_bring_a_variable_of_its_own(void **state)
{
    static const char *const bad[] = {"\\n", "\\u0000", "\\r", "/"};

    (void)state;
    add(HOOK_OBJECT, 1);
    objects_sync(hook_rig.watches[0], "", "9", begin);
    struct buf frames = {0};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        buf_printf(&frames,
                   "{\"type\":\"ADDED\",\"object\":{\"kind\":\"ConfigMap\",\"metadata\":{\"name\":"
                   "\"a\",\"namespace\":\"ns\",\"resourceVersion\":\"10\",\"uid\":\"u%sLD_PRELOAD="
                   "x\"}}}",
                   bad[i]);
    watch_says(buf_cstr(&frames));
    assert_null(hooks_next(&hook_rig.hooks, begin.ms));
    buf_free(&frames);
}

/* The pieces that a drain has got. */
struct drained {
    struct buf all;
    size_t pieces;
    size_t largest;
};

static void drain_one(void *arg, struct buf *from)
{
    struct drained *d = arg;

    d->pieces++;
    d->largest = from->len > d->largest ? from->len : d->largest;
    buf_append_str(&d->all, buf_str(from));
    buf_clear(from);
}

enum { MANY_OBJECTS = 300, PIECE = 64 * 1024 };

/* 300 objects of about 1 KB, twice in the document of mode snapshot. */
static void large_document_is_drained(enum hook_mode mode)
{
    struct drained d = {0};
    const struct payload_drain drain = {drain_one, &d};
    struct buf items = {0};

    add(mode, 1);
    for (int i = 0; i < MANY_OBJECTS; i++)
        buf_printf(&items, "%s" ITEM("o%d", "u%d", "3", "\"x\":\"%01000d\""), i > 0 ? "," : "", i,
                   i, i);
    objects_sync(hook_rig.watches[0], buf_cstr(&items), "9", begin);
    struct run *run = next();
    struct buf piece = {0};
    payload_put_json(&piece, &context, run, begin.ms + 1500, &drain);
    assert_in_range(d.pieces, out.len / (PIECE + 2048), out.len / PIECE);
    assert_in_range(d.largest, PIECE, PIECE + 2048);
    assert_true(piece.len < PIECE);
    buf_append_str(&d.all, buf_str(&piece));
    assert_string_equal(buf_cstr(&d.all), buf_cstr(&out));
    end(run);
    buf_free(&piece);
    buf_free(&items);
    buf_free(&d.all);
}

static void test_a_large_batch_is_drained_in_pieces(void **state)
{
    (void)state;
    large_document_is_drained(HOOK_BATCH);
}

static void test_a_large_snapshot_is_drained_in_pieces(void **state)
{
    (void)state;
    large_document_is_drained(HOOK_SNAPSHOT);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, clean_up)
    const struct CMUnitTest tests[] = {
        TEST(test_mode_object_is_one_event),
        TEST(test_bytes_are_those_of_the_server),
        TEST(test_a_delete_carries_the_last_object),
        TEST(test_a_delete_found_by_a_relist_says_so),
        TEST(test_mode_snapshot_is_changes_and_everything_sorted_by_key),
        TEST(test_two_incarnations_of_a_key_are_two_changes),
        TEST(test_an_outage_is_an_event_without_an_object),
        TEST(test_in_mode_snapshot_an_outage_is_a_change),
        TEST(test_an_object_that_left_says_so),
        TEST(test_a_source_whose_list_is_held_back_says_so),
        TEST(test_a_source_without_a_watch_request_is_stale),
        TEST(test_the_environment_of_mode_object),
        TEST(test_the_environment_of_an_outage),
        TEST(test_the_environment_of_mode_snapshot),
        TEST(test_no_object_can_bring_a_variable_of_its_own),
        TEST(test_a_large_batch_is_drained_in_pieces),
        TEST(test_a_large_snapshot_is_drained_in_pieces),
    };
#undef TEST

    return cmocka_run_group_tests(tests, NULL, NULL);
}
