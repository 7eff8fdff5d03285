/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view - an answer of the daemon as a table, or as a list of names; pure.
 */
#ifndef CTL_VIEW_H
#define CTL_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

enum view_format {
    VIEW_TEXT,
    VIEW_SECONDS, /* a number of seconds: "3s" */
    VIEW_BYTES,   /* a number of bytes: "1.2MiB" */
    VIEW_TOOK,    /* a number of seconds, as it is: "0.012s" */
    VIEW_SINCE,   /* a time in the past: how long ago */
    VIEW_UNTIL,   /* a time to come: in how long */
    VIEW_YES,     /* true: "yes", false: "no" */
    VIEW_MEMBERS, /* an object of scalars: "expired=2 manual=1" */
};

struct view_column {
    const char *heading;
    const char *path; /* of the value inside its row, "metadata.name"; NULL = the row's own name */
    enum view_format format;
    bool wide; /* shown in wide tables only */
    bool key;  /* part of the row's key, the parts joined by '/' */
};

enum view_rows {
    VIEW_ONE,   /* the answer is one row */
    VIEW_ARRAY, /* each element is a row */
    VIEW_GROUP, /* each member of the member `group` is a row, with a name */
};

enum { VIEW_COLUMNS = 16 };

struct view {
    const char *group;
    struct view_column columns[VIEW_COLUMNS]; /* ends with the first without heading */
};

/* What a table looks like. */
struct view_look {
    enum view_rows rows;
    bool wide;
    int64_t now_s; /* wall clock, for VIEW_SINCE and VIEW_UNTIL */
};

/* Appends the table. ERR_PROTOCOL: json is none; out is then as it was. */
enum err_kind view_put_table(struct buf *out, const struct view *v, const struct view_look *look,
                             struct str json, struct err *err) MUST_CHECK;

/* The like below another table: a blank line goes before it; without rows it appends nothing. */
enum err_kind view_put_below(struct buf *out, const struct view *v, const struct view_look *look,
                             struct str json, struct err *err) MUST_CHECK;

/* Appends the key of each row that has one, and a newline. Errors as above. */
enum err_kind view_put_keys(struct buf *out, const struct view *v, enum view_rows rows,
                            struct str json, struct err *err) MUST_CHECK;

/* The tables of this program. */
extern const struct view view_clusters;
extern const struct view view_watches;
extern const struct view view_views;
extern const struct view view_hooks;
extern const struct view view_runs;
extern const struct view view_whys;
extern const struct view view_pauses;
extern const struct view view_objects;
extern const struct view view_endpoints;
extern const struct view view_differences;

#endif
