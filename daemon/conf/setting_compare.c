/* SPDX-License-Identifier: Apache-2.0 */
#include "conf/setting_compare.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/panic.h"

static bool same_str(const void *a, const void *b)
{
    return strcmp(((const struct conf_str *)a)->v, ((const struct conf_str *)b)->v) == 0;
}

static bool same_bool(const void *a, const void *b)
{
    return ((const struct conf_bool *)a)->v == ((const struct conf_bool *)b)->v;
}

static bool same_int(const void *a, const void *b)
{
    return ((const struct conf_int *)a)->v == ((const struct conf_int *)b)->v;
}

static bool same_num(const void *a, const void *b)
{
    double x = ((const struct conf_num *)a)->v;
    double y = ((const struct conf_num *)b)->v;

    return !(x < y) && !(x > y); /* the compiler warns of == between numbers */
}

static bool same_ms(const void *a, const void *b)
{
    return ((const struct conf_ms *)a)->v == ((const struct conf_ms *)b)->v;
}

static bool same_size(const void *a, const void *b)
{
    return ((const struct conf_size *)a)->v == ((const struct conf_size *)b)->v;
}

static bool same_word(const void *a, const void *b)
{
    return ((const struct conf_word *)a)->v == ((const struct conf_word *)b)->v;
}

static bool same_words(const void *a, const void *b)
{
    return ((const struct conf_words *)a)->v == ((const struct conf_words *)b)->v;
}

static bool same_span(const void *a, const void *b)
{
    const struct conf_span *x = a;
    const struct conf_span *y = b;

    return x->min_ms == y->min_ms && x->max_ms == y->max_ms;
}

static bool same_list(const void *a, const void *b)
{
    const struct conf_list *x = a;
    const struct conf_list *y = b;
    bool same = x->n == y->n;

    for (size_t i = 0; same && i < x->n; i++)
        same = same_str(&x->v[i], &y->v[i]);
    return same;
}

static bool same_ints(const void *a, const void *b)
{
    const struct conf_ints *x = a;
    const struct conf_ints *y = b;
    bool same = x->n == y->n;

    for (size_t i = 0; same && i < x->n; i++)
        same = same_int(&x->v[i], &y->v[i]);
    return same;
}

static bool has_pair(const struct conf_map *map, const struct conf_pair *pair)
{
    for (size_t i = 0; i < map->n; i++)
        if (strcmp(map->v[i].name, pair->name) == 0)
            return strcmp(map->v[i].value, pair->value) == 0;
    return false;
}

/* Names are distinct, so as many pairs as in b, all of them in b, are those of b. */
static bool same_map(const void *a, const void *b)
{
    const struct conf_map *x = a;
    const struct conf_map *y = b;
    bool same = x->n == y->n;

    for (size_t i = 0; same && i < x->n; i++)
        same = has_pair(y, &x->v[i]);
    return same;
}

/* The comparison for each kind of value; GROUP and NAMED have none. */
static bool (*const same_of[])(const void *a, const void *b) = {
    [SETTING_STR] = same_str,   [SETTING_BOOL] = same_bool,   [SETTING_INT] = same_int,
    [SETTING_NUM] = same_num,   [SETTING_MS] = same_ms,       [SETTING_SIZE] = same_size,
    [SETTING_WORD] = same_word, [SETTING_WORDS] = same_words, [SETTING_CODE] = same_int,
    [SETTING_LIST] = same_list, [SETTING_INTS] = same_ints,   [SETTING_SPAN] = same_span,
    [SETTING_MAP] = same_map,
};

static bool is_written(const void *slot)
{
    return ((const struct where *)slot)->line > 0;
}

static bool same_value(const struct setting *s, const void *a, const void *b)
{
    ensure((size_t)s->type < ARRAY_LEN(same_of) && same_of[s->type] != NULL);
    return same_of[s->type](a, b) && (!s->written_counts || is_written(a) == is_written(b));
}

static void note_difference(void *arg, const struct setting_difference *d)
{
    bool *differs = arg;

    (void)d;
    *differs = true;
}

static bool same_element(const struct setting *s, const char *a, const char *b)
{
    bool differs = !same_str(a, b); /* each begins with its name */

    if (!differs)
        setting_compare(s->group, a, b, note_difference, &differs);
    return !differs;
}

static bool same_named(const struct setting *s, const char *a, const char *b)
{
    const char *x = NULL;
    const char *y = NULL;
    size_t n = 0;
    size_t m = 0;

    /* Of which struct the pointers are, only the table knows. */
    memcpy(&x, a + s->offset, sizeof(x));
    memcpy(&y, b + s->offset, sizeof(y));
    memcpy(&n, a + s->named.count, sizeof(n));
    memcpy(&m, b + s->named.count, sizeof(m));
    bool same = n == m;
    for (size_t i = 0; same && i < n; i++)
        same = same_element(s, x + i * s->named.size, y + i * s->named.size);
    return same;
}

/* Two structs, or two groups in them, on the way through the tables. */
struct comparing {
    const char *a;
    const char *b;
    const char *prefix;         /* of keys: "", or the groups with a dot behind each */
    enum setting_change change; /* of the group; NO_CLASS = each row has its own */
    setting_compare_cb *fn;
    void *arg;
};

static void compare_table(const struct setting *table, const struct comparing *c);

static enum setting_change change_of(const struct comparing *c, const struct setting *s)
{
    return c->change != SETTING_NO_CLASS ? c->change : s->change;
}

static void compare_group(const struct setting *s, const struct comparing *c)
{
    char *prefix = mem_printf("%s%s.", c->prefix, s->key);
    struct comparing inner = *c;

    inner.a += s->offset;
    inner.b += s->offset;
    inner.prefix = prefix;
    inner.change = change_of(c, s);
    compare_table(s->group, &inner);
    free(prefix);
}

static void tell(const struct setting *s, const struct comparing *c)
{
    bool is_named = s->type == SETTING_NAMED;
    char *key = mem_printf("%s%s", c->prefix, s->key);
    const struct setting_difference d = {
        .key = key,
        .row = s,
        .change = change_of(c, s),
        .a = is_named ? NULL : c->a + s->offset,
        .b = is_named ? NULL : c->b + s->offset,
    };

    c->fn(c->arg, &d);
    free(key);
}

static void compare_table(const struct setting *table, const struct comparing *c)
{
    for (const struct setting *s = table; s->key != NULL; s++) {
        if (s->type == SETTING_GROUP)
            compare_group(s, c);
        else if (s->type == SETTING_NAMED ? !same_named(s, c->a, c->b)
                                          : !same_value(s, c->a + s->offset, c->b + s->offset))
            tell(s, c);
    }
}

void setting_compare(const struct setting *table, const void *a, const void *b,
                     setting_compare_cb *fn, void *arg)
{
    compare_table(table, &(struct comparing){.a = a, .b = b, .prefix = "", .fn = fn, .arg = arg});
}
