/* SPDX-License-Identifier: Apache-2.0 */
/* The requests that forget a hook which is not configured any more. */
#include "admin/forget_call.h"

#include "admin_world.h"
#include "hook/gone.h"

static struct gone gone;

static void add_gone(struct admin_world *t)
{
    const struct files_seen seen = {
        .path = str_c("/o/a"), .source = SIZE_MAX, .source_name = str_c("w"), .key = str_c("n/a")};

    gone = (struct gone){0};
    gone_add_file(gone_add(&gone, str_c("old"), 1), &seen);
    t->model.gone = &gone;
    t->model.state = (struct admin_state){.dir = "/s", .kept = true};
    admin_world_add_hook(t, (struct world_hook){.name = "h", .source_count = 1});
}

#define NOT_CONFIGURED                                                      \
    "the hook is not configured any more: informerctl forget HOOK --files " \
    "removes the file"

static void test_its_files_are_removed_and_counted(void **state)
{
    struct admin_world *t = *state;

    add_gone(t);
    admin_world_expect(t, "GET /v1/status", 200, NOT_CONFIGURED);
    admin_world_expect(t, "GET /v1/hooks/old/forget", 200,
                       "{\"hook\":\"old\",\"removing\":0,\"removed\":0,\"left\":[{\"hook\":\"old\","
                       "\"file\":\"/o/a\",\"because\":\"" NOT_CONFIGURED "\"}]}");
    admin_world_expect(t, "POST /v1/hooks/old/forget/files", 202,
                       "{\"hook\":\"old\",\"removing\":1,\"removed\":0,\"left\":[]}");
    assert_string_equal(buf_cstr(&t->done), "forget old files;");
    admin_world_expect(t, "POST /v1/hooks/old/forget", 409, "is being forgotten already");
    gone_ended(gone.v[0], list_entry(gone.v[0]->files.all.next, struct stray, link),
               STRAY_END_REMOVED);
    assert_false(gone_dropped(gone.v[0]));
    admin_world_expect(t, "GET /v1/hooks/old/forget", 200,
                       "\"removing\":0,\"removed\":1,\"left\":[]");
    admin_world_expect(t, "POST /v1/hooks/old/forget", 404, "is forgotten already");
    gone_fini(&gone);
}

static void test_without_a_state_nothing_can_be_forgotten(void **state)
{
    struct admin_world *t = *state;

    add_gone(t);
    t->model.state = (struct admin_state){.dir = NULL};
    admin_world_expect(
        t, "GET /v1/status", 200,
        "\"because\":\"the hook is not configured any more: remove the file by hand, as "
        "informerd keeps no state\"");
    admin_world_expect(t, "POST /v1/hooks/old/forget/files", 409,
                       "informerd keeps no state (state_dir)");
    t->model.state = (struct admin_state){.dir = "/s", .trouble = "disk full"};
    admin_world_expect(t, "POST /v1/hooks/old/forget/files", 409, "disk full");
    t->model.state = (struct admin_state){.dir = "/s"};
    admin_world_expect(t, "POST /v1/hooks/old/forget/files", 409, "--dry-run");
    assert_int_equal(t->done.len, 0);
    gone_fini(&gone);
}

static void test_who_may_forget_what(void **state)
{
    struct admin_world *t = *state;

    add_gone(t);
    admin_world_expect_poor(t, "POST /v1/hooks/old/forget", 403, "only root");
    admin_world_expect(t, "POST /v1/hooks/h/forget", 409, "the hook is configured");
    admin_world_expect(t, "POST /v1/hooks/none/forget/files", 404, "nothing is known");
    assert_int_equal(t->done.len, 0);
    admin_world_expect(t, "POST /v1/hooks/old/forget", 202, "\"removing\":0");
    assert_string_equal(buf_cstr(&t->done), "forget old;");
    gone_fini(&gone);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, admin_world_set_up, admin_world_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_its_files_are_removed_and_counted),
        TEST(test_without_a_state_nothing_can_be_forgotten),
        TEST(test_who_may_forget_what),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
