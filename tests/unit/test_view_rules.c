/* SPDX-License-Identifier: Apache-2.0 */
/* cache/view_join: which endpoints of which slices a port of a Service uses, by kube-proxy's rules.
 * Each case names where kube-proxy has its rule. */
#include "view_rig.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"

#define HTTP PORT("http", "8080")
#define SERVICE \
    "\"clusterIP\":\"10.0.0.1\",\"ports\":[{\"name\":\"http\",\"port\":80,\"protocol\":\"TCP\"}]"
#define SELF     ON("n1")
#define OTHER    ON("n2")
#define A(more)  ENDPOINT("10.1.0.1", more)
#define B(more)  ENDPOINT("10.1.0.2", more)
#define V6(more) ENDPOINT("fd00::1", more)

/* The origin of the rules: files and functions of kubernetes/kubernetes, pkg/proxy. */
#define CATEGORIZE  "topology.go, CategorizeEndpoints"
#define ADD         "endpointslicecache.go, addEndpoints"
#define BY_PORT     "endpointslicecache.go, endpointInfoByServicePort"
#define KEYS        "endpointslicecache.go, endpointSliceCacheKeys"
#define TYPES       "endpointschangetracker.go, supportedEndpointSliceAddressTypes"
#define LOCAL_READY "endpointschangetracker.go, LocalReadyEndpoints"
#define IS_READY    "endpoint.go, IsReady"
#define SKIP        "util/utils.go, ShouldSkipService"
#define DEFAULTS    "pkg/apis/discovery/v1/defaults.go, SetDefaults_EndpointPort"
#define OURS        "docs/design.md \"Endpoints\"; kube-proxy has another rule, or none"

enum whose { ALL, LOCAL };

struct rule {
    const char *name;
    const char *source;
    const char *use;   /* address:port/state of each */
    const char *ready; /* and local_ready */
    enum whose whose;
    const char *spec;
    const char *slices; /* of Service a, one a line */
};

#define RULE(...)   \
    {               \
        __VA_ARGS__ \
    }

static const struct rule rules[] = {
    RULE("ready", CATEGORIZE, "10.1.0.1:8080/ready", "1 0", ALL, SERVICE,
         SLICE(OF("a"), "IPv4", A(READY) "," B(NOT_READY), HTTP)),
    RULE("ready beside draining", CATEGORIZE, "10.1.0.2:8080/ready", "1 0", ALL, SERVICE,
         SLICE(OF("a"), "IPv4", A(DRAINING) "," B(READY), HTTP)),
    RULE("fallback", CATEGORIZE, "10.1.0.1:8080/draining", "0 0", ALL, SERVICE,
         SLICE(OF("a"), "IPv4", A(DRAINING) "," B(ENDED), HTTP)),
    RULE("nothing is usable", CATEGORIZE, "", "0 0", ALL, SERVICE,
         SLICE(OF("a"), "IPv4", A(NOT_READY) "," B(ENDED), HTTP)),
    RULE("serving but not terminating is not usable", CATEGORIZE, "", "0 0", ALL, SERVICE,
         SLICE(OF("a"), "IPv4", A("\"conditions\":{\"ready\":false,\"serving\":true}"), HTTP)),
    RULE("local only", CATEGORIZE, "10.1.0.2:8080/draining", "0 0", LOCAL, SERVICE,
         SLICE(OF("a"), "IPv4", A(READY OTHER) "," B(DRAINING SELF), HTTP)),
    RULE("not only local", CATEGORIZE, "10.1.0.1:8080/ready", "1 0", ALL, SERVICE,
         SLICE(OF("a"), "IPv4", A(READY OTHER) "," B(DRAINING SELF), HTTP)),
    RULE("local only, nobody is", CATEGORIZE, "", "0 0", LOCAL, SERVICE,
         SLICE(OF("a"), "IPv4", A(READY OTHER) "," B(READY), HTTP)),
    RULE("no conditions", ADD, "10.1.0.1:8080/ready", "1 0", ALL, SERVICE,
         SLICE(OF("a"), "IPv4", "{\"addresses\":[\"10.1.0.1\"]}", HTTP)),
    RULE("conditions are null", ADD, "10.1.0.1:8080/ready", "1 0", ALL, SERVICE,
         SLICE(OF("a"), "IPv4",
               A("\"conditions\":{\"ready\":null,\"serving\":null,\"terminating\":null}"), HTTP)),
    RULE("serving is not said", ADD, "10.1.0.1:8080/draining", "0 0", ALL, SERVICE,
         SLICE(OF("a"), "IPv4", A("\"conditions\":{\"ready\":false,\"terminating\":true}"), HTTP)),
    RULE("published although it ends", IS_READY, "10.1.0.1:8080/ready", "1 0", ALL, SERVICE,
         SLICE(OF("a"), "IPv4",
               A("\"conditions\":{\"ready\":true,\"serving\":false,\"terminating\":true}"), HTTP)),
    RULE("publishNotReadyAddresses", IS_READY, "", "0 0", ALL,
         SERVICE ",\"publishNotReadyAddresses\":true", SLICE(OF("a"), "IPv4", A(NOT_READY), HTTP)),
    RULE("several addresses", ADD, "10.1.0.1:8080/ready", "1 0", ALL, SERVICE,
         SLICE(OF("a"), "IPv4", "{\"addresses\":[\"10.1.0.1\",\"10.1.0.9\"]},{\"addresses\":[]},{}",
               HTTP)),
    RULE("spelling", ADD, "10.1.0.1:8080/ready fd00::1:8080/ready", "2 0", ALL, SERVICE,
         SLICE(OF("a"), "IPv4", ENDPOINT("010.1.000.1", READY), HTTP)
             SLICE(OF("a"), "IPv6", ENDPOINT("FD00:0:0::0001", READY), HTTP)),
    RULE(
        "no addresses at all", ADD, "", "0 0", ALL, SERVICE,
        SLICE(
            OF("a"), "IPv4",
            ENDPOINT("10.1.0", READY) "," ENDPOINT("10.1.0.256", READY) "," ENDPOINT(
                "",
                READY) "," ENDPOINT("10.1.0.1.5",
                                    READY) "," ENDPOINT("10.1.0.1 ",
                                                        READY) "," ENDPOINT("fd00::1\\u0000",
                                                                            READY) "," ENDPOINT("fd"
                                                                                                "00"
                                                                                                "::"
                                                                                                ":"
                                                                                                "1",
                                                                                                READY),
            HTTP)),
    RULE("twice", ADD, "10.1.0.1:8080/ready", "1 0", ALL, SERVICE,
         SLICE(OF("a"), "IPv4", A(READY), HTTP)
             SLICE(OF("a"), "IPv4", A(READY) "," A(READY), HTTP)),
    RULE("twice, the running one counts", ADD, "10.1.0.1:8080/ready", "1 0", ALL, SERVICE,
         SLICE(OF("a"), "IPv4", A(DRAINING), HTTP) SLICE(OF("a"), "IPv4", A(READY), HTTP)),
    RULE("twice, one is not usable (addEndpoints at c2c7d507: none is)", OURS,
         "10.1.0.1:8080/draining", "0 0", ALL, SERVICE,
         SLICE(OF("a"), "IPv4", A(NOT_READY), HTTP) SLICE(OF("a"), "IPv4", A(DRAINING), HTTP)),
    RULE("twice, on two nodes: ours counts (addEndpoints at 04791b49: the same)", OURS,
         "10.1.0.1:8080/ready", "1 1", ALL, SERVICE,
         SLICE(OF("a"), "IPv4", A(READY ON("n0")), HTTP)
             SLICE(OF("a"), "IPv4", A(READY SELF), HTTP)),
    RULE("the largest number", BY_PORT, "10.1.0.1:65535/ready", "1 0", ALL, SERVICE,
         SLICE(OF("a"), "IPv4", A(READY), PORT("http", "65535"))),
    RULE("another port", BY_PORT, "", "0 0", ALL, SERVICE,
         SLICE(OF("a"), "IPv4", A(READY), PORT("https", "8443"))),
    RULE("another protocol", BY_PORT, "", "0 0", ALL, SERVICE,
         SLICE(OF("a"), "IPv4", A(READY), "{\"name\":\"http\",\"port\":1,\"protocol\":\"UDP\"}")),
    RULE("TCP is the default", DEFAULTS, "10.1.0.1:1/ready", "1 0", ALL, SERVICE,
         SLICE(OF("a"), "IPv4", A(READY), "{\"name\":\"http\",\"port\":1}")),
    RULE("ports that are none", BY_PORT, "", "0 0", ALL, SERVICE,
         SLICE(
             OF("a"), "IPv4", A(READY),
             "{\"name\":\"http\"},{\"name\":\"http\",\"port\":null},{\"name\":\"http\",\"port\":0},"
             "{\"port\":1},{\"name\":null,\"port\":2},{\"name\":\"http\",\"port\":65536}")),
    RULE("a port without a name is named by the empty string", BY_PORT, "10.1.0.1:1/ready", "1 0",
         ALL, "\"ports\":[{\"port\":80}]",
         SLICE(OF("a"), "IPv4", A(READY), "{\"name\":\"\",\"port\":1},{\"port\":2}")),
    RULE("the target is the slice's business: two numbers for one name", BY_PORT,
         "10.1.0.1:81/ready 10.1.0.2:82/ready", "2 0", ALL, SERVICE,
         SLICE(OF("a"), "IPv4", A(READY), PORT("http", "81"))
             SLICE(OF("a"), "IPv4", B(READY), PORT("http", "82"))),
    RULE("FQDN", TYPES, "", "0 0", ALL, SERVICE,
         SLICE(OF("a"), "FQDN", ENDPOINT("example.com", READY), HTTP)
             SLICE(OF("a"), "FQDN", A(READY), HTTP)),
    RULE("no type, another type", TYPES, "", "0 0", ALL, SERVICE,
         SLICE(OF("a"), "IPv5", A(READY), HTTP) SLICE(OF("a"), "", B(READY), HTTP)),
    RULE("both families, in order", OURS,
         "10.1.0.1:8080/ready 10.1.0.2:8080/ready fd00::1:8080/ready", "3 1", ALL, SERVICE,
         SLICE(OF("a"), "IPv6", V6(READY SELF), HTTP)
             SLICE(OF("a"), "IPv4", B(READY) "," A(READY), HTTP)),
    RULE("a fallback is of the whole port, not of one family", OURS, "fd00::1:8080/ready", "1 0",
         ALL, SERVICE,
         SLICE(OF("a"), "IPv6", V6(READY), HTTP) SLICE(OF("a"), "IPv4", A(DRAINING), HTTP)),
    RULE("order is by bytes, not by text", OURS,
         "10.1.0.2:8080/ready 10.1.0.9:8080/ready 10.1.0.10:8080/ready", "3 0", ALL, SERVICE,
         SLICE(OF("a"), "IPv4",
               ENDPOINT("10.1.0.10", READY) "," ENDPOINT("10.1.0.9", READY) "," B(READY), HTTP)),
    RULE("slices of others", KEYS, "", "0 0", ALL, SERVICE,
         SLICE(OF("b"), "IPv4", A(READY), HTTP) SLICE(NO_LABEL, "IPv4", A(READY), HTTP)
             SLICE(OF(""), "IPv4", A(READY), HTTP)),
    RULE("counts are of addresses", LOCAL_READY,
         "10.1.0.1:8080/ready 10.1.0.1:8443/ready 10.1.0.2:8443/ready", "2 1", ALL,
         "\"ports\":[{\"name\":\"http\",\"port\":80},{\"name\":\"https\",\"port\":443}]",
         SLICE(OF("a"), "IPv4", A(READY SELF), HTTP "," PORT("https", "8443"))
             SLICE(OF("a"), "IPv4", B(READY OTHER), PORT("https", "8443"))),
    RULE("a draining one counts for nothing", LOCAL_READY, "10.1.0.1:8080/draining", "0 0", ALL,
         SERVICE, SLICE(OF("a"), "IPv4", A(DRAINING SELF), HTTP)),
    RULE("headless ones are not left out", SKIP, "10.1.0.1:8080/ready", "1 0", ALL,
         "\"clusterIP\":\"None\",\"ports\":[{\"name\":\"http\",\"port\":80}]",
         SLICE(OF("a"), "IPv4", A(READY), HTTP)),
    RULE("headless without ports", SKIP, "", "0 0", ALL, "\"clusterIP\":\"None\"",
         SLICE(OF("a"), "IPv4", A(READY), "")),
    RULE("ready is null, and it ends", ADD, "10.1.0.1:8080/ready", "1 0", ALL, SERVICE,
         SLICE(OF("a"), "IPv4", A("\"conditions\":{\"ready\":null,\"terminating\":true}"), HTTP)),
    RULE("nothing is said but that it is not ready", ADD, "", "0 0", ALL, SERVICE,
         SLICE(OF("a"), "IPv4", A("\"conditions\":{\"ready\":false}"), HTTP)),
    RULE("a fallback does not care who else is gone", CATEGORIZE, "10.1.0.1:8080/draining", "0 0",
         ALL, SERVICE,
         SLICE(OF("a"), "IPv4",
               A(DRAINING) "," B("\"conditions\":{\"ready\":false,\"serving\":true}"), HTTP)),
    RULE("a fallback of each port", CATEGORIZE, "10.1.0.1:8080/ready 10.1.0.2:8443/draining", "1 0",
         ALL, "\"ports\":[{\"name\":\"http\",\"port\":80},{\"name\":\"https\",\"port\":443}]",
         SLICE(OF("a"), "IPv4", A(READY), HTTP)
             SLICE(OF("a"), "IPv4", B(DRAINING), PORT("https", "8443"))),
    RULE("an IPv4 address in IPv6 clothes", ADD, "10.1.0.1:8080/ready", "1 0", ALL, SERVICE,
         SLICE(OF("a"), "IPv4", ENDPOINT("::ffff:10.1.0.1", READY), HTTP)),
    RULE("a label of its Service takes no Service out", OURS, "10.1.0.1:8080/ready", "1 0", ALL,
         SERVICE,
         SLICE(",\"labels\":{\"service.kubernetes.io/headless\":\"\",\"service.kubernetes.io/"
               "service-proxy-name\":\"x\",\"kubernetes.io/service-name\":\"a\"}",
               "IPv4", A(READY), HTTP)),
};

static void uses(struct view_rig *r, struct buf *out)
{
    static const char *const paths[] = {"ports[*].use[*].address", "ports[*].use[*].port",
                                        "ports[*].use[*].state"};
    struct buf words[3] = {{0}};
    char *at[3];

    for (size_t i = 0; i < 3; i++) {
        buf_puts(&words[i], view_rig_get(r, "s/a", paths[i]));
        buf_cstr(&words[i]);
        at[i] = words[i].data;
    }
    for (char *address; (address = strsep(&at[0], " ")) != NULL && *address != '\0';) {
        const char *port = strsep(&at[1], " ");

        buf_printf(out, "%s%s:%s/%s", out->len > 0 ? " " : "", address, port, strsep(&at[2], " "));
    }
    for (size_t i = 0; i < 3; i++)
        buf_free(&words[i]);
}

/* Gives the rig the slices of a rule, the last one first if so wished. */
static void give(struct view_rig *r, const char *slices, bool backwards)
{
    const char *ends = strchr(slices, '\n');
    char key[] = "s/x0";

    if (ends == NULL)
        return;
    if (backwards)
        give(r, ends + 1, true);
    key[3] = (char)('0' + strlen(slices) % 64); /* differs from the keys of the other slices */
    char *line = mem_strndup(slices, (size_t)(ends - slices));
    view_rig_on_slice(r, DELTA_ADDED, view_rig_slice(key, "1", line));
    free(line);
    if (!backwards)
        give(r, ends + 1, false);
}

static void check(const struct rule *rule, bool backwards)
{
    const struct view_join_params params = {
        .cluster = "c", .node_name = "n1", .local_only = rule->whose == LOCAL};
    struct view_rig r;
    struct buf got = {0};

    view_rig_init(&r, &params);
    give(&r, rule->slices, backwards);
    view_rig_on_service(&r, DELTA_ADDED, view_rig_service("s/a", "u", "1", rule->spec));
    view_rig_says(&r, "+s/a ");
    uses(&r, &got);
    assert_string_equal(buf_cstr(&got), rule->use);
    buf_clear(&got);
    buf_puts(&got, view_rig_get(&r, "s/a", "ready"));
    buf_printf(&got, " %s", view_rig_get(&r, "s/a", "local_ready"));
    assert_string_equal(buf_cstr(&got), rule->ready);
    buf_free(&got);
    view_rig_fini(&r);
}

static void test_slices(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rules); i++) {
        print_message("  %s (%s)\n", rules[i].name, rules[i].source);
        check(&rules[i], false);
        check(&rules[i], true);
    }
}

/* util/utils.go, BuildPortsToEndpointsMap: of a subset only addresses count, not
 * notReadyAddresses. */
static void test_endpoints(void **state)
{
    static const char subsets[] =
        "{\"addresses\":[{\"ip\":\"10.1.0.2\",\"nodeName\":\"n1\",\"targetRef\":{\"kind\":\"Pod\","
        "\"name\":\"p2\"}},{\"ip\":\"10.1.0.1\",\"targetRef\":{\"kind\":\"Node\",\"name\":\"x\"}}],"
        "\"notReadyAddresses\":[{\"ip\":\"10.1.0.3\"}],\"ports\":[{\"name\":\"http\",\"port\":8080,"
        "\"protocol\":\"TCP\"}]},"
        "{\"addresses\":[{\"ip\":\"fd00::5\"}],\"ports\":[{\"name\":\"http\",\"port\":9},"
        "{\"name\":\"https\",\"port\":8443}]}";
    const struct view_join_params params = {
        .cluster = "c", .node_name = "n1", .from = VIEW_JOIN_ENDPOINTS};
    struct view_rig r;
    struct buf got = {0};

    (void)state;
    view_rig_init(&r, &params);
    view_rig_on_slice(&r, DELTA_ADDED, view_rig_endpoints("s/a", subsets));
    view_rig_on_service(&r, DELTA_ADDED, view_rig_service("s/a", "u", "1", SERVICE));
    view_rig_says(&r, "+s/a ");
    uses(&r, &got);
    assert_string_equal(buf_cstr(&got), "10.1.0.1:8080/ready 10.1.0.2:8080/ready fd00::5:9/ready");
    assert_string_equal(view_rig_get(&r, "s/a", "ready"), "3");
    assert_string_equal(view_rig_get(&r, "s/a", "local_ready"), "1");
    assert_string_equal(view_rig_get(&r, "s/a", "ports[0].use[*].pod"), "p2");
    view_rig_on_slice(&r, DELTA_MODIFIED, view_rig_endpoints("s/a", ""));
    view_rig_says(&r, "~s/a ");
    buf_free(&got);
    view_rig_fini(&r);
}

/* A node that does not know its name has nothing local (endpointslicecache.go, isLocal). */
static void test_a_node_without_name(void **state)
{
    const struct view_join_params params = {.cluster = "c", .node_name = ""};
    struct view_rig r;

    (void)state;
    view_rig_init(&r, &params);
    view_rig_on_slice(
        &r, DELTA_ADDED,
        view_rig_slice("s/x1", "1", SLICE(OF("a"), "IPv4", A(READY) "," B(READY ON("")), HTTP)));
    view_rig_on_service(&r, DELTA_ADDED, view_rig_service("s/a", "u", "1", SERVICE));
    view_rig_says(&r, "+s/a ");
    assert_string_equal(view_rig_get(&r, "s/a", "ready"), "2");
    assert_string_equal(view_rig_get(&r, "s/a", "local_ready"), "0");
    view_rig_fini(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_slices),
        cmocka_unit_test(test_endpoints),
        cmocka_unit_test(test_a_node_without_name),
    };

    log_set_level(LOG_LVL_ERROR);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
