/* SPDX-License-Identifier: Apache-2.0 */
/* persist/watch: the rows of a watch on disk, and how the next process uses them. */
#include "persist/watch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "objects.h"
#include "persist/row.h"
#include "state_rig.h"

enum { FILE_BYTES = 1 << 20 };

/* The processes of a test, one after the other. */
struct rig {
    struct state_rig state;
    struct restore restore;
    struct ids *ids;
    const char *namespaces[2];
    const char *cluster;
    const char *labels; /* NULL = all objects */
    struct persist_watch_params params;
    struct list dirty;
    struct watch *w;
    struct persist_watch mw;
    struct persist_now now;
    bool lives;
};

static struct rig rig;

static void on_delta(void *arg, struct source from, const struct delta *d)
{
    struct rig *r = arg;

    (void)from;
    persist_watch_delta(&r->mw, d, &r->state.batch);
}

static void on_skipped(void *arg, struct source from, const struct skip *s, bool gone)
{
    struct rig *r = arg;

    (void)from;
    persist_watch_skipped(&r->mw, s, gone, &r->state.batch);
}

static void make_watch(void)
{
    static const struct subscriber events = {.on_delta = on_delta, .on_skipped = on_skipped};
    struct watch_params p = objects_watch_params();

    p.cluster = rig.cluster;
    p.label_selector = rig.labels != NULL ? rig.labels : "";
    p.namespaces = rig.namespaces;
    p.namespace_count = rig.namespaces[1] != NULL ? 2 : 1;
    assert_int_equal(watch_create(&p, &rig.w, NULL), ERR_OK);
    watch_subscribe(rig.w, &events, &rig);
}

/* Like a kill: the batch is lost. */
static void die(void)
{
    if (!rig.lives)
        return;
    rig.lives = false;
    batch_clear(&rig.state.batch);
    persist_watch_fini(&rig.mw);
    watch_destroy(&rig.w);
    ids_destroy(&rig.ids);
}

static void commit(void)
{
    state_rig_apply(&rig.state);
}

/* The next process begins. */
static void begin(void)
{
    struct err err;

    die();
    make_watch();
    (void)restore_read(&rig.restore, rig.state.folder, &err);
    rig.ids = rig.restore.ids;
    rig.params.watch = rig.w;
    persist_watch_load(&rig.mw, &rig.params, &rig.dirty, &rig.restore, &rig.state.batch);
    ids_sweep(rig.ids, &rig.state.batch, 1, 1000);
    rig.restore.ids = NULL;
    restore_fini(&rig.restore);
    rig.lives = true;
    commit();
}

static int set_up(void **state)
{
    (void)state;
    memset(&rig, 0, sizeof(rig));
    state_rig_init(&rig.state);
    rig.namespaces[0] = "*";
    list_init(&rig.dirty);
    rig.params.settings = (struct digest){.hi = 1, .lo = 1};
    rig.params.name = "w";
    rig.cluster = "c";
    rig.now = (struct persist_now){.ms = 5000, .wall_ns = UINT64_C(900000000000)};
    return 0;
}

static int clean_up(void **state)
{
    (void)state;
    die();
    state_rig_fini(&rig.state);
    return 0;
}

/* The scope is listed: ns/a with uid u1, ns/b with u2, or these items. */
static void lists(const char *items, const char *rv)
{
    objects_sync(rig.w, items, rv, (struct now){.ms = 4000, .wall_ns = 1});
}

static void lists_two(void)
{
    struct buf items = {0};

    objects_put_item(&items, "ns/a", "u1", "3", "\"a\":1");
    buf_puts(&items, ",");
    objects_put_item(&items, "ns/b", "u2", "4", "\"b\":2");
    lists(buf_cstr(&items), "7");
    buf_free(&items);
}

static void puts_version(void)
{
    for (size_t i = 0; i < watch_list_watch_count(rig.w); i++)
        persist_watch_put_scope(&rig.mw.scopes[i], rig.now, &rig.state.batch);
}

/* Is this in the rows on disk? */
static bool has(const char *part)
{
    return state_rig_has(&rig.state, part);
}

/* The watch has listed two objects, and they are on disk with their version. */
static void keeps_two(void)
{
    lists_two();
    puts_version();
    commit();
}

/* Are these bytes anywhere in the file, even in a page that is not used any more? */
static bool file_holds(const char *part)
{
    char *data = mem_alloc(FILE_BYTES);

    writer_close(rig.state.writer); /* the log goes into the file */
    FILE *f = fopen(rig.state.folder->db, "re");
    assert_non_null(f);
    size_t n = fread(data, 1, FILE_BYTES, f);
    assert_true(n > 0 && n < FILE_BYTES);
    fclose(f);
    bool holds = memmem(data, n, part, strlen(part)) != NULL;
    free(data);
    return holds;
}

static size_t objects(void)
{
    return store_count(watch_store(rig.w));
}

#define SETTINGS_1 "00000000000000010000000000000001"

static void test_a_listed_watch_is_resumed(void **state)
{
    (void)state;
    begin();
    assert_int_equal(rig.mw.state, PERSIST_WATCH_EMPTY);
    keeps_two();
    assert_true(has("fact 2 version [] " SETTINGS_1 "\n7\n"));
    assert_true(has("fact 2 contact [] 899000000000\n")); /* 1 s ago, on disk from the start */
    assert_true(has("fact 1 cluster [] c\n"));
    begin();
    assert_int_equal(rig.mw.state, PERSIST_WATCH_LOADED);
    assert_int_equal(objects(), 2);
    assert_int_equal(watch_resume_point(rig.w, 0), RESUME_WHOLE);
    assert_string_equal(rig.mw.was_of, "c");
    assert_int_equal(watch_resume_contact_ns(rig.w), UINT64_C(899000000000));
    puts_version();
    assert_int_equal(rig.state.batch.count, 0); /* no row is put again */
}

/* Both ends of an object: it is gone, or the watch does not select it any more. */
static void test_the_row_of_an_object_goes_with_it(void **state)
{
    static const enum delta_type ends[] = {DELTA_DELETED, DELTA_LEFT};
    static const char *const keys[] = {"ns/a", "ns/b"};

    (void)state;
    begin();
    keeps_two();
    for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
        struct object *o = objects_make(keys[i], "u1", "8", NULL);

        assert_true(has(keys[i]));
        persist_watch_delta(&rig.mw, &(struct delta){.type = ends[i], .object = o},
                            &rig.state.batch);
        commit();
        assert_false(has(keys[i]));
        object_unref(&o);
    }
}

static void test_a_list_that_was_cut_off_is_restored_as_partial(void **state)
{
    (void)state;
    begin();
    lists_two();
    commit(); /* without its version */
    begin();
    assert_int_equal(objects(), 2);
    assert_int_equal(watch_resume_point(rig.w, 0), RESUME_PARTIAL);
    assert_false(watch_begin_stale(rig.w, (struct now){1, 1}, 0));
}

static void edited_until_it_is_listed(struct digest settings, enum resume_kind kind)
{
    begin();
    keeps_two();
    rig.params.settings = settings;
    for (int i = 0; i < 2; i++) { /* a process that is killed before the list changes nothing */
        begin();
        assert_int_equal(objects(), 2);
        assert_int_equal(watch_resume_point(rig.w, 0), kind);
        puts_version();
        commit();
        assert_true(has("version [] " SETTINGS_1 "\n\n\n"));
    }
    keeps_two();
    begin();
    assert_int_equal(watch_resume_point(rig.w, 0), RESUME_WHOLE);
}

static void test_a_watch_with_other_settings_is_edited_until_it_is_listed(void **state)
{
    (void)state;
    edited_until_it_is_listed((struct digest){.hi = 2, .lo = 2}, RESUME_EDITED);
}

static void test_a_watch_with_another_shape_is_reshaped_until_it_is_listed(void **state)
{
    (void)state;
    edited_until_it_is_listed((struct digest){.hi = 1, .lo = 2}, RESUME_RESHAPED);
}

static void take_namespaces(const char *a, const char *b)
{
    rig.namespaces[0] = a;
    rig.namespaces[1] = b;
}

/* Namespaces x and y, a list of each; the list of y was cut off, then y is not wanted any more: its
 * rows must not come back again and again. */
static void test_rows_of_a_scope_that_is_gone_move_to_the_others(void **state)
{
    (void)state;
    take_namespaces("y", NULL);
    begin();
    struct buf items = {0};
    objects_put_item(&items, "y/a", "u1", "3", "\"a\":1");
    lists(buf_cstr(&items), "7");
    buf_free(&items);
    commit(); /* without its version, so without its settings */
    take_namespaces("x", NULL);
    rig.params.settings.lo = 2;
    begin();
    assert_int_equal(objects(), 1);
    assert_int_equal(watch_resume_point(rig.w, 0), RESUME_PARTIAL);
    lists("", "9"); /* the object does not exist */
    puts_version();
    commit();
    assert_int_equal(objects(), 0);
    begin();
    assert_int_equal(objects(), 0);
    assert_int_equal(watch_resume_point(rig.w, 0), RESUME_WHOLE);
}

static void test_a_watch_that_is_not_persisted_any_more_leaves_the_disk(void **state)
{
    (void)state;
    begin();
    keeps_two();
    assert_true(has("{\"kind\":\"ConfigMap\""));
    assert_true(file_holds("\"data\":{"));
    rig.params.bytes = PERSIST_DIGEST;
    begin();
    assert_int_equal(objects(), 2);
    assert_false(has("{\"kind\""));
    assert_false(file_holds("\"data\":{"));
    assert_true(has("object 2 ns/a u1"));
    assert_int_equal(watch_resume_point(rig.w, 0), RESUME_WHOLE); /* this process had the bytes */
    begin();
    assert_int_equal(objects(), 2);
    assert_int_equal(watch_resume_point(rig.w, 0), RESUME_PARTIAL);
    rig.params.bytes = PERSIST_NONE;
    begin();
    assert_int_equal(objects(), 0);
    assert_false(has("object"));
    assert_false(has("version"));
    lists_two();
    puts_version();
    assert_int_equal(rig.state.batch.count, 0);
    rig.params.bytes = PERSIST_FULL;
    begin();
    assert_int_equal(rig.mw.state, PERSIST_WATCH_EMPTY);
    keeps_two();
    assert_true(has("{\"kind\":\"ConfigMap\""));
}

static void test_a_cluster_with_a_new_name_is_noted(void **state)
{
    (void)state;
    begin();
    keeps_two();
    rig.cluster = "live";
    rig.params.settings.lo = 2; /* so that the watch is listed */
    begin();
    assert_string_equal(rig.mw.was_of, "c"); /* so that the identities are compared */
    assert_true(has("fact 1 cluster [] c\n"));
    persist_watch_put_all(&rig.mw, rig.now,
                          &rig.state.batch); /* the cluster has not been identified yet */
    commit();
    assert_true(has("fact 1 cluster [] c\n"));
    rig.mw.state = PERSIST_WATCH_SHOWN;
    lists("", "9");
    puts_version();
    commit();
    assert_true(has("fact 1 cluster [] live\n"));
}

static void knows(const char *key)
{
    persist_watch_know(&rig.mw, str_c(key), str_c("u9"));
}

/* The writer has dropped the rows of a scope that was too large. */
static void starve(void)
{
    batch_clear_scope(&rig.state.batch, 2);
    batch_drop_fact(&rig.state.batch, 2, ROW_VERSION, (struct str){0});
    commit();
}

static void test_an_object_with_no_more_than_a_delivery_record_is_bare(void **state)
{
    (void)state;
    begin();
    keeps_two();
    begin();
    knows("ns/c"); /* the rows are complete, and ns/c is not among them */
    assert_int_equal(objects(), 2);
    starve();
    rig.cluster = "live";
    begin();
    assert_int_equal(rig.mw.state, PERSIST_WATCH_EMPTY);
    assert_string_equal(rig.mw.was_of, "c"); /* the delivery records are of that cluster, too */
    knows("");
    assert_int_equal(rig.mw.state, PERSIST_WATCH_EMPTY);
    knows("ns/c");
    knows("ns/c");
    assert_int_equal(rig.mw.state, PERSIST_WATCH_LOADED);
    assert_int_equal(objects(), 1);
    assert_true(object_is_bare(store_get(watch_store(rig.w), str_c("ns/c"))));
    assert_int_equal(watch_resume_point(rig.w, 0), RESUME_PARTIAL);
}

/* The watch gets an event of an object with so many bytes of data. */
static void hears(const char *type, const char *key, const char *uid, const char *rv, int bytes)
{
    struct buf body = {0};
    char *data = mem_printf("\"x\":\"%0*d\"", bytes, 0);

    objects_put_event(&body, type, key, uid, rv, data);
    objects_answer(watch_list_watch(rig.w, 0), buf_cstr(&body), (struct now){4000, 1});
    buf_free(&body);
    free(data);
}

static void skips(const char *key, const char *uid, const char *rv)
{
    hears("MODIFIED", key, uid, rv, 5000);
}

/* The watch cannot use the state of the object, and goes on: the object has not ended. */
static void test_a_skipped_object_with_a_delivery_record_is_bare(void **state)
{
    (void)state;
    begin();
    lists_two();
    hears("ADDED", "ns/c", "u3", "8", 5000);
    puts_version();
    commit();
    begin();
    knows("ns/c");
    assert_int_equal(objects(), 3);
    assert_true(object_is_bare(store_get(watch_store(rig.w), str_c("ns/c"))));
    assert_int_equal(watch_resume_point(rig.w, 0), RESUME_WHOLE);
    knows("ns/d");
    assert_int_equal(objects(), 3);
}

static void test_another_clusters_rows_are_dropped(void **state)
{
    (void)state;
    begin();
    keeps_two();
    begin();
    persist_watch_forget(&rig.mw, &rig.state.batch);
    commit();
    assert_int_equal(objects(), 0);
    assert_false(has("object"));
    assert_false(has("version"));
    assert_false(has("contact"));
    assert_int_equal(watch_resume_point(rig.w, 0), RESUME_NONE);
    lists_two(); /* the same bytes, of another cluster */
    puts_version();
    commit();
    assert_true(has("object 2 ns/a"));
    assert_true(has("version [] " SETTINGS_1 "\n7\n"));
}

static uint64_t skipped(void)
{
    return skips_count(store_skips(watch_store(rig.w)));
}

static void test_skipped_objects_are_known_to_the_next_process(void **state)
{
    (void)state;
    begin();
    lists_two();
    skips("ns/a", "u1", "8");
    skips("n/b/c", "u9", "9"); /* no namespace and name */
    puts_version();
    commit();
    assert_true(has("skipped [ns/a] 1\nit is larger than limits.object_size\nns/a\n"));
    assert_true(has("\nn/b/c\n"));
    for (int i = 0; i < 2; i++) {
        begin();
        assert_int_equal(watch_resume_point(rig.w, 0), RESUME_WHOLE);
        assert_int_equal(objects(), 2);
        assert_int_equal(skipped(), 2);
    }
    list_watch_start(watch_list_watch(rig.w, 0), 4000);
    hears("DELETED", "n/b/c", "u9", "10", 5000);
    hears("MODIFIED", "ns/a", "u1", "11", 1);
    puts_version();
    commit();
    assert_false(has("skipped"));
    begin();
    assert_int_equal(skipped(), 0);
}

static void test_skipped_objects_go_with_their_watch(void **state)
{
    (void)state;
    begin();
    lists_two();
    skips("ns/a", "u1", "8");
    puts_version();
    commit();
    begin();
    persist_watch_forget(&rig.mw, &rig.state.batch);
    commit();
    assert_int_equal(skipped(), 0);
    assert_false(has("skipped"));
    lists_two();
    skips("ns/a", "u1", "8");
    puts_version();
    commit();
    assert_true(has("skipped [ns/a]"));
    rig.params.bytes = PERSIST_NONE;
    begin();
    assert_int_equal(skipped(), 0);
    assert_false(has("skipped"));
}

static void test_a_file_that_begins_anew_gets_all(void **state)
{
    enum loader_found found;

    (void)state;
    begin();
    lists_two();
    skips("ns/a", "u1", "8");
    puts_version();
    commit();
    for (int i = 0; i < 2; i++) { /* also before the watch has asked the server */
        char *before = state_rig_load(&rig.state, &found);
        batch_reset(&rig.state.batch);
        ids_put_all(rig.ids, &rig.state.batch);
        persist_watch_put_all(&rig.mw, rig.now, &rig.state.batch);
        commit();
        state_rig_expect(&rig.state, before);
        free(before);
        begin();
    }
}

static void test_a_contact_is_put_once_a_minute_and_at_the_end(void **state)
{
    (void)state;
    begin();
    keeps_two();
    persist_watch_sweep(&rig.mw, rig.now, false, &rig.state.batch);
    assert_int_equal(rig.state.batch.count, 0);
    list_watch_head(watch_list_watch(rig.w, 0),
                    &(struct http_head){.status = 200,
                                        .content_type = str_c("application/json"),
                                        .retry_after_s = -1},
                    30000);
    rig.now = (struct persist_now){.ms = 31000, .wall_ns = UINT64_C(926000000000)};
    persist_watch_sweep(&rig.mw, rig.now, false, &rig.state.batch);
    assert_int_equal(rig.state.batch.count, 0);
    persist_watch_sweep(&rig.mw, rig.now, true, &rig.state.batch);
    commit();
    assert_true(has("contact [] 925000000000\n"));
}

/* A reload puts another watch in the place of this one. */
static void replace(void)
{
    struct watch *old = rig.w;

    make_watch();
    watch_inherit(rig.w, old, (struct now){.ms = rig.now.ms, .wall_ns = rig.now.wall_ns});
    rig.params.watch = rig.w;
    persist_watch_replaced(&rig.mw, &rig.params, rig.ids, &rig.state.batch);
    watch_destroy(&old);
    puts_version();
}

static void test_a_reload_that_leaves_the_cache_as_it_is_puts_nothing(void **state)
{
    (void)state;
    begin();
    keeps_two();
    replace();
    assert_int_equal(rig.state.batch.count, 0);
    begin();
    assert_int_equal(objects(), 2);
    assert_int_equal(watch_resume_point(rig.w, 0), RESUME_WHOLE);
}

/* The process may die before the list has come that shows which objects the edit changes. */
static void test_a_reload_with_other_selectors_is_known_to_the_next_process(void **state)
{
    (void)state;
    begin();
    keeps_two();
    rig.labels = "app=x";
    rig.params.settings.hi = 2;
    replace();
    commit();
    assert_true(has("version [] " SETTINGS_1 "\n\n"));
    begin();
    assert_int_equal(objects(), 2);
    assert_int_equal(watch_resume_point(rig.w, 0), RESUME_EDITED);
}

/* The rows get another name while the list of an edit is still to come. */
static void test_an_edit_is_known_when_the_rows_get_another_name(void **state)
{
    (void)state;
    begin();
    keeps_two();
    rig.labels = "app=x";
    rig.params.settings.hi = 2;
    replace();
    rig.params.name = "x";
    replace();
    commit();
    begin();
    assert_int_equal(objects(), 2);
    assert_int_equal(watch_resume_point(rig.w, 0), RESUME_EDITED);
}

static void test_a_reload_that_keeps_nothing_drops_the_rows(void **state)
{
    (void)state;
    begin();
    keeps_two();
    rig.params.bytes = PERSIST_NONE;
    replace();
    commit();
    assert_false(has("ns/a"));
    assert_false(has("version"));
    assert_int_equal(objects(), 2);
    rig.params.bytes = PERSIST_FULL;
    replace();
    commit();
    assert_true(has("ns/a"));
    assert_true(has("version [] " SETTINGS_1 "\n7\n"));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, clean_up)
    const struct CMUnitTest tests[] = {
        TEST(test_a_listed_watch_is_resumed),
        TEST(test_the_row_of_an_object_goes_with_it),
        TEST(test_a_list_that_was_cut_off_is_restored_as_partial),
        TEST(test_a_watch_with_other_settings_is_edited_until_it_is_listed),
        TEST(test_a_watch_with_another_shape_is_reshaped_until_it_is_listed),
        TEST(test_rows_of_a_scope_that_is_gone_move_to_the_others),
        TEST(test_a_watch_that_is_not_persisted_any_more_leaves_the_disk),
        TEST(test_a_cluster_with_a_new_name_is_noted),
        TEST(test_an_object_with_no_more_than_a_delivery_record_is_bare),
        TEST(test_a_skipped_object_with_a_delivery_record_is_bare),
        TEST(test_another_clusters_rows_are_dropped),
        TEST(test_skipped_objects_are_known_to_the_next_process),
        TEST(test_skipped_objects_go_with_their_watch),
        TEST(test_a_file_that_begins_anew_gets_all),
        TEST(test_a_contact_is_put_once_a_minute_and_at_the_end),
        TEST(test_a_reload_that_leaves_the_cache_as_it_is_puts_nothing),
        TEST(test_a_reload_with_other_selectors_is_known_to_the_next_process),
        TEST(test_an_edit_is_known_when_the_rows_get_another_name),
        TEST(test_a_reload_that_keeps_nothing_drops_the_rows),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
