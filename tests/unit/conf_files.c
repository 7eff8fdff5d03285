/* SPDX-License-Identifier: Apache-2.0 */
#include "conf_files.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "conf/conf_print.h"
#include "helper/file_source.h"

int conf_files_enter(void **state)
{
    char *folder = mem_strdup("/tmp/test_conf.XXXXXX");

    assert_non_null(mkdtemp(folder));
    assert_int_equal(chdir(folder), 0);
    assert_int_equal(mkdir("conf.d", 0700), 0);
    *state = folder;
    return 0;
}

int conf_files_leave(void **state)
{
    static const char *const files[] = {"main.conf", "conf.d/a.conf", "conf.d/b.conf",
                                        "conf.d/c.txt"};

    for (size_t i = 0; i < ARRAY_LEN(files); i++)
        (void)unlink(files[i]);
    assert_int_equal(rmdir("conf.d"), 0);
    assert_int_equal(chdir("/"), 0);
    assert_int_equal(rmdir(*state), 0);
    free(*state);
    return 0;
}

void conf_files_write(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");

    assert_non_null(f);
    assert_int_equal(fputs(text, f) >= 0, 1);
    assert_int_equal(fclose(f), 0);
}

struct conf *conf_files_try(const char *path, struct problems *p)
{
    struct file_set files = {.source = &file_source_disk};
    struct conf *c = conf_read(&files, path, p);

    file_set_fini(&files);
    return c;
}

struct conf *conf_files_read(const char *path)
{
    struct problems p = {0};
    struct buf out = {0};
    struct conf *c = conf_files_try(path, &p);

    problems_put(&p, &out);
    assert_string_equal(buf_cstr(&out), "");
    assert_non_null(c);
    problems_free(&p);
    buf_free(&out);
    return c;
}

static void print(const char *text, struct buf *out)
{
    conf_files_write("main.conf", text);
    struct conf *c = conf_files_read("main.conf");
    conf_print(c, out);
    conf_destroy(&c);
}

void conf_files_print(const char *text, struct buf *out)
{
    struct buf again = {0};

    print(text, out);
    print(buf_cstr(out), &again);
    assert_string_equal(buf_cstr(out), buf_cstr(&again));
    buf_free(&again);
}

void conf_files_expect(const char *path, const char *problems)
{
    struct problems p = {0};
    struct buf out = {0};
    struct conf *c = conf_files_try(path, &p);

    problems_put(&p, &out);
    assert_string_equal(buf_cstr(&out), problems);
    assert_int_equal(c == NULL, problems[0] != '\0');
    conf_destroy(&c);
    problems_free(&p);
    buf_free(&out);
}

void conf_files_expect_each(const struct conf_files_mistake *mistakes, size_t n, const char *before,
                            const char *behind)
{
    for (size_t i = 0; i < n; i++) {
        char *text =
            mem_printf("%s%s %s%s", CONF_FILES_WATCH, before, mistakes[i].settings, behind);
        char *expected = mem_printf("main.conf:3: %s\n", mistakes[i].problem);

        conf_files_write("main.conf", text);
        conf_files_expect("main.conf", expected);
        free(text);
        free(expected);
    }
}
