/* SPDX-License-Identifier: Apache-2.0 */
#include "json_model.h"

enum { CHILDREN = 5 };

struct model {
    enum json_type type;
    size_t text; /* of a scalar: index in texts */
    size_t n;
    size_t names[CHILDREN]; /* of an object: indices in names, ascending */
    struct model *children[CHILDREN];
};

/* Two ways to write each scalar. */
static const char *const texts[][2] = {
    {"0",            "0"              },
    {"1",            "1"              },
    {"1.0",          "1.0"            },
    {"\"\"",         "\"\""           },
    {"\"1\"",        "\"\\u0031\""    },
    {"\"a\\\"\"",    "\"\\u0061\\\"\""},
    {"\"\xc3\xa9\"", "\"\\u00e9\""    },
    {"true",         "true"           },
    {"false",        "false"          },
    {"null",         "null"           },
};

enum { NULL_TEXT = ARRAY_LEN(texts) - 1 };

/* Two ways to write each name, and its step in a path; NULL = a path cannot hold it. */
static const char *const names[][3] = {
    {"a",        "\\u0061",     ".a"          },
    {"b-1_X",    "b-1\\u005fX", ".b-1_X"      },
    {"",         "",            "['']"        },
    {"x/y.z",    "x\\/y.z",     "['x/y.z']"   },
    {"it's",     "it\\u0027s",  "['it\\'s']"  },
    {"\\\\",     "\\u005c",     "['\\\\']"    },
    {"\\\"",     "\\u0022",     "['\"']"      },
    {"*",        "\\u002a",     "['*']"       },
    {"\xc3\xa9", "\\u00e9",     "['\xc3\xa9']"},
    {"\\n",      "\\u000a",     NULL          },
    {"0",        "\\u0030",     ".0"          },
};

struct model *model_random(struct gen *g, unsigned height)
{
    struct model m = {.type = JSON_NULL, .text = gen_below(g, ARRAY_LEN(texts))};

    if (height == 0 || gen_below(g, 4) == 0)
        return MEM_NEW(struct model, .type = m.type, .text = m.text);
    m.type = gen_below(g, 3) > 0 ? JSON_OBJECT : JSON_ARRAY;
    m.text = 0;
    for (size_t name = 0; name < ARRAY_LEN(names) && m.n < CHILDREN; name++) {
        if (gen_below(g, 3) > 0)
            continue;
        m.names[m.n] = name;
        m.children[m.n++] = model_random(g, height - 1);
    }
    return mem_dup(&m, sizeof(m));
}

void model_free(struct model **m)
{
    for (size_t i = 0; i < (*m)->n; i++)
        model_free(&(*m)->children[i]);
    free(*m);
    *m = NULL;
}

static bool is_container(const struct model *m)
{
    return m->type == JSON_OBJECT || m->type == JSON_ARRAY;
}

struct model *model_changed(const struct model *m, struct gen *g)
{
    struct model copy = *m;

    if (gen_below(g, 25) == 0)
        return model_random(g, 2);
    copy.n = 0;
    for (size_t i = 0; i < m->n; i++) {
        if (gen_below(g, 25) == 0)
            continue;
        copy.names[copy.n] = m->names[i];
        copy.children[copy.n++] = model_changed(m->children[i], g);
    }
    return mem_dup(&copy, sizeof(copy));
}

static void put_name(const struct model *m, size_t i, bool other, struct buf *out)
{
    if (m->type == JSON_OBJECT)
        buf_printf(out, "\"%s\":", names[m->names[i]][other]);
}

static void put_loose(const struct model *m, struct gen *g, struct buf *out)
{
    size_t first = m->n > 0 ? gen_below(g, m->n) : 0;

    if (!is_container(m)) {
        buf_puts(out, texts[m->text][gen_below(g, 2)]);
        return;
    }
    buf_putc(out, m->type == JSON_OBJECT ? '{' : '[');
    for (size_t k = 0; k < m->n; k++) {
        size_t i = m->type == JSON_OBJECT ? (first + k) % m->n : k;

        buf_puts(out, k == 0 ? "" : gen_below(g, 2) == 0 ? "," : " ,\n");
        put_name(m, i, gen_below(g, 2) == 0, out);
        buf_puts(out, gen_below(g, 2) == 0 ? "" : "\t");
        put_loose(m->children[i], g, out);
    }
    buf_putc(out, m->type == JSON_OBJECT ? '}' : ']');
}

static void put_exact(const struct model *m, struct buf *out)
{
    if (!is_container(m)) {
        buf_puts(out, m->text == NULL_TEXT ? "\"this is null\"" : texts[m->text][0]);
        return;
    }
    buf_putc(out, m->type == JSON_OBJECT ? '{' : '[');
    for (size_t i = 0; i < m->n; i++) {
        buf_puts(out, i == 0 ? "" : ",");
        put_name(m, i, false, out);
        put_exact(m->children[i], out);
    }
    buf_putc(out, m->type == JSON_OBJECT ? '}' : ']');
}

void model_put(const struct model *m, enum model_style style, struct gen *g, struct buf *out)
{
    if (style == MODEL_EXACT)
        put_exact(m, out);
    else
        put_loose(m, g, out);
}

/* The path of child i of the value at path, or NULL. The caller frees it. */
static char *path_of(const struct model *m, size_t i, const char *path)
{
    const char *step = m->type == JSON_OBJECT ? names[m->names[i]][2] : "";

    if (step == NULL)
        return NULL;
    if (m->type == JSON_ARRAY)
        return mem_printf("%s[%zu]", path, i);
    return mem_printf("%s%s", path, path[0] == '\0' && step[0] == '.' ? step + 1 : step);
}

static void put_leaves(const struct model *m, const char *path, struct buf *out)
{
    if (!is_container(m))
        buf_printf(out, "%s\t%s\n", path, texts[m->text][0]);
    for (size_t i = 0; i < m->n; i++) {
        char *child = path_of(m, i, path);
        char *hidden = mem_printf("%s['?']", path);

        put_leaves(m->children[i], child != NULL ? child : hidden, out);
        free(hidden);
        free(child);
    }
}

void model_put_leaves(const struct model *m, struct buf *out)
{
    put_leaves(m, "", out);
}

static bool equal(const struct model *a, const struct model *b)
{
    bool same = a != NULL && b != NULL && a->type == b->type && a->text == b->text && a->n == b->n;

    for (size_t i = 0; same && i < a->n; i++)
        same = (a->type == JSON_ARRAY || a->names[i] == b->names[i]) &&
               equal(a->children[i], b->children[i]);
    return same;
}

static const struct model *child_like(const struct model *m, const struct model *parent, size_t i)
{
    if (parent->type == JSON_ARRAY)
        return i < m->n ? m->children[i] : NULL;
    for (size_t k = 0; k < m->n; k++) {
        if (m->names[k] == parent->names[i])
            return m->children[k];
    }
    return NULL;
}

static void diff(const struct model *a, const struct model *b, const char *path, size_t max,
                 struct buf *lines);

/* The differences in the children of one that have a counterpart in other (both) or have none. */
static void diff_children(const struct model *one, const struct model *other, bool both,
                          const char *path, size_t max, struct buf *lines)
{
    for (size_t i = 0; i < one->n; i++) {
        const struct model *match = child_like(other, one, i);
        char *child = path_of(one, i, path);

        if ((match != NULL) == both)
            diff(one->children[i], match, child != NULL ? child : path, child != NULL ? max - 1 : 0,
                 lines);
        free(child);
    }
}

static void diff(const struct model *a, const struct model *b, const char *path, size_t max,
                 struct buf *lines)
{
    if (equal(a, b))
        return;
    if (b == NULL || a->type != b->type || !is_container(a) || max == 0) {
        buf_printf(lines, "%s\n", path[0] != '\0' ? path : "*");
        return;
    }
    diff_children(a, b, true, path, max, lines);
    diff_children(a, b, false, path, max, lines);
    diff_children(b, a, false, path, max, lines);
}

void model_diff(const struct model *a, const struct model *b, size_t max, struct buf *lines)
{
    diff(a, b, "", max, lines);
}
