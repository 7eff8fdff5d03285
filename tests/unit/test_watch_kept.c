/* SPDX-License-Identifier: Apache-2.0 */
/* cache/watch: the events for its owner, who keeps its objects for the next process, and the scope
 * of each object. */
#include "resume_rig.h"

#include <string.h>

#include "base/mem.h"
#include "cache/confirm.h"

static const char *const two[] = {"ns", "other"};

/* ---- Objects that are kept. */

static void test_each_change_is_kept_with_its_scope(void **state)
{
    (void)state;
    resume_rig.params.namespaces = two;
    resume_rig.params.namespace_count = 2;
    resume_rig_make();
    resume_rig_load("other/z", "u7", "7");
    resume_rig_resume(RESUME_WHOLE, "10");
    resume_rig.next = list_watch_start(watch_list_watch(resume_rig.w, 0), resume_rig.now.ms);
    resume_rig.next = list_watch_start(watch_list_watch(resume_rig.w, 1), resume_rig.now.ms);
    resume_rig_asks(
        "/api/v1/namespaces/other/configmaps?watch=true&allowWatchBookmarks=true&timeoutSeconds="
        "300&resourceVersion=10");
    objects_answer(watch_list_watch(resume_rig.w, 0), EVENT("ADDED", "a", "u1", "11"),
                   resume_rig.now);
    resume_rig_keeps("0+ns/a:11");
    objects_answer(watch_list_watch(resume_rig.w, 1),
                   "{\"type\":\"DELETED\",\"object\":{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\","
                   "\"metadata\":{\"namespace\":\"other\",\"name\":\"z\",\"uid\":\"u7\","
                   "\"resourceVersion\":\"12\"}}}\n",
                   resume_rig.now);
    resume_rig_keeps("1-other/z");
}

static void test_a_new_incarnation_is_kept(void **state)
{
    (void)state;
    resume_rig_start_from(RESUME_WHOLE, "10");
    resume_rig_answer(EVENT("MODIFIED", "a", "u9", "11"));
    resume_rig_keeps("0-ns/a 0+ns/a:11");
    resume_rig_has_version("11 9");
}

static void test_a_delete_that_is_confirmed_is_kept_back_and_so_is_the_version(void **state)
{
    (void)state;
    resume_rig.params.confirm_deletes = true;
    resume_rig_make();
    resume_rig_start_from(RESUME_WHOLE, "10");
    resume_rig_has_version("10 9");
    resume_rig_answer(EVENT("DELETED", "a", "u1", "11") EVENT("ADDED", "c", "u3", "12"));
    resume_rig_hears("+ns/c:u3:12(watch)");
    resume_rig_keeps("0+ns/c:12");
    resume_rig_has_version(" 9");
    confirm_started(watch_confirm(resume_rig.w), resume_rig.now.ms);
    confirm_answer(watch_confirm(resume_rig.w), CONFIRM_GONE, resume_rig.now.ms);
    resume_rig_hears("-ns/a:u1:11(watch)");
    resume_rig_keeps("0-ns/a");
    resume_rig_has_version("12 9");
}

static void test_a_version_counts_only_when_deleted_objects_are_known(void **state)
{
    struct list_watch *f;

    (void)state;
    resume_rig_make();
    f = watch_list_watch(resume_rig.w, 0);
    resume_rig.next = list_watch_start(f, resume_rig.now.ms);
    resume_rig_answer(PAGE("0", "", ""));
    list_watch_head(f, &(struct http_head){.status = 200, .retry_after_s = -1}, resume_rig.now.ms);
    assert_true(list_watch_body(f, BOOKMARK("20"), strlen(BOOKMARK("20")), resume_rig.now));
    assert_string_equal(list_watch_status(f).rv, "20");
    resume_rig_has_version(" 20");
    resume_rig.now.ms += 500;
    assert_false(list_watch_overdue(f, resume_rig.now.ms));
    list_watch_compare(f);
    list_watch_compare_head(f, &(struct http_head){.status = 200, .retry_after_s = -1});
    assert_true(
        list_watch_compare_body(f, PAGE("0", "", ""), strlen(PAGE("0", "", "")), resume_rig.now));
    assert_true(list_watch_compare_end(f, NULL, resume_rig.now));
    resume_rig_has_version("20 20");
}

/* ---- Scopes and their objects. */

static void check_scope(size_t stream, const char *want)
{
    struct buf is = {0};

    watch_put_scope_name(resume_rig.w, stream, &is);
    assert_string_equal(buf_cstr(&is), want);
    assert_string_equal(list_watch_scope_name(watch_list_watch(resume_rig.w, stream)), want);
    buf_free(&is);
}

static void test_scopes_have_lasting_names(void **state)
{
    static const char *const names[] = {"x", "y"};

    (void)state;
    check_scope(0, "");
    resume_rig.params.namespaces = two;
    resume_rig.params.namespace_count = 2;
    resume_rig_make();
    check_scope(1, "other");
    resume_rig.params.names = names;
    resume_rig.params.name_count = 2;
    resume_rig_make();
    assert_int_equal(watch_scope_count(resume_rig.w), 4);
    check_scope(0, "ns/x");
    check_scope(1, "ns/y");
    check_scope(2, "other/x");
    resume_rig.params.namespaces = resume_rig_everywhere;
    resume_rig.params.namespace_count = 1;
    resume_rig_make();
    check_scope(1, "y");
}

#define IN(ns, name, uid)                                                                \
    "{\"metadata\":{\"namespace\":\"" ns "\",\"name\":\"" name "\",\"uid\":\"" uid "\"," \
    "\"resourceVersion\":\"9\"}}"

static void test_objects_that_no_scope_selects_any_more_have_left(void **state)
{
    static const char *const names[] = {"a", "x"};

    (void)state;
    resume_rig.params.namespaces = two;
    resume_rig.params.namespace_count = 2;
    resume_rig.params.names = names;
    resume_rig.params.name_count = 2;
    resume_rig_make();
    resume_rig_load("ns/x", "u1", "3");
    resume_rig_load("third/x", "u2", "4");
    resume_rig_load("other/q", "u3", "5");
    resume_rig_resume(RESUME_EDITED, "10");
    resume_rig.next = list_watch_start(watch_list_watch(resume_rig.w, 0), resume_rig.now.ms);
    resume_rig.next =
        objects_answer(watch_list_watch(resume_rig.w, 0), PAGE("30", "", ""), resume_rig.now);
    for (int i = 0; i < 2; i++) { /* a request for each object; both exist */
        bool other = strstr(resume_rig.next.target, "/other/") != NULL;

        assert_true(other || strstr(resume_rig.next.target, "/third/") != NULL);
        assert_non_null(strstr(resume_rig.next.target, other ? "name%3Dq" : "name%3Dx"));
        resume_rig.next = objects_answer(watch_list_watch(resume_rig.w, 0),
                                         other ? PAGE("40", "", IN("other", "q", "u3"))
                                               : PAGE("40", "", IN("third", "x", "u2")),
                                         resume_rig.now);
    }
    assert_int_equal(store_count(watch_store(resume_rig.w)), 1);
    assert_non_null(store_get(watch_store(resume_rig.w), str_c("ns/x")));
    resume_rig_keeps(resume_rig.heard.len > 0 && strstr(buf_cstr(&resume_rig.heard), "xother/q") <
                                                     strstr(buf_cstr(&resume_rig.heard), "xthird")
                         ? "0-other/q 0-third/x"
                         : "0-third/x 0-other/q");
}

/* ---- Before discovery has found the resource. */

static void make_things(void)
{
    resume_rig.params.resource = "things.example.com";
    resume_rig_make();
    assert_non_null(watch_wants(resume_rig.w));
    assert_int_equal(watch_scope_count(resume_rig.w), 1);
}

/* Discovery has found the resource. */
static void resolve(void)
{
    struct resource found;

    assert_int_equal(resource_parse("things.v1.example.com", &found, NULL), ERR_OK);
    found.kind = mem_strdup("Thing");
    assert_int_equal(watch_resolve(resume_rig.w, &found, NULL), ERR_OK);
    resource_fini(&found);
}

static struct object *thing(const char *api_version)
{
    return object_create(&(struct object_parts){.ns = str_c("ns"),
                                                .name = str_c("a"),
                                                .uid = str_c("u1"),
                                                .rv = str_c("3"),
                                                .api_version = str_c(api_version),
                                                .kind = str_c("Thing"),
                                                .body = str_c("{}"),
                                                .rv_at = SIZE_MAX,
                                                .generation_at = SIZE_MAX});
}

static void load_thing(const char *api_version)
{
    struct object *o = thing(api_version);

    watch_load(resume_rig.w, o);
    object_unref(&o);
}

static void test_a_resume_point_waits_for_discovery(void **state)
{
    (void)state;
    make_things();
    load_thing("example.com/v1");
    resume_rig_resume(RESUME_WHOLE, "10");
    resume_rig_has_version("");
    resolve();
    resume_rig_start();
    assert_int_equal(resume_rig.next.what, LW_WATCH);
}

static void test_objects_of_another_version_take_the_newest_list(void **state)
{
    static const enum resume_kind kinds[] = {RESUME_WHOLE, RESUME_PARTIAL};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        make_things();
        load_thing("example.com/v1beta1");
        resume_rig_resume(kinds[i], "10");
        resolve();
        resume_rig_start();
        assert_string_equal(strchr(resume_rig.next.target, '?'), "?limit=500");
    }
}

static void test_unloaded_objects_are_forgotten(void **state)
{
    (void)state;
    resume_rig_load("ns/a", "u1", "3");
    resume_rig_resume(RESUME_WHOLE, "10");
    watch_forget(resume_rig.w);
    assert_int_equal(store_count(watch_store(resume_rig.w)), 0);
    resume_rig_start();
    resume_rig_asks(PATH "?resourceVersion=0&limit=500");
    resume_rig_answer(PAGE("5", "", ITEM("a", "u1", "3", "")));
    resume_rig_hears("+ns/a:u1:3(relist)");
    resume_rig_keeps("0+ns/a:3");
}

static void test_the_oldest_contact_counts(void **state)
{
    (void)state;
    resume_rig.params.namespaces = two;
    resume_rig.params.namespace_count = 2;
    resume_rig_make();
    assert_int_equal(watch_resume_contact_ns(resume_rig.w), 0);
    watch_resume(resume_rig.w, 0,
                 &(struct resume_point){.kind = RESUME_WHOLE, .rv = "1", .contact_ns = 70});
    assert_int_equal(watch_resume_contact_ns(resume_rig.w), 0);
    watch_resume(resume_rig.w, 1,
                 &(struct resume_point){.kind = RESUME_WHOLE, .rv = "1", .contact_ns = 60});
    assert_int_equal(watch_resume_contact_ns(resume_rig.w), 60);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, resume_rig_set_up, resume_rig_clean_up)
    const struct CMUnitTest tests[] = {
        TEST(test_each_change_is_kept_with_its_scope),
        TEST(test_a_new_incarnation_is_kept),
        TEST(test_a_delete_that_is_confirmed_is_kept_back_and_so_is_the_version),
        TEST(test_a_version_counts_only_when_deleted_objects_are_known),
        TEST(test_scopes_have_lasting_names),
        TEST(test_objects_that_no_scope_selects_any_more_have_left),
        TEST(test_a_resume_point_waits_for_discovery),
        TEST(test_objects_of_another_version_take_the_newest_list),
        TEST(test_unloaded_objects_are_forgotten),
        TEST(test_the_oldest_contact_counts),
    };
#undef TEST

    return cmocka_run_group_tests(tests, NULL, NULL);
}
