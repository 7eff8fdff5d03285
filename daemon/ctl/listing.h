/* SPDX-License-Identifier: Apache-2.0 */
/*
 * listing - prints an answer of the daemon as a table, or as a list of keys; pure.
 */
#ifndef CTL_LISTING_H
#define CTL_LISTING_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

enum listing_format {
    LISTING_TEXT,
    LISTING_PROSE,   /* a text that may be cut where the table would be wider than a terminal */
    LISTING_SECONDS, /* a number of seconds: "3s" */
    LISTING_BYTES,   /* a number of bytes: "1.2MiB" */
    LISTING_TOOK,    /* a number of seconds, not rounded: "0.012s" */
    LISTING_SINCE,   /* a time in the past, as its age: "3s" */
    LISTING_UNTIL,   /* a time in the future: "in 3s" */
    LISTING_EXPIRES, /* the same; a time in the past is "expired" */
    LISTING_YES,     /* true: "yes", false: "no" */
    LISTING_MEMBERS, /* an object of scalars: "expired=2 manual=1" */
    LISTING_LIST,    /* an array of scalars: "a b" */
};

/* When a column is shown in tables that are not wide; a wide table has all columns. */
enum listing_when {
    LISTING_ALWAYS,
    LISTING_WIDE,    /* never */
    LISTING_SAID,    /* unless it is empty, 0 or "no" in every row */
    LISTING_DIFFERS, /* if the rows differ in it */
};

struct listing_column {
    const char *heading;
    const char *path; /* of the value in its row ("metadata.name"); NULL = the name of the row */
    enum listing_format format;
    enum listing_when when;
    bool key; /* part of the row's key, the parts joined by '/' */
};

enum listing_rows {
    LISTING_ONE,    /* the answer is one row */
    LISTING_ARRAY,  /* each element is a row */
    LISTING_GROUP,  /* each member of the member `group` is a row; its name is that of the row */
    LISTING_NESTED, /* each element of the array `nested` of such a member is a row, with the
                     * member's name */
};

enum { LISTING_COLUMNS = 19 };

struct listing {
    const char *group;
    struct listing_column columns[LISTING_COLUMNS]; /* a column without heading ends them */
};

/* How a table is read and printed. */
struct listing_look {
    enum listing_rows rows;
    const char *nested; /* for LISTING_NESTED */
    bool wide;          /* all columns, and nothing is cut */
    size_t width;       /* if not wide: of the terminal; 0 = there is none, nothing is cut */
    bool colour;        /* headings and cells have colours (ctl/tone) */
    int64_t now_s;      /* wall clock, for LISTING_SINCE and LISTING_UNTIL */
};

/* Appends the table. ERR_PROTOCOL: json is no JSON; out is unchanged. */
enum err_kind listing_put_table(struct buf *out, const struct listing *l,
                                const struct listing_look *look, struct str json,
                                struct err *err) MUST_CHECK;

/* The same below another table: a blank line goes before it; without rows it appends nothing. */
enum err_kind listing_put_below(struct buf *out, const struct listing *l,
                                const struct listing_look *look, struct str json,
                                struct err *err) MUST_CHECK;

/* Appends the key of each row, and a newline; a row without a key is left out. Errors as for
 * listing_put_table(). */
enum err_kind listing_put_keys(struct buf *out, const struct listing *l, enum listing_rows rows,
                               struct str json, struct err *err) MUST_CHECK;

/* The tables of informerctl; paths are members of the daemon's answers. */
extern const struct listing listing_clusters;
extern const struct listing listing_servers;
extern const struct listing listing_watches;
extern const struct listing listing_views;
extern const struct listing listing_hooks;
extern const struct listing listing_runs;
extern const struct listing listing_explain;
extern const struct listing listing_pauses;
extern const struct listing listing_objects;
extern const struct listing listing_endpoints;
extern const struct listing listing_differences;

#endif
