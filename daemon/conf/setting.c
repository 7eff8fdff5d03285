/* SPDX-License-Identifier: Apache-2.0 */
#include "conf/setting.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <libconfig.h>

#include "base/amount.h"
#include "base/mem.h"
#include "base/panic.h"
#include "conf/value.h"

enum { KEY_MAX = 63 }; /* length of a name, and of keys that are compared for a hint */

/* ---- Problems */

/* Appends the dotted path of a setting: "hooks.print.command[0]". */
static void put_path(struct buf *out, const config_setting_t *s)
{
    const config_setting_t *parent = config_setting_parent(s);

    if (parent == NULL)
        return;
    put_path(out, parent);
    if (config_setting_name(s) == NULL) { /* an element of an array or a list has an index only */
        buf_printf(out, "[%d]", config_setting_index(s));
        return;
    }
    if (!config_setting_is_root(parent))
        buf_putc(out, '.');
    buf_puts(out, config_setting_name(s));
}

/* The place of the element. While defaults are read there is no file: line 0. */
static struct where place_of(const struct setting_reader *r, const config_setting_t *e)
{
    if (r->file == NULL)
        return (struct where){NULL, 0};
    return (struct where){r->file, (int)config_setting_source_line(e)};
}

/* Adds a problem at the line of the element: its dotted path, and the text right behind that. */
static void report(const struct setting_reader *r, const config_setting_t *e, const char *fmt, ...)
    PRINTF_LIKE(3, 4);
static void report(const struct setting_reader *r, const config_setting_t *e, const char *fmt, ...)
{
    struct buf path = {0};
    char text[512];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    put_path(&path, e);
    problems_add(r->problems, place_of(r, e), "%s%s", buf_cstr(&path), text);
    buf_free(&path);
}

/* Reports that the element has the wrong type; expected is the right one ("a group { }"). */
static void report_mismatch(const struct setting_reader *r, const config_setting_t *e,
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
    report(r, e, " must be %s, not %s", expected, names[type]);
}

/* The bytes of a string, borrowed from libconfig; NULL after a report if e is no string. */
static const char *text_of(const struct setting_reader *r, const struct setting *s,
                           const config_setting_t *e, const char *expected)
{
    if (config_setting_type(e) != CONFIG_TYPE_STRING) {
        report_mismatch(r, e, s->expects != NULL ? s->expects : expected);
        return NULL;
    }
    const char *text = config_setting_get_string(e);
    return text != NULL ? text : "";
}

/* Does the text keep the row's own rule (check)? Reports if not. */
static bool passes(const struct setting_reader *r, const struct setting *s,
                   const config_setting_t *e, const char *text)
{
    const char *wrong = s->check != NULL ? s->check(text) : NULL;

    if (wrong == NULL)
        return true;
    /* Values of a MAP may be secrets, such as those of environment. */
    if (s->type == SETTING_MAP)
        report(r, e, ": the value %s", wrong);
    else
        report(r, e, ": \"%.80s\" %s", text, wrong);
    return false;
}

/* ---- One scalar: its text and meaning */

/* The words of a message for the row's word for 0, or ""; the caller frees them. */
static char *or_zero(const struct setting *s)
{
    return s->zero != NULL ? mem_printf(", or \"%s\"", s->zero) : mem_strdup("");
}

/* Is the element the row's word for 0, such as "off"? */
static bool is_zero(const struct setting *s, const config_setting_t *e)
{
    const char *text = config_setting_get_string(e); /* NULL if e is no string */

    return s->zero != NULL && text != NULL && strcmp(text, s->zero) == 0;
}

/* Reads a whole number within the row's range; false after a report. */
static bool read_whole(const struct setting_reader *r, const struct setting *s,
                       const config_setting_t *e, int64_t *out)
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
        report_mismatch(r, e, expected);
    else
        report(r, e, ": %" PRId64 " is out of range: %" PRId64 " to %" PRId64 "%s", n, s->min,
               s->max, zero);
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
    const char *text = text_of(r, s, e, expected);
    struct buf tail = {0};
    bool ok = text != NULL && read_quantity(s, q, text, out, &tail);
    if (text != NULL && !ok)
        report(r, e, ": \"%.40s\" %s%s", text, buf_cstr(&tail), zero);
    buf_free(&tail);
    free(expected);
    free(zero);
    return ok;
}

/* Reads a duration within the row's range, in ms; false after a report. */
static bool read_duration(const struct setting_reader *r, const struct setting *s,
                          const config_setting_t *e, uint64_t *out)
{
    static const struct quantity duration = {
        amount_parse_duration, amount_put_duration, "a duration in quotes, such as \"30s\"",
        "is no duration: a whole number and ms, s, min, h or d, such as \"30s\""};

    return quantity(r, s, e, &duration, out);
}

/* The index of the element in the row's words, or -1 after a report. */
static int word_of(const struct setting_reader *r, const struct setting *s,
                   const config_setting_t *e)
{
    const char *text = text_of(r, s, e, "a word in quotes");
    struct buf all = {0};

    if (text == NULL || !passes(r, s, e, text))
        return -1;
    for (int i = 0; s->words[i] != NULL; i++)
        if (strcmp(s->words[i], text) == 0)
            return i;
    for (size_t k = 0; s->words[k] != NULL; k++)
        buf_printf(&all, "%s%s", k > 0 ? ", " : "", s->words[k]);
    report(r, e, ": \"%.40s\" is not one of %s", text, buf_cstr(&all));
    buf_free(&all);
    return -1;
}

/* ---- Values of each type */

static void read_str(const struct setting_reader *r, const struct setting *s, void *slot,
                     const config_setting_t *e)
{
    const char *text = text_of(r, s, e, "a string in quotes");
    struct conf_str *v = slot;

    if (text == NULL)
        return;
    int64_t n = (int64_t)strlen(text); /* 0 is allowed unless min says otherwise: "" is not set */
    if (n < s->min) {
        report(r, e, " must not be empty");
    } else if (s->max > 0 && n > s->max) {
        report(r, e, " is too long: %" PRId64 " bytes, at most %" PRId64, n, s->max);
    } else if (n == 0 || passes(r, s, e, text)) {
        free(v->v);
        v->v = mem_strdup(text);
    }
}

static void fini_str(void *slot)
{
    free(((struct conf_str *)slot)->v);
}

static void read_bool(const struct setting_reader *r, const struct setting *s, void *slot,
                      const config_setting_t *e)
{
    (void)s;
    if (config_setting_type(e) == CONFIG_TYPE_BOOL)
        ((struct conf_bool *)slot)->v = config_setting_get_bool(e) == CONFIG_TRUE;
    else
        report_mismatch(r, e, "true or false");
}

static void read_int(const struct setting_reader *r, const struct setting *s, void *slot,
                     const config_setting_t *e)
{
    int64_t n = 0;

    if (read_whole(r, s, e, &n))
        ((struct conf_int *)slot)->v = n;
}

/* A number may stand without a point: 2 is as good as 2.0. */
static void read_num(const struct setting_reader *r, const struct setting *s, void *slot,
                     const config_setting_t *e)
{
    if (!config_setting_is_number(e)) {
        report_mismatch(r, e, "a number without quotes, such as 2.0");
        return;
    }
    double x = config_setting_type(e) == CONFIG_TYPE_FLOAT ? config_setting_get_float(e)
                                                           : (double)config_setting_get_int64(e);
    if (!isfinite(x) || x < (double)s->min || x > (double)s->max)
        report(r, e, ": %g is out of range: %" PRId64 " to %" PRId64, x, s->min, s->max);
    else
        ((struct conf_num *)slot)->v = x;
}

static void read_ms(const struct setting_reader *r, const struct setting *s, void *slot,
                    const config_setting_t *e)
{
    uint64_t ms = 0;

    if (read_duration(r, s, e, &ms))
        ((struct conf_ms *)slot)->v = ms;
}

static void read_size(const struct setting_reader *r, const struct setting *s, void *slot,
                      const config_setting_t *e)
{
    static const struct quantity size = {
        value_size, value_put_size, "a size in quotes, such as \"16MiB\"",
        "is no size: a whole number and B, KiB, MiB or GiB, such as \"16MiB\""};
    uint64_t bytes = 0;

    if (quantity(r, s, e, &size, &bytes))
        ((struct conf_size *)slot)->v = bytes;
}

static void read_word(const struct setting_reader *r, const struct setting *s, void *slot,
                      const config_setting_t *e)
{
    int i = word_of(r, s, e);

    if (i >= 0)
        ((struct conf_word *)slot)->v = i;
}

static void read_code(const struct setting_reader *r, const struct setting *s, void *slot,
                      const config_setting_t *e)
{
    const char *text = text_of(r, s, e, "a string in quotes");

    if (text != NULL && !s->code(text, &((struct conf_int *)slot)->v))
        report(r, e, ": \"%.40s\" is not %s", text, s->expects);
}

/* Is e an array [ ] or a list ( )? Reports if not. libconfig knows both, and users mix them up. */
static bool is_array(const struct setting_reader *r, const config_setting_t *e, const char *expects)
{
    int type = config_setting_type(e);
    bool ok = type == CONFIG_TYPE_ARRAY || type == CONFIG_TYPE_LIST;

    if (!ok)
        report_mismatch(r, e, expects);
    return ok;
}

/* The number of elements if e is an array or a list with as many elements as the row allows; -1
 * after a report. */
static int length_of(const struct setting_reader *r, const struct setting *s,
                     const config_setting_t *e, const char *expects)
{
    if (!is_array(r, e, expects))
        return -1;
    int n = config_setting_length(e);
    if (n >= s->min && n <= s->max)
        return n;
    if (n == 0)
        report(r, e, " must not be empty");
    else
        report(r, e, " has %d elements, %" PRId64 " to %" PRId64 " are allowed", n, s->min, s->max);
    return -1;
}

/* A word that is given twice counts once. One bad word leaves the old value, but all bad words are
 * reported. */
static void read_words(const struct setting_reader *r, const struct setting *s, void *slot,
                       const config_setting_t *e)
{
    int n = length_of(r, s, e, "an array of words, such as [ \"added\" ]");
    bool ok = n >= 0;
    unsigned mask = 0;

    for (int i = 0; i < n; i++) {
        int word = word_of(r, s, config_setting_get_elem(e, (unsigned)i));

        if (word >= 0)
            mask |= 1u << (unsigned)word;
        ok = ok && word >= 0;
    }
    if (ok)
        ((struct conf_words *)slot)->v = mask;
}

static void fini_list(void *slot)
{
    struct conf_list *list = slot;

    for (size_t i = 0; i < list->n; i++)
        free(list->v[i].v);
    free(list->v);
}

static void read_list(const struct setting_reader *r, const struct setting *s, void *slot,
                      const config_setting_t *e)
{
    int n = length_of(r, s, e, "an array of strings, such as [ \"a\", \"b\" ]");
    struct conf_list new = {0};

    if (n < 0)
        return;
    if (n > 0)
        new.v = mem_array((size_t)n, sizeof(*new.v));
    for (int i = 0; i < n; i++) {
        const config_setting_t *item = config_setting_get_elem(e, (unsigned)i);
        const char *text = text_of(r, s, item, "a string in quotes");

        if (text != NULL && passes(r, s, item, text))
            new.v[new.n++] = (struct conf_str){place_of(r, item), mem_strdup(text)};
    }
    /* One bad element spoils the list: a hook with half of its arguments would do something
     * else. */
    if (new.n < (size_t)n) {
        fini_list(&new);
        return;
    }
    fini_list(slot);
    *(struct conf_list *)slot = new;
}

static void fini_ints(void *slot)
{
    free(((struct conf_ints *)slot)->v);
}

static bool holds(const struct conf_ints *ints, int64_t n)
{
    for (size_t i = 0; i < ints->n; i++)
        if (ints->v[i].v == n)
            return true;
    return false;
}

/* Appends the number of one element if it is good and new. */
static void append_int(const struct setting_reader *r, const struct setting *s,
                       struct conf_ints *ints, const config_setting_t *e)
{
    int64_t n = 0;

    if (!read_whole(r, s, e, &n))
        return;
    if (holds(ints, n))
        report(r, e, ": %" PRId64 " stands there twice", n);
    else
        ints->v[ints->n++] = (struct conf_int){place_of(r, e), n};
}

/* As read_list(); min and max of the row bound the numbers here, not how many there are. */
static void read_ints(const struct setting_reader *r, const struct setting *s, void *slot,
                      const config_setting_t *e)
{
    struct conf_ints new = {0};

    if (!is_array(r, e, "an array of whole numbers, such as [ 1, 2 ]"))
        return;
    int n = config_setting_length(e);
    if (n > 0)
        new.v = mem_array((size_t)n, sizeof(*new.v));
    for (int i = 0; i < n; i++)
        append_int(r, s, &new, config_setting_get_elem(e, (unsigned)i));
    if (new.n < (size_t)n) {
        fini_ints(&new);
        return;
    }
    fini_ints(slot);
    *(struct conf_ints *)slot = new;
}

static void read_span(const struct setting_reader *r, const struct setting *s, void *slot,
                      const config_setting_t *e)
{
    static const char expects[] = "an array of two durations, such as [ \"200ms\", \"2s\" ]";
    struct conf_span *span = slot;
    uint64_t from = 0;
    uint64_t to = 0;

    if (!is_array(r, e, expects))
        return;
    if (config_setting_length(e) != 2)
        report(r, e, " must be %s", expects);
    else if (!read_duration(r, s, config_setting_get_elem(e, 0), &from) ||
             !read_duration(r, s, config_setting_get_elem(e, 1), &to))
        return;
    else if (from > to)
        report(r, e, ": the first duration must not be longer than the second");
    else
        *span = (struct conf_span){.min_ms = from, .max_ms = to};
}

static void fini_map(void *slot)
{
    struct conf_map *map = slot;

    for (size_t i = 0; i < map->n; i++) {
        free(map->v[i].name);
        free(map->v[i].value);
    }
    free(map->v);
}

/* Appends one NAME = "value" if name and value are good; libconfig lets no name stand twice. */
static void append_pair(const struct setting_reader *r, const struct setting *s,
                        struct conf_map *map, const config_setting_t *e)
{
    const char *name = config_setting_name(e);
    const char *wrong = s->check_name != NULL ? s->check_name(name) : NULL;
    const char *text = text_of(r, s, e, "a string in quotes");

    if (wrong != NULL)
        report(r, e, ": the name %s", wrong);
    if (wrong != NULL || text == NULL || !passes(r, s, e, text))
        return;
    map->v[map->n++] = (struct conf_pair){place_of(r, e), mem_strdup(name), mem_strdup(text)};
}

static void read_map(const struct setting_reader *r, const struct setting *s, void *slot,
                     const config_setting_t *e)
{
    struct conf_map new = {0};

    if (config_setting_type(e) != CONFIG_TYPE_GROUP) {
        report_mismatch(r, e, "a group of strings, such as { NAME = \"value\"; }");
        return;
    }
    size_t n = (size_t)config_setting_length(e);
    if (n > 0)
        new.v = mem_array(n, sizeof(*new.v));
    for (unsigned i = 0; i < n; i++)
        append_pair(r, s, &new, config_setting_get_elem(e, i));
    if (new.n < n) {
        fini_map(&new);
        return;
    }
    fini_map(slot);
    *(struct conf_map *)slot = new;
}

static const struct {
    void (*read)(const struct setting_reader *r, const struct setting *s, void *slot,
                 const config_setting_t *e);
    void (*fini)(void *slot); /* NULL = a value of this type owns no memory */
} types[] = {
    [SETTING_STR] = {read_str,   fini_str },
      [SETTING_BOOL] = {read_bool,  NULL     },
    [SETTING_INT] = {read_int,   NULL     },
      [SETTING_NUM] = {read_num,   NULL     },
    [SETTING_MS] = {read_ms,    NULL     },
      [SETTING_SIZE] = {read_size,  NULL     },
    [SETTING_WORD] = {read_word,  NULL     },
      [SETTING_WORDS] = {read_words, NULL     },
    [SETTING_CODE] = {read_code,  NULL     },
      [SETTING_LIST] = {read_list,  fini_list},
    [SETTING_INTS] = {read_ints,  fini_ints},
      [SETTING_SPAN] = {read_span,  NULL     },
    [SETTING_MAP] = {read_map,   fini_map },
};

/* ---- Groups and tables */

/* The value that the row is about. */
static void *slot_of(const struct setting *s, void *base)
{
    return (char *)base + s->offset;
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* The number of letters to insert, delete or replace that makes one short word of the other
 * (Levenshtein distance), with one row of the table in memory. Longer words count as far apart. */
static size_t distance(const char *a, const char *b)
{
    size_t row[KEY_MAX + 1];
    size_t n = strlen(b);

    if (strlen(a) > KEY_MAX || n > KEY_MAX)
        return KEY_MAX;
    for (size_t j = 0; j <= n; j++)
        row[j] = j;
    for (size_t i = 1; a[i - 1] != '\0'; i++) {
        size_t corner = row[0]; /* the value above and to the left of row[j] */

        row[0] = i;
        for (size_t j = 1; j <= n; j++) {
            size_t change = corner + (a[i - 1] != b[j - 1]);

            corner = row[j];
            row[j] = least(change, least(row[j - 1], row[j]) + 1);
        }
    }
    return row[n];
}

/* Reports a key that the table does not have, with the key that is meant if a typing error explains
 * it: at most two letters differ, and fewer than half of the letters. */
static void report_unknown(const struct setting_reader *r, const struct setting *table,
                           const config_setting_t *e)
{
    const char *name = config_setting_name(e);
    const char *nearest = NULL;
    size_t best = 3; /* a key must be nearer than this */
    struct buf path = {0};

    for (; table->key != NULL; table++) {
        size_t d = distance(name, table->key);

        if (d < best && d * 2 < strlen(name)) {
            best = d;
            nearest = table->key;
        }
    }
    put_path(&path, e);
    if (nearest != NULL)
        problems_add(r->problems, place_of(r, e), "unknown setting %s: did you mean %s?",
                     buf_cstr(&path), nearest);
    else
        problems_add(r->problems, place_of(r, e), "unknown setting %s", buf_cstr(&path));
    buf_free(&path);
}

/* Names of clusters, watches, views and hooks: they are words in messages, in commands and in the
 * paths of the control socket. libconfig would also take a "*" in a name. */
static const char *name_fault(const char *name)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

    if (strlen(name) > KEY_MAX)
        return "is too long: 63 characters at most";
    if (strchr(letters, name[0]) == NULL ||
        strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-") !=
            strlen(name))
        return "must be letters, digits, - and _, a letter first";
    return NULL;
}

/* The array of a NAMED setting, or NULL if it has no elements yet. */
static void *elements_of(const struct setting *s, void *base)
{
    void *v = NULL;

    /* Of which struct the pointer is, only the table knows. */
    memcpy(&v, slot_of(s, base), sizeof(v));
    return v;
}

static size_t *count_of(const struct setting *s, void *base)
{
    return (size_t *)(void *)((char *)base + s->named.count);
}

/* The element of that name, or NULL. */
static struct conf_str *find_named(const struct setting *s, void *base, const char *name)
{
    char *v = elements_of(s, base);

    for (size_t i = 0; i < *count_of(s, base); i++) {
        struct conf_str *element = (void *)(v + i * s->named.size);

        if (strcmp(element->v, name) == 0)
            return element;
    }
    return NULL;
}

/* Adds an element with all its defaults and that name, and returns it until the next call. */
static void *append_named(const struct setting *s, void *base, struct where at, const char *name)
{
    size_t n = (*count_of(s, base))++;
    char *v = mem_realloc(elements_of(s, base), (n + 1) * s->named.size);
    void *element = v + n * s->named.size;

    memcpy(slot_of(s, base), &v, sizeof(v));
    memset(element, 0, s->named.size);
    setting_defaults(s->group, element);
    /* The name is not in the table, so the defaults have not touched it. */
    *(struct conf_str *)element = (struct conf_str){at, mem_strdup(name)};
    return element;
}

/* Reads one named group into a new element. A name that an earlier file has taken is an error, even
 * if the settings are the same: two files never share a hook. */
static void read_named(const struct setting_reader *r, const struct setting *s, void *base,
                       const config_setting_t *e)
{
    const char *name = config_setting_name(e);
    const char *fault = name_fault(name);
    const struct conf_str *twin = find_named(s, base, name);

    if (fault != NULL) {
        report(r, e, ": the name %s", fault);
        return;
    }
    if (config_setting_type(e) != CONFIG_TYPE_GROUP) {
        report_mismatch(r, e, "a group { }");
        return;
    }
    if (twin != NULL) {
        report(r, e, " is there already: %s:%d", twin->at.file, twin->at.line);
        return;
    }
    setting_read(r, s->group, append_named(s, base, place_of(r, e), name), e);
    /* Required settings. Those of a group inside the group have defaults. */
    for (const struct setting *row = s->group; row->key != NULL; row++)
        if (row->initial == NULL && row->type != SETTING_NAMED && row->type != SETTING_GROUP &&
            config_setting_get_member(e, row->key) == NULL)
            report(r, e, ".%s is required", row->key);
}

/* Reads a single value by its row. Groups such as limits unite over all files, but no value may stand in
 * two of them: the order of the files' names would choose between the two. */
static void read_value(const struct setting_reader *r, const struct setting *s, void *slot,
                       const config_setting_t *e)
{
    const struct where first = *(const struct where *)slot;

    if (first.file != NULL) {
        report(r, e, " is there already: %s:%d", first.file, first.line);
        return;
    }
    ensure((size_t)s->type < ARRAY_LEN(types));
    types[s->type].read(r, s, slot, e);
    /* Behind the reader, which may have replaced the whole value. A refused value gets the place, too,
     * for problems_has(). */
    *(struct where *)slot = place_of(r, e);
}

/* Reads one element by its row. */
static void read_one(const struct setting_reader *r, const struct setting *s, void *base,
                     const config_setting_t *e)
{
    bool is_group = config_setting_type(e) == CONFIG_TYPE_GROUP;
    void *slot = slot_of(s, base);

    if (s->type == SETTING_NAMED && !is_group) {
        report_mismatch(r, e, "a group of named groups, such as { NAME : { ... }; }");
    } else if (s->type == SETTING_NAMED) {
        for (int i = 0; i < config_setting_length(e); i++)
            read_named(r, s, base, config_setting_get_elem(e, (unsigned)i));
    } else if (r->main_file != NULL && s->main_file_only) {
        report(r, e, " may stand only in the main file, %s", r->main_file);
    } else if (s->type == SETTING_GROUP && !is_group) {
        report_mismatch(r, e, "a group { }");
    } else if (s->type == SETTING_GROUP) {
        setting_read(r, s->group, slot, e);
    } else {
        read_value(r, s, slot, e);
    }
}

void setting_read(const struct setting_reader *r, const struct setting *table, void *base,
                  const config_setting_t *group)
{
    for (int i = 0; i < config_setting_length(group); i++) {
        const config_setting_t *e = config_setting_get_elem(group, (unsigned)i);
        const struct setting *s = table;

        while (s->key != NULL && strcmp(s->key, config_setting_name(e)) != 0)
            s++;
        if (s->key != NULL)
            read_one(r, s, base, e);
        else
            report_unknown(r, table, e);
    }
}

/* Writes the defaults of the table as a file would have them. */
static void put_initial(struct buf *out, const struct setting *table)
{
    for (; table->key != NULL; table++) {
        if (table->type == SETTING_GROUP) {
            buf_printf(out, "%s : {\n", table->key);
            put_initial(out, table->group);
            buf_puts(out, "};\n");
        } else if (table->initial != NULL) {
            buf_printf(out, "%s = %s;\n", table->key, table->initial);
        }
    }
}

void setting_defaults(const struct setting *table, void *base)
{
    struct problems problems = {0};
    struct setting_reader r = {.problems = &problems};
    struct buf text = {0};
    config_t config;

    /* The defaults are read as a file is, so that one set of readers knows the forms of all values.
     * A reader without a file gives them line 0. */
    put_initial(&text, table);
    config_init(&config);
    ensure(config_read_string(&config, buf_cstr(&text)) == CONFIG_TRUE);
    setting_read(&r, table, base, config_root_setting(&config));
    /* A required setting has no default. Its string is "" until it is read, as conf_str.v is never
     * NULL. */
    for (const struct setting *s = table; s->key != NULL; s++)
        if (s->type == SETTING_STR && s->initial == NULL)
            ((struct conf_str *)slot_of(s, base))->v = mem_strdup("");
    config_destroy(&config);
    buf_clear(&text);
    problems_put(&problems, &text);
    if (problems_count(&problems) > 0)
        panic("%s", buf_cstr(&text));
    buf_free(&text);
    problems_free(&problems);
}

static void fini_named(const struct setting *s, void *base)
{
    char *v = elements_of(s, base);

    for (size_t i = 0; i < *count_of(s, base); i++) {
        void *element = v + i * s->named.size;

        free(((struct conf_str *)element)->v);
        setting_fini(s->group, element);
    }
    free(v);
}

void setting_fini(const struct setting *table, void *base)
{
    for (; table->key != NULL; table++) {
        if (table->type == SETTING_NAMED)
            fini_named(table, base);
        else if (table->type == SETTING_GROUP)
            setting_fini(table->group, slot_of(table, base));
        else if (types[table->type].fini != NULL)
            types[table->type].fini(slot_of(table, base));
    }
}
