/* SPDX-License-Identifier: Apache-2.0 */
#include "conf/setting.h"

#include <stdlib.h>
#include <string.h>

#include <libconfig.h>

#include "base/mem.h"
#include "base/panic.h"
#include "conf/setting_item.h"
#include "conf/setting_type.h"

enum { KEY_MAX = 63 }; /* length of a name, and of keys that are compared for a hint */

/* The value that the row is about. */
static void *slot_of(const struct setting *s, void *base)
{
    return (char *)base + s->offset;
}

void setting_put_path(struct buf *out, const struct config_setting_t *s)
{
    const config_setting_t *parent = config_setting_parent(s);

    if (parent == NULL)
        return;
    setting_put_path(out, parent);
    if (config_setting_name(s) == NULL) { /* an element of an array or a list has an index only */
        buf_printf(out, "[%d]", config_setting_index(s));
        return;
    }
    if (!config_setting_is_root(parent))
        buf_putc(out, '.');
    buf_puts(out, config_setting_name(s));
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
    setting_put_path(&path, e);
    if (nearest != NULL)
        problems_add(r->problems, setting_item_place(r, e), "unknown setting %s: did you mean %s?",
                     buf_cstr(&path), nearest);
    else
        problems_add(r->problems, setting_item_place(r, e), "unknown setting %s", buf_cstr(&path));
    buf_free(&path);
}

/* Reports required settings that the group lacks. Those of a group inside the group have
 * defaults. */
static void report_missing(const struct setting_reader *r, const struct setting *table,
                           const config_setting_t *group)
{
    for (; table->key != NULL; table++) {
        if (table->initial == NULL && table->type != SETTING_NAMED &&
            table->type != SETTING_GROUP && config_setting_get_member(group, table->key) == NULL)
            setting_item_report(r, group, ".%s is required", table->key);
    }
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
        setting_item_report(r, e, ": the name %s", fault);
        return;
    }
    if (config_setting_type(e) != CONFIG_TYPE_GROUP) {
        setting_item_mismatch(r, e, "a group { }");
        return;
    }
    if (twin != NULL) {
        setting_item_report(r, e, " is there already: %s:%d", twin->at.file, twin->at.line);
        return;
    }
    setting_read(r, s->group, append_named(s, base, setting_item_place(r, e), name), e);
    report_missing(r, s->group, e);
}

static void read_all_named(const struct setting_reader *r, const struct setting *s, void *base,
                           const config_setting_t *e)
{
    if (config_setting_type(e) != CONFIG_TYPE_GROUP) {
        setting_item_mismatch(r, e, "a group of named groups, such as { NAME : { ... }; }");
        return;
    }
    for (int i = 0; i < config_setting_length(e); i++)
        read_named(r, s, base, config_setting_get_elem(e, (unsigned)i));
}

static void read_group(const struct setting_reader *r, const struct setting *s, void *base,
                       const config_setting_t *e)
{
    if (config_setting_type(e) == CONFIG_TYPE_GROUP)
        setting_read(r, s->group, slot_of(s, base), e);
    else
        setting_item_mismatch(r, e, "a group { }");
}

/* Reads one element by its row. Included files hold named groups only, so that single settings have
 * one place: the main file (docs/design.md "Configuration"). */
static void read_one(const struct setting_reader *r, const struct setting *s, void *base,
                     const config_setting_t *e)
{
    if (s->type == SETTING_NAMED)
        read_all_named(r, s, base, e);
    else if (r->main_file != NULL && config_setting_is_root(config_setting_parent(e)))
        setting_item_report(r, e, " may stand only in the main file, %s", r->main_file);
    else if (s->type == SETTING_GROUP)
        read_group(r, s, base, e);
    else
        setting_type_read(r, s, slot_of(s, base), e);
}

void setting_read(const struct setting_reader *r, const struct setting *table, void *base,
                  const struct config_setting_t *group)
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

/* A required setting has no default. Its string is "" until it is read, as conf_str.v is never
 * NULL. */
static void fill_required(const struct setting *table, void *base)
{
    for (; table->key != NULL; table++)
        if (table->type == SETTING_STR && table->initial == NULL)
            ((struct conf_str *)slot_of(table, base))->v = mem_strdup("");
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
    fill_required(table, base);
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
        else
            setting_type_fini(table, slot_of(table, base));
    }
}
