/* SPDX-License-Identifier: Apache-2.0 */
#include "hook_rig.h"

#include <errno.h>
#include <string.h>

#include "base/wire.h"
#include "hook/members.h"
#include "hook_disk.h"

/* Which files belong to which object of a hook with files_from. */

static struct hook *add_hook(const char *output)
{
    struct hook *h = hook_rig_add(
        &(struct hook_rig_hook){.output = output, .from_members = true, .applies = true});

    hook_rig_sync(0);
    return h;
}

static void change(enum delta_type type, const char *key, const char *data)
{
    hook_rig_change(0, type, key, "u1", data);
}

/* The run that starts now is about these files: "path path -path", those that go last. */
static struct run *claims(enum run_kind kind, const char *want)
{
    struct run *run = hook_rig_next();
    struct buf got = {0};
    struct err err = {0};

    assert_int_equal(run->kind, kind);
    if (files_claim(run, &err) != ERR_OK)
        fail_msg("%s", err.text);
    assert_int_equal(files_count(run), run->members->n);
    for (size_t i = 0; i < run->members->n; i++)
        buf_printf(&got, "%s%s%s", i > 0 ? " " : "", run->members->v[i].goes ? "-" : "",
                   run->members->v[i].path);
    assert_string_equal(buf_cstr(&got), want);
    buf_free(&got);
    return run;
}

static void ends(struct run *run, enum run_stage became)
{
    const struct run_result result = {
        .text = "ok", .end = {.program = RUN_PROGRAM_FILES, .stage = became}
    };

    hooks_finish(&hook_rig.hooks, run, &result, hook_rig.now);
}

/* The system was short of something. */
static void does_not_start(struct run *run)
{
    const struct run_result result = {
        .text = "fork", .end = run_end_refused(RUN_PROGRAM_FILES, RUN_STAGE_FORK, EAGAIN)};

    hooks_finish(&hook_rig.hooks, run, &result, hook_rig.now);
}

static void refused(const char *text)
{
    struct run *run = hook_rig_next();
    struct err err = {0};
    const struct run_result result = {
        .end = {.kind = RUN_END_REFUSED, .stage = RUN_STAGE_FIELDS},
          .text = err.text
    };

    assert_int_equal(files_claim(run, &err), ERR_CONFIG);
    if (strstr(err.text, text) == NULL)
        fail_msg("%s", err.text);
    hooks_finish(&hook_rig.hooks, run, &result, hook_rig.now);
}

static void applies(bool is)
{
    hook_rig.now += 10000;
    if (is)
        hook_rig_end(hook_rig_applies(RUN_CHANGE, 1), 0);
    else
        hook_rig_nothing();
}

/* The first apply, of the files that were there at the start. */
static void applies_first(void)
{
    hook_rig.now += 10000;
    struct run *run = hook_rig_next();
    assert_int_equal(run->kind, RUN_APPLY);
    hook_rig_end(run, 0);
}

static void test_each_member_has_a_file(void **state)
{
    (void)state;
    add_hook("/x/${namespace}/${name}-${key}");
    change(DELTA_ADDED, "n/a", "\"k\":\"1\",\"l\":\"2\"");
    ends(claims(RUN_WRITE, "/x/n/a-k /x/n/a-l"), RUN_STAGE_WRITTEN);
    applies_first();
    change(DELTA_MODIFIED, "n/a", "\"k\":\"1\",\"m\":\"3\"");
    ends(claims(RUN_WRITE, "/x/n/a-k /x/n/a-m -/x/n/a-l"), RUN_STAGE_WRITTEN);
    applies(true);
    change(DELTA_DELETED, "n/a", "\"k\":\"1\",\"m\":\"3\"");
    ends(claims(RUN_REMOVE, "-/x/n/a-k -/x/n/a-m"), RUN_STAGE_REMOVED);
    applies(true);
    change(DELTA_ADDED, "n/a", "\"k\":\"1\"");
    ends(claims(RUN_WRITE, "/x/n/a-k"), RUN_STAGE_WRITTEN);
}

static void test_equal_files_are_applied_only_if_nobody_knows_them(void **state)
{
    (void)state;
    add_hook("/x/${key}");
    change(DELTA_ADDED, "n/a", "\"k\":\"1\"");
    ends(claims(RUN_WRITE, "/x/k"), RUN_STAGE_SAME);
    applies_first();
    change(DELTA_MODIFIED, "n/a", "\"k\":\"1\",\"l\":\"2\"");
    ends(claims(RUN_WRITE, "/x/k /x/l"), RUN_STAGE_SAME);
    applies(true);
    /* In another order the same files. */
    change(DELTA_MODIFIED, "n/a", "\"l\":\"2\",\"k\":\"1\" ");
    change(DELTA_MODIFIED, "n/a", "\"k\":\"1\",\"l\":\"3\"");
    ends(claims(RUN_WRITE, "/x/k /x/l"), RUN_STAGE_SAME); /* somebody else has put it there */
    applies(true);
    change(DELTA_MODIFIED, "n/a", "\"k\":\"1\"");
    ends(claims(RUN_WRITE, "/x/k -/x/l"), RUN_STAGE_SAME); /* or removed it */
    applies(true);
}

/* Each run fails when it may have written its files, so those of all states stay the object's. */
static void test_files_that_are_too_many_for_one_run_go_with_the_next(void **state)
{
    enum { STATES = WIRE_FILES_MAX / WIRE_MEMBERS_MAX + 1 };
    struct buf data = {0};
    struct err err;

    (void)state;
    struct hook *h = add_hook("/x/${key}");
    for (int i = 0; i < STATES; i++) {
        buf_clear(&data);
        for (int k = 0; k < WIRE_MEMBERS_MAX; k++)
            buf_printf(&data, "%s\"%d-%d\":\"\"", k > 0 ? "," : "", i, k);
        change(i == 0 ? DELTA_ADDED : DELTA_MODIFIED, "n/a", buf_cstr(&data));
        hook_rig.now += 60000;
        struct run *run = hook_rig_next();
        assert_int_equal(files_claim(run, &err), ERR_OK);
        assert_in_range(files_count(run), 1, WIRE_FILES_MAX);
        if (i + 1 < STATES)
            hook_rig_end(run, 1);
        else
            ends(run, RUN_STAGE_WRITTEN);
    }
    buf_free(&data);
    assert_int_equal(map_count(&h->files.by_path), 2 * WIRE_MEMBERS_MAX);
    applies_first();
    change(DELTA_MODIFIED, "n/a", "\"k\":\"\"");
    hook_rig.now += 60000;
    struct run *run = hook_rig_next();
    assert_int_equal(files_claim(run, &err), ERR_OK);
    ends(run, RUN_STAGE_WRITTEN);
    assert_int_equal(map_count(&h->files.by_path), 1);
}

static void test_an_object_gets_all_files_or_none(void **state)
{
    struct hook *h = add_hook("/x/${key}");

    (void)state;
    change(DELTA_ADDED, "n/a", "\"k\":\"1\"");
    ends(claims(RUN_WRITE, "/x/k"), RUN_STAGE_WRITTEN);
    applies_first();
    hook_rig_change(0, DELTA_ADDED, "n/b", "u2", "\"own\":\"1\",\"k\":\"2\"");
    refused("files_from: /x/k is the file of n/a/k of source one already: put ${namespace} and "
            "${name} into output as folders");
    assert_false(files_has(&h->files, str_c("/x/own")));
    assert_int_equal(hook_parked(h), 1);
    hook_rig.now += 60000;
    change(DELTA_MODIFIED, "n/a", "\"l\":\"1\"");
    ends(claims(RUN_WRITE, "/x/l -/x/k"), RUN_STAGE_WRITTEN);
    assert_int_equal(hook_parked(h), 0); /* the turn of the other object */
    ends(claims(RUN_WRITE, "/x/own /x/k"), RUN_STAGE_WRITTEN);
}

static void test_bad_names_are_refused(void **state)
{
    (void)state;
    add_hook("/x/${key}");
    change(DELTA_ADDED, "n/a", "\"k\":\"1\",\"..\":\"2\"");
    refused("files_from: ${key} is \"..\", which is no file name");
    hook_rig_change(0, DELTA_ADDED, "n/b", "u2", "\"k\":1");
    refused("files_from: data[\"k\"] is no string");
    hook_rig_change(0, DELTA_ADDED, "b", "u3", "\"k\":\"1\"");
    refused("\"b\" is no namespace/name");
    change(DELTA_DELETED, "n/a", "\"k\":\"1\",\"..\":\"2\"");
    ends(claims(RUN_REMOVE, ""), RUN_STAGE_NONE);
}

static void test_a_run_that_does_not_start_leaves_its_new_files(void **state)
{
    struct hook *h = add_hook("/x/${key}");

    (void)state;
    change(DELTA_ADDED, "n/a", "\"k\":\"1\"");
    ends(claims(RUN_WRITE, "/x/k"), RUN_STAGE_WRITTEN);
    change(DELTA_MODIFIED, "n/a", "\"l\":\"1\"");
    does_not_start(claims(RUN_WRITE, "/x/l -/x/k"));
    assert_true(files_has(&h->files, str_c("/x/k")));
    assert_false(files_has(&h->files, str_c("/x/l")));
}

static void test_a_run_that_failed_keeps_all_files(void **state)
{
    struct hook *h = add_hook("/x/${key}");

    (void)state;
    change(DELTA_ADDED, "n/a", "\"k\":\"1\"");
    ends(claims(RUN_WRITE, "/x/k"), RUN_STAGE_WRITTEN);
    change(DELTA_MODIFIED, "n/a", "\"l\":\"1\"");
    hook_rig_end(claims(RUN_WRITE, "/x/l -/x/k"), 1);
    assert_true(files_has(&h->files, str_c("/x/k")));
    assert_true(files_has(&h->files, str_c("/x/l"))); /* it may be there by now */
    assert_false(files_is_written(&h->files, str_c("/x/l")));
    change(DELTA_MODIFIED, "n/a", "\"m\":\"1\"");
    hook_rig.now += HOOK_RIG_INITIAL_MS;
    ends(claims(RUN_WRITE, "/x/m -/x/k -/x/l"), RUN_STAGE_WRITTEN);
}

/* With a digest in the name of the member, each change makes another file. */
static void test_names_that_fail_their_check_do_not_pile_up(void **state)
{
    const struct run_result failed = {
        .text = "check: exit status 1", .end = {.program = RUN_PROGRAM_CHECK, .value = 1}
    };
    struct hook *h = add_hook("/x/${key}");

    (void)state;
    change(DELTA_ADDED, "n/a", "\"k\":\"1\"");
    ends(claims(RUN_WRITE, "/x/k"), RUN_STAGE_WRITTEN);
    change(DELTA_MODIFIED, "n/a", "\"l\":\"1\"");
    hooks_finish(&hook_rig.hooks, claims(RUN_WRITE, "/x/l -/x/k"), &failed, hook_rig.now);
    assert_true(files_has(&h->files, str_c("/x/k")));
    assert_false(files_has(&h->files, str_c("/x/l")));
    change(DELTA_MODIFIED, "n/a", "\"m\":\"1\"");
    hook_rig.now += HOOK_RIG_INITIAL_MS;
    ends(claims(RUN_WRITE, "/x/m -/x/k"), RUN_STAGE_WRITTEN);
}

static struct hook_disk disk;

/* A new process, with the state that the old one has left on disk, and without the object's change. */
static struct hook *restart(struct hook *h, const char *output)
{
    hook_disk_commit(&disk, h);
    hook_rig_clean_up(NULL);
    hook_rig_set_up(NULL);
    h = hook_rig_add(&(struct hook_rig_hook){.output = output, .from_members = true});
    hook_disk_restore(&disk, h, hook_rig.now);
    return h;
}

static void test_a_new_file_has_a_record_before_its_run_ends(void **state)
{
    struct hook *h = add_hook("/x/${namespace}/${key}");
    struct run *run;

    (void)state;
    hook_disk_clear(&disk);
    change(DELTA_ADDED, "n/a", "\"k\":\"1\"");
    run = claims(RUN_WRITE, "/x/n/k");
    h = restart(h, "/x/${namespace}/${key}"); /* the run is lost */
    (void)run;
    assert_true(files_has(&h->files, str_c("/x/n/k")));
    assert_false(files_is_written(&h->files, str_c("/x/n/k")));
    hook_rig_sync(0); /* the object is gone */
    ends(claims(RUN_REMOVE, "-/x/n/k"), RUN_STAGE_REMOVED);
    hook_disk_commit(&disk, h);
    assert_int_equal(disk.file_count, 0);
}

static void test_files_of_another_template_are_strays(void **state)
{
    struct hook *h = add_hook("/x/${namespace}/${key}");

    (void)state;
    hook_disk_clear(&disk);
    change(DELTA_ADDED, "n/a", "\"k\":\"1\",\"l\":\"1\"");
    ends(claims(RUN_WRITE, "/x/n/k /x/n/l"), RUN_STAGE_WRITTEN);
    h = restart(h, "/y/${namespace}/${key}");
    assert_int_equal(h->strays.waiting, 2);
    assert_false(files_has(&h->files, str_c("/x/n/k")));
}

static void test_strays_go_once_the_files_of_today_are_written(void **state)
{
    struct hook *h = add_hook("/x/${namespace}/${key}");

    (void)state;
    hook_disk_clear(&disk);
    change(DELTA_ADDED, "n/a", "\"k\":\"1\"");
    ends(claims(RUN_WRITE, "/x/n/k"), RUN_STAGE_WRITTEN);
    h = restart(h, "/y/${namespace}/${key}");
    change(DELTA_ADDED, "n/a", "\"k\":\"2\"");
    hook_rig_sync(0);
    hook_rig_end(claims(RUN_WRITE, "/y/n/k"), 1);
    hook_rig_nothing();
    assert_int_equal(h->strays.waiting, 1);
    hook_rig.now += HOOK_RIG_INITIAL_MS;
    ends(claims(RUN_WRITE, "/y/n/k"), RUN_STAGE_WRITTEN);
    hook_rig_nothing();
    assert_int_equal(h->strays.due, 1);
}

/* The watch was renamed, and the object has lost the member since. */
static void test_a_file_whose_member_is_gone_is_not_given_back(void **state)
{
    struct hook *h = add_hook("/x/${namespace}/${key}");

    (void)state;
    strays_restore(h, &(struct files_seen){
                          .path = str_c("/x/n/l"),
                          .source = SIZE_MAX,
                          .source_name = str_c("old"),
                          .key = str_c("n/a/l"),
                          .digest = {1, 1}
    });
    change(DELTA_ADDED, "n/a", "\"k\":\"1\"");
    ends(claims(RUN_WRITE, "/x/n/k"), RUN_STAGE_WRITTEN);
    hook_rig_nothing(); /* apply waits for the removal */
    assert_int_equal(h->strays.due, 1);
    assert_false(files_has(&h->files, str_c("/x/n/l")));
}

#define HOOK_RIG_TEST(name) \
    cmocka_unit_test_setup_teardown(name, hook_rig_set_up, hook_rig_clean_up)

int main(void)
{
    const struct CMUnitTest tests[] = {
        HOOK_RIG_TEST(test_each_member_has_a_file),
        HOOK_RIG_TEST(test_equal_files_are_applied_only_if_nobody_knows_them),
        HOOK_RIG_TEST(test_files_that_are_too_many_for_one_run_go_with_the_next),
        HOOK_RIG_TEST(test_an_object_gets_all_files_or_none),
        HOOK_RIG_TEST(test_bad_names_are_refused),
        HOOK_RIG_TEST(test_a_run_that_does_not_start_leaves_its_new_files),
        HOOK_RIG_TEST(test_a_run_that_failed_keeps_all_files),
        HOOK_RIG_TEST(test_names_that_fail_their_check_do_not_pile_up),
        HOOK_RIG_TEST(test_a_new_file_has_a_record_before_its_run_ends),
        HOOK_RIG_TEST(test_files_of_another_template_are_strays),
        HOOK_RIG_TEST(test_strays_go_once_the_files_of_today_are_written),
        HOOK_RIG_TEST(test_a_file_whose_member_is_gone_is_not_given_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
