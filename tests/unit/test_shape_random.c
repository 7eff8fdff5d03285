/* SPDX-License-Identifier: Apache-2.0 */
/* Random shapes on random objects: the bytes that stay of an object, and whether it is selected, must be
 * those of a naive program that knows the whole object as a tree. */
#include "scan_probe.h"

#include <stdio.h>
#include <string.h>

#include "campaign.h"
#include "kube/shape.h"

enum { MAX_NODES = 400, MAX_STEPS = 5, MAX_PATHS = 4 };

/* ---- A tree, and its text. */

enum node_type { OBJECT, ARRAY, SCALAR };

struct node {
    enum node_type type;
    const char *key;  /* in an object */
    const char *text; /* SCALAR: as match compares it; NULL = null */
    size_t key_from;  /* in the text of the whole: the key, the value, and the byte behind it */
    size_t from;
    size_t to;
    size_t child; /* index of the first one, 0 = none */
    size_t sibling;
};

static struct gen gen;
static struct node nodes[MAX_NODES];
static size_t node_count;
static struct buf text;

/* Names as written and as meant; the first ones are also those of paths. */
static const char *const names[][2] = {
    {"a",       "a"  },
    {"b",       "b"  },
    {"c",       "c"  },
    {"a.b",     "a.b"},
    {"\\u0062", "b"  },
    {"d,}",     "d,}"},
};
static const char *const scalars[][2] = {
    {"1",           "1"    },
    {"-2.50",       "-2.50"},
    {"true",        "true" },
    {"false",       "false"},
    {"null",        NULL   },
    {"\"x\"",       "x"    },
    {"\"\\u0078\"", "x"    },
    {"\"\"",        ""     },
    {"\"},{,\"",    "},{," },
    {"12",          "12"   },
    {"\"a\\\"]\"",  "a\"]" },
};

static void put_space(void)
{
    gen_clear(&gen);
    gen_space(&gen);
    buf_append_str(&text, buf_str(&gen.text));
}

static size_t new_node(void)
{
    assert_true(node_count < MAX_NODES);
    nodes[node_count] = (struct node){.type = SCALAR};
    return node_count++;
}

static size_t gen_node(unsigned height);
static size_t gen_metadata(void);

/* Puts the name of a member and the colon; returns where the name begins. */
static size_t put_key(const char *written)
{
    size_t from = text.len;

    buf_printf(&text, "\"%s\"", written);
    put_space();
    buf_putc(&text, ':');
    put_space();
    return from;
}

static size_t gen_member(const char *written, const char *meant, unsigned height)
{
    size_t key_from = put_key(written);
    size_t i = gen_node(height);

    nodes[i].key = meant;
    nodes[i].key_from = key_from;
    return i;
}

static void append(size_t parent, size_t *last, size_t child)
{
    if (*last == 0)
        nodes[parent].child = child;
    else
        nodes[*last].sibling = child;
    *last = child;
}

static void gen_children(size_t parent, unsigned height)
{
    size_t last = 0;

    for (size_t i = 0, n = gen_below(&gen, 5); i < n && node_count < MAX_NODES - 100; i++) {
        const char *const *name = names[gen_below(&gen, ARRAY_LEN(names))];

        if (i > 0)
            buf_putc(&text, ',');
        put_space();
        size_t child = nodes[parent].type == OBJECT ? gen_member(name[0], name[1], height - 1)
                                                    : gen_node(height - 1);
        append(parent, &last, child);
        put_space();
    }
    if (last == 0)
        put_space();
}

static size_t gen_node(unsigned height)
{
    size_t i = new_node();

    nodes[i].from = text.len;
    if (height == 0 || gen_below(&gen, 4) == 0) {
        const char *const *scalar = scalars[gen_below(&gen, ARRAY_LEN(scalars))];

        nodes[i].text = scalar[1];
        buf_puts(&text, scalar[0]);
    } else {
        nodes[i].type = gen_below(&gen, 5) < 3 ? OBJECT : ARRAY;
        buf_putc(&text, nodes[i].type == OBJECT ? '{' : '[');
        gen_children(i, height);
        buf_putc(&text, nodes[i].type == OBJECT ? '}' : ']');
    }
    nodes[i].to = text.len;
    return i;
}

/* A member with a text of its own. */
static size_t put_fixed(const char *key, const char *json, const char *meant)
{
    size_t i = new_node();

    nodes[i] = (struct node){.type = SCALAR, .text = meant, .key = key, .key_from = put_key(key)};
    nodes[i].from = text.len;
    buf_puts(&text, json);
    nodes[i].to = text.len;
    return i;
}

/* The object (top) or its metadata; its members come in any order. */
static void gen_known_members(size_t parent, bool top)
{
    static const char *const known[2][6][3] = {
        {{"name", "\"o\"", "o"},
         {"resourceVersion", "\"17\"", "17"},
         {"generation", "4", "4"},
         {"managedFields"},
         {"annotations"},
         {"a"}                                                                                    },
        {{"kind", "\"K\"", "K"}, {"apiVersion", "\"v1\"", "v1"}, {"metadata"}, {"a"}, {"b"}, {"c"}},
    };
    size_t order[] = {0, 1, 2, 3, 4, 5};
    size_t last = 0;

    nodes[parent].type = OBJECT;
    nodes[parent].from = text.len;
    buf_putc(&text, '{');
    for (size_t i = ARRAY_LEN(order); i > 0; i--) {
        size_t k = gen_below(&gen, i);
        const char *const *m = known[top][order[k]];

        order[k] = order[i - 1];
        buf_puts(&text, last > 0 ? "," : "");
        put_space();
        if (strcmp(m[0], "metadata") == 0)
            append(parent, &last, gen_metadata());
        else if (m[1] != NULL)
            append(parent, &last, put_fixed(m[0], m[1], m[2]));
        else
            append(parent, &last, gen_member(m[0], m[0], top ? 4 : 2));
        put_space();
    }
    buf_putc(&text, '}');
    nodes[parent].to = text.len;
}

static size_t gen_metadata(void)
{
    size_t i = new_node();

    nodes[i].key = "metadata";
    nodes[i].key_from = put_key("metadata");
    gen_known_members(i, false);
    return i;
}

/* ---- Paths. */

struct path {
    size_t n;
    const char *steps[MAX_STEPS]; /* NULL = all */
    size_t index[MAX_STEPS];      /* where steps is "": an element */
    char text[200];
};

static void gen_path(struct path *p, bool index)
{
    static const char *const firsts[] = {"metadata", "kind", "a", "b", "c", "a", "b", "c"};
    static const char *const others[] = {"a",          "b",           "c",    "a.b",          "d,}",
                                         "generation", "annotations", "name", "managedFields"};
    struct buf out = {0};

    p->n = 1 + gen_below(&gen, MAX_STEPS);
    for (size_t i = 0; i < p->n; i++) {
        size_t what = gen_below(&gen, 8);

        p->steps[i] = i == 0 ? firsts[gen_below(&gen, ARRAY_LEN(firsts))]
                             : others[gen_below(&gen, what > 3 ? 3 : ARRAY_LEN(others))];
        if (what < 3)
            p->steps[i] = NULL;
        if (what == 7 && index)
            p->steps[i] = "";
        p->index[i] = gen_below(&gen, 3);
        if (p->steps[i] == NULL)
            buf_puts(&out, what == 0 && i > 0 ? ".*" : "[*]");
        else if (p->steps[i][0] == '\0')
            buf_printf(&out, "[%zu]", p->index[i]);
        else
            buf_printf(&out, "['%s']", p->steps[i]);
    }
    assert_true(out.len < sizeof(p->text));
    memcpy(p->text, buf_cstr(&out), out.len + 1);
    buf_free(&out);
}

static bool fulfils(const struct path *p, size_t step, const struct node *n, size_t index)
{
    if (p->steps[step] == NULL)
        return true;
    if (p->steps[step][0] == '\0')
        return n->key == NULL && p->index[step] == index;
    return n->key != NULL && strcmp(n->key, p->steps[step]) == 0;
}

/* A way from the object to a node: the nodes on it, and their indices. */
struct way {
    const struct way *up;
    const struct node *node;
    size_t index;
    size_t depth; /* 0 = the object itself */
};

static const struct way *up_to(const struct way *w, size_t depth)
{
    while (w->depth > depth)
        w = w->up;
    return w;
}

/* Does the path select the node, a node above it (whole), or a node below it? */
static bool agrees(const struct path *p, const struct way *w)
{
    for (size_t d = 1; d <= w->depth && d <= p->n; d++)
        if (!fulfils(p, d - 1, up_to(w, d)->node, up_to(w, d)->index))
            return false;
    return true;
}

static struct path keep[MAX_PATHS];
static struct path drop[MAX_PATHS];
static struct path match[MAX_PATHS];
static size_t keep_n;
static size_t drop_n;
static size_t match_n;

/* The rules in one sentence each: a path that ends at the node or above drops it; the node is kept
 * when there is no keep, or a path that ends there or above, or one that goes on below. */
static bool stays(const struct way *w)
{
    bool kept = keep_n == 0;

    for (size_t i = 0; i < drop_n; i++)
        if (drop[i].n <= w->depth && agrees(&drop[i], w))
            return false;
    for (size_t i = 0; i < keep_n; i++)
        kept = kept || agrees(&keep[i], w);
    return kept;
}

static bool is_one_of(const char *key, const char *const *list)
{
    for (; *list != NULL; list++)
        if (strcmp(key, *list) == 0)
            return true;
    return false;
}

static bool member_stays(const struct way *w)
{
    static const char *const top[] = {"kind", "apiVersion", "metadata", NULL};
    static const char *const meta[] = {"name", "resourceVersion", NULL};
    bool in_metadata = w->depth == 2 && strcmp(w->up->node->key, "metadata") == 0;

    if ((w->depth == 1 && is_one_of(w->node->key, top)) ||
        (in_metadata && is_one_of(w->node->key, meta)))
        return true;
    if (in_metadata && strcmp(w->node->key, "managedFields") == 0)
        return false;
    return stays(w);
}

static struct buf want;

static void put_text(size_t from, size_t to)
{
    buf_append(&want, text.data + from, to - from);
}

static void prune(const struct way *w);

/* White space before a member goes with the member before; a comma goes with the first member that
 * is cut. */
static void prune_object(const struct way *w)
{
    size_t end = w->node->from + 1;
    bool kept_one = false;

    for (size_t i = w->node->child; i != 0; i = nodes[i].sibling) {
        const struct way child = {w, &nodes[i], 0, w->depth + 1};
        size_t from = end;

        end = nodes[i].to;
        if (!member_stays(&child))
            continue;
        if (!kept_one && i != w->node->child)
            from = (size_t)((char *)memchr(text.data + from, ',', nodes[i].key_from - from) -
                            text.data) +
                   1;
        put_text(from, nodes[i].from);
        prune(&child);
        kept_one = true;
    }
    put_text(end, w->node->to);
}

static void prune_array(const struct way *w)
{
    size_t end = w->node->from + 1;
    size_t index = 0;

    for (size_t i = w->node->child; i != 0; i = nodes[i].sibling) {
        const struct way child = {w, &nodes[i], index++, w->depth + 1};

        put_text(end, nodes[i].from);
        prune(&child);
        end = nodes[i].to;
    }
    put_text(end, w->node->to);
}

static void prune(const struct way *w)
{
    if (w->node->type == SCALAR) {
        put_text(w->node->from, w->node->to);
        return;
    }
    put_text(w->node->from, w->node->from + 1);
    if (w->node->type == OBJECT)
        prune_object(w);
    else
        prune_array(w);
}

/* ---- Matching. */

/* Does the path select the value? With value NULL: any value but null? */
static bool any_selected(const struct path *p, const struct way *w, const char *value)
{
    size_t index = 0;

    if (w->depth == p->n) {
        bool null = w->node->type == SCALAR && w->node->text == NULL;

        return value == NULL
                   ? !null
                   : w->node->type == SCALAR && !null && strcmp(w->node->text, value) == 0;
    }
    for (size_t i = w->node->child; i != 0; i = nodes[i].sibling, index++) {
        const struct way child = {w, &nodes[i], index, w->depth + 1};

        if (fulfils(p, w->depth, &nodes[i], index) && any_selected(p, &child, value))
            return true;
    }
    return false;
}

/* ---- All together. */

static struct shape *gen_shape(bool *selected)
{
    static const char *const values[] = {"1", "x", "true", "K", "o", "},{,"};
    const char *texts[3][MAX_PATHS];
    char entries[MAX_PATHS][240];
    const struct way top = {NULL, &nodes[0], 0, 0};
    struct shape *shape;

    keep_n = gen_below(&gen, MAX_PATHS + 1);
    drop_n = gen_below(&gen, 2) * gen_below(&gen, MAX_PATHS + 1);
    match_n = gen_below(&gen, 3);
    *selected = true;
    for (size_t i = 0; i < keep_n; i++) {
        gen_path(&keep[i], false);
        texts[0][i] = keep[i].text;
    }
    for (size_t i = 0; i < drop_n; i++) {
        gen_path(&drop[i], false);
        texts[1][i] = drop[i].text;
    }
    for (size_t i = 0; i < match_n; i++) {
        const char *value = values[gen_below(&gen, ARRAY_LEN(values))];
        bool equal = gen_below(&gen, 2) == 0;
        bool negated = gen_below(&gen, 2) == 0;

        gen_path(&match[i], true);
        if (equal)
            snprintf(entries[i], sizeof(entries[i]), "%s %s '%s'", match[i].text,
                     negated ? "!=" : "=", value);
        else
            snprintf(entries[i], sizeof(entries[i]), "%s%s", negated ? "!" : "", match[i].text);
        texts[2][i] = entries[i];
        *selected = *selected && any_selected(&match[i], &top, equal ? value : NULL) != negated;
    }
    const struct shape_params p = {texts[0], keep_n, texts[1], drop_n, texts[2], match_n, NULL};
    assert_int_equal(shape_create(&p, &shape, NULL), ERR_OK);
    return shape;
}

static void check_seed(uint64_t seed, size_t counts[2])
{
    struct object_rules rules = {.object_size = 1 << 20};
    struct object_scan *saved = scan;
    struct shape *shape;
    bool selected;

    rng_seed(&gen.rng, seed);
    node_count = 0;
    buf_clear(&text);
    buf_clear(&want);
    gen_known_members(new_node(), true);
    shape = gen_shape(&selected);
    prune(&(struct way){NULL, &nodes[0], 0, 0});
    counts[selected]++;
    rules.shape = shape;
    scan = object_scan_create(&rules);
    for (size_t round = 0; round < 12; round++) {
        struct object *o = NULL;

        scan_feed(buf_str(&text), round < 3 ? round + 1 : 1 + gen_below(&gen, text.len),
                  round < 3 ? round + 1 : 1 + gen_below(&gen, 40));
        assert_int_equal(object_scan_end(scan, str_c("K"), str_c("v1"), &o), OBJECT_SCAN_OK);
        scan_assert_json(o, buf_cstr(&want));
        assert_int_equal(object_scan_selected(scan), selected);
        object_unref(&o);
    }
    object_scan_destroy(&scan);
    scan = saved;
    shape_destroy(&shape);
}

static void test_random_shapes_on_random_objects(void **state)
{
    size_t counts[2] = {0};
    size_t pruned = 0;
    const size_t seeds = campaign_size(1000, 6000);

    (void)state;
    for (uint64_t seed = 0; seed < seeds; seed++) {
        check_seed(seed, counts);
        pruned += want.len < text.len / 2;
    }
    assert_true(counts[0] > seeds / 6 && counts[1] > seeds / 6);
    assert_true(pruned > seeds / 12 && pruned < seeds / 12 * 11);
    buf_free(&text);
    buf_free(&want);
    gen_free(&gen);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_shapes_on_random_objects),
    };

    return cmocka_run_group_tests(tests, scan_set_up, scan_clean_up);
}
