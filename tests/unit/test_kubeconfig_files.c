/* SPDX-License-Identifier: Apache-2.0 */
/* Several files as one kubeconfig: which file wins, whose folder counts, which file an error
 * names. */
#include "kube/kubeconfig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"

#define CONTEXT(name) "contexts: [{name: " name ", context: {cluster: k, user: u}}]\n"
#define CLUSTER(server) \
    "clusters: [{name: k, cluster: {server: " server ", certificate-authority: ca}}]\n"
#define USER(token) "users: [{name: u, user: {tokenFile: " token "}}]\n"

/* The files /0/k, /1/k and so on. */
static enum err_kind parse(const char *const *texts, size_t n, const char *context,
                           struct kubeconfig *k, struct err *err)
{
    static const char *const paths[] = {"/0/k", "/1/k", "/2/k"};
    struct kubeconfig_file files[3];

    for (size_t i = 0; i < n; i++)
        files[i] = (struct kubeconfig_file){paths[i], str_c(texts[i])};
    return kubeconfig_parse(files, n, context, k, err);
}

#define TEXTS(...)        \
    (const char *const[]) \
    {                     \
        __VA_ARGS__       \
    }

static struct kubeconfig good(const char *const *texts, size_t n, const char *context)
{
    struct kubeconfig k;
    struct err err = {0};

    (void)parse(texts, n, context, &k, &err);
    assert_string_equal(err.text, "");
    return k;
}

static void expect_error(const char *const *texts, size_t n, const char *context, const char *error)
{
    struct kubeconfig k;
    struct err err = {0};

    assert_int_equal(parse(texts, n, context, &k, &err), ERR_CONFIG);
    assert_string_equal(err.text, error);
    assert_null(k.server);
}

/* kubectl config view over such files shows the same. */
static void test_parts_may_stand_in_different_files(void **state)
{
    (void)state;
    struct kubeconfig k = good(
        TEXTS("current-context: c\n" USER("t0"), CLUSTER("https://one"), CONTEXT("c")), 3, NULL);

    assert_string_equal(k.server, "https://one");
    assert_int_equal(k.cluster_from, 1);
    assert_string_equal(k.ca_file, "/1/ca");
    assert_int_equal(k.user_from, 0);
    assert_string_equal(k.token_file, "/0/t0");
    kubeconfig_fini(&k);
}

/* Nothing of a later entry with the same name counts, not even a field that the first lacks. */
static void test_the_first_entry_of_a_name_wins_as_a_whole(void **state)
{
    (void)state;
    struct kubeconfig k =
        good(TEXTS("clusters: [{name: k, cluster: {server: 'https://zero'}}]\n" CONTEXT("c"),
                   "current-context: c\n" CLUSTER("https://one") USER("t1")),
             2, NULL);

    assert_string_equal(k.server, "https://zero");
    assert_null(k.ca_file);
    assert_string_equal(k.token_file, "/1/t1");
    kubeconfig_fini(&k);
}

static void test_the_first_current_context_wins(void **state)
{
    static const char *const texts[] = {
        "current-context: ''\n" CONTEXT("a"),
        "current-context: a\n" CLUSTER("https://one") USER("t"),
        "current-context: b\n" CONTEXT("b"),
    };

    (void)state;
    struct kubeconfig k = good(texts, 3, NULL);
    assert_string_equal(k.context, "a");
    kubeconfig_fini(&k);
    k = good(texts, 3, "b");
    assert_string_equal(k.context, "b");
    kubeconfig_fini(&k);
}

static void test_an_error_names_its_file(void **state)
{
    (void)state;
    expect_error(TEXTS("current-context: c\n", "\na: ["), 2, NULL,
                 "/1/k:3: bad YAML: did not find expected node content");
    expect_error(TEXTS("kind: Config\n", "\ncurrent-context: c\n" CONTEXT("d")), 2, NULL,
                 "/1/k:2: there is no context \"c\" in contexts");
    expect_error(TEXTS("kind: Config\n", CONTEXT("d")), 2, "c",
                 "/0/k:1: there is no context \"c\" in contexts");
    expect_error(TEXTS("kind: Config\n", "kind: Config\n"), 2, NULL,
                 "/0/k:1: there is no current-context: name a context");
    expect_error(TEXTS("current-context: c\n", "kind: Config\n" CONTEXT("c"), USER("t")), 3, NULL,
                 "/1/k:2: there is no cluster \"k\" in clusters");
    expect_error(TEXTS("current-context: c\n" CONTEXT("c"), CLUSTER("https://h"),
                       "\n\nusers: [{name: u, user: {username: x}}]\n"),
                 3, NULL, "/2/k:3: username needs password");
}

/* Behind the file that has the entry, even a broken entry of that name does no harm. */
static void test_twice_in_one_file_is_an_error_all_the_same(void **state)
{
    (void)state;
    expect_error(TEXTS("current-context: c\n" CONTEXT("c"), CLUSTER("https://h"),
                       "users: [{name: u, user: {}},\n {name: u, user: {}}]\n"),
                 3, NULL, "/2/k:2: user \"u\" is there twice");
    struct kubeconfig k =
        good(TEXTS("current-context: c\n" CONTEXT("c") CLUSTER("https://h"), USER("t"),
                   "users: [{name: u, user: {}}, {name: u, user: {}}]\n"),
             3, NULL);
    assert_string_equal(k.token_file, "/1/t");
    kubeconfig_fini(&k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parts_may_stand_in_different_files),
        cmocka_unit_test(test_the_first_entry_of_a_name_wins_as_a_whole),
        cmocka_unit_test(test_the_first_current_context_wins),
        cmocka_unit_test(test_an_error_names_its_file),
        cmocka_unit_test(test_twice_in_one_file_is_an_error_all_the_same),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
