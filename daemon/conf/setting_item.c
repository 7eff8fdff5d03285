/* SPDX-License-Identifier: Apache-2.0 */
#include "conf/setting_item.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <libconfig.h>

#include "base/amount.h"
#include "base/mem.h"
#include "base/panic.h"
#include "conf/value.h"

struct where setting_item_place(const struct setting_reader *r, const struct config_setting_t *e)
{
    if (r->file == NULL)
        return (struct where){NULL, 0};
    return (struct where){r->file, (int)config_setting_source_line(e)};
}

void setting_item_report(const struct setting_reader *r, const struct config_setting_t *e,
                         const char *fmt, ...)
{
    struct buf path = {0};
    char text[512];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    setting_put_path(&path, e);
    problems_add(r->problems, setting_item_place(r, e), "%s%s", buf_cstr(&path), text);
    buf_free(&path);
}

void setting_item_mismatch(const struct setting_reader *r, const struct config_setting_t *e,
                           const char *expected)
{
    static const char *const names[] = {
        [CONFIG_TYPE_NONE] = "nothing",       [CONFIG_TYPE_GROUP] = "a group { }",
        [CONFIG_TYPE_INT] = "a whole number", [CONFIG_TYPE_INT64] = "a whole number",
        [CONFIG_TYPE_FLOAT] = "a number",     [CONFIG_TYPE_STRING] = "a string",
        [CONFIG_TYPE_BOOL] = "true or false", [CONFIG_TYPE_ARRAY] = "an array [ ]",
        [CONFIG_TYPE_LIST] = "a list ( )",
    };
    int type = config_setting_type(e);

    ensure(type >= 0 && (size_t)type < ARRAY_LEN(names));
    setting_item_report(r, e, " must be %s, not %s", expected, names[type]);
}

const char *setting_item_text(const struct setting_reader *r, const struct setting *s,
                              const struct config_setting_t *e, const char *expected)
{
    if (config_setting_type(e) != CONFIG_TYPE_STRING) {
        setting_item_mismatch(r, e, s->expects != NULL ? s->expects : expected);
        return NULL;
    }
    const char *text = config_setting_get_string(e);
    return text != NULL ? text : "";
}

bool setting_item_passes(const struct setting_reader *r, const struct setting *s,
                         const struct config_setting_t *e, const char *text)
{
    const char *wrong = s->check != NULL ? s->check(text) : NULL;

    if (wrong == NULL)
        return true;
    /* Values of a MAP may be secrets, such as those of environment. */
    if (s->type == SETTING_MAP)
        setting_item_report(r, e, ": the value %s", wrong);
    else
        setting_item_report(r, e, ": \"%.80s\" %s", text, wrong);
    return false;
}

/* The words of a message for the row's word for 0, or ""; the caller frees them. */
static char *or_zero(const struct setting *s)
{
    return s->zero != NULL ? mem_printf(", or \"%s\"", s->zero) : mem_strdup("");
}

/* Is the element the row's word for 0, such as "off"? */
static bool is_zero(const struct setting *s, const struct config_setting_t *e)
{
    const char *text = config_setting_get_string(e); /* NULL if e is no string */

    return s->zero != NULL && text != NULL && strcmp(text, s->zero) == 0;
}

bool setting_item_whole(const struct setting_reader *r, const struct setting *s,
                        const struct config_setting_t *e, int64_t *out)
{
    int type = config_setting_type(e);
    bool number = type == CONFIG_TYPE_INT || type == CONFIG_TYPE_INT64;
    int64_t n = number ? config_setting_get_int64(e) : 0;
    char *zero = or_zero(s);
    char *expected = mem_printf("a whole number without quotes%s", zero);
    /* The word for 0 counts even if 0 is out of the range: 0 itself never switches a setting off
     * (docs/design.md "Values"). */
    bool ok = is_zero(s, e) || (number && n >= s->min && n <= s->max);

    if (ok)
        *out = n;
    else if (!number)
        setting_item_mismatch(r, e, expected);
    else
        setting_item_report(r, e, ": %" PRId64 " is out of range: %" PRId64 " to %" PRId64 "%s", n,
                            s->min, s->max, zero);
    free(expected);
    free(zero);
    return ok;
}

/* A kind of quantity that is written as a number and a unit: durations and sizes. */
struct quantity {
    bool (*read)(const char *text, uint64_t *out);
    void (*put)(struct buf *out, uint64_t n);
    const char *expected;
    const char *wrong; /* behind the refused text */
};

/* Reads the text; true if it is a quantity within the range. Otherwise tail gets the words that a
 * message puts behind the text. */
static bool read_quantity(const struct setting *s, const struct quantity *q, const char *text,
                          uint64_t *out, struct buf *tail)
{
    if (!q->read(text, out)) {
        buf_puts(tail, q->wrong);
        return false;
    }
    if (*out >= (uint64_t)s->min && *out <= (uint64_t)s->max)
        return true;
    buf_puts(tail, "is out of range: ");
    q->put(tail, (uint64_t)s->min);
    buf_puts(tail, " to ");
    q->put(tail, (uint64_t)s->max);
    return false;
}

/* Reads a quantity, or the word for 0; false after a report. */
static bool quantity(const struct setting_reader *r, const struct setting *s,
                     const config_setting_t *e, const struct quantity *q, uint64_t *out)
{
    if (is_zero(s, e)) {
        *out = 0;
        return true;
    }
    char *zero = or_zero(s);
    char *expected = mem_printf("%s%s", q->expected, zero);
    const char *text = setting_item_text(r, s, e, expected);
    struct buf tail = {0};
    bool ok = text != NULL && read_quantity(s, q, text, out, &tail);
    if (text != NULL && !ok)
        setting_item_report(r, e, ": \"%.40s\" %s%s", text, buf_cstr(&tail), zero);
    buf_free(&tail);
    free(expected);
    free(zero);
    return ok;
}

bool setting_item_duration(const struct setting_reader *r, const struct setting *s,
                           const struct config_setting_t *e, uint64_t *out)
{
    static const struct quantity duration = {
        amount_parse_duration, amount_put_duration, "a duration in quotes, such as \"30s\"",
        "is no duration: a whole number and ms, s, min, h or d, such as \"30s\""};

    return quantity(r, s, e, &duration, out);
}

bool setting_item_size(const struct setting_reader *r, const struct setting *s,
                       const struct config_setting_t *e, uint64_t *out)
{
    static const struct quantity size = {
        value_size, value_put_size, "a size in quotes, such as \"16MiB\"",
        "is no size: a whole number and B, KiB, MiB or GiB, such as \"16MiB\""};

    return quantity(r, s, e, &size, out);
}

/* The index of the text in words, or -1. */
static int index_of(const char *const *words, const char *text)
{
    for (int i = 0; words[i] != NULL; i++)
        if (strcmp(words[i], text) == 0)
            return i;
    return -1;
}

int setting_item_word(const struct setting_reader *r, const struct setting *s,
                      const struct config_setting_t *e)
{
    const char *text = setting_item_text(r, s, e, "a word in quotes");
    struct buf all = {0};

    if (text == NULL || !setting_item_passes(r, s, e, text))
        return -1;
    int i = index_of(s->words, text);
    if (i >= 0)
        return i;
    for (size_t k = 0; s->words[k] != NULL; k++)
        buf_printf(&all, "%s%s", k > 0 ? ", " : "", s->words[k]);
    setting_item_report(r, e, ": \"%.40s\" is not one of %s", text, buf_cstr(&all));
    buf_free(&all);
    return -1;
}
