/* SPDX-License-Identifier: Apache-2.0 */
/* The answers of the control socket about restored state: old objects are not passed off as the
 * present ones, and runs of the process before are told apart. */
#include "admin_world.h"

#include "cache/resume_point.h"
#include "hook/delivery_log.h"
#include "hook/hook_record.h"

#define STATUS   "GET /v1/status"
#define OBJECTS  "GET /v1/sources/services/objects"
#define OBJECT   OBJECTS "/b/s0"
#define WHY      "GET /v1/hooks/print/why/b/s0"
#define NOT_YET  "no server has confirmed them yet"
#define NO_BYTES "only the digests of some objects were saved"

enum { HOUR_S = 3600 };

static void load(struct admin_world *t, const char *key, const char *data)
{
    struct object *o = objects_make(key, "u0", "1", data);

    watch_load(t->watches[WORLD_SERVICES].watch, o);
    object_unref(&o);
}

/* An object of which only some digests were saved. */
static void load_shadow(struct admin_world *t, const char *name)
{
    struct object *o = object_create(&(struct object_parts){.ns = str_c("b"),
                                                            .name = str_c(name),
                                                            .uid = str_c("u9"),
                                                            .rv = str_c("1"),
                                                            .rv_at = SIZE_MAX,
                                                            .generation_at = SIZE_MAX});

    watch_load(t->watches[WORLD_SERVICES].watch, o);
    object_unref(&o);
}

/* The watch has that object; the server answered last an hour before the start. */
static void resume(struct admin_world *t, enum resume_kind kind)
{
    watch_resume(
        t->watches[WORLD_SERVICES].watch, 0,
        &(struct resume_point){.kind = kind,
                               .rv = "40",
                               .collection_rv = "40",
                               .contact_ns = WORLD_STARTED_NS - HOUR_S * UINT64_C(1000000000)});
}

static void sync_services(struct admin_world *t, size_t n)
{
    struct buf list = {0};

    admin_world_put_list(&list, "42", n);
    admin_world_list(t, WORLD_SERVICES, 200, buf_cstr(&list));
    buf_free(&list);
}

/* ---- The state */

static void test_a_state_that_can_be_written(void **state)
{
    struct admin_world *t = *state;

    t->model.state = (struct admin_state){.dir = "/s", .kept = true, .waiting = 2, .commits = 7};
    admin_world_expect_poor(t, STATUS, 200,
                            "\"degraded\":[],\"state\":{\"dir\":\"/s\",\"kept\":true,"
                            "\"writable\":true,\"reason\":null,\"since\":null,\"waiting\":2,"
                            "\"commits\":7},\"memory\":{");
}

static void test_a_state_that_cannot_be_written_is_degraded(void **state)
{
    struct admin_world *t = *state;

    t->model.state = (struct admin_state){.dir = "/s",
                                          .kept = true,
                                          .trouble = "/s/state.db: disk full",
                                          .failing_ms = WORLD_STARTED_MS + 2000,
                                          .waiting = 31};
    admin_world_expect(t, STATUS, 200,
                       "\"degraded\":[\"state not writable: /s/state.db: disk full\"],"
                       "\"state\":{\"dir\":\"/s\",\"kept\":true,\"writable\":false,"
                       "\"reason\":\"/s/state.db: disk full\","
                       "\"since\":\"2024-05-01T10:20:32.000000000Z\",\"waiting\":31,");
}

/* The folder could not be used from the start: there is no time since when. */
static void test_a_state_that_cannot_be_opened(void **state)
{
    struct admin_world *t = *state;

    t->model.state = (struct admin_state){.dir = "/s", .trouble = "/s: permission denied"};
    admin_world_expect(t, STATUS, 200,
                       "\"degraded\":[\"state not writable: /s: permission denied\"],"
                       "\"state\":{\"dir\":\"/s\",\"kept\":false,\"writable\":false,"
                       "\"reason\":\"/s: permission denied\",\"since\":null,");
}

static void test_trouble_of_a_cluster_is_degraded(void **state)
{
    struct admin_world *t = *state;

    t->clusters[1].trouble = "cluster test: it is another one";
    admin_world_expect(t, STATUS, 200, "\"degraded\":[\"cluster test: it is another one\"],");
    admin_world_expect(
        t, STATUS, 200,
        "\"contact_age_s\":null,"
        "\"trouble\":\"cluster test: it is another one\",\"credential_expires\":null,");
}

/* ---- Watches */

static void test_a_watch_before_its_first_contact(void **state)
{
    struct admin_world *t = *state;

    load(t, "b/s0", "");
    resume(t, RESUME_WHOLE);
    admin_world_expect(t, "GET /v1/watches", 200,
                       "\"services\":{\"cluster\":\"prod\",\"resource\":\"services\","
                       "\"state\":\"waiting\",\"synced\":false,\"stale\":false,\"incomplete\":"
                       "false,\"held\":false,"
                       "\"contact_age_s\":3603.5,\"objects\":1,");
    admin_world_expect(t, "GET /v1/watches", 200, "\"resumed\":\"watch\",\"past\":true}");
    admin_world_expect(t, STATUS, 200, "\"degraded\":[],"); /* the process has only just begun */
    t->now_ms = WORLD_STARTED_MS;
    admin_world_expect(t, "GET /v1/watches", 200, "\"contact_age_s\":3600,");
}

/* The clock of the machine was set back. */
static void test_a_contact_that_is_still_to_come_is_not_known(void **state)
{
    struct admin_world *t = *state;

    watch_resume(
        t->watches[WORLD_SERVICES].watch, 0,
        &(struct resume_point){.kind = RESUME_PARTIAL, .contact_ns = WORLD_STARTED_NS * 2});
    admin_world_expect(t, "GET /v1/watches", 200, "\"contact_age_s\":null,\"objects\":0,");
}

static void test_how_a_watch_began_stays_known(void **state)
{
    struct admin_world *t = *state;

    load(t, "b/s0", "");
    resume(t, RESUME_PARTIAL);
    admin_world_expect(t, "GET /v1/watches", 200, "\"resumed\":\"list\",\"past\":true}");
    resume(t, RESUME_RESHAPED);
    admin_world_expect(t, "GET /v1/watches", 200, "\"resumed\":\"edited\",\"past\":true}");
    resume(t, RESUME_EDITED);
    admin_world_expect(t, "GET /v1/watches", 200, "\"resumed\":\"edited\",\"past\":true}");
    sync_services(t, 2);
    admin_world_expect(t, "GET /v1/watches", 200, "\"resumed\":\"edited\",\"past\":false}");
    admin_world_expect(t, "GET /v1/watches", 200, "\"contact_age_s\":2.5,");
}

static void test_restored_objects_are_not_passed_off_as_present(void **state)
{
    struct admin_world *t = *state;

    load(t, "b/s0", "");
    resume(t, RESUME_PARTIAL);
    admin_world_expect(t, OBJECTS, 409, NOT_YET);
    admin_world_expect(t, OBJECT, 409, NOT_YET);
    admin_world_expect(t, OBJECTS "/b/none", 409, NOT_YET);
    admin_world_expect(t, "POST /v1/watches/services/verify", 409, "not synced yet");
    sync_services(t, 1);
    admin_world_expect(t, OBJECT, 200, "\"uid\":\"u0\"");
}

static void test_restored_secrets_are_refused_as_secrets(void **state)
{
    struct admin_world *t = *state;

    watch_resume(t->watches[WORLD_PRIVATE].watch, 0,
                 &(struct resume_point){.kind = RESUME_PARTIAL});
    admin_world_expect_poor(t, "GET /v1/sources/private/objects", 403, "objects of Secrets");
}

/* Like a watch of which no more than the names of its objects was left. */
static void test_objects_without_bytes_are_never_printed(void **state)
{
    struct admin_world *t = *state;

    sync_services(t, 1);
    load_shadow(t, "shadow");
    admin_world_expect(t, OBJECTS, 409, NO_BYTES);
    admin_world_expect(t, OBJECTS "/b/shadow", 409, NO_BYTES);
}

/* ---- Hooks */

static void restore(struct admin_world *t, const struct delivery_record *record)
{
    struct delivery_record m = *record;

    m.key = str_c("b/s0");
    m.uid = str_c("u0");
    m.is_delivered = true;
    assert_true(delivery_log_restore(&t->hooks.v[0]->queue, 0, &m, WORLD_STARTED_NS));
}

static struct digest digest_of_s0(void)
{
    struct buf body = {0};

    buf_puts(&body, "{\"kind\":\"Service\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"s0\","
                    "\"namespace\":\"b\",\"uid\":\"u0\",\"resourceVersion\":\"\"}}");
    struct digest d = digest_of(body.data, body.len);
    buf_free(&body);
    return d;
}

static void nothing_starts(struct admin_world *t)
{
    assert_null(hooks_next(&t->hooks, t->now_ms));
}

static void test_handled_before_the_restart(void **state)
{
    struct admin_world *t = *state;
    struct delivery_record record = {.is_handled = true};

    record.handled = record.delivered = digest_of_s0();
    restore(t, &record);
    admin_world_expect(t, WHY, 200,
                       "\"reason\":\"not_synced\",\"of\":\"services\",\"text\":"
                       "\"source services not synced, handled before the restart\","
                       "\"before_restart\":\"handled\",");
    admin_world_lacks(t, WHY, "\"digest\":null");
    sync_services(t, 1);
    nothing_starts(t);
    admin_world_expect(t, WHY, 200,
                       "\"reason\":\"handled\",\"of\":null,\"text\":\"handled before the restart\","
                       "\"before_restart\":\"handled\",");
    admin_world_expect(t, WHY, 200, "\"last_run\":null,\"advice\":null}");
    admin_world_expect(t, "POST /v1/hooks/print/run/b/s0", 202, "\"units\":1");
    admin_world_expect(t, WHY, 200, "\"text\":\"slot, handled before the restart\"");
    admin_world_run(t, "");
    admin_world_expect(t, WHY, 200, "\"text\":\"handled\",\"before_restart\":null,");
}

static void test_a_change_while_no_process_ran(void **state)
{
    struct admin_world *t = *state;

    restore(t, &(struct delivery_record){.is_handled = true});
    sync_services(t, 1);
    admin_world_expect(t, WHY, 200, "\"before_restart\":\"handled\",");
    struct run *run = admin_world_start(t);
    admin_world_expect(t, WHY, 200, "\"text\":\"running\",\"before_restart\":null,");
    hooks_finish(&t->hooks, run, &(struct run_result){.text = ""}, t->now_ms);
}

static void test_a_run_that_was_cut_off(void **state)
{
    struct admin_world *t = *state;

    restore(t, &(struct delivery_record){.attempted = true});
    hook_pause(t->hooks.v[0], true);
    sync_services(t, 1);
    nothing_starts(t);
    admin_world_expect(t, WHY, 200,
                       "\"text\":\"paused, a run before the restart did not succeed\","
                       "\"before_restart\":\"open\",");
    hook_pause(t->hooks.v[0], false);
    admin_world_run(t, "");
    admin_world_expect(t, WHY, 200, "\"text\":\"handled\",\"before_restart\":null,");
}

static void renew(struct admin_world *t, const char *why)
{
    struct delivery_record record = {.is_handled = true};

    record.handled = record.delivered = digest_of_s0();
    restore(t, &record);
    hook_record_renew(t->hooks.v[0]);
    hook_record_renew_why(t->hooks.v[0], why);
    hook_pause(t->hooks.v[0], true);
    sync_services(t, 1);
    nothing_starts(t);
}

static void test_keys_run_again_because_the_settings_changed(void **state)
{
    struct admin_world *t = *state;

    renew(t, "its settings changed");
    admin_world_expect(t, WHY, 200,
                       "\"text\":\"paused, to run again: its settings changed\","
                       "\"before_restart\":\"renew\",");
    hook_pause(t->hooks.v[0], false);
    admin_world_run(t, "");
    admin_world_expect(t, "GET /v1/runs", 200, "\"reason\":\"renew\"");
    admin_world_expect(t, WHY, 200, "\"text\":\"handled\",\"before_restart\":null,");
}

/* The process that knew the reason has died before the runs were done. */
static void test_keys_run_again_for_an_unknown_reason(void **state)
{
    renew(*state, NULL);
    admin_world_expect(
        *state, WHY, 200,
        "\"text\":\"paused, to run again: the effect of its runs is gone or the hook has changed\","
        "\"before_restart\":\"renew\",");
}

static void test_a_skipped_key_was_never_handled_by_a_run(void **state)
{
    struct admin_world *t = *state;
    struct delivery_record record = {.is_handled = true, .note = DELIVERY_SKIPPED};

    record.handled = record.delivered = digest_of_s0();
    restore(t, &record);
    sync_services(t, 1);
    nothing_starts(t);
    admin_world_expect(t, WHY, 200, "\"text\":\"handled\",\"before_restart\":null,");
}

/* A digest of a Secret would confirm a guess. */
static void test_kept_digests_of_secrets_are_for_the_privileged(void **state)
{
    struct admin_world *t = *state;
    struct hook *h = admin_world_add_hook(t, (struct world_hook){.name = "s", .source_count = 3});
    struct delivery_record record = {
        .key = str_c("a/s"), .uid = str_c("u3"), .is_delivered = true, .is_handled = true};

    assert_true(delivery_log_restore(&h->queue, 2, &record, WORLD_STARTED_NS));
    admin_world_expect(t, "GET /v1/hooks/s/why/a/s", 200,
                       "\"digest\":\"00000000000000000000000000000000\"");
    admin_world_expect_poor(t, "GET /v1/hooks/s/why/a/s", 200, "\"digest\":null");
}

#define WITH_WORLD(test) \
    cmocka_unit_test_setup_teardown(test, admin_world_set_up, admin_world_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_WORLD(test_a_state_that_can_be_written),
        WITH_WORLD(test_a_state_that_cannot_be_written_is_degraded),
        WITH_WORLD(test_a_state_that_cannot_be_opened),
        WITH_WORLD(test_trouble_of_a_cluster_is_degraded),
        WITH_WORLD(test_a_watch_before_its_first_contact),
        WITH_WORLD(test_a_contact_that_is_still_to_come_is_not_known),
        WITH_WORLD(test_how_a_watch_began_stays_known),
        WITH_WORLD(test_restored_objects_are_not_passed_off_as_present),
        WITH_WORLD(test_restored_secrets_are_refused_as_secrets),
        WITH_WORLD(test_objects_without_bytes_are_never_printed),
        WITH_WORLD(test_handled_before_the_restart),
        WITH_WORLD(test_a_change_while_no_process_ran),
        WITH_WORLD(test_a_run_that_was_cut_off),
        WITH_WORLD(test_keys_run_again_because_the_settings_changed),
        WITH_WORLD(test_keys_run_again_for_an_unknown_reason),
        WITH_WORLD(test_a_skipped_key_was_never_handled_by_a_run),
        WITH_WORLD(test_kept_digests_of_secrets_are_for_the_privileged),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
