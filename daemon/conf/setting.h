/* SPDX-License-Identifier: Apache-2.0 */
/*
 * setting - the engine behind the settings tables: reads a libconfig group into a struct, checks
 * types, ranges and names, fills in defaults; pure. A table ends with a row whose key is NULL.
 */
#ifndef CONF_SETTING_H
#define CONF_SETTING_H

#include <stddef.h>
#include <stdint.h>

#include "conf/problems.h"
#include "conf/where.h"

struct config_setting_t;

/* As long as any duration may be: 366 days. */
#define SETTING_YEAR_MS INT64_C(31622400000)

/* What stands in the file, and the value struct of conf/where.h that it goes to. */
enum setting_type {
    SETTING_STR,   /* conf_str; min and max count bytes */
    SETTING_BOOL,  /* conf_bool */
    SETTING_INT,   /* conf_int */
    SETTING_NUM,   /* conf_num; a number with or without a point */
    SETTING_MS,    /* conf_ms; "30s" */
    SETTING_SIZE,  /* conf_size; "16MiB" */
    SETTING_WORD,  /* conf_word; one of words */
    SETTING_WORDS, /* conf_words; an array of some of words */
    SETTING_CODE,  /* conf_int; a string that code turns into a number, and put_code back */
    SETTING_LIST,  /* conf_list; an array of strings; min and max count them */
    SETTING_INTS,  /* conf_ints; an array of whole numbers, none twice; min and max are theirs */
    SETTING_SPAN,  /* conf_span; an array of two durations */
    SETTING_MAP,   /* conf_map; a group of NAME = "value" */
    SETTING_GROUP, /* a struct of its own, read by the table group */
    SETTING_NAMED, /* a group of named groups, each read by the table group into one element */
};

/* An array of elements, each of which begins with struct conf_str name. */
struct setting_named {
    size_t size;  /* bytes of one element */
    size_t count; /* offset of the size_t that counts them */
};

struct setting {
    const char *key;
    enum setting_type type;
    size_t offset; /* of the value (NAMED: of the pointer) in the struct that the table fills */
    const char *initial;         /* the default exactly as a file would say it; NULL = required */
    int64_t min, max;            /* inclusive; durations in ms, sizes in bytes */
    const char *const *words;    /* WORD, WORDS: NULL-terminated */
    const struct setting *group; /* GROUP, NAMED */
    struct setting_named named;  /* NAMED */

    /* INT, MS, SIZE: a word that stands for 0, whatever the range ("off"); NULL = there is none. */
    const char *zero;

    /* It matters whether anybody wrote the value: setting_print() comments a default out. */
    bool written_counts;

    /* CODE: see conf/value.h; expects describes it for messages ("a signal such as \"TERM\""). */
    bool (*code)(const char *text, int64_t *out);
    void (*put_code)(struct buf *out, int64_t value);
    const char *expects;

    /* One more rule for a string (STR unless empty, WORD, items of LIST, values of MAP) or a name
     * (MAP): NULL if kept, else what follows `KEY: "TEXT" ` in the message. Values of MAP are never
     * shown. */
    const char *(*check)(const char *text);
    const char *(*check_name)(const char *name);
};

/* One row: the member of ROW_STRUCT that has the name of the key, its default, and what the type
 * needs. */
#define SETTING_ROW(kind, member, ...)                                                  \
    {                                                                                   \
        .key = #member, .type = SETTING_##kind, .offset = offsetof(ROW_STRUCT, member), \
        __VA_ARGS__                                                                     \
    }
#define SETTING_DEFAULT(text)   .initial = (text)
#define SETTING_RANGE(from, to) .min = (from), .max = (to)

/* One file being read. */
struct setting_reader {
    const char *file;
    const char *main_file; /* NULL = this is it; else only NAMED settings may stand at the top */
    struct problems *problems;
};

/* Sets every value of base, a zeroed struct, to its default. A bad default is a bug: it aborts. */
void setting_defaults(const struct setting *table, void *base);

/* Reads the members of a group into base, which holds defaults or earlier files' values, and
 * reports whatever is wrong. A value that is refused keeps its default, but has the place of the
 * refused text. */
void setting_read(const struct setting_reader *r, const struct setting *table, void *base,
                  const struct config_setting_t *group);

/* Frees all values of base. */
void setting_fini(const struct setting *table, void *base);

/* Appends the dotted path of a setting: "hooks.print.command[0]". */
void setting_put_path(struct buf *out, const struct config_setting_t *s);

#endif
