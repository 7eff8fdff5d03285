/* SPDX-License-Identifier: Apache-2.0 */
#include "conf/setting_item.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <libconfig.h>

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
    if (s->type == SETTING_MAP)
        setting_item_report(r, e, ": the value %s", wrong);
    else
        setting_item_report(r, e, ": \"%.80s\" %s", text, wrong);
    return false;
}

/* A kind of quantity that is written as a number and a unit. */
struct quantity {
    bool (*read)(const char *text, uint64_t *out);
    void (*put)(struct buf *out, uint64_t n);
    const char *expected;
    const char *wrong; /* behind the refused text */
};

/* Reads text; true if it keeps the range too. Else tail has what to say behind it. */
static bool read_quantity(const struct setting *s, const struct quantity *q, const char *text,
                          uint64_t *out, struct buf *tail)
{
    if (s->zero != NULL && strcmp(text, s->zero) == 0) {
        *out = 0;
        return true;
    }
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

static bool quantity(const struct setting_reader *r, const struct setting *s,
                     const config_setting_t *e, const struct quantity *q, uint64_t *out)
{
    char *or_zero = s->zero != NULL ? mem_printf(", or \"%s\"", s->zero) : mem_strdup("");
    char *expected = mem_printf("%s%s", q->expected, or_zero);
    const char *text = setting_item_text(r, s, e, expected);
    struct buf tail = {0};
    bool ok = text != NULL && read_quantity(s, q, text, out, &tail);

    if (text != NULL && !ok)
        setting_item_report(r, e, ": \"%.40s\" %s%s", text, buf_cstr(&tail), or_zero);
    buf_free(&tail);
    free(expected);
    free(or_zero);
    return ok;
}

bool setting_item_duration(const struct setting_reader *r, const struct setting *s,
                           const struct config_setting_t *e, uint64_t *out)
{
    static const struct quantity duration = {
        value_duration, value_put_duration, "a duration in quotes, such as \"30s\"",
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
