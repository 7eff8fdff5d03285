/* SPDX-License-Identifier: Apache-2.0 */
/* Kubeconfigs as kubeadm, kubelets, k3s, kind, clouds and Rancher write them. */
#include "kube/kubeconfig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/mem.h"

#define CA                                                                \
    "-----BEGIN CERTIFICATE-----\nbWFkZS11cCBDQQ==\n-----END CERTIFICATE" \
    "-----\n"
#define CERT  "-----BEGIN CERTIFICATE-----\nbWFkZS11cCBjbGllbnQ=\n-----END CERTIFICATE-----\n"
#define KEY   "-----BEGIN EC PRIVATE KEY-----\nbWFkZS11cCBrZXk=\n-----END EC PRIVATE KEY-----\n"
#define RSA   "-----BEGIN RSA PRIVATE KEY-----\nbWFkZS11cCBrZXk=\n-----END RSA PRIVATE KEY-----\n"
#define AGENT "/var/lib/rancher/k3s/agent/"
#define PEM   "/var/lib/kubelet/pki/kubelet-client-current.pem"

/* NULL = the file does not have it. */
static const struct {
    const char *file;
    const char *context;
    const char *server;
    const char *cert_data;
    const char *key_data;
    const char *ca_file;   /* or the CA stands in the file */
    const char *cert_file; /* and key, unless that has a file of its own */
    const char *key_file;
    const char *token;
    const char *command;
} fixtures[] = {
    {.file = "kubeadm-admin.conf",
     .context = "kubernetes-admin@kubernetes",
     .server = "https://192.0.2.10:6443",
     .cert_data = CERT,
     .key_data = RSA},
    {.file = "kubeadm-kubelet.conf",
     .context = "default-context",
     .server = "https://192.0.2.10:6443",
     .cert_file = PEM                },
    {.file = "k3s.yaml",
     .context = "default",
     .server = "https://127.0.0.1:6443",
     .cert_data = CERT,
     .key_data = KEY},
    {.file = "k3s-kubeproxy.kubeconfig",
     .context = "Default",
     .server = "https://127.0.0.1:6444",
     .ca_file = AGENT "server-ca.crt",
     .cert_file = AGENT "client-kube-proxy.crt",
     .key_file = AGENT "client-kube-proxy.key"},
    {.file = "kind.yaml",
     .context = "kind-demo",
     .server = "https://127.0.0.1:40001",
     .cert_data = CERT,
     .key_data = RSA},
    {.file = "eks.yaml",
     .context = "arn:aws:eks:eu-west-1:123456789012:cluster/demo",
     .server = "https://0123456789ABCDEF0123456789ABCDEF.gr7.eu-west-1.eks.example.com",
     .command = "aws"                                    },
    {.file = "gke.yaml",
     .context = "gke_demo-project_europe-west1-b_demo",
     .server = "https://192.0.2.20",
     .command = "gke-gcloud-auth-plugin"                                   },
    {.file = "rancher.yaml",
     .context = "demo",
     .server = "https://rancher.example.com/k8s/clusters/c-m-abcdefgh",
     .token = "kubeconfig-user-abcdefghij:made-up-token"                },
    {.file = "service-account.yaml",
     .context = "prod",
     .server = "https://192.0.2.10:6443",
     .token = "made-up.service-account.token"},
};

static struct kubeconfig read(const char *name)
{
    struct kubeconfig k;
    struct buf text = {0};
    struct err err = {0};
    char *path = mem_printf(TEST_DATA "/kubeconfigs/%s", name);
    FILE *f = fopen(path, "r");

    assert_non_null(f);
    text.len = fread(buf_reserve(&text, 65536), 1, 65536, f);
    assert_int_equal(fclose(f), 0);
    const struct kubeconfig_file file = {path, buf_str(&text)};
    enum err_kind kind = kubeconfig_parse(&file, 1, NULL, &k, &err);
    assert_string_equal(err.text, "");
    assert_int_equal(kind, ERR_OK);
    buf_free(&text);
    free(path);
    return k;
}

static void expect(const char *got, const char *expected)
{
    assert_string_equal(got != NULL ? got : "(none)", expected != NULL ? expected : "(none)");
}

static void test_each_file(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(fixtures); i++) {
        struct kubeconfig k = read(fixtures[i].file);

        expect(k.context, fixtures[i].context);
        expect(k.server, fixtures[i].server);
        expect(k.ca_data, fixtures[i].ca_file == NULL ? CA : NULL);
        expect(k.ca_file, fixtures[i].ca_file);
        expect(k.client_cert_data, fixtures[i].cert_data);
        expect(k.client_key_data, fixtures[i].key_data);
        expect(k.client_cert_file, fixtures[i].cert_file);
        expect(k.client_key_file,
               fixtures[i].key_file != NULL ? fixtures[i].key_file : fixtures[i].cert_file);
        expect(k.token, fixtures[i].token);
        expect(k.exec.command, fixtures[i].command);
        kubeconfig_fini(&k);
    }
}

static void test_the_plugin_of_eks(void **state)
{
    static const char *const args[] = {"--region",       "eu-west-1", "eks",      "get-token",
                                       "--cluster-name", "demo",      "--output", "json"};
    struct kubeconfig k = read("eks.yaml");

    (void)state;
    assert_string_equal(k.exec.api_version, "client.authentication.k8s.io/v1beta1");
    assert_int_equal(k.exec.arg_count, ARRAY_LEN(args));
    for (size_t i = 0; i < ARRAY_LEN(args); i++)
        assert_string_equal(k.exec.args[i], args[i]);
    assert_int_equal(k.exec.env_count, 1);
    assert_string_equal(k.exec.env[0].name, "AWS_PROFILE");
    assert_string_equal(k.exec.env[0].value, "demo");
    assert_false(k.exec.provide_cluster_info);
    kubeconfig_fini(&k);
}

static void test_the_plugin_of_gke(void **state)
{
    struct kubeconfig k = read("gke.yaml");

    (void)state;
    assert_int_equal(k.exec.arg_count, 0);
    assert_int_equal(k.exec.env_count, 0);
    assert_true(k.exec.provide_cluster_info);
    assert_null(k.exec.cluster_config);
    assert_string_equal(k.exec.install_hint,
                        "Install gke-gcloud-auth-plugin for use with kubectl by following "
                        "https://example.com/gke-gcloud-auth-plugin");
    kubeconfig_fini(&k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_file),
        cmocka_unit_test(test_the_plugin_of_eks),
        cmocka_unit_test(test_the_plugin_of_gke),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
