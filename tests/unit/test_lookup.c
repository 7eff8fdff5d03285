/* SPDX-License-Identifier: Apache-2.0 */
/* Where a lookup asks for the objects that an edited watch does not select any more. */
#include "cache/lookup.h"

#include "objects.h"

static char version[] = "v1";
static char core[] = "";
static char plural[] = "configmaps";
static const struct resource configmaps = {
    .group = core, .version = version, .plural = plural, .scope = RESOURCE_NAMESPACED};

static void on_delta(void *arg, const struct delta *d)
{
    (void)arg;
    (void)d;
}

/* A store whose objects, one per name, were loaded, and of which a list names none. */
static struct store *all_vanish(const char *const *keys, size_t n)
{
    struct store *store = store_create(1, on_delta, NULL);

    for (size_t i = 0; i < n; i++) {
        struct object *o = objects_make(keys[i], "u1", "1", NULL);

        store_load(store, 0, o);
        object_unref(&o);
    }
    store_begin(store, 0);
    return store;
}

static void assert_asks(const struct lookup *l, const char *target)
{
    struct buf is = {0};

    lookup_put_target(l, &is, &configmaps);
    assert_string_equal(buf_cstr(&is), target);
    buf_free(&is);
}

static void begin(struct lookup *l, const char *const *keys, size_t n, const char *ns,
                  const char *name)
{
    struct store *store = all_vanish(keys, n);
    struct query q;

    query_init(&q, &configmaps, ns, name);
    query_select(&q, "app=new", NULL);
    lookup_begin(l, store, 0, &q);
    assert_true(lookup_goes_on(l));
    query_fini(&q);
    store_abort(store, 0);
    store_destroy(&store);
}

static void test_a_watch_of_everything_lists_everything_once(void **state)
{
    static const char *const keys[] = {"a/x", "b/y"};
    struct lookup l = {0};

    (void)state;
    begin(&l, keys, 2, NULL, NULL);
    assert_asks(&l, "/api/v1/configmaps?limit=500");
    assert_int_equal(lookup_page(&l, &(struct list_page){.items = 2}), LOOKUP_COMPLETE);
    lookup_end(&l);
    assert_false(lookup_goes_on(&l));
}

static void test_each_namespace_is_listed_page_by_page(void **state)
{
    static const char *const keys[] = {"a/x", "a/y", "b/x"};
    struct lookup l = {0};

    (void)state;
    begin(&l, keys, 3, "c", NULL);
    bool a_first = l.places[0].ns[0] == 'a';
    const char *const first = a_first ? "a" : "b";

    assert_int_equal(l.count, 2);
    assert_string_equal(l.places[0].ns, first);
    assert_int_equal(lookup_page(&l, &(struct list_page){.next = str_c("more")}), LOOKUP_MORE);
    assert_asks(&l, a_first ? "/api/v1/namespaces/a/configmaps?limit=500&continue=more"
                            : "/api/v1/namespaces/b/configmaps?limit=500&continue=more");
    assert_int_equal(lookup_page(&l, &(struct list_page){0}), LOOKUP_MORE);
    assert_asks(&l, a_first ? "/api/v1/namespaces/b/configmaps?limit=500"
                            : "/api/v1/namespaces/a/configmaps?limit=500");
    assert_int_equal(lookup_page(&l, &(struct list_page){0}), LOOKUP_COMPLETE);
    lookup_end(&l);
}

static void test_more_places_are_listed_as_one(void **state)
{
    static const char *const keys[] = {"a/x", "b/x", "c/x", "d/x", "e/x",
                                       "f/x", "g/x", "h/x", "i/x"};
    struct lookup l = {0};

    (void)state;
    begin(&l, keys, LOOKUP_PLACES, "z", NULL);
    assert_int_equal(l.count, LOOKUP_PLACES);
    begin(&l, keys, LOOKUP_PLACES + 1, "z", NULL);
    assert_asks(&l, "/api/v1/configmaps?limit=500");
    assert_int_equal(lookup_page(&l, &(struct list_page){0}), LOOKUP_COMPLETE);
    lookup_end(&l);
}

static void test_it_gives_up_after_too_many_objects(void **state)
{
    static const char *const keys[] = {"a/x"};
    struct list_page page = {.next = str_c("more"), .items = 100000};
    struct lookup l = {0};

    (void)state;
    begin(&l, keys, 1, NULL, NULL);
    assert_int_equal(lookup_page(&l, &page), LOOKUP_MORE);
    assert_int_equal(lookup_page(&l, &page), LOOKUP_MORE);
    page.items = 1;
    assert_int_equal(lookup_page(&l, &page), LOOKUP_TOO_MANY);
    lookup_end(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_watch_of_everything_lists_everything_once),
        cmocka_unit_test(test_each_namespace_is_listed_page_by_page),
        cmocka_unit_test(test_more_places_are_listed_as_one),
        cmocka_unit_test(test_it_gives_up_after_too_many_objects),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
