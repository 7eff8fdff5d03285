/* SPDX-License-Identifier: Apache-2.0 */
/* A state that an earlier release has left, tests/data/old_state, is read whole and used, with the
 * configuration of that time. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "app/build.h"
#include "app/sources.h"
#include "base/log.h"
#include "base/mem.h"
#include "conf_files.h"
#include "io/loop.h"
#include "persist_rig.h"

#define OLD     TEST_DATA "/old_state/"
#define BOOT_ID "42a030a7-ff39-47de-b2ad-4df5cc3cf35a"
#define UID     "11111111-2222-4333-8444-555555555555"

/* The events before the kill: make.py beside the state. */
#define UID_WEB "00005eed-0000-0000-0000-000000000001"
#define UID_API "00005eed-0000-0000-0000-000000000002"
#define UID_OLD "00005eed-0000-0000-0000-000000000003"

enum { EACH, ENDS, CUT, SOME, STILL, ALL }; /* the hooks */

/* The next process after that one. */
struct rig {
    struct state_rig state;
    struct loop *loop;
    struct conf *conf;
    struct sources *sources;
    struct hooks hooks;
    struct persist_now now;
    struct persist *p;
};

static struct rig rig;

static void copy(const char *name)
{
    char *from = mem_printf(OLD "state/%s", name);
    char *to = mem_printf("%s/%s", rig.state.path, name);

    state_rig_copy_file(from, to);
    free(from);
    free(to);
}

/* The folder that the rig has made gets the files of the old process before it is opened. */
static void copy_state(void)
{
    state_rig_init(&rig.state);
    writer_destroy(&rig.state.writer);
    folder_close(&rig.state.folder);
    copy("state.db");
    copy("lock");
    assert_int_equal(folder_open(rig.state.path, &rig.state.folder, &rig.state.err), ERR_OK);
    rig.state.writer = writer_create(rig.state.folder, STATE_RIG_LIMIT);
}

static void on_progress(void *arg)
{
    (void)arg;
}

/* The configuration of that time, with one text in it replaced; NULL = as it was. */
static struct conf *read_conf(const char *from, const char *to)
{
    char text[8192];
    FILE *f = fopen(OLD "informerd.conf", "re");

    assert_non_null(f);
    text[fread(text, 1, sizeof(text) - 1, f)] = '\0';
    fclose(f);
    char *at = from != NULL ? strstr(text, from) : text;
    assert_non_null(at);
    char *edited = mem_printf("%.*s%s%s", (int)(at - text), text, from != NULL ? to : "",
                              at + (from != NULL ? strlen(from) : 0));
    conf_files_write("main.conf", edited);
    free(edited);
    return conf_files_read("main.conf");
}

static void build_graph(const char *from, const char *to)
{
    rig.conf = read_conf(from, to);
    rig.loop = loop_create();
    rig.sources = sources_create(&(struct sources_params){
        .loop = rig.loop, .conf = rig.conf, .node_name = "node-1", .on_progress = on_progress});
    hooks_init(&rig.hooks, 8, 1);
    for (size_t i = 0; i < rig.conf->n_hooks; i++) {
        struct hook_params p;

        assert_int_equal(build_hook(rig.conf, i, rig.sources, "node-1", &p, NULL), ERR_OK);
        hooks_add(&rig.hooks, &p);
        build_hook_fini(&p);
    }
    sources_subscribe(rig.sources, &hooks_subscriber, &rig.hooks);
}

static void begin(void)
{
    struct persist_params p = build_persist(rig.conf, rig.sources, &rig.hooks, "node-1");

    rig.p = persist_rig_create(&p, &rig.state, rig.now);
    build_persist_fini(&p);
}

static int set_up(void **state)
{
    conf_files_enter(state);
    memset(&rig, 0, sizeof(rig));
    log_set_level(LOG_LVL_ERROR);
    copy_state();
    build_graph(NULL, NULL);
    /* An hour later, in the same boot: the clock since the boot went on. */
    rig.now = (struct persist_now){.ms = 1000,
                                   .wall_ns = UINT64_C(1795410000000000000),
                                   .boot_ns = UINT64_C(1000000) * 3600 * 1000000,
                                   .boot_id = BOOT_ID};
    begin();
    return 0;
}

static void take_down(void)
{
    persist_destroy(&rig.p);
    sources_close(rig.sources);
    hooks_fini(&rig.hooks);
    sources_destroy(&rig.sources);
    loop_destroy(&rig.loop);
    conf_destroy(&rig.conf);
}

static int clean_up(void **state)
{
    take_down();
    state_rig_fini(&rig.state);
    return conf_files_leave(state);
}

/* The next process has another configuration. */
static void begin_with(const char *from, const char *to)
{
    take_down();
    batch_clear(&rig.state.batch);
    build_graph(from, to);
    begin();
}

static const struct watch *watch_named(const char *name)
{
    return sources_find(rig.sources, name).watch;
}

static struct object *service(const char *key, const char *uid, const char *rv)
{
    struct object *o = store_get(watch_store(watch_named("services")), str_c(key));

    assert_non_null(o);
    assert_true(str_is(object_uid(o), uid));
    assert_true(str_is(object_rv(o), rv));
    return o;
}

/* All rows of the state; the caller frees the text. */
static char *rows(void)
{
    enum loader_found found;
    char *all = state_rig_load(&rig.state, &found);

    assert_int_equal(found, LOADER_STATE);
    return all;
}

/* Scope 4 is the one of the EndpointSlices, whose watch has persist = "digest". A process knows no
 * more of these objects than key and uid until they are listed, so it cannot put their rows again.
 * Takes rows() and frees them; the caller frees the rows without those. */
static char *without_digests(char *all)
{
    static const char digest[] = "object 4 ";
    struct buf out = {0};
    size_t digests = 0;

    for (char *line = strtok(all, "\n"); line != NULL; line = strtok(NULL, "\n"))
        if (strncmp(line, digest, strlen(digest)) != 0)
            buf_printf(&out, "%s\n", line);
        else
            digests++;
    assert_int_equal(digests, 2);
    free(all);
    (void)buf_cstr(&out);
    return out.data;
}

/* Does the row of a fact have something that this release adds: the digest of the settings that renew a
 * hook, or the cluster of a source? Releases before noted the cluster of watches only. */
static bool is_added(const char *row)
{
    bool of_watch = false;
    char watch[64];

    for (size_t i = 0; i < rig.p->watch_count; i++) {
        (void)snprintf(watch, sizeof(watch), "fact %" PRIu64 " ", rig.p->watches[i]->item);
        of_watch = of_watch || strncmp(row, watch, strlen(watch)) == 0;
    }
    return strstr(row, " renewing ") != NULL || (strstr(row, " cluster [] ") != NULL && !of_watch);
}

/* How many facts this release adds. */
static size_t added(void)
{
    size_t n = rig.hooks.n;

    for (size_t i = 0; i < rig.hooks.n; i++)
        n += rig.hooks.v[i]->source_count;
    return n;
}

/* Takes rows() and frees them; the caller frees the rows without those that this release adds, of which
 * there are n. */
static char *without_added(char *all, size_t n)
{
    struct buf out = {0};
    size_t found = 0;

    for (char *line = strtok(all, "\n"); line != NULL; line = strtok(NULL, "\n"))
        if (!is_added(line))
            buf_printf(&out, "%s\n", line);
        else
            found++;
    assert_int_equal(found, n);
    free(all);
    (void)buf_cstr(&out);
    return out.data;
}

static void test_all_rows_are_the_same_when_they_are_put_again(void **state)
{
    (void)state;
    char *before = without_digests(rows());
    batch_clear(&rig.state.batch); /* the rows that the start has put */
    batch_reset(&rig.state.batch);
    persist_lost(rig.p, rig.now, &rig.state.batch);
    (void)persist_put_hooks(rig.p, &rig.state.batch);
    state_rig_apply(&rig.state);
    char *after = without_added(without_digests(rows()), added());
    assert_string_equal(after, before);
    assert_non_null(strstr(before, "mark 8 shop/old " UID_OLD));
    free(before);
    free(after);
}

static void test_a_start_changes_no_row(void **state)
{
    (void)state;
    char *before = without_added(rows(), 0);
    (void)persist_put_hooks(rig.p, &rig.state.batch);
    state_rig_apply(&rig.state);
    char *after = without_added(rows(), added());
    assert_string_equal(after, before);
    free(before);
    free(after);
}

static void test_objects_come_back_with_their_versions(void **state)
{
    const struct persist_watch *services = rig.p->watches[0];

    (void)state;
    assert_int_equal(rig.p->watch_count, 2);
    assert_int_equal(services->state, PERSIST_WATCH_LOADED);
    assert_int_equal(store_count(watch_store(services->watch)), 2);
    assert_false(object_is_bare(service("shop/web", UID_WEB, "2")));
    assert_false(object_is_bare(service("shop/api", UID_API, "8")));
    assert_int_equal(watch_resume_contact_ns(services->watch), UINT64_C(1795404292042470184));
    /* The settings have the same digest as then, so the watch goes on without a list. */
    struct list_watch_action a = list_watch_start(watch_list_watch(services->watch, 0), 1000);
    assert_int_equal(a.what, LW_WATCH);
    assert_non_null(strstr(a.target, "resourceVersion=8"));
    /* persist = "digest" */
    assert_int_equal(store_count(watch_store(watch_named("slices"))), 2);
    assert_int_equal(watch_resume_left(watch_named("slices"), 0), RESUME_PARTIAL);
}

static enum persist_verdict answers(const char *uid)
{
    struct cluster_identity id = {0};
    struct err err;

    snprintf(id.uid, sizeof(id.uid), "%s", uid);
    return persist_judge(rig.p, 0, &id, rig.now, &rig.state.batch, &err);
}

static void test_the_cluster_is_recognised(void **state)
{
    (void)state;
    assert_int_equal(rig.p->clusters[0].state, PERSIST_CLUSTER_WAITING);
    assert_string_equal(rig.p->clusters[0].id.uid, UID);
    assert_int_equal(answers(UID), PERSIST_VERDICT_GOOD);
    assert_int_equal(rig.p->watches[0]->state, PERSIST_WATCH_SHOWN);
    assert_int_equal(store_count(watch_store(watch_named("services"))), 2);
}

static size_t backends(void)
{
    return store_count(view_store(sources_find(rig.sources, "backends").view));
}

static void commit(void)
{
    (void)persist_put_hooks(rig.p, &rig.state.batch);
    state_rig_apply(&rig.state);
}

/* No hook keeps anything of the objects, those of views neither. */
static void expect_forgotten(void)
{
    static const char *const words[] = {"object", "mark", "seen", "version", UID};

    commit();
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        assert_false(state_rig_has(&rig.state, words[i]));
    assert_int_equal(backends(), 0);
}

static void test_another_cluster_takes_everything_with_it(void **state)
{
    (void)state;
    assert_int_equal(answers("other"), PERSIST_VERDICT_GOOD);
    expect_forgotten();
}

static void test_a_cluster_that_is_accepted_takes_everything_with_it(void **state)
{
    (void)state;
    assert_int_equal(backends(), 0);
    assert_int_equal(answers(UID), PERSIST_VERDICT_GOOD);
    assert_int_equal(backends(), 2);
    assert_int_equal(answers("other"), PERSIST_VERDICT_HELD);
    assert_int_equal(backends(), 2);
    persist_accept(rig.p, 0, &rig.state.batch);
    expect_forgotten();
}

static void test_a_new_equal_watch_before_it_leaves_the_rows_where_they_are(void **state)
{
    (void)state;
    begin_with("watches : {\n", "watches : {\n  first : { resource = \"services\"; "
                                "namespaces = [ \"*\" ]; label_selector = \"app\"; };\n");
    assert_int_equal(rig.p->watch_count, 2);
    assert_string_equal(rig.p->watches[0]->name, "services");
    assert_int_equal(store_count(watch_store(watch_named("first"))), 2);
}

static void test_files_of_a_hook_that_is_not_configured_are_named(void **state)
{
    (void)state;
    assert_int_equal(rig.p->gone.n, 0);
    begin_with("  each : {",
               "  other : { sources = [ \"services\" ]; shell = \"x\"; };\n  none : {");
    assert_int_equal(rig.p->gone.n, 1);
    assert_string_equal(rig.p->gone.v[0]->name, "each");
    assert_int_equal(rig.p->gone.v[0]->files.left, 2);
}

/* Hook "each" is not configured for eight days. */
static void test_files_are_known_longer_than_deliveries(void **state)
{
    static const char without[] =
        "  other : { sources = [ \"services\" ]; shell = \"x\"; };\n  none : {";

    (void)state;
    commit();
    begin_with("  each : {", without);
    commit();
    assert_true(state_rig_has(&rig.state, "mark 6 shop/web"));
    rig.now.wall_ns += UINT64_C(8) * 24 * 3600 * 1000000000;
    begin_with("  each : {", without);
    commit();
    assert_int_equal(rig.p->gone.v[0]->files.left, 2);
    assert_false(state_rig_has(&rig.state, "mark 6 shop/web"));
    begin_with(NULL, NULL);
    assert_int_equal(rig.p->gone.n, 2); /* "other" and "none" */
    /* Whether their objects still exist is not known. */
    assert_int_equal(rig.hooks.v[EACH]->strays.waiting, 2);
    assert_null(rig.hooks.v[EACH]->renew_why);
}

/* A configuration that was lost for a moment. */
static void test_a_hook_that_comes_back_goes_on(void **state)
{
    (void)state;
    commit();
    begin_with("  each : {",
               "  other : { sources = [ \"services\" ]; shell = \"x\"; };\n  none : {");
    commit();
    begin_with(NULL, NULL);
    assert_null(rig.hooks.v[EACH]->renew_why);
    assert_int_equal(rig.hooks.v[EACH]->strays.waiting, 0);
    assert_true(files_is_written(&rig.hooks.v[EACH]->files,
                                 str_c("/var/tmp/informerd-old/out/shop-web.conf")));
}

/* The slices are of persist = "digest". */
static void test_a_view_keeps_no_more_than_the_stricter_of_its_watches(void **state)
{
    const struct persist_source *sources = rig.p->hooks[SOME].sources;

    (void)state;
    assert_int_equal(sources[0].bytes, PERSIST_FULL);
    assert_int_equal(sources[1].bytes, PERSIST_DIGEST);
}

static void test_files_and_pauses_come_back(void **state)
{
    static const struct {
        size_t hook;
        const char *path;
    } files[] = {
        {EACH, "/var/tmp/informerd-old/out/shop-web.conf"},
        {EACH, "/var/tmp/informerd-old/out/shop-api.conf"},
        {ALL,  "/var/tmp/informerd-old/out/all"          },
    };

    (void)state;
    for (size_t i = 0; i < rig.hooks.n; i++)
        assert_int_equal(rig.hooks.v[i]->paused, i == STILL);
    for (size_t i = 0; i < ARRAY_LEN(files); i++)
        assert_true(files_is_written(&rig.hooks.v[files[i].hook]->files, str_c(files[i].path)));
}

/* A change of the timeout renews nothing, once this release has seen the settings of that time. */
static void test_a_timeout_that_is_edited_after_the_upgrade_renews_nothing(void **state)
{
    (void)state;
    commit();
    begin_with("timeout = \"1h\"", "timeout = \"2h\"");
    assert_null(rig.hooks.v[CUT]->renew_why);
    commit();
    begin_with("shell = \"test $INFORMERD_EVENT != MODIFIED", "shell = \"true; test x != x");
    assert_non_null(rig.hooks.v[CUT]->renew_why);
}

/* The hooks of the Services run from the saved state, so the watch is not listed. */
static void test_a_hook_gets_only_what_it_has_not_handled(void **state)
{
    struct run *run;

    (void)state;
    assert_false(persist_tick(rig.p, 0, rig.now));
    assert_true(watch_synced(watch_named("services")));
    run = hooks_next(&rig.hooks, rig.now.ms);
    assert_non_null(run);
    assert_int_equal(run->hook->index, ENDS);
    assert_int_equal(run->events[0].ev.type, DELTA_DELETED);
    assert_true(str_is(object_uid(run->events[0].ev.object), UID_OLD));
    assert_false(object_is_bare(run->events[0].ev.object));
    run = hooks_next(&rig.hooks, rig.now.ms);
    assert_non_null(run);
    assert_int_equal(run->hook->index, CUT);
    assert_int_equal(run->events[0].ev.type, DELTA_MODIFIED);
    assert_true(str_is(object_uid(run->events[0].ev.object), UID_API));
    assert_null(hooks_next(&rig.hooks, rig.now.ms));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, clean_up)
    const struct CMUnitTest tests[] = {
        TEST(test_all_rows_are_the_same_when_they_are_put_again),
        TEST(test_a_start_changes_no_row),
        TEST(test_objects_come_back_with_their_versions),
        TEST(test_the_cluster_is_recognised),
        TEST(test_another_cluster_takes_everything_with_it),
        TEST(test_a_cluster_that_is_accepted_takes_everything_with_it),
        TEST(test_a_new_equal_watch_before_it_leaves_the_rows_where_they_are),
        TEST(test_files_of_a_hook_that_is_not_configured_are_named),
        TEST(test_files_are_known_longer_than_deliveries),
        TEST(test_a_hook_that_comes_back_goes_on),
        TEST(test_a_view_keeps_no_more_than_the_stricter_of_its_watches),
        TEST(test_files_and_pauses_come_back),
        TEST(test_a_timeout_that_is_edited_after_the_upgrade_renews_nothing),
        TEST(test_a_hook_gets_only_what_it_has_not_handled),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
