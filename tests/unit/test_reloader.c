/* SPDX-License-Identifier: Apache-2.0 */
/* The status of reloads that are under way, and of those that have ended badly. A reload that ends well
 * is in tests/wire/test_reload.py. */
#include "app/reloader.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/log.h"
#include "base/memfile.h"
#include "io/helper_link.h"
#include "io/loop.h"
#include "silent_link.h"

struct rig {
    struct loop *loop;
    struct helper_link *link;
    int far;
    struct reloader *reloader;
    unsigned begun; /* calls of on_begin() */
    unsigned ended;
};

static struct rig rig;

static void on_begin(void *arg)
{
    (void)arg;
    rig.begun++;
}

static void on_end(void *arg, const struct reloader_end *end)
{
    (void)arg, (void)end;
    rig.ended++;
}

static int set_up(void **state)
{
    static const struct reloader_events events = {.on_begin = on_begin, .on_end = on_end};

    (void)state;
    log_set_level(LOG_LVL_ERROR);
    rig = (struct rig){.loop = loop_create()};
    rig.link = silent_link_create(rig.loop, &rig.far);
    rig.reloader = reloader_create(rig.loop, rig.link, NULL, &events, NULL);
    return 0;
}

static int clean_up(void **state)
{
    (void)state;
    reloader_dispose(&rig.reloader);
    helper_link_dispose(&rig.link);
    close(rig.far);
    loop_destroy(&rig.loop);
    return 0;
}

static void order(bool dry_run)
{
    const char *refusal;

    assert_int_not_equal(reloader_start(rig.reloader, dry_run, &refusal), 0);
}

/* The helper finds a mistake in the files. */
static void refuse(void)
{
    int fd;

    assert_int_equal(memfile_create("problems", str_c("invalid:\nfile:1: wrong\n"), &fd, NULL),
                     ERR_OK);
    reloader_on_reloaded(rig.reloader, false, fd);
}

static void test_a_dry_run_leaves_no_trace(void **state)
{
    (void)state;
    order(true);
    assert_false(reloader_status(rig.reloader).is_running);
    refuse();
    assert_null(reloader_status(rig.reloader).result);
    assert_int_equal(reloader_status(rig.reloader).failing_ns, 0);
    assert_true(rig.begun == 0 && rig.ended == 1);
}

static void test_a_reload_is_under_way_until_it_has_ended(void **state)
{
    (void)state;
    order(false);
    assert_true(reloader_status(rig.reloader).is_running);
    refuse();
    assert_false(reloader_status(rig.reloader).is_running);
    assert_string_equal(reloader_status(rig.reloader).result, "invalid");
    assert_string_equal(reloader_status(rig.reloader).problems, "file:1: wrong\n");
    assert_true(rig.begun == 1 && rig.ended == 1);
}

static void test_a_reload_behind_a_dry_run_is_under_way_when_it_is_read(void **state)
{
    (void)state;
    order(true);
    order(false);
    assert_false(reloader_status(rig.reloader).is_running);
    refuse();
    assert_true(reloader_status(rig.reloader).is_running);
    assert_int_equal(rig.begun, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_dry_run_leaves_no_trace, set_up, clean_up),
        cmocka_unit_test_setup_teardown(test_a_reload_is_under_way_until_it_has_ended, set_up,
                                        clean_up),
        cmocka_unit_test_setup_teardown(test_a_reload_behind_a_dry_run_is_under_way_when_it_is_read,
                                        set_up, clean_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
