/* SPDX-License-Identifier: Apache-2.0 */
/* The settings about the state that is kept over restarts: good values, bad values, defaults, and
 * the canonical text that tells whether a hook is still the same. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/mem.h"
#include "conf/hook_conf.h"
#include "conf/hook_text.h"
#include "conf/setting_print.h"
#include "conf_files.h"
#include "kube/resource.h"

/* A row of a table (clang-format 14 crashes on some with braces). */
#define ROW(...)    \
    {               \
        __VA_ARGS__ \
    }

#define CLUSTER "clusters : { c : { kubeconfig = \"/k\"; }; };\n"
#define BEFORE  CLUSTER "watches : { w : { resource = \"nodes\"; }; };\n"
#define PLAIN   "sources = [ \"w\" ]; shell = \"x\";"

static void test_defaults(void **state)
{
    (void)state;
    conf_files_write("main.conf", BEFORE "hooks : { h : { " PLAIN " }; };");
    struct conf *c = conf_files_read("main.conf");

    assert_string_equal(c->state_dir.v, "/var/lib/informerd");
    assert_string_equal(conf_state_folder(c), "/var/lib/informerd");
    assert_int_equal(c->start_stale.after.v, 10000);
    assert_int_equal(c->start_stale.max_age.v, 24 * 3600 * 1000);
    assert_int_equal(c->watches[0].persist.v, CONF_PERSIST_FULL);
    assert_int_equal(c->hooks[0].effect.v, CONF_EFFECT_DISK);
    assert_int_equal(c->hooks[0].files.n, 0);
    conf_destroy(&c);
}

static const char every[] =
    "state_dir = \"none\"; start_stale : { after = \"off\"; max_age = \"1ms\"; };\n" CLUSTER
    "watches : { d : { resource = \"nodes\"; persist = \"digest\"; };\n"
    " n : { resource = \"nodes\"; persist = \"none\"; }; w : { resource = \"nodes\"; }; };\n"
    "hooks : { b : { " PLAIN " effect = \"boot\"; files = [ \"/a\", \"/b\" ]; };\n"
    " p : { " PLAIN " effect = \"process\"; }; };";

static void test_all_taken(void **state)
{
    (void)state;
    conf_files_write("main.conf", every);
    struct conf *c = conf_files_read("main.conf");

    assert_null(conf_state_folder(c));
    assert_int_equal(c->start_stale.after.v, 0);
    assert_int_equal(c->start_stale.max_age.v, 1);
    assert_int_equal(c->watches[0].persist.v, CONF_PERSIST_DIGEST);
    assert_int_equal(c->watches[1].persist.v, CONF_PERSIST_NONE);
    assert_false(
        conf_watch_equal(&c->watches[0], &c->watches[1])); /* persist is a setting of a watch */
    assert_int_equal(c->hooks[0].effect.v, CONF_EFFECT_BOOT);
    assert_int_equal(c->hooks[0].files.n, 2);
    assert_string_equal(c->hooks[0].files.v[1].v, "/b");
    assert_int_equal(c->hooks[1].effect.v, CONF_EFFECT_PROCESS);
    conf_destroy(&c);
}

/* A printed configuration can be read again, and means the same. */
static void test_printed(void **state)
{
    struct buf printed = {0};

    (void)state;
    conf_files_print(every, &printed);
    assert_non_null(strstr(buf_cstr(&printed), "state_dir = \"none\";\n"));
    assert_non_null(strstr(buf_cstr(&printed),
                           "start_stale : {\n  after = \"off\";\n  max_age = \"1ms\";\n};\n"));
    assert_non_null(strstr(buf_cstr(&printed), "    persist = \"digest\";\n"));
    assert_non_null(
        strstr(buf_cstr(&printed), "    effect = \"boot\";\n    files = [ \"/a\", \"/b\" ];\n"));
    buf_free(&printed);
}

#define WORDS_OF(key) "hooks.h." key
#define LONGER                                                                              \
    "start_stale.max_age must be longer than start_stale.after, or no state is ever young " \
    "enough: make it longer, or write after = \"off\""

static const struct {
    const char *top;
    const char *watch;
    const char *hook;
    const char *problem;
} wrong[] = {
    ROW("state_dir = \"\";", "", "", "state_dir must not be empty"),
    ROW("state_dir = \"var/lib\";", "", "",
        "state_dir: \"var/lib\" must be an absolute path, or \"none\""),
    ROW("state_dir = \"off\";", "", "", "state_dir: \"off\" must be an absolute path, or \"none\""),
    ROW("state_dir = false;", "", "", "state_dir must be a string in quotes, not true or false"),
    ROW("start_stale : { after = \"0s\"; };", "", "",
        "start_stale.after: \"0s\" is out of range: 1ms to 366d, or \"off\""),
    ROW("start_stale : { max_age = \"off\"; };", "", "",
        "start_stale.max_age: \"off\" is no duration: a whole number and ms, s, min, h or d, such "
        "as "
        "\"30s\""),
    ROW("start_stale : { max_age = \"10s\"; };", "", "", LONGER),
    ROW("start_stale : { after = \"7d\"; };", "", "", LONGER),
    ROW("", "persist = \"hash\";", "",
        "watches.w.persist: \"hash\" is not one of full, digest, none"),
    ROW("", "", "effect = \"run\";", WORDS_OF("effect: \"run\" is not one of disk, boot, process")),
    ROW("", "", "files = \"/a\";",
        WORDS_OF("files must be an array of strings, such as [ \"a\", \"b\" ], not a string")),
    ROW("", "", "files = [ \"a\" ];", WORDS_OF("files[0]: \"a\" must be an absolute path")),
    ROW("", "", "files = [ \"\" ];", WORDS_OF("files[0]: \"\" must be an absolute path")),
    ROW("", "", "files = [ \"/a\", \"/b\", \"/a\" ];", WORDS_OF("files: \"/a\" is named twice")),
};

static void test_each_mistake_is_named(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        char *text = mem_printf("%s " CLUSTER "watches : { w : { resource = \"nodes\"; %s }; };"
                                "hooks : { h : { " PLAIN " %s }; };",
                                wrong[i].top, wrong[i].watch, wrong[i].hook);
        char *expected =
            mem_printf("main.conf:%d: %s\n", wrong[i].top[0] != '\0' ? 1 : 2, wrong[i].problem);

        conf_files_write("main.conf", text);
        conf_files_expect("main.conf", expected);
        free(text);
        free(expected);
    }
}

/* ---- Secrets */

static const char *const names[] = {
    "secrets",      "secret",     "Secret",      "SECRETS",        "secrets.v1.", "Secret.v1.",
    "secret.v2.",   "secrets.x.", "secrets.x",   "secrets.v1.x",   "secretss",    "secre",
    "configmaps",   "nodes",      "cm",          "secrets.apps",   "secretx",     "services.v1.",
    "secret.v1.a.", "pods",       "secrets.v1b", "serviceaccounts"};

static enum conf_persist persist_of(const char *resource, const char *more)
{
    char *text =
        mem_printf(CLUSTER "watches : { w : { resource = \"%s\"; %s }; };", resource, more);

    conf_files_write("main.conf", text);
    struct conf *c = conf_files_read("main.conf");
    enum conf_persist persist = (enum conf_persist)c->watches[0].persist.v;
    conf_destroy(&c);
    free(text);
    return persist;
}

/* conf/ does not know resources; its rule about secrets must be the same as that of kube/. */
static void test_secrets_however_written(void **state)
{
    size_t secrets = 0;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        struct resource r = {0};

        if (resource_parse(names[i], &r, NULL) != ERR_OK)
            continue; /* app/check refuses it */
        bool is_secret = r.group != NULL && r.group[0] == '\0' && strcmp(r.plural, "secrets") == 0;
        secrets += is_secret;
        assert_int_equal(persist_of(names[i], ""),
                         is_secret ? CONF_PERSIST_DIGEST : CONF_PERSIST_FULL);
        resource_fini(&r);
    }
    assert_int_equal(secrets, 7);
    assert_int_equal(persist_of("secrets", "persist = \"full\";"), CONF_PERSIST_FULL);
    assert_int_equal(persist_of("secrets", "persist = \"none\";"), CONF_PERSIST_NONE);
}

/* ---- The text of a hook */

/* The caller frees it. */
static char *text_of(enum hook_text_form form, const char *top, const char *hook, const char *node)
{
    char *conf =
        mem_printf("%s " BEFORE "hooks : { h : { sources = [ \"w\" ]; %s }; };", top, hook);
    struct buf out = {0};

    conf_files_write("main.conf", conf);
    struct conf *c = conf_files_read("main.conf");
    hook_text_put(c, &c->hooks[0], node, form, &out);
    const struct digest_forms digests = hook_text_digests(c, &c->hooks[0], node);
    assert_true(digest_eq(form == HOOK_TEXT_FORMER ? digests.former : digests.now,
                          digest_of(out.data, out.len)));
    conf_destroy(&c);
    free(conf);
    buf_cstr(&out);
    return out.data;
}

static void expect_text(enum hook_text_form form, const char *top, const char *hook,
                        const char *node, const char *expected)
{
    char *text = text_of(form, top, hook, node);

    assert_string_equal(text, expected);
    free(text);
}

/* On disk there are digests of these texts: a release that writes others runs every hook again. */
static void test_text_of_a_hook(void **state)
{
    (void)state;
    expect_text(HOOK_TEXT_RENEWING, "", "shell = \"x\";", "n",
                "sources = [ \"w\" ]\nshell = \"x\"\nuser: informerd\n");
    expect_text(
        HOOK_TEXT_RENEWING, "user = \"adm\";", "command = [ \"/x\", \"a\\nb\" ]; mode = \"batch\";",
        "n", "sources = [ \"w\" ]\nmode = \"batch\"\ncommand = [ \"/x\", \"a\\nb\" ]\nuser: adm\n");
    expect_text(HOOK_TEXT_RENEWING, "",
                "shell = \"x\"; user = \"u\"; output = \"/${node_name}/${name}\"; "
                "files = [ \"/b\", \"/a\" ]; environment : { B = \"2\"; A = \"1\"; };",
                "n1",
                "sources = [ \"w\" ]\nshell = \"x\"\nfiles = [ \"/b\", \"/a\" ]\n"
                "environment = { A = \"1\"; B = \"2\"; }\noutput = \"/${node_name}/${name}\"\n"
                "user: u\nnode_name: n1\n");
}

/* Each setting with another value than its default. */
static const char *const in_place[] = {
    "effect = \"boot\";",
    "require = \"any\";",
    "when_stale = \"wait\";",
    "after = [ \"other\" ];",
    "settle = [ \"1s\", \"2s\" ];",
    "min_interval = \"1s\";",
    "splay = \"1s\";",
    "rerun_every = \"1h\";",
    "timeout = \"1s\";",
    "kill_signal = \"INT\";",
    "kill_grace = \"1s\";",
    "retry : { initial = \"2s\"; factor = 3.0; max = \"1h\"; attempts = 7; };",
    "park_exit = [ 3 ];",
    "parked_deletes = 7;",
    "parked_age = \"1d\";",
    "concurrency = 2;",
    "log_limit = \"1KiB\";",
};
static const char *const renewing[] = {
    "mode = \"snapshot\";",
    "events = [ \"added\" ];",
    "changes_in = [ \"spec\" ];",
    "fields : { A = \"spec\"; };",
    "existing = \"skip\";",
    "files = [ \"/f\" ];",
    "group = \"g\";",
    "user = \"u\";",
    "umask = \"0077\";",
    "capabilities = [ \"CAP_KILL\" ];",
    "no_new_privileges = true;",
    "rlimits : { nofile = \"9\"; };",
    "environment : { A = \"1\"; };",
    "include_old = true;",
    "output = \"/o/${name}\";",
    "output = \"/o/${name}\"; output_mode = \"0600\";",
    "output = \"/o/${name}\"; output_owner = \"o\";",
    "output = \"/o/${name}\"; check = [ \"/c\" ];",
    "output = \"/o/${name}\"; apply = [ \"/p\" ];",
};

static char *plus(const char *hook, const char *settings)
{
    char *both = mem_printf("%s %s", hook, settings);
    char *text = text_of(HOOK_TEXT_RENEWING, "", both, "n");

    free(both);
    return text;
}

static void test_each_class_of_settings(void **state)
{
    (void)state;
    char *plain = plus("shell = \"x\";", "");
    for (size_t i = 0; i < ARRAY_LEN(in_place); i++) {
        /* `after` needs another hook. */
        char *text = strstr(in_place[i], "after") != NULL
                         ? plus("shell = \"x\"; after = [ \"other\" ]; }; other : { "
                                "sources = [ \"w\" ]; shell = \"x\";",
                                "")
                         : plus("shell = \"x\";", in_place[i]);
        assert_string_equal(text, plain);
        free(text);
    }
    for (size_t i = 0; i < ARRAY_LEN(renewing); i++) {
        char *text = plus("shell = \"x\";", renewing[i]);

        assert_string_not_equal(text, plain);
        free(text);
    }
    free(plain);
}

/* A setting without a class would change nothing that has run, or everything: nobody has thought of
 * it. */
static void test_each_setting_of_a_hook_has_a_class(void **state)
{
    (void)state;
    for (const struct setting *s = hook_conf_settings; s->key != NULL; s++)
        if (s->change == SETTING_NO_CLASS)
            fail_msg("%s has no class", s->key);
}

/* The release before has left digests of these texts: without them every hook would run again after an
 * upgrade. */
static void test_text_of_the_release_before(void **state)
{
    (void)state;
    expect_text(HOOK_TEXT_FORMER, "", "shell = \"x\";", "n",
                "sources = [ \"w\" ]\nshell = \"x\"\nuser: informerd\n");
    expect_text(HOOK_TEXT_FORMER, "user = \"adm\";",
                "command = [ \"/x\", \"a\\nb\" ]; mode = \"batch\";", "n",
                "sources = [ \"w\" ]\nmode = \"batch\"\ncommand = [ \"/x\", \"a\\nb\" ]\n"
                "settle = [ \"200ms\", \"2s\" ]\nuser: adm\n");
    expect_text(
        HOOK_TEXT_FORMER, "",
        "shell = \"x\"; retry : { max = \"1h\"; }; effect = \"boot\"; user = \"u\"; "
        "files = [ \"/b\", \"/a\" ]; environment : { B = \"${node_name}\"; A = \"1\"; };",
        "n1",
        "sources = [ \"w\" ]\nshell = \"x\"\neffect = \"boot\"\nfiles = [ \"/b\", \"/a\" ]\n"
        "retry.max = \"1h\"\nenvironment = { A = \"1\"; B = \"${node_name}\"; }\nuser: u\n"
        "node_name: n1\n");
    expect_text(HOOK_TEXT_FORMER, "", "shell = \"x\"; output = \"/${node_name}/${name}\";", "n1",
                "sources = [ \"w\" ]\nshell = \"x\"\noutput = \"/${node_name}/${name}\"\n"
                "user: informerd\nnode_name: n1\n");
}

static const struct {
    const char *a;
    const char *b;
} same[] = {
    ROW("shell = \"x\";", "shell = \"x\"; timeout = \"30s\"; events = [ \"left\", \"deleted\", "
                          "\"modified\", \"added\" ];"),
    ROW("shell = \"x\"; fields : { A = \"x\"; B = \"y\"; };",
        "fields : { B = \"y\"; A = \"x\"; }; shell = \"x\";"),
    ROW("shell = \"x\"; timeout = \"60s\";", "shell = \"x\"; timeout = \"1min\";"),
    ROW("shell = \"x\"; user = \"informerd\";", "shell = \"x\";"),
};

static void test_same_hook_written_otherwise(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(same); i++) {
        char *a = text_of(HOOK_TEXT_FORMER, "", same[i].a, "n");

        expect_text(HOOK_TEXT_FORMER, "", same[i].b, "n", a);
        free(a);
    }
}

/* The default of each setting must print as the table has it: else a setting that a release adds
 * would be in the text of every hook, and every hook would run again. */
static void expect_quiet(const struct setting *table)
{
    struct buf text = {0};
    struct conf_hook a = {0};
    struct conf_hook b = {0};

    setting_defaults(table, &a);
    setting_defaults(table, &b);
    setting_print_changed(table, SETTING_NO_CLASS, &a, &b, &text);
    assert_int_equal(text.len, 0);
    a.retry.attempts.v = 7; /* in a group */
    a.timeout.at.line = 3;  /* the place in the file is no change */
    setting_print_changed(table, SETTING_NO_CLASS, &a, &b, &text);
    assert_string_equal(buf_cstr(&text), "retry.attempts = 7\n");
    setting_fini(table, &a);
    setting_fini(table, &b);
    buf_free(&text);
}

static void test_defaults_are_left_out(void **state)
{
    (void)state;
    expect_quiet(hook_conf_settings);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, conf_files_enter, conf_files_leave)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(test_defaults),
        IN_FOLDER(test_all_taken),
        IN_FOLDER(test_printed),
        IN_FOLDER(test_each_mistake_is_named),
        IN_FOLDER(test_secrets_however_written),
        IN_FOLDER(test_text_of_a_hook),
        IN_FOLDER(test_each_class_of_settings),
        cmocka_unit_test(test_each_setting_of_a_hook_has_a_class),
        IN_FOLDER(test_text_of_the_release_before),
        IN_FOLDER(test_same_hook_written_otherwise),
        cmocka_unit_test(test_defaults_are_left_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
