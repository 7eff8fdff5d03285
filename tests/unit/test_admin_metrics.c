/* SPDX-License-Identifier: Apache-2.0 */
/* GET /metrics, over watches and hooks that were filled in memory. */
#include "admin_world.h"

#include <stdio.h>
#include <string.h>

#include "admin/metrics.h"
#include "base/histogram.h"
#include "kube/expiry.h"

/* Each of these lines stands in the text. */
static void expect(struct admin_world *t, const char *const *lines, size_t n)
{
    struct admin_response r = admin_world_ask(t, "GET", "/metrics", false);

    assert_int_equal(r.status, 200);
    assert_string_equal(r.content_type, "text/plain; version=0.0.4; charset=utf-8");
    for (size_t i = 0; i < n; i++) {
        char line[256];

        snprintf(line, sizeof(line), "\n%s\n", lines[i]);
        if (strstr(buf_cstr(&r.body), line) == NULL)
            fail_msg("%s is not in:\n%s", lines[i], buf_cstr(&r.body));
    }
    buf_free(&r.body);
}
#define EXPECT(t, ...)                                     \
    do {                                                   \
        static const char *const lines_[] = {__VA_ARGS__}; \
        expect(t, lines_, ARRAY_LEN(lines_));              \
    } while (0)

static void expect_none(struct admin_world *t, const char *text)
{
    admin_world_lacks(t, "GET /metrics", text);
}

static void list_services(struct admin_world *t, size_t n)
{
    struct buf list = {0};

    admin_world_put_list(&list, "42", n);
    admin_world_list(t, WORLD_SERVICES, 200, buf_cstr(&list));
    buf_free(&list);
}

static void test_a_daemon_at_its_start(void **state)
{
    struct admin_world *t = *state;

    t->model.config_digest = 0xab;
    EXPECT(t, "informerd_build_info{version=\"1.2.3\"} 1",
           "informerd_config_info{digest=\"00000000000000ab\"} 1", "informerd_ready 0",
           "informerd_config_last_reload_successful 1", "informerd_state_writable 1",
           "informerd_started_stale 0", "informerd_faults{reason=\"stale\"} 0",
           "informerd_cluster_last_contact_timestamp_seconds{cluster=\"prod\"} 1714558833.25",
           "informerd_watch_state{cluster=\"prod\",watch=\"services\"} 2",
           "informerd_watch_state{cluster=\"prod\",watch=\"widgets\"} 2",
           "informerd_watch_synced{cluster=\"prod\",watch=\"services\"} 0",
           "informerd_watch_events_total{cluster=\"prod\",watch=\"services\",type=\"ADDED\"} 0",
           "informerd_hook_runs_total{hook=\"print\",result=\"ok\"} 0",
           "informerd_hook_oldest_pending_seconds{hook=\"print\"} 0",
           "process_start_time_seconds 1714558830");
    expect_none(t, "informerd_watch_last_contact_timestamp_seconds{");
    expect_none(t, "informerd_hook_last_success_timestamp_seconds{");
    expect_none(t, "informerd_cluster_last_contact_timestamp_seconds{cluster=\"test\"}");
    expect_none(t, "informerd_hook_applies_total{");
    expect_none(t, "informerd_hook_change_to_handled_seconds_count");
    expect_none(t, "informerd_loop_lag_seconds");
}

static void test_a_watch_that_is_synced(void **state)
{
    struct admin_world *t = *state;

    list_services(t, 3);
    t->model.ready = true;
    EXPECT(t, "informerd_ready 1", "informerd_watch_state{cluster=\"prod\",watch=\"services\"} 0",
           "informerd_watch_synced{cluster=\"prod\",watch=\"services\"} 1",
           "informerd_watch_objects{cluster=\"prod\",watch=\"services\"} 3",
           "informerd_watch_objects{cluster=\"prod\",watch=\"twin\"} 3",
           "informerd_watch_stale{cluster=\"prod\",watch=\"services\"} 0",
           "informerd_watch_guard_held{cluster=\"prod\",watch=\"services\"} 0",
           "informerd_watch_skipped_objects{cluster=\"prod\",watch=\"services\"} 0",
           ("informerd_watch_last_contact_timestamp_seconds{cluster=\"prod\",watch=\"services\"} "
            "1714558831"));
    expect_none(t, "informerd_watch_relists_total{");
    expect_none(t, "informerd_watch_errors_total{");
}

/* limits.pending decides, whatever its value: the alert InformerdHookPending needs no number. */
static void test_a_hook_is_overdue_after_limits_pending(void **state)
{
    struct admin_world *t = *state;

    list_services(t, 1);
    assert_non_null(hooks_next(&t->hooks, t->now_ms));
    t->model.pending_ms = 5000;
    t->now_ms += 5000;
    EXPECT(t, "informerd_hook_oldest_pending_seconds{hook=\"print\"} 5",
           "informerd_hook_overdue{hook=\"print\"} 0");
    t->now_ms++;
    EXPECT(t, "informerd_hook_overdue{hook=\"print\"} 1");
    t->model.pending_ms = 0;
    EXPECT(t, "informerd_hook_overdue{hook=\"print\"} 0");
}

static void test_relists_and_errors_have_their_reasons(void **state)
{
    struct admin_world *t = *state;

    list_services(t, 1);
    list_services(t, 1);
    admin_world_list(t, WORLD_SERVICES, 403,
                     "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"code\":403,\"message\":\"no\"}");
    EXPECT(
        t, "informerd_watch_relists_total{cluster=\"prod\",watch=\"services\",reason=\"manual\"} 2",
        "informerd_watch_errors_total{cluster=\"prod\",watch=\"services\",reason=\"forbidden\"} 1",
        "informerd_watch_state{cluster=\"prod\",watch=\"services\"} 4",
        "informerd_faults{reason=\"forbidden\"} 2"); /* under both names */
}

static void test_errors_of_discovery_count_for_the_watch(void **state)
{
    struct admin_world *t = *state;

    watch_unresolved(t->watches[WORLD_WIDGETS].watch, &(struct err){.kind = ERR_NOT_FOUND});
    EXPECT(
        t,
        "informerd_watch_errors_total{cluster=\"prod\",watch=\"widgets\",reason=\"not_found\"} 1");
}

static void test_faults_and_the_state(void **state)
{
    struct admin_world *t = *state;

    t->model.state = (struct admin_state){.dir = "/s", .trouble = "disk full"};
    t->model.reload = (struct admin_reload){.result = "failed", .failing_ns = 1, .problems = "x"};
    EXPECT(t, "informerd_state_writable 0", "informerd_config_last_reload_successful 0",
           "informerd_faults{reason=\"state\"} 1", "informerd_faults{reason=\"reload\"} 1");
}

static void test_events_are_counted_by_type(void **state)
{
    static const char stream[] =
        "{\"type\":\"ADDED\",\"object\":{\"kind\":\"Service\",\"apiVersion\":\"v1\",\"metadata\":{"
        "\"name\":\"n\",\"namespace\":\"b\",\"uid\":\"n\",\"resourceVersion\":\"50\"}}}\n"
        "{\"type\":\"DELETED\",\"object\":{\"kind\":\"Service\",\"apiVersion\":\"v1\",\"metadata\":"
        "{"
        "\"name\":\"n\",\"namespace\":\"b\",\"uid\":\"n\",\"resourceVersion\":\"51\"}}}\n"
        "{\"type\":\"ADDED\",\"object\":{\"kind\":\"Service\",\"apiVersion\":\"v1\",\"metadata\":{"
        "\"name\":\"/\",\"namespace\":\"b\",\"uid\":\"x\",\"resourceVersion\":\"51\"}}}\n"
        "{\"type\":\"BOOKMARK\",\"object\":{\"kind\":\"Service\",\"apiVersion\":\"v1\","
        "\"metadata\":{"
        "\"resourceVersion\":\"52\"}}}\n"
        "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"code\":410,"
        "\"reason\":\"Expired\",\"message\":\"too old\"}}\n";
    const struct http_head head = {
        .status = 200, .content_type = str_c("application/json"), .retry_after_s = -1};
    struct admin_world *t = *state;
    const struct now now = {WORLD_STARTED_MS + 2000, WORLD_STARTED_NS};

    list_services(t, 1);
    struct list_watch *lw = watch_list_watch(t->watches[WORLD_SERVICES].watch, 0);
    list_watch_head(lw, &head, now.ms);
    assert_false(list_watch_body(lw, stream, strlen(stream), now));
    list_watch_end(lw, NULL, 0, now);
    EXPECT(
        t, "informerd_watch_events_total{cluster=\"prod\",watch=\"services\",type=\"ADDED\"} 1",
        "informerd_watch_events_total{cluster=\"prod\",watch=\"services\",type=\"MODIFIED\"} 0",
        "informerd_watch_events_total{cluster=\"prod\",watch=\"services\",type=\"DELETED\"} 1",
        "informerd_watch_events_total{cluster=\"prod\",watch=\"services\",type=\"BOOKMARK\"} 1",
        "informerd_watch_events_total{cluster=\"prod\",watch=\"services\",type=\"UNUSABLE\"} 1",
        "informerd_watch_events_total{cluster=\"prod\",watch=\"services\",type=\"ERROR\"} 1",
        "informerd_watch_errors_total{cluster=\"prod\",watch=\"services\",reason=\"expired\"} 1");
}

static void test_a_hook_that_has_run(void **state)
{
    struct admin_world *t = *state;

    list_services(t, 4);
    admin_world_run(t, "");
    admin_world_run(t, "timeout after 1 s");
    assert_non_null(admin_world_start(t));
    t->hooks.v[0]->figures.since_trigger.total = 1;
    t->hooks.v[0]->figures.memory_peak = 4096;
    t->hooks.v[0]->figures.met_memory = 2;
    t->hooks.v[0]->figures.cpu_us = 1500000;
    hook_pause(t->hooks.v[0], true);
    t->now_ms += 1500;
    EXPECT(
        t, "informerd_hook_runs_total{hook=\"print\",result=\"ok\"} 1",
        "informerd_hook_runs_total{hook=\"print\",result=\"failed\"} 0",
        "informerd_hook_runs_total{hook=\"print\",result=\"timeout\"} 1",
        "informerd_hook_cpu_seconds_total{hook=\"print\"} 1.5",
        "informerd_hook_memory_peak_bytes{hook=\"print\"} 4096",
        "informerd_hook_limits_reached_total{hook=\"print\",reason=\"memory\"} 2",
        "informerd_hook_limits_reached_total{hook=\"print\",reason=\"pids\"} 0",
        "informerd_hook_running{hook=\"print\"} 1", "informerd_hook_pending_keys{hook=\"print\"} 2",
        "informerd_hook_parked_keys{hook=\"print\"} 0", "informerd_hook_paused{hook=\"print\"} 1",
        "informerd_hook_last_success_timestamp_seconds{hook=\"print\"} 1714558833.5",
        "informerd_hook_run_duration_seconds_count{hook=\"print\"} 2",
        "informerd_hook_run_duration_seconds_bucket{hook=\"print\",le=\"0.001\"} 2",
        "informerd_hook_event_to_handled_seconds_count{hook=\"print\"} 1",
        "informerd_hook_change_to_handled_seconds_count{hook=\"print\"} 1",
        "informerd_hook_forgotten_keys_total{hook=\"print\"} 0");
}

static struct expiry early;
static struct expiry late;

/* Of several servers the credential that expires first counts. */
static void test_when_credentials_expire(void **state)
{
    struct admin_world *t = *state;

    early.items[EXPIRY_CERT].v[0] = (struct tls_dates){.from_s = 1, .till_s = 1724569000};
    early.items[EXPIRY_CERT].n = 1;
    late.items[EXPIRY_CERT].v[0] = (struct tls_dates){.from_s = 1, .till_s = 1734569000};
    late.items[EXPIRY_CERT].n = 1;
    late.items[EXPIRY_CA].v[0] = (struct tls_dates){.from_s = 1, .till_s = 1744569000};
    late.items[EXPIRY_CA].n = 1;
    t->logins[0].expiry = &early;
    t->logins[1].expiry = &late;
    EXPECT(
        t,
        "informerd_credential_expiry_timestamp_seconds{cluster=\"prod\",type=\"certificate\"} "
        "1724569000",
        "informerd_credential_expiry_timestamp_seconds{cluster=\"prod\",type=\"ca\"} 1744569000");
    expect_none(t, "type=\"token\"");
    t->logins[0].expiry = t->logins[1].expiry = NULL;
}

static void measure(void *arg, struct admin_process *out)
{
    static struct histogram turns;

    (void)arg;
    turns = (struct histogram){0};
    histogram_add(&turns, 3);
    *out = (struct admin_process){.cpu_ms = 1250,
                                  .resident_bytes = 4096,
                                  .virtual_bytes = 8192,
                                  .open_fds = 7,
                                  .max_fds = 1024,
                                  .turns = &turns,
                                  .busy_ns = 2500000};
}

static void test_the_process(void **state)
{
    struct admin_world *t = *state;
    struct buf text = {0};

    t->model.measure = measure;
    EXPECT(t, "process_cpu_seconds_total 1.25", "process_resident_memory_bytes 4096",
           "process_virtual_memory_bytes 8192", "process_open_fds 7", "process_max_fds 1024",
           "informerd_loop_lag_seconds_bucket{le=\"0.002\"} 0",
           "informerd_loop_lag_seconds_bucket{le=\"0.005\"} 1",
           "informerd_loop_lag_seconds_sum 0.002", "informerd_loop_lag_seconds_count 1");
    metrics_put(&text, &t->model, t->now_ms);
    assert_null(strstr(buf_cstr(&text), "process_"));
    assert_non_null(strstr(buf_cstr(&text), "\ninformerd_loop_lag_seconds_count 1\n"));
    buf_free(&text);
}

#define WITH_WORLD(test) \
    cmocka_unit_test_setup_teardown(test, admin_world_set_up, admin_world_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_WORLD(test_a_daemon_at_its_start),
        WITH_WORLD(test_a_watch_that_is_synced),
        WITH_WORLD(test_a_hook_is_overdue_after_limits_pending),
        WITH_WORLD(test_relists_and_errors_have_their_reasons),
        WITH_WORLD(test_errors_of_discovery_count_for_the_watch),
        WITH_WORLD(test_faults_and_the_state),
        WITH_WORLD(test_events_are_counted_by_type),
        WITH_WORLD(test_a_hook_that_has_run),
        WITH_WORLD(test_when_credentials_expire),
        WITH_WORLD(test_the_process),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
