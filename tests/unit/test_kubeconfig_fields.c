/* SPDX-License-Identifier: Apache-2.0 */
/* Each field of the cluster and the user of a kubeconfig: its value, and the fields that exclude it. */
#include "kube/kubeconfig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"

/* A row of a table (clang-format 14 crashes on some with braces). */
#define ROW(...)    \
    {               \
        __VA_ARGS__ \
    }

/* The fields of the cluster begin in line 6, those of the user four lines behind their end. */
static char *text_of(const char *cluster, const char *user)
{
    return mem_printf("current-context: c\n"
                      "contexts: [{name: c, context: {cluster: k, user: u, namespace: n}}]\n"
                      "clusters:\n- name: k\n  cluster:\n%s"
                      "users:\n- name: u\n  user:\n%s",
                      cluster, user);
}

static enum err_kind parse(const char *cluster, const char *user, struct kubeconfig *k,
                           struct err *err)
{
    char *text = text_of(cluster, user);
    const struct kubeconfig_file file = {"/etc/i/k", str_c(text)};
    enum err_kind kind = kubeconfig_parse(&file, 1, NULL, k, err);

    free(text);
    return kind;
}

/* Reads fields that must be right. */
static struct kubeconfig good(const char *cluster, const char *user)
{
    struct kubeconfig k;
    struct err err = {0};

    (void)parse(cluster, user, &k, &err);
    assert_string_equal(err.text, "");
    return k;
}

struct mistake {
    const char *fields;
    const char *error; /* behind the path */
};

#define SERVER "    server: https://h\n"

static void expect_mistake(const char *cluster, const char *user, const char *error)
{
    struct kubeconfig k;
    struct err err = {0};
    char *whole = mem_printf("/etc/i/k:%s", error);

    assert_int_equal(parse(cluster, user, &k, &err), ERR_CONFIG);
    assert_string_equal(err.text, whole);
    assert_null(k.server);
    assert_null(strstr(err.text, "s3cret"));
    free(whole);
}

/* ---- The cluster */

static void test_fields_of_a_cluster(void **state)
{
    (void)state;
    struct kubeconfig k =
        good("    server: https://h/prefix\n    tls-server-name: n\n"
             "    insecure-skip-tls-verify: true\n    proxy-url: http://u:p@proxy:3128\n"
             "    disable-compression: true\n",
             "    {}\n");

    assert_string_equal(k.server, "https://h/prefix");
    assert_string_equal(k.tls_server_name, "n");
    assert_true(k.insecure_skip_tls_verify);
    assert_string_equal(k.proxy_url, "http://u:p@proxy:3128");
    assert_true(k.disable_compression);
    assert_null(k.exec.command);
    assert_null(k.impersonation.user);
    kubeconfig_fini(&k);
    k = good(SERVER "    insecure-skip-tls-verify: false\n    disable-compression: off\n"
                    "    certificate-authority: pki/ca.crt\n    proxy-url: ''\n",
             "    {}\n");
    assert_false(k.insecure_skip_tls_verify);
    assert_false(k.disable_compression);
    assert_string_equal(k.ca_file, "/etc/i/pki/ca.crt");
    assert_null(k.proxy_url);
    kubeconfig_fini(&k);
}

static const struct mistake of_cluster[] = {
    ROW("    server: ftp://h\n",
        "6: server: address: \"ftp\" is a scheme other than http and https"),
    ROW("    server: https://s3cret@h\n",
        "6: server: address: it holds a user name or an \"@\"; give credentials by token or "
        "certificate"),
    ROW(SERVER "    insecure-skip-tls-verify: true\n    certificate-authority: f\n",
        "6: insecure-skip-tls-verify cannot stand beside certificate-authority: leave one of them "
        "out"),
    ROW(SERVER "    insecure-skip-tls-verify: yes\n    certificate-authority-data: UEVN\n",
        "6: insecure-skip-tls-verify cannot stand beside certificate-authority: leave one of them "
        "out"),
    ROW(SERVER "    insecure-skip-tls-verify: 'true'\n",
        "7: insecure-skip-tls-verify must be true or false, without quotes"),
    ROW(SERVER "    disable-compression: 1\n",
        "7: disable-compression must be true or false, without quotes"),
    ROW(SERVER "    proxy-url: socks5://s3cret@h:1080\n",
        "7: proxy-url: address: SOCKS proxies are not supported; give an HTTP proxy (http:// or "
        "https://)"),
    ROW(SERVER "    proxy-url: s3cret:3128\n",
        "7: proxy-url: address: it must begin with http:// or https://"),
    ROW(SERVER "    proxy-url: http://u:s3cret@\n", "7: proxy-url: address: it names no host"),
};

static void test_mistakes_of_a_cluster(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(of_cluster); i++)
        expect_mistake(of_cluster[i].fields, "    {}\n", of_cluster[i].error);
}

/* ---- The user */

static void test_data_goes_before_files(void **state)
{
    (void)state;
    struct kubeconfig k =
        good(SERVER "    certificate-authority: ca\n    certificate-authority-data: Q0E=\n",
             "    client-certificate: c\n    client-certificate-data: Q0VSVA==\n"
             "    client-key: k\n    client-key-data: S0VZ\n");

    assert_string_equal(k.ca_data, "CA");
    assert_string_equal(k.client_cert_data, "CERT");
    assert_string_equal(k.client_key_data, "KEY");
    assert_null(k.ca_file);
    assert_null(k.client_cert_file);
    assert_null(k.client_key_file);
    kubeconfig_fini(&k);
}

static void test_a_token_may_have_white_space_around_it(void **state)
{
    (void)state;
    struct kubeconfig k = good(SERVER, "    token: |\n      a.b-c_d~+/=\n");

    assert_string_equal(k.token, "a.b-c_d~+/=\n");
    kubeconfig_fini(&k);
}

static void test_username_and_password(void **state)
{
    (void)state;
    struct kubeconfig k = good(SERVER, "    username: jane\n    password: 'p: w'\n");

    assert_string_equal(k.username, "jane");
    assert_string_equal(k.password, "p: w");
    kubeconfig_fini(&k);
}

/* A certificate may stand beside any other credential. */
static void test_a_certificate_stands_beside_the_others(void **state)
{
    (void)state;
    struct kubeconfig k = good(SERVER, "    client-certificate: c\n    client-key-data: UEVN\n"
                                       "    client-key: ignored\n    token: t\n");

    assert_string_equal(k.client_cert_file, "/etc/i/c");
    assert_string_equal(k.client_key_data, "PEM");
    assert_null(k.client_key_file);
    assert_string_equal(k.token, "t");
    kubeconfig_fini(&k);
    k = good(SERVER, "    client-certificate: /c\n    client-key: ../k\n    username: u\n"
                     "    password: p\n");
    assert_string_equal(k.client_cert_file, "/c");
    assert_string_equal(k.client_key_file, "/etc/i/../k");
    assert_string_equal(k.username, "u");
    kubeconfig_fini(&k);
}

static void test_impersonation(void **state)
{
    (void)state;
    struct kubeconfig k =
        good(SERVER, "    token: t\n    as: jane\n    as-uid: u-1\n"
                     "    as-groups: [a, 'b c', '']\n"
                     "    as-user-extra:\n      scopes: [x, y]\n      none: []\n");
    const struct impersonation *i = &k.impersonation;

    assert_string_equal(i->user, "jane");
    assert_string_equal(i->uid, "u-1");
    assert_int_equal(i->group_count, 3);
    assert_string_equal(i->groups[1], "b c");
    assert_string_equal(i->groups[2], "");
    assert_int_equal(i->extra_count, 2);
    assert_string_equal(i->extra[0].key, "scopes");
    assert_int_equal(i->extra[0].value_count, 2);
    assert_string_equal(i->extra[0].values[1], "y");
    assert_int_equal(i->extra[1].value_count, 0);
    kubeconfig_fini(&k);
}

static const struct mistake of_user[] = {
    ROW("    client-certificate-data: UEVN\n", "10: client-certificate needs client-key"),
    ROW("    client-key-data: UEVN\n", "10: client-key needs client-certificate"),
    ROW("    username: u\n", "10: username needs password"),
    ROW("    password: s3cret\n", "10: password needs username"),
    ROW("    username: a:b\n    password: s3cret\n",
        "10: username holds a colon, which Basic authentication cannot send"),
    ROW("    username: u\n    password: s3cret\n    token: s3cret\n",
        "10: username and password cannot stand beside token or tokenFile: leave one of the two "
        "out"),
    ROW("    username: u\n    password: s3cret\n    tokenFile: f\n",
        "10: username and password cannot stand beside token or tokenFile: leave one of the two "
        "out"),
    ROW("    as: jane\n    token: two s3cret\n",
        "11: token holds white space or control bytes: one token is expected"),
    ROW("    token: \"s3cret\\r\\nX-Header: b\"\n",
        "10: token holds white space or control bytes: one token is expected"),
    ROW("    token: \"s3cret\\x7f\"\n    tokenFile: f\n",
        "10: token holds white space or control bytes: one token is expected"),
    ROW("    token: \"s3cr\u00e9t\"\n",
        "10: token holds white space or control bytes: one token is expected"),
    ROW("    token: ' '\n", "10: token holds white space or control bytes: one token is expected"),
    ROW("    as-uid: u\n",
        "10: as-uid, as-groups and as-user-extra need as: the user to impersonate"),
    ROW("    as-groups: [a]\n",
        "10: as-uid, as-groups and as-user-extra need as: the user to impersonate"),
    ROW("    as-user-extra: {a: [b]}\n",
        "10: as-uid, as-groups and as-user-extra need as: the user to impersonate"),
    ROW("    as: \"a\\r\\nX-Header: b\"\n", "10: as holds a control byte: that cannot be sent to a "
                                            "server"),
    ROW("    as: a\n    as-groups: [\"b\\n\"]\n",
        "10: as-groups holds a control byte: that cannot be sent to a server"),
    ROW("    as: a\n    as-groups: b\n", "11: as-groups must be a list"),
    ROW("    as: a\n    as-groups: [b, [c]]\n", "11: as-groups must hold strings only"),
    ROW("    as: a\n    as-user-extra: [b]\n", "11: as-user-extra must be a mapping of lists"),
    ROW("    as: a\n    as-user-extra: {b: c}\n",
        "11: as-user-extra: each key needs a list of strings"),
    ROW("    as: a\n    as-user-extra: {'': [c]}\n",
        "10: as-user-extra has an empty key: that cannot be sent to a server"),
    ROW("    token: t\n    <<: {as: root}\n",
        "11: merge keys (<<) are not supported: write it out"),
    ROW("    token: t\n    auth-provider: {name: gcp}\n",
        "11: auth-provider is not supported, as exec plugins have replaced it: use an exec plugin, "
        "a token or a client certificate"),
    ROW("    exec: {command: c}\n    auth-provider: {name: gcp}\n",
        "11: auth-provider cannot stand beside exec: leave it out"),
};

static void test_mistakes_of_a_user(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(of_user); i++)
        expect_mistake(SERVER, of_user[i].fields, of_user[i].error);
}

/* ---- Exec plugins */

#define V1    "    exec:\n      apiVersion: client.authentication.k8s.io/v1\n"
#define BETA  "    exec:\n      apiVersion: client.authentication.k8s.io/v1beta1\n"
#define NEVER "      interactiveMode: Never\n"

static void test_a_whole_plugin(void **state)
{
    (void)state;
    struct kubeconfig k = good(
        SERVER "    extensions:\n    - name: other\n      extension: {x: 1}\n"
               "    - name: client.authentication.k8s.io/exec\n"
               "      extension: {audience: \"06e3\", deep: [1, true, {a: ~}]}\n",
        V1 NEVER "      command: bin/login\n      args: [eks, get-token, '']\n"
                 "      env:\n      - name: AWS_PROFILE\n        value: prod\n"
                 "      - {name: EMPTY, value: ''}\n      - name: NONE\n"
                 "      installHint: |\n        Install it.\n      provideClusterInfo: true\n");
    const struct kubeconfig_exec *e = &k.exec;

    assert_string_equal(e->command, "/etc/i/bin/login");
    assert_string_equal(e->api_version, "client.authentication.k8s.io/v1");
    assert_int_equal(e->arg_count, 3);
    assert_string_equal(e->args[1], "get-token");
    assert_string_equal(e->args[2], "");
    assert_int_equal(e->env_count, 3);
    assert_string_equal(e->env[0].name, "AWS_PROFILE");
    assert_string_equal(e->env[0].value, "prod");
    assert_string_equal(e->env[1].value, "");
    assert_string_equal(e->env[2].value, "");
    assert_string_equal(e->install_hint, "Install it.\n");
    assert_true(e->provide_cluster_info);
    assert_string_equal(e->cluster_config,
                        "{\"audience\":\"06e3\",\"deep\":[1,true,{\"a\":null}]}");
    kubeconfig_fini(&k);
}

static void test_the_least_plugin(void **state)
{
    (void)state;
    struct kubeconfig k = good(SERVER, BETA "      command: aws\n      env: null\n");

    assert_string_equal(k.exec.command, "aws");
    assert_string_equal(k.exec.api_version, "client.authentication.k8s.io/v1beta1");
    assert_int_equal(k.exec.arg_count, 0);
    assert_int_equal(k.exec.env_count, 0);
    assert_null(k.exec.install_hint);
    assert_false(k.exec.provide_cluster_info);
    assert_null(k.exec.cluster_config);
    kubeconfig_fini(&k);
}

/* The plugin is told that there is nobody to ask. */
static void test_a_plugin_that_would_ask_a_person_if_there_was_one(void **state)
{
    static const char *const versions[] = {V1, BETA};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(versions); i++) {
        char *user =
            mem_printf("%s      interactiveMode: IfAvailable\n      command: c\n", versions[i]);
        struct kubeconfig k = good(SERVER, user);

        assert_string_equal(k.exec.command, "c");
        kubeconfig_fini(&k);
        free(user);
    }
}

/* Then client-go does not start it either, whatever it is. */
static void test_no_plugin_beside_another_credential(void **state)
{
    static const char *const beside[] = {
        "    token: t\n",
        "    tokenFile: f\n",
        "    username: u\n    password: p\n",
        "    client-certificate: c\n    client-key: k\n",
        "    client-certificate-data: UEVN\n    client-key-data: UEVN\n",
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(beside); i++) {
        char *user = mem_printf("%s%s", beside[i], V1 "      interactiveMode: Always\n");
        struct kubeconfig k = good(SERVER, user);

        assert_null(k.exec.command);
        kubeconfig_fini(&k);
        free(user);
    }
}

static const struct mistake of_plugin[] = {
    ROW("    exec: aws\n", "10: a mapping with apiVersion was expected"),
    ROW("    exec:\n      command: c\n",
        "11: exec needs apiVersion: client.authentication.k8s.io/v1 or v1beta1, whichever the "
        "plugin knows"),
    ROW("    exec:\n      apiVersion: client.authentication.k8s.io/v1alpha1\n      command: c\n",
        "11: exec.apiVersion \"client.authentication.k8s.io/v1alpha1\" is not supported: "
        "client.authentication.k8s.io/v1 and v1beta1 are; newer releases of the plugin know them"),
    ROW(V1 NEVER, "11: exec needs command: the program that gives the credentials"),
    ROW(V1 "      command: c\n", "11: exec needs interactiveMode: Never, or IfAvailable"),
    ROW(V1 "      interactiveMode: Always\n",
        "12: interactiveMode Always needs a terminal, which a daemon does not have: write Never if "
        "the plugin can do without, else use a token or certificate"),
    ROW(BETA "      interactiveMode: Always\n",
        "12: interactiveMode Always needs a terminal, which a daemon does not have: write Never if "
        "the plugin can do without, else use a token or certificate"),
    ROW(V1 "      interactiveMode: never\n", "12: interactiveMode must be Never or IfAvailable"),
    ROW(BETA "      command: c\n      args: x\n", "13: args must be a list"),
    ROW(BETA "      command: c\n      env: [{value: s3cret}]\n",
        "13: each variable in exec.env needs a name without \"=\""),
    ROW(BETA "      command: c\n      env: [{name: a=b, value: s3cret}]\n",
        "13: each variable in exec.env needs a name without \"=\""),
    ROW(BETA "      command: c\n      env: [{name: a, value: [s3cret]}]\n",
        "13: value must be a string"),
    ROW(BETA "      command: c\n      provideClusterInfo: maybe\n",
        "13: provideClusterInfo must be true or false, without quotes"),
};

static void test_mistakes_of_a_plugin(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(of_plugin); i++)
        expect_mistake(SERVER, of_plugin[i].fields, of_plugin[i].error);
}

#define EXTENSION "    - name: client.authentication.k8s.io/exec\n      extension: "

static void test_mistakes_of_the_extension_for_plugins(void **state)
{
    (void)state;
    expect_mistake(SERVER "    extensions:\n" EXTENSION "{a: 1}\n" EXTENSION "{}\n",
                   BETA "      command: c\n",
                   "10: the extension \"client.authentication.k8s.io/exec\" is there twice");
    expect_mistake(SERVER "    extensions: {}\n", BETA "      command: c\n",
                   "7: extensions must be a list");
    expect_mistake(SERVER "    extensions:\n" EXTENSION "{a: 0x10}\n", BETA "      command: c\n",
                   "9: JSON does not have this form of a number: write it in decimal, or in quotes "
                   "if it is a string");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fields_of_a_cluster),
        cmocka_unit_test(test_mistakes_of_a_cluster),
        cmocka_unit_test(test_data_goes_before_files),
        cmocka_unit_test(test_a_token_may_have_white_space_around_it),
        cmocka_unit_test(test_username_and_password),
        cmocka_unit_test(test_a_certificate_stands_beside_the_others),
        cmocka_unit_test(test_impersonation),
        cmocka_unit_test(test_mistakes_of_a_user),
        cmocka_unit_test(test_a_whole_plugin),
        cmocka_unit_test(test_the_least_plugin),
        cmocka_unit_test(test_a_plugin_that_would_ask_a_person_if_there_was_one),
        cmocka_unit_test(test_no_plugin_beside_another_credential),
        cmocka_unit_test(test_mistakes_of_a_plugin),
        cmocka_unit_test(test_mistakes_of_the_extension_for_plugins),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
