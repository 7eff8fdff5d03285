/* SPDX-License-Identifier: Apache-2.0 */
/* cache/watch_digest: the settings with which kept objects belong to another watch. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "cache/watch_digest.h"

static const char *const ab[] = {"a", "b"};
static const char *const ba[] = {"b", "a"};
static const char *const ac[] = {"a", "c"};

static struct watch_params base(void)
{
    return (struct watch_params){
        .name = "n",
        .cluster = "c",
        .resource = "pods",
        .namespaces = ab,
        .namespace_count = 2,
        .names = ab,
        .name_count = 2,
        .label_selector = "x=y",
        .field_selector = "",
        .shape = {.keep = ab,
                  .keep_count = 2,
                  .drop = ab,
                  .drop_count = 2,
                  .match = ab,
                  .match_count = 2},
        .object_size = 1000,
    };
}

static bool is_same(const struct watch_params *p)
{
    const struct watch_params b = base();

    return digest_eq(watch_digest(&b), watch_digest(p));
}

static void test_settings_that_select_or_shape_objects_count(void **state)
{
    struct watch_params p[12];

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(p); i++)
        p[i] = base();
    p[0].resource = "services";
    p[1].namespaces = ac;
    p[2].namespace_count = 1;
    p[3].names = ac;
    p[4].label_selector = "x=z";
    p[5].field_selector = "x=y";
    p[6].shape.keep = ac;
    p[7].shape.drop = ac;
    p[8].shape.match = ac;
    p[9].object_size = 1001;
    p[10].shape.drop_count = 0;
    p[11].name_count = 0;
    for (size_t i = 0; i < ARRAY_LEN(p); i++)
        for (size_t k = 0; k < i; k++)
            assert_false(digest_eq(watch_digest(&p[i]), watch_digest(&p[k])));
    for (size_t i = 0; i < ARRAY_LEN(p); i++)
        assert_false(is_same(&p[i]));
}

static bool selects_same(const struct watch_params *p)
{
    const struct watch_params b = base();

    return watch_digest_selects_same(watch_digest(&b), watch_digest(p));
}

static void test_shape_and_namespaces_do_not_select(void **state)
{
    struct watch_params kept[5];
    struct watch_params selected[4];

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(kept); i++)
        kept[i] = base();
    kept[0].shape.keep = ac;
    kept[1].shape.drop = ac;
    kept[2].object_size = 1001;
    kept[3].namespaces = ac;
    kept[4].names = ac;
    for (size_t i = 0; i < ARRAY_LEN(kept); i++)
        assert_true(selects_same(&kept[i]));
    for (size_t i = 0; i < ARRAY_LEN(selected); i++)
        selected[i] = base();
    selected[0].resource = "services";
    selected[1].label_selector = "x=z";
    selected[2].field_selector = "x=y";
    selected[3].shape.match = ac;
    for (size_t i = 0; i < ARRAY_LEN(selected); i++)
        assert_false(selects_same(&selected[i]));
}

static void test_names_order_and_tuning_do_not_count(void **state)
{
    struct watch_params p = base();

    (void)state;
    p.name = "other";
    p.cluster = "other";
    p.namespaces = ba;
    p.names = ba;
    p.shape.keep = ba;
    p.shape.drop = ba;
    p.shape.match = ba;
    p.reflector.page_size = 7;
    p.guard.at_least = 7;
    p.stale_after_ms = 7;
    p.confirm_deletes = true;
    p.seed = 7;
    assert_true(is_same(&p));
}

static void test_texts_do_not_run_into_each_other(void **state)
{
    struct watch_params p = base();
    struct watch_params q = base();

    (void)state;
    p.label_selector = "ab";
    p.field_selector = "c";
    q.label_selector = "a";
    q.field_selector = "bc";
    assert_false(digest_eq(watch_digest(&p), watch_digest(&q)));
    p = base();
    q = base();
    p.shape.drop_count = 0;
    q.shape.keep_count = 0;
    assert_false(digest_eq(watch_digest(&p), watch_digest(&q)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_settings_that_select_or_shape_objects_count),
        cmocka_unit_test(test_shape_and_namespaces_do_not_select),
        cmocka_unit_test(test_names_order_and_tuning_do_not_count),
        cmocka_unit_test(test_texts_do_not_run_into_each_other),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
