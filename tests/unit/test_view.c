/* SPDX-License-Identifier: Apache-2.0 */
/* cache/view: when what two watches hold is shown: synced, lists anew, held, stale. */
#include "objects.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "cache/view.h"

enum { STALE_AFTER = 30000, HOLD = 60000 };

#define SERVICE(name, more)                                                                     \
    "{\"metadata\":{\"namespace\":\"s\",\"name\":\"" name "\",\"uid\":\"u" name                 \
    "\",\"resourceVersion\":\"3\"},\"spec\":{\"ports\":[{\"name\":\"http\",\"port\":80}]}" more \
    "}"
#define SLICE(name, service, address)                                                              \
    "{\"metadata\":{\"namespace\":\"s\",\"name\":\"" name "\",\"uid\":\"u" name                    \
    "\",\"resourceVersion\":\"" address "\",\"labels\":{\"kubernetes.io/service-name\":\"" service \
    "\"}},\"addressType\":\"IPv4\",\"endpoints\":[{\"addresses\":[\"10.0.0." address               \
    "\"]}],\"ports\":[{\"name\":\"http\",\"port\":8080}]}"

static struct watch *services;
static struct watch *slices;
static struct view *view;
static struct feed_now now;
static struct buf said;

static void on_watch_delta(void *arg, struct watch *w, const struct delta *d)
{
    assert_ptr_equal(arg, &said);
    if (view != NULL)
        view_delta(view, w, d);
}

static void on_watch_stale(void *arg, struct watch *w, bool stale, uint64_t wall_ns)
{
    (void)arg;
    (void)w;
    (void)stale;
    (void)wall_ns;
}

static void on_delta(void *arg, struct view *v, const struct delta *d)
{
    assert_ptr_equal(arg, &said);
    assert_ptr_equal(v, view);
    buf_printf(&said, "%c%.*s%s ", "+~-x"[d->type], STR_ARG(object_key(d->object)),
               view_synced(v) ? "" : "!");
}

static void on_stale(void *arg, struct view *v, bool stale, uint64_t wall_ns)
{
    assert_ptr_equal(arg, &said);
    assert_true(stale == view_stale(v));
    assert_int_equal(wall_ns, now.wall_ns);
    buf_puts(&said, stale ? "stale " : "fresh ");
}

static const struct watch_events watch_events = {on_watch_delta, on_watch_stale};
static const struct view_events view_events = {on_delta, on_stale};

/* What the next watch keeps; NULL = everything. */
static const char *keep;

static struct watch *make_watch(const char *name, const char *cluster, const char *resource)
{
    static const char *const everywhere[] = {"*"};
    struct watch *w = NULL;
    const struct watch_params p = {
        .name = name,
        .cluster = cluster,
        .resource = resource,
        .namespaces = everywhere,
        .namespace_count = 1,
        .label_selector = "",
        .field_selector = "",
        .object_size = 4096,
        .shape = {.keep = &keep,            .keep_count = keep != NULL},
        .reflector = { .backoff = {.initial_ms = 800, .max_ms = 30000, .factor = 2},
                  .reset_after_ms = 120000,
                  .page_size = 500,
                  .watch_min_s = 300,
                  .watch_max_s = 300},
        .guard = {                                     .relist_deletes = 50,                        .at_least = 2,                               .hold_ms = HOLD},
        .bookmark_timeout_ms = 150000,
        .list_idle_timeout_ms = 60000,
        .stale_after_ms = STALE_AFTER,
    };

    assert_int_equal(watch_create(&p, &watch_events, &said, &w, NULL), ERR_OK);
    return w;
}

static struct view_params params(void)
{
    return (struct view_params){
        .name = "v", .services = services, .slices = slices, .node_name = "n1"};
}

static void make_view(void)
{
    const struct view_params p = params();

    assert_int_equal(view_check(&p, NULL), ERR_OK);
    view = view_create(&p, &view_events, &said);
    assert_string_equal(view_name(view), "v");
    assert_string_equal(view_cluster(view), "c");
}

static int set_up(void **state)
{
    (void)state;
    now = (struct feed_now){1000000, 7};
    services = make_watch("services", "c", "services");
    slices = make_watch("slices", "c", "endpointslices");
    make_view();
    return 0;
}

static int clean_up(void **state)
{
    (void)state;
    view_destroy(&view);
    watch_destroy(&services);
    watch_destroy(&slices);
    buf_free(&said);
    return 0;
}

/* What the view says now, and nothing more when it is asked once more. */
static void says(const char *want)
{
    buf_clear(&said);
    assert_int_equal(view_tick(view, now), UINT64_MAX);
    assert_string_equal(buf_cstr(&said), want);
    buf_clear(&said);
    view_tick(view, now);
    assert_string_equal(buf_cstr(&said), "");
    now.ms += 10;
    now.wall_ns++;
}

/* The whole list of a watch. */
static void answer(struct watch *w, const char *items, const char *rv, enum feed_do next)
{
    struct feed *f = watch_feed(w, 0);
    char body[4096];

    snprintf(body, sizeof(body),
             "{\"kind\":\"%sList\",\"apiVersion\":\"%s\",\"metadata\":{\"resourceVersion\":\"%s\"},"
             "\"items\":[%s]}",
             w == slices ? "EndpointSlice" : "Service", w == slices ? "discovery.k8s.io/v1" : "v1",
             rv, items);
    assert_int_equal(objects_answer(f, body, now).what, next);
    if (next == FEED_WATCH)
        feed_head(f, &(struct http_head){.status = 200, .retry_after_s = -1}, now.ms);
}

static void first_list(struct watch *w, const char *items)
{
    assert_int_equal(feed_start(watch_feed(w, 0), now.ms).what, FEED_LIST);
    answer(w, items, "10", FEED_WATCH);
}

static void list_anew(struct watch *w)
{
    watch_relist(w, RELIST_MANUAL);
    assert_int_equal(feed_restart(watch_feed(w, 0), now).what, FEED_LIST);
}

static void event(struct watch *w, const char *type, const char *object)
{
    char body[4096];

    snprintf(body, sizeof(body),
             "{\"type\":\"%s\",\"object\":{\"kind\":\"%s\",\"apiVersion\":\"%s\",%s}\n", type,
             w == slices ? "EndpointSlice" : "Service", w == slices ? "discovery.k8s.io/v1" : "v1",
             object + 1);
    assert_true(feed_body(watch_feed(w, 0), body, strlen(body), now));
}

static void sync_both(void)
{
    first_list(services, SERVICE("a", ""));
    first_list(slices, SLICE("x", "a", "1"));
    says("+s/a! ");
}

static void test_nothing_before_all_is_synced(void **state)
{
    (void)state;
    says("");
    first_list(services, SERVICE("a", ""));
    says("");
    assert_false(view_synced(view));
    assert_int_equal(store_count(view_store(view)), 0);
    first_list(slices, SLICE("x", "a", "1"));
    assert_false(view_synced(view));
    says("+s/a! ");
    assert_true(view_synced(view));
    assert_int_equal(store_count(view_store(view)), 1);
}

static void test_events(void **state)
{
    (void)state;
    sync_both();
    event(slices, "MODIFIED", SLICE("x", "a", "2"));
    event(slices, "ADDED", SLICE("y", "a", "3"));
    says("~s/a ");
    event(services, "DELETED", SERVICE("a", ""));
    says("-s/a ");
}

/* A Service and its slice come by two lists: it is never seen without its endpoints. */
static void test_two_lists_are_one_change(void **state)
{
    (void)state;
    sync_both();
    list_anew(services);
    list_anew(slices);
    says("");
    answer(services, SERVICE("a", "") "," SERVICE("b", ""), "20", FEED_WATCH);
    says("");
    assert_int_equal(store_count(view_store(view)), 1);
    answer(slices, SLICE("x", "a", "2") "," SLICE("y", "b", "3"), "20", FEED_WATCH);
    says("+s/b ~s/a ");
}

static void test_one_list_delays_the_other_watch(void **state)
{
    (void)state;
    sync_both();
    list_anew(slices);
    event(services, "ADDED", SERVICE("b", ""));
    says("");
    answer(slices, SLICE("x", "a", "1") "," SLICE("y", "b", "3"), "20", FEED_WATCH);
    says("+s/b ");
}

/* A stream that ends, and is taken up again from where it was, has nothing that is half. */
static void test_a_new_stream_delays_nothing(void **state)
{
    (void)state;
    sync_both();
    now.ms += 60000;
    assert_int_equal(feed_end(watch_feed(slices, 0), NULL, now).what, FEED_WATCH);
    event(services, "ADDED", SERVICE("b", ""));
    says("+s/b ");
}

/* A list that the guard holds may wait for a person. */
static void test_a_held_list_delays_nothing(void **state)
{
    (void)state;
    first_list(services, SERVICE("a", ""));
    first_list(slices, SLICE("x", "a", "1") "," SLICE("y", "a", "2"));
    says("+s/a! ");
    list_anew(slices);
    says("");
    answer(slices, "", "20", FEED_WAIT);
    event(services, "ADDED", SERVICE("b", ""));
    says("+s/b ");
}

static void test_a_list_that_fails_makes_the_view_stale(void **state)
{
    (void)state;
    sync_both();
    list_anew(slices);
    assert_int_equal(feed_end(watch_feed(slices, 0), &(struct err){.kind = ERR_REFUSED}, now).what,
                     FEED_WAIT);
    event(services, "ADDED", SERVICE("b", ""));
    now.ms += STALE_AFTER - 100;
    says("");
    assert_false(view_stale(view));
    now.ms += 1000;
    says("+s/b stale ");
    event(services, "DELETED", SERVICE("b", ""));
    says("-s/b ");
    feed_timer(watch_feed(slices, 0), now.ms);
    answer(slices, SLICE("x", "a", "2"), "20", FEED_WATCH);
    says("~s/a fresh ");
}

static void test_a_view_of_watches_that_are_full(void **state)
{
    (void)state;
    sync_both();
    view_destroy(&view);
    make_view();
    says("+s/a! ");
    event(slices, "MODIFIED", SLICE("x", "a", "2"));
    says("~s/a ");
}

static void refuses(struct view_params p, const char *why)
{
    struct err err = {0};

    assert_int_equal(view_check(&p, &err), ERR_CONFIG);
    assert_string_equal(err.text, why);
}

static void test_what_it_cannot_join(void **state)
{
    struct watch *other = make_watch("other", "d", "endpoints");
    struct watch *pods = make_watch("pods", "c", "pods");
    struct view_params p = params();

    (void)state;
    p.services = pods;
    refuses(p, "services: watch pods is of pods; a view of service_endpoints needs a watch of "
               "services");
    p = params();
    p.slices = pods;
    refuses(p, "slices: watch pods is of pods; a view of service_endpoints needs a watch of "
               "endpointslices (or endpoints)");
    p = params();
    p.slices = other;
    refuses(p, "slices: watch other is of cluster d, watch services of cluster c; a view joins "
               "watches of one cluster");
    watch_destroy(&other);
    watch_destroy(&pods);
}

/* A condition that is not there would count as ready. */
static void test_what_must_be_kept(void **state)
{
    struct view_params p = params();

    (void)state;
    p.local_only = true;
    p.node_name = "";
    refuses(p, "local_only: the name of this node is not known");
    keep = "spec.ports";
    struct watch *w = make_watch("w", "c", "services");
    p = params();
    p.services = w;
    refuses(p, "services: keep and drop of watch w leave out spec.type, which the view needs");
    watch_destroy(&w);
    keep = "subsets[*].addresses[*].ip";
    w = make_watch("w", "c", "endpoints");
    p = params();
    p.slices = w;
    refuses(p,
            "slices: keep and drop of watch w leave out subsets[*].ports[*].name, which the view "
            "needs");
    watch_destroy(&w);
    keep = "subsets";
    w = make_watch("w", "c", "endpoints");
    p.slices = w;
    p.local_only = true;
    assert_int_equal(view_check(&p, NULL), ERR_OK);
    watch_destroy(&w);
    keep = NULL;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_nothing_before_all_is_synced, set_up, clean_up),
        cmocka_unit_test_setup_teardown(test_events, set_up, clean_up),
        cmocka_unit_test_setup_teardown(test_two_lists_are_one_change, set_up, clean_up),
        cmocka_unit_test_setup_teardown(test_one_list_delays_the_other_watch, set_up, clean_up),
        cmocka_unit_test_setup_teardown(test_a_new_stream_delays_nothing, set_up, clean_up),
        cmocka_unit_test_setup_teardown(test_a_held_list_delays_nothing, set_up, clean_up),
        cmocka_unit_test_setup_teardown(test_a_list_that_fails_makes_the_view_stale, set_up,
                                        clean_up),
        cmocka_unit_test_setup_teardown(test_a_view_of_watches_that_are_full, set_up, clean_up),
        cmocka_unit_test_setup_teardown(test_what_it_cannot_join, set_up, clean_up),
        cmocka_unit_test_setup_teardown(test_what_must_be_kept, set_up, clean_up),
    };

    log_set_level(LOG_LVL_ERROR);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
