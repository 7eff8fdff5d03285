/* SPDX-License-Identifier: Apache-2.0 */
/* The settings of views.NAME: defaults, and the places that errors name. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "conf_files.h"

#define CLUSTER "clusters : { prod : { kubeconfig = \"/k\"; }; };\n"
#define WATCHES "watches : { a : { resource = \"services\"; }; b : { resource = \"pods\"; }; };\n"
#define VIEW(more)                                                                               \
    "views : { v : { type = \"service_endpoints\";\n services = \"a\";\n slices = \"b\";\n" more \
    "}; };\n"
#define HOOK "hooks : { h : { sources = [ \"v\", \"a\" ]; command = [ \"/bin/p\" ]; }; };\n"

#define ROW(text, problems) \
    {                       \
        text, problems      \
    }

static void test_defaults(void **state)
{
    (void)state;
    conf_files_write("main.conf", CLUSTER WATCHES VIEW("") HOOK);
    struct conf *c = conf_files_read("main.conf");
    const struct conf_view *v = &c->views[0];

    assert_int_equal(c->n_views, 1);
    assert_string_equal(v->name.v, "v");
    assert_int_equal(v->type.v, CONF_VIEW_SERVICE_ENDPOINTS);
    assert_string_equal(v->services.v, "a");
    assert_string_equal(v->slices.v, "b");
    assert_int_equal(v->slices.at.line, 5);
    assert_false(v->local_only.v);
    assert_int_equal(v->hold_empty.v, 0);
    assert_ptr_equal(conf_find_view(c, "v"), v);
    assert_null(conf_find_view(c, "a"));
    assert_null(conf_find_watch(c, "v"));
    conf_destroy(&c);
}

static void test_values(void **state)
{
    (void)state;
    conf_files_write("main.conf",
                     CLUSTER WATCHES VIEW("local_only = true; hold_empty = \"2min\";"));
    struct conf *c = conf_files_read("main.conf");

    assert_true(c->views[0].local_only.v);
    assert_int_equal(c->views[0].hold_empty.v, 120000);
    conf_destroy(&c);
}

static void test_problems(void **state)
{
    static const struct {
        const char *text;
        const char *problems;
    } table[] = {
        ROW("views : { v : { }; };",
            "main.conf:3: views.v.type is required\nmain.conf:3: views.v.services is required\n"
            "main.conf:3: views.v.slices is required\n"),
        ROW("views : { v : { type = \"pods\"; services = \"\";\n slices = \"b\"; }; };",
            "main.conf:3: views.v.type: \"pods\" is not one of service_endpoints\n"
            "main.conf:3: views.v.services must not be empty\n"),
        ROW(VIEW("") "views2 : { };", "main.conf:7: unknown setting views2: did you mean views?\n"),
        ROW("views : { v : { type = \"service_endpoints\"; services = \"c\";\n slices = \"v\"; }; "
            "};",
            "main.conf:3: views.v.services: there is no watch \"c\"\n"
            "main.conf:4: views.v.slices: \"v\" is a view: a view is made of watches\n"),
        ROW("\nviews : { a : { type = \"service_endpoints\"; services = \"a\"; slices = \"b\"; }; "
            "};",
            "main.conf:4: views.a: a watch has this name already (main.conf:2): hooks could not "
            "tell "
            "them apart\n"),
        ROW(VIEW("hold_empty = \"forever\";"), "main.conf:6: views.v.hold_empty: \"forever\" is no "
                                               "duration: a whole number and ms, s, "
                                               "min, h or d, such as \"30s\"\n"),
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        struct buf text = {0};

        buf_printf(&text, "%s%s", CLUSTER WATCHES, table[i].text);
        conf_files_write("main.conf", buf_cstr(&text));
        conf_files_expect("main.conf", table[i].problems);
        buf_free(&text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_defaults, conf_files_enter, conf_files_leave),
        cmocka_unit_test_setup_teardown(test_values, conf_files_enter, conf_files_leave),
        cmocka_unit_test_setup_teardown(test_problems, conf_files_enter, conf_files_leave),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
