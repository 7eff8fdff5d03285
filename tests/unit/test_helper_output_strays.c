/* SPDX-License-Identifier: Apache-2.0 */
/* Stray files, removed by a real helper: which files it removes, and which it never touches,
 * whatever main asks for. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/digest.h"
#include "base/mem.h"
#include "output_rig.h"

static void put_stray(struct buf *out, const char *path, const char *bytes)
{
    struct digest d = digest_of(bytes, strlen(bytes));
    const struct wire_stray head = {
        .digest = {d.lo, d.hi},
          .length = strlen(path)
    };

    buf_append(out, &head, sizeof(head));
    buf_puts(out, path);
}

/* Has the helper remove the strays; reads as many answers as the test expects. */
static size_t sweep(struct output_rig *o, struct buf *strays, char *answers, size_t room)
{
    int in = memfd_create("test", MFD_CLOEXEC);
    int out[2];

    assert_int_equal(write(in, strays->data, strays->len), strays->len);
    assert_int_equal(lseek(in, 0, SEEK_SET), 0);
    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    helper_link_run(o->w.link, helper_rig_asked(&o->w, ++o->id), OUTPUT_RIG_HOOK, RUN_PROGRAM_SWEEP,
                    str_c(NULL), (int[]){in, out[1], open("/dev/null", O_WRONLY | O_CLOEXEC)});
    output_rig_await(o);
    output_rig_expect(o, RUN_END_EXITED, 0, "");
    ssize_t n = read(out[0], answers, room);
    assert_true(n >= 0);
    close(out[0]);
    buf_free(strays);
    return (size_t)n;
}

/* The outcome for a file that was seen with these bytes. */
static void expect(struct output_rig *o, const char *path, const char *bytes, enum wire_swept swept)
{
    struct buf strays = {0};
    char answers[2];

    put_stray(&strays, path, bytes);
    assert_int_equal(sweep(o, &strays, answers, sizeof(answers)), 1);
    assert_int_equal(answers[0], swept);
}

static void make_folder(const struct output_rig *o, const char *name)
{
    assert_int_equal(mkdir(output_rig_path(o, name), 0755), 0);
}

static void test_a_written_file_goes_with_its_folder(void **state)
{
    struct output_rig o;

    (void)state;
    output_rig_open(&o, "/${namespace}/${name}.conf");
    output_rig_put(&o, "a.cfg", "one");
    make_folder(&o, "old");
    make_folder(&o, "old/deep");
    output_rig_put(&o, "old/deep/b", "");
    expect(&o, output_rig_path(&o, "a.cfg"), "one", WIRE_SWEPT_REMOVED);
    output_rig_expect_file(&o, "a.cfg", NULL);
    expect(&o, output_rig_path(&o, "old/deep/b"), "", WIRE_SWEPT_REMOVED);
    assert_int_equal(output_rig_count(&o, ""), 0);
    expect(&o, output_rig_path(&o, "old/deep/b"), "", WIRE_SWEPT_GONE);
    expect(&o, output_rig_path(&o, "a.cfg"), "one", WIRE_SWEPT_GONE);
    output_rig_close(&o);
}

static void test_many_at_once(void **state)
{
    struct output_rig o;
    struct buf strays = {0};
    char answers[8];

    (void)state;
    output_rig_open(&o, "/${name}");
    output_rig_put(&o, "a", "1");
    output_rig_put(&o, "b", "2");
    output_rig_put(&o, "c", "3");
    put_stray(&strays, output_rig_path(&o, "a"), "1");
    put_stray(&strays, output_rig_path(&o, "b"), "1");
    put_stray(&strays, output_rig_path(&o, "none"), "1");
    put_stray(&strays, output_rig_path(&o, "c"), "3");
    buf_puts(&strays, "half of one");
    assert_int_equal(sweep(&o, &strays, answers, sizeof(answers)), 4);
    assert_int_equal(answers[0], WIRE_SWEPT_REMOVED);
    assert_int_equal(answers[1], WIRE_SWEPT_CHANGED);
    assert_int_equal(answers[2], WIRE_SWEPT_GONE);
    assert_int_equal(answers[3], WIRE_SWEPT_REMOVED);
    output_rig_expect_file(&o, "b", "2");
    assert_int_equal(output_rig_count(&o, ""), 1);
    output_rig_close(&o);
}

static void test_anything_but_its_own_file_stays(void **state)
{
    struct output_rig o;

    (void)state;
    output_rig_open(&o, "/${namespace}/${name}");
    output_rig_put(&o, "real", "one");
    assert_int_equal(symlink(output_rig_path(&o, "real"), output_rig_path(&o, "link")), 0);
    expect(&o, output_rig_path(&o, "link"), "one", WIRE_SWEPT_CHANGED);
    make_folder(&o, "there");
    output_rig_put(&o, "there/x", "one");
    assert_int_equal(symlink(output_rig_path(&o, "there"), output_rig_path(&o, "way")), 0);
    expect(&o, output_rig_path(&o, "way/x"), "one", WIRE_SWEPT_FAILED);
    output_rig_expect_file(&o, "there/x", "one");
    assert_int_equal(link(output_rig_path(&o, "real"), output_rig_path(&o, "second")), 0);
    expect(&o, output_rig_path(&o, "second"), "one", WIRE_SWEPT_FOREIGN);
    assert_int_equal(mkfifo(output_rig_path(&o, "fifo"), 0600), 0);
    expect(&o, output_rig_path(&o, "fifo"), "", WIRE_SWEPT_FOREIGN);
    expect(&o, output_rig_path(&o, "there"), "", WIRE_SWEPT_FOREIGN);
    output_rig_expect_file(&o, "real", "one");
    assert_int_equal(output_rig_count(&o, ""), 6);
    output_rig_close(&o);
}

/* The state belongs to its user, and so do the paths in it. */
static void test_a_main_of_fewer_rights_has_nothing_removed_elsewhere(void **state)
{
    struct output_rig o;

    (void)state;
    for (int alike = 0; alike < 2; alike++) {
        output_rig_init(&o, "/in/${name}");
        o.hook.main_is_alike = alike == 1;
        output_rig_start(&o);
        make_folder(&o, "in");
        make_folder(&o, "inside");
        output_rig_put(&o, "inside/x", "one");
        output_rig_put(&o, "y", "one");
        expect(&o, output_rig_path(&o, "inside/x"), "one",
               alike ? WIRE_SWEPT_REMOVED : WIRE_SWEPT_FOREIGN);
        expect(&o, output_rig_path(&o, "y"), "one",
               alike ? WIRE_SWEPT_REMOVED : WIRE_SWEPT_FOREIGN);
        output_rig_put(&o, "z", "one");
        expect(&o, output_rig_path(&o, "in/../z"), "one", WIRE_SWEPT_FOREIGN);
        output_rig_expect_file(&o, "z", "one");
        /* the name of a temporary file of the helper */
        output_rig_put(&o, "in/.informerd-0", "one");
        expect(&o, output_rig_path(&o, "in/.informerd-0"), "one", WIRE_SWEPT_FOREIGN);
        expect(&o, "in/z", "one", WIRE_SWEPT_FOREIGN);
        expect(&o, "", "one", WIRE_SWEPT_FOREIGN);
        expect(&o, "/", "one", WIRE_SWEPT_FOREIGN);
        output_rig_close(&o);
    }
}

static void test_a_file_of_another_owner_stays(void **state)
{
    struct output_rig o;

    (void)state;
    if (geteuid() != 0)
        skip();
    output_rig_open(&o, "/${name}");
    output_rig_put(&o, "x", "one");
    assert_int_equal(chown(output_rig_path(&o, "x"), HELPER_RIG_NOBODY, HELPER_RIG_NOBODY), 0);
    expect(&o, output_rig_path(&o, "x"), "one", WIRE_SWEPT_FOREIGN);
    output_rig_expect_file(&o, "x", "one");
    output_rig_close(&o);
}

/* The folder of this program. /tmp may be a tmpfs, where files had no such attributes before Linux
 * 6.6. */
static const char *build_folder(void)
{
    static char path[256];
    ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);

    assert_in_range(n, 1, sizeof(path) - 2);
    path[n] = '\0';
    *strrchr(path, '/') = '\0';
    return path;
}

/* A hook that stands for those that are not configured any more: no folder is known, and only the mark
 * shows who wrote a file. */
static void open_gone(struct output_rig *o, bool alike)
{
    output_rig_init_in(o, build_folder(), "/f");
    o->hook.kind = HELPER_GONE;
    o->hook.argv = NULL;
    o->hook.main_is_alike = alike;
    output_rig_start(o);
}

static void put_mark(const struct output_rig *o, const char *name)
{
    static const char mark[] = "user.informerd.hook"; /* on files of users: it must never change */

    assert_int_equal(setxattr(output_rig_path(o, name), mark, "h", 1, 0), 0);
}

static void test_a_file_of_a_hook_that_is_gone_needs_the_mark(void **state)
{
    struct output_rig o;

    (void)state;
    open_gone(&o, false);
    output_rig_put(&o, "a", "one");
    output_rig_put(&o, "b", "one");
    expect(&o, output_rig_path(&o, "a"), "one", WIRE_SWEPT_FOREIGN);
    expect(&o, "/etc/passwd", "one", WIRE_SWEPT_FOREIGN);
    put_mark(&o, "b");
    expect(&o, output_rig_path(&o, "b"), "two", WIRE_SWEPT_CHANGED);
    assert_int_equal(link(output_rig_path(&o, "b"), output_rig_path(&o, "second")), 0);
    expect(&o, output_rig_path(&o, "b"), "one", WIRE_SWEPT_FOREIGN);
    assert_int_equal(unlink(output_rig_path(&o, "second")), 0);
    expect(&o, output_rig_path(&o, "b"), "one", WIRE_SWEPT_REMOVED);
    assert_int_equal(output_rig_count(&o, ""), 1);
    output_rig_close(&o);
}

static void test_a_main_with_all_rights_needs_no_mark(void **state)
{
    struct output_rig o;

    (void)state;
    open_gone(&o, true);
    output_rig_put(&o, "a", "one");
    expect(&o, output_rig_path(&o, "a"), "two", WIRE_SWEPT_CHANGED);
    expect(&o, output_rig_path(&o, "a"), "one", WIRE_SWEPT_REMOVED);
    output_rig_close(&o);
}

/* The helper marks the files that it writes, and files that are equal already: an older release may have
 * written them. */
static void test_the_helper_marks_files_if_main_has_fewer_rights(void **state)
{
    struct output_rig o;
    char value[8];

    (void)state;
    for (int alike = 0; alike < 2; alike++) {
        output_rig_init_in(&o, build_folder(), "/f");
        o.hook.main_is_alike = alike == 1;
        output_rig_start(&o);
        output_rig_write(&o, "one", "written");
        const char *file = output_rig_path(&o, "f");
        ssize_t n = getxattr(file, "user.informerd.hook", value, sizeof(value));
        assert_int_equal(n > 0, !alike);
        if (!alike) {
            assert_int_equal(removexattr(file, "user.informerd.hook"), 0);
            output_rig_write(&o, "one", "same");
            assert_true(getxattr(file, "user.informerd.hook", value, sizeof(value)) > 0);
        }
        output_rig_close(&o);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_written_file_goes_with_its_folder),
        cmocka_unit_test(test_many_at_once),
        cmocka_unit_test(test_anything_but_its_own_file_stays),
        cmocka_unit_test(test_a_main_of_fewer_rights_has_nothing_removed_elsewhere),
        cmocka_unit_test(test_a_file_of_another_owner_stays),
        cmocka_unit_test(test_a_file_of_a_hook_that_is_gone_needs_the_mark),
        cmocka_unit_test(test_a_main_with_all_rights_needs_no_mark),
        cmocka_unit_test(test_the_helper_marks_files_if_main_has_fewer_rights),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
