/* SPDX-License-Identifier: Apache-2.0 */
/* The meaning of names to servers of both forms of discovery. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "discovery_probe.h"

static const struct {
    const char *name;
    const char *found;
} meanings[] = {
  /* plural, singular, short name, kind; any case */
    {"widgets.zeta.io",    "/apis/zeta.io/v2/widgets Widget Cluster"              },
    {"WIDGETS.Zeta.IO",    "/apis/zeta.io/v2/widgets Widget Cluster"              },
    {"Widget",             "/apis/zeta.io/v2/widgets Widget Cluster"              },
    {"wd",                 "/apis/zeta.io/v2/widgets Widget Cluster"              },
    {"Gadgets",            "/apis/alpha.io/v1beta1/gadgets Gadget Namespaced"     },
 /* the server's order of groups, not the alphabet's; the preferred version */
    {"widgets",            "/apis/zeta.io/v2/widgets Widget Cluster"              },
 /* only another version has that resource */
    {"olds",               "/apis/zeta.io/v1/olds Old Namespaced"                 },
    {"widgets.v1.zeta.io", "/apis/zeta.io/v1/widgets Widget Namespaced"           },
    {"WIDGET.V1.zeta.io",  "/apis/zeta.io/v1/widgets Widget Namespaced"           },
    {"widgets.alpha.io",   "/apis/alpha.io/v1beta1/widgets AlphaWidget Namespaced"},
    {"alphawidget",        "/apis/alpha.io/v1beta1/widgets AlphaWidget Namespaced"},
 /* the beginning of the group is enough */
    {"widgets.alph",       "/apis/alpha.io/v1beta1/widgets AlphaWidget Namespaced"},
};

static void assert_meanings(const struct discovery *d)
{
    for (size_t i = 0; i < ARRAY_LEN(meanings); i++)
        discovery_probe_found(d, meanings[i].name, meanings[i].found);
}

static void test_the_aggregated_form_takes_two_requests(void **state)
{
    struct discovery *d = ROUND(discovery_probe_new, "/api /apis ", "wd", "widgets.alpha.io");

    (void)state;
    assert_meanings(d);
    discovery_destroy(&d);
    assert_null(d);
}

static void test_the_old_form_asks_each_version(void **state)
{
    struct discovery *d = ROUND(discovery_probe_old,
                                "/api /apis /api/v1 /apis/zeta.io/v2 /apis/zeta.io/v1 "
                                "/apis/alpha.io/v1beta1 ",
                                "wd");

    (void)state;
    assert_meanings(d);
    discovery_destroy(&d);
}

static void test_v2beta1_and_members_in_any_order(void **state)
{
    static const struct page pages[] = {
        ROW("/api", 200, "@v2beta1\n"),
        ROW("/apis", 200,
            "{\"items\":[{\"versions\":[{\"resources\":[{\"verbs\":[\"watch\",\"list\"],"
            "\"shortNames\":[\"wd\"],\"scope\":\"Cluster\",\"responseKind\":{\"kind\":\"Widget\"},"
            "\"resource\":\"widgets\"}],\"version\":\"v1\"}],\"metadata\":{\"name\":\"zeta.io\"}}],"
            "\"apiVersion\":\"apidiscovery.k8s.io/v2beta1\",\"kind\":\"APIGroupDiscoveryList\"}"),
        ROW(NULL, 0, NULL),
    };
    struct discovery *d = ROUND(pages, "/api /apis ", "wd");

    (void)state;
    discovery_probe_found(d, "wd", "/apis/zeta.io/v1/widgets Widget Cluster");
    discovery_destroy(&d);
}

/* "gadget" is a short name in one group and a singular in another, "wd" a short name and a kind. */
static void test_plural_before_short_before_singular(void **state)
{
    struct discovery *d = ROUND(discovery_probe_new, NULL, "x");

    (void)state;
    discovery_probe_found(d, "gadget", "/apis/zeta.io/v2/widgets Widget Cluster");
    discovery_probe_found(d, "gadget.alpha.io", "/apis/alpha.io/v1beta1/gadgets Gadget Namespaced");
    discovery_probe_found(d, "wd", "/apis/zeta.io/v2/widgets Widget Cluster");
    discovery_probe_found(d, "wds", "/apis/alpha.io/v1beta1/wds Wd Namespaced");
    discovery_probe_found(d, "aw", "/apis/alpha.io/v1beta1/widgets AlphaWidget Namespaced");
    discovery_destroy(&d);
}

/* A word that looks like a version is taken for a version first, then for a part of the group; any
 * other word is taken for a part of the group first. */
static void test_both_ways_to_read_a_name(void **state)
{
    static const struct page pages[] = {
        ROW("/api", 200, "@v2\n"),
        ROW("/apis", 200,
            "@v2\n"
            "odd.io stable as A Cluster\n"
            "odd.io stable bs Bad Cluster\n"
            "stable.odd.io v1 bs B Cluster\n"
            "v1.odd.io v1 as A Cluster\n"
            "even.io v1 es E1 Cluster\n"
            "v1.even.io v1 es E2 Cluster\n"),
        ROW(NULL, 0, NULL),
    };
    struct discovery *d = ROUND(pages, NULL, "x");

    (void)state;
    discovery_probe_found(d, "as.stable.odd.io", "/apis/odd.io/stable/as A Cluster");
    discovery_probe_found(d, "bs.stable.odd.io", "/apis/stable.odd.io/v1/bs B Cluster");
    discovery_probe_found(d, "as.v1.odd.io", "/apis/v1.odd.io/v1/as A Cluster");
    discovery_probe_found(d, "es.v1.even.io", "/apis/even.io/v1/es E1 Cluster");
    discovery_destroy(&d);
}

/* kubectl takes a group that begins with the word, unless the group that is the word has the
 * resource. */
static void test_the_equal_group_before_its_like(void **state)
{
    static const struct page pages[] = {
        ROW("/api", 200, "@v2\n"),
        ROW("/apis", 200,
            "@v2\n"
            "shop.example.com v1 as A1 Cluster\n"
            "shop v1 as A2 Cluster\n"),
        ROW(NULL, 0, NULL),
    };
    struct discovery *d = ROUND(pages, NULL, "x");

    (void)state;
    discovery_probe_found(d, "as.shop", "/apis/shop/v1/as A2 Cluster");
    discovery_probe_found(d, "as.sho", "/apis/shop.example.com/v1/as A1 Cluster");
    discovery_probe_missing(d, "as.v1.sho", ERR_NOT_FOUND, "no resource");
    discovery_probe_missing(d, "as.example.com", ERR_NOT_FOUND, "(it has as.v1.shop.example.com)");
    discovery_destroy(&d);
}

static void test_names_that_are_missing(void **state)
{
    struct discovery *d = ROUND(discovery_probe_new, NULL, "x");

    (void)state;
    discovery_probe_missing(d, "nonsense", ERR_NOT_FOUND,
                            "the server has no resource \"nonsense\"");
    discovery_probe_missing(d, "nonsense", ERR_NOT_FOUND, "informerd looks again by itself");
    discovery_probe_missing(d, "status", ERR_NOT_FOUND, "no resource");
    discovery_probe_missing(d, "wrong", ERR_NOT_FOUND, "no resource");
    discovery_destroy(&d);
}

static void test_resources_that_cannot_be_watched(void **state)
{
    static const struct page pages[] = {
        ROW("/api", 200, "{\"kind\":\"APIVersions\",\"versions\":[\"v1\"]}"),
        ROW("/apis", 200,
            "@v2\n"
            "later.io v1 pods Pod Namespaced\n"),
        ROW("/api/v1", 200,
            "@old\n"
            "bindings Binding Namespaced - - create\n"
            "nodes Node Cluster - - get,list\n"
            "pods Pod Namespaced - - get,list\n"),
        ROW(NULL, 0, NULL),
    };
    struct discovery *d = ROUND(pages, NULL, "bindings");

    (void)state;
    discovery_probe_missing(d, "binding", ERR_NOT_FOUND, "which cannot be listed and watched");
    discovery_probe_missing(d, "nodes", ERR_NO_VERB,
                            "v1 nodes cannot be watched: the API has no watch verb");
    discovery_probe_found(d, "pods", "/apis/later.io/v1/pods Pod Namespaced");
    discovery_destroy(&d);
}

/* Names that cannot stand in a path, and answers to other questions, count as not there. */
static void test_hostile_names(void **state)
{
    static const struct page pages[] = {
        ROW("/api", 200,
            "@v2\n"
            "zeta.io v1 widgets Core Cluster\n"),
        ROW("/apis", 200,
            "@v2\n"
            "- v1 widgets Apis Cluster\n"
            "../zeta.io v1 as A Cluster\n"
            "UPPER.io v1 as A Cluster\n"
            "zeta..io v1 as A Cluster\n"
            "a\\u0000b v1 as A Cluster\n"
            "zeta.io v1/../.. as A Cluster\n"
            "zeta.io - as A Cluster\n"
            "zeta.io v1 as/../pods A Cluster\n"
            "zeta.io v1 as?x=1 A Cluster\n"
            "zeta.io v1 - A Cluster\n"
            "zeta.io v1 bs B\\u0000\\nB Cluster\n"
            "zeta.io v1 cs C Galaxy\n"
            "zeta.io v1 ds D Cluster x\\u0020y,dd,z\\u0000z\n"),
        ROW(NULL, 0, NULL),
    };
    struct discovery *d = ROUND(pages, "/api /apis ", "x");

    (void)state;
    discovery_probe_missing(d, "widgets", ERR_NOT_FOUND, "no resource");
    discovery_probe_missing(d, "as", ERR_NOT_FOUND, "no resource");
    discovery_probe_missing(d, "a", ERR_NOT_FOUND, "no resource");
    discovery_probe_missing(d, "bs", ERR_NOT_FOUND, "no resource");
    discovery_probe_missing(d, "cs", ERR_NOT_FOUND, "no resource");
    discovery_probe_missing(d, "y", ERR_NOT_FOUND, "no resource");
    discovery_probe_missing(d, "z", ERR_NOT_FOUND, "no resource");
    discovery_probe_found(d, "dd", "/apis/zeta.io/v1/ds D Cluster");
    discovery_destroy(&d);
}

/* Values of other types than the server should send. */
static void test_odd_values(void **state)
{
    static const struct page pages[] = {
        ROW("/api", 200, "@v2\n"),
        ROW("/apis", 200,
            "{\"kind\":\"APIGroupDiscoveryList\",\"items\":[7,null,[],{},{\"metadata\":[],"
            "\"versions\":7},{\"metadata\":{\"name\":\"a.io\"},\"versions\":[{\"version\":\"v0\","
            "\"freshness\":\"Stale\"},null,{},[[{}]],"
            "{\"version\":\"v1\",\"freshness\":{},\"resources\":[1,{},[],null,{\"resource\":{},"
            "\"responseKind\":\"A\"},{\"resource\":\"as\",\"scope\":\"Cluster\",\"verbs\":[1,["
            "\"list\"],"
            "\"list\",\"watch\"],\"shortNames\":[7,{},\"\",\"a\"],\"responseKind\":{\"kind\":\"A\","
            "\"group\":9}},{\"resource\":\"bs\",\"scope\":\"Cluster\",\"responseKind\":"
            "{\"kind\":\"B\"}}]}]}]}"),
        ROW(NULL, 0, NULL),
    };
    struct discovery *d = ROUND(pages, "/api /apis ", "x");

    (void)state;
    discovery_probe_found(d, "a", "/apis/a.io/v1/as A Cluster");
    discovery_probe_missing(d, "nonsense.v1.a.io", ERR_NOT_FOUND, "no resource");
    discovery_probe_missing(d, "bs", ERR_NOT_FOUND, "cannot be listed and watched");
    discovery_destroy(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_aggregated_form_takes_two_requests),
        cmocka_unit_test(test_the_old_form_asks_each_version),
        cmocka_unit_test(test_v2beta1_and_members_in_any_order),
        cmocka_unit_test(test_plural_before_short_before_singular),
        cmocka_unit_test(test_both_ways_to_read_a_name),
        cmocka_unit_test(test_the_equal_group_before_its_like),
        cmocka_unit_test(test_names_that_are_missing),
        cmocka_unit_test(test_resources_that_cannot_be_watched),
        cmocka_unit_test(test_hostile_names),
        cmocka_unit_test(test_odd_values),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
