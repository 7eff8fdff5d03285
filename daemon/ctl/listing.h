/* SPDX-License-Identifier: Apache-2.0 */
/*
 * listing - an answer of the daemon as a table, or as a list of names; pure.
 */
#ifndef CTL_LISTING_H
#define CTL_LISTING_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

enum listing_format {
    LISTING_TEXT,
    LISTING_SECONDS, /* a number of seconds: "3s" */
    LISTING_BYTES,   /* a number of bytes: "1.2MiB" */
    LISTING_TOOK,    /* a number of seconds, as it is: "0.012s" */
    LISTING_SINCE,   /* a time in the past: how long ago */
    LISTING_UNTIL,   /* a time to come: in how long */
    LISTING_YES,     /* true: "yes", false: "no" */
    LISTING_MEMBERS, /* an object of scalars: "expired=2 manual=1" */
};

struct listing_column {
    const char *heading;
    const char *path; /* of the value inside its row, "metadata.name"; NULL = the row's own name */
    enum listing_format format;
    bool wide; /* shown in wide tables only */
    bool key;  /* part of the row's key, the parts joined by '/' */
};

enum listing_rows {
    LISTING_ONE,   /* the answer is one row */
    LISTING_ARRAY, /* each element is a row */
    LISTING_GROUP, /* each member of the member `group` is a row, with a name */
};

enum { LISTING_COLUMNS = 18 };

struct listing {
    const char *group;
    struct listing_column columns[LISTING_COLUMNS]; /* ends with the first without heading */
};

/* What a table looks like. */
struct listing_look {
    enum listing_rows rows;
    bool wide;
    int64_t now_s; /* wall clock, for LISTING_SINCE and LISTING_UNTIL */
};

/* Appends the table. ERR_PROTOCOL: json is none; out is then as it was. */
enum err_kind listing_put_table(struct buf *out, const struct listing *l,
                                const struct listing_look *look, struct str json,
                                struct err *err) MUST_CHECK;

/* The like below another table: a blank line goes before it; without rows it appends nothing. */
enum err_kind listing_put_below(struct buf *out, const struct listing *l,
                                const struct listing_look *look, struct str json,
                                struct err *err) MUST_CHECK;

/* Appends the key of each row that has one, and a newline. Errors as above. */
enum err_kind listing_put_keys(struct buf *out, const struct listing *l, enum listing_rows rows,
                               struct str json, struct err *err) MUST_CHECK;

/* The tables of this program. */
extern const struct listing listing_clusters;
extern const struct listing listing_watches;
extern const struct listing listing_views;
extern const struct listing listing_hooks;
extern const struct listing listing_runs;
extern const struct listing listing_whys;
extern const struct listing listing_pauses;
extern const struct listing listing_objects;
extern const struct listing listing_endpoints;
extern const struct listing listing_differences;

#endif
