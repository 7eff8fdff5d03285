/* SPDX-License-Identifier: Apache-2.0 */
#include "conf/setting_compare.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "conf/setting_print.h"

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

/* The text of a value is all of it. */
static bool same_text(const struct setting *s, const void *a, const void *b)
{
    struct buf x = {0};
    struct buf y = {0};

    setting_print_value(s, a, &x);
    setting_print_value(s, b, &y);
    bool same = str_eq(buf_str(&x), buf_str(&y));
    buf_free(&x);
    buf_free(&y);
    return same;
}

static bool is_written(const void *slot)
{
    return ((const struct where *)slot)->line > 0;
}

static bool same_value(const struct setting *s, const void *a, const void *b)
{
    return (s->type == SETTING_MAP ? same_map(a, b) : same_text(s, a, b)) &&
           (!s->written_counts || is_written(a) == is_written(b));
}

static void note_difference(void *arg, const struct setting_difference *d)
{
    bool *differs = arg;

    (void)d;
    *differs = true;
}

static bool same_element(const struct setting *s, const char *a, const char *b)
{
    const struct conf_str *name_a = (const void *)a; /* each begins with it */
    const struct conf_str *name_b = (const void *)b;
    bool differs = strcmp(name_a->v, name_b->v) != 0;

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
