/* SPDX-License-Identifier: Apache-2.0 */
/* From settings, kubeconfigs and the environment of a pod to the servers and credentials of each
 * cluster. */
#include "app/cluster_access.h"

#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "conf_files.h"
#include "helper/file_source.h"
#include "temp_folder.h"

#define SYSTEM_CA "/etc/ssl/certs/ca-certificates.crt"

/* A configuration, the clusters in it, and the problems. */
struct rig {
    struct conf *conf;
    struct cluster_access_list list;
    struct problems problems;
    struct buf told;
};

/* Each %s in settings is the folder of the test. */
static void load(struct rig *r, const char *settings)
{
    struct buf text = {0};

    *r = (struct rig){0};
    buf_puts(&text, "user = \"root\";\n");
    for (const char *at = settings; *at != '\0'; at++) {
        if (at[0] == '%' && at[1] == 's') {
            buf_puts(&text, temp_folder_path());
            at++;
        } else {
            buf_putc(&text, *at);
        }
    }
    conf_files_write("main.conf", buf_cstr(&text));
    buf_free(&text);
    r->conf = conf_files_read("main.conf");
    struct file_set files = {.source = &file_source_disk, .as_root = geteuid() == 0};
    cluster_access_load(&r->list, r->conf, &files, &r->problems);
    file_set_fini(&files);
    problems_put(&r->problems, &r->told);
}

static void finish(struct rig *r)
{
    cluster_access_fini(&r->list);
    conf_destroy(&r->conf);
    problems_free(&r->problems);
    buf_free(&r->told);
}

/* A file that root trusts. */
static void put(const char *path, const char *text)
{
    conf_files_write(path, text);
    assert_int_equal(chmod(path, 0600), 0);
}

/* Where the credentials of a server come from: one word each for CA, certificate, key, token and
 * password; "-" = there is none, "=" = data. */
static void expect_items(const struct rig *r, const struct cluster_server *s, const char *expected)
{
    struct buf got = {0};

    for (size_t i = 0; i < CRED_ITEMS; i++) {
        const struct cred_source *item = &s->items[i];

        buf_puts(&got, i > 0 ? " " : "");
        buf_puts(&got, item->data != NULL ? "=" : "");
        buf_puts(&got, item->path != NULL ? item->path : item->data != NULL ? "" : "-");
        if (item->path != NULL) {
            assert_true(item->file < r->list.file_count);
            assert_string_equal(r->list.files[item->file].path, item->path);
        }
    }
    buf_puts(&got, r->list.v[0].basic != NULL ? " =" : " -");
    assert_string_equal(buf_cstr(&got), expected);
    buf_free(&got);
}

/* ---- Plain settings */

static void test_servers_of_one_list_have_the_same_credentials(void **state)
{
    struct rig r;

    (void)state;
    load(&r, "clusters : { a : { servers = [ \"https://a:1/p\", \"b\" ]; ca_file = \"/ca\";\n"
             "token_file = \"/t\"; tls_server_name = \"n\"; }; };\n");
    const struct cluster_access *a = &r.list.v[0];

    assert_int_equal(a->server_count, 2);
    assert_string_equal(a->servers[0].address, "https://a:1/p");
    assert_string_equal(a->servers[0].url.prefix, "/p");
    assert_string_equal(a->servers[1].url.host, "b");
    for (size_t i = 0; i < 2; i++) {
        assert_string_equal(a->servers[i].name, "");
        assert_string_equal(a->servers[i].tls_server_name, "n");
        assert_int_equal(a->servers[i].tier, 1);
        assert_false(a->servers[i].insecure);
        expect_items(&r, &a->servers[i], "/ca - - /t -");
    }
    assert_int_equal(r.list.file_count, 2); /* the helper opens and watches each file once */
    assert_string_equal(a->headers, "");
    assert_null(a->servers[1].proxy.url.host);
    assert_null(a->exec);
    finish(&r);
}

static void test_a_server_has_what_it_names_and_else_that_of_the_cluster(void **state)
{
    struct rig r;

    (void)state;
    load(&r,
         "clusters : { a : { ca_file = \"/ca\"; client_cert_file = \"/c\";\n"
         "client_key_file = \"/k\"; token_file = \"/t\"; tls_server_name = \"n\"; server : {\n"
         "none : { url = \"https://0\"; };\n"
         "all : { url = \"https://1\"; tier = 2; ca_file = \"/ca1\"; token_file = \"/t1\";\n"
         "  client_cert_file = \"/c1\"; client_key_file = \"/k1\"; tls_server_name = \"n1\"; };\n"
         "insecure : { url = \"https://2\"; insecure_skip_tls_verify = true; };\n"
         "}; }; };\n");
    const struct cluster_server *s = r.list.v[0].servers;

    assert_int_equal(r.list.v[0].server_count, 3);
    assert_string_equal(s[0].name, "none");
    expect_items(&r, &s[0], "/ca /c /k /t -");
    assert_string_equal(s[0].tls_server_name, "n");
    expect_items(&r, &s[1], "/ca1 /c1 /k1 /t1 -");
    assert_string_equal(s[1].tls_server_name, "n1");
    assert_int_equal(s[1].tier, 2);
    assert_true(s[2].insecure);
    expect_items(&r, &s[2], "- /c /k /t -");
    finish(&r);
}

/* CA and insecure_skip_tls_verify are one choice. */
static void test_a_server_verifies_although_the_cluster_does_not(void **state)
{
    struct rig r;

    (void)state;
    load(&r, "clusters : { a : { insecure_skip_tls_verify = true; server : {\n"
             "as_all : { url = \"https://0\"; };\n"
             "own_ca : { url = \"https://1\"; ca_file = \"/ca1\"; };\n"
             "system : { url = \"https://2\"; insecure_skip_tls_verify = false; };\n"
             "}; }; };\n");
    const struct cluster_server *s = r.list.v[0].servers;

    assert_true(s[0].insecure);
    expect_items(&r, &s[0], "- - - - -");
    assert_false(s[1].insecure);
    expect_items(&r, &s[1], "/ca1 - - - -");
    assert_false(s[2].insecure);
    expect_items(&r, &s[2], SYSTEM_CA " - - - -");
    finish(&r);
}

static void test_a_wrong_address_is_named_with_its_line(void **state)
{
    struct rig r;

    (void)state;
    load(&r, "clusters : { a : { servers = [ \"ftp://x\" ]; proxy_url = \"http://u:s3cret@\"; };\n"
             "b : { server : { s : {\nurl = \"ftp://y\"; }; }; }; };\n");
    assert_non_null(strstr(buf_cstr(&r.told),
                           "main.conf:2: clusters.a.servers: address: \"ftp\" is a scheme other "
                           "than http and https\n"));
    assert_non_null(
        strstr(buf_cstr(&r.told), "main.conf:2: clusters.a.proxy_url: address: it names no host"));
    assert_non_null(strstr(buf_cstr(&r.told), "main.conf:4: clusters.b.servers: address: \"ftp\""));
    assert_null(strstr(buf_cstr(&r.told), "s3cret"));
    finish(&r);
}

/* NO_PROXY is asked for each server. */
static void test_the_environment_names_the_proxy_of_each_server(void **state)
{
    struct rig r;

    (void)state;
    setenv("HTTPS_PROXY", "http://u:p@env:3128", 1);
    setenv("no_proxy", "b", 1);
    load(&r, "clusters : { a : { servers = [ \"https://a\", \"https://b\", \"http://c\" ]; };\n"
             "b : { servers = [ \"https://b\" ]; proxy_url = \"http://own\"; }; };\n");
    const struct cluster_server *s = r.list.v[0].servers;

    assert_string_equal(s[0].proxy.url.host, "env");
    assert_string_equal(s[0].proxy_named_by, "HTTPS_PROXY");
    assert_non_null(s[0].proxy.authorization);
    assert_null(s[1].proxy.url.host);
    assert_null(s[2].proxy.url.host);
    assert_string_equal(r.list.v[1].servers[0].proxy.url.host, "own");
    assert_string_equal(r.list.v[1].servers[0].proxy_named_by, "proxy_url");
    finish(&r);
    unsetenv("HTTPS_PROXY");
    unsetenv("no_proxy");
}

/* The proxies of a server with TLS and of one without it; "-" = none. */
static void expect_proxies(const char *https, const char *http)
{
    struct rig r;

    load(&r, "clusters : { a : { servers = [ \"https://a\", \"http://b\" ]; }; };\n");
    const struct cluster_server *s = r.list.v[0].servers;

    assert_string_equal(s[0].proxy.url.host != NULL ? s[0].proxy.url.host : "-", https);
    assert_string_equal(s[1].proxy.url.host != NULL ? s[1].proxy.url.host : "-", http);
    if (s[1].proxy.url.host != NULL)
        assert_string_equal(s[1].proxy_named_by, "HTTP_PROXY");
    finish(&r);
}

/* In lower case a variable counts if that in upper case is missing or empty. */
static void test_both_spellings_of_the_variables_for_proxies(void **state)
{
    static const char *const all[] = {"HTTPS_PROXY", "https_proxy", "HTTP_PROXY",
                                      "http_proxy",  "NO_PROXY",    "no_proxy"};

    (void)state;
    expect_proxies("-", "-");
    setenv("https_proxy", "http://lower-s", 1);
    setenv("http_proxy", "http://lower", 1);
    expect_proxies("lower-s", "lower");
    setenv("HTTPS_PROXY", "", 1);
    setenv("HTTP_PROXY", "", 1);
    expect_proxies("lower-s", "lower");
    setenv("HTTPS_PROXY", "http://upper-s", 1);
    setenv("HTTP_PROXY", "http://upper", 1);
    expect_proxies("upper-s", "upper");
    setenv("no_proxy", "a", 1);
    expect_proxies("-", "upper");
    setenv("NO_PROXY", "b", 1);
    expect_proxies("upper-s", "-");
    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        unsetenv(all[i]);
}

/* ---- Kubeconfigs */

#define CONTEXTS "current-context: c\ncontexts: [{name: c, context: {cluster: k, user: u}}]\n"

static void test_a_kubeconfig_with_everything(void **state)
{
    struct rig r;

    (void)state;
    put("k", CONTEXTS
        "clusters: [{name: k, cluster: {server: 'https://h', certificate-authority: ca,\n"
        "  tls-server-name: n, proxy-url: 'http://p'}}]\n"
        "users: [{name: u, user: {client-certificate-data: UEVN, client-key: key, as: jane,\n"
        "  as-groups: [g], username: u, password: p}}]\n");
    load(&r, "clusters : { a : { kubeconfig = \"%s/k\"; }; };\n");
    const struct cluster_access *a = &r.list.v[0];
    char *items = mem_printf("%s/ca = %s/key - =", temp_folder_path(), temp_folder_path());

    assert_int_equal(a->server_count, 1);
    expect_items(&r, &a->servers[0], items);
    assert_string_equal(a->basic, "u:p");
    assert_string_equal(a->servers[0].address, "https://h");
    assert_string_equal(a->servers[0].tls_server_name, "n");
    assert_string_equal(a->servers[0].proxy.url.host, "p");
    assert_string_equal(a->servers[0].proxy_named_by, "proxy-url");
    assert_string_equal(a->headers, "Impersonate-User: jane\r\nImpersonate-Group: g\r\n");
    free(items);
    finish(&r);
}

/* Reads the clusters of main.conf out of the set, without a problem. */
static void load_from(struct rig *r, struct file_set *files)
{
    *r = (struct rig){0};
    r->conf = conf_read(files, "main.conf", &r->problems);
    assert_non_null(r->conf);
    cluster_access_load(&r->list, r->conf, files, &r->problems);
    problems_put(&r->problems, &r->told);
    assert_string_equal(buf_cstr(&r->told), "");
}

/* Another process needs only the bytes that the first one has read from the disk. */
static void test_the_same_bytes_give_the_same_clusters_without_the_disk(void **state)
{
    struct file_set read = {.source = &file_source_disk, .as_root = geteuid() == 0};
    struct file_set given;
    struct buf bytes = {0};
    struct err err;
    struct rig r;

    (void)state;
    put("k", CONTEXTS
        "clusters: [{name: k, cluster: {server: 'https://h', certificate-authority: ca}}]\n"
        "users: [{name: u, user: {token: t}}]\n");
    char *text =
        mem_printf("user = \"nobody\";\nclusters : { a : { kubeconfig = \"%s/k:/none\"; };\n"
                   "b : { servers = [ \"b\" ]; proxy_url = \"https://p\"; }; };\n",
                   temp_folder_path());
    put("main.conf", text);
    load_from(&r, &read);
    finish(&r);
    file_set_encode(&read, &bytes);
    file_set_fini(&read);
    assert_int_equal(unlink("k"), 0);
    assert_int_equal(unlink("main.conf"), 0);
    assert_int_equal(file_set_decode(buf_str(&bytes), &given, &err), ERR_OK);
    load_from(&r, &given);
    assert_string_equal(r.list.v[0].servers[0].address, "https://h");
    assert_string_equal(r.list.v[0].servers[0].items[CRED_TOKEN].data, "t");
    assert_non_null(strstr(r.list.v[1].proxy_ca, "BEGIN CERTIFICATE"));
    finish(&r);
    file_set_fini(&given);
    buf_free(&bytes);
    free(text);
}

/* On another machine only the settings themselves can be checked. */
static void test_without_files_only_the_settings_count(void **state)
{
    struct problems p = {0};
    struct rig r;

    (void)state;
    setenv("HTTPS_PROXY", "socks5://no", 1);
    conf_files_write("main.conf", "clusters : { a : { kubeconfig = \"/none\"; };\n"
                                  "b : { in_cluster = true; };\nc : { servers = [ \"c\" ]; };\n"
                                  "d : { servers = [ \"ftp://d\" ]; proxy_url = \"//\"; }; };\n");
    r = (struct rig){.conf = conf_files_read("main.conf")};
    cluster_access_load(&r.list, r.conf, NULL, &p);
    problems_put(&p, &r.told);
    assert_int_equal(r.list.v[0].server_count + r.list.v[1].server_count, 0);
    assert_string_equal(r.list.v[2].servers[0].url.host, "c");
    assert_null(r.list.v[2].servers[0].proxy.url.host);
    assert_int_equal(problems_count(&p), 2);
    assert_non_null(strstr(buf_cstr(&r.told), "main.conf:4: clusters.d.servers: address: \"ftp\""));
    assert_non_null(strstr(buf_cstr(&r.told), "main.conf:4: clusters.d.proxy_url: "));
    unsetenv("HTTPS_PROXY");
    problems_free(&p);
    finish(&r);
}

/* A message about a file says which field of which entry of which file names it. */
static void test_files_that_a_kubeconfig_names(void **state)
{
    static const char *const wanted[CRED_ITEMS] = {
        "certificate-authority of cluster \"c\"",
        "client-certificate of user \"u\"",
        "client-key of user \"u\"",
        "tokenFile of user \"u\"",
    };
    struct rig r;

    (void)state;
    put("k", "current-context: x\n"
             "contexts: [{name: x, context: {cluster: c, user: u}}]\n"
             "clusters: [{name: c, cluster: {server: https://a, certificate-authority: ca}}]\n"
             "users: [{name: u, user: {client-certificate: cert, client-key: key,\n"
             "         tokenFile: token}}]\n");
    load(&r, "clusters : { a : { kubeconfig = \"%s/k\"; }; };\n");
    assert_int_equal(r.list.v[0].server_count, 1);
    for (size_t i = 0; i < CRED_ITEMS; i++) {
        const char *by = r.list.v[0].servers[0].items[i].named_by;

        assert_non_null(by);
        assert_ptr_equal(strstr(by, wanted[i]), by);
        assert_non_null(strstr(by, " in kubeconfig /"));
    }
    finish(&r);
    put("k", "current-context: x\n"
             "contexts: [{name: x, context: {cluster: c, user: u}}]\n"
             "clusters: [{name: c, cluster: {server: https://a}}]\n"
             "users: [{name: u, user: {token: t}}]\n");
    load(&r, "clusters : { a : { kubeconfig = \"%s/k\"; }; };\n");
    for (size_t i = 0; i < CRED_ITEMS; i++) /* the CAs of the system, and data */
        assert_null(r.list.v[0].servers[0].items[i].named_by);
    finish(&r);
}

static void test_a_plugin_of_a_kubeconfig(void **state)
{
    struct rig r;

    (void)state;
    put("k", CONTEXTS "clusters: [{name: k, cluster: {server: 'https://h',\n"
                      "  insecure-skip-tls-verify: true}}]\n"
                      "users: [{name: u, user: {exec: {command: bin/x,\n"
                      "  apiVersion: client.authentication.k8s.io/v1beta1}}}]\n");
    load(&r, "clusters : { a : { kubeconfig = \"%s/k\"; }; };\n");
    const struct cluster_access *a = &r.list.v[0];
    char *command = mem_printf("%s/bin/x", temp_folder_path());

    assert_non_null(a->exec);
    assert_string_equal(a->exec->command, command);
    assert_true(a->servers[0].insecure);
    expect_items(&r, &a->servers[0], "- - - - -");
    free(command);
    finish(&r);
}

/* The kubeconfig can forbid compression, not ask for it. */
static void test_compression(void **state)
{
    static const char settings[] =
        "clusters : { a : { kubeconfig = \"%s/k\"; tuning : { compression = \"gzip\"; }; };\n"
        "b : { kubeconfig = \"%s/off\"; tuning : { compression = \"gzip\"; }; };\n"
        "c : { kubeconfig = \"%s/k\"; }; };\n";
    struct rig r;

    (void)state;
    put("k", CONTEXTS "clusters: [{name: k, cluster: {server: h}}]\n"
                      "users: [{name: u, user: {}}]\n");
    put("off", CONTEXTS "clusters: [{name: k, cluster: {server: h, disable-compression: true}}]\n"
                        "users: [{name: u, user: {}}]\n");
    load(&r, settings);
    assert_true(r.list.v[0].gzip);
    assert_false(r.list.v[1].gzip);
    assert_false(r.list.v[2].gzip);
    expect_items(&r, &r.list.v[2].servers[0], SYSTEM_CA " - - - -");
    finish(&r);
}

static void test_several_kubeconfigs_of_which_some_are_missing(void **state)
{
    struct rig r;

    (void)state;
    assert_int_equal(mkdir("one", 0700), 0);
    assert_int_equal(mkdir("two", 0700), 0);
    put("one/k", "clusters: [{name: k, cluster: {server: one, certificate-authority: ca}}]\n");
    put("two/k", CONTEXTS "clusters: [{name: k, cluster: {server: two}}]\n"
                          "users: [{name: u, user: {tokenFile: token}}]\n");
    load(&r, "clusters : { a : { kubeconfig = \"%s/none:%s/one/k::%s/two/k:%s/one/k\"; }; };\n");
    const struct cluster_access *a = &r.list.v[0];
    char *items =
        mem_printf("%s/one/ca - - %s/two/token -", temp_folder_path(), temp_folder_path());

    assert_string_equal(buf_cstr(&r.told), "");
    assert_string_equal(a->servers[0].address, "one");
    expect_items(&r, &a->servers[0], items);
    free(items);
    finish(&r);
}

static void expect_told(const char *settings, const char *expected)
{
    struct rig r;

    load(&r, settings);
    assert_string_equal(buf_cstr(&r.told), expected);
    finish(&r);
}

static void test_kubeconfigs_that_cannot_be_read(void **state)
{
    (void)state;
    expect_told("clusters : { a : { kubeconfig = \"/no/k:/dev:/proc\"; }; };\n",
                "main.conf:2: kubeconfig: /dev: Is a directory\n"
                "main.conf:2: kubeconfig: /proc: Is a directory\n");
}

static void test_kubeconfigs_that_do_not_exist_are_awaited(void **state)
{
    struct rig r;

    (void)state;
    load(&r, "clusters : { a : { kubeconfig = \"/no/k::/no/l\"; }; };\n");
    const struct cluster_access *a = &r.list.v[0];

    assert_string_equal(buf_cstr(&r.told), "");
    assert_int_equal(a->server_count, 0);
    assert_string_equal(a->awaits, "/no/k::/no/l");
    assert_int_equal(a->awaited_count, 2);
    assert_string_equal(r.list.files[a->awaited[0].file].path, "/no/k");
    assert_string_equal(r.list.files[a->awaited[1].file].path, "/no/l");
    assert_true(cluster_access_awaits_any(&r.list));
    finish(&r);
}

static void test_the_owner_of_each_file_answers_for_its_paths(void **state)
{
    struct rig r;

    (void)state;
    if (geteuid() != 0)
        skip();
    put("one", "users: [{name: u, user: {tokenFile: /t, client-certificate: /c, client-key: /k}}]");
    put("two",
        CONTEXTS "clusters: [{name: k, cluster: {server: h, certificate-authority: /ca}}]\n");
    assert_int_equal(chown("one", 65534, 65534), 0);
    load(&r, "clusters : { a : { kubeconfig = \"%s/one:%s/two\"; credential_owner = \"nobody\"; }; "
             "};\n");
    assert_string_equal(buf_cstr(&r.told), "");
    assert_int_equal(r.list.file_count, 4);
    for (size_t i = 0; i < 4; i++) {
        bool by_cluster = strcmp(r.list.files[i].path, "/ca") == 0;

        assert_int_equal(r.list.files[i].path_trust.named_by, by_cluster ? 0 : 65534);
    }
    finish(&r);
}

/* ---- A pod */

static void set_pod(const char *host, const char *port)
{
    unsetenv("KUBERNETES_SERVICE_HOST");
    unsetenv("KUBERNETES_SERVICE_PORT");
    if (host != NULL)
        assert_int_equal(setenv("KUBERNETES_SERVICE_HOST", host, 1), 0);
    if (port != NULL)
        assert_int_equal(setenv("KUBERNETES_SERVICE_PORT", port, 1), 0);
}

static void test_the_environment_of_a_pod(void **state)
{
    static const char settings[] = "clusters : { a : { in_cluster = true; }; };\n";
    static const char *const cases[][3] = {
        {"10.96.0.1", "443",  "https://10.96.0.1:443" },
        {"fd00::1",   "6443", "https://[fd00::1]:6443"},
        {"api.local", "443",  "https://api.local:443" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct rig r;

        set_pod(cases[i][0], cases[i][1]);
        load(&r, settings);
        assert_string_equal(r.list.v[0].servers[0].address, cases[i][2]);
        assert_true(r.list.v[0].servers[0].url.tls);
        assert_string_equal(r.list.v[0].servers[0].items[CRED_TOKEN].path,
                            "/var/run/secrets/kubernetes.io/serviceaccount/token");
        finish(&r);
    }
    set_pod(NULL, NULL);
}

static void test_no_pod(void **state)
{
    static const char *const cases[][2] = {
        {NULL,        NULL },
        {"10.96.0.1", NULL },
        {NULL,        "443"},
        {"",          "443"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        set_pod(cases[i][0], cases[i][1]);
        expect_told("clusters : { a : {\nin_cluster = true; }; };\n",
                    "main.conf:3: clusters.a.in_cluster: KUBERNETES_SERVICE_HOST and "
                    "KUBERNETES_SERVICE_PORT are not in the environment: informerd was not started "
                    "in a pod; name a kubeconfig instead\n");
    }
    set_pod(NULL, NULL);
}

/* ---- The name of the node */

static void expect_node(const char *user, const char *expected)
{
    struct rig r;
    char *text = mem_printf(CONTEXTS "clusters: [{name: k, cluster: {server: h}}]\n"
                                     "users: [{name: u, user: {%s}}]\n",
                            user);

    put("k", text);
    load(&r, "clusters : { a : { kubeconfig = \"%s/k\"; }; };\n");
    assert_string_equal(buf_cstr(&r.told), "");
    char *name = cluster_access_node_name(&r.list, r.conf);
    assert_string_equal(name, expected);
    free(name);
    free(text);
    finish(&r);
}

static void test_the_node_whose_kubelet_informerd_is(void **state)
{
    char host[256] = "";

    (void)state;

    expect_node("token: t, as: 'system:node:w2'", "w2");
    gethostname(host, sizeof(host) - 1);
    for (char *c = host; *c != '\0'; c++)
        *c = (char)tolower((unsigned char)*c);
    expect_node("token: t, as: jane", host);
    expect_node("token: t, as: 'system:node:not a name'", host);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, temp_folder_enter, temp_folder_leave)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_servers_of_one_list_have_the_same_credentials),
        TEST(test_a_server_has_what_it_names_and_else_that_of_the_cluster),
        TEST(test_a_server_verifies_although_the_cluster_does_not),
        TEST(test_a_wrong_address_is_named_with_its_line),
        TEST(test_the_environment_names_the_proxy_of_each_server),
        TEST(test_both_spellings_of_the_variables_for_proxies),
        TEST(test_a_kubeconfig_with_everything),
        TEST(test_the_same_bytes_give_the_same_clusters_without_the_disk),
        TEST(test_without_files_only_the_settings_count),
        TEST(test_files_that_a_kubeconfig_names),
        TEST(test_a_plugin_of_a_kubeconfig),
        TEST(test_compression),
        TEST(test_several_kubeconfigs_of_which_some_are_missing),
        TEST(test_kubeconfigs_that_cannot_be_read),
        TEST(test_kubeconfigs_that_do_not_exist_are_awaited),
        TEST(test_the_owner_of_each_file_answers_for_its_paths),
        TEST(test_the_environment_of_a_pod),
        TEST(test_no_pod),
        TEST(test_the_node_whose_kubelet_informerd_is),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
