/* SPDX-License-Identifier: Apache-2.0 */
/* The files of a configuration on a real disk. */
#include "helper/file_source.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "conf_files.h"

static const struct file_set_file *get(struct file_set *s, const char *path, bool trusted)
{
    const struct file_set_key key = {.path = path, .trusted = trusted};

    return file_set_read(s, &key);
}

static void test_texts_and_owners(void **state)
{
    struct file_set s = {.source = &file_source_disk};

    (void)state;
    conf_files_write("main.conf", "a text");
    const struct file_set_file *f = get(&s, "main.conf", false);
    assert_true(str_is(buf_str(&f->text), "a text"));
    assert_int_equal(f->error, 0);
    assert_int_equal(f->owner, getuid());
    assert_int_equal(get(&s, "none.conf", false)->error, ENOENT);
    assert_string_equal(get(&s, "none.conf", false)->reason,
                        "none.conf: No such file or directory");
    assert_int_equal(get(&s, "conf.d", false)->error, EISDIR);
    file_set_fini(&s);
}

/* Nobody may write to it, and its reader would wait for ever. */
static void test_a_pipe_is_read_only_where_it_may_be_one(void **state)
{
    struct file_set s = {.source = &file_source_disk};
    const struct file_set_key device = {.path = "/dev/null", .may_be_pipe = true};

    (void)state;
    assert_int_equal(mkfifo("pipe.conf", 0600), 0);
    assert_int_equal(get(&s, "pipe.conf", false)->error, EINVAL);
    assert_non_null(strstr(get(&s, "pipe.conf", false)->reason, "pipe.conf: is no regular file"));
    assert_int_equal(get(&s, "pipe.conf", true)->error, EINVAL);
    assert_non_null(strstr(get(&s, "pipe.conf", true)->reason, "pipe.conf: is no regular file"));
    assert_int_equal(file_set_read(&s, &device)->error, 0);
    assert_int_equal(unlink("pipe.conf"), 0);
    file_set_fini(&s);
}

static void test_a_file_of_four_mib_is_read_and_a_larger_one_is_not(void **state)
{
    struct file_set s = {.source = &file_source_disk};

    (void)state;
    conf_files_write("conf.d/a.conf", "");
    conf_files_write("conf.d/b.conf", "");
    assert_int_equal(truncate("conf.d/a.conf", FILE_SET_TEXT_MAX), 0);
    assert_int_equal(truncate("conf.d/b.conf", FILE_SET_TEXT_MAX + 1), 0);
    assert_int_equal(get(&s, "conf.d/a.conf", false)->text.len, FILE_SET_TEXT_MAX);
    assert_int_equal(get(&s, "conf.d/b.conf", false)->error, EFBIG);
    assert_int_equal(get(&s, "conf.d/b.conf", false)->text.len, 0);
    file_set_fini(&s);
}

/* Only a file that root reads with a check of its owner may be secret. */
static void test_root_trusts_only_where_it_is_asked_to(void **state)
{
    struct file_set s = {.source = &file_source_disk};

    (void)state;
    if (geteuid() != 0)
        skip();
    conf_files_write("main.conf", "x");
    assert_int_equal(chown("main.conf", 4242, 4242), 0);
    assert_int_equal(get(&s, "main.conf", false)->error, 0);
    assert_int_equal(get(&s, "main.conf", false)->owner, 4242);
    assert_int_equal(get(&s, "main.conf", true)->error, EPERM);
    assert_int_equal(get(&s, "main.conf", true)->text.len, 0);
    const struct file_set_key key = {
        .path = "main.conf", .trusted = true, .owners = {0, 4242}
    };
    assert_int_equal(file_set_read(&s, &key)->error, 0);
    file_set_fini(&s);
}

static void test_patterns(void **state)
{
    struct file_set s = {.source = &file_source_disk};

    (void)state;
    conf_files_write("conf.d/b.conf", "");
    conf_files_write("conf.d/a.conf", "");
    conf_files_write("conf.d/c.txt", "");
    const struct file_set_names *names = file_set_match(&s, "conf.d/*.conf");
    assert_int_equal(names->error, 0);
    assert_int_equal(names->n, 2);
    assert_string_equal(names->v[0], "conf.d/a.conf");
    assert_int_equal(file_set_match(&s, "none.d/*.conf")->n, 0);
    assert_int_equal(file_set_match(&s, "none.d/*.conf")->error, 0);
    assert_int_equal(file_set_match(&s, "conf.d/a.conf/*")->error, 0);
    file_set_fini(&s);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, conf_files_enter, conf_files_leave)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(test_texts_and_owners),
        IN_FOLDER(test_a_pipe_is_read_only_where_it_may_be_one),
        IN_FOLDER(test_a_file_of_four_mib_is_read_and_a_larger_one_is_not),
        IN_FOLDER(test_root_trusts_only_where_it_is_asked_to),
        IN_FOLDER(test_patterns),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
