/* SPDX-License-Identifier: Apache-2.0 */
/* The settings of metrics. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "base/mem.h"
#include "conf/conf.h"
#include "conf_files.h"

#define CLUSTER "clusters : { c : { kubeconfig = \"/k\"; }; };\n"

static struct conf *read(const char *metrics)
{
    char *text = mem_printf("%s\n" CLUSTER, metrics);

    conf_files_write("main.conf", text);
    free(text);
    return conf_files_read("main.conf");
}

static void test_defaults(void **state)
{
    struct conf *c = read("");

    (void)state;
    assert_int_equal(c->metrics.listen.n, 1);
    assert_string_equal(c->metrics.listen.v[0].v, "127.0.0.1:9916");
    assert_int_equal(c->metrics.listen.at.line,
                     0); /* app/monitoring asks whether it is the default */
    assert_null(conf_textfile(c));
    assert_false(c->metrics.page_keys.v);
    conf_destroy(&c);
}

static void test_values(void **state)
{
    struct conf *c = read("metrics : { listen = [ \"[::1]:1\", \"0.0.0.0:2\" ];\n"
                          "textfile = \"/var/lib/x.prom\"; page_keys = true; };");

    (void)state;
    assert_int_equal(c->metrics.listen.n, 2);
    assert_int_equal(c->metrics.listen.at.line, 1);
    assert_string_equal(conf_textfile(c), "/var/lib/x.prom");
    assert_true(c->metrics.page_keys.v);
    conf_destroy(&c);
    c = read("metrics : { listen = [ ]; };");
    assert_int_equal(c->metrics.listen.n, 0);
    conf_destroy(&c);
}

#define NO_ADDRESS(text)                                                 \
    "metrics.listen[0]: \"" text "\" must be an IP address and a port: " \
    "\"127.0.0.1:9916\" or \"[::1]:9916\""
#define NO_PATH(text)                                           \
    "metrics.textfile: \"" text "\" must be the absolute path " \
    "of a file, without variables, or \"none\""

static void test_what_is_refused(void **state)
{
    static const struct {
        const char *metrics;
        const char *problem;
    } rows[] = {
        {"listen = [ \"localhost:9916\" ];",               NO_ADDRESS("localhost:9916")        },
        {"listen = [ \"9916\" ];",                         NO_ADDRESS("9916")                  },
        {"listen = [ \"127.0.0.1:1\", \"127.0.0.1:1\" ];",
         "metrics.listen: \"127.0.0.1:1\" is named twice"                                      },
        {"textfile = \"x.prom\";",                         NO_PATH("x.prom")                   },
        {"textfile = \"/x/${name}.prom\";",                NO_PATH("/x/${name}.prom")          },
        {"textfile = \"/x/\";",                            NO_PATH("/x/")                      },
        {"textfile = \"\";",                               "metrics.textfile must not be empty"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char *text = mem_printf("metrics : { %s };\n" CLUSTER, rows[i].metrics);
        char *expected = mem_printf("main.conf:1: %s\n", rows[i].problem);

        conf_files_write("main.conf", text);
        conf_files_expect("main.conf", expected);
        free(text);
        free(expected);
    }
}

static void test_they_may_stand_in_any_file(void **state)
{
    (void)state;
    conf_files_write("conf.d/a.conf", "metrics : { page_keys = true; };\n");
    conf_files_write("conf.d/b.conf", "metrics : { listen = [ ]; };\n");
    struct conf *c = read("");

    assert_true(c->metrics.page_keys.v);
    assert_int_equal(c->metrics.listen.n, 0);
    conf_destroy(&c);
    conf_files_write("conf.d/b.conf", "metrics : { page_keys = false; };\n");
    conf_files_expect("main.conf",
                      "conf.d/b.conf:1: metrics.page_keys is there already: conf.d/a.conf:1\n");
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, conf_files_enter, conf_files_leave)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(test_defaults),
        IN_FOLDER(test_values),
        IN_FOLDER(test_what_is_refused),
        IN_FOLDER(test_they_may_stand_in_any_file),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
