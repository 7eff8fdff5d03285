/* SPDX-License-Identifier: Apache-2.0 */
/* cache/view: the watches that a view can be made of. */
#include <string.h>

#include "base/log.h"
#include "cache/view.h"
#include "view_rig.h"

static struct watch *make_shaped(const char *name, const char *resource,
                                 const struct shape_params *shape)
{
    return view_rig_watch(name, "c", resource, shape, NULL, NULL);
}

static struct watch *make(const char *name, const char *resource)
{
    return make_shaped(name, resource, &(struct shape_params){0});
}

static struct watch *make_without(const char *resource, const char *path)
{
    return make_shaped("w", resource, &(struct shape_params){.drop = &path, .drop_count = 1});
}

static struct view_rig_watches watches;

static int set_up(void **state)
{
    (void)state;
    watches = view_rig_watches(NULL, NULL);
    return 0;
}

static int clean_up(void **state)
{
    (void)state;
    view_rig_watches_fini(&watches);
    return 0;
}

static struct view_params params(void)
{
    return (struct view_params){
        .name = "v", .services = watches.services, .slices = watches.slices, .node_name = "n1"};
}

static void refuses(struct view_params p, enum view_setting wrong, const char *why)
{
    struct err err = {0};

    assert_int_equal(view_check(&p, &err), wrong);
    assert_int_equal(err.kind, ERR_CONFIG);
    assert_string_equal(err.text, why);
}

static void takes(struct view_params p)
{
    struct err err = {0};

    if (view_check(&p, &err) != VIEW_SETTING_NONE)
        fail_msg("%s", err.text);
}

static void test_watches_that_a_view_cannot_join(void **state)
{
    struct watch *other =
        view_rig_watch("other", "d", "endpoints", &(struct shape_params){0}, NULL, NULL);
    struct watch *pods = make("pods", "pods");
    struct watch *namesake = make("namesake", "services.v1.serving.knative.dev");
    struct view_params p = params();

    (void)state;
    takes(p);
    p.services = pods;
    refuses(p, VIEW_SETTING_SERVICES,
            "services: watch pods is of pods; a view of service_endpoints needs a watch of "
            "services");
    p.services = namesake;
    refuses(p, VIEW_SETTING_SERVICES,
            "services: watch namesake is of services.serving.knative.dev; a view of "
            "service_endpoints needs a watch of services");
    p = params();
    p.slices = pods;
    refuses(p, VIEW_SETTING_SLICES,
            "slices: watch pods is of pods; a view of service_endpoints needs a watch of "
            "endpointslices (or endpoints)");
    p = params();
    p.slices = other;
    refuses(p, VIEW_SETTING_SLICES,
            "slices: watch other is of cluster d, watch services of cluster c; a view joins "
            "watches of one cluster");
    watch_destroy(&other);
    watch_destroy(&pods);
    watch_destroy(&namesake);
}

static void test_a_node_without_name_has_nothing_local(void **state)
{
    struct view_params p = params();

    (void)state;
    p.node_name = "";
    takes(p);
    p.local_only = true;
    refuses(p, VIEW_SETTING_LOCAL_ONLY, "local_only: the name of this node is not known");
}

static const struct {
    const char *resource;
    const char *path;
    bool local; /* only local_only needs it */
} needs[] = {
    {"services",       "spec.type",                           false},
    {"services",       "spec.ports[*].name",                  false},
    {"services",       "spec.ports[*].protocol",              false},
    {"services",       "spec.ports[*].port",                  false},
    {"endpointslices", "addressType",                         false},
    {"endpointslices", "endpoints[*].addresses",              false},
    {"endpointslices", "endpoints[*].conditions.ready",       false},
    {"endpointslices", "endpoints[*].conditions.serving",     false},
    {"endpointslices", "endpoints[*].conditions.terminating", false},
    {"endpointslices", "endpoints[*].nodeName",               true },
    {"endpointslices", "ports[*].name",                       false},
    {"endpointslices", "ports[*].protocol",                   false},
    {"endpointslices", "ports[*].port",                       false},
    {"endpoints",      "subsets[*].addresses[*].ip",          false},
    {"endpoints",      "subsets[*].addresses[*].nodeName",    true },
    {"endpoints",      "subsets[*].ports[*].name",            false},
    {"endpoints",      "subsets[*].ports[*].protocol",        false},
    {"endpoints",      "subsets[*].ports[*].port",            false},
};

/* A condition that was dropped would count as ready, for example. */
static void test_fields_that_must_not_be_dropped(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(needs); i++) {
        struct watch *w = make_without(needs[i].resource, needs[i].path);
        bool of_services = strcmp(needs[i].resource, "services") == 0;
        struct view_params p = params();
        struct err err = {0};

        *(of_services ? &p.services : &p.slices) = w;
        if (needs[i].local)
            takes(p);
        p.local_only = needs[i].local;
        print_message("  %s\n", needs[i].path);
        assert_int_equal(view_check(&p, &err),
                         of_services ? VIEW_SETTING_SERVICES : VIEW_SETTING_SLICES);
        assert_non_null(strstr(err.text, "keep and drop of watch w leave out "));
        assert_non_null(strstr(err.text, needs[i].path));
        watch_destroy(&w);
    }
}

/* Other labels may be dropped; that of the Service may not. */
static void test_the_label_must_stay(void **state)
{
    struct watch *w = make_without("endpointslices", "metadata.labels");
    struct view_params p = params();

    (void)state;
    p.slices = w;
    refuses(p, VIEW_SETTING_SLICES,
            "slices: keep and drop of watch w leave out "
            "metadata.labels['kubernetes.io/service-name'], which the view needs");
    watch_destroy(&w);
    w = make_without("endpointslices", "metadata.labels['app']");
    p.slices = w;
    takes(p);
    watch_destroy(&w);
}

static void test_fields_that_must_be_kept(void **state)
{
    static const char *const ports = "spec.ports";
    static const char *const subsets = "subsets";
    struct view_params p = params();
    struct watch *w =
        make_shaped("w", "services", &(struct shape_params){.keep = &ports, .keep_count = 1});

    (void)state;
    p.services = w;
    refuses(p, VIEW_SETTING_SERVICES,
            "services: keep and drop of watch w leave out spec.type, which the view needs");
    watch_destroy(&w);
    w = make_shaped("w", "endpoints", &(struct shape_params){.keep = &subsets, .keep_count = 1});
    p = params();
    p.slices = w;
    p.local_only = true;
    takes(p);
    watch_destroy(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_watches_that_a_view_cannot_join, set_up, clean_up),
        cmocka_unit_test_setup_teardown(test_a_node_without_name_has_nothing_local, set_up,
                                        clean_up),
        cmocka_unit_test_setup_teardown(test_fields_that_must_not_be_dropped, set_up, clean_up),
        cmocka_unit_test_setup_teardown(test_the_label_must_stay, set_up, clean_up),
        cmocka_unit_test_setup_teardown(test_fields_that_must_be_kept, set_up, clean_up),
    };

    log_set_level(LOG_LVL_ERROR);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
