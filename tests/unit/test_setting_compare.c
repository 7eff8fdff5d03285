/* SPDX-License-Identifier: Apache-2.0 */
/* Which settings differ between two structs: by their values, not by their places in the files. */
#include "conf/setting_compare.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/mem.h"
#include "conf/main_conf.h"
#include "conf_files.h"

static void put(void *arg, const struct setting_difference *d)
{
    static const char *const classes[] = {"", " in place", " renews", " restarts"};
    struct buf *out = arg;

    assert_int_equal(d->a == NULL, d->row->type == SETTING_NAMED);
    assert_int_equal(d->b == NULL, d->row->type == SETTING_NAMED);
    buf_printf(out, "%s%s; ", d->key, classes[d->change]);
}

static struct conf *read_conf(const char *text)
{
    conf_files_write("main.conf", text);
    return conf_files_read("main.conf");
}

static void expect(const char *a, const char *b, const char *differences)
{
    struct buf out = {0};
    struct conf *x = read_conf(a);
    struct conf *y = read_conf(b);

    setting_compare(main_conf_settings, x, y, put, &out);
    assert_string_equal(buf_cstr(&out), differences);
    buf_free(&out);
    conf_destroy(&x);
    conf_destroy(&y);
}

static void expect_hooks(const char *a, const char *b, const char *differences)
{
    struct buf out = {0};
    char *text[2] = {
        mem_printf("%shooks : { h : { %s %s }; };", CONF_FILES_WATCH, CONF_FILES_HOOK, a),
        mem_printf("%shooks : { h : { %s %s }; };", CONF_FILES_WATCH, CONF_FILES_HOOK, b)};
    struct conf *x = read_conf(text[0]);
    struct conf *y = read_conf(text[1]);

    setting_compare(hook_conf_settings, &x->hooks[0], &y->hooks[0], put, &out);
    assert_string_equal(buf_cstr(&out), differences);
    buf_free(&out);
    conf_destroy(&x);
    conf_destroy(&y);
    free(text[0]);
    free(text[1]);
}

static void test_equal_settings(void **state)
{
    (void)state;
    expect("", "", "");
    expect("user = \"u\"; log : { level = \"debug\"; };",
           "\n\nlog : { level = \"debug\"; };\n user = \"u\";", "");
    expect("", "user = \"informerd\"; limits : { pending = \"600s\"; };", "");
}

/* Values of each kind; keys come in the order of the table, with their groups and classes. */
static void test_other_values(void **state)
{
    (void)state;
    expect("", "limits : { object_size = \"1MiB\"; hook_concurrency = 3; pending = \"1s\"; };",
           "limits.object_size; limits.hook_concurrency; limits.pending; ");
    expect("user = \"u\"; control : { group = \"g\"; };", "log : { level = \"debug\"; };",
           "user restarts; log.level; control.group restarts; ");
    expect("include = [ \"a\", \"b\" ];", "include = [ \"b\", \"a\" ];", "include; ");
    expect("include = [ \"a\", \"b\" ];", "include = [ \"a\" ];", "include; ");
    expect_hooks("", "retry : { max = \"1h\"; factor = 3.0; };",
                 "retry.factor in place; retry.max in place; ");
    expect_hooks("settle = [ \"1s\", \"2s\" ];", "settle = [ \"1s\", \"3s\" ];",
                 "settle in place; ");
    expect_hooks("settle = [ \"1s\", \"3s\" ];", "settle = [ \"2s\", \"3s\" ];",
                 "settle in place; ");
    expect_hooks("", "events = [ \"added\" ]; include_old = true; mode = \"batch\";",
                 "mode renews; events renews; settle in place; include_old renews; ");
    expect_hooks("umask = \"0022\"; park_exit = [ 1, 2 ];", "umask = \"0077\"; park_exit = [ 2 ];",
                 "park_exit in place; umask renews; ");
    expect_hooks("park_exit = [ 1, 2 ];", "park_exit = [ 1, 3 ];", "park_exit in place; ");
}

static void test_order_of_a_map_does_not_count(void **state)
{
    (void)state;
    expect_hooks("environment : { A = \"1\"; B = \"2\"; };",
                 "environment : { B = \"2\"; A = \"1\"; };", "");
    expect_hooks("environment : { A = \"1\"; B = \"2\"; };",
                 "environment : { A = \"2\"; B = \"1\"; };", "environment renews; ");
    expect_hooks("environment : { A = \"1\"; B = \"2\"; };",
                 "environment : { A = \"1\"; C = \"2\"; };", "environment renews; ");
    expect_hooks("environment : { A = \"1\"; };", "environment : { A = \"1\"; B = \"2\"; };",
                 "environment renews; ");
}

/* A page_size that the user wrote counts for more lists than the default does, and a settle for
 * apply. */
static void test_whether_it_is_written_counts_where_the_row_says_so(void **state)
{
    (void)state;
    expect("clusters : { c : { kubeconfig = \"/k\"; tuning : { list_concurrency = 4; }; }; };",
           "clusters : { c : { kubeconfig = \"/k\"; }; };", "");
    expect("clusters : { c : { kubeconfig = \"/k\"; tuning : { page_size = 500; }; }; };",
           "clusters : { c : { kubeconfig = \"/k\"; }; };", "clusters; ");
    expect_hooks("", "settle = [ \"0s\", \"0s\" ];", "settle in place; ");
}

static void test_named_groups_are_one_setting(void **state)
{
    static const char a[] = "clusters : { c : { server : { x : { url = \"https://x\"; };\n"
                            "  y : { url = \"https://y\"; }; }; }; };";

    (void)state;
    expect(a, a, "");
    expect(a,
           "clusters : { c : { server : { x : { url = \"https://x\"; };\n"
           "  y : { url = \"https://y\"; tier = 2; }; }; }; };",
           "clusters; ");
    expect(a,
           "clusters : { c : { server : { x : { url = \"https://x\"; };\n"
           "  z : { url = \"https://y\"; }; }; }; };",
           "clusters; ");
    expect(a,
           "clusters : { c : { server : { y : { url = \"https://y\"; };\n"
           "  x : { url = \"https://x\"; }; }; }; };",
           "clusters; ");
    expect(a, "clusters : { c : { server : { x : { url = \"https://x\"; }; }; }; };", "clusters; ");
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, conf_files_enter, conf_files_leave)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(test_equal_settings),
        IN_FOLDER(test_other_values),
        IN_FOLDER(test_order_of_a_map_does_not_count),
        IN_FOLDER(test_whether_it_is_written_counts_where_the_row_says_so),
        IN_FOLDER(test_named_groups_are_one_setting),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
