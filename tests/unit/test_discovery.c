/* SPDX-License-Identifier: Apache-2.0 */
/* Discovery: its requests, and the errors when not every request is answered. */
#include "kube/discovery.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "discovery_probe.h"
#include "kube/catalog.h"
#include "kube/version.h"

static void test_the_accepted_forms(void **state)
{
    struct discovery *d = discovery_create();
    struct discovery_request r;

    (void)state;
    assert_false(discovery_next(d, &r));
    discovery_begin(d);
    discovery_probe_want(d, "widgets.alpha.io");
    assert_true(discovery_next(d, &r));
    assert_string_equal(r.accept,
                        "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,"
                        "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,"
                        "application/json");
    discovery_answer(d, str_c(discovery_probe_old[0].body));
    assert_true(discovery_next(d, &r));
    assert_non_null(strstr(r.accept, "v2beta1"));
    discovery_answer(d, str_c(discovery_probe_old[1].body));
    assert_true(discovery_next(d, &r));
    assert_string_equal(r.target, "/apis/alpha.io/v1beta1");
    assert_string_equal(r.accept, "application/json");
    discovery_destroy(&d);
}

/* With a group in the name, the requests are for that group, for a group that begins with it, and
 * for the groups of the other way to read the name. */
static void test_the_old_form_asks_only_what_matters(void **state)
{
    struct discovery *d =
        ROUND(discovery_probe_old, "/api /apis /apis/alpha.io/v1beta1 ", "gadgets.alpha.io");

    (void)state;
    discovery_probe_found(d, "gadgets.alpha.io",
                          "/apis/alpha.io/v1beta1/gadgets Gadget Namespaced");
    /* a group that was not asked for does not count as missing, and a name without a group is not
     * looked up in half of the groups */
    discovery_probe_missing(d, "olds.zeta.io", ERR_BUSY, "not looked up yet");
    discovery_probe_missing(d, "gadgets", ERR_BUSY, "not looked up yet");
    discovery_destroy(&d);
    d = ROUND(discovery_probe_old, "/api /apis /apis/alpha.io/v1beta1 ", "gadgets.v1.alpha.io");
    discovery_probe_missing(d, "gadgets.v1.alpha.io", ERR_NOT_FOUND,
                            "(it has gadgets.v1beta1.alpha.io)");
    discovery_destroy(&d);
    d = ROUND(discovery_probe_old, "/api /apis ", "x.nowhere.io");
    discovery_destroy(&d);
    d = ROUND(discovery_probe_old, "/api /apis /api/v1 ", "things.v1.");
    discovery_probe_missing(d, "things.v1.", ERR_NOT_FOUND, "no resource");
    discovery_destroy(&d);
}

static void test_a_want_may_join_a_round(void **state)
{
    struct discovery *d = discovery_create();
    struct discovery_request r;
    struct buf asked = {0};

    (void)state;
    discovery_begin(d);
    discovery_probe_want(d, "gadgets.alpha.io");
    for (int i = 0; i < 2; i++) {
        assert_true(discovery_next(d, &r));
        discovery_answer(d, str_c(discovery_probe_old[i].body));
    }
    discovery_probe_missing(d, "gadgets.alpha.io", ERR_BUSY, "not looked up yet");
    discovery_probe_want(d, "olds.zeta.io");
    discovery_probe_run(d, discovery_probe_old, &asked);
    assert_string_equal(buf_cstr(&asked),
                        "/apis/zeta.io/v2 /apis/zeta.io/v1 /apis/alpha.io/v1beta1 ");
    discovery_probe_found(d, "olds.zeta.io", "/apis/zeta.io/v1/olds Old Namespaced");
    buf_free(&asked);
    discovery_destroy(&d);
}

/* An aggregated API whose server is down is listed as stale, without its resources. */
static void test_stale_groups(void **state)
{
    static const struct page pages[] = {
        ROW("/api", 200, "@v2\n"),
        ROW("/apis", 200,
            "@v2\n"
            "metrics.k8s.io v1beta1 Stale\n"
            "zeta.io v1 widgets Widget Cluster\n"),
        ROW(NULL, 0, NULL),
    };
    struct discovery *d = ROUND(pages, "/api /apis ", "x");

    (void)state;
    discovery_probe_found(d, "widgets", "/apis/zeta.io/v1/widgets Widget Cluster");
    discovery_probe_missing(d, "nodes.metrics.k8s.io", ERR_SERVER, "metrics.k8s.io/v1beta1 failed");
    discovery_probe_missing(d, "nonsense", ERR_SERVER, "Stale");
    discovery_probe_missing(d, "nonsense.zeta.io", ERR_NOT_FOUND, "no resource");
    discovery_destroy(&d);
}

static void test_a_broken_group_harms_no_other(void **state)
{
    struct page pages[ARRAY_LEN(discovery_probe_old)];
    struct page *broken;
    static const struct page breaks[] = {
        ROW("", 503, STATUS(503, "ServiceUnavailable")),
        ROW("", 404, "404 page not found\n"),
        ROW("", 0, NULL),
        ROW("", 200, "{}"),
        ROW("", 200, "<html>"),
        ROW("", 200, "{\"kind\":\"APIVersions\",\"versions\":[]}"),
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(breaks); i++) {
        memcpy(pages, discovery_probe_old, sizeof(pages));
        broken = &pages[discovery_probe_page(pages, "/apis/zeta.io/v2") - pages];
        broken->code = breaks[i].code;
        broken->body = breaks[i].body;
        struct discovery *d = ROUND(pages, NULL, "x");
        struct err err;
        struct buf out = {0};

        discovery_probe_found(d, "gadgets", "/apis/alpha.io/v1beta1/gadgets Gadget Namespaced");
        discovery_probe_found(d, "widgets.zeta.io", "/apis/zeta.io/v1/widgets Widget Namespaced");
        assert_int_not_equal(discovery_probe_find(d, "nonsense", &out, &err), ERR_OK);
        assert_non_null(strstr(err.text, "zeta.io/v2 failed: GET /apis/zeta.io/v2: "));
        discovery_probe_missing(d, "nonsense.alpha.io", ERR_NOT_FOUND, "no resource");
        discovery_destroy(&d);
    }
}

static void test_a_lost_server_ends_the_round(void **state)
{
    static const struct page nothing[] = {ROW("/api", 0, NULL), ROW(NULL, 0, NULL)};
    static const struct page half[] = {
        ROW("/api", 200, "{\"kind\":\"APIVersions\",\"versions\":[\"v1\"]}"),
        ROW("/apis", 0, NULL),
        ROW(NULL, 0, NULL),
    };
    static const struct page versions[] = {
        ROW("/api", 200, "{\"kind\":\"APIVersions\",\"versions\":[\"v1\",\"v2\",\"v3\",\"v4\"]}"),
        ROW("/apis", 200, "@v2\n"),
        ROW("/api/v1", 0, NULL),
        ROW("/api/v2", 0, NULL),
        ROW("/api/v3", 0, NULL),
        ROW(NULL, 0, NULL),
    };
    struct discovery *d = ROUND(nothing, "/api ", "x");

    (void)state;
    discovery_probe_missing(d, "widgets", ERR_TIMEOUT,
                            "cannot be looked up: GET /api: it took too long");
    discovery_probe_missing(d, "widgets.v1.zeta.io", ERR_TIMEOUT, "cannot be looked up");
    discovery_destroy(&d);
    d = ROUND(half, "/api /apis ", "x");
    discovery_probe_missing(d, "things.v1.", ERR_TIMEOUT, "GET /apis: ");
    discovery_destroy(&d);
    d = ROUND(versions, "/api /apis /api/v1 /api/v2 /api/v3 ", "x");
    discovery_probe_missing(d, "x", ERR_TIMEOUT, "/v1 failed");
    discovery_destroy(&d);
}

/* A user who may not use discovery can still write out the whole name. */
static void test_refused_discovery(void **state)
{
    static const struct {
        int code;
        const char *body;
        enum err_kind kind;
    } refusals[] = {
        ROW(401, STATUS(401, "Unauthorized"), ERR_UNAUTHORIZED),
        ROW(403, STATUS(403, "Forbidden"), ERR_FORBIDDEN),
        ROW(404, "nothing here", ERR_NOT_FOUND),
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(refusals); i++) {
        const struct page pages[] = {
            ROW("/api", refusals[i].code, refusals[i].body),
            ROW("/apis", refusals[i].code, refusals[i].body),
            ROW(NULL, 0, NULL),
        };
        struct discovery *d = ROUND(pages, "/api /apis ", "x");

        discovery_probe_missing(d, "widgets", refusals[i].kind,
                                "cannot be looked up: GET /apis: server");
        discovery_probe_missing(d, "widgets.zeta.io", refusals[i].kind, "cannot be looked up");
        discovery_probe_found(d, "Widgets.v1.zeta.io", "/apis/zeta.io/v1/widgets ? ?");
        discovery_probe_found(d, "things.v1.", "/api/v1/things ? ?");
        discovery_destroy(&d);
    }
    struct page pages[ARRAY_LEN(discovery_probe_old)];
    memcpy(pages, discovery_probe_old, sizeof(pages));
    struct page *one = &pages[discovery_probe_page(pages, "/apis/zeta.io/v2") - pages];
    one->code = 403;
    one->body = STATUS(403, "Forbidden");
    struct discovery *d = ROUND(pages, NULL, "x");
    discovery_probe_found(d, "wd.v2.zeta.io", "/apis/zeta.io/v2/wd ? ?");
    discovery_probe_missing(d, "wd.v1.zeta.io", ERR_NOT_FOUND, "no resource");
    discovery_destroy(&d);
}

/* A busy server is not a server that refuses discovery. */
static void test_busy_discovery(void **state)
{
    struct discovery *d = discovery_create();
    struct discovery_request r;

    (void)state;
    discovery_begin(d);
    assert_true(discovery_next(d, &r));
    discovery_probe_answer(d, 429, 7, str_c("slow down"));
    assert_true(discovery_next(d, &r));
    discovery_probe_answer(d, 429, 3, str_c("slow down"));
    assert_false(discovery_next(d, &r));
    assert_int_equal(discovery_retry_after_ms(d), 7000);
    discovery_probe_missing(d, "widgets.v1.zeta.io", ERR_BUSY, "slow down");
    discovery_begin(d);
    assert_int_equal(discovery_retry_after_ms(d), 0);
    assert_true(discovery_next(d, &r));
    discovery_probe_answer(d, 503, 99999, str_c(""));
    assert_int_equal(discovery_retry_after_ms(d), 3600000);
    discovery_destroy(&d);
}

/* A body that was cut off never gives half a result. */
static void test_cut_anywhere(void **state)
{
    struct buf core = {0};
    struct buf groups = {0};

    (void)state;
    discovery_probe_body(&discovery_probe_new[0], &core);
    discovery_probe_body(&discovery_probe_new[1], &groups);
    for (size_t cut = 1; cut + 1 < groups.len; cut++) { /* the last byte is a newline */
        struct discovery *d = discovery_create();
        struct discovery_request r;

        discovery_begin(d);
        assert_true(discovery_next(d, &r));
        discovery_answer(d, buf_str(&core));
        assert_true(discovery_next(d, &r));
        discovery_answer(d, str_of(groups.data, cut));
        assert_false(discovery_next(d, &r));
        discovery_probe_missing(d, "widgets", ERR_CLOSED, "cannot be looked up: GET /apis: ");
        discovery_destroy(&d);
    }
    buf_free(&core);
    buf_free(&groups);
}

/* Lists that are far larger than any server's are refused, not stored. */
static void test_too_many(void **state)
{
    struct buf resources = {0};
    struct buf groups = {0};

    (void)state;
    buf_puts(&resources, "@v2\n");
    for (int i = 0; i <= CATALOG_MAX_RESOURCES; i++)
        buf_puts(&resources, "- v1 as A Cluster\n");
    buf_puts(&groups, "@v2\n");
    for (int i = 0; i <= CATALOG_MAX_VERSIONS / 2; i++)
        buf_printf(&groups, "g%d.io v1 as A Cluster\n", i);
    const struct page pages[] = {
        ROW("/api", 200, buf_cstr(&resources)),
        ROW("/apis", 200, buf_cstr(&groups)),
        ROW(NULL, 0, NULL),
    };
    struct discovery *d = ROUND(pages, "/api /apis ", "x");

    discovery_probe_missing(d, "as.a.io", ERR_TOO_BIG,
                            "GET /apis: the server lists more than 2048");
    discovery_probe_missing(d, "as.v1.", ERR_TOO_BIG, "GET /api: the server lists more than 65536");
    discovery_destroy(&d);
    buf_clear(&resources);
    buf_puts(&resources, "@v2\n");
    for (int i = 0; i < CATALOG_MAX_RESOURCES; i++)
        buf_puts(&resources, "- v1 as A Cluster\n");
    const struct page together[] = {
        ROW("/api", 200, buf_cstr(&resources)),
        ROW("/apis", 200, "@v2\na.io v1 one A Cluster\n"),
        ROW(NULL, 0, NULL),
    };
    d = ROUND(together, "/api /apis ", "x");
    discovery_probe_found(d, "as.v1.", "/api/v1/as A Cluster");
    discovery_probe_missing(d, "one", ERR_TOO_BIG, "GET /apis: the server lists more than 2048");
    discovery_destroy(&d);
    buf_free(&resources);
    buf_free(&groups);
}

static void test_versions_of_servers(void **state)
{
    struct version v;

    (void)state;
    assert_true(version_parse(str_c("{\"gitVersion\":\"v1.34.1\",\"minor\":\"34+\","
                                    "\"major\":\"1\",\"x\":{\"minor\":\"9\"}}"),
                              &v));
    assert_int_equal(v.major, 1);
    assert_int_equal(v.minor, 34);
    assert_false(version_parse(str_c("{\"major\":\"1\",\"minor\":\"\"}"), &v));
    assert_false(version_parse(str_c("{\"major\":1,\"minor\":2}"), &v));
    assert_false(version_parse(str_c("{\"paths\":[]}"), &v));
    assert_false(version_parse(str_c("{\"major\":\"99999999999\",\"minor\":\"1"), &v));
    assert_true(version_parse(str_c("{\"major\":\"99999999999\",\"minor\":\"1\"}"), &v));
    assert_int_equal(v.major, 9999);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_accepted_forms),
        cmocka_unit_test(test_the_old_form_asks_only_what_matters),
        cmocka_unit_test(test_a_want_may_join_a_round),
        cmocka_unit_test(test_stale_groups),
        cmocka_unit_test(test_a_broken_group_harms_no_other),
        cmocka_unit_test(test_a_lost_server_ends_the_round),
        cmocka_unit_test(test_refused_discovery),
        cmocka_unit_test(test_busy_discovery),
        cmocka_unit_test(test_cut_anywhere),
        cmocka_unit_test(test_too_many),
        cmocka_unit_test(test_versions_of_servers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
