/* SPDX-License-Identifier: Apache-2.0 */
/*
 * setting - the engine behind the settings tables: reads a libconfig group into a struct, checks
 * types, ranges and names, fills in defaults; pure. A struct setting is one row of a table; the
 * table ends with a row whose key is NULL.
 */
#ifndef CONF_SETTING_H
#define CONF_SETTING_H

#include <stddef.h>
#include <stdint.h>

#include "conf/problems.h"
#include "conf/where.h"

struct config_setting_t;

/* The longest duration that any setting takes: 366 days (docs/design.md "Values"). */
#define SETTING_YEAR_MS INT64_C(31622400000)

/* The form of the text in the file, and the struct of conf/where.h that its value goes to. */
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
    SETTING_INTS,  /* conf_ints; an array of distinct whole numbers; min and max bound each */
    SETTING_SPAN,  /* conf_span; an array of two durations */
    SETTING_MAP,   /* conf_map; a group of NAME = "value" */
    SETTING_GROUP, /* a struct inside the struct, filled by the table group */
    SETTING_NAMED, /* a group of named groups; the table group fills one element from each */
};

/* The class of a setting: how a change of it takes effect. For a hook the class says whether the runs
 * with the old value still count (docs/design.md "Renewal"). */
enum setting_change {
    SETTING_NO_CLASS, /* not in the table of a hook: app/reload_plan decides what a change does */
    SETTING_IN_PLACE, /* time, retry, limits and order: handled objects stay handled */
    SETTING_RENEWS,   /* program, identity, input or output: the hook runs again for all objects */
    SETTING_RESTARTS, /* at the top: has its effect before main parts from the helper, or gives up
                       * rights, so a reload cannot change it */
};

/* The array of a NAMED setting. Each of its elements begins with struct conf_str name. */
struct setting_named {
    size_t size;  /* bytes of one element */
    size_t count; /* offset of the size_t that counts them */
};

struct setting {
    const char *key;
    enum setting_type type;
    enum setting_change change; /* GROUP: of all its members */
    size_t offset; /* of the value (NAMED: of the pointer) in the struct that the table fills */
    const char *initial;         /* the default, written as in a file; NULL = required */
    int64_t min, max;            /* inclusive; durations in ms, sizes in bytes */
    const char *const *words;    /* WORD, WORDS: NULL-terminated */
    const struct setting *group; /* GROUP, NAMED */
    struct setting_named named;  /* NAMED */

    /* INT, MS, SIZE: a word that stands for 0 even outside of the range ("off"); NULL = none. */
    const char *zero;

    /* No included file may have the setting. */
    bool main_file_only;

    /* Whether the user wrote the value makes a difference, even if it equals the default: so
     * setting_print() prints a default as a comment. */
    bool written_counts;

    /* CODE: the reader and printer, as in conf/value.h; expects describes the text for messages ("a
     * signal such as \"TERM\""). */
    bool (*code)(const char *text, int64_t *out);
    void (*put_code)(struct buf *out, int64_t value);
    const char *expects;

    /* One more rule for a string (STR unless empty, WORD, elements of LIST, values of MAP), and one
     * for the names of a MAP. NULL if the text keeps the rule, otherwise the words behind
     * `KEY: "TEXT" ` in the message. Messages never show values of a MAP: environment may hold
     * secrets. */
    const char *(*check)(const char *text);
    const char *(*check_name)(const char *name);
};

/* One row: the member of ROW_STRUCT that has the name of the key, its default, and the further
 * members of struct setting that its type needs. */
#define SETTING_ROW(kind, member, ...)                                                  \
    {                                                                                   \
        .key = #member, .type = SETTING_##kind, .offset = offsetof(ROW_STRUCT, member), \
        __VA_ARGS__                                                                     \
    }
/* A row of a hook's table: class is IN_PLACE or RENEWS. */
#define SETTING_HOOK_ROW(class, kind, member, ...) \
    SETTING_ROW(kind, member, .change = SETTING_##class, __VA_ARGS__)
#define SETTING_DEFAULT(text)   .initial = (text)
#define SETTING_RANGE(from, to) .min = (from), .max = (to)

/* One file being read. */
struct setting_reader {
    const char *file;
    const char *main_file; /* NULL = file is the main file */
    struct problems *problems;
};

/* Sets every value of base, a zeroed struct, to its default. A default that the table's own rules
 * refuse is a bug of the program: it panics. setting_fini() frees the values. */
void setting_defaults(const struct setting *table, void *base);

/* Reads the members of a group into base, which holds defaults or values of earlier files, and
 * reports all problems. A value that is refused stays as it was, but gets the place of the refused
 * text, so that problems_has() finds it. */
void setting_read(const struct setting_reader *r, const struct setting *table, void *base,
                  const struct config_setting_t *group);

/* Frees all that the values of base own, but not base itself. */
void setting_fini(const struct setting *table, void *base);

#endif
