/* SPDX-License-Identifier: Apache-2.0 */
#include "conf/setting_print.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/amount.h"
#include "base/mem.h"
#include "base/panic.h"
#include "base/visible.h"
#include "conf/value.h"

enum { STEP = 2 }; /* more spaces before each line of a group inside a group */

/* Appends a string in quotes, escaped as libconfig reads it: it knows bytes only, so each byte of a
 * character that is not shown as it is becomes \xNN. */
static void put_string(struct buf *out, const char *text)
{
    static const char plain[] = "\"\\\n\r\t";
    static const char escaped[] = "\"\\nrt";

    buf_putc(out, '"');
    for (size_t n = strlen(text), len; n > 0; text += len, n -= len) {
        const unsigned char *p = (const unsigned char *)text;
        const char *special = strchr(plain, *text);

        len = visible_len(p, n);
        if (special != NULL)
            buf_printf(out, "\\%c", escaped[special - plain]);
        else if (len == 0)
            buf_printf(out, "\\x%02x", *p);
        else
            buf_append(out, text, len);
        len = len > 0 ? len : 1;
    }
    buf_putc(out, '"');
}

static void put_str(const struct setting *s, const void *slot, struct buf *out)
{
    (void)s;
    put_string(out, ((const struct conf_str *)slot)->v);
}

static void put_bool(const struct setting *s, const void *slot, struct buf *out)
{
    (void)s;
    buf_puts(out, ((const struct conf_bool *)slot)->v ? "true" : "false");
}

static void put_int(const struct setting *s, const void *slot, struct buf *out)
{
    int64_t n = ((const struct conf_int *)slot)->v;

    if (n == 0 && s->zero != NULL)
        put_string(out, s->zero);
    else
        buf_printf(out, "%" PRId64, n);
}

/* Appends the shortest text that gives this number when it is read: 17 digits always do, 15
 * usually. The text has a point or an exponent, so that libconfig reads a number and no whole
 * number. */
static void put_num(const struct setting *s, const void *slot, struct buf *out)
{
    double x = ((const struct conf_num *)slot)->v;
    char text[40];

    (void)s;
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, sizeof(text), "%.*g", digits, x);
        double back = strtod(text, NULL);
        if (!(back < x) && !(back > x)) /* equal; the compiler warns of == between numbers */
            break;
    }
    buf_puts(out, text);
    if (strpbrk(text, ".e") == NULL)
        buf_puts(out, ".0");
}

static void put_duration(const struct setting *s, uint64_t ms, struct buf *out)
{
    buf_putc(out, '"');
    if (ms == 0 && s->zero != NULL)
        buf_puts(out, s->zero);
    else
        amount_put_duration(out, ms);
    buf_putc(out, '"');
}

static void put_ms(const struct setting *s, const void *slot, struct buf *out)
{
    put_duration(s, ((const struct conf_ms *)slot)->v, out);
}

static void put_size(const struct setting *s, const void *slot, struct buf *out)
{
    uint64_t bytes = ((const struct conf_size *)slot)->v;

    buf_putc(out, '"');
    if (bytes == 0 && s->zero != NULL)
        buf_puts(out, s->zero);
    else
        value_put_size(out, bytes);
    buf_putc(out, '"');
}

static void put_word(const struct setting *s, const void *slot, struct buf *out)
{
    put_string(out, s->words[((const struct conf_word *)slot)->v]);
}

/* Words come in the order of their bits, whatever the order in the file was. */
static void put_words(const struct setting *s, const void *slot, struct buf *out)
{
    unsigned mask = ((const struct conf_words *)slot)->v;
    const char *before = "[ "; /* min is 1, so there is at least one word */

    for (unsigned i = 0; s->words[i] != NULL; i++) {
        if ((mask & 1u << i) == 0)
            continue;
        buf_puts(out, before);
        put_string(out, s->words[i]);
        before = ", ";
    }
    buf_puts(out, " ]");
}

static void put_code(const struct setting *s, const void *slot, struct buf *out)
{
    buf_putc(out, '"');
    s->put_code(out, ((const struct conf_int *)slot)->v);
    buf_putc(out, '"');
}

static void put_list(const struct setting *s, const void *slot, struct buf *out)
{
    const struct conf_list *list = slot;

    (void)s;
    buf_puts(out, "[ ");
    for (size_t i = 0; i < list->n; i++) {
        buf_puts(out, i > 0 ? ", " : "");
        put_string(out, list->v[i].v);
    }
    buf_puts(out, list->n > 0 ? " ]" : "]");
}

static void put_ints(const struct setting *s, const void *slot, struct buf *out)
{
    const struct conf_ints *ints = slot;

    (void)s;
    buf_puts(out, "[ ");
    for (size_t i = 0; i < ints->n; i++)
        buf_printf(out, "%s%" PRId64, i > 0 ? ", " : "", ints->v[i].v);
    buf_puts(out, ints->n > 0 ? " ]" : "]");
}

static void put_span(const struct setting *s, const void *slot, struct buf *out)
{
    const struct conf_span *span = slot;

    buf_puts(out, "[ ");
    put_duration(s, span->min_ms, out);
    buf_puts(out, ", ");
    put_duration(s, span->max_ms, out);
    buf_puts(out, " ]");
}

static void put_map(const struct setting *s, const void *slot, struct buf *out)
{
    const struct conf_map *map = slot;

    (void)s;
    buf_puts(out, "{ ");
    for (size_t i = 0; i < map->n; i++) {
        buf_printf(out, "%s = ", map->v[i].name);
        put_string(out, map->v[i].value);
        buf_puts(out, "; ");
    }
    buf_puts(out, "}");
}

/* The printer for each kind of value; GROUP and NAMED have none. */
static void (*const puts_of[])(const struct setting *s, const void *slot, struct buf *out) = {
    [SETTING_STR] = put_str,   [SETTING_BOOL] = put_bool,   [SETTING_INT] = put_int,
    [SETTING_NUM] = put_num,   [SETTING_MS] = put_ms,       [SETTING_SIZE] = put_size,
    [SETTING_WORD] = put_word, [SETTING_WORDS] = put_words, [SETTING_CODE] = put_code,
    [SETTING_LIST] = put_list, [SETTING_INTS] = put_ints,   [SETTING_SPAN] = put_span,
    [SETTING_MAP] = put_map,
};

void setting_print_value(const struct setting *s, const void *slot, struct buf *out)
{
    ensure((size_t)s->type < ARRAY_LEN(puts_of) && puts_of[s->type] != NULL);
    puts_of[s->type](s, slot, out);
}

static void put_indent(struct buf *out, int indent)
{
    buf_printf(out, "%*s", indent, "");
}

static void put_open(struct buf *out, int indent, const char *name)
{
    put_indent(out, indent);
    buf_printf(out, "%s : {\n", name);
}

static void put_close(struct buf *out, int indent)
{
    put_indent(out, indent);
    buf_puts(out, "};\n");
}

/* Appends all elements of a NAMED setting as groups. */
static void put_named(const struct setting *s, const char *base, int indent, struct buf *out)
{
    const char *v = NULL;
    size_t n = 0;

    /* Of which struct the pointer is, only the table knows. */
    memcpy(&v, base + s->offset, sizeof(v));
    memcpy(&n, base + s->named.count, sizeof(n));
    for (size_t i = 0; i < n; i++) {
        const char *element = v + i * s->named.size;

        put_open(out, indent, ((const struct conf_str *)(const void *)element)->v);
        setting_print(s->group, element, indent + STEP, out);
        put_close(out, indent);
    }
}

/* Appends one setting. A default of a setting with written_counts becomes a comment: if it were
 * read as written, it would mean something else. */
static void put_value(const struct setting *s, const void *slot, int indent, struct buf *out)
{
    bool written = ((const struct where *)slot)->line > 0;

    put_indent(out, indent);
    buf_printf(out, "%s%s %c ", s->written_counts && !written ? "# " : "", s->key,
               s->type == SETTING_MAP ? ':' : '=');
    setting_print_value(s, slot, out);
    buf_puts(out, ";\n");
}

void setting_print(const struct setting *table, const void *base, int indent, struct buf *out)
{
    for (; table->key != NULL; table++) {
        const char *slot = (const char *)base + table->offset;

        if (table->type != SETTING_NAMED && table->type != SETTING_GROUP) {
            put_value(table, slot, indent, out);
            continue;
        }
        put_open(out, indent, table->key);
        if (table->type == SETTING_NAMED)
            put_named(table, base, indent + STEP, out);
        else
            setting_print(table->group, slot, indent + STEP, out);
        put_close(out, indent);
    }
}

/* Values are compared as text, so that the place in the file makes no difference. */
static void put_changed(const struct setting *s, const void *slot, const void *initial,
                        const char *prefix, struct buf *out)
{
    struct buf now = {0};
    struct buf before = {0};

    setting_print_value(s, slot, &now);
    setting_print_value(s, initial, &before);
    if (!str_eq(buf_str(&now), buf_str(&before)))
        buf_printf(out, "%s%s = %s\n", prefix, s->key, buf_cstr(&now));
    buf_free(&now);
    buf_free(&before);
}

/* One row of the table, with all members if it is a group. prefix is the dotted path before the
 * key. */
static void put_row_changed(const struct setting *s, const char *base, const char *defaults,
                            const char *prefix, struct buf *out)
{
    const char *slot = base + s->offset;
    const char *initial = defaults + s->offset;

    if (s->type != SETTING_GROUP) {
        put_changed(s, slot, initial, prefix, out);
        return;
    }
    char *inner = mem_printf("%s%s.", prefix, s->key);
    for (const struct setting *member = s->group; member->key != NULL; member++)
        put_row_changed(member, slot, initial, inner, out);
    free(inner);
}

void setting_print_changed(const struct setting *table, enum setting_change class, const void *base,
                           const void *defaults, struct buf *out)
{
    for (; table->key != NULL; table++)
        if (class == SETTING_NO_CLASS || class == table->change)
            put_row_changed(table, base, defaults, "", out);
}
