/* SPDX-License-Identifier: Apache-2.0 */
/* Output paths: good templates, the paths that come of them, and values that must not get into a
 * path. */
#include "base/path_template.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"

static const struct path_template_values plain = {
    {"shop", "web", "prod", "node-1"}
};

static void test_good_templates(void **state)
{
    static const struct {
        const char *template;
        unsigned used;
        const char *path;
        size_t fixed;
    } good[] = {
        {"/a",                                      0,  "/a",                    1},
        {"/etc/x/a.cfg",                            0,  "/etc/x/a.cfg",          6},
        {"/etc/x/${name}.cfg",                      2,  "/etc/x/web.cfg",        6},
        {"/${name}",                                2,  "/web",                  1},
        {"/x/${namespace}/${name}",                 3,  "/x/shop/web",           2},
        {"/x/${namespace}/fixed/${name}",           3,  "/x/shop/fixed/web",     2},
        {"/x/a-${cluster}-b/c/${namespace}${name}", 7,  "/x/a-prod-b/c/shopweb", 2},
        {"/x/${node_name}/y/${name}${name}",        10, "/x/node-1/y/webweb",    2},
        {"/x/.a/..b/c..",                           0,  "/x/.a/..b/c..",         9},
        {"/x/{name}",                               0,  "/x/{name}",             2},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        struct buf out = {0};
        size_t fixed;
        unsigned used;

        assert_int_equal(path_template_check(good[i].template, &used, NULL), ERR_OK);
        assert_int_equal(used, good[i].used);
        buf_puts(&out, "before");
        assert_int_equal(path_template_expand(good[i].template, &plain, &out, &fixed, NULL),
                         ERR_OK);
        assert_string_equal(buf_cstr(&out) + 6, good[i].path);
        assert_int_equal(fixed, good[i].fixed);
        buf_free(&out);
    }
}

static void test_bad_templates(void **state)
{
    static const char *const bad[] = {
        "",
        "x",
        "x/${name}",
        "/",
        "/x/",
        "//x",
        "/x//y",
        "/x/./y",
        "/x/../y",
        "/..",
        "/x/.",
        "/x/${name",
        "/x/${Name}",
        "/x/$name",
        "/x/$",
        "/x/${}",
        "/x/${uid}",
        "/x/$${name}",
        "/x/a$",
        "/x/${ name}",
        "/x/${name}/",
        "/${name}//a",
        "/x/${name}/.",
        "${name}",
        "/x/.informerd-0",
        "/.informerd-/x",
        "/x/${name}/${file}",
    };
    const struct path_template_values values = {
        {"shop", "web", "prod", "node-1"}
    };

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct buf out = {0};
        struct err err = {0};
        unsigned used;

        assert_int_equal(path_template_check(bad[i], &used, &err), ERR_CONFIG);
        assert_true(strncmp(err.text, "must ", 5) == 0 || strncmp(err.text, "names ", 6) == 0);
        assert_int_equal(path_template_expand(bad[i], &values, &out, NULL, &err), ERR_CONFIG);
        assert_int_equal(out.len, 0);
        buf_free(&out);
    }
}

/* "/" and n bytes, of which end is the last part. */
static char *long_template(size_t n, const char *end)
{
    char *template = mem_array(n + 2, 1);

    memset(template, 'x', n + 1);
    template[0] = '/';
    memcpy(template + n + 1 - strlen(end), end, strlen(end) + 1);
    return template;
}

static void expect_length(size_t n, const char *end, enum err_kind want)
{
    char *template = long_template(n, end);
    struct err err = {0};
    unsigned used;

    assert_int_equal(path_template_check(template, &used, &err), want);
    if (want != ERR_OK)
        assert_string_equal(err.text,
                            "must have at most 255 bytes in a component, and 4095 in all");
    free(template);
}

static void test_templates_that_no_value_makes_short_enough(void **state)
{
    (void)state;
    expect_length(255, "", ERR_OK);
    expect_length(256, "", ERR_CONFIG);
    expect_length(254 + 7, "${name}", ERR_OK);
    expect_length(255 + 7, "${name}", ERR_CONFIG);
    expect_length(256 + 2, "/y", ERR_CONFIG);
}

static void test_a_template_of_many_components(void **state)
{
    struct buf template = {0};
    struct err err = {0};
    unsigned used;

    (void)state;
    for (int i = 0; i < 2047; i++)
        buf_puts(&template, "/x");
    buf_puts(&template, "y");
    assert_int_equal(path_template_check(buf_cstr(&template), &used, &err), ERR_OK);
    buf_puts(&template, "z");
    assert_int_equal(path_template_check(buf_cstr(&template), &used, &err), ERR_CONFIG);
    buf_free(&template);
}

static enum err_kind expand_name(const char *template, const char *name, struct err *err)
{
    const struct path_template_values values = {{[PATH_TEMPLATE_NAME] = name}};
    struct buf out = {0};
    size_t fixed;

    buf_puts(&out, "kept");
    enum err_kind kind = path_template_expand(template, &values, &out, &fixed, err);
    if (kind != ERR_OK)
        assert_string_equal(buf_cstr(&out), "kept");
    buf_free(&out);
    return kind;
}

static void test_bad_values(void **state)
{
    static const char *const bad[] = {"", ".", "..", "/", "a/b", "../x", "/etc", "a/"};
    struct err err;

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_int_equal(expand_name("/x/a${name}b", bad[i], &err), ERR_CONFIG);
        assert_non_null(strstr(err.text, "${name}"));
    }
    assert_int_equal(expand_name("/x/${namespace}-${name}", "a", &err), ERR_CONFIG);
    assert_non_null(strstr(err.text, "${namespace}"));
    assert_int_equal(expand_name("/x/.${name}", "informerd-1", &err), ERR_CONFIG);
    assert_int_equal(expand_name("/x/${name}", ".informerd-1", &err), ERR_CONFIG);
    assert_int_equal(expand_name("/x/${name}", "...", &err), ERR_OK);
    assert_int_equal(expand_name("/x/${name}", "${name}", &err),
                     ERR_OK); /* a value is not expanded again */
    assert_int_equal(expand_name("/x/${name}", "a b\n*", &err), ERR_OK);
}

static void test_cluster_scoped(void **state)
{
    const struct path_template_values values = {
        {"", "node-1", "prod", NULL}
    };
    struct buf out = {0};
    struct err err;

    (void)state;
    assert_int_equal(path_template_expand("/x/${namespace}/${name}", &values, &out, NULL, &err),
                     ERR_CONFIG);
    assert_non_null(strstr(err.text, "cluster-scoped"));
    buf_free(&out);
}

static char *letters(size_t n)
{
    char *s = mem_alloc(n + 1);

    memset(s, 'a', n);
    s[n] = '\0';
    return s;
}

static void test_lengths(void **state)
{
    char *longest = letters(PATH_TEMPLATE_COMPONENT_MAX);
    char *longer = letters(PATH_TEMPLATE_COMPONENT_MAX + 1);
    struct buf template = {0};

    (void)state;
    assert_int_equal(expand_name("/x/${name}", longest, NULL), ERR_OK);
    assert_int_equal(expand_name("/x/${name}", longer, NULL), ERR_TOO_BIG);
    assert_int_equal(expand_name("/x/${name}b", longest, NULL), ERR_TOO_BIG);
    assert_int_equal(expand_name("/x/${name}/b", longer, NULL), ERR_TOO_BIG);
    for (int i = 0; i < 15; i++)
        buf_puts(&template, "/${name}");
    buf_puts(&template, "/");
    size_t n = PATH_TEMPLATE_PATH_MAX - 15 * (PATH_TEMPLATE_COMPONENT_MAX + 1) - 1;
    char *rest = letters(n);
    buf_puts(&template, rest);
    assert_int_equal(expand_name(buf_cstr(&template), longest, NULL), ERR_OK);
    buf_puts(&template, "a");
    assert_int_equal(expand_name(buf_cstr(&template), longest, NULL), ERR_TOO_BIG);
    buf_free(&template);
    free(rest);
    free(longer);
    free(longest);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good_templates),
        cmocka_unit_test(test_bad_templates),
        cmocka_unit_test(test_bad_values),
        cmocka_unit_test(test_cluster_scoped),
        cmocka_unit_test(test_lengths),
        cmocka_unit_test(test_templates_that_no_value_makes_short_enough),
        cmocka_unit_test(test_a_template_of_many_components),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
