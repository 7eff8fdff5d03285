/* SPDX-License-Identifier: Apache-2.0 */
/* --check --with: a file in the place of another one of the configuration. */
#include "conf/stand_in.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "conf_files.h"
#include "helper/file_source.h"

#define INCLUDE "include = [ \"conf.d/*.conf\" ];\n"
#define WATCH                                         \
    "clusters : { c : { kubeconfig = \"/k\"; }; };\n" \
    "watches : { w : { resource = \"nodes\"; }; };\n"
#define HOOK(name, program) \
    "hooks : { " name " : { sources = [ \"w\" ]; command = [ \"" program "\" ]; }; };\n"

static int enter(void **state)
{
    int failed = conf_files_enter(state);

    conf_files_write("main.conf", INCLUDE WATCH);
    conf_files_write("conf.d/a.conf", HOOK("a", "/bin/a"));
    conf_files_write("conf.d/c.txt", HOOK("new", "/bin/new"));
    return failed;
}

static struct conf *read_with(const char *main_file, const char *with, struct buf *told)
{
    struct file_set files = {.source = &file_source_disk};
    struct problems p = {0};
    struct conf *c = stand_in_read(&files, main_file, with, &p);

    problems_put(&p, told);
    problems_free(&p);
    file_set_fini(&files);
    return c;
}

/* Reads main.conf with this file and expects these problems. */
static void expect_told(const char *with, const char *expected)
{
    struct buf told = {0};
    struct conf *c = read_with("main.conf", with, &told);

    assert_string_equal(buf_cstr(&told), expected);
    assert_null(c);
    buf_free(&told);
}

/* Reads main.conf with this file, and expects these files and hooks, each with a blank behind it. */
static void expect_conf(const char *with, const char *files, const char *hooks)
{
    struct buf told = {0};
    struct conf *c = read_with("main.conf", with, &told);

    assert_string_equal(buf_cstr(&told), "");
    for (size_t i = 0; i < c->n_files; i++)
        buf_printf(&told, "%s=%s%s ", c->files[i].path, c->files[i].shown,
                   c->files[i].stands_in ? "!" : "");
    assert_string_equal(buf_cstr(&told), files);
    buf_clear(&told);
    for (size_t i = 0; i < c->n_hooks; i++)
        buf_printf(&told, "%s ", c->hooks[i].name.v);
    assert_string_equal(buf_cstr(&told), hooks);
    buf_free(&told);
    conf_destroy(&c);
}

static void test_the_file_of_the_same_name_is_not_read(void **state)
{
    (void)state;
    assert_int_equal(rename("conf.d/c.txt", "b.conf"), 0);
    conf_files_write("conf.d/b.conf", "this is no configuration");
    expect_conf("b.conf", "main.conf=main.conf conf.d/a.conf=conf.d/a.conf conf.d/b.conf=b.conf! ",
                "a new ");
    expect_conf("./b.conf",
                "main.conf=main.conf conf.d/a.conf=conf.d/a.conf conf.d/b.conf=./b.conf! ",
                "a new ");
    assert_int_equal(unlink("b.conf"), 0);
}

static void test_a_temporary_file_stands_for_the_name_before_it(void **state)
{
    (void)state;
    expect_conf("a.conf=conf.d/c.txt", "main.conf=main.conf conf.d/a.conf=conf.d/a.conf! ", "new ");
    expect_conf("conf.d/a.conf=conf.d/c.txt", "main.conf=main.conf conf.d/a.conf=conf.d/a.conf! ",
                "new ");
}

static void test_a_new_name_is_added_in_its_order(void **state)
{
    (void)state;
    expect_conf("0.conf=conf.d/c.txt",
                "main.conf=main.conf conf.d/0.conf=conf.d/0.conf! conf.d/a.conf=conf.d/a.conf ",
                "new a ");
    expect_conf("conf.d/b.conf=conf.d/c.txt",
                "main.conf=main.conf conf.d/a.conf=conf.d/a.conf conf.d/b.conf=conf.d/b.conf! ",
                "a new ");
}

static void test_the_main_file_has_a_name_as_well(void **state)
{
    (void)state;
    conf_files_write("conf.d/c.txt", INCLUDE WATCH "node_name = \"n\";\n");
    expect_conf("main.conf=conf.d/c.txt", "main.conf=main.conf! conf.d/a.conf=conf.d/a.conf ",
                "a ");
    expect_conf("main.conf", "main.conf=main.conf conf.d/a.conf=conf.d/a.conf ", "a ");
}

static void test_messages_name_what_the_user_edits(void **state)
{
    (void)state;
    conf_files_write("conf.d/c.txt", "\nhooks : { n : { shell = \"x\"; }; };\n");
    expect_told("a.conf=conf.d/c.txt", "conf.d/a.conf:2: hooks.n.sources is required\n");
    assert_int_equal(rename("conf.d/c.txt", "a.conf"), 0);
    expect_told("a.conf", "a.conf:2: hooks.n.sources is required\n");
    assert_int_equal(unlink("a.conf"), 0);
}

static void test_the_rest_of_the_configuration_is_checked_against_it(void **state)
{
    (void)state;
    conf_files_write("conf.d/b.conf", HOOK("b", "/bin/b") "limits : { pending = \"1s\"; };\n");
    conf_files_write("conf.d/c.txt", HOOK("b", "/bin/b") "limits : { pending = \"1s\"; };\n");
    expect_told("a.conf=conf.d/c.txt",
                "conf.d/b.conf:1: hooks.b is there already: conf.d/a.conf:1\n"
                "conf.d/b.conf:2: limits.pending is there already: conf.d/a.conf:2\n");
}

#define NO_PLACE(name)                                                                     \
    "stands for no file of the configuration: none is called " name ", and no pattern of " \
    "include matches that name; write --with NAME=FILE with the name that it will have\n"

static void test_a_name_that_nothing_would_read_is_a_problem(void **state)
{
    (void)state;
    expect_told("conf.d/c.txt", "conf.d/c.txt: " NO_PLACE("c.txt"));
    expect_told(".x.conf=conf.d/c.txt", "conf.d/c.txt: " NO_PLACE(".x.conf"));
    expect_told("conf.e/x.conf=conf.d/c.txt", "conf.d/c.txt: " NO_PLACE("conf.e/x.conf"));
    conf_files_write("main.conf", "include = [ ];\n");
    expect_told("a.conf=conf.d/c.txt", "conf.d/c.txt: " NO_PLACE("a.conf"));
}

static void test_a_new_name_needs_a_pattern_of_one_folder(void **state)
{
    (void)state;
    conf_files_write("main.conf", "include = [ \"c*.d/*.conf\" ];\n");
    expect_told("x.conf=conf.d/c.txt", "conf.d/c.txt: " NO_PLACE("x.conf"));
    conf_files_write("main.conf", "include = [ \"c*.d/*.conf\" ];\n" WATCH);
    expect_conf("conf.d/x.conf=conf.d/c.txt",
                "main.conf=main.conf conf.d/a.conf=conf.d/a.conf conf.d/x.conf=conf.d/x.conf! ",
                "a new ");
}

static void test_one_name_in_two_folders_needs_its_path(void **state)
{
    (void)state;
    conf_files_write("main.conf",
                     "include = [ \"conf.d/*.conf\", \"*/a.conf\", \"./*/a.conf\" ];\n");
    expect_told("a.conf=conf.d/c.txt",
                "conf.d/c.txt: conf.d/a.conf and ./conf.d/a.conf are both called a.conf: write "
                "--with PATH=conf.d/c.txt with the one that is meant\n");
}

static void test_a_file_that_cannot_be_read(void **state)
{
    (void)state;
    expect_told("a.conf=none", "none: cannot be read: No such file or directory\n");
    expect_told("conf.d", "conf.d: cannot be read: Is a directory\n");
}

/* The patterns of a main file that cannot be parsed are not known: its own problem is told. */
static void test_a_wrong_main_file_is_told(void **state)
{
    (void)state;
    conf_files_write("main.conf", "user = ;\n");
    expect_told("a.conf=conf.d/c.txt",
                "main.conf:1: syntax error here or shortly before (a missing quote, semicolon or "
                "bracket?); what follows in this file was not checked\n");
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, enter, conf_files_leave)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(test_the_file_of_the_same_name_is_not_read),
        IN_FOLDER(test_a_temporary_file_stands_for_the_name_before_it),
        IN_FOLDER(test_a_new_name_is_added_in_its_order),
        IN_FOLDER(test_the_main_file_has_a_name_as_well),
        IN_FOLDER(test_messages_name_what_the_user_edits),
        IN_FOLDER(test_the_rest_of_the_configuration_is_checked_against_it),
        IN_FOLDER(test_a_name_that_nothing_would_read_is_a_problem),
        IN_FOLDER(test_a_new_name_needs_a_pattern_of_one_folder),
        IN_FOLDER(test_one_name_in_two_folders_needs_its_path),
        IN_FOLDER(test_a_file_that_cannot_be_read),
        IN_FOLDER(test_a_wrong_main_file_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
