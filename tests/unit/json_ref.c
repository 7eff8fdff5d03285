/* SPDX-License-Identifier: Apache-2.0 */
#include "json_ref.h"

bool ref_add(void *arg, const struct json_token *t)
{
    struct ref_tokens *l = arg;

    assert_true(l->n < ARRAY_LEN(l->v));
    l->v[l->n++] = (struct ref_token){t->type, t->depth, t->end, l->texts.len, t->text.n};
    buf_append_str(&l->texts, t->text);
    return true;
}

void ref_clear(struct ref_tokens *l)
{
    l->n = 0;
    buf_clear(&l->texts);
}

void ref_assert_same(const struct ref_tokens *a, const struct ref_tokens *b)
{
    assert_int_equal(a->n, b->n);
    for (size_t i = 0; i < a->n; i++) {
        const struct ref_token *x = &a->v[i];
        const struct ref_token *y = &b->v[i];

        assert_int_equal(x->type, y->type);
        assert_int_equal(x->depth, y->depth);
        assert_int_equal(x->end, y->end);
        assert_true(str_eq(str_of(a->texts.data + x->text_at, x->text_n),
                           str_of(b->texts.data + y->text_at, y->text_n)));
    }
}

size_t gen_below(struct gen *g, size_t n)
{
    return (size_t)rng_between(&g->rng, 0, n - 1);
}

void gen_space(struct gen *g)
{
    static const char *const spaces[] = {"", "", "", "", " ", "\n  ", "\t", "\r\n", "    "};

    buf_puts(&g->text, spaces[gen_below(g, ARRAY_LEN(spaces))]);
}

static void gen_token(struct gen *g, enum json_type type, unsigned depth, const char *raw,
                      struct str text)
{
    buf_puts(&g->text, raw);
    ref_add(&g->tokens,
            &(struct json_token){.type = type, .depth = depth, .text = text, .end = g->text.len});
}

/* A string: pieces in their written and their decoded form. */
static void gen_string(struct gen *g, enum json_type type, unsigned depth)
{
    static const char *const pieces[][2] = {
        {"a",                "a"               },
        {"\\\\",             "\\"              },
        {"\\\"",             "\""              },
        {"\\u00e9",          "\xc3\xa9"        },
        {"\xc3\xa9",         "\xc3\xa9"        },
        {"\\ud83d\\ude00",   "\xf0\x9f\x98\x80"},
        {"\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80"},
        {"{[,:]}",           "{[,:]}"          },
        {"\\n",              "\n"              },
        {" \\/ ",            " / "             },
        {"managedFields",    "managedFields"   },
    };
    struct buf raw = {0};
    struct buf text = {0};

    buf_putc(&raw, '"');
    for (size_t n = gen_below(g, 5); n > 0; n--) {
        size_t i = gen_below(g, ARRAY_LEN(pieces));

        buf_puts(&raw, pieces[i][0]);
        buf_puts(&text, pieces[i][1]);
    }
    buf_putc(&raw, '"');
    gen_token(g, type, depth, buf_cstr(&raw), buf_str(&text));
    buf_free(&raw);
    buf_free(&text);
}

static void gen_scalar(struct gen *g, unsigned depth)
{
    static const char *const numbers[] = {"0", "-0", "12", "-3.25", "1e9", "6.02E+23", "123456789"};
    const char *number = numbers[gen_below(g, ARRAY_LEN(numbers))];

    switch (gen_below(g, 5)) {
    case 0:
        gen_token(g, JSON_NUMBER, depth, number, str_c(number));
        break;
    case 1:
        gen_token(g, JSON_TRUE, depth, "true", (struct str){0});
        break;
    case 2:
        gen_token(g, JSON_FALSE, depth, "false", (struct str){0});
        break;
    case 3:
        gen_token(g, JSON_NULL, depth, "null", (struct str){0});
        break;
    default:
        gen_string(g, JSON_STRING, depth);
        break;
    }
}

void gen_value(struct gen *g, unsigned depth, unsigned height)
{
    bool object = gen_below(g, 2) == 0;
    struct str none = {0};

    if (height == 0 || gen_below(g, 3) == 0) {
        gen_scalar(g, depth);
        return;
    }
    gen_token(g, object ? JSON_OBJECT : JSON_ARRAY, depth, object ? "{" : "[", none);
    for (size_t i = 0, n = gen_below(g, 5); i < n; i++) {
        gen_space(g);
        if (i > 0)
            buf_putc(&g->text, ',');
        gen_space(g);
        if (object) {
            gen_string(g, JSON_KEY, depth + 1);
            gen_space(g);
            buf_putc(&g->text, ':');
            gen_space(g);
        }
        gen_value(g, depth + 1, height - 1);
    }
    gen_space(g);
    gen_token(g, object ? JSON_OBJECT_END : JSON_ARRAY_END, depth, object ? "}" : "]", none);
}

void gen_clear(struct gen *g)
{
    buf_clear(&g->text);
    ref_clear(&g->tokens);
}

void gen_free(struct gen *g)
{
    buf_free(&g->text);
    buf_free(&g->tokens.texts);
}
