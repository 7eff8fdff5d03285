/* SPDX-License-Identifier: Apache-2.0 */
/* The settings that say how a cluster is reached: their forms, and which of them exclude each other. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/mem.h"
#include "conf_files.h"

/* A row of a table (clang-format 14 crashes on some with braces). */
#define ROW(...)    \
    {               \
        __VA_ARGS__ \
    }

/* The settings of cluster a begin in line 2. */
static void write(const char *settings)
{
    char *text = mem_printf("clusters : { a : {\n%s\n}; };\n", settings);

    conf_files_write("main.conf", text);
    free(text);
}

static struct conf *good(const char *settings)
{
    write(settings);
    return conf_files_read("main.conf");
}

static void test_several_servers(void **state)
{
    (void)state;
    struct conf *c = good("servers = [ \"https://a\",\n\"https://b\" ];");

    assert_int_equal(c->clusters[0].servers.n, 2);
    assert_string_equal(c->clusters[0].servers.v[1].v, "https://b");
    assert_int_equal(c->clusters[0].servers.v[1].at.line, 3);
    assert_int_equal(c->clusters[0].n_server, 0);
    conf_destroy(&c);
}

static void test_named_servers(void **state)
{
    (void)state;
    struct conf *c =
        good("ca_file = \"/ca\";\n"
             "server : { one : { url = \"https://a\"; };\n"
             "two : { url = \"https://b\"; tier = 9; ca_file = \"/ca2\"; token_file = \"/t\";\n"
             "client_cert_file = \"/c\"; client_key_file = \"/k\"; tls_server_name = \"n\";\n"
             "}; three : { url = \"https://c\"; insecure_skip_tls_verify = true; }; };");
    const struct conf_server *s = c->clusters[0].server;

    assert_int_equal(c->clusters[0].n_server, 3);
    assert_string_equal(s[0].name.v, "one");
    assert_string_equal(s[0].url.v, "https://a");
    assert_int_equal(s[0].tier.v, 1);
    assert_string_equal(s[0].ca_file.v, "");
    assert_int_equal(s[0].insecure_skip_tls_verify.at.line, 0);
    assert_int_equal(s[1].tier.v, 9);
    assert_string_equal(s[1].ca_file.v, "/ca2");
    assert_string_equal(s[1].client_cert_file.v, "/c");
    assert_string_equal(s[1].client_key_file.v, "/k");
    assert_string_equal(s[1].token_file.v, "/t");
    assert_string_equal(s[1].tls_server_name.v, "n");
    assert_int_equal(s[1].token_file.at.line, 4);
    assert_true(s[2].insecure_skip_tls_verify.v);
    conf_destroy(&c);
}

static void test_forms_without_credentials_of_their_own(void **state)
{
    (void)state;
    struct conf *c = good("in_cluster = true; tuning : { compression = \"gzip\"; };");

    assert_true(c->clusters[0].in_cluster.v);
    assert_int_equal(c->clusters[0].tuning.compression.v, CONF_COMPRESSION_GZIP);
    conf_destroy(&c);
    c = good("kubeconfig = \"/a:/b::/c:\"; in_cluster = false; credential_owner = \"x\";\n"
             "insecure_skip_tls_verify = false; server : { };");
    assert_string_equal(c->clusters[0].kubeconfig.v, "/a:/b::/c:");
    assert_int_equal(c->clusters[0].tuning.compression.v, CONF_COMPRESSION_OFF);
    conf_destroy(&c);
    c = good("servers = [ \"http://a\" ]; proxy_url = \"http://u:p@h:1\";\n"
             "insecure_skip_tls_verify = true;");
    assert_string_equal(c->clusters[0].proxy_url.v, "http://u:p@h:1");
    assert_true(c->clusters[0].insecure_skip_tls_verify.v);
    conf_destroy(&c);
}

#define SERVERS  "servers = [ \"https://a\" ];\n"
#define SERVER   "server : { one : { url = \"https://a\"; }; };\n"
#define BESIDE   " cannot stand beside "
#define LEAVE(s) s ": leave one of them out\n"

static const struct {
    const char *settings;
    const char *problems;
} wrong[] = {
    ROW("kubeconfig = \"k\";",
        "main.conf:2: clusters.a.kubeconfig: \"k\" must be an absolute path, "
        "or several with colons between them\n"),
    ROW("kubeconfig = \"/k:l\";",
        "main.conf:2: clusters.a.kubeconfig: \"/k:l\" must be an absolute "
        "path, or several with colons between them\n"),
    ROW("kubeconfig = \"::\";", "main.conf:2: clusters.a.kubeconfig: \"::\" names no file\n"),
    ROW("kubeconfig = \"/k\";\nin_cluster = true;\nproxy_url = \"x\";\n" SERVER,
        "main.conf:3: clusters.a.in_cluster" BESIDE
            LEAVE("kubeconfig") "main.conf:4: clusters.a.proxy_url" BESIDE LEAVE(
                "kubeconfig") "main.conf:5: clusters.a.server" BESIDE LEAVE("kubeconfig")),
    ROW("kubeconfig = \"/k\";\ninsecure_skip_tls_verify = true;",
        "main.conf:3: clusters.a.insecure_skip_tls_verify" BESIDE LEAVE("kubeconfig")),
    ROW("in_cluster = true;\n" SERVERS "ca_file = \"/c\";\ntoken_file = \"/t\"; context = \"x\";\n"
        "client_cert_file = \"/c\"; client_key_file = \"/k\";\ntls_server_name = \"n\";",
        "main.conf:3: clusters.a.servers" BESIDE LEAVE(
            "in_cluster") "main.conf:4: clusters.a.ca_file" BESIDE
            LEAVE("in_cluster") "main.conf:5: clusters.a.token_file" BESIDE LEAVE(
                "in_cluster") "main.conf:5: clusters.a.context needs kubeconfig\n"
                              "main.conf:6: clusters.a.client_cert_file" BESIDE LEAVE(
                                  "in_cluster") "main.conf:6: clusters.a.client_key_file" BESIDE
                                  LEAVE(
                                      "in_cluster") "main.conf:7: clusters.a.tls_server_name" BESIDE
                                      LEAVE("in_cluster")),
    ROW(SERVER SERVERS, "main.conf:3: clusters.a.servers" BESIDE LEAVE("server")),
    ROW("servers = [ \"https://a\",\n\"https://a\" ];",
        "main.conf:3: clusters.a.servers: \"https://a\" is named twice\n"),
    ROW(SERVERS "ca_file = \"/c\";\ninsecure_skip_tls_verify = true;",
        "main.conf:4: clusters.a.insecure_skip_tls_verify" BESIDE LEAVE("ca_file")),
    ROW("server : { one : { }; };", "main.conf:2: clusters.a.server.one.url is required\n"),
    ROW("server : { one : { url = \"\"; }; };",
        "main.conf:2: clusters.a.server.one.url must not be empty\n"),
    ROW("server : { one : { url = \"https://a\"; tier = 0; };\n"
        "two : { url = \"https://b\"; tier = 10; }; };",
        "main.conf:2: clusters.a.server.one.tier: 0 is out of range: 1 to 9\n"
        "main.conf:3: clusters.a.server.two.tier: 10 is out of range: 1 to 9\n"),
    ROW("client_key_file = \"/k\"; client_cert_file = \"/c\";\n"
        "server : { one : { url = \"https://a\"; client_cert_file = \"/c\"; };\n"
        "two : { url = \"https://b\"; client_key_file = \"/k\"; }; };",
        "main.conf:3: clusters.a.server.one.client_cert_file needs client_key_file\n"
        "main.conf:4: clusters.a.server.two.client_key_file needs client_cert_file\n"),
    ROW("server : { one : { url = \"https://a\"; ca_file = \"/c\";\n"
        "insecure_skip_tls_verify = true; }; };",
        "main.conf:3: clusters.a.server.one.insecure_skip_tls_verify" BESIDE LEAVE("ca_file")),
    ROW("server : { one : { url = \"https://a\"; };\ntwo : { url = \"https://a\"; }; };",
        "main.conf:3: clusters.a.server.two.url: \"https://a\" is the address of server one "
        "already\n"),
    ROW("server : { one : { url = \"https://a\"; tokenfile = \"/t\"; }; };",
        "main.conf:2: unknown setting clusters.a.server.one.tokenfile: did you mean token_file?\n"),
    ROW("server : { one = \"https://a\"; };",
        "main.conf:1: clusters.a needs kubeconfig, servers, server or in_cluster\n"
        "main.conf:2: clusters.a.server.one must be a group { }, not a string\n"),
    ROW(SERVERS "tuning : { compression = \"on\"; };",
        "main.conf:3: clusters.a.tuning.compression: \"on\" is not one of off, gzip\n"),
    ROW("in_cluster = 1;", "main.conf:2: clusters.a.in_cluster must be true or false, not a whole "
                           "number\n"),
};

static void test_each_mistake_is_named(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        write(wrong[i].settings);
        conf_files_expect("main.conf", wrong[i].problems);
    }
}

/* The password in an address is in no message. */
static void test_the_proxy_has_no_rule_that_would_show_it(void **state)
{
    (void)state;
    struct conf *c = good(SERVERS "proxy_url = \"socks5://u:s3cret@h\";");

    conf_destroy(&c);
}

/* conf_files_print() reads its own output and prints it again, with the same result. */
static void test_all_of_it_can_be_printed_and_read_again(void **state)
{
    struct buf out = {0};

    (void)state;
    conf_files_print("clusters : { a : { insecure_skip_tls_verify = true; server : {\n"
                     "x : { url = \"https://a\"; }; y : { url = \"https://b\"; tier = 2;\n"
                     "insecure_skip_tls_verify = false; }; }; };\n"
                     "b : { in_cluster = true; }; c : { kubeconfig = \"/a:/b\"; }; };\n",
                     &out);
    assert_non_null(strstr(buf_cstr(&out), "      x : {\n        url = \"https://a\";\n"
                                           "        tier = 1;\n"));
    /* As if it were left out: it falls back to the setting of the cluster. */
    assert_non_null(
        strstr(buf_cstr(&out), "        # insecure_skip_tls_verify = false;\n      };\n      y"));
    assert_non_null(strstr(buf_cstr(&out), "        insecure_skip_tls_verify = false;\n"));
    assert_non_null(strstr(buf_cstr(&out), "    in_cluster = true;\n"));
    buf_free(&out);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, conf_files_enter, conf_files_leave)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_several_servers),
        TEST(test_named_servers),
        TEST(test_forms_without_credentials_of_their_own),
        TEST(test_each_mistake_is_named),
        TEST(test_the_proxy_has_no_rule_that_would_show_it),
        TEST(test_all_of_it_can_be_printed_and_read_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
