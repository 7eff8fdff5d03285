/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/listing.h"

#include "ctl/reader.h"
#include "ctl/table.h"
#include "ctl/units.h"

/* heading, path, format, wide, key */
const struct listing listing_clusters = {
    "clusters",
    {
      {"CLUSTER", NULL, LISTING_TEXT, false, true},
      {"SERVER", "server", LISTING_TEXT, false, false},
      {"CONTACT", "contact_age_s", LISTING_SECONDS, false, false},
      {"EXPIRES", "credential_expires", LISTING_EXPIRES, false, false},
      },
};

const struct listing listing_servers = {
    "clusters",
    {
      {"CLUSTER", NULL, LISTING_TEXT, false, false},
      {"SERVER", "url", LISTING_TEXT, false, true},
      {"TIER", "tier", LISTING_TEXT, true, false},
      {"USED", "in_use", LISTING_YES, false, false},
      {"STATE", "state", LISTING_TEXT, false, false},
      {"FOR", "state_age_s", LISTING_SECONDS, false, false},
      {"FAILED", "failed_age_s", LISTING_SECONDS, true, false},
      {"ERROR", "error", LISTING_TEXT, false, false},
      },
};

const struct listing listing_watches = {
    "watches",
    {
      {"WATCH", NULL, LISTING_TEXT, false, true},
      {"CLUSTER", "cluster", LISTING_TEXT, false, false},
      {"RESOURCE", "resource", LISTING_TEXT, false, false},
      {"STATE", "state", LISTING_TEXT, false, false},
      {"SYNCED", "synced", LISTING_YES, false, false},
      {"STALE", "stale", LISTING_YES, false, false},
      {"HELD", "held_reason", LISTING_TEXT, false, false},
      {"CONTACT", "contact_age_s", LISTING_SECONDS, false, false},
      {"EVENT", "last_event_age_s", LISTING_SECONDS, true, false},
      {"BOOKMARK", "last_bookmark_age_s", LISTING_SECONDS, true, false},
      {"OBJECTS", "objects", LISTING_TEXT, false, false},
      {"SKIPPED", "skipped", LISTING_TEXT, false, false},
      {"SIZE", "bytes", LISTING_BYTES, false, false},
      {"VERSION", "resource_version", LISTING_TEXT, true, false},
      {"RELISTS", "relists", LISTING_TEXT, false, false},
      {"REASONS", "relists_by", LISTING_MEMBERS, true, false},
      {"RESUMED", "resumed", LISTING_TEXT, true, false},
      {"ERROR", "last_error", LISTING_TEXT, false, false},
      },
};

const struct listing listing_views = {
    "views",
    {
      {"VIEW", NULL, LISTING_TEXT, false, true},
      {"SYNCED", "synced", LISTING_YES, false, false},
      {"STALE", "stale", LISTING_YES, false, false},
      {"OBJECTS", "objects", LISTING_TEXT, false, false},
      },
};

const struct listing listing_hooks = {
    "hooks",
    {
      {"HOOK", NULL, LISTING_TEXT, false, true},
      {"PENDING", "pending", LISTING_TEXT, false, false},
      {"OLDEST", "oldest_pending_s", LISTING_SECONDS, false, false},
      {"RUNNING", "running", LISTING_TEXT, false, false},
      {"PARKED", "parked", LISTING_TEXT, false, false},
      {"FORGOTTEN", "forgotten", LISTING_TEXT, false, false},
      {"PAUSED", "paused", LISTING_YES, false, false},
      {"OK", "runs_ok", LISTING_TEXT, false, false},
      {"FAILED", "runs_failed", LISTING_TEXT, false, false},
      {"SUCCESS", "last_success", LISTING_SINCE, false, false},
      {"ERROR", "last_error", LISTING_TEXT, false, false},
      },
};

const struct listing listing_runs = {
    NULL,
    {
      {"RUN", "run", LISTING_TEXT, false, true},
      {"HOOK", "hook", LISTING_TEXT, false, false},
      {"PROGRAM", "program", LISTING_TEXT, true, false},
      {"ENDED", "ended", LISTING_SINCE, false, false},
      {"TOOK", "took_s", LISTING_TOOK, false, false},
      {"CPU", "cpu_s", LISTING_TOOK, true, false},
      {"SOURCE", "source", LISTING_TEXT, true, false},
      {"KEY", "key", LISTING_TEXT, false, false},
      {"EVENT", "event", LISTING_TEXT, false, false},
      {"EVENTS", "events", LISTING_TEXT, true, false},
      {"REASON", "reason", LISTING_TEXT, false, false},
      {"ATTEMPT", "attempt", LISTING_TEXT, false, false},
      {"OUTCOME", "outcome", LISTING_TEXT, false, false},
      {"RESULT", "result", LISTING_TEXT, false, false},
      {"FILE", "file", LISTING_TEXT, true, false},
      {"DROPPED", "dropped_bytes", LISTING_BYTES, true, false},
      {"OUTPUT", "last_line", LISTING_TEXT, false, false},
      },
};

const struct listing listing_explain = {
    "units",
    {
      {"KEY", "key", LISTING_TEXT, false, true},
      {"SOURCE", "source", LISTING_TEXT, false, false},
      {"WHY", "text", LISTING_TEXT, false, false},
      {"UNTIL", "until", LISTING_UNTIL, false, false},
      {"FAILURES", "failures", LISTING_TEXT, false, false},
      {"EVENT", "event.type", LISTING_TEXT, false, false},
      {"CAUSE", "event.cause", LISTING_TEXT, true, false},
      {"RECEIVED", "event.received", LISTING_SINCE, false, false},
      {"DIGEST", "digest", LISTING_TEXT, false, false},
      {"RUN", "last_run.run", LISTING_TEXT, false, false},
      {"ENDED", "last_run.ended", LISTING_SINCE, false, false},
      {"RESULT", "last_run.result", LISTING_TEXT, false, false},
      },
};

const struct listing listing_pauses = {
    "hooks",
    {
      {"HOOK", NULL, LISTING_TEXT, false, true},
      {"PAUSED", "paused", LISTING_YES, false, false},
      {"CHANGED", "changed", LISTING_YES, false, false},
      {"RUNNING", "running", LISTING_TEXT, false, false},
      },
};

const struct listing listing_objects = {
    NULL,
    {
      {"NAMESPACE", "metadata.namespace", LISTING_TEXT, false, true},
      {"NAME", "metadata.name", LISTING_TEXT, false, true},
      {"AGE", "metadata.creationTimestamp", LISTING_SINCE, false, false},
      {"VERSION", "metadata.resourceVersion", LISTING_TEXT, true, false},
      {"UID", "metadata.uid", LISTING_TEXT, true, false},
      },
};

/* Objects of a view (service_endpoints). They have no metadata. */
const struct listing listing_endpoints = {
    NULL,
    {
      {"NAMESPACE", "namespace", LISTING_TEXT, false, true},
      {"NAME", "name", LISTING_TEXT, false, true},
      {"TYPE", "service.spec.type", LISTING_TEXT, false, false},
      {"READY", "ready", LISTING_TEXT, false, false},
      {"LOCAL", "local_ready", LISTING_TEXT, false, false},
      {"HELD", "held", LISTING_YES, false, false},
      {"UID", "uid", LISTING_TEXT, true, false},
      },
};

const struct listing listing_differences = {
    "keys",
    {
      {"KEY", "key", LISTING_TEXT, false, true},
      {"WHAT", "what", LISTING_TEXT, false, false},
      },
};

/* Makes rows out of the scalars of an answer, in one pass. A row is begun with its first scalar,
 * and handed out when a scalar of another row comes, or at the end. */
struct walk {
    const struct listing *listing;
    const struct listing_look *look;
    struct buf cells[LISTING_COLUMNS]; /* of the row that is begun */
    struct buf path;                   /* of the row that is begun */
    bool begun;
    void (*row)(struct walk *w); /* gets each whole row: add_to_table() or add_to_keys() */
    struct table *table;         /* for add_to_table() */
    struct buf *out;             /* for add_to_keys() */
};

/* A column without heading ends the columns of a listing. */
static size_t column_count(const struct listing *l)
{
    size_t n = 0;

    while (n < LISTING_COLUMNS && l->columns[n].heading != NULL)
        n++;
    return n;
}

/* How long ago; a text that is no time is shown as it is. A time that is ahead of this clock is
 * shown as 0s. */
static void put_since(struct buf *out, struct str text, int64_t now_s)
{
    int64_t then_s = 0;

    if (!units_parse_time(text, &then_s))
        buf_append_str(out, text);
    else
        units_put_duration(out, now_s > then_s ? (uint64_t)(now_s - then_s) : 0);
}

/* The same for a time in the future; a time that has passed is "in 0s". */
static void put_until(struct buf *out, struct str text, int64_t now_s, bool expires)
{
    int64_t then_s = 0;

    if (!units_parse_time(text, &then_s)) {
        buf_append_str(out, text);
        return;
    }
    if (expires && then_s <= now_s) {
        buf_puts(out, "expired");
        return;
    }
    buf_puts(out, "in ");
    units_put_duration(out, then_s > now_s ? (uint64_t)(then_s - now_s) : 0);
}

/* The type of the value comes first: a column of numbers or times may have null, which leaves the
 * cell empty. */
static void put_value(struct buf *out, enum listing_format format, const struct leaf *leaf,
                      int64_t now_s)
{
    if (leaf->type == JSON_TRUE || leaf->type == JSON_FALSE)
        buf_puts(out, leaf->type == JSON_TRUE ? "yes" : "no");
    else if (leaf->type == JSON_NULL)
        return;
    else if (format == LISTING_SECONDS)
        units_put_duration(out, reader_whole(leaf));
    else if (format == LISTING_BYTES)
        units_put_size(out, reader_whole(leaf));
    else if (format == LISTING_SINCE)
        put_since(out, leaf->text, now_s);
    else if (format == LISTING_UNTIL || format == LISTING_EXPIRES)
        put_until(out, leaf->text, now_s, format == LISTING_EXPIRES);
    else if (format == LISTING_TOOK)
        buf_printf(out, "%.*ss", STR_ARG(leaf->text));
    else
        buf_append_str(out, leaf->text);
}

static void end_row(struct walk *w)
{
    if (!w->begun)
        return;
    w->row(w);
    w->begun = false;
    for (size_t i = 0; i < LISTING_COLUMNS; i++)
        buf_clear(&w->cells[i]);
}

/* The number of parts of a path that lead to a row. */
static size_t depth_of_rows(const struct walk *w)
{
    static const size_t depths[] = {
        [LISTING_ONE] = 0, [LISTING_ARRAY] = 1, [LISTING_GROUP] = 2, [LISTING_NESTED] = 4};

    return depths[w->look->rows];
}

/* Begins another row unless the leaf belongs to the row that is begun. Columns without path get the
 * name of the row. */
static void enter_row(struct walk *w, const struct leaf *leaf)
{
    size_t depth = depth_of_rows(w);
    struct str name = depth == 0 ? str_c("") : leaf->path[depth > 1];
    struct buf path = {0};

    for (size_t i = 0; i < depth; i++)
        buf_printf(&path, "%.*s/", STR_ARG(leaf->path[i]));
    bool same = w->begun && str_eq(buf_str(&w->path), buf_str(&path));
    if (!same)
        end_row(w);
    buf_free(&w->path);
    w->path = path;
    if (same)
        return;
    w->begun = true;
    for (size_t i = 0; i < column_count(w->listing); i++)
        if (w->listing->columns[i].path == NULL)
            buf_append_str(&w->cells[i], name);
}

/* Puts the leaf into the cell of column i if it is the value of that column, or, with
 * LISTING_MEMBERS, a member of the value. skip is the number of path parts before the row's own. */
static void put_in_cell(struct walk *w, size_t i, const struct leaf *leaf, size_t skip)
{
    const struct listing_column *column = &w->listing->columns[i];
    struct buf *cell = &w->cells[i];

    if (column->format == LISTING_MEMBERS) {
        if (leaf->depth == skip + 2 && str_is(leaf->path[skip], column->path))
            buf_printf(cell, "%s%.*s=%.*s", cell->len > 0 ? " " : "", STR_ARG(leaf->path[skip + 1]),
                       STR_ARG(leaf->text));
    } else if (reader_leads(leaf, skip, column->path)) {
        buf_clear(cell);
        put_value(cell, column->format, leaf, w->look->now_s);
    }
}

static void on_leaf(void *arg, const struct leaf *leaf)
{
    struct walk *w = arg;
    size_t skip = depth_of_rows(w);

    if (leaf->depth <= skip || (skip > 1 && !str_is(leaf->path[0], w->listing->group)) ||
        (skip > 2 && !str_is(leaf->path[2], w->look->nested)))
        return;
    enter_row(w, leaf);
    for (size_t i = 0; i < column_count(w->listing); i++)
        if (w->listing->columns[i].path != NULL)
            put_in_cell(w, i, leaf, skip);
}

static enum err_kind walk(struct walk *w, struct str json, struct err *err)
{
    enum err_kind kind = reader_scan(json, on_leaf, w, err);

    if (kind == ERR_OK)
        end_row(w);
    else
        err_wrap(err, "the answer cannot be read");
    for (size_t i = 0; i < LISTING_COLUMNS; i++)
        buf_free(&w->cells[i]);
    buf_free(&w->path);
    return kind;
}

static bool is_shown(const struct walk *w, size_t column)
{
    return w->look->wide || !w->listing->columns[column].wide;
}

static void add_to_table(struct walk *w)
{
    struct str cells[LISTING_COLUMNS];
    size_t n = 0;

    for (size_t i = 0; i < column_count(w->listing); i++)
        if (is_shown(w, i))
            cells[n++] = buf_str(&w->cells[i]);
    table_add(w->table, cells);
}

/* before NULL: appends the table even if it has no rows. Otherwise it appends `before` and the
 * table, and nothing if the table has no rows. */
static void put_behind(struct buf *out, const char *before, const struct table *t)
{
    if (before != NULL && table_rows(t) == 0)
        return;
    buf_puts(out, before != NULL ? before : "");
    table_put(out, t);
}

static enum err_kind put_rows(struct buf *out, const struct listing *l,
                              const struct listing_look *look, struct str json, const char *before,
                              struct err *err)
{
    struct walk w = {.listing = l, .look = look, .row = add_to_table};
    const char *headings[LISTING_COLUMNS];
    size_t n = 0;

    for (size_t i = 0; i < column_count(l); i++)
        if (is_shown(&w, i))
            headings[n++] = l->columns[i].heading;
    w.table = table_create(headings, n);
    enum err_kind kind = walk(&w, json, err);
    if (kind == ERR_OK)
        put_behind(out, before, w.table);
    table_destroy(&w.table);
    return kind;
}

enum err_kind listing_put_table(struct buf *out, const struct listing *l,
                                const struct listing_look *look, struct str json, struct err *err)
{
    return put_rows(out, l, look, json, NULL, err);
}

enum err_kind listing_put_below(struct buf *out, const struct listing *l,
                                const struct listing_look *look, struct str json, struct err *err)
{
    return put_rows(out, l, look, json, "\n", err);
}

/* Appends the key of the row: its parts, joined by '/'. An empty part (the namespace of an object
 * without one) is left out, as in the keys that commands take. */
static void add_to_keys(struct walk *w)
{
    bool more = false;

    for (size_t i = 0; i < column_count(w->listing); i++) {
        if (!w->listing->columns[i].key || w->cells[i].len == 0)
            continue;
        if (more)
            buf_putc(w->out, '/');
        units_put_visible(w->out, buf_str(&w->cells[i]));
        more = true;
    }
    if (more)
        buf_putc(w->out, '\n');
}

enum err_kind listing_put_keys(struct buf *out, const struct listing *l, enum listing_rows rows,
                               struct str json, struct err *err)
{
    const struct listing_look look = {.rows = rows};
    struct buf keys = {0}; /* out must be unchanged after an error */
    struct walk w = {.listing = l, .look = &look, .row = add_to_keys, .out = &keys};
    enum err_kind kind = walk(&w, json, err);

    if (kind == ERR_OK)
        buf_append_str(out, buf_str(&keys));
    buf_free(&keys);
    return kind;
}
