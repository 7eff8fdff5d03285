/* SPDX-License-Identifier: Apache-2.0 */
#include "admin_world.h"

#include <errno.h>
#include <string.h>

#include "admin/hide.h"

static void expect_without_paths(const char *text, const char *want)
{
    struct buf out = {0};

    hide_put_without_paths(&out, str_c(text));
    assert_string_equal(buf_cstr(&out), want);
    buf_free(&out);
}

static void test_a_path_loses_its_folders(void **state)
{
    (void)state;
    expect_without_paths("", "");
    expect_without_paths("refused", "refused");
    expect_without_paths("/etc/k/ca.crt", ".../ca.crt");
    expect_without_paths("client key /etc/k/a.key: Permission denied",
                         "client key .../a.key: Permission denied");
    expect_without_paths("in /a/b, \"/a/c\", (/a/d) and x=/a/e. End.",
                         "in .../b, \".../c\", (.../d) and x=.../e. End.");
    expect_without_paths("the folder /a/b/ is", "the folder .../ is");
    expect_without_paths("/f:3: no\n/g:4: no", ".../f:3: no\n.../g:4: no");
    expect_without_paths("waiting for /a/b:/c/d.conf: it", "waiting for .../b:.../d.conf: it");
    /* These are none. */
    expect_without_paths("GET https://10.0.0.1:6443/api/v1/services: 1/2 of a and/or b",
                         "GET https://10.0.0.1:6443/api/v1/services: 1/2 of a and/or b");
    expect_without_paths("p50 / p99", "p50 / p99");
    expect_without_paths("/", "/");
}

static const struct err forbidden = {.kind = ERR_FORBIDDEN,
                                     .text = "server says 403: secrets \"my-tls\" is forbidden"};

static const struct err silent = {.kind = ERR_TIMEOUT, .text = "no answer within 10 s"};

static void expect_watch_error(bool hides, const struct err *err, const char *want)
{
    const struct admin_model m = {.hides_keys = hides};
    const struct watch_status s = {.err = err};
    struct buf out = {0};

    hide_put_watch_error(&out, &m, &s);
    assert_string_equal(buf_cstr(&out), want);
    buf_free(&out);
}

static void test_a_sentence_of_a_server_may_name_an_object(void **state)
{
    (void)state;
    expect_watch_error(true, &forbidden, "informerctl status tells why");
    expect_watch_error(true, &silent, silent.text);
    expect_watch_error(false, &forbidden, forbidden.text);
}

static void expect_hook_error(struct admin_world *t, struct run_end end, const char *want)
{
    struct run_result failed = {
        .end = end, .text = "output /srv/n-a.conf: rename: No", .wall_ns = WORLD_STARTED_NS};
    struct buf out = {0};

    hooks_finish(&t->hooks, admin_world_start(t), &failed, t->now_ms);
    hide_put_hook_error(&out, &t->model, t->hooks.v[0]);
    assert_string_equal(buf_cstr(&out), want);
    buf_free(&out);
    t->now_ms += 3600000;
}

static void list_services(struct admin_world *t)
{
    struct buf list = {0};

    admin_world_put_list(&list, "42", 1);
    admin_world_list(t, WORLD_SERVICES, 200, buf_cstr(&list));
    buf_free(&list);
}

/* The path of a file may have the name of an object in it. */
static void test_the_error_of_a_hook_is_told_without_its_file(void **state)
{
    struct admin_world *t = *state;
    struct buf out = {0};

    hide_put_hook_error(&out, &t->model, t->hooks.v[0]);
    assert_int_equal(out.len, 0);
    list_services(t);
    expect_hook_error(t, (struct run_end){.value = 1}, "output /srv/n-a.conf: rename: No");
    t->model.hides_keys = true;
    expect_hook_error(t, (struct run_end){.value = 3}, "exit status 3");
    expect_hook_error(
        t, (struct run_end){.kind = RUN_END_SIGNALED, .value = 9, .cut = RUN_CUT_TIMEOUT},
        "timeout: killed by signal 9");
    expect_hook_error(
        t, (struct run_end){.kind = RUN_END_SIGNALED, .value = 9, .limit = RUN_LIMIT_MEMORY},
        "killed by signal 9, out of memory (memory_max of the hook, or MemoryMax= of the unit)");
    expect_hook_error(t, run_end_refused(RUN_PROGRAM_OUTPUT, RUN_STAGE_RENAME, EACCES),
                      "output: rename: Permission denied");
    expect_hook_error(t, (struct run_end){.program = RUN_PROGRAM_CHECK, .value = 1},
                      "check: exit status 1");
    expect_hook_error(t, (struct run_end){.cut = RUN_CUT_FULL}, "too much output: exit status 0");
    strcpy(t->hooks.v[0]->last_error, "no descriptors");
    t->hooks.v[0]->history.n = 0;
    hide_put_hook_error(&out, &t->model, t->hooks.v[0]);
    assert_string_equal(buf_cstr(&out), "informerctl why print tells why");
    t->hooks.v[0]->history.n = 5;
    buf_free(&out);
}

#define WITH_WORLD(test) \
    cmocka_unit_test_setup_teardown(test, admin_world_set_up, admin_world_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_path_loses_its_folders),
        cmocka_unit_test(test_a_sentence_of_a_server_may_name_an_object),
        WITH_WORLD(test_the_error_of_a_hook_is_told_without_its_file),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
