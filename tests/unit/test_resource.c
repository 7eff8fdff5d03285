/* SPDX-License-Identifier: Apache-2.0 */
/* The names that users give resources, and the requests for them. */
#include "kube/resource.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* A row of a table (clang-format 14 crashes on some with braces). */
#define ROW(...)    \
    {               \
        __VA_ARGS__ \
    }

#define LABEL_63 "a23456789012345678901234567890123456789012345678901234567890123"

static const struct {
    const char *text;
    const char *path; /* in namespace "ns" */
    const char *name;
    const char *kind; /* NULL = not known */
    enum resource_scope scope;
} known[] = {
    ROW("services", "/api/v1/namespaces/ns/services", "services", "Service", RESOURCE_NAMESPACED),
    ROW("service", "/api/v1/namespaces/ns/services", "services", "Service", RESOURCE_NAMESPACED),
    ROW("Service", "/api/v1/namespaces/ns/services", "services", "Service", RESOURCE_NAMESPACED),
    ROW("SVC", "/api/v1/namespaces/ns/services", "services", "Service", RESOURCE_NAMESPACED),
    ROW("services.v1.", "/api/v1/namespaces/ns/services", "services", "Service",
        RESOURCE_NAMESPACED),
    ROW("ep", "/api/v1/namespaces/ns/endpoints", "endpoints", "Endpoints", RESOURCE_NAMESPACED),
    ROW("no", "/api/v1/namespaces/ns/nodes", "nodes", "Node", RESOURCE_CLUSTER_SCOPED),
    ROW("endpointslices", "/apis/discovery.k8s.io/v1/namespaces/ns/endpointslices",
        "endpointslices.discovery.k8s.io", "EndpointSlice", RESOURCE_NAMESPACED),
    ROW("endpointslices.discovery.k8s.io", "/apis/discovery.k8s.io/v1/namespaces/ns/endpointslices",
        "endpointslices.discovery.k8s.io", "EndpointSlice", RESOURCE_NAMESPACED),
    ROW("deploy.apps", "/apis/apps/v1/namespaces/ns/deployments", "deployments.apps", "Deployment",
        RESOURCE_NAMESPACED),
    ROW("hpa", "/apis/autoscaling/v2/namespaces/ns/horizontalpodautoscalers",
        "horizontalpodautoscalers.autoscaling", "HorizontalPodAutoscaler", RESOURCE_NAMESPACED),
    ROW("hpa.v1.autoscaling", "/apis/autoscaling/v1/namespaces/ns/horizontalpodautoscalers",
        "horizontalpodautoscalers.autoscaling", "HorizontalPodAutoscaler", RESOURCE_NAMESPACED),
    ROW("events", "/api/v1/namespaces/ns/events", "events", "Event", RESOURCE_NAMESPACED),
    ROW("events.events.k8s.io", "/apis/events.k8s.io/v1/namespaces/ns/events",
        "events.events.k8s.io", "Event", RESOURCE_NAMESPACED),
    ROW("ing", "/apis/networking.k8s.io/v1/namespaces/ns/ingresses", "ingresses.networking.k8s.io",
        "Ingress", RESOURCE_NAMESPACED),
    ROW("crds", "/apis/apiextensions.k8s.io/v1/namespaces/ns/customresourcedefinitions",
        "customresourcedefinitions.apiextensions.k8s.io", "CustomResourceDefinition",
        RESOURCE_CLUSTER_SCOPED),
    ROW("widgets.v1.example.com", "/apis/example.com/v1/namespaces/ns/widgets",
        "widgets.example.com", NULL, RESOURCE_SCOPE_UNKNOWN),
    ROW("Widgets.v1.Example.com", "/apis/example.com/v1/namespaces/ns/widgets",
        "widgets.example.com", NULL, RESOURCE_SCOPE_UNKNOWN),
    ROW("DEPLOYMENTS.v1.APPS", "/apis/apps/v1/namespaces/ns/deployments", "deployments.apps",
        "Deployment", RESOURCE_NAMESPACED),
    ROW("sa", "/api/v1/namespaces/ns/serviceaccounts", "serviceaccounts", "ServiceAccount",
        RESOURCE_NAMESPACED),
    ROW("cj", "/apis/batch/v1/namespaces/ns/cronjobs", "cronjobs.batch", "CronJob",
        RESOURCE_NAMESPACED),
    ROW("widgets.v2beta10.example.com", "/apis/example.com/v2beta10/namespaces/ns/widgets",
        "widgets.example.com", NULL, RESOURCE_SCOPE_UNKNOWN),
};

static void test_known_names(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(known); i++) {
        struct resource r;
        struct err err = {0};
        struct buf out = {0};

        assert_int_equal(resource_parse(known[i].text, &r, &err), ERR_OK);
        resource_put_path(&out, &r, "ns");
        assert_string_equal(buf_cstr(&out), known[i].path);
        buf_clear(&out);
        resource_put_name(&out, &r);
        assert_string_equal(buf_cstr(&out), known[i].name);
        assert_int_equal(r.scope, known[i].scope);
        assert_int_equal(r.kind == NULL, known[i].kind == NULL);
        assert_int_equal(resource_is_known(&r), known[i].kind != NULL);
        assert_string_equal(r.text, known[i].text);
        if (r.kind != NULL)
            assert_string_equal(r.kind, known[i].kind);
        resource_fini(&r);
        assert_null(r.plural);
        buf_free(&out);
    }
}

/* A cluster-wide path, and the apiVersion of the objects of the group. */
static void test_all_namespaces(void **state)
{
    struct resource r;
    struct buf out = {0};

    (void)state;
    assert_int_equal(resource_parse("netpol", &r, NULL), ERR_OK);
    resource_put_path(&out, &r, NULL);
    buf_putc(&out, ' ');
    resource_put_path(&out, &r, "");
    buf_putc(&out, ' ');
    resource_put_api_version(&out, &r);
    assert_string_equal(buf_cstr(&out), "/apis/networking.k8s.io/v1/networkpolicies "
                                        "/apis/networking.k8s.io/v1/networkpolicies "
                                        "networking.k8s.io/v1");
    resource_fini(&r);
    assert_int_equal(resource_parse("po", &r, NULL), ERR_OK);
    buf_clear(&out);
    resource_put_api_version(&out, &r);
    assert_string_equal(buf_cstr(&out), "v1");
    resource_fini(&r);
    buf_free(&out);
}

/* Names whose meaning only discovery knows, before and after it. */
static const struct {
    const char *text;
    const char *plural;
    const char *group;
    const char *name;
} unknown[] = {
    ROW("widgets", "widgets", NULL, "widgets"),
    ROW("Widget", "widget", NULL, "widget"),
    ROW("widgets.example.com", "widgets", "example.com", "widgets.example.com"),
    ROW("WIDGETS.Example.COM", "widgets", "example.com", "widgets.example.com"),
    ROW("services.apps", "services", "apps", "services.apps"),
    ROW("endpointslices.discovery", "endpointslices", "discovery", "endpointslices.discovery"),
    ROW("widgets.v.example.com", "widgets", "v.example.com", "widgets.v.example.com"),
    ROW("widgets.v1gamma1.example.com", "widgets", "v1gamma1.example.com",
        "widgets.v1gamma1.example.com"),
    ROW("widgets.v1beta.example.com", "widgets", "v1beta.example.com",
        "widgets.v1beta.example.com"),
    ROW(LABEL_63, LABEL_63, NULL, LABEL_63),
};

static void test_names_for_discovery(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(unknown); i++) {
        struct resource r;
        struct buf out = {0};

        assert_int_equal(resource_parse(unknown[i].text, &r, NULL), ERR_OK);
        assert_false(resource_is_known(&r));
        assert_false(resource_has_path(&r));
        assert_string_equal(r.text, unknown[i].text);
        assert_string_equal(r.plural, unknown[i].plural);
        assert_int_equal(r.group == NULL, unknown[i].group == NULL);
        if (r.group != NULL)
            assert_string_equal(r.group, unknown[i].group);
        assert_null(r.version);
        resource_put_name(&out, &r);
        assert_string_equal(buf_cstr(&out), unknown[i].name);
        buf_free(&out);
        resource_fini(&r);
    }
}

static void test_a_copy_is_independent(void **state)
{
    struct resource r;
    struct resource copy;

    (void)state;
    assert_int_equal(resource_parse("widgets.v1.example.com", &r, NULL), ERR_OK);
    assert_true(resource_has_path(&r));
    assert_false(resource_is_known(&r));
    resource_copy(&copy, &r);
    resource_fini(&r);
    assert_string_equal(copy.text, "widgets.v1.example.com");
    assert_string_equal(copy.group, "example.com");
    assert_null(copy.kind);
    resource_fini(&copy);
}

static const struct {
    const char *text;
    const char *says; /* a part of the message */
} wrong[] = {
    ROW("", "NAME.VERSION.GROUP"),
    ROW(".", "NAME.VERSION.GROUP"),
    ROW("services.", "NAME.VERSION.GROUP"),
    ROW("services.v1", "write services.v1. for the core group"),
    ROW("widgets.v1.example.com.", "letters, digits and -"),
    ROW("widgets.v1.a/b", "letters, digits and -"),
    ROW("widgets/status", "letters, digits and -"),
    ROW("wid gets", "letters, digits and -"),
    ROW("-widgets", "letters, digits and -"),
    ROW("../x.v1.example.com", "letters, digits and -"),
    ROW("widgets..example.com", "letters, digits and -"),
    ROW("widgets.example..com", "letters, digits and -"),
    ROW(".v1.example.com", "letters, digits and -"),
    ROW(LABEL_63 "4", "letters, digits and -"),
};

static void test_names_that_are_no_resources(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        struct resource r;
        struct err err = {0};

        assert_int_equal(resource_parse(wrong[i].text, &r, &err), ERR_CONFIG);
        if (strstr(err.text, wrong[i].says) == NULL)
            fail_msg("%s: %s", wrong[i].text, err.text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known_names),
        cmocka_unit_test(test_all_namespaces),
        cmocka_unit_test(test_names_for_discovery),
        cmocka_unit_test(test_a_copy_is_independent),
        cmocka_unit_test(test_names_that_are_no_resources),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
