/* SPDX-License-Identifier: Apache-2.0 */
/* Whole configurations: values, errors, and the places that error messages name. */
#include "conf/conf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/log.h"
#include "base/mem.h"
#include "conf_files.h"

/* A row of a table (clang-format 14 crashes on some with braces). */
#define ROW(...)    \
    {               \
        __VA_ARGS__ \
    }

static void expect_problems_of(const char *text, const char *expected)
{
    conf_files_write("main.conf", text);
    conf_files_expect("main.conf", expected);
}

#define CLUSTER "clusters : { prod : { kubeconfig = \"/k\"; }; };\n"
#define WATCH   "watches : { services : { resource = \"services\"; namespaces = [ \"*\" ]; }; };\n"
#define HOOK    "hooks : { print : { sources = [ \"services\" ]; command = [ \"/bin/p\" ]; }; };\n"

static void expect_default_watch(const struct conf_watch *w)
{
    assert_string_equal(w->cluster.v, "prod");
    assert_int_equal(w->match.n + w->keep.n + w->drop.n, 0);
    assert_int_equal(w->guard.relist_deletes.v, 50);
    assert_int_equal(w->guard.at_least.v, 10);
    assert_int_equal(w->guard.hold.v, 60000);
    assert_false(w->confirm_deletes.v);
    assert_int_equal(w->audit.v, 0);
}

static void expect_default_tuning(const struct conf_tuning *t)
{
    assert_int_equal(t->connect_timeout.v, 10000);
    assert_int_equal(t->tls_timeout.v, 10000);
    assert_int_equal(t->watch_timeout.min_ms, 300000);
    assert_int_equal(t->watch_timeout.max_ms, 600000);
    assert_int_equal(t->page_size.v, 500);
    assert_int_equal(t->bookmark_timeout.v, 150000);
    assert_int_equal(t->start_jitter.v, 0);
    assert_int_equal(t->relist_jitter.v, 0);
    assert_int_equal(t->watch_list.v, CONF_WATCH_LIST_AUTO);
    assert_int_equal(t->backoff.initial.v, 800);
}

static void test_shortest_config_has_all_defaults(void **state)
{
    (void)state;
    conf_files_write("main.conf", CLUSTER WATCH HOOK);
    struct conf *c = conf_files_read("main.conf");
    const struct conf_hook *h = &c->hooks[0];

    assert_string_equal(c->user.v, "informerd");
    assert_string_equal(c->node_name.v, "");
    assert_int_equal(c->log.level.v, LOG_LVL_INFO);
    assert_int_equal(c->log.format.v, LOG_FMT_AUTO);
    assert_string_equal(c->control.socket.v, "/run/informerd/control.sock");
    assert_string_equal(c->control.group.v, "");
    assert_int_equal(c->limits.object_size.v, 16 * 1024 * 1024);
    assert_int_equal(c->limits.hook_concurrency.v, 8);
    assert_int_equal(c->limits.stop_timeout.v, 30000);
    assert_int_equal(c->limits.ready_timeout.v, 60000);
    assert_int_equal(c->limits.pending.v, 600000);
    expect_default_tuning(&c->clusters[0].tuning);
    assert_int_equal(c->clusters[0].stale_after.v, 30000);
    expect_default_watch(&c->watches[0]);
    assert_int_equal(h->mode.v, CONF_MODE_OBJECT);
    assert_int_equal(h->events.v, 15);
    assert_int_equal(h->existing.v, CONF_EXISTING_RUN);
    assert_int_equal(h->settle.max_ms, 0);
    assert_int_equal(h->timeout.v, 30000);
    assert_int_equal(h->kill_signal.v, 15);
    assert_int_equal(h->umask.v, 022);
    assert_int_equal(h->name.at.line, 3);
    assert_string_equal(h->name.at.file, "main.conf");
    assert_ptr_equal(conf_find_watch(c, "services"), c->watches);
    assert_null(conf_find_cluster(c, "other"));
    conf_destroy(&c);
    assert_null(c);
}

static void test_all_hook_settings(void **state)
{
    (void)state;
    conf_files_write(
        "main.conf", CLUSTER WATCH
        "hooks : { h : { sources = [ \"services\" ]; mode = \"snapshot\";\n"
        " shell = \"cat\"; events = [ \"deleted\", \"left\", \"fresh\" ]; changes_in = [ \"spec\" "
        "];\n"
        " existing = \"skip\"; timeout = \"1h\"; kill_signal = \"SIGINT\";\n"
        " kill_grace = \"0s\"; retry : { initial = \"5s\"; factor = 1; max = \"5s\"; };\n"
        " user = \"u\"; group = \"g\"; umask = \"077\"; leave = \"kill\"; memory_max = \"5GiB\";\n"
        " pids_max = 9; cpu_max = \"250%\"; cpu_weight = 7;\n"
        " environment : { A = \"x ${node_name}\"; PATH = \"/bin\"; }; }; };\n");
    struct conf *c = conf_files_read("main.conf");
    const struct conf_hook *h = &c->hooks[0];

    assert_int_equal(h->mode.v, CONF_MODE_SNAPSHOT);
    assert_string_equal(h->shell.v, "cat");
    assert_int_equal(h->command.n, 0);
    assert_int_equal(h->events.v, CONF_EVENT_DELETED | CONF_EVENT_LEFT | CONF_EVENT_FRESH);
    assert_string_equal(h->changes_in.v[0].v, "spec");
    assert_int_equal(h->existing.v, CONF_EXISTING_SKIP);
    assert_int_equal(h->settle.min_ms, 200);
    assert_int_equal(h->settle.max_ms, 2000);
    assert_int_equal(h->kill_signal.v, 2);
    assert_int_equal(h->kill_grace.v, 0);
    assert_int_equal(h->retry.initial.v, 5000);
    assert_int_equal(h->umask.v, 077);
    assert_int_equal(h->leave.v, CONF_LEAVE_KILL);
    assert_true(h->memory_max.v == UINT64_C(5) << 30 && h->pids_max.v == 9);
    assert_true(h->cpu_max.v == 250 && h->cpu_weight.v == 7);
    assert_int_equal(h->environment.n, 2);
    assert_string_equal(h->environment.v[0].value, "x ${node_name}");
    conf_destroy(&c);
}

static void test_plain_cluster(void **state)
{
    (void)state;
    conf_files_write("main.conf",
                     "clusters : { a : { servers = [ \"https://h:6443\" ]; ca_file = \"/ca\";\n"
                     "client_cert_file = \"/c\"; client_key_file = \"/k\"; token_file = \"/t\";\n"
                     "tls_server_name = \"n\"; tuning : { page_size = 7; \n"
                     "backoff : { jitter = 0; }; }; }; };\n");
    struct conf *c = conf_files_read("main.conf");

    assert_string_equal(c->clusters[0].servers.v[0].v, "https://h:6443");
    assert_int_equal(c->clusters[0].tuning.page_size.v, 7);
    assert_int_equal(c->clusters[0].tuning.page_size.at.line, 3);
    assert_int_equal(c->clusters[0].tuning.backoff.max.v, 30000);
    conf_destroy(&c);
}

static void test_everything_wrong_in_one_go(void **state)
{
    (void)state;
    expect_problems_of(
        "usr = \"x\";\n"
        "limits : { hook_concurrency = 0; };\n"
        "clusters : { prod : { kubeconfig = \"k\"; }; };\n"
        "watches : { services : { cluster = \"dev\"; }; };\n"
        "hooks : {\n"
        " a : { sources = [ \"service\",\n"
        "   \"services\", \"services\" ]; command = [ \"x\" ]; timeout = \"30\"; };\n"
        " b : { };\n"
        "};\n"
        "colours = \"none\";\n",
        "main.conf:1: unknown setting usr: did you mean user?\n"
        "main.conf:2: limits.hook_concurrency: 0 is out of range: 1 to 1000\n"
        "main.conf:3: clusters.prod.kubeconfig: \"k\" must be an absolute path, or several with "
        "colons between them\n"
        "main.conf:4: watches.services.resource is required\n"
        "main.conf:4: watches.services.cluster: there is no cluster \"dev\"\n"
        "main.conf:6: hooks.a.sources[0]: there is no watch or view \"service\"\n"
        "main.conf:7: hooks.a.timeout: \"30\" is no duration: a whole number and ms, s, min, h or "
        "d, such as \"30s\"\n"
        "main.conf:7: hooks.a.command[0]: \"x\" must be an absolute path\n"
        "main.conf:7: hooks.a.sources: \"services\" is named twice\n"
        "main.conf:8: hooks.b.sources is required\n"
        "main.conf:8: hooks.b needs command or shell, or output with files_from\n"
        "main.conf:10: unknown setting colours\n");
}

static const struct {
    const char *text;
    const char *problems;
} clusters[] = {
    ROW("clusters : { a : { }; };",
        "main.conf:1: clusters.a needs kubeconfig, servers, server or in_cluster\n"),
    ROW("clusters : { a : { kubeconfig = \"/k\";\n servers = [ \"https://a\" ]; ca_file = \"/c\"; "
        "}; "
        "};",
        "main.conf:2: clusters.a.servers cannot stand beside kubeconfig: leave one of them out\n"
        "main.conf:2: clusters.a.ca_file cannot stand beside kubeconfig: leave one of them out\n"),
    ROW("clusters : { a : { servers = [ \"https://a\" ]; context = \"c\"; }; };",
        "main.conf:1: clusters.a.context needs kubeconfig\n"),
    ROW("clusters : { a : { servers = [ \"https://a\" ]; client_cert_file = \"/c\"; }; };",
        "main.conf:1: clusters.a.client_cert_file needs client_key_file\n"),
    ROW("clusters : { a : { servers = [ \"https://a\" ]; client_key_file = \"/c\"; }; };",
        "main.conf:1: clusters.a.client_key_file needs client_cert_file\n"),
    ROW("clusters : { a : { kubeconfig = \"/k\"; tuning : { backoff : { initial = \"1h\"; }; }; }; "
        "};",
        "main.conf:1: clusters.a.tuning.backoff: initial must not be longer than max\n"),
    ROW("clusters : { a : { kubeconfig = \"/k\"; tuning : { watch_timeout = [ \"0s\", \"1s\" ]; }; "
        "}; "
        "};",
        "main.conf:1: clusters.a.tuning.watch_timeout[0]: \"0s\" is out of range: 1s to 366d\n"),
    ROW("clusters : { a : { kubeconfig = \"/k\"; }; b : { kubeconfig = \"/k\"; }; };\n"
        "watches : { w : { resource = \"pods\"; }; };",
        "main.conf:2: watches.w.cluster is required: there are 2 clusters\n"),
    ROW(WATCH,
        "main.conf: there are watches, but no cluster: add clusters : { NAME : { ... }; };\n"),
    ROW(CLUSTER "watches : { w : { resource = \"pods\"; namespaces = [ \"a\",\n \"*\", \"a\", "
                "\"B\" ]; }; };",
        "main.conf:3: watches.w.namespaces[3]: \"B\" is no namespace: small letters, digits and -, "
        "or "
        "\"*\" for all\n"),
    ROW(CLUSTER
        "watches : { w : { resource = \"pods\"; namespaces = [ \"a\",\n \"*\", \"a\" ]; }; };",
        "main.conf:3: watches.w.namespaces: \"*\" means all and must stand alone\n"
        "main.conf:3: watches.w.namespaces: \"a\" is named twice\n"),
    ROW(CLUSTER "watches : { w : { resource = \"pods\"; names = [ \"..\" ]; }; };",
        "main.conf:2: watches.w.names[0]: \"..\" is no name of an object\n"),
    ROW(CLUSTER "watches : { w : { resource = \"pods\"; field_selector = \"a=${node}\"; }; };",
        "main.conf:2: watches.w.field_selector: \"a=${node}\" names an unknown variable: only "
        "${node_name} is replaced\n"),
};

static void test_clusters_and_watches(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(clusters); i++)
        expect_problems_of(clusters[i].text, clusters[i].problems);
}

static const struct {
    const char *text;
    const char *problem;
} hooks[] = {
    ROW("command = [ \"/a\" ]; shell = \"x\";",
        "hooks.h.shell cannot stand beside command: leave one of them out"),
    ROW("command = [ ];", "hooks.h needs command or shell, or output with files_from"),
    ROW("shell = 5;", "hooks.h.shell must be a string in quotes, not a whole number"),
    ROW("shell = \"x\"; events = [ ];", "hooks.h.events must not be empty"),
    ROW("shell = \"x\"; events = [ \"stale\", \"old\" ];",
        "hooks.h.events[1]: \"old\" is not one of added, modified, deleted, left, stale, fresh"),
    ROW("shell = \"x\"; umask = 22;",
        "hooks.h.umask must be a mode in octal digits, such as \"0022\", not a whole number"),
    ROW("shell = \"x\"; leave = \"stop\";", "hooks.h.leave: \"stop\" is not one of keep, kill"),
    ROW("shell = \"x\"; memory_max = \"100KiB\";",
        "hooks.h.memory_max: \"100KiB\" is out of range: 1MiB to 16384GiB, or \"infinity\""),
    ROW("shell = \"x\"; pids_max = 0;",
        "hooks.h.pids_max: 0 is out of range: 1 to 4194304, or \"infinity\""),
    ROW("shell = \"x\"; cpu_max = \"0%\";",
        "hooks.h.cpu_max: \"0%\" is not percent of one CPU, such as \"50%\", or \"infinity\""),
    ROW("shell = \"x\"; cpu_max = 50;", "hooks.h.cpu_max must be percent of one CPU, such as "
                                        "\"50%\", or \"infinity\", not a whole number"),
    ROW("shell = \"x\"; cpu_weight = 10001;",
        "hooks.h.cpu_weight: 10001 is out of range: 1 to 10000"),
    ROW("shell = \"x\"; kill_signal = \"FOO\";",
        "hooks.h.kill_signal: \"FOO\" is not the name of a signal, such as \"TERM\""),
    ROW("shell = \"x\"; retry : { initial = \"1s\"; max = \"1ms\"; };",
        "hooks.h.retry: initial must not be longer than max"),
    ROW("shell = \"x\"; environment : { INFORMERD_X = \"1\"; };",
        "hooks.h.environment.INFORMERD_X: the name is taken: informerd itself sets the names that "
        "begin with INFORMERD_"),
    ROW("shell = \"x\"; environment : { A-B = \"1\"; };",
        "hooks.h.environment.A-B: the name is none that a program can read: letters, digits and _, "
        "no digit first"),
    ROW("shell = \"x\"; environment : { A = \"s3cret ${x}\"; };",
        "hooks.h.environment.A: the value names an unknown variable: only ${node_name} is "
        "replaced"),
    ROW("shell = \"x\"; weight = \"1\";", "unknown setting hooks.h.weight"),
};

static void test_hooks(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(hooks); i++) {
        char *text = mem_printf(
            CLUSTER WATCH "hooks : { h : { sources = [ \"services\" ]; %s }; };", hooks[i].text);
        char *expected = mem_printf("main.conf:3: %s\n", hooks[i].problem);

        expect_problems_of(text, expected);
        free(text);
        free(expected);
    }
}

static void test_files_unite(void **state)
{
    (void)state;
    conf_files_write("main.conf", "include = [ \"conf.d/*.conf\" ];\n" CLUSTER);
    conf_files_write("conf.d/b.conf", HOOK);
    conf_files_write("conf.d/a.conf", WATCH);
    conf_files_write("conf.d/c.txt", "not read at all");
    struct conf *c = conf_files_read("./main.conf");

    assert_int_equal(c->n_files, 3);
    assert_string_equal(c->files[0].path, "./main.conf");
    assert_string_equal(c->files[1].path, "./conf.d/a.conf");
    assert_string_equal(c->files[2].path, "./conf.d/b.conf");
    assert_int_equal(c->n_hooks, 1);
    assert_string_equal(c->hooks[0].sources.v[0].at.file, "./conf.d/b.conf");
    conf_destroy(&c);
}

static void test_same_name_in_two_files(void **state)
{
    (void)state;
    conf_files_write("conf.d/a.conf", "\n\n" WATCH "include = [ ]; usr = 1;\n");
    expect_problems_of(CLUSTER WATCH,
                       "conf.d/a.conf:3: watches.services is there already: main.conf:2\n"
                       "conf.d/a.conf:4: include may stand only in the main file, main.conf\n"
                       "conf.d/a.conf:4: unknown setting usr: did you mean user?\n");
}

static void test_groups_of_settings_unite_over_files(void **state)
{
    (void)state;
    conf_files_write("main.conf", "limits : { pending = \"1min\"; };\n" CLUSTER WATCH HOOK);
    conf_files_write("conf.d/a.conf", "limits : { object_size = \"1MiB\"; };\n"
                                      "log : { level = \"debug\"; };\n"
                                      "control : { socket = \"/s\"; };\n");
    conf_files_write("conf.d/b.conf", "limits : { hook_concurrency = 3; };\n"
                                      "start_stale : { after = \"1s\"; };\n");
    struct conf *c = conf_files_read("main.conf");

    assert_int_equal(c->limits.pending.v, 60000);
    assert_int_equal(c->limits.object_size.v, 1024 * 1024);
    assert_int_equal(c->limits.hook_concurrency.v, 3);
    assert_int_equal(c->limits.stop_timeout.v, 30000);
    assert_int_equal(c->log.level.v, LOG_LVL_DEBUG);
    assert_string_equal(c->control.socket.v, "/s");
    assert_int_equal(c->start_stale.after.v, 1000);
    assert_string_equal(c->limits.hook_concurrency.at.file, "conf.d/b.conf");
    conf_destroy(&c);
}

static void test_one_setting_in_two_files_is_an_error_that_names_both(void **state)
{
    (void)state;
    conf_files_write("conf.d/a.conf", "limits : { pending = \"2min\";\n"
                                      "  object_size = \"1MiB\"; };\n");
    conf_files_write("conf.d/b.conf", "limits : {\n  object_size = \"1MiB\"; };\nlog = 5;\n"
                                      "limit : { };\n");
    expect_problems_of("limits : { pending = \"1min\"; };\n" CLUSTER,
                       "conf.d/a.conf:1: limits.pending is there already: main.conf:1\n"
                       "conf.d/b.conf:2: limits.object_size is there already: conf.d/a.conf:2\n"
                       "conf.d/b.conf:3: log must be a group { }, not a whole number\n"
                       "conf.d/b.conf:4: unknown setting limit: did you mean limits?\n");
}

static void test_include_stands_in_the_main_file_only(void **state)
{
    (void)state;
    conf_files_write("conf.d/a.conf", "include = [ ];\n");
    expect_problems_of(CLUSTER,
                       "conf.d/a.conf:1: include may stand only in the main file, main.conf\n");
}

static void test_single_settings_stand_in_any_file(void **state)
{
    (void)state;
    conf_files_write("main.conf", CLUSTER);
    conf_files_write("conf.d/a.conf", "user = \"u\";\nnode_name = \"n\";\n");
    conf_files_write("conf.d/b.conf", "state_dir = \"none\";\n");
    struct conf *c = conf_files_read("main.conf");
    assert_string_equal(c->user.v, "u");
    assert_string_equal(c->node_name.v, "n");
    assert_string_equal(c->state_dir.v, "none");
    conf_destroy(&c);
}

static void test_a_single_setting_stands_in_one_file(void **state)
{
    (void)state;
    conf_files_write("conf.d/a.conf", "user = \"u\";\nnode_name = \"n\";\n");
    conf_files_write("conf.d/b.conf", "node_name = \"n\";\n");
    expect_problems_of("user = \"u\";\n" CLUSTER,
                       "conf.d/a.conf:1: user is there already: main.conf:1\n"
                       "conf.d/b.conf:1: node_name is there already: conf.d/a.conf:2\n");
}

static void test_include_that_matches_nothing_is_fine(void **state)
{
    (void)state;
    expect_problems_of("include = [ \"nothing.d/*.conf\", \"conf.d/x.conf\" ];\n" CLUSTER, "");
}

static void test_syntax_error_names_its_line(void **state)
{
    (void)state;
    conf_files_write("conf.d/a.conf", WATCH "x = [ ;\n");
    conf_files_write("conf.d/b.conf", "hooks : { a : { timeout = 5; }; };\n");
    expect_problems_of(
        CLUSTER,
        "conf.d/a.conf:2: syntax error here or shortly before (a missing quote, semicolon or "
        "bracket?); what follows in this file was not checked\n"
        "conf.d/b.conf:1: hooks.a.timeout must be a duration in quotes, such as \"30s\", not a "
        "whole number\n"
        "conf.d/b.conf:1: hooks.a.sources is required\n");
    conf_files_write("conf.d/a.conf", "");
    conf_files_write("conf.d/b.conf", "");
    expect_problems_of("user = \"a\";\nuser = \"b\";\n", "main.conf:2: duplicate setting name\n");
}

static void test_syntax_that_two_libconfigs_read_differently_is_refused(void **state)
{
    (void)state;
    expect_problems_of(
        "# @include \"comment\"\n"
        "/* [ 1, ] \n*/ // [ 1, ]\n"
        "@include \"other.conf\"\n" CLUSTER
        "watches : { w : { resource = \"pods\"; names = [ \"a,]\", /* x */ \"b\\\",]\",\n"
        " # here\n"
        "] } };\n"
        "limits : { hook_concurrency = 99999999999; };\n",
        "main.conf:4: @include is not supported: it would look in the working directory; list the "
        "file in include = [ ... ]\n"
        "main.conf:6: a comma before the closing ]: leave it out (libconfig 1.5 stops here)\n"
        "main.conf:9: the number 99999999999 is too large: nine digits at most\n");
}

static void test_files_that_cannot_be_read(void **state)
{
    (void)state;
    conf_files_expect("none.conf", "none.conf: cannot be read: No such file or directory\n");
    conf_files_expect("conf.d", "conf.d: cannot be read: Is a directory\n");
    conf_files_write("main.conf", "");
    conf_files_expect("main.conf", "");
}

static void test_expand(void **state)
{
    char *s = conf_expand("a=${node_name},b=${node_name}", "n1");

    (void)state;
    assert_string_equal(s, "a=n1,b=n1");
    free(s);
    s = conf_expand("", "n1");
    assert_string_equal(s, "");
    free(s);
    s = conf_expand("${node_name}", "${node_name}");
    assert_string_equal(s, "${node_name}");
    free(s);
}

/* However a file is cut, reading it ends, with a configuration or with problems. */
static void test_cut_at_every_byte(void **state)
{
    static const char text[] =
        "@include \"a\"\n" CLUSTER WATCH HOOK
        "/* c */ limits : { object_size = \"1\\\"MiB\", }; x = [ 1, ] // e\n";
    char part[sizeof(text)];

    (void)state;
    for (size_t n = 0; n < sizeof(text); n++) {
        struct problems p = {0};

        memcpy(part, text, n);
        part[n] = '\0';
        conf_files_write("main.conf", part);
        struct conf *c = conf_files_try("main.conf", &p);
        assert_int_equal(c == NULL, problems_count(&p) > 0);
        conf_destroy(&c);
        problems_free(&p);
    }
}

/* The installed configuration is valid as it stands. */
static void test_shipped_configuration(void **state)
{
    (void)state;
    struct conf *c = conf_files_read(TEST_DATA "/../../config/informerd.conf");

    assert_int_equal(c->n_clusters, 1);
    assert_int_equal(c->n_watches, 2);
    assert_int_equal(c->n_hooks, 1);
    assert_string_equal(c->hooks[0].command.v[0].v, "/usr/lib/informerd/hooks/print");
    conf_destroy(&c);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, conf_files_enter, conf_files_leave)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(test_shortest_config_has_all_defaults),
        IN_FOLDER(test_all_hook_settings),
        IN_FOLDER(test_plain_cluster),
        IN_FOLDER(test_everything_wrong_in_one_go),
        IN_FOLDER(test_clusters_and_watches),
        IN_FOLDER(test_hooks),
        IN_FOLDER(test_files_unite),
        IN_FOLDER(test_same_name_in_two_files),
        IN_FOLDER(test_groups_of_settings_unite_over_files),
        IN_FOLDER(test_one_setting_in_two_files_is_an_error_that_names_both),
        IN_FOLDER(test_include_stands_in_the_main_file_only),
        IN_FOLDER(test_single_settings_stand_in_any_file),
        IN_FOLDER(test_a_single_setting_stands_in_one_file),
        IN_FOLDER(test_include_that_matches_nothing_is_fine),
        IN_FOLDER(test_syntax_error_names_its_line),
        IN_FOLDER(test_syntax_that_two_libconfigs_read_differently_is_refused),
        IN_FOLDER(test_files_that_cannot_be_read),
        IN_FOLDER(test_cut_at_every_byte),
        cmocka_unit_test(test_expand),
        cmocka_unit_test(test_shipped_configuration),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
