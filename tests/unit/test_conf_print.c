/* SPDX-License-Identifier: Apache-2.0 */
/* The configuration that --print-config shows, read again, is the same, value by value. */
#include "conf/conf_print.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "conf/main_conf.h"
#include "conf_files.h"

static void same_list(const void *a, const void *b)
{
    const struct conf_list *left = a;
    const struct conf_list *right = b;

    assert_int_equal(left->n, right->n);
    for (size_t i = 0; i < left->n; i++)
        assert_string_equal(left->v[i].v, right->v[i].v);
}

static void same_map(const void *a, const void *b)
{
    const struct conf_map *left = a;
    const struct conf_map *right = b;

    assert_int_equal(left->n, right->n);
    for (size_t i = 0; i < left->n; i++) {
        assert_string_equal(left->v[i].name, right->v[i].name);
        assert_string_equal(left->v[i].value, right->v[i].value);
    }
}

static void same_ints(const void *a, const void *b)
{
    const struct conf_ints *left = a;
    const struct conf_ints *right = b;

    assert_int_equal(left->n, right->n);
    for (size_t i = 0; i < left->n; i++)
        assert_int_equal(left->v[i].v, right->v[i].v);
}

static void same_str(const void *a, const void *b)
{
    assert_string_equal(((const struct conf_str *)a)->v, ((const struct conf_str *)b)->v);
}

/* The values of the other types are numbers; in memory they follow their place in the file. */
static size_t size_of(enum setting_type type)
{
    static const size_t sizes[] = {
        [SETTING_BOOL] = sizeof(bool),         [SETTING_INT] = sizeof(int64_t),
        [SETTING_NUM] = sizeof(double),        [SETTING_MS] = sizeof(uint64_t),
        [SETTING_SIZE] = sizeof(int64_t),      [SETTING_WORD] = sizeof(int),
        [SETTING_WORDS] = sizeof(int),         [SETTING_CODE] = sizeof(int64_t),
        [SETTING_SPAN] = 2 * sizeof(uint64_t),
    };

    assert_true((size_t)type < ARRAY_LEN(sizes) && sizes[type] > 0);
    return sizes[type];
}

static void same(const struct setting *table, const char *a, const char *b);

static void same_named(const struct setting *s, const char *a, const char *b)
{
    const char *left = NULL;
    const char *right = NULL;
    size_t n = *(const size_t *)(const void *)(a + s->named.count);

    assert_int_equal(n, *(const size_t *)(const void *)(b + s->named.count));
    memcpy(&left, a + s->offset, sizeof(left));
    memcpy(&right, b + s->offset, sizeof(right));
    for (size_t i = 0; i < n; i++) {
        same_str(left + i * s->named.size, right + i * s->named.size);
        same(s->group, left + i * s->named.size, right + i * s->named.size);
    }
}

static void same_value(const struct setting *s, const char *a, const char *b)
{
    if (s->type == SETTING_STR)
        same_str(a, b);
    else if (s->type == SETTING_LIST)
        same_list(a, b);
    else if (s->type == SETTING_MAP)
        same_map(a, b);
    else if (s->type == SETTING_INTS)
        same_ints(a, b);
    else
        assert_memory_equal(a + sizeof(struct where), b + sizeof(struct where), size_of(s->type));
    if (s->written_counts)
        assert_int_equal(((const struct where *)(const void *)a)->line > 0,
                         ((const struct where *)(const void *)b)->line > 0);
}

static void same(const struct setting *table, const char *a, const char *b)
{
    for (; table->key != NULL; table++) {
        if (table->type == SETTING_NAMED)
            same_named(table, a, b);
        else if (table->type == SETTING_GROUP)
            same(table->group, a + table->offset, b + table->offset);
        else if (strcmp(table->key, "include") != 0)
            same_value(table, a + table->offset, b + table->offset);
    }
}

/* Reads path, prints the configuration, writes the text to main.conf, reads and prints that again.
 * The caller frees the text. */
static char *expect_round_trip(const char *path)
{
    struct conf *first = conf_files_read(path);
    struct buf text = {0};
    struct buf again = {0};

    conf_print(first, &text);
    conf_files_write("main.conf", buf_cstr(&text));
    struct conf *second = conf_files_read("main.conf");
    assert_int_equal(second->n_files, 1);
    assert_int_equal(second->include.n, 0);
    same(main_conf_settings, (const char *)first, (const char *)second);
    conf_print(second, &again);
    assert_string_equal(buf_cstr(&again), buf_cstr(&text));
    buf_free(&again);
    conf_destroy(&first);
    conf_destroy(&second);
    return text.data;
}

static void expect_in(const char *text, const char *part)
{
    if (strstr(text, part) == NULL)
        fail_msg("\"%s\" is not in\n%s", part, text);
}

static void test_every_kind_of_value(void **state)
{
    (void)state;
    conf_files_write(
        "main.conf",
        "user = \"a\\\"b\\\\c\\n\\td\\x01\xc3\xbc@include # x\"; log : { level = \"trace\"; };\n"
        "limits : { object_size = \"1025KiB\"; stop_timeout = \"0s\"; hook_concurrency = 999; };\n"
        "clusters : { c : { servers = [ \"https://h\" ]; tuning : { page_size = 500;\n"
        "  watch_timeout = [ \"1500ms\", \"1h\" ]; watch_list = \"off\";\n"
        "  backoff : { factor = 3; jitter = 0.30000000000000004; max = \"90s\"; }; }; }; };\n"
        "watches : { w : { resource = \"pods\"; namespaces = [ \"*\" ]; match = [ \"a='\\\\\\\"'\","
        " \"!b\" ]; audit = \"2d\"; confirm_deletes = true; guard : { relist_deletes = \"off\"; };"
        " }; };\n"
        "views : { v : { type = \"service_endpoints\"; services = \"w\"; slices = \"w\";\n"
        "  local_only = true; hold_empty = \"90s\"; }; };\n"
        "hooks : { h : { sources = [ \"w\", \"v\" ]; shell = \"a\"; mode = \"snapshot\"; umask = "
        "\"7\";\n"
        "  kill_signal = \"SIGWINCH\"; memory_max = \"65536KiB\"; cpu_max = \"50%\"; events = [ "
        "\"fresh\", \"left\" ];\n"
        "  environment : { A = \"1\\r\"; B = \"${node_name}\"; }; }; };\n");
    char *text = expect_round_trip("main.conf");

    expect_in(text, "user = \"a\\\"b\\\\c\\n\\td\\x01\xc3\xbc@include # x\";\n");
    expect_in(text, "object_size = \"1025KiB\";\n");
    expect_in(text, "stop_timeout = \"0s\";\n");
    expect_in(text, "\n      page_size = 500;\n");
    expect_in(text, "watch_timeout = [ \"1500ms\", \"1h\" ];\n");
    expect_in(text, "watch_list = \"off\";\n");
    expect_in(text, "factor = 3.0;\n");
    expect_in(text, "jitter = 0.30000000000000004;\n");
    expect_in(text, "max = \"90s\";\n");
    expect_in(text, "cluster = \"c\";\n");
    expect_in(text, "match = [ \"a='\\\\\\\"'\", \"!b\" ];\n");
    expect_in(text, "keep = [ ];\n");
    expect_in(text, "relist_deletes = \"off\";\n");
    expect_in(text, "confirm_deletes = true;\n");
    expect_in(text, "audit = \"2d\";\n");
    expect_in(text, "  v : {\n    type = \"service_endpoints\";\n    services = \"w\";\n"
                    "    slices = \"w\";\n    local_only = true;\n"
                    "    hold_empty = \"90s\";\n  };\n");
    expect_in(text, "settle = [ \"200ms\", \"2s\" ];\n");
    expect_in(text, "umask = \"0007\";\n");
    expect_in(text, "kill_signal = \"WINCH\";\n");
    expect_in(text, "memory_max = \"64MiB\";\n");
    expect_in(text, "pids_max = \"infinity\";\n");
    expect_in(text, "cpu_max = \"50%\";\n");
    expect_in(text, "leave = \"keep\";\n");
    expect_in(text, "events = [ \"left\", \"fresh\" ];\n");
    expect_in(text, "environment : { A = \"1\\r\"; B = \"${node_name}\"; };\n");
    free(text);
}

static void test_every_hook_setting(void **state)
{
    (void)state;
    conf_files_write(
        "main.conf",
        "limits : { pending = \"90s\"; }; clusters : { c : { kubeconfig = \"/k\"; }; };\n"
        "watches : { w : { resource = \"nodes\"; }; };\n"
        "hooks : { a : { sources = [ \"w\" ]; shell = \"a\"; require = \"any\"; when_stale = "
        "\"wait\";\n"
        "  fields : { PORT = \"spec.ports[0].port\"; A_1 = \"metadata.annotations['a/b\\\\'c']\"; "
        "};\n"
        "  after = [ \"b\", \"d\" ]; min_interval = \"1500ms\"; splay = \"2min\"; rerun_every = "
        "\"6h\";\n"
        "  retry : { attempts = 3; }; park_exit = [ 2, 255, 1 ]; include_old = true;\n"
        "  log_limit = \"1MiB\"; input_version = 1; };\n"
        " b : { sources = [ \"w\" ]; shell = \"a\"; mode = \"batch\"; };\n"
        " d : { sources = [ \"w\" ]; shell = \"a\"; retry : { attempts = \"forever\"; }; }; };\n");
    char *text = expect_round_trip("main.conf");

    expect_in(text, "  pending = \"90s\";\n");
    expect_in(text, "    fields : { PORT = \"spec.ports[0].port\"; "
                    "A_1 = \"metadata.annotations['a/b\\\\'c']\"; };\n");
    expect_in(
        text,
        "    require = \"any\";\n    when_stale = \"wait\";\n    after = [ \"b\", \"d\" ];\n");
    expect_in(text,
              "    min_interval = \"1500ms\";\n    splay = \"2min\";\n    rerun_every = \"6h\";\n");
    expect_in(text, "      attempts = 3;\n    };\n    park_exit = [ 2, 255, 1 ];\n");
    expect_in(text, "    include_old = true;\n    log_limit = \"1MiB\";\n    log_secrets = "
                    "false;\n    input_version = 1;\n");
    expect_in(text, "    mode = \"batch\";\n");
    /* Written, it would count for apply, too. */
    expect_in(text, "    # settle = [ \"200ms\", \"2s\" ];\n    min_interval = \"0s\";\n"
                    "    splay = \"0s\";\n    rerun_every = \"off\";\n");
    expect_in(text, "      attempts = \"forever\";\n    };\n    park_exit = [ ];\n");
    expect_in(text, "    fields : { };\n    existing = \"run\";\n    effect = \"disk\";\n"
                    "    files = [ ];\n    require = \"all\";\n    when_stale = \"run\";\n"
                    "    after = [ ];\n");
    expect_in(text, "    include_old = false;\n    log_limit = \"64KiB\";\n    log_secrets = "
                    "false;\n    input_version = 1;\n");
    free(text);
}

static void test_included_files_are_united(void **state)
{
    (void)state;
    conf_files_write("conf.d/a.conf", "hooks : { a : { sources = [ \"w\" ]; shell = \"a\"; }; };");
    conf_files_write("conf.d/b.conf", "hooks : { b : { sources = [ \"w\" ]; shell = \"b\"; }; };");
    conf_files_write(
        "main.conf",
        "clusters : { c : { kubeconfig = \"/k\"; }; };\n"
        "watches : { w : { resource = \"nodes\"; guard : { relist_deletes = \"7%\"; }; }; };\n");
    char *text = expect_round_trip("main.conf");

    expect_in(text, "include = [ ];\n");
    expect_in(text, "  a : {\n    sources = [ \"w\" ];\n");
    expect_in(text, "  b : {\n    sources = [ \"w\" ];\n");
    expect_in(text, "      relist_deletes = \"7%\";\n");
    expect_in(text, "    audit = \"off\";\n");
    expect_in(text, "\n      # page_size = 500;\n");
    free(text);
}

static void test_nothing_at_all(void **state)
{
    (void)state;
    conf_files_write("main.conf", "");
    char *text = expect_round_trip("main.conf");

    expect_in(text, "user = \"informerd\";\n");
    expect_in(text, "clusters : {\n};\nwatches : {\n};\nviews : {\n};\nhooks : {\n};\n\n"
                    "# Connections that stay open, one per scope: 0\n");
    free(text);
}

static void test_connections_are_counted(void **state)
{
    (void)state;
    conf_files_write(
        "main.conf",
        "clusters : { c1 : { kubeconfig = \"/k\"; }; c2 : { kubeconfig = \"/k\";\n"
        "  tuning : { list_concurrency = 9; }; }; };\n"
        "watches : { all : { cluster = \"c1\"; resource = \"pods\"; namespaces = [ \"*\" ]; };\n"
        "  six : { cluster = \"c2\"; resource = \"pods\"; namespaces = [ \"a\", \"b\" ];\n"
        "    names = [ \"x\", \"y\", \"z\" ]; };\n"
        "  same : { cluster = \"c1\"; resource = \"pods\"; namespaces = [ \"*\" ]; };\n"
        "  nodes : { cluster = \"c1\"; resource = \"nodes\"; }; };\n");
    char *text = expect_round_trip("main.conf");

    expect_in(text, "\n# Connections that stay open, one per scope: 8\n"
                    "#   clusters.c1: 2, and for lists up to 4 more at a time (list_concurrency)\n"
                    "#     watches.all: 1\n"
                    "#     watches.same: shares those of watches.all\n"
                    "#     watches.nodes: 1\n"
                    "#   clusters.c2: 6, and for lists up to 9 more at a time (list_concurrency)\n"
                    "#     watches.six: 6\n");
    free(text);
}

static void test_shipped_configuration(void **state)
{
    (void)state;
    char *text = expect_round_trip(TEST_DATA "/../../config/informerd.conf");

    expect_in(text, "one per scope: 2\n");
    free(text);
}

/* Copies a file of the demo; @DIR@ in it becomes "/d". */
static void copy_demo(const char *from, const char *to)
{
    char *path = mem_printf("%s/../demo/config/%s", TEST_DATA, from);
    FILE *f = fopen(path, "r");
    char bytes[8192];
    struct buf text = {0};

    assert_non_null(f);
    bytes[fread(bytes, 1, sizeof(bytes) - 1, f)] = '\0';
    assert_true(feof(f));
    fclose(f);
    const char *rest = bytes;
    for (const char *at = strstr(rest, "@DIR@"); at != NULL; at = strstr(rest, "@DIR@")) {
        buf_append(&text, rest, (size_t)(at - rest));
        buf_puts(&text, "/d");
        rest = at + strlen("@DIR@");
    }
    buf_puts(&text, rest);
    conf_files_write(to, buf_cstr(&text));
    buf_free(&text);
    free(path);
}

static void test_demo_configuration(void **state)
{
    (void)state;
    copy_demo("informerd.conf", "main.conf");
    copy_demo("conf.d/10-loadbalancer.conf", "conf.d/a.conf");
    copy_demo("conf.d/20-journal.conf", "conf.d/b.conf");
    char *text = expect_round_trip("main.conf");

    expect_in(text, "kubeconfig = \"/d/kubeconfig\";\n");
    expect_in(text, "shell = \"echo \\\"$INFORMERD_EVENT $INFORMERD_NAMESPACE/");
    expect_in(text, "one per scope: 2\n");
    free(text);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, conf_files_enter, conf_files_leave)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(test_every_kind_of_value),       IN_FOLDER(test_every_hook_setting),
        IN_FOLDER(test_included_files_are_united), IN_FOLDER(test_nothing_at_all),
        IN_FOLDER(test_connections_are_counted),   IN_FOLDER(test_shipped_configuration),
        IN_FOLDER(test_demo_configuration),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
