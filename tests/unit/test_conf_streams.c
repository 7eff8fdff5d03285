/* SPDX-License-Identifier: Apache-2.0 */
/* The settings about how a cache is kept equal to the server: good values, bad values, and watches
 * that share their scopes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/mem.h"
#include "campaign.h"
#include "conf/conf_print.h"
#include "conf_files.h"

/* A row of a table (clang-format 14 crashes on some with braces). */
#define ROW(...)    \
    {               \
        __VA_ARGS__ \
    }

#define CLUSTER "clusters : { c : { kubeconfig = \"/k\"; }; };\n"

static void test_all_cluster_settings(void **state)
{
    (void)state;
    conf_files_write(
        "main.conf",
        "clusters : { c : { kubeconfig = \"/k\"; stale_after = \"2min\"; tuning : {\n"
        " bookmark_timeout = \"75s\"; start_jitter = \"10s\"; relist_jitter = \"1h\";\n"
        " watch_list = \"on\"; }; }; };");
    struct conf *c = conf_files_read("main.conf");
    const struct conf_tuning *t = &c->clusters[0].tuning;

    assert_int_equal(c->clusters[0].stale_after.v, 120000);
    assert_int_equal(t->bookmark_timeout.v, 75000);
    assert_int_equal(t->bookmark_timeout.at.line, 2);
    assert_int_equal(t->start_jitter.v, 10000);
    assert_int_equal(t->relist_jitter.v, 3600000);
    assert_int_equal(t->watch_list.v, CONF_WATCH_LIST_ON);
    assert_int_equal(t->watch_list.at.line, 3);
    conf_destroy(&c);
}

static void test_all_watch_settings(void **state)
{
    (void)state;
    conf_files_write("main.conf",
                     CLUSTER "watches : { w : { resource = \"pods\"; namespaces = [ \"*\" ];\n"
                             " match = [ \"spec.nodeName=${node_name}\",\n"
                             "           \"!spec.x\" ]; keep = [ \"spec\" ]; drop = [ \"spec.a\",\n"
                             " \"spec.b\" ]; guard : { relist_deletes = \"off\"; at_least = 0;\n"
                             " hold = \"0s\"; }; confirm_deletes = true; audit = \"6h\"; }; };");
    struct conf *c = conf_files_read("main.conf");
    const struct conf_watch *w = &c->watches[0];

    assert_int_equal(w->match.n, 2);
    assert_string_equal(w->match.v[0].v, "spec.nodeName=${node_name}");
    assert_int_equal(w->match.v[1].at.line, 4);
    assert_int_equal(w->keep.n, 1);
    assert_int_equal(w->drop.n, 2);
    assert_string_equal(w->drop.v[1].v, "spec.b");
    assert_int_equal(w->drop.v[1].at.line, 5);
    assert_int_equal(w->guard.relist_deletes.v, CONF_GUARD_OFF);
    assert_int_equal(w->guard.at_least.v, 0);
    assert_int_equal(w->guard.hold.v, 0);
    assert_int_equal(w->guard.hold.at.line, 6);
    assert_true(w->confirm_deletes.v);
    assert_int_equal(w->audit.v, 21600000);
    conf_destroy(&c);
}

static const struct {
    const char *text;
    int64_t share;
} shares[] = {
    ROW("0%", 0),
    ROW("1%", 1),
    ROW("100%", 100),
    ROW("off", CONF_GUARD_OFF),
};

static void test_share_that_a_list_may_delete(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(shares); i++) {
        char *text = mem_printf(CLUSTER "watches : { w : { resource = \"pods\";\n"
                                        " guard : { relist_deletes = \"%s\"; }; }; };",
                                shares[i].text);

        conf_files_write("main.conf", text);
        struct conf *c = conf_files_read("main.conf");
        assert_int_equal(c->watches[0].guard.relist_deletes.v, shares[i].share);
        conf_destroy(&c);
        free(text);
    }
}

static const struct {
    const char *text;
    const char *problem;
} cluster_rows[] = {
    ROW("stale_after = 30;", "stale_after must be a duration in quotes, such as \"30s\", not a "
                             "whole number"),
    ROW("stale_after = \"0s\";", "stale_after: \"0s\" is out of range: 1ms to 366d"),
    ROW("stale_after = \"off\";", "stale_after: \"off\" is no duration: a whole number and ms, s, "
                                  "min, h or d, such as \"30s\""),
    ROW("tuning : { bookmark_timeout = \"0s\"; };",
        "tuning.bookmark_timeout: \"0s\" is out of range: 1ms to 366d"),
    ROW("tuning : { start_jitter = \"367d\"; };",
        "tuning.start_jitter: \"367d\" is out of range: 0s to 366d"),
    ROW("tuning : { relist_jitter = 0.5; };",
        "tuning.relist_jitter must be a duration in quotes, such as \"30s\", not a number"),
    ROW("tuning : { watch_list = \"always\"; };",
        "tuning.watch_list: \"always\" is not one of auto, on, off"),
    ROW("tuning : { watch_list = true; };",
        "tuning.watch_list must be a word in quotes, not true or false"),
};

static void test_wrong_cluster_settings(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cluster_rows); i++) {
        char *text = mem_printf("clusters : { c : { kubeconfig = \"/k\";\n %s\n }; };",
                                cluster_rows[i].text);
        char *problem = mem_printf("main.conf:2: clusters.c.%s\n", cluster_rows[i].problem);

        conf_files_write("main.conf", text);
        conf_files_expect("main.conf", problem);
        free(text);
        free(problem);
    }
}

#define SHARE "a whole percentage up to \"100%\", or \"off\""

/* The mistake stands in the text that is put on lines 3 and 4. */
static const struct {
    const char *text;
    int line;
    const char *problem;
} watch_rows[] = {
    ROW("match = \"a=b\";", 3,
        "match must be an array of strings, such as [ \"a\", \"b\" ], not a string"),
    ROW("match = [ \"a\",\n \"\" ];", 4, "match[1]: \"\" must not be empty"),
    ROW("match = [ \"a\",\n \"a=${node}\" ];", 4,
        "match[1]: \"a=${node}\" names an unknown variable: only ${node_name} is replaced"),
    ROW("keep = [ 1 ];", 3, "keep[0] must be a string in quotes, not a whole number"),
    ROW("keep = [ \"a\",\n \"\" ];", 4, "keep[1]: \"\" must not be empty"),
    ROW("drop = [\n \"\" ];", 4, "drop[0]: \"\" must not be empty"),
    ROW("guard = \"off\";", 3, "guard must be a group { }, not a string"),
    ROW("guard : {\n holds = \"1s\"; };", 4, NULL),
    ROW("guard : {\n relist_deletes = 50; };", 4,
        "guard.relist_deletes must be " SHARE ", not a whole number"),
    ROW("guard : { relist_deletes = \"50\"; };", 3, "guard.relist_deletes: \"50\" is not " SHARE),
    ROW("guard : { relist_deletes = \"101%\"; };", 3,
        "guard.relist_deletes: \"101%\" is not " SHARE),
    ROW("guard : { relist_deletes = \"-1%\"; };", 3, "guard.relist_deletes: \"-1%\" is not " SHARE),
    ROW("guard : { relist_deletes = \"never\"; };", 3,
        "guard.relist_deletes: \"never\" is not " SHARE),
    ROW("guard : { at_least = -1; };", 3, "guard.at_least: -1 is out of range: 0 to 1000000"),
    ROW("guard : { at_least = \"10\"; };", 3,
        "guard.at_least must be a whole number without quotes, not a string"),
    ROW("guard : {\n hold = \"off\"; };", 4,
        "guard.hold: \"off\" is no duration: a whole number and ms, s, min, h or d, such as "
        "\"30s\""),
    ROW("confirm_deletes = \"true\";", 3, "confirm_deletes must be true or false, not a string"),
    ROW("audit = false;", 3,
        "audit must be a duration in quotes, such as \"30s\", or \"off\", not true or false"),
    ROW("audit = \"0s\";", 3, "audit: \"0s\" is out of range: 1s to 366d, or \"off\""),
    ROW("audit = \"999ms\";", 3, "audit: \"999ms\" is out of range: 1s to 366d, or \"off\""),
    ROW("audit = \"never\";", 3,
        "audit: \"never\" is no duration: a whole number and ms, s, min, h or d, such as \"30s\", "
        "or \"off\""),
};

static void test_wrong_watch_settings(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(watch_rows); i++) {
        const char *wrong = watch_rows[i].problem;
        char *text = mem_printf(CLUSTER "watches : { w : { resource = \"pods\";\n %s\n }; };",
                                watch_rows[i].text);
        char *problem =
            wrong != NULL
                ? mem_printf("main.conf:%d: watches.w.%s\n", watch_rows[i].line, wrong)
                : mem_printf("main.conf:%d: unknown setting watches.w.guard.holds: did you mean "
                             "hold?\n",
                             watch_rows[i].line);

        conf_files_write("main.conf", text);
        conf_files_expect("main.conf", problem);
        free(text);
        free(problem);
    }
}

/* Watch a is { resource = "pods"; namespaces = [ "x" ]; }; b has the same settings and this
 * text. */
static const struct {
    const char *more;
    bool equal;
    size_t streams; /* of both */
} pairs[] = {
    ROW("namespaces = [ \"x\" ];", true, 1),
    ROW("namespaces = [ \"x\" ]; audit = \"off\"; guard : { hold = \"1min\"; };", true, 1),
    ROW("namespaces = [ \"*\" ];", false, 2),
    ROW("namespaces = [ \"x\", \"y\" ];", false, 3),
    ROW("namespaces = [ \"x\", \"y\" ]; names = [ \"a\", \"b\", \"c\" ];", false, 7),
    ROW("namespaces = [ ];", false, 2),
    ROW("namespaces = [ \"x\" ]; names = [ \"a\", \"b\" ];", false, 3),
    ROW("namespaces = [ \"x\" ]; cluster = \"other\";", false, 1),
    ROW("namespaces = [ \"x\" ]; label_selector = \"a\";", false, 2),
    ROW("namespaces = [ \"x\" ]; field_selector = \"a=b\";", false, 2),
    ROW("namespaces = [ \"x\" ]; match = [ \"a\" ];", false, 2),
    ROW("namespaces = [ \"x\" ]; keep = [ \"a\" ];", false, 2),
    ROW("namespaces = [ \"x\" ]; drop = [ \"a\" ];", false, 2),
    ROW("namespaces = [ \"x\" ]; guard : { relist_deletes = \"off\"; };", false, 2),
    ROW("namespaces = [ \"x\" ]; guard : { at_least = 9; };", false, 2),
    ROW("namespaces = [ \"x\" ]; confirm_deletes = true;", false, 2),
    ROW("namespaces = [ \"x\" ]; audit = \"1h\";", false, 2),
};

/* The number of connections to the cluster that stay open, as it is printed. */
static size_t printed(const struct conf *c, const char *cluster)
{
    char *line = mem_printf("\n#   clusters.%s: ", cluster);
    struct buf out = {0};

    conf_print(c, &out);
    const char *at = strstr(buf_cstr(&out), line);
    assert_non_null(at);
    size_t n = strtoul(at + strlen(line), NULL, 10);
    buf_free(&out);
    free(line);
    return n;
}

static void test_equal_watches_share_their_scopes(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(pairs); i++) {
        bool elsewhere = strstr(pairs[i].more, "cluster") != NULL;
        char *text = mem_printf(
            "clusters : { c : { kubeconfig = \"/k\"; }; other : { kubeconfig = \"/k\"; }; };\n"
            "watches : { a : { cluster = \"c\"; resource = \"pods\"; namespaces = [ \"x\" ]; };\n"
            " b : { %s resource = \"pods\"; %s }; };",
            elsewhere ? "" : "cluster = \"c\";", pairs[i].more);

        conf_files_write("main.conf", text);
        struct conf *c = conf_files_read("main.conf");
        assert_int_equal(conf_watch_equal(&c->watches[0], &c->watches[1]), pairs[i].equal);
        assert_int_equal(conf_watch_equal(&c->watches[1], &c->watches[0]), pairs[i].equal);
        assert_int_equal(printed(c, "c"), pairs[i].streams);
        assert_int_equal(printed(c, "other"), elsewhere ? 1 : 0);
        conf_destroy(&c);
        free(text);
    }
}

/* A generated configuration may name thousands of namespaces: comparing their texts pair by pair
 * takes minutes. */
static void test_a_thousand_watches_are_compared_at_once(void **state)
{
    enum { WATCHES = 2000, NAMESPACES = 1500 };
    struct buf text = {0};
    size_t equal = 0;

    (void)state;
    buf_puts(&text, CLUSTER "watches : {\n");
    for (int i = 0; i < WATCHES; i++)
        buf_printf(&text, "w%d : { resource = \"pods\"; namespaces = [ \"n%d\" ]; };\n", i,
                   i % NAMESPACES);
    buf_puts(&text, "};");
    conf_files_write("main.conf", buf_cstr(&text));
    alarm(PATIENCE_S);
    struct conf *c = conf_files_read("main.conf");
    for (size_t i = 0; i < c->n_watches; i++)
        for (size_t k = 0; k < i; k++)
            equal += conf_watch_equal(&c->watches[k], &c->watches[i]);
    assert_int_equal(equal, WATCHES - NAMESPACES);
    assert_int_equal(printed(c, "c"), NAMESPACES);
    alarm(0);
    conf_destroy(&c);
    buf_free(&text);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, conf_files_enter, conf_files_leave)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(test_all_cluster_settings),
        IN_FOLDER(test_all_watch_settings),
        IN_FOLDER(test_share_that_a_list_may_delete),
        IN_FOLDER(test_wrong_cluster_settings),
        IN_FOLDER(test_wrong_watch_settings),
        IN_FOLDER(test_equal_watches_share_their_scopes),
        IN_FOLDER(test_a_thousand_watches_are_compared_at_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
