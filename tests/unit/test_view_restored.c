/* SPDX-License-Identifier: Apache-2.0 */
/* cache/view: it shows the objects that its watches had in an earlier process before the watches
 * are followed (docs/design.md "Missed deletes", "Views"). */

#include <string.h>

#include "base/log.h"
#include "cache/view.h"
#include "view_rig.h"

#define PORTS      "\"ports\":[{\"name\":\"http\",\"port\":80}]"
#define SLICE_OF_A SLICE(OF("a"), "IPv4", ENDPOINT("10.0.0.1", READY), PORT("http", "8080"))

static struct view_rig_watches watches;
static struct view *view;
static struct now now;
static struct buf said;

static void on_delta(void *arg, struct source from, const struct delta *d)
{
    (void)arg;
    buf_printf(&said, "%c%.*s%s(%s) ", "+~-x"[d->type], STR_ARG(object_key(d->object)),
               view_synced(from.view) ? "" : "!", delta_cause_name(d->cause));
}

static void on_stale(void *arg, struct source from, bool stale, struct now at)
{
    (void)arg;
    (void)from;
    (void)at;
    buf_puts(&said, stale ? "stale " : "fresh ");
}

static void make_view(uint64_t hold_empty_ms)
{
    static const struct subscriber events = {.on_delta = on_delta, .on_stale = on_stale};

    view_destroy(&view);
    view = view_create(&(struct view_params){.name = "v",
                                             .services = watches.services,
                                             .slices = watches.slices,
                                             .node_name = "n1",
                                             .hold_empty_ms = hold_empty_ms});
    view_subscribe(view, &events, NULL);
}

static int set_up(void **state)
{
    (void)state;
    now = (struct now){1000000, 7};
    watches = view_rig_watches(NULL, NULL);
    make_view(0);
    return 0;
}

static int clean_up(void **state)
{
    (void)state;
    view_destroy(&view);
    view_rig_watches_fini(&watches);
    buf_free(&said);
    return 0;
}

static void says(const char *want)
{
    watch_tick(watches.services, now);
    watch_tick(watches.slices, now);
    view_tick(view, now);
    assert_string_equal(buf_cstr(&said), want);
    buf_clear(&said);
}

static void restores(const char *want)
{
    view_restored(view, now);
    assert_string_equal(buf_cstr(&said), want);
    buf_clear(&said);
}

static void shows(const char *part)
{
    struct buf json = {0};

    object_put_json(&json, store_get(view_store(view), str_c("s/a")));
    if (strstr(buf_cstr(&json), part) == NULL)
        fail_msg("%s is not in %s", part, buf_cstr(&json));
    buf_free(&json);
}

/* The watch had the object in the earlier process; the view gets it. */
static void left(struct watch *w, struct object *o)
{
    watch_load(w, o);
    watch_resume(w, 0, &(struct resume_point){.kind = RESUME_WHOLE, .rv = "10"});
    watch_restore(w, now);
    object_unref(&o);
}

static void left_both(void)
{
    left(watches.services, view_rig_service("s/a", "ua", "3", PORTS));
    left(watches.slices, view_rig_slice("s/x", "3", SLICE_OF_A));
}

static void goes_on(struct watch *w)
{
    assert_int_equal(list_watch_start(watch_list_watch(w, 0), now.ms).what, LW_WATCH);
    list_watch_head(watch_list_watch(w, 0), &(struct http_head){.status = 200, .retry_after_s = -1},
                    now.ms);
}

static void caught_up(struct watch *w)
{
    assert_false(list_watch_overdue(watch_list_watch(w, 0), now.ms));
    assert_true(watch_settled(w));
}

/* The watch gets DELETED of an object, with its last state. */
static void ends(struct watch *w, struct object *last)
{
    struct buf event = {0};

    buf_puts(&event, "{\"type\":\"DELETED\",\"object\":");
    object_put_json(&event, last);
    buf_puts(&event, "}\n");
    assert_true(list_watch_body(watch_list_watch(w, 0), event.data, event.len, now));
    buf_free(&event);
    object_unref(&last);
}

static void test_restored_objects_are_shown_before_the_watches_are_followed(void **state)
{
    (void)state;
    left_both();
    restores("+s/a!(restart) ");
    restores("");
    shows("10.0.0.1");
    assert_false(view_synced(view));
    goes_on(watches.services);
    goes_on(watches.slices);
    ends(watches.services, view_rig_service("s/a", "ua", "4", PORTS));
    says("");
    now.ms += 500;
    caught_up(watches.services);
    caught_up(watches.slices);
    says("-s/a!(watch) ");
    assert_true(view_synced(view));
}

static void test_restored_objects_can_be_held(void **state)
{
    (void)state;
    make_view(5000);
    left_both();
    restores("+s/a!(restart) ");
    goes_on(watches.services);
    goes_on(watches.slices);
    ends(watches.slices, view_rig_slice("s/x", "4", SLICE_OF_A));
    now.ms += 500;
    caught_up(watches.services);
    caught_up(watches.slices);
    says("~s/a!(watch) ");
    shows("\"held\":true");
    shows("10.0.0.1");
}

static void test_of_a_name_alone_nothing_is_made(void **state)
{
    const struct object_parts a = {.ns = str_c("s"),
                                   .name = str_c("a"),
                                   .uid = str_c("u"),
                                   .rv_at = SIZE_MAX,
                                   .generation_at = SIZE_MAX};

    (void)state;
    left(watches.services, object_create(&a));
    left(watches.slices, object_create(&a));
    restores("");
    assert_int_equal(store_count(view_store(view)), 0);
}

static void test_a_view_may_begin_stale(void **state)
{
    (void)state;
    left_both();
    assert_true(watch_begin_stale(watches.services, now, 0));
    says("");
    assert_true(watch_begin_stale(watches.slices, now, 0));
    says("+s/a!(restart) stale ");
    assert_true(view_synced(view));
    goes_on(watches.services);
    goes_on(watches.slices);
    now.ms += 500;
    caught_up(watches.services);
    says("");
    caught_up(watches.slices);
    says("fresh ");
}

/* Another cluster was identified, so view_restored() is called for every view, while a watch of
 * this view is listed anew. */
static void test_a_synced_view_shows_nothing_of_half_a_list(void **state)
{
    (void)state;
    left_both();
    restores("+s/a!(restart) ");
    goes_on(watches.services);
    goes_on(watches.slices);
    now.ms += 500;
    caught_up(watches.services);
    caught_up(watches.slices);
    says("");
    assert_true(view_synced(view));
    watch_relist(watches.slices, RELIST_MANUAL);
    list_watch_restart(watch_list_watch(watches.slices, 0), now);
    ends(watches.services, view_rig_service("s/a", "ua", "4", PORTS));
    says("");
    restores("");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, clean_up)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_restored_objects_are_shown_before_the_watches_are_followed),
        TEST(test_restored_objects_can_be_held),
        TEST(test_of_a_name_alone_nothing_is_made),
        TEST(test_a_view_may_begin_stale),
        TEST(test_a_synced_view_shows_nothing_of_half_a_list),
    };

    log_set_level(LOG_LVL_ERROR);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
