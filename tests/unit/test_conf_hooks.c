/* SPDX-License-Identifier: Apache-2.0 */
/* The settings about when a hook runs and with which input: good values, bad values, and
 * combinations. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/mem.h"
#include "conf_files.h"

/* A row of a table (clang-format 14 crashes on some with braces). */
#define ROW(...)    \
    {               \
        __VA_ARGS__ \
    }

static void test_defaults(void **state)
{
    (void)state;
    conf_files_write("main.conf", CONF_FILES_WATCH "hooks : { h : { " CONF_FILES_HOOK " }; };");
    struct conf *c = conf_files_read("main.conf");
    const struct conf_hook *h = conf_find_hook(c, "h");

    assert_ptr_equal(h, c->hooks);
    assert_null(conf_find_hook(c, "w"));
    assert_int_equal(h->fields.n, 0);
    assert_int_equal(h->require.v, CONF_REQUIRE_ALL);
    assert_int_equal(h->when_stale.v, CONF_WHEN_STALE_RUN);
    assert_int_equal(h->after.n, 0);
    assert_int_equal(h->min_interval.v, 0);
    assert_int_equal(h->splay.v, 0);
    assert_int_equal(h->rerun_every.v, 0);
    assert_int_equal(h->retry.attempts.v, 0);
    assert_int_equal(h->park_exit.n, 0);
    assert_false(h->include_old.v);
    assert_int_equal(h->log_limit.v, 65536);
    assert_int_equal(h->input_version.v, 1);
    conf_destroy(&c);
}

static void expect_order(const struct conf_hook *h)
{
    assert_int_equal(h->after.n, 2);
    assert_string_equal(h->after.v[1].v, "d");
    assert_int_equal(h->after.v[1].at.line, 7);
    assert_int_equal(h->min_interval.v, 60000);
    assert_int_equal(h->splay.v, 10000);
    assert_int_equal(h->rerun_every.v, 1);
}

static void test_all_taken(void **state)
{
    (void)state;
    conf_files_write(
        "main.conf", CONF_FILES_WATCH
        "hooks : { h : { " CONF_FILES_HOOK "\n"
        " fields : { PORT = \"spec.ports[0].port\";\n"
        "   lower_2 = \"metadata.name\"; }; require = \"any\"; when_stale = \"wait\";\n"
        " events = [ \"fresh\", \"added\" ]; after = [ \"b\",\n"
        "   \"d\" ]; min_interval = \"1min\"; splay = \"10s\"; rerun_every = \"1ms\";\n"
        " retry : { attempts = 1; }; park_exit = [ 255, 1 ]; include_old = true; concurrency = 4;\n"
        " log_limit = \"1B\"; input_version = 1; };\n"
        " b : { " CONF_FILES_HOOK " after = [ \"d\" ]; }; d : { " CONF_FILES_HOOK
        " mode = \"batch\"; }; };");
    struct conf *c = conf_files_read("main.conf");
    const struct conf_hook *h = &c->hooks[0];

    assert_int_equal(h->fields.n, 2);
    assert_string_equal(h->fields.v[1].name, "lower_2");
    assert_string_equal(h->fields.v[1].value, "metadata.name");
    assert_int_equal(h->fields.v[1].at.line, 5);
    assert_int_equal(h->require.v, CONF_REQUIRE_ANY);
    assert_int_equal(h->when_stale.v, CONF_WHEN_STALE_WAIT);
    expect_order(h);
    assert_int_equal(h->retry.attempts.v, 1);
    assert_int_equal(h->park_exit.n, 2);
    assert_int_equal(h->park_exit.v[0].v, 255);
    assert_int_equal(h->park_exit.v[1].v, 1);
    assert_true(h->include_old.v);
    assert_int_equal(h->log_limit.v, 1);
    conf_destroy(&c);
}

/* Mode batch settles as snapshot does, unless `settle` is set, and may get old objects. */
static void test_batch(void **state)
{
    (void)state;
    conf_files_write(
        "main.conf", CONF_FILES_WATCH
        "hooks : { a : { " CONF_FILES_HOOK " mode = \"batch\"; include_old = true; };\n"
        " b : { " CONF_FILES_HOOK " mode = \"batch\"; settle = [ \"0s\", \"1s\" ]; }; };");
    struct conf *c = conf_files_read("main.conf");

    assert_int_equal(c->hooks[0].mode.v, CONF_MODE_BATCH);
    assert_int_equal(c->hooks[0].settle.min_ms, 200);
    assert_int_equal(c->hooks[0].settle.max_ms, 2000);
    assert_int_equal(c->hooks[0].concurrency.v, 1);
    assert_int_equal(c->hooks[1].settle.min_ms, 0);
    assert_int_equal(c->hooks[1].settle.max_ms, 1000);
    conf_destroy(&c);
}

static const struct conf_files_mistake wrong[] = {
    ROW("mode = \"all\";", "hooks.h.mode: \"all\" is not one of object, batch, snapshot"),
    ROW("mode = \"snapshot\"; concurrency = 2;",
        "hooks.h.concurrency must be 1 in mode \"snapshot\""),
    ROW("mode = \"batch\"; concurrency = 2;", "hooks.h.concurrency must be 1 in mode \"batch\""),
    ROW("mode = \"batch\"; fields : { A = \"a\"; };",
        "hooks.h.fields needs mode \"object\": in mode \"batch\" a run is told of many objects"),
    ROW("mode = \"snapshot\"; fields : { A = \"a\"; };",
        "hooks.h.fields needs mode \"object\": in mode \"snapshot\" a run is told of many objects"),
    ROW("fields : { A-B = \"a\"; };",
        "hooks.h.fields.A-B: the name becomes part of a variable: letters, digits and _ only"),
    ROW("fields : { A = \"\"; };", "hooks.h.fields.A: the value must not be empty"),
    ROW("fields : { A = 1; };", "hooks.h.fields.A must be a string in quotes, not a whole number"),
    ROW("fields = [ \"a\" ];", "hooks.h.fields must be a group of strings, such as { NAME = "
                               "\"value\"; }, not an array [ ]"),
    ROW("require = \"one\";", "hooks.h.require: \"one\" is not one of all, any"),
    ROW("when_stale = \"skip\";", "hooks.h.when_stale: \"skip\" is not one of run, wait"),
    ROW("when_stale = \"wait\"; events = [ \"added\", \"stale\" ];",
        "hooks.h.when_stale: \"wait\" holds runs back while sources are stale, but events (line "
        "3) has \"stale\": leave one of them out"),
    ROW("after = [ \"x\" ];", "hooks.h.after[0]: there is no hook \"x\""),
    ROW("after = [ \"w\" ];", "hooks.h.after[0]: there is no hook \"w\""),
    ROW("after = [ \"b\", \"h\" ];", "hooks.h.after[1]: \"h\" is this hook itself: leave it out"),
    ROW("after = [ \"b\", \"b\" ];", "hooks.h.after: \"b\" is named twice"),
    ROW("after = \"b\";",
        "hooks.h.after must be an array of strings, such as [ \"a\", \"b\" ], not a string"),
    ROW("after = [ \"\" ];", "hooks.h.after[0]: \"\" must not be empty"),
    ROW("min_interval = \"367d\";", "hooks.h.min_interval: \"367d\" is out of range: 0s to 366d"),
    ROW("min_interval = \"off\";",
        "hooks.h.min_interval: \"off\" is no duration: a whole number and ms, s, min, h or d, such "
        "as \"30s\""),
    ROW("splay = 5;", "hooks.h.splay must be a duration in quotes, such as \"30s\", not a whole "
                      "number"),
    ROW("rerun_every = \"0s\";",
        "hooks.h.rerun_every: \"0s\" is out of range: 1ms to 366d, or \"off\""),
    ROW("rerun_every = \"never\";",
        "hooks.h.rerun_every: \"never\" is no duration: a whole number and ms, s, min, h or d, "
        "such as \"30s\", or \"off\""),
    ROW("retry : { attempts = 0; };",
        "hooks.h.retry.attempts: 0 is out of range: 1 to 1000000, or \"forever\""),
    ROW("retry : { attempts = \"3\"; };", "hooks.h.retry.attempts must be a whole number without "
                                          "quotes, or \"forever\", not a string"),
    ROW("park_exit = [ 3, 0 ];", "hooks.h.park_exit[1]: 0 is out of range: 1 to 255"),
    ROW("park_exit = [ 256 ];", "hooks.h.park_exit[0]: 256 is out of range: 1 to 255"),
    ROW("park_exit = [ 3, 3 ];", "hooks.h.park_exit[1]: 3 stands there twice"),
    ROW("park_exit = 3;", "hooks.h.park_exit must be an array of whole numbers, such as [ 1, 2 ], "
                          "not a whole number"),
    ROW("include_old = \"yes\";", "hooks.h.include_old must be true or false, not a string"),
    ROW("mode = \"snapshot\"; include_old = true;",
        "hooks.h.include_old needs mode \"object\" or \"batch\": the changes of a snapshot have no "
        "objects"),
    ROW("log_limit = \"0B\";", "hooks.h.log_limit: \"0B\" is out of range: 1B to 1GiB"),
    ROW("log_limit = 65536;",
        "hooks.h.log_limit must be a size in quotes, such as \"16MiB\", not a whole number"),
    ROW("input_version = 2;",
        "hooks.h.input_version: 2 is not understood: this release understands 1"),
    ROW("input_version = 0;",
        "hooks.h.input_version: 0 is not understood: this release understands 1"),
    ROW("input_version = -1;",
        "hooks.h.input_version: -1 is not understood: this release understands 1"),
    ROW("input_version = \"1\";",
        "hooks.h.input_version must be a whole number without quotes, not a string"),
    ROW("retry : { attempt = 3; };",
        "unknown setting hooks.h.retry.attempt: did you mean attempts?"),
    ROW("weight = \"1\";", "unknown setting hooks.h.weight"),
    ROW("field = [ ];", "unknown setting hooks.h.field: did you mean fields?"),
};

static void test_each_mistake_is_named(void **state)
{
    (void)state;
    conf_files_expect_each(wrong, ARRAY_LEN(wrong), "hooks : { h : { " CONF_FILES_HOOK,
                           " };\n b : { " CONF_FILES_HOOK " }; };");
}

static void test_all_mistakes_in_one_go(void **state)
{
    (void)state;
    conf_files_write("main.conf",
                     CONF_FILES_WATCH "hooks : {\n"
                                      "h : { " CONF_FILES_HOOK "\n"
                                      "mode = \"batch\";\n"
                                      "concurrency = 3;\n"
                                      "fields : { A = \"a\"; };\n"
                                      "require = \"some\";\n"
                                      "when_stale = \"wait\";\n"
                                      "events = [ \"stale\" ];\n"
                                      "after = [ \"h\",\n"
                                      "\"nobody\",\n"
                                      "\"i\" ];\n"
                                      "splay = \"1y\";\n"
                                      "park_exit = [ 1,\n"
                                      "1000 ];\n"
                                      "retry : { attempts = -1; };\n"
                                      "input_version = 3;\n"
                                      "};\n"
                                      "i : { " CONF_FILES_HOOK " mode = \"snapshot\";\n"
                                      "include_old = true;\n"
                                      "after = [ \"h\" ]; }; };\n"
                                      "limits : { pending = \"0s\"; };\n");
    conf_files_expect(
        "main.conf",
        "main.conf:6: hooks.h.concurrency must be 1 in mode \"batch\"\n"
        "main.conf:7: hooks.h.fields needs mode \"object\": in mode \"batch\" a run is told of "
        "many "
        "objects\n"
        "main.conf:8: hooks.h.require: \"some\" is not one of all, any\n"
        "main.conf:9: hooks.h.when_stale: \"wait\" holds runs back while sources are stale, but "
        "events (line 10) has \"stale\": leave one of them out\n"
        "main.conf:11: hooks.h.after[0]: \"h\" is this hook itself: leave it out\n"
        "main.conf:12: hooks.h.after[1]: there is no hook \"nobody\"\n"
        "main.conf:14: hooks.h.splay: \"1y\" is no duration: a whole number and ms, s, min, h or "
        "d, "
        "such as \"30s\"\n"
        "main.conf:16: hooks.h.park_exit[1]: 1000 is out of range: 1 to 255\n"
        "main.conf:17: hooks.h.retry.attempts: -1 is out of range: 1 to 1000000, or \"forever\"\n"
        "main.conf:18: hooks.h.input_version: 3 is not understood: this release understands 1\n"
        "main.conf:21: hooks.i.include_old needs mode \"object\" or \"batch\": the changes of a "
        "snapshot have no objects\n"
        "main.conf:22: hooks.i.after[0]: \"h\" closes a cycle (i before h before i): leave it or "
        "another of these out\n"
        "main.conf:23: limits.pending: \"0s\" is out of range: 1ms to 366d\n");
}

/* Writes hooks "h0: h1 h3; h1: ;" with the hooks that each comes after, one hook a line from line 3
 * on. */
static void write_order(const char *const *after, size_t n)
{
    struct buf text = {0};

    buf_puts(&text, CONF_FILES_WATCH "hooks : {");
    for (size_t i = 0; i < n; i++)
        buf_printf(&text, " h%zu : { " CONF_FILES_HOOK " after = [ %s ]; };\n", i, after[i]);
    buf_puts(&text, "};\n");
    conf_files_write("main.conf", buf_cstr(&text));
    buf_free(&text);
}

static void test_orders_without_a_cycle(void **state)
{
    static const char *const diamond[] = {"\"h1\", \"h2\"", "\"h3\"", "\"h3\", \"h1\"", "",
                                          "\"h0\", \"h3\""};

    (void)state;
    write_order(diamond, ARRAY_LEN(diamond));
    conf_files_expect("main.conf", "");
}

static void test_each_cycle_is_named(void **state)
{
    static const char *const two[] = {"\"h1\"", "\"h0\""};
    static const char *const apart[] = {"\"h1\"", "\"h2\"", "\"h3\", \"h0\"",
                                        "\"h2\"", "\"h5\"", "\"h4\""};
    static const char *const itself_too[] = {"\"h0\", \"h1\"", "\"none\", \"h0\""};

    (void)state;
    write_order(two, ARRAY_LEN(two));
    conf_files_expect("main.conf", "main.conf:4: hooks.h1.after[0]: \"h0\" closes a cycle (h1 "
                                   "before h0 before h1): leave it or another of these out\n");
    write_order(apart, ARRAY_LEN(apart));
    conf_files_expect(
        "main.conf",
        "main.conf:5: hooks.h2.after[1]: \"h0\" closes a cycle (h2 before h1 before h0 before h2): "
        "leave it or another of these out\n"
        "main.conf:6: hooks.h3.after[0]: \"h2\" closes a cycle (h3 before h2 before h3): leave it "
        "or another of these out\n"
        "main.conf:8: hooks.h5.after[0]: \"h4\" closes a cycle (h5 before h4 before h5): leave it "
        "or another of these out\n");
    write_order(itself_too, ARRAY_LEN(itself_too));
    conf_files_expect(
        "main.conf",
        "main.conf:3: hooks.h0.after[0]: \"h0\" is this hook itself: leave it out\n"
        "main.conf:4: hooks.h1.after[0]: there is no hook \"none\"\n"
        "main.conf:4: hooks.h1.after[1]: \"h0\" closes a cycle (h1 before h0 before h1): leave it "
        "or another of these out\n");
}

/* A cycle through very many hooks is found without deep recursion, and the error is one short
 * line. */
static void test_a_long_cycle(void **state)
{
    enum { HOOKS = 2000 };
    struct buf text = {0};

    (void)state;
    buf_puts(&text, CONF_FILES_WATCH "hooks : {\n");
    for (int i = 0; i < HOOKS; i++)
        buf_printf(&text, "h%d : { " CONF_FILES_HOOK " after = [ \"h%d\" ]; };\n", i,
                   (i + 1) % HOOKS);
    buf_puts(&text, "};\n");
    conf_files_write("main.conf", buf_cstr(&text));
    buf_free(&text);
    conf_files_expect(
        "main.conf",
        "main.conf:2003: hooks.h1999.after[0]: \"h0\" closes a cycle (h1999 before h1998 before "
        "h1997 before h1996 before h1995 before h1994 before h1993 before h1992 before h1991 "
        "before h1990 before ... before h1999): leave it or another of these out\n");
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, conf_files_enter, conf_files_leave)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(test_defaults),
        IN_FOLDER(test_all_taken),
        IN_FOLDER(test_batch),
        IN_FOLDER(test_each_mistake_is_named),
        IN_FOLDER(test_all_mistakes_in_one_go),
        IN_FOLDER(test_orders_without_a_cycle),
        IN_FOLDER(test_each_cycle_is_named),
        IN_FOLDER(test_a_long_cycle),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
