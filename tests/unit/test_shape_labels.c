/* SPDX-License-Identifier: Apache-2.0 */
/* The labels that a label selector looks at stay, whatever keep and drop leave out. */
#include "scan_probe.h"

#include "base/buf.h"
#include "kube/selector.h"
#include "kube/shape.h"

#define NAME "\"apiVersion\":\"v1\",\"kind\":\"K\",\"metadata\":{\"name\":\"a\""
#define OBJECT \
    "{" NAME ",\"labels\":{\"app\":\"x\",\"b/c\":\"y\",\"d\":\"z\"},\"e\":1},\"spec\":{}}"

static void collect(void *arg, struct str label)
{
    buf_append_str(arg, label);
    buf_putc(arg, ';');
}

static void test_the_keys_of_a_selector(void **state)
{
    static const char *const cases[][2] = {
        {"",                                         ""               },
        {"a",                                        "a;"             },
        {" a = b , !c, d in (e, f) ,g/h notin (),i", "a;c;d;g/h;i;"   },
        {"x.y/a!=in,in in (in),notin",               "x.y/a;in;notin;"},
        {"a=b,=c,d",                                 "a;"             },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct buf keys = {0};

        selector_each_label(cases[i][0], collect, &keys);
        assert_string_equal(buf_cstr(&keys), cases[i][1]);
        buf_free(&keys);
    }
}

static void test_needed_labels_stay(void **state)
{
    static const struct {
        const char *keep;
        const char *drop;
        const char *want;
    } cases[] = {
        {"x",                 NULL,                     "{" NAME ",\"labels\":{\"app\":\"x\",\"b/c\":\"y\"}}}"            },
        {NULL,                "metadata",               "{" NAME ",\"labels\":{\"app\":\"x\",\"b/c\":\"y\"}},\"spec\":{}}"},
        {NULL,                "metadata.labels",
         "{" NAME ",\"labels\":{\"app\":\"x\",\"b/c\":\"y\"},\"e\":1},\"spec\":{}}"                                       },
        {"metadata.labels",   "metadata.labels['b/c']",
         "{" NAME ",\"labels\":{\"app\":\"x\",\"b/c\":\"y\",\"d\":\"z\"}}}"                                               },
        {"metadata.labels.d", "metadata.labels",
         "{" NAME ",\"labels\":{\"app\":\"x\",\"b/c\":\"y\"}}}"                                                           },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const struct shape_params p = {.keep = &cases[i].keep,
                                       .keep_count = cases[i].keep != NULL,
                                       .drop = &cases[i].drop,
                                       .drop_count = cases[i].drop != NULL,
                                       .label_selector = "app=x,!b/c,gone notin (1)"};
        struct object_rules rules = {.object_size = 1000};
        struct shape *shape = NULL;
        struct object *o = NULL;

        assert_int_equal(shape_create(&p, &shape, NULL), ERR_OK);
        rules.shape = shape;
        scan = object_scan_create(&rules);
        scan_feed(str_c(OBJECT), 7, 7);
        assert_int_equal(object_scan_end(scan, str_c("K"), str_c("v1"), &o), OBJECT_SCAN_OK);
        scan_assert_json(o, cases[i].want);
        object_unref(&o);
        object_scan_destroy(&scan);
        shape_destroy(&shape);
    }
}

static void test_needed_labels_are_metadata(void **state)
{
    static const char *const keep[] = {"metadata.annotations"};
    const struct shape_params p = {.keep = keep, .keep_count = 1, .label_selector = "a=b"};
    struct shape *shape = NULL;

    (void)state;
    assert_int_equal(shape_create(&p, &shape, NULL), ERR_OK);
    assert_true(shape_is_metadata_only(shape));
    shape_destroy(&shape);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_keys_of_a_selector),
        cmocka_unit_test(test_needed_labels_stay),
        cmocka_unit_test(test_needed_labels_are_metadata),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
