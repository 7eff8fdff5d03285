/* SPDX-License-Identifier: Apache-2.0 */
/* The rules become the smallest roles, whatever their order is; subjects and quoting. */
#include "kube/rbac.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define LW    (RBAC_LIST | RBAC_WATCH)
#define GLW   (RBAC_GET | LW)
#define HEAD  "apiVersion: rbac.authorization.k8s.io/v1\n"
#define BOUND "  - kind: User\n    apiGroup: rbac.authorization.k8s.io\n    name: \"u\"\n"
#define META  "metadata:\n  name: \"informerd-user:u\"\n"
#define REF   "roleRef:\n  apiGroup: rbac.authorization.k8s.io\n  kind: "
#define CLUSTER_ROLE(rules)                                                             \
    "---\n" HEAD "kind: ClusterRole\n" META "rules:\n" rules "---\n" HEAD               \
    "kind: ClusterRoleBinding\n" META REF "ClusterRole\n  name: \"informerd-user:u\"\n" \
    "subjects:\n" BOUND
#define ROLE(ns, rules)                                                                     \
    "---\n" HEAD "kind: Role\n" META "  namespace: \"" ns "\"\nrules:\n" rules "---\n" HEAD \
    "kind: RoleBinding\n" META "  namespace: \"" ns "\"\n" REF                              \
    "Role\n  name: \"informerd-user:u\"\nsubjects:\n" BOUND
#define RULE(group, resources, verbs) \
    "  - apiGroups: [\"" group "\"]\n    resources: [" resources "]\n    verbs: [" verbs "]\n"
#define NAMED(group, resources, names, verbs)                          \
    "  - apiGroups: [\"" group "\"]\n    resources: [" resources "]\n" \
    "    resourceNames: [" names "]\n    verbs: [" verbs "]\n"

struct row {
    const char *ns;
    const char *group;
    const char *plural;
    const char *name;
    unsigned verbs;
    const char *why; /* NULL = "" */
};

static void grant(struct rbac *r, const struct row *row)
{
    const struct rbac_grant g = {
        .ns = row->ns,
        .group = row->group,
        .plural = row->plural,
        .name = row->name,
        .verbs = row->verbs,
        .why = row->why != NULL ? row->why : "",
    };

    rbac_grant(r, &g);
}

/* Grants the rows forwards, backwards, and all of them twice: the result is the same. */
static void expect(const struct row *rows, size_t n, const char *yaml)
{
    const struct rbac_subject user = {.kind = RBAC_USER, .name = str_c("u")};

    for (int round = 0; round < 3; round++) {
        struct rbac *r = rbac_create();
        struct buf out = {0};

        for (size_t i = 0; i < n; i++)
            grant(r, &rows[round == 1 ? n - 1 - i : i]);
        for (size_t i = 0; i < n && round == 2; i++)
            grant(r, &rows[i]);
        rbac_put(r, &user, &out);
        assert_string_equal(buf_cstr(&out), yaml);
        buf_free(&out);
        rbac_destroy(&r);
        assert_null(r);
    }
}

#define EXPECT(yaml, ...)                     \
    expect((const struct row[]){__VA_ARGS__}, \
           sizeof((const struct row[]){__VA_ARGS__}) / sizeof(struct row), yaml)

static void test_one_rule_for_resources_of_a_group_that_need_the_same(void **state)
{
    (void)state;
    EXPECT(CLUSTER_ROLE(RULE("", "\"nodes\", \"services\"", "\"list\", \"watch\"")
                            RULE("apps", "\"deployments\"", "\"list\", \"watch\"")),
           {"", "", "services", "", LW, NULL}, {"", "apps", "deployments", "", LW, NULL},
           {"", "", "nodes", "", LW, NULL});
    EXPECT(CLUSTER_ROLE(RULE("", "\"nodes\"", "\"list\", \"watch\"")
                            RULE("", "\"services\"", "\"get\", \"list\", \"watch\"")),
           {"", "", "services", "", GLW, NULL}, {"", "", "nodes", "", LW, NULL});
}

static void test_a_role_for_each_namespace(void **state)
{
    (void)state;
    EXPECT(ROLE("a", RULE("", "\"pods\", \"services\"", "\"list\", \"watch\""))
               ROLE("b", RULE("", "\"services\"", "\"list\", \"watch\"")),
           {"b", "", "services", "", LW, NULL}, {"a", "", "services", "", LW, NULL},
           {"a", "", "pods", "", LW, NULL});
}

static void test_names_are_gathered_and_sorted(void **state)
{
    (void)state;
    EXPECT(CLUSTER_ROLE(NAMED("", "\"secrets\"", "\"a\", \"c\"", "\"list\", \"watch\"")
                            NAMED("", "\"secrets\"", "\"b\"", "\"get\", \"list\", \"watch\"")),
           {"", "", "secrets", "c", LW, NULL}, {"", "", "secrets", "b", LW, NULL},
           {"", "", "secrets", "a", LW, NULL}, {"", "", "secrets", "b", RBAC_GET, NULL});
    /* resources share a rule only if the names are the same, too */
    EXPECT(ROLE("n", NAMED("", "\"configmaps\", \"secrets\"", "\"a\"", "\"list\", \"watch\"")
                         NAMED("", "\"pods\"", "\"a\", \"b\"", "\"list\", \"watch\"")),
           {"n", "", "secrets", "a", LW, NULL}, {"n", "", "configmaps", "a", LW, NULL},
           {"n", "", "pods", "a", LW, NULL}, {"n", "", "pods", "b", LW, NULL});
}

static void test_rules_that_a_wider_one_covers_are_left_out(void **state)
{
    (void)state;
    EXPECT(CLUSTER_ROLE(RULE("", "\"pods\"", "\"list\", \"watch\"")),
           {"", "", "pods", "", LW, NULL}, {"n", "", "pods", "", LW, NULL},
           {"n", "", "pods", "a", LW, NULL}, {"", "", "pods", "a", LW, NULL});
    EXPECT(CLUSTER_ROLE(RULE("", "\"pods\"", "\"list\", \"watch\""))
               ROLE("n", RULE("", "\"pods\"", "\"get\"")),
           {"", "", "pods", "", LW, NULL}, {"n", "", "pods", "", GLW, NULL},
           {"n", "", "pods", "a", RBAC_GET, NULL});
    EXPECT(CLUSTER_ROLE(NAMED("", "\"pods\"", "\"a\"", "\"list\", \"watch\""))
               ROLE("n", NAMED("", "\"pods\"", "\"b\"", "\"list\", \"watch\"")),
           {"", "", "pods", "a", LW, NULL}, {"n", "", "pods", "a", LW, NULL},
           {"n", "", "pods", "b", LW, NULL});
    EXPECT(CLUSTER_ROLE(RULE("", "\"pods\"", "\"list\", \"watch\"")
                            RULE("metrics.k8s.io", "\"pods\"", "\"get\"")),
           {"", "", "pods", "", LW, NULL}, {"", "metrics.k8s.io", "pods", "", RBAC_GET, NULL});
}

static void test_a_rule_with_a_comment_stands_alone(void **state)
{
    (void)state;
    EXPECT(CLUSTER_ROLE("  # so\n" RULE("", "\"a\"", "\"list\", \"watch\"")
                            RULE("", "\"b\", \"c\"", "\"list\", \"watch\"")),
           {"", "", "c", "", LW, NULL}, {"", "", "b", "", LW, NULL}, {"", "", "a", "", LW, "so"});
    EXPECT(CLUSTER_ROLE("  # so\n" NAMED("", "\"a\"", "\"x\"", "\"get\", \"list\", \"watch\"")),
           {"", "", "a", "x", LW, NULL}, {"", "", "a", "x", RBAC_GET, "so"});
    EXPECT(CLUSTER_ROLE(RULE("", "\"a\"", "\"get\", \"list\", \"watch\"")),
           {"", "", "a", "", GLW, NULL}, {"", "", "a", "x", RBAC_GET, "so"});
}

static void test_nothing_is_granted(void **state)
{
    (void)state;
    expect(NULL, 0, "");
}

static char *put(void (*f)(const struct rbac_subject *, struct buf *), const char *text)
{
    static char shown[512];
    struct rbac_subject s;
    struct buf out = {0};
    struct err err;

    if (rbac_parse_subject(text, &s, &err) != ERR_OK)
        return NULL;
    f(&s, &out);
    snprintf(shown, sizeof(shown), "%s", buf_cstr(&out));
    buf_free(&out);
    return shown;
}

static void put_role(const struct rbac_subject *s, struct buf *out)
{
    struct rbac *r = rbac_create();

    grant(r, &(const struct row){"", "", "pods", "", RBAC_LIST, NULL});
    rbac_put(r, s, out);
    rbac_destroy(&r);
}

static void test_subjects(void **state)
{
    static const char *const bad[] = {
        "",
        "User",
        "User:",
        "u",
        "Node:n",
        "User:\xff",
        "User:a\xc3",
        "ServiceAccount:a",
        ":x",
        "ServiceAccount",
        "ServiceAccount:",
        "ServiceAccount::b",
        "Users:u",
        "ServiceAccount:a:",
        "ServiceAccount:a.b:c",
        "ServiceAccount:a:B",
        "ServiceAccount:a:b:c",
    };
    struct rbac_subject s;
    struct err err;

    (void)state;
    assert_string_equal(put(rbac_put_subject, "User:system:node:n"), "\"User:system:node:n\"");
    assert_string_equal(put(rbac_put_subject, "group:g h"), "\"Group:g h\"");
    assert_string_equal(put(rbac_put_subject, "serviceaccount:a-1:b.c"),
                        "\"ServiceAccount:a-1:b.c\"");
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_int_equal(rbac_parse_subject(bad[i], &s, &err), ERR_CONFIG);
        assert_non_null(strstr(err.text, "ServiceAccount:NAMESPACE:NAME"));
    }
}

static void test_how_subjects_are_bound(void **state)
{
    const char *yaml = put(put_role, "Group:system:nodes");

    (void)state;
    assert_non_null(strstr(yaml, "  name: \"informerd-group:system:nodes\"\n"));
    assert_non_null(strstr(yaml, "subjects:\n  - kind: Group\n    apiGroup: rbac.authorization."
                                 "k8s.io\n    name: \"system:nodes\"\n"));
    yaml = put(put_role, "ServiceAccount:a:b");
    assert_non_null(strstr(yaml, "  name: \"informerd-serviceaccount:a:b\"\n"));
    assert_non_null(strstr(yaml, "subjects:\n  - kind: ServiceAccount\n    namespace: \"a\"\n"
                                 "    name: \"b\"\n"));
}

/* A name that no role can have is changed, and two such names stay different. */
static void test_names_of_roles(void **state)
{
    char first[512];
    char *yaml = put(put_role, "User:a/b");

    (void)state;
    assert_non_null(strstr(yaml, "name: \"informerd-user:a-b-"));
    assert_non_null(strstr(yaml, "name: \"a/b\"\n"));
    snprintf(first, sizeof(first), "%s", strstr(yaml, "informerd-user"));
    *strchr(first, '"') = '\0';
    yaml = put(put_role, "User:a%b");
    assert_non_null(strstr(yaml, "name: \"informerd-user:a-b-"));
    assert_null(strstr(yaml, first));
}

static void test_quoting(void **state)
{
    const struct rbac_subject subject = {
        .kind = RBAC_USER,
        .name = str_c("a \"b\"\\\n\x7f \xc3\xb6 \xe2\x80\xa8 \xf0\x9f\x98\x80 \xff")};
    struct buf out = {0};

    (void)state;
    rbac_put_subject(&subject, &out);
    assert_string_equal(buf_cstr(&out), "\"User:a \\\"b\\\"\\\\\\U0000000A\\U0000007F \\U000000F6 "
                                        "\\U00002028 \\U0001F600 \\U0000FFFD\"");
    buf_free(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_rule_for_resources_of_a_group_that_need_the_same),
        cmocka_unit_test(test_a_role_for_each_namespace),
        cmocka_unit_test(test_names_are_gathered_and_sorted),
        cmocka_unit_test(test_rules_that_a_wider_one_covers_are_left_out),
        cmocka_unit_test(test_a_rule_with_a_comment_stands_alone),
        cmocka_unit_test(test_nothing_is_granted),
        cmocka_unit_test(test_subjects),
        cmocka_unit_test(test_how_subjects_are_bound),
        cmocka_unit_test(test_names_of_roles),
        cmocka_unit_test(test_quoting),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
