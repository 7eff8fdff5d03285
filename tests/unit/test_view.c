/* SPDX-License-Identifier: Apache-2.0 */
/* cache/view: when the objects of two watches are shown: synced, lists anew, held, stale. */
#include "identified.h"
#include "objects.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "cache/view.h"
#include "view_rig.h"

enum { STALE_AFTER = VIEW_RIG_STALE_AFTER };

#define SERVICE(name, more)                                                                     \
    "{\"metadata\":{\"namespace\":\"s\",\"name\":\"" name "\",\"uid\":\"u" name                 \
    "\",\"resourceVersion\":\"3\"},\"spec\":{\"ports\":[{\"name\":\"http\",\"port\":80}]}" more \
    "}"
#define SLICE_AT(name, service, address)                                                           \
    "{\"metadata\":{\"namespace\":\"s\",\"name\":\"" name "\",\"uid\":\"u" name                    \
    "\",\"resourceVersion\":\"" address "\",\"labels\":{\"kubernetes.io/service-name\":\"" service \
    "\"}},\"addressType\":\"IPv4\",\"endpoints\":[{\"addresses\":[\"10.0.0." address               \
    "\"]}],\"ports\":[{\"name\":\"http\",\"port\":8080}]}"

static struct view_rig_watches watches;
static struct view *view;
static struct now now;
static struct buf said;
static uint64_t due_ms; /* returned by the last view_tick() */

static void on_delta(void *arg, struct source from, const struct delta *d)
{
    assert_ptr_equal(arg, &said);
    assert_ptr_equal(from.view, view);
    buf_printf(&said, "%c%.*s%s ", "+~-x"[d->type], STR_ARG(object_key(d->object)),
               view_synced(from.view) ? "" : "!");
}

static void on_stale(void *arg, struct source from, bool stale, struct now at)
{
    assert_ptr_equal(arg, &said);
    assert_true(stale == view_stale(from.view));
    assert_int_equal(at.wall_ns, now.wall_ns);
    buf_puts(&said, stale ? "stale " : "fresh ");
}

static const struct subscriber view_events = {.on_delta = on_delta, .on_stale = on_stale};

static struct watch *make_watch(const char *name, const char *resource)
{
    return view_rig_watch(name, "c", resource, &(struct shape_params){0}, NULL, NULL);
}

static struct view_params params(void)
{
    return (struct view_params){
        .name = "v", .services = watches.services, .slices = watches.slices, .node_name = "n1"};
}

static void make_view_of(struct view_params p)
{
    assert_int_equal(view_check(&p, NULL), VIEW_SETTING_NONE);
    view = view_create(&p);
    view_subscribe(view, &view_events, &said);
    assert_string_equal(view_name(view), "v");
    assert_string_equal(view_cluster(view), "c");
}

static void make_view(void)
{
    make_view_of(params());
}

static int set_up(void **state)
{
    (void)state;
    now = (struct now){1000000, 7};
    watches = view_rig_watches(NULL, NULL);
    make_view();
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

/* The view reports these deltas now; a second tick must report no delta. */
static void says(const char *want)
{
    buf_clear(&said);
    watch_tick(watches.services, now);
    watch_tick(watches.slices, now);
    due_ms = view_tick(view, now);
    assert_string_equal(buf_cstr(&said), want);
    buf_clear(&said);
    view_tick(view, now);
    assert_string_equal(buf_cstr(&said), "");
    now.ms += 10;
    now.wall_ns++;
}

static const char *kind_of(const struct watch *w)
{
    const char *plural = watch_target(w)->plural;

    return strcmp(plural, "services") == 0         ? "Service"
           : strcmp(plural, "endpointslices") == 0 ? "EndpointSlice"
                                                   : "Endpoints";
}

static const char *api_version_of(const struct watch *w)
{
    return strcmp(watch_target(w)->plural, "endpointslices") == 0 ? "discovery.k8s.io/v1" : "v1";
}

/* The object of s/a. */
static void shows(const char *part)
{
    struct buf json = {0};

    object_put_json(&json, store_get(view_store(view), str_c("s/a")));
    if (strstr(buf_cstr(&json), part) == NULL)
        fail_msg("%s is not in %s", part, buf_cstr(&json));
    buf_free(&json);
}

/* The whole list of a watch. */
static void answer(struct watch *w, const char *items, const char *rv, enum list_watch_do next)
{
    struct list_watch *f = watch_list_watch(w, 0);
    char body[4096];

    snprintf(body, sizeof(body),
             "{\"kind\":\"%sList\",\"apiVersion\":\"%s\",\"metadata\":{\"resourceVersion\":\"%s\"},"
             "\"items\":[%s]}",
             kind_of(w), api_version_of(w), rv, items);
    assert_int_equal(objects_answer(f, body, now).what, next);
    if (next == LW_WATCH)
        list_watch_head(f, &(struct http_head){.status = 200, .retry_after_s = -1}, now.ms);
}

static void first_list(struct watch *w, const char *items)
{
    assert_int_equal(list_watch_start(watch_list_watch(w, 0), now.ms).what, LW_LIST);
    answer(w, items, "10", LW_WATCH);
}

static void list_anew(struct watch *w)
{
    watch_relist(w, RELIST_MANUAL);
    assert_int_equal(list_watch_restart(watch_list_watch(w, 0), now).what, LW_LIST);
}

static void event(struct watch *w, const char *type, const char *object)
{
    char body[4096];

    snprintf(body, sizeof(body),
             "{\"type\":\"%s\",\"object\":{\"kind\":\"%s\",\"apiVersion\":\"%s\",%s}\n", type,
             kind_of(w), api_version_of(w), object + 1);
    assert_true(list_watch_body(watch_list_watch(w, 0), body, strlen(body), now));
}

static void sync_both(void)
{
    first_list(watches.services, SERVICE("a", ""));
    first_list(watches.slices, SLICE_AT("x", "a", "1"));
    says("+s/a! ");
}

static void test_nothing_before_all_is_synced(void **state)
{
    (void)state;
    says("");
    first_list(watches.services, SERVICE("a", ""));
    says("");
    assert_false(view_synced(view));
    assert_int_equal(store_count(view_store(view)), 0);
    first_list(watches.slices, SLICE_AT("x", "a", "1"));
    assert_false(view_synced(view));
    says("+s/a! ");
    assert_true(view_synced(view));
    assert_int_equal(store_count(view_store(view)), 1);
}

static void test_an_empty_cluster_is_synced(void **state)
{
    (void)state;
    first_list(watches.slices, "");
    first_list(watches.services, "");
    says("");
    assert_true(view_synced(view));
    event(watches.services, "ADDED", SERVICE("a", ""));
    says("+s/a ");
}

static void test_events(void **state)
{
    (void)state;
    sync_both();
    event(watches.slices, "MODIFIED", SLICE_AT("x", "a", "2"));
    event(watches.slices, "ADDED", SLICE_AT("y", "a", "3"));
    says("~s/a ");
    event(watches.services, "DELETED", SERVICE("a", ""));
    says("-s/a ");
}

/* A Service and its slice come by two lists: the Service is never shown without its endpoints. */
static void test_two_lists_are_one_change(void **state)
{
    (void)state;
    sync_both();
    list_anew(watches.services);
    list_anew(watches.slices);
    says("");
    answer(watches.services, SERVICE("a", "") "," SERVICE("b", ""), "20", LW_WATCH);
    says("");
    assert_int_equal(store_count(view_store(view)), 1);
    answer(watches.slices, SLICE_AT("x", "a", "2") "," SLICE_AT("y", "b", "3"), "20", LW_WATCH);
    says("+s/b ~s/a ");
}

static void test_one_list_delays_the_other_watch(void **state)
{
    (void)state;
    sync_both();
    list_anew(watches.slices);
    event(watches.services, "ADDED", SERVICE("b", ""));
    says("");
    answer(watches.slices, SLICE_AT("x", "a", "1") "," SLICE_AT("y", "b", "3"), "20", LW_WATCH);
    says("+s/b ");
}

static void test_the_other_list_delays_as_well(void **state)
{
    (void)state;
    sync_both();
    list_anew(watches.services);
    event(watches.slices, "MODIFIED", SLICE_AT("x", "a", "2"));
    says("");
    answer(watches.services, SERVICE("a", ""), "20", LW_WATCH);
    says("~s/a ");
}

/* A watch request that ends and is followed by another one leaves no half list for which the view
 * would have to wait. */
static void test_a_new_watch_request_delays_nothing(void **state)
{
    (void)state;
    sync_both();
    now.ms += 60000;
    assert_int_equal(list_watch_end_identified(watch_list_watch(watches.slices, 0), NULL, now).what,
                     LW_WATCH);
    event(watches.services, "ADDED", SERVICE("b", ""));
    says("+s/b ");
}

/* A list that the guard holds may wait for a person, so the view does not wait for it. */
static void test_a_held_list_delays_nothing(void **state)
{
    (void)state;
    first_list(watches.services, SERVICE("a", ""));
    first_list(watches.slices, SLICE_AT("x", "a", "1") "," SLICE_AT("y", "a", "2"));
    says("+s/a! ");
    list_anew(watches.slices);
    says("");
    answer(watches.slices, "", "20", LW_WAIT);
    event(watches.services, "ADDED", SERVICE("b", ""));
    says("+s/b ");
}

static void test_a_list_that_fails_makes_the_view_stale(void **state)
{
    (void)state;
    sync_both();
    list_anew(watches.slices);
    assert_int_equal(list_watch_end_identified(watch_list_watch(watches.slices, 0),
                                               &(struct err){.kind = ERR_REFUSED}, now)
                         .what,
                     LW_WAIT);
    event(watches.services, "ADDED", SERVICE("b", ""));
    now.ms += STALE_AFTER - 100;
    says("");
    assert_false(view_stale(view));
    now.ms += 1000;
    says("+s/b stale ");
    event(watches.services, "DELETED", SERVICE("b", ""));
    says("-s/b ");
    list_watch_timer(watch_list_watch(watches.slices, 0), now.ms);
    answer(watches.slices, SLICE_AT("x", "a", "2"), "20", LW_WATCH);
    says("~s/a fresh ");
}

/* The view is synced for the first time with the objects that one watch had before it lost its
 * server. */
static void test_a_view_may_be_stale_when_it_is_synced(void **state)
{
    (void)state;
    first_list(watches.services, SERVICE("a", ""));
    list_anew(watches.services);
    assert_int_equal(list_watch_end_identified(watch_list_watch(watches.services, 0),
                                               &(struct err){.kind = ERR_REFUSED}, now)
                         .what,
                     LW_WAIT);
    now.ms += STALE_AFTER - 100;
    first_list(watches.slices, SLICE_AT("x", "a", "1"));
    says("");
    assert_false(view_stale(view));
    now.ms += 1000;
    says("+s/a! stale ");
    list_watch_timer(watch_list_watch(watches.services, 0), now.ms);
    answer(watches.services, SERVICE("a", ""), "20", LW_WATCH);
    says("fresh ");
}

static void test_a_view_of_watches_that_are_full(void **state)
{
    (void)state;
    sync_both();
    view_destroy(&view);
    make_view();
    says("+s/a! ");
    shows("\"ready\":1,");
    event(watches.slices, "MODIFIED", SLICE_AT("x", "a", "2"));
    says("~s/a ");
}

static void test_nothing_is_stale_before_it_is_synced(void **state)
{
    (void)state;
    first_list(watches.services, SERVICE("a", ""));
    list_anew(watches.services);
    assert_int_equal(list_watch_end_identified(watch_list_watch(watches.services, 0),
                                               &(struct err){.kind = ERR_REFUSED}, now)
                         .what,
                     LW_WAIT);
    now.ms += 200000;
    says("");
    assert_true(watch_stale(watches.services));
    assert_false(view_stale(view));
}

/* A hold ends when its time is over, but not while a list is on its way. */
static void test_a_hold_is_over_by_time(void **state)
{
    struct view_params p = params();

    (void)state;
    view_destroy(&view);
    p.hold_empty_ms = 5000;
    make_view_of(p);
    first_list(watches.services, SERVICE("a", ""));
    first_list(watches.slices, SLICE_AT("x", "a", "1"));
    says("+s/a! ");
    assert_int_equal(due_ms, UINT64_MAX);
    event(watches.slices, "DELETED", SLICE_AT("x", "a", "1"));
    const uint64_t over_ms = now.ms + 5000;
    says("~s/a ");
    shows("\"held\":true,");
    assert_int_equal(due_ms, over_ms);
    now.ms = over_ms - 1;
    says("");
    assert_int_equal(due_ms, over_ms);
    list_anew(watches.services);
    now.ms = over_ms;
    says("");
    assert_int_equal(due_ms, UINT64_MAX);
    answer(watches.services, SERVICE("a", ""), "20", LW_WATCH);
    says("~s/a ");
    shows("\"held\":false,");
    assert_int_equal(due_ms, UINT64_MAX);
}

static void test_endpoints_of_this_node_only(void **state)
{
    static const char subsets[] =
        "{\"metadata\":{\"namespace\":\"s\",\"name\":\"a\",\"uid\":\"e\",\"resourceVersion\":\"2\"}"
        ","
        "\"subsets\":[{\"addresses\":[{\"ip\":\"10.0.0.1\",\"nodeName\":\"n1\"},{\"ip\":\"10.0.0."
        "2\","
        "\"nodeName\":\"n2\"}],\"ports\":[{\"name\":\"http\",\"port\":8080}]}]}";

    (void)state;
    view_destroy(&view);
    watch_destroy(&watches.slices);
    watches.slices = make_watch("slices", "endpoints");
    struct view_params p = params();
    p.local_only = true;
    make_view_of(p);
    first_list(watches.services, SERVICE("a", ""));
    first_list(watches.slices, subsets);
    says("+s/a! ");
    shows("\"ready\":1,\"local_ready\":1,");
    shows("\"use\":[{\"address\":\"10.0.0.1\",");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_nothing_before_all_is_synced, set_up, clean_up),
        cmocka_unit_test_setup_teardown(test_an_empty_cluster_is_synced, set_up, clean_up),
        cmocka_unit_test_setup_teardown(test_events, set_up, clean_up),
        cmocka_unit_test_setup_teardown(test_two_lists_are_one_change, set_up, clean_up),
        cmocka_unit_test_setup_teardown(test_one_list_delays_the_other_watch, set_up, clean_up),
        cmocka_unit_test_setup_teardown(test_a_new_watch_request_delays_nothing, set_up, clean_up),
        cmocka_unit_test_setup_teardown(test_a_held_list_delays_nothing, set_up, clean_up),
        cmocka_unit_test_setup_teardown(test_a_list_that_fails_makes_the_view_stale, set_up,
                                        clean_up),
        cmocka_unit_test_setup_teardown(test_a_view_may_be_stale_when_it_is_synced, set_up,
                                        clean_up),
        cmocka_unit_test_setup_teardown(test_the_other_list_delays_as_well, set_up, clean_up),
        cmocka_unit_test_setup_teardown(test_nothing_is_stale_before_it_is_synced, set_up,
                                        clean_up),
        cmocka_unit_test_setup_teardown(test_a_hold_is_over_by_time, set_up, clean_up),
        cmocka_unit_test_setup_teardown(test_endpoints_of_this_node_only, set_up, clean_up),
        cmocka_unit_test_setup_teardown(test_a_view_of_watches_that_are_full, set_up, clean_up),
    };

    log_set_level(LOG_LVL_ERROR);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
