/* SPDX-License-Identifier: Apache-2.0 */
/* The settings of a hook's output file: good values, bad values, and combinations. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/mem.h"
#include "conf_files.h"

/* A row of a table (clang-format 14 crashes on some with braces). */
#define ROW(...)    \
    {               \
        __VA_ARGS__ \
    }

#define BATCH CONF_FILES_HOOK " mode = \"batch\";"

static void test_defaults(void **state)
{
    (void)state;
    conf_files_write("main.conf", CONF_FILES_WATCH "hooks : { h : { " CONF_FILES_HOOK " }; };");
    struct conf *c = conf_files_read("main.conf");
    const struct conf_hook *h = &c->hooks[0];

    assert_string_equal(h->output.v, "");
    assert_int_equal(h->output_mode.v, 0644);
    assert_string_equal(h->output_owner.v, "");
    assert_int_equal(h->check.n, 0);
    assert_int_equal(h->apply.n, 0);
    conf_destroy(&c);
}

static const char every[] = CONF_FILES_WATCH
    "hooks : { h : { " CONF_FILES_HOOK " output = \"/x/${node_name}/${namespace}/${name}.cfg\";\n"
    " output_mode = \"640\"; output_owner = \"root:adm\"; check = [ \"/bin/check\",\n"
    " \"-f${file}\" ]; apply = [ \"/bin/apply\", \"$x\" ]; };\n"
    " b : { " BATCH " output = \"/x/b\"; events = [ \"added\", \"modified\", \"deleted\", "
    "\"left\", \"stale\", \"fresh\" ];\n"
    " apply = [ \"/bin/apply\", \"${file}\" ]; output_owner = \":adm\"; }; };";

static void test_all_taken(void **state)
{
    (void)state;
    conf_files_write("main.conf", every);
    struct conf *c = conf_files_read("main.conf");
    const struct conf_hook *h = &c->hooks[0];

    assert_string_equal(h->output.v, "/x/${node_name}/${namespace}/${name}.cfg");
    assert_int_equal(h->output_mode.v, 0640);
    assert_string_equal(h->output_owner.v, "root:adm");
    assert_int_equal(h->check.n, 2);
    assert_string_equal(h->check.v[1].v, "-f${file}");
    assert_int_equal(h->check.v[1].at.line, 5);
    assert_int_equal(h->apply.n, 2);
    assert_string_equal(c->hooks[1].output.v, "/x/b");
    assert_string_equal(c->hooks[1].apply.v[1].v, "${file}");
    conf_destroy(&c);
}

/* A printed configuration can be read again, and means the same. */
static void test_printed(void **state)
{
    struct buf printed = {0};

    (void)state;
    conf_files_print(every, &printed);
    assert_non_null(strstr(buf_cstr(&printed),
                           "    output = \"/x/b\";\n    output_mode = \"0644\";\n"
                           "    output_owner = \":adm\";\n    check = [ ];\n"
                           "    apply = [ \"/bin/apply\", \"${file}\" ];\n"));
    buf_free(&printed);
}

#define NEEDS_OUTPUT " needs output: it is about the file that output names"
#define NO_NAME                                                                                  \
    "hooks.h.output: needs ${name} in mode \"object\", where each object has a file of its own " \
    "(one file for all objects: mode = \"snapshot\")"
#define NO_OBJECT(mode)                                                                          \
    "hooks.h.output: ${namespace}, ${name} and ${cluster} need mode \"object\": in mode \"" mode \
    "\" there is one file for all objects"
#define ALL_EVENTS                                                                            \
    "hooks.h.events must have \"added\", \"modified\", \"deleted\" and \"left\" with output " \
    "(line 3): the file follows every change"
#define UNKNOWN_VARIABLE                                                                           \
    " names an unknown variable: only ${namespace}, ${name}, ${cluster}, ${node_name} and ${key} " \
    "are replaced, and there is no other \"$\""
#define BAD_OWNER " must be \"USER\", \"USER:GROUP\" or \":GROUP\""
#define OUT       "output = \"/x/${name}\"; "

static const struct conf_files_mistake wrong[] = {
    ROW("output = 1;", "hooks.h.output must be a string in quotes, not a whole number"),
    ROW("output = \"x/${name}\";",
        "hooks.h.output: \"x/${name}\" must be an absolute path (\"/...\")"),
    ROW("output = \"/x/../${name}\";",
        "hooks.h.output: \"/x/../${name}\" must have no component \".\" or \"..\""),
    ROW("output = \"/x//${name}\";", "hooks.h.output: \"/x//${name}\" must have no empty "
                                     "component (\"//\", or \"/\" at the end)"),
    ROW("output = \"/x/${name}/\";", "hooks.h.output: \"/x/${name}/\" must have no empty "
                                     "component (\"//\", or \"/\" at the end)"),
    ROW("output = \"/x/.informerd-${name}\";",
        "hooks.h.output: \"/x/.informerd-${name}\" must not name a file that begins with "
        "\".informerd-\""),
    ROW("output = \"/x/${name}-${uid}\";",
        "hooks.h.output: \"/x/${name}-${uid}\"" UNKNOWN_VARIABLE),
    ROW("output = \"/x/${name}$\";", "hooks.h.output: \"/x/${name}$\"" UNKNOWN_VARIABLE),
    ROW("output = \"/x/${file}\";", "hooks.h.output: \"/x/${file}\"" UNKNOWN_VARIABLE),
    ROW("output = \"/x/${name}/${key}\";",
        "hooks.h.output: ${key} needs files_from: it is the name of a member that becomes a file"),
    ROW(OUT "files_from = \"data\";",
        "hooks.h.shell cannot stand beside files_from (line 3), which runs no program: leave one "
        "of them out\nmain.conf:3: hooks.h.output: needs ${key} with files_from (line 3), where "
        "each "
        "member of an object has a file of its own"),
    ROW(OUT "files_from = \"spec\";", "hooks.h.files_from: \"spec\" must be \"data\""),
    ROW("output = \"/x/y\";", NO_NAME),
    ROW("output = \"/x/${namespace}\";", NO_NAME),
    ROW("output = \"/x/${node_name}\";", NO_NAME),
    ROW("mode = \"batch\"; output = \"/x/${name}\";", NO_OBJECT("batch")),
    ROW("mode = \"snapshot\"; output = \"/x/${cluster}\";", NO_OBJECT("snapshot")),
    ROW("mode = \"snapshot\"; output = \"/${namespace}/x\";", NO_OBJECT("snapshot")),
    ROW("mode = \"batch\"; output = \"/b\";",
        "hooks.h.output: hook a (main.conf:3) writes \"/b\", too: each needs a file of its own"),
    ROW("output_mode = \"0600\";", "hooks.h.output_mode" NEEDS_OUTPUT),
    ROW("output_owner = \"root\";", "hooks.h.output_owner" NEEDS_OUTPUT),
    ROW("check = [ \"/x\" ];", "hooks.h.check" NEEDS_OUTPUT),
    ROW("apply = [ \"/x\" ];", "hooks.h.apply" NEEDS_OUTPUT),
    ROW("output = \"\"; apply = [ \"/x\" ];", "hooks.h.apply" NEEDS_OUTPUT),
    ROW(OUT "output_mode = \"0999\";", "hooks.h.output_mode: \"0999\" is not a mode in octal "
                                       "digits, such as \"0644\""),
    ROW(OUT "output_mode = \"4755\";", "hooks.h.output_mode: \"4755\" is not a mode in octal "
                                       "digits, such as \"0644\""),
    ROW(OUT "output_mode = 644;",
        "hooks.h.output_mode must be a mode in octal digits, such as \"0644\", not a "
        "whole number"),
    ROW(OUT "output_owner = \":\";", "hooks.h.output_owner: \":\"" BAD_OWNER),
    ROW(OUT "output_owner = \"root:\";", "hooks.h.output_owner: \"root:\"" BAD_OWNER),
    ROW(OUT "output_owner = \"a:b:c\";", "hooks.h.output_owner: \"a:b:c\"" BAD_OWNER),
    ROW(OUT "check = [ \"nginx\", \"-t\" ];",
        "hooks.h.check[0]: \"nginx\" must be an absolute path"),
    ROW(OUT "check = [ \"${file}\" ];", "hooks.h.check[0]: \"${file}\" must be an absolute path"),
    ROW(OUT "apply = [ \"\" ];", "hooks.h.apply[0]: \"\" must be an absolute path"),
    ROW(OUT "check = \"/x\";", "hooks.h.check must be an array of strings, such as [ \"a\", "
                               "\"b\" ], not a string"),
    ROW(OUT "apply = [ \"/x\", \"a\", \"-f ${file}\" ];",
        "hooks.h.apply[2]: ${file} needs mode \"batch\" or \"snapshot\": in mode \"object\" one "
        "apply is for the files of many objects"),
    ROW(OUT "events = [ \"added\", \"modified\", \"deleted\" ];", ALL_EVENTS),
    ROW("mode = \"batch\"; output = \"/h\"; events = [ \"stale\" ];", ALL_EVENTS),
    ROW(OUT "events = [ \"added\", \"modified\", \"deleted\", \"left\", \"fresh\" ];",
        "hooks.h.events: \"stale\" and \"fresh\" have no object, so no output (line 3): leave them "
        "out, or use another hook for them"),
};

static void test_each_mistake_is_named(void **state)
{
    (void)state;
    conf_files_expect_each(wrong, ARRAY_LEN(wrong),
                           "hooks : { a : { " BATCH " output = \"/b\"; }; h : { " CONF_FILES_HOOK,
                           " }; };");
}

/* The templates of two hooks may look alike if they are not the same. */
static void test_neighbours(void **state)
{
    (void)state;
    conf_files_write("main.conf", CONF_FILES_WATCH
                     "hooks : { a : { " CONF_FILES_HOOK " output = \"/x/${name}\"; };\n"
                     "b : { " CONF_FILES_HOOK " output = \"/x/b-${name}\"; };\n"
                     "c : { " CONF_FILES_HOOK " }; d : { " CONF_FILES_HOOK " }; };");
    conf_files_expect("main.conf", "");
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, conf_files_enter, conf_files_leave)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(test_defaults),   IN_FOLDER(test_all_taken),
        IN_FOLDER(test_printed),    IN_FOLDER(test_each_mistake_is_named),
        IN_FOLDER(test_neighbours),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
