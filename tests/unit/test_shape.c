/* SPDX-License-Identifier: Apache-2.0 */
/* keep, drop and match: good and bad entries, the parts of objects that they leave, and the objects
 * that they select. */
#include "scan_probe.h"

#include <string.h>

#include "kube/shape.h"

enum { MAX_ENTRIES = 4 };

static size_t count(const char *const *entries)
{
    size_t n = 0;

    while (n < MAX_ENTRIES && entries[n] != NULL)
        n++;
    return n;
}

static struct shape *make(const char *const *keep, const char *const *drop,
                          const char *const *match)
{
    const struct shape_params p = {keep, count(keep), drop, count(drop), match, count(match), NULL};
    struct shape *s = NULL;
    struct err err = {0};

    assert_int_equal(shape_create(&p, &s, &err), ERR_OK);
    assert_non_null(s);
    return s;
}

/* Scans text under rules; *selected may be NULL. */
static struct object *read_object(const struct object_rules *rules, const char *text, size_t cut,
                                  bool *selected)
{
    struct object_scan *saved = scan;
    struct object *o = NULL;

    scan = object_scan_create(rules);
    scan_feed(str_c(text), cut, cut);
    assert_int_equal(object_scan_end(scan, str_c("K"), str_c("v1"), &o), OBJECT_SCAN_OK);
    if (selected != NULL)
        *selected = object_scan_selected(scan);
    object_scan_destroy(&scan);
    scan = saved;
    return o;
}

/* ---- Entries. */

static void test_entries_that_are_no_paths(void **state)
{
    static const char *const cases[][2] = {
        {"",             "path '': at character 1: expected a member name or *"         },
        {"{.spec}",      "path '{.spec}': at character 1: expected the path without br" },
        {"a..b",         "path 'a..b': at character 3: expected a member name or *"     },
        {"a.b[0]",       "path 'a.b[0]': at character 4: expected [*] or a member: elem"},
        {"a['x'][12].b", "path 'a['x'][12].b': at character 7: expected [*] or a member"},
        {"[3]",          "path '[3]': at character 1: expected [*] or a member: element"},
        {"a=b[",         "path 'a=b[': at character 5: expected an index, * or a quoted"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const char *const keep[] = {"spec", cases[i][0]};
        const struct shape_params as_keep = {.keep = keep, .keep_count = 2};
        const struct shape_params as_drop = {.drop = &keep[1], .drop_count = 1};
        struct shape *s;
        struct err err = {0};

        assert_int_equal(shape_check_path(cases[i][0], &err), ERR_CONFIG);
        assert_int_equal(err.kind, ERR_CONFIG);
        assert_memory_equal(err.text, cases[i][1], strlen(cases[i][1]));
        assert_int_equal(shape_create(&as_keep, &s, &err), ERR_CONFIG);
        assert_null(s);
        assert_memory_equal(err.text, "keep: entry 2: path '", 21);
        assert_int_equal(shape_create(&as_drop, &s, NULL), ERR_CONFIG);
        assert_int_equal(shape_create(&as_drop, &s, &err), ERR_CONFIG);
        assert_memory_equal(err.text, "drop: entry 1: path '", 21);
    }
    assert_int_equal(shape_check_path("a['b[0]'][*].*.c\\.d", NULL), ERR_OK);
}

static void test_entries_that_are_no_match(void **state)
{
    static const char *const cases[][2] = {
        {"",          "path '': at character 1: expected a member name or *"          },
        {"!",         "path '': at character 1: expected a member name or *"          },
        {"=x",        "path '': at character 1: expected a member name or *"          },
        {"a. b=x",    "path 'a. b': at character 3: expected a member name or *"      },
        {"a==b",      "'a==b': at character 3: expected a value without = (or in qu"  },
        {"a=b=c",     "'a=b=c': at character 4: expected a value without ="           },
        {"!a=b",      "'!a=b': at character 3: expected the end (not equal is PATH!=" },
        {" ! a != b", "' ! a != b': at character 6: expected the end"                 },
        {"a='b",      "'a='b': at character 5: expected a closing '"                  },
        {"a='b\\'",   "'a='b\\'': at character 7: expected a closing '"               },
        {"a='",       "'a='': at character 4: expected a closing '"                   },
        {"a=\"b'",    "'a=\"b'': at character 6: expected a closing \""               },
        {"a='b' c",   "'a='b' c': at character 7: expected the end: the value is over"},
        {"a['b=c",    "path 'a['b=c': at character 7: expected a closing '"           },
        {"a b=c",     "path 'a b': at character 2: expected '.', '[' or the end"      },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const char *const match[] = {"!x", "y", cases[i][0]};
        const struct shape_params p = {.match = match, .match_count = 3};
        struct shape *s;
        struct err err = {0};

        assert_int_equal(shape_check_match(cases[i][0], &err), ERR_CONFIG);
        assert_int_equal(err.kind, ERR_CONFIG);
        assert_memory_equal(err.text, cases[i][1], strlen(cases[i][1]));
        assert_int_equal(shape_create(&p, &s, &err), ERR_CONFIG);
        assert_null(s);
        assert_memory_equal(err.text, "match: entry 3: ", 16);
    }
    assert_int_equal(shape_check_match("a[0]['x=y'] = 'b=c'", NULL), ERR_OK);
}

static void test_metadata_only(void **state)
{
    static const struct {
        const char *keep[MAX_ENTRIES];
        const char *drop[MAX_ENTRIES];
        const char *match[MAX_ENTRIES];
        bool yes;
    } cases[] = {
        {{"metadata"},                                    {NULL},   {NULL},                  true },
        {{"metadata.labels", ".metadata['annotations']"}, {"spec"}, {"metadata.labels.a=b"}, true },
        {{NULL},                                          {"spec"}, {NULL},                  false},
        {{NULL},                                          {NULL},   {"metadata.name"},       false},
        {{"metadata.labels", "spec.a"},                   {NULL},   {NULL},                  false},
        {{"metadata.labels"},                             {NULL},   {"spec.a"},              false},
        {{"metadata.labels"},                             {NULL},   {"!kind"},               false},
        {{"*"},                                           {NULL},   {NULL},                  false},
        {{"metadata"},                                    {NULL},   {"*.name=a"},            false},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct shape *s = make(cases[i].keep, cases[i].drop, cases[i].match);

        assert_int_equal(shape_is_metadata_only(s), cases[i].yes);
        shape_destroy(&s);
        assert_null(s);
        shape_destroy(&s);
    }
}

/* ---- Pruning. */

#define ID "\"apiVersion\":\"v1\",\"kind\":\"K\",\"metadata\":{\"name\":\"a\"}"

struct pruning {
    const char *keep[MAX_ENTRIES];
    const char *drop[MAX_ENTRIES];
    const char *text;
    const char *want;
};

static void check_pruning(const struct pruning *c)
{
    static const char *const none[] = {NULL};
    struct shape *shape = make(c->keep, c->drop, none);
    const struct object_rules rules = {.object_size = strlen(c->text), .shape = shape};

    for (size_t cut = 1; cut <= strlen(c->text); cut++) {
        bool selected = false;
        struct object *o = read_object(&rules, c->text, cut, &selected);

        scan_assert_json(o, c->want);
        assert_true(selected);
        object_unref(&o);
    }
    shape_destroy(&shape);
}

static const struct pruning prunings[] = {
    {{NULL},             {NULL},               "{" ID ",\"spec\":{\"a\":1}}",                 "{" ID ",\"spec\":{\"a\":1}}" },
    {{"x"},              {NULL},               "{" ID ",\"spec\":{\"a\":1}}",                 "{" ID "}"                    },
    {{"x"},              {NULL},               "{\"spec\":{\"a\":1}," ID "}",                 "{" ID "}"                    },
    {{"x"},              {NULL},               "{\"a\":1,\"b\":[{}]," ID ",\"c\":\"},\"}",    "{" ID "}"                    },
    {{"spec.a"},
     {NULL},
     "{" ID ",\"spec\":{\"a\":{ \"x\" : [ 1 ] },\"b\":2}}",
     "{" ID ",\"spec\":{\"a\":{ \"x\" : [ 1 ] }}}"                                                                          },
    {{"spec.a"},
     {NULL},
     "{\"spec\" : { \"b\" : 2 , \"a\" : { } } , " ID "}",
     "{\"spec\" : { \"a\" : { } } , " ID "}"                                                                                },
    {{"spec.a"},         {NULL},               "{\"spec\":{\"b\":2,\"c\":3},\"z\":0," ID "}", "{\"spec\":{}," ID "}"        },
    {{"spec.a"},         {NULL},               "{\"spec\":7," ID "}",                         "{\"spec\":7," ID "}"         },
    {{"spec.a.b"},
     {NULL},
     "{" ID ",\"spec\":{\"a\":[{\"b\":1},[[{\"b\":1}]],5]}}",
     "{" ID ",\"spec\":{\"a\":[{},[[{}]],5]}}"                                                                              },
    {{"l[*].b"},
     {NULL},
     "{\"l\":[{\"a\":1,\"b\":{\"a\":1}},3,{\"a\":2},[{\"b\":4}]]," ID "}",
     "{\"l\":[{\"b\":{\"a\":1}},3,{},[{}]]," ID "}"                                                                         },
    {{"l.*.b"},
     {NULL},
     "{\"l\":{\"x\":{\"a\":1,\"b\":2},\"y\":{\"b\":3}}," ID "}",
     "{\"l\":{\"x\":{\"b\":2},\"y\":{\"b\":3}}," ID "}"                                                                     },
    {{"l[*]"},           {NULL},               "{\"l\":[{\"a\":1},2]," ID ",\"m\":1}",        "{\"l\":[{\"a\":1},2]," ID "}"},
    {{"*.a.x", "b.*.y"},
     {NULL},
     "{\"b\":{\"a\":{\"x\":1,\"y\":2,\"z\":3},\"c\":{\"x\":4,\"y\":5}}," ID "}",
     "{\"b\":{\"a\":{\"x\":1,\"y\":2},\"c\":{\"y\":5}}," ID "}"                                                             },
    {{"spec", "spec.a"},
     {NULL},
     "{" ID ",\"spec\":{\"a\":1,\"b\":2}}",
     "{" ID ",\"spec\":{\"a\":1,\"b\":2}}"                                                                                  },
    {{NULL},             {"spec.a"},           "{" ID ",\"spec\":{\"a\":1,\"b\":2}}",         "{" ID ",\"spec\":{\"b\":2}}" },
    {{NULL},
     {"spec.a"},
     "{" ID ",\"spec\":{\"b\":[],\"a\":{\"b\":[]}} }",
     "{" ID ",\"spec\":{\"b\":[]} }"                                                                                        },
    {{NULL},             {"spec.a", "spec.b"}, "{" ID ",\"spec\": {\"a\":1,\"b\":2}}",        "{" ID ",\"spec\": {}}"       },
    {{NULL},
     {"spec.a", "spec.c"},
     "{\"spec\":{\"a\":1,\"b\":2,\"c\":3,\"d\":4}," ID "}",
     "{\"spec\":{\"b\":2,\"d\":4}," ID "}"                                                                                  },
    {{NULL},
     {"l[*].a"},
     "{\"l\":[{\"a\":1},{\"b\":1,\"a\":2},{\"a\":3,\"b\":4},5]," ID "}",
     "{\"l\":[{},{\"b\":1},{\"b\":4},5]," ID "}"                                                                            },
    {{NULL},             {"l[*]"},             "{\"l\":[{\"a\":1},2,[{\"b\":3}]]," ID "}",    "{\"l\":[{},2,[{}]]," ID "}"  },
    {{NULL},             {"l.*"},              "{\"l\":{\"a\":1,\"b\":{}}," ID "}",           "{\"l\":{}," ID "}"           },
    {{NULL},
     {"a.b.c"},
     "{\"a\":{\"b\":{\"c\":1}},\"x\":{\"c\":1}," ID "}",
     "{\"a\":{\"b\":{}},\"x\":{\"c\":1}," ID "}"                                                                            },
 /* drop wins over keep. */
    {{"spec.a"},         {"spec"},             "{" ID ",\"spec\":{\"a\":1}}",                 "{" ID "}"                    },
    {{"spec.a"},
     {"spec.a.b"},
     "{" ID ",\"spec\":{\"x\":0,\"a\":{\"b\":1,\"c\":2}}}",
     "{" ID ",\"spec\":{\"a\":{\"c\":2}}}"                                                                                  },
    {{"spec.a"},         {"spec.a"},           "{" ID ",\"spec\":{\"a\":{\"b\":1}}}",         "{" ID ",\"spec\":{}}"        },
 /* Names as they are decoded, and with a dot in them. */
    {{NULL},
     {"spec['a.b']"},
     "{" ID ",\"spec\":{\"a\\u002eb\":1,\"a\":{\"b\":2}}}",
     "{" ID ",\"spec\":{\"a\":{\"b\":2}}}"                                                                                  },
};

static void test_keep_and_drop(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(prunings); i++)
        check_pruning(&prunings[i]);
}

#define LONG_META                                                                                  \
    "{\"kind\":\"K\",\"apiVersion\":\"v1\",\"metadata\":{\"labels\":{\"a\":\"b\"},\"name\":\"a\"," \
    "\"generation\":3,\"namespace\":\"n\",\"managedFields\":[1],\"uid\":\"u\","                    \
    "\"annotations\":{},\"resourceVersion\":\"5\",\"x\":{\"name\":\"y\"}},\"spec\":1}"
#define SHORT_META(labels, generation)                                                         \
    "{\"kind\":\"K\",\"apiVersion\":\"v1\",\"metadata\":{" labels "\"name\":\"a\"," generation \
    "\"namespace\":\"n\",\"uid\":\"u\",\"resourceVersion\":\"5\"}}"

static void test_fields_that_always_stay_or_go(void **state)
{
    static const struct pruning cases[] = {
        {{"x"},                                         {NULL},                                       LONG_META, SHORT_META("",                          "")                 },
        {{NULL},                                        {"*"},                                        LONG_META, SHORT_META("",                          "")                 },
        {{"metadata"},                                  {"metadata"},                                 LONG_META, SHORT_META("",                          "")                 },
        {{NULL},                                        {"kind", "apiVersion", "metadata.*", "spec"}, LONG_META, SHORT_META("",                          "")                 },
        {{"metadata.generation"},                       {NULL},                                       LONG_META, SHORT_META("",                          "\"generation\":3,")},
        {{"metadata.labels", "metadata.managedFields"},
         {NULL},
         LONG_META,                                                                                              SHORT_META("\"labels\":{\"a\":\"b\"},", "")                 },
        {{"metadata.labels", "metadata.generation"},
         {"metadata.labels.a"},
         LONG_META,                                                                                              SHORT_META("\"labels\":{},",            "\"generation\":3,")},
        {{"metadata"},
         {"metadata.x", "metadata.annotations"},
         LONG_META,                                                                                              SHORT_META("\"labels\":{\"a\":\"b\"},", "\"generation\":3,")},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        check_pruning(&cases[i]);
}

/* Two objects that differ only in a generation that is cut are the same: an equal number elsewhere
 * is not taken for it. */
static void test_a_generation_that_is_cut_does_not_count(void **state)
{
    static const char *const keep[] = {"metadata.x", NULL};
    static const char *const none[] = {NULL};
    struct shape *shape = make(keep, none, none);
    const struct object_rules rules = {.object_size = 1000, .shape = shape};
    struct object *a =
        read_object(&rules, "{\"metadata\":{\"name\":\"a\",\"x\":4,\"generation\":4}}", 1, NULL);
    struct object *b =
        read_object(&rules, "{\"metadata\":{\"name\":\"a\",\"x\":4,\"generation\":5}}", 1, NULL);

    (void)state;
    assert_true(object_same(a, b));
    object_unref(&a);
    object_unref(&b);
    shape_destroy(&shape);
}

/* object_size bounds the object that the server sends; memory holds only the part that stays. */
static void test_sizes(void **state)
{
    static const char *const keep[] = {"x", NULL};
    static const char *const none[] = {NULL};
    struct shape *shape = make(keep, none, none);
    struct object_rules rules = {.object_size = 100000, .shape = shape};
    struct buf text = {0};
    struct object_scan *saved = scan;
    struct object *o;

    (void)state;
    buf_printf(&text, "{" ID ",\"data\":\"%09999d\"}", 0);
    o = read_object(&rules, buf_cstr(&text), 100, NULL);
    assert_true(object_bytes(o) < 300);
    object_unref(&o);
    rules.object_size = text.len - 1;
    scan = object_scan_create(&rules);
    scan_feed(buf_str(&text), 100, 100);
    assert_int_equal(object_scan_end(scan, str_c("K"), str_c("v1"), &o), OBJECT_SCAN_TOO_BIG);
    object_scan_destroy(&scan);
    scan = saved;
    shape_destroy(&shape);
    buf_free(&text);
}

/* ---- Matching. */

static bool is_selected(const char *const *match, const char *text, bool partial)
{
    static const char *const keep[] = {"x", NULL};
    static const char *const none[] = {NULL};
    struct shape *all = make(none, none, match);
    struct shape *pruned = make(keep, none, match);
    bool first = false;

    for (size_t cut = 1; cut <= strlen(text); cut += 3)
        for (int i = 0; i < 2; i++) {
            const struct object_rules rules = {
                .object_size = 1000, .shape = i == 0 ? all : pruned, .partial = partial};
            bool selected;
            struct object *o = read_object(&rules, text, cut, &selected);

            first = cut == 1 && i == 0 ? selected : first;
            assert_int_equal(selected, first);
            object_unref(&o);
        }
    shape_destroy(&all);
    shape_destroy(&pruned);
    return first;
}

static const char matched[] =
    "{\"metadata\":{\"name\":\"a\",\"annotations\":{\"a/b\":\"v\",\"k=v\":\"c\"},"
    "\"managedFields\":[{\"m\":\"x\"}]},\"spec\":{\"s\":\"caf\\u00e9\",\"n\":1.50,\"t\":true,"
    "\"f\":false,\"z\":null,\"o\":{\"i\":{}},\"e\":\"\",\"q\":\"it's = \\\"\","
    "\"l\":[{\"p\":80},{\"p\":443,\"q\":null}],\"m\":[],\"a.b\":\"dot\"}}";
static const struct {
    const char *entry;
    bool yes;
} matches[] = {
    {"spec.s=caf\xc3\xa9",             true },
    {"spec.s = caf\xc3\xa9 ",          true },
    {" spec.s= 'caf\xc3\xa9' ",        true },
    {"spec.s=cafe",                    false},
    {"spec.s!=cafe",                   true },
    {"spec.s != caf\xc3\xa9",          false},
    {"spec.n=1.50",                    true },
    {"spec.n=1.5",                     false},
    {"spec.t=true",                    true },
    {"spec.f=false",                   true },
    {"spec.f=true",                    false},
    {"spec.f!=true",                   true },
    {"spec.z=null",                    false},
    {"spec.z!=null",                   true },
    {"spec.e=",                        true },
    {"spec.e=''",                      true },
    {"spec.s=",                        false},
    {"spec.q=\"it's = \\\"\"",         true },
    {"spec.q='it\\'s = \"'",           true },
    {"spec.q='it\\'s'",                false},
    {"spec['a.b']=dot",                true },
    {"spec.a\\.b=dot",                 true },
    {"metadata.annotations['a/b']",    true },
    {"metadata.annotations['a/b']=v",  true },
    {"metadata.annotations['k=v']=c",  true },
    {"metadata.annotations['k=v']!=c", false},
    {"metadata.annotations[\"x\"]=v",  false},
    {"metadata.managedFields[*].m=x",  true },
    {"spec.s",                         true },
    {"spec.f",                         true },
    {"spec.e",                         true },
    {"spec.z",                         false},
    {"spec.none",                      false},
    {"spec.none.deeper",               false},
    {"spec.o",                         true },
    {"spec.o.i",                       true },
    {"spec.m",                         true },
    {"spec.m[*]",                      false},
    {"spec.m[0]",                      false},
    {"!spec.s",                        false},
    {"! spec.z",                       true },
    {"!spec.none.deeper",              true },
    {"!spec.o",                        false},
    {"spec.o=",                        false},
    {"spec.o!=",                       true },
    {"spec.o={}",                      false},
    {"spec.none=x",                    false},
    {"spec.none!=x",                   true },
    {"spec.l[*].p=443",                true },
    {"spec.l[*].p=8080",               false},
    {"spec.l[*].p!=443",               false},
    {"spec.l[*].p!=8080",              true },
    {"spec.l[0].p=80",                 true },
    {"spec.l[1].p=80",                 false},
    {"spec.l[1].p!=80",                true },
    {"spec.l.p=80",                    false},
    {"spec.l[*].q",                    false},
    {"!spec.l[*].q",                   true },
    {"!spec.l[2]",                     true },
    {"spec.*.i",                       true },
    {"spec.*=1.50",                    true },
    {"*.s=caf\xc3\xa9",                true },
 /* kind and apiVersion count as they will be written, also when the server leaves them to the
  * list. */
    {"kind=K",                         true },
    {"!kind",                          false},
    {"apiVersion!=v1",                 false},
};

static void test_match(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(matches); i++) {
        const char *const one[] = {matches[i].entry, NULL};
        const char *const with_true[] = {"spec.t=true", matches[i].entry, "spec.t", NULL};
        const char *const with_false[] = {matches[i].entry, "spec.t=false", NULL};

        assert_int_equal(shape_check_match(matches[i].entry, NULL), ERR_OK);
        assert_int_equal(is_selected(one, matched, false), matches[i].yes);
        assert_int_equal(is_selected(with_true, matched, false), matches[i].yes);
        assert_false(is_selected(with_false, matched, false));
    }
}

/* Each object is matched afresh, and match sees the kind of the watch, not
 * PartialObjectMetadata. */
static void test_match_of_each_object(void **state)
{
    static const char *const match[] = {"kind=K", "x=1", "kind!=PartialObjectMetadata", NULL};
    static const char *const none[] = {NULL};
    static const char *const texts[] = {
        "{\"kind\":\"K\",\"x\":1,\"metadata\":{\"name\":\"a\"}}",
        "{\"kind\":\"K\",\"metadata\":{\"name\":\"a\"}}",
        "{\"x\":1,\"metadata\":{\"name\":\"a\"}}",
        "{\"kind\":\"L\",\"x\":1,\"metadata\":{\"name\":\"a\"}}",
    };
    struct shape *shape = make(none, none, match);
    const struct object_rules rules = {.object_size = 1000, .shape = shape};
    struct object_scan *saved = scan;

    (void)state;
    scan = object_scan_create(&rules);
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        struct object *o = NULL;

        object_scan_text(scan, str_c(texts[i]));
        assert_int_equal(object_scan_end(scan, str_c("K"), str_c("v1"), &o), OBJECT_SCAN_OK);
        assert_int_equal(object_scan_selected(scan), i == 0 || i == 2);
        object_unref(&o);
    }
    object_scan_destroy(&scan);
    scan = saved;
    shape_destroy(&shape);
    assert_true(is_selected(match,
                            "{\"kind\":\"PartialObjectMetadata\",\"apiVersion\":\"meta.k8s.io/"
                            "v1\",\"x\":1,\"metadata\":{\"name\":\"a\"}}",
                            true));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_entries_that_are_no_paths),
        cmocka_unit_test(test_entries_that_are_no_match),
        cmocka_unit_test(test_metadata_only),
        cmocka_unit_test(test_keep_and_drop),
        cmocka_unit_test(test_fields_that_always_stay_or_go),
        cmocka_unit_test(test_a_generation_that_is_cut_does_not_count),
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_match),
        cmocka_unit_test(test_match_of_each_object),
    };

    return cmocka_run_group_tests(tests, scan_set_up, scan_clean_up);
}
