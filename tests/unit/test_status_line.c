/* SPDX-License-Identifier: Apache-2.0 */
/* The sentence that systemctl status shows. */
#include "admin_world.h"

#include <string.h>

#include "admin/status_line.h"

static void expect_line(struct admin_world *t, const char *line)
{
    struct buf out = {0};

    status_line_put(&t->model, t->now_ms, &out);
    assert_string_equal(buf_cstr(&out), line);
    buf_free(&out);
}

static void list_services(struct admin_world *t)
{
    struct buf list = {0};

    admin_world_put_list(&list, "42", 3);
    admin_world_list(t, WORLD_SERVICES, 200, buf_cstr(&list));
    buf_free(&list);
}

static void test_a_start_tells_how_far_it_is(void **state)
{
    struct admin_world *t = *state;

    t->model.ready = false;
    expect_line(t, "starting: 0 of 4 watches synced, first runs of 0 of 1 hooks done");
    list_services(t); /* services and twin */
    expect_line(t, "starting: 2 of 4 watches synced, first runs of 0 of 1 hooks done");
}

static void test_a_healthy_service_tells_what_it_follows(void **state)
{
    struct admin_world *t = *state;

    t->model.ready = true;
    list_services(t);
    expect_line(t, "2 of 4 watches synced, 1 hook");
    t->model.reload.is_running = true;
    expect_line(t, "reloading; 2 of 4 watches synced, 1 hook");
}

static void test_a_fault_takes_the_place_of_all_else(void **state)
{
    struct admin_world *t = *state;

    t->model.ready = false;
    t->clusters[0].awaits = "/etc/kubernetes/kubelet.conf";
    expect_line(t,
                "cluster prod: waiting for /etc/kubernetes/kubelet.conf: the kubeconfig does not "
                "exist yet");
    t->clusters[1].awaits = "/k";
    expect_line(t, "2 problems (informerctl status): cluster prod: waiting for "
                   "/etc/kubernetes/kubelet.conf: the kubeconfig does not exist yet");
}

/* It is no fault before the watch is stale, but the line says it at once. */
static void test_a_watch_without_contact_is_told_before_it_is_stale(void **state)
{
    struct admin_world *t = *state;
    const struct err silent = {.kind = ERR_TIMEOUT, .text = "no answer within 10 s"};

    t->model.ready = true;
    list_services(t);
    admin_world_fail(t, WORLD_SERVICES, &silent);
    expect_line(
        t, "2 problems (informerctl status): no contact: watch services: no answer within 10 s");
    t->now_ms += WORLD_STALE_MS;
    expect_line(t, "2 problems (informerctl status): watch services: stale: no answer within 10 s");
}

static void test_a_watch_that_the_server_answers_has_contact(void **state)
{
    struct admin_world *t = *state;
    const struct err odd = {.kind = ERR_SERVER, .text = "HTTP 500"};

    t->model.ready = true;
    list_services(t);
    admin_world_fail(t, WORLD_SERVICES, &odd);
    expect_line(t, "2 problems (informerctl status): failing: watch services: HTTP 500");
}

static void test_a_line_break_begins_no_message_to_systemd(void **state)
{
    struct admin_world *t = *state;

    t->clusters[0].awaits = "/a\nWATCHDOG=trigger\n";
    expect_line(
        t, "cluster prod: waiting for /a\\nWATCHDOG=trigger\\n: the kubeconfig does not exist yet");
}

static void test_a_long_sentence_is_cut(void **state)
{
    struct admin_world *t = *state;
    char path[1000];
    struct buf out = {0};

    memset(path, 'p', sizeof(path));
    path[sizeof(path) - 1] = '\0';
    t->clusters[0].awaits = path;
    status_line_put(&t->model, t->now_ms, &out);
    assert_in_range(out.len, STATUS_LINE_MAX / 2, STATUS_LINE_MAX);
    buf_free(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_start_tells_how_far_it_is, admin_world_set_up,
                                        admin_world_tear_down),
        cmocka_unit_test_setup_teardown(test_a_healthy_service_tells_what_it_follows,
                                        admin_world_set_up, admin_world_tear_down),
        cmocka_unit_test_setup_teardown(test_a_fault_takes_the_place_of_all_else,
                                        admin_world_set_up, admin_world_tear_down),
        cmocka_unit_test_setup_teardown(test_a_watch_without_contact_is_told_before_it_is_stale,
                                        admin_world_set_up, admin_world_tear_down),
        cmocka_unit_test_setup_teardown(test_a_watch_that_the_server_answers_has_contact,
                                        admin_world_set_up, admin_world_tear_down),
        cmocka_unit_test_setup_teardown(test_a_line_break_begins_no_message_to_systemd,
                                        admin_world_set_up, admin_world_tear_down),
        cmocka_unit_test_setup_teardown(test_a_long_sentence_is_cut, admin_world_set_up,
                                        admin_world_tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
