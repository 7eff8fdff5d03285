/* SPDX-License-Identifier: Apache-2.0 */
/* The change of each cluster, watch, view and hook by a reload, from the two configurations. */
#include "app/reload_plan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "proto/json_out.h"
#include "reload_rig.h"
#include "temp_folder.h"

/* A row of a table (clang-format 14 crashes on some with braces). */
#define ROW(...)    \
    {               \
        __VA_ARGS__ \
    }

static void expect(const char *was, const char *now, const char *expected)
{
    struct reload_rig a;
    struct reload_rig b;

    reload_rig_load(&a, was);
    reload_rig_load(&b, now);
    reload_rig_expect(&a, &b, expected);
    reload_rig_unload(&a);
    reload_rig_unload(&b);
}

#define CLUSTER "clusters : { c : { servers = [ \"https://a\" ]; ca_file = \"/ca\"; }; };\n"
#define C2                                                                                      \
    "clusters : { c : { servers = [ \"https://a\" ]; }; d : { servers = [ \"https://b\" ]; }; " \
    "};\n"
#define PODS           "p : { resource = \"pods\"; };"
#define NODES          "n : { resource = \"nodes\"; };"
#define HOOK(settings) "hooks : { h : { sources = [ \"p\" ]; shell = \"x\"; " settings " }; };\n"

/* ---- Clusters */

static void test_nothing_changes(void **state)
{
    static const char text[] = CLUSTER "watches : { " PODS NODES " };\n" HOOK("");

    (void)state;
    expect("", "", "");
    expect(text, text, "");
    expect(text, "\n\n" CLUSTER "watches : { " NODES PODS " };\n" HOOK("timeout = \"30s\";"), "");
}

static void test_clusters_come_change_and_go(void **state)
{
    (void)state;
    expect("", CLUSTER, "cluster c add\n");
    expect(CLUSTER, "", "cluster c drop\n");
    expect(CLUSTER, "clusters : { c : { servers = [ \"https://a\" ]; ca_file = \"/cb\"; }; };",
           "cluster c change ca_file\n");
    expect(C2,
           "clusters : { d : { servers = [ \"https://b\" ]; }; e : { servers = [ \"x\" ]; }; };",
           "cluster e add\ncluster c drop\n");
    expect(CLUSTER, CLUSTER "limits : { credential_expiry = \"1h\"; };",
           "cluster c change limits.credential_expiry\nsetting limits.credential_expiry\n");
}

/* The numbers of files and of clusters change; nothing else does. */
static void test_clusters_in_another_order_stay(void **state)
{
    struct reload_rig a;
    struct reload_rig b;

    (void)state;
    reload_rig_load(&a, "clusters : { c : { servers = [ \"https://a\" ]; ca_file = \"/c\"; };\n"
                        "d : { servers = [ \"https://b\" ]; ca_file = \"/d\"; }; };\n");
    reload_rig_load(&b, "clusters : { d : { servers = [ \"https://b\" ]; ca_file = \"/d\"; };\n"
                        "c : { servers = [ \"https://a\" ]; ca_file = \"/c\"; }; };\n");
    assert_int_not_equal(a.list.v[0].servers[0].items[CRED_CA].file,
                         b.list.v[1].servers[0].items[CRED_CA].file);
    /* Somebody else owns the file of c. */
    a.list.files[a.list.v[0].servers[0].items[CRED_CA].file].path_trust.owners[1] = 7;
    b.list.files[b.list.v[1].servers[0].items[CRED_CA].file].path_trust.owners[1] = 7;
    struct reload_plan *p = reload_rig_plan(&a, &b);
    assert_int_equal(reload_plan_count(&p->clusters, RELOAD_KEEP), 2);
    assert_int_equal(p->clusters.v[0].was, 1);
    assert_int_equal(p->clusters.v[1].was, 0);
    reload_plan_destroy(&p);
    reload_rig_unload(&a);
    reload_rig_unload(&b);
}

/* The owner of credentials has another uid, or the CAs of the system are other ones: no setting shows
 * that. */
static void test_cluster_whose_files_changed(void **state)
{
    static const char expected[] = "cluster c change content or owner of its files\n";
    struct reload_rig a;
    struct reload_rig b;

    (void)state;
    reload_rig_load(&a, CLUSTER);
    reload_rig_load(&b, CLUSTER);
    reload_rig_expect(&a, &b, "");
    b.list.files[0].path_trust.owners[1] = 7;
    reload_rig_expect(&a, &b, expected);
    b.list.files[0].path_trust.owners[1] = 0;
    b.list.files[0].path_trust.named_by = 7;
    reload_rig_expect(&a, &b, expected);
    b.list.files[0].path_trust.named_by = 0;
    b.list.v[0].proxy_ca = mem_strdup("ca");
    reload_rig_expect(&a, &b, expected);
    free(b.list.v[0].proxy_ca);
    b.list.v[0].proxy_ca = NULL;
    b.list.v[0].servers[0].proxy.url.port = 7;
    reload_rig_expect(&a, &b, expected);
    b.list.v[0].servers[0].proxy.url.port = 0;
    b.list.v[0].exec_owner = 7; /* of no plugin */
    reload_rig_expect(&a, &b, "");
    reload_rig_unload(&a);
    reload_rig_unload(&b);
}

static void test_the_user_of_the_daemon_may_own_credentials(void **state)
{
    struct reload_rig a;
    struct reload_rig b;

    (void)state;
    reload_rig_load(&a, CLUSTER);
    reload_rig_load(&b, "user = \"u\";\n" CLUSTER);
    b.list.files[0].path_trust.owners[0] = 7;
    reload_rig_expect(&a, &b,
                      "cluster c change user\nrestart user: informerd -> u at main.conf:1\n");
    reload_rig_unload(&a);
    reload_rig_unload(&b);
}

/* ---- Watches */

static void expect_watches(const char *was, const char *now, const char *expected)
{
    char *a = mem_printf(CLUSTER "watches : { %s };\n", was);
    char *b = mem_printf(CLUSTER "watches : { %s };\n", now);

    expect(a, b, expected);
    free(a);
    free(b);
}

static void test_watches_come_change_and_go(void **state)
{
    (void)state;
    expect_watches(PODS, PODS NODES, "watch n add\n");
    expect_watches(PODS NODES, NODES, "watch p drop\n");
    expect_watches(PODS NODES, NODES "p : { resource = \"pods\"; label_selector = \"a=b\"; };",
                   "watch p replace label_selector\n");
    expect_watches(PODS, "p : { resource = \"pods\"; guard : { at_least = 3; }; };",
                   "watch p replace guard.at_least\n");
}

/* Only the driver of a watch has the interval. */
static void test_a_watch_goes_on_with_another_audit(void **state)
{
    (void)state;
    expect(CLUSTER "watches : { " PODS " };\n" HOOK(""),
           CLUSTER "watches : { p : { resource = \"pods\"; audit = \"1h\"; }; };\n" HOOK(""),
           "watch p change audit\n");
}

static void test_a_watch_that_moves_to_another_cluster_is_another_one(void **state)
{
    (void)state;
    expect(C2 "watches : { p : { resource = \"pods\"; cluster = \"c\"; }; };\n" HOOK(""),
           C2 "watches : { p : { resource = \"pods\"; cluster = \"d\"; }; };\n" HOOK(""),
           "watch p add cluster\nwatch p drop\nhook h replace (watch p is added) -> changes\n");
}

/* A second cluster makes the setting necessary: that is no change. */
static void test_a_watch_names_the_cluster_that_it_has(void **state)
{
    (void)state;
    expect("clusters : { c : { servers = [ \"https://a\" ]; }; };\nwatches : { " PODS " };",
           C2 "watches : { p : { resource = \"pods\"; cluster = \"c\"; }; };\n", "cluster d add\n");
}

static void test_settings_of_others_that_a_watch_uses(void **state)
{
    (void)state;
    expect(CLUSTER "watches : { " PODS " };",
           "clusters : { c : { servers = [ \"https://a\" ]; ca_file = \"/ca\"; stale_after = "
           "\"1s\"; tuning : { backoff : { max = \"1h\"; }; response_timeout = \"1s\"; }; }; };\n"
           "limits : { object_size = \"1MiB\"; }; watches : { " PODS " };",
           "cluster c change stale_after,tuning.response_timeout,tuning.backoff.max\n"
           "watch p replace "
           "clusters.c.stale_after,clusters.c.tuning.backoff.max,limits.object_size\n"
           "setting limits.object_size\n");
}

/* ---- Watches with several names */

#define AS(name)          name " : { resource = \"pods\"; };"
#define AS_WITH(name, it) name " : { resource = \"pods\"; " it " };"

/* A struct watch has the name of the first: to give it another one is to make another one. */
static void test_names_of_one_watch(void **state)
{
    static const char same[] = AS("a") AS("b");

    (void)state;
    expect_watches(AS("a"), same, "watch b add = a\n");
    expect_watches(same, AS("a"), "watch b drop\n");
    expect_watches(same, AS("b"),
                   "watch b replace (shared the connections of watch a so far)\nwatch a drop\n");
    expect_watches(same, AS("b") AS("a"),
                   "watch b replace (shared the connections of watch a so far)\n"
                   "watch a replace = b (shares the connections of watch b now)\n");
    expect_watches(same, AS("a") AS("c") AS("b"), "watch c add = a\n");
    expect_watches(same, AS_WITH("a", "persist = \"none\";") AS("b"),
                   "watch a replace persist\n"
                   "watch b replace (shared the connections of watch a so far)\n");
    expect_watches(same, AS("a") AS_WITH("b", "persist = \"none\";"),
                   "watch b replace persist (shared the connections of watch a so far)\n");
    expect_watches(AS("a") AS_WITH("b", "persist = \"none\";"), same,
                   "watch b replace persist = a (shares the connections of watch a now)\n");
    expect_watches(same, AS_WITH("a", "audit = \"1h\";") AS_WITH("b", "audit = \"1h\";"),
                   "watch a change audit\nwatch b change audit = a\n");
    expect_watches(same, AS_WITH("a", "keep = [ \"x\" ];") AS_WITH("b", "keep = [ \"x\" ];"),
                   "watch a replace keep\nwatch b replace keep = a\n");
}

/* A hook names a watch by its name, and notices when that is another watch. */
static void test_hook_of_a_name_that_moved(void **state)
{
    static const char hook[] = "hooks : { h : { sources = [ \"b\" ]; shell = \"x\"; }; };\n";
    char *joined = mem_printf(CLUSTER "watches : { " AS("a") AS("b") " };\n%s", hook);
    char *split =
        mem_printf(CLUSTER "watches : { " AS("a") AS_WITH("b", "audit = \"1h\";") " };\n%s", hook);
    char *alone = mem_printf(CLUSTER "watches : { " AS("b") " };\n%s", hook);
    char *kept = mem_printf(CLUSTER "watches : { " AS("a") AS("c") AS("b") " };\n%s", hook);

    (void)state;
    expect(joined, split,
           "watch b replace audit (shared the connections of watch a so far)\n"
           "hook h replace (watch b is replaced) -> changes\n");
    expect(split, joined,
           "watch b replace audit = a (shares the connections of watch a now)\n"
           "hook h replace (watch b is replaced) -> changes\n");
    expect(joined, alone,
           "watch b replace (shared the connections of watch a so far)\nwatch a drop\n"
           "hook h replace (watch b is replaced) -> changes\n");
    expect(joined, kept, "watch c add = a\n");
    free(joined);
    free(split);
    free(alone);
    free(kept);
}

/* ---- Views */

#define SERVICES "s : { resource = \"services\"; };"
#define SLICES   "e : { resource = \"endpointslices\"; };"
#define VIEW(settings)                                                                          \
    "views : { v : { type = \"service_endpoints\"; services = \"s\"; slices = \"e\"; " settings \
    " }; };\nhooks : { h : { sources = [ \"v\" ]; shell = \"x\"; }; };\n"
#define WITH_VIEW(watches, settings) CLUSTER "watches : { " watches " };\n" VIEW(settings)

static void test_views_come_change_and_go(void **state)
{
    static const char was[] = WITH_VIEW(SERVICES SLICES, "");

    (void)state;
    expect(was, was, "");
    expect(was, CLUSTER "watches : { " SERVICES SLICES " };", "view v drop\nhook h drop\n");
    expect(CLUSTER "watches : { " SERVICES SLICES " };", was,
           "view v add\nhook h add -> unhandled\n");
    expect(was, WITH_VIEW(SERVICES SLICES, "hold_empty = \"1h\";"),
           "view v replace hold_empty\nhook h replace (view v is replaced) -> changes\n");
    expect(was, WITH_VIEW(SERVICES "e : { resource = \"endpointslices\"; audit = \"1h\"; };", ""),
           "watch e change audit\n");
}

static void test_a_view_follows_its_watches(void **state)
{
    static const char was[] = WITH_VIEW(SERVICES SLICES, "");

    (void)state;
    expect(was, WITH_VIEW("s : { resource = \"services\"; persist = \"none\"; };" SLICES, ""),
           "watch s replace persist\nview v replace (watch s is replaced)\n"
           "hook h replace (view v is replaced) -> changes\n");
    expect(was,
           WITH_VIEW("e : { resource = \"endpointslices\"; persist = \"none\"; };" SERVICES, ""),
           "watch e replace persist\nview v replace (watch e is replaced)\n"
           "hook h replace (view v is replaced) -> changes\n");
    expect(was,
           WITH_VIEW("s : { resource = \"services\"; persist = \"none\"; };"
                     "e : { resource = \"endpointslices\"; persist = \"none\"; };",
                     ""),
           "watch s replace persist\nwatch e replace persist\n"
           "view v replace (watch s is replaced, watch e is replaced)\n"
           "hook h replace (view v is replaced) -> changes\n");
}

static void test_a_source_that_becomes_a_view(void **state)
{
    (void)state;
    expect(CLUSTER "watches : { " SERVICES SLICES " v : { resource = \"pods\"; }; };\n"
                   "hooks : { h : { sources = [ \"v\" ]; shell = \"x\"; }; };\n",
           WITH_VIEW(SERVICES SLICES, ""),
           "watch v drop\nview v add\nhook h replace (view v is added) -> changes\n");
}

/* ---- Hooks */

static void expect_hook(const char *was, const char *now, const char *expected)
{
    static const char before[] = CLUSTER "watches : { " PODS NODES " };\n";
    char *a = mem_printf("%shooks : { h : { sources = [ \"p\" ]; %s }; };", before, was);
    char *b = mem_printf("%shooks : { h : { sources = [ \"p\" ]; %s }; };", before, now);

    expect(a, b, expected);
    free(a);
    free(b);
}

static void test_hooks_come_change_and_go(void **state)
{
    static const char none[] = CLUSTER "watches : { " PODS " };\n";
    static const char one[] = CLUSTER "watches : { " PODS " };\n" HOOK("");

    (void)state;
    expect(none, one, "hook h add -> unhandled\n");
    expect(one, none, "hook h drop\n");
    expect_hook("shell = \"x\";", "shell = \"x\"; timeout = \"1s\"; retry : { attempts = 3; };",
                "hook h change timeout,retry.attempts\n");
    expect_hook("shell = \"x\";", "shell = \"y\";", "hook h replace shell -> all\n");
    expect_hook("shell = \"x\";", "shell = \"y\"; timeout = \"1s\";",
                "hook h replace shell,timeout -> all\n");
}

static void test_hooks_in_another_order_stay(void **state)
{
    static const char few[] = CLUSTER "watches : { " PODS " };\nhooks : {\n"
                                      "h : { sources = [ \"p\" ]; shell = \"x\"; };\n"
                                      "i : { sources = [ \"p\" ]; shell = \"y\"; }; };\n";
    static const char many[] = CLUSTER "watches : { " PODS " };\nhooks : {\n"
                                       "a : { sources = [ \"p\" ]; shell = \"z\"; };\n"
                                       "i : { sources = [ \"p\" ]; shell = \"y\"; };\n"
                                       "h : { sources = [ \"p\" ]; shell = \"x\"; }; };\n";

    (void)state;
    expect(few, many, "hook a add -> unhandled\n");
    expect(many, few, "hook a drop\n");
}

/* A hook that follows a replaced watch and has another program runs again for all objects. */
static void test_a_hook_follows_its_watches(void **state)
{
    static const char was[] = CLUSTER "watches : { " PODS " };\n" HOOK("");

    (void)state;
    expect(was, CLUSTER "watches : { " AS_WITH("p", "persist = \"none\";") " };\n" HOOK(""),
           "watch p replace persist\nhook h replace (watch p is replaced) -> changes\n");
    expect(was,
           CLUSTER "watches : { " AS_WITH("p", "persist = \"none\";") " };\n" HOOK("umask = "
                                                                                   "\"0077\";"),
           "watch p replace persist\nhook h replace umask (watch p is replaced) -> all\n");
    expect(was,
           CLUSTER
           "watches : { " AS_WITH("p", "persist = \"none\";") " };\n" HOOK("timeout = \"1s\";"),
           "watch p replace persist\nhook h replace timeout (watch p is replaced) -> changes\n");
    expect(was,
           CLUSTER "watches : { " PODS NODES
                   " };\nhooks : { h : { sources = [ \"p\", \"n\" ]; shell = \"x\"; }; };",
           "watch n add\nhook h replace sources (watch n is added) -> all\n");
}

static void test_a_restart_names_both_values(void **state)
{
    (void)state;
    expect(CLUSTER, "log = { max_lines = 200; };\n" CLUSTER,
           "restart log.max_lines: 10000 -> 200 at main.conf:1\n");
    expect(CLUSTER, "limits = { state = \"2MiB\"; };\n" CLUSTER,
           "restart limits.state: 1GiB -> 2MiB at main.conf:1\n");
    expect(CLUSTER, "log = { format = \"json\"; };\n" CLUSTER,
           "restart log.format: auto -> json at main.conf:1\n");
}

static void test_the_user_of_a_hook_is_what_counts(void **state)
{
    static const char restart[] = "restart user: a -> b at main.conf:1\n";
    static const char plain[] = CLUSTER "watches : { " PODS " };\n" HOOK("");
    static const char named[] = CLUSTER "watches : { " PODS " };\n" HOOK("user = \"a\";");
    char *a = mem_printf("user = \"a\";\n%s", plain);
    char *b = mem_printf("user = \"b\";\n%s", plain);
    char *a_named = mem_printf("user = \"a\";\n%s", named);
    char *b_named = mem_printf("user = \"b\";\n%s", named);
    char *replaces = mem_printf("hook h replace user -> all\n%s", restart);

    (void)state;
    expect(a, a_named, "");
    expect(a_named, a, "");
    expect(a_named, b_named, restart);
    expect(a, b_named, restart);
    expect(a, b, replaces);
    free(a);
    free(b);
    free(a_named);
    free(b_named);
    free(replaces);
}

/* ---- Settings at the top */

static void test_settings_that_need_a_restart(void **state)
{
    (void)state;
    expect("",
           "user = \"u\";\nstate_dir = \"none\";\ncontrol : { socket = \"/s\";\ngroup = \"g\"; };\n"
           "log : { format = \"json\"; };",
           "restart user: informerd -> u at main.conf:1\n"
           "restart state_dir: /var/lib/informerd -> none at main.conf:2\n"
           "restart log.format: auto -> json at main.conf:5\n"
           "restart control.socket: /run/informerd/control.sock -> /s at main.conf:3\n"
           "restart control.group:  -> g at main.conf:4\n");
    expect("state_dir = \"none\";", "", "restart state_dir: none -> /var/lib/informerd at -\n");
}

#define ON(name) "node_name = \"" name "\";\n"

/* The setting and the name of the machine are two ways to the same name. */
static void test_the_name_of_the_node_is_what_counts(void **state)
{
    (void)state;
    expect("", ON("found-out"), "");
    expect(ON("found-out"), "", "");
    expect(ON("n1"), "", "restart node_name: n1 -> found-out at -\n");
}

/* Watches and hooks that use the name go on with the one that they have: only a restart gives the node
 * another one. */
static void test_what_uses_the_name_of_the_node_is_kept(void **state)
{
    static const char *const texts[] = {
        ON("n1") WITH_VIEW(SERVICES SLICES
                           "u : { resource = \"pods\"; label_selector = \"x=${node_name}\"; };",
                           ""),
        ON("n1") CLUSTER "watches : { " PODS
                         " };\n" HOOK("environment : { A = \"${node_name}\"; };"),
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        char *now = reload_rig_replaced(texts[i], "n1", "n2");

        expect(texts[i], now, "restart node_name: n1 -> n2 at main.conf:1\n");
        free(now);
    }
}

static void test_settings_that_take_effect_at_once(void **state)
{
    (void)state;
    expect("", "include = [ ]; log : { level = \"debug\"; }; start_stale : { after = \"1s\"; };",
           "setting include\nsetting log.level\nsetting start_stale.after\n");
    expect("metrics : { listen = [ \"[::1]:1\" ]; };", "metrics : { page_keys = true; };",
           "setting metrics.listen\nsetting metrics.page_keys\n");
}

/* ---- For people */

static void expect_json(const char *was, const char *now, const char *expected)
{
    struct reload_rig a;
    struct reload_rig b;
    struct buf out = {0};

    reload_rig_load(&a, was);
    reload_rig_load(&b, now);
    struct reload_plan *p = reload_rig_plan(&a, &b);
    struct json_out j = json_out_to(&out);
    reload_plan_put(p, &j);
    assert_string_equal(buf_cstr(&out), expected);
    buf_free(&out);
    reload_plan_destroy(&p);
    reload_rig_unload(&a);
    reload_rig_unload(&b);
}

static void test_json(void **state)
{
    (void)state;
    expect_json("", "",
                "{\"clusters\":[],\"watches\":[],\"views\":[],\"hooks\":[],\"settings\":[],"
                "\"needs_restart\":[],\"compares_programs\":false}");
    expect_json(
        CLUSTER "watches : { " AS("p") AS("q") AS("r") " };\n" HOOK(""),
        "user = \"informerd2\"; log : { level = \"debug\"; };\n" CLUSTER
        "watches : { " AS_WITH("p", "keep = [ \"a\" ];")
            AS_WITH("q", "keep = [ \"a\" ];") " };\n" //
        HOOK("user = \"informerd\"; environment : { SECRET = \"hush\"; };"),
        "{\"clusters\":[{\"name\":\"c\",\"change\":\"keep\",\"settings\":[],\"because\":null}],"
        "\"watches\":[{\"name\":\"p\",\"change\":\"replace\",\"settings\":[\"keep\"],"
        "\"because\":null,\"same_as\":null},"
        "{\"name\":\"q\",\"change\":\"replace\",\"settings\":[\"keep\"],"
        "\"because\":null,\"same_as\":\"p\"},"
        "{\"name\":\"r\",\"change\":\"drop\",\"settings\":[],\"because\":null,\"same_as\":null}],"
        "\"views\":[],"
        "\"hooks\":[{\"name\":\"h\",\"change\":\"replace\",\"settings\":[\"environment\"],"
        "\"because\":\"watch p is replaced\",\"effect\":\"runs again for all objects\"}],"
        "\"settings\":[\"log.level\"],"
        "\"needs_restart\":[{\"setting\":\"user\",\"now\":\"informerd\",\"wanted\":\"informerd2\","
        "\"at\":\"main.conf:1\"}],\"compares_programs\":true}");
}

static void test_effects_in_words(void **state)
{
    static const struct {
        const char *was;
        const char *now;
        const char *effect;
    } all[] = {
        ROW("", HOOK(""), "runs for objects that it has not handled yet"),
        ROW(HOOK(""), HOOK(""), "no run"),
        ROW(HOOK(""), HOOK("timeout = \"1s\";"), "no run"),
        ROW(HOOK(""), HOOK("umask = \"0077\";"), "runs again for all objects"),
        ROW(HOOK(""), "limits : { object_size = \"1MiB\"; };\n" HOOK(""),
            "runs for objects that come or go"),
        ROW(HOOK(""), "", "no run"),
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        char *was = mem_printf(CLUSTER "watches : { " PODS " };\n%s", all[i].was);
        char *now = mem_printf(CLUSTER "watches : { " PODS " };\n%s", all[i].now);
        char *wanted = mem_printf("\"effect\":\"%s\"}]", all[i].effect);
        struct buf out = {0};
        struct reload_rig a;
        struct reload_rig b;

        reload_rig_load(&a, was);
        reload_rig_load(&b, now);
        struct reload_plan *p = reload_rig_plan(&a, &b);
        struct json_out j = json_out_to(&out);
        reload_plan_put(p, &j);
        assert_non_null(strstr(buf_cstr(&out), wanted));
        reload_plan_destroy(&p);
        reload_rig_unload(&a);
        reload_rig_unload(&b);
        buf_free(&out);
        free(was);
        free(now);
        free(wanted);
    }
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, temp_folder_enter, temp_folder_leave)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(test_nothing_changes),
        IN_FOLDER(test_clusters_come_change_and_go),
        IN_FOLDER(test_clusters_in_another_order_stay),
        IN_FOLDER(test_cluster_whose_files_changed),
        IN_FOLDER(test_the_user_of_the_daemon_may_own_credentials),
        IN_FOLDER(test_watches_come_change_and_go),
        IN_FOLDER(test_a_watch_goes_on_with_another_audit),
        IN_FOLDER(test_a_watch_that_moves_to_another_cluster_is_another_one),
        IN_FOLDER(test_a_watch_names_the_cluster_that_it_has),
        IN_FOLDER(test_settings_of_others_that_a_watch_uses),
        IN_FOLDER(test_names_of_one_watch),
        IN_FOLDER(test_hook_of_a_name_that_moved),
        IN_FOLDER(test_views_come_change_and_go),
        IN_FOLDER(test_a_view_follows_its_watches),
        IN_FOLDER(test_a_source_that_becomes_a_view),
        IN_FOLDER(test_hooks_come_change_and_go),
        IN_FOLDER(test_hooks_in_another_order_stay),
        IN_FOLDER(test_a_hook_follows_its_watches),
        IN_FOLDER(test_a_restart_names_both_values),
        IN_FOLDER(test_the_user_of_a_hook_is_what_counts),
        IN_FOLDER(test_settings_that_need_a_restart),
        IN_FOLDER(test_the_name_of_the_node_is_what_counts),
        IN_FOLDER(test_what_uses_the_name_of_the_node_is_kept),
        IN_FOLDER(test_settings_that_take_effect_at_once),
        IN_FOLDER(test_json),
        IN_FOLDER(test_effects_in_words),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
