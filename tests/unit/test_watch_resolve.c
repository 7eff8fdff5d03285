/* SPDX-License-Identifier: Apache-2.0 */
/* cache/watch: resources that only discovery knows (docs/design.md "Resource names";
 * tests/wire/SCENARIOS.md 56). */
#include "identified.h"
#include "objects.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"

static struct watch *w;
static struct err err;

static enum err_kind make(const char *resource, const char *ns)
{
    const char *const namespaces[] = {ns};
    struct watch_params p = objects_watch_params();

    p.name = "n";
    p.reflector.page_size = 0;
    p.resource = resource;
    p.namespaces = namespaces;
    p.namespace_count = ns != NULL;
    err = (struct err){0};
    return watch_create(&p, &w, &err);
}

static int clean_up(void **state)
{
    (void)state;
    watch_destroy(&w);
    return 0;
}

static enum err_kind finds(const char *version, enum resource_scope scope)
{
    char *v = strdup(version);
    char plural[] = "widgets";
    char group[] = "example.com";
    char kind[] = "Widget";
    const struct resource found = {
        .plural = plural, .group = group, .version = v, .kind = kind, .scope = scope};
    enum err_kind result = watch_resolve(w, &found, &err);

    free(v);
    return result;
}

static void asks(const char *target)
{
    struct list_watch_action a = list_watch_start(watch_list_watch(w, 0), 1);

    assert_int_equal(a.what, LW_LIST);
    assert_string_equal(a.target, target);
}

static void test_a_resource_of_the_table_wants_nothing(void **state)
{
    (void)state;
    assert_int_equal(make("pods", "*"), ERR_OK);
    assert_null(watch_wants(w));
    assert_int_equal(watch_list_watch_count(w), 1);
    assert_string_equal(watch_target(w)->plural, "pods");
}

static void test_an_unknown_resource_has_no_scopes_and_says_why(void **state)
{
    const struct err why = {.kind = ERR_NOT_FOUND, .text = "no such resource"};

    (void)state;
    assert_int_equal(make("widgets.example.com", "*"), ERR_OK);
    assert_non_null(watch_wants(w));
    assert_int_equal(watch_list_watch_count(w), 0);
    assert_false(watch_synced(w) || watch_settled(w));
    assert_int_equal(watch_status(w, 5).state, WATCH_WAITING);
    assert_int_equal(watch_status(w, 5).err->kind, ERR_OK);
    assert_int_equal(watch_tick(w, (struct now){.ms = 5}), UINT64_MAX);
    watch_relist(w, RELIST_MANUAL);
    assert_false(watch_guard(w, true));
    watch_unresolved(w, &why);
    assert_string_equal(watch_status(w, 5).err->text, "no such resource");
    assert_false(watch_status(w, 5).synced || watch_status(w, 5).stale);
    watch_unresolved(w, &(struct err){.kind = ERR_FORBIDDEN, .text = "no"});
    assert_int_equal(watch_status(w, 5).state, WATCH_FORBIDDEN);
}

static void test_s56_what_discovery_found_is_listed(void **state)
{
    (void)state;
    assert_int_equal(make("widgets.example.com", "team"), ERR_OK);
    watch_unresolved(w, &(struct err){.kind = ERR_NOT_FOUND, .text = "no such resource"});
    assert_int_equal(finds("v1", RESOURCE_NAMESPACED), ERR_OK);
    assert_null(watch_wants(w));
    assert_int_equal(watch_list_watch_count(w), 1);
    assert_int_equal(watch_status(w, 5).err->kind, ERR_OK);
    assert_string_equal(watch_resource(w), "widgets.example.com");
    asks("/apis/example.com/v1/namespaces/team/widgets?resourceVersion=0");
}

static void test_a_cluster_scoped_resource_is_listed_without_namespaces(void **state)
{
    (void)state;
    assert_int_equal(make("widgets.example.com", NULL), ERR_OK);
    assert_int_equal(finds("v1", RESOURCE_CLUSTER_SCOPED), ERR_OK);
    asks("/apis/example.com/v1/widgets?resourceVersion=0");
    watch_destroy(&w);
    assert_int_equal(make("widgets.example.com", "*"), ERR_OK);
    assert_int_equal(finds("v1", RESOURCE_CLUSTER_SCOPED), ERR_OK);
    asks("/apis/example.com/v1/widgets?resourceVersion=0");
}

static void test_namespaces_of_a_cluster_scoped_resource_are_an_error(void **state)
{
    (void)state;
    assert_int_equal(make("widgets.example.com", "team"), ERR_OK);
    assert_int_equal(finds("v1", RESOURCE_CLUSTER_SCOPED), ERR_CONFIG);
    assert_string_equal(err.text, "widgets is cluster-scoped: leave namespaces out");
    assert_string_equal(watch_status(w, 5).err->text, err.text);
    assert_int_equal(watch_list_watch_count(w), 0);
    assert_non_null(watch_wants(w)); /* the CRD may change */
    assert_int_equal(finds("v1", RESOURCE_NAMESPACED), ERR_OK);
    assert_int_equal(watch_list_watch_count(w), 1);
}

static void test_a_namespaced_resource_needs_namespaces(void **state)
{
    (void)state;
    assert_int_equal(make("widgets.example.com", NULL), ERR_OK);
    assert_int_equal(finds("v1", RESOURCE_NAMESPACED), ERR_CONFIG);
    assert_non_null(strstr(err.text, "widgets is namespaced"));
    assert_int_equal(watch_list_watch_count(w), 0);
}

static void test_another_version_is_listed_anew(void **state)
{
    (void)state;
    assert_int_equal(make("widgets.example.com", "*"), ERR_OK);
    assert_int_equal(finds("v1beta1", RESOURCE_NAMESPACED), ERR_OK);
    asks("/apis/example.com/v1beta1/widgets?resourceVersion=0");
    assert_int_equal(finds("v1beta1", RESOURCE_NAMESPACED), ERR_OK);
    assert_false(list_watch_is_ordered(watch_list_watch(w, 0)));
    assert_int_equal(finds("v1", RESOURCE_NAMESPACED), ERR_OK);
    assert_true(list_watch_is_ordered(watch_list_watch(w, 0)));
    struct list_watch_action a = list_watch_restart(watch_list_watch(w, 0), (struct now){.ms = 9});
    assert_int_equal(a.what, LW_LIST);
    assert_string_equal(a.target, "/apis/example.com/v1/widgets?resourceVersion=0");
    a = objects_answer(watch_list_watch(w, 0),
                       "{\"kind\":\"WidgetList\",\"apiVersion\":\"example.com/v1\",\"metadata\":{"
                       "\"resourceVersion\":\"7\"},\"items\":[]}",
                       (struct now){.ms = 10});
    assert_int_equal(a.what, LW_WATCH);
}

static void test_only_a_version_that_discovery_chose_can_be_lost(void **state)
{
    const struct err gone = {.kind = ERR_NOT_FOUND, .text = "404"};

    (void)state;
    assert_int_equal(make("widgets.example.com", "*"), ERR_OK);
    assert_int_equal(finds("v1beta1", RESOURCE_NAMESPACED), ERR_OK);
    assert_false(watch_is_lost(w));
    list_watch_start(watch_list_watch(w, 0), 1);
    list_watch_end_identified(watch_list_watch(w, 0), &gone, (struct now){.ms = 2});
    assert_true(watch_is_lost(w));
    assert_int_equal(finds("v1", RESOURCE_NAMESPACED), ERR_OK);
    list_watch_restart(watch_list_watch(w, 0), (struct now){.ms = 3});
    list_watch_end_identified(watch_list_watch(w, 0), &gone, (struct now){.ms = 4});
    assert_true(watch_is_lost(w)); /* another time */
    watch_destroy(&w);
    assert_int_equal(make("widgets.v1beta1.example.com", "*"), ERR_OK);
    assert_int_equal(finds("v1beta1", RESOURCE_NAMESPACED), ERR_OK);
    list_watch_start(watch_list_watch(w, 0), 1);
    list_watch_end_identified(watch_list_watch(w, 0), &gone, (struct now){.ms = 2});
    assert_false(watch_is_lost(w));
}

static int be_quiet(void **state)
{
    (void)state;
    log_set_level(LOG_LVL_ERROR);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_a_resource_of_the_table_wants_nothing, clean_up),
        cmocka_unit_test_teardown(test_an_unknown_resource_has_no_scopes_and_says_why, clean_up),
        cmocka_unit_test_teardown(test_s56_what_discovery_found_is_listed, clean_up),
        cmocka_unit_test_teardown(test_a_cluster_scoped_resource_is_listed_without_namespaces,
                                  clean_up),
        cmocka_unit_test_teardown(test_namespaces_of_a_cluster_scoped_resource_are_an_error,
                                  clean_up),
        cmocka_unit_test_teardown(test_a_namespaced_resource_needs_namespaces, clean_up),
        cmocka_unit_test_teardown(test_another_version_is_listed_anew, clean_up),
        cmocka_unit_test_teardown(test_only_a_version_that_discovery_chose_can_be_lost, clean_up),
    };

    return cmocka_run_group_tests(tests, be_quiet, NULL);
}
