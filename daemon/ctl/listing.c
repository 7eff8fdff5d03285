/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/listing.h"

#include "base/visible.h"
#include "ctl/reader.h"
#include "ctl/table.h"
#include "ctl/units.h"

/* heading, path, format, when, key */
const struct listing listing_clusters = {
    "clusters",
    {
      {"CLUSTER", NULL, LISTING_TEXT, LISTING_ALWAYS, true},
      {"SERVER", "server", LISTING_TEXT, LISTING_ALWAYS, false},
      {"CONTACT", "contact_age_s", LISTING_SECONDS, LISTING_ALWAYS, false},
      {"EXPIRES", "credential_expires", LISTING_EXPIRES, LISTING_ALWAYS, false},
      },
};

const struct listing listing_servers = {
    "clusters",
    {
      {"CLUSTER", NULL, LISTING_TEXT, LISTING_ALWAYS, false},
      {"SERVER", "url", LISTING_TEXT, LISTING_ALWAYS, true},
      {"TIER", "tier", LISTING_TEXT, LISTING_WIDE, false},
      {"USED", "in_use", LISTING_YES, LISTING_ALWAYS, false},
      {"STATE", "state", LISTING_TEXT, LISTING_ALWAYS, false},
      {"FOR", "state_age_s", LISTING_SECONDS, LISTING_ALWAYS, false},
      {"FAILED", "failed_age_s", LISTING_SECONDS, LISTING_WIDE, false},
      {"ERROR", "error", LISTING_PROSE, LISTING_SAID, false},
      },
};

const struct listing listing_watches = {
    "watches",
    {
      {"WATCH", NULL, LISTING_TEXT, LISTING_ALWAYS, true},
      {"CLUSTER", "cluster", LISTING_TEXT, LISTING_DIFFERS, false},
      {"RESOURCE", "resource", LISTING_PROSE, LISTING_ALWAYS, false},
      {"STATE", "state", LISTING_TEXT, LISTING_ALWAYS, false},
      {"SYNCED", "synced", LISTING_YES, LISTING_ALWAYS, false},
      {"STALE", "stale", LISTING_YES, LISTING_SAID, false},
      {"HELD", "held_reason", LISTING_TEXT, LISTING_SAID, false},
      {"CONTACT", "contact_age_s", LISTING_SECONDS, LISTING_ALWAYS, false},
      {"EVENT", "last_event_age_s", LISTING_SECONDS, LISTING_WIDE, false},
      {"BOOKMARK", "last_bookmark_age_s", LISTING_SECONDS, LISTING_WIDE, false},
      {"OBJECTS", "objects", LISTING_TEXT, LISTING_ALWAYS, false},
      {"SKIPPED", "skipped", LISTING_TEXT, LISTING_SAID, false},
      {"SIZE", "bytes", LISTING_BYTES, LISTING_ALWAYS, false},
      {"VERSION", "resource_version", LISTING_TEXT, LISTING_WIDE, false},
      {"RELISTS", "relists", LISTING_TEXT, LISTING_WIDE, false},
      {"REASONS", "relists_by", LISTING_MEMBERS, LISTING_WIDE, false},
      {"RESUMED", "resumed", LISTING_TEXT, LISTING_WIDE, false},
      {"ERROR", "last_error", LISTING_PROSE, LISTING_SAID, false},
      },
};

const struct listing listing_views = {
    "views",
    {
      {"VIEW", NULL, LISTING_TEXT, LISTING_ALWAYS, true},
      {"SYNCED", "synced", LISTING_YES, LISTING_ALWAYS, false},
      {"STALE", "stale", LISTING_YES, LISTING_ALWAYS, false},
      {"INCOMPLETE", "incomplete", LISTING_YES, LISTING_SAID, false},
      {"OBJECTS", "objects", LISTING_TEXT, LISTING_ALWAYS, false},
      },
};

const struct listing listing_hooks = {
    "hooks",
    {
      {"HOOK", NULL, LISTING_TEXT, LISTING_ALWAYS, true},
      {"PENDING", "pending", LISTING_TEXT, LISTING_ALWAYS, false},
      {"OLDEST", "oldest_pending_s", LISTING_SECONDS, LISTING_ALWAYS, false},
      {"RUNNING", "running", LISTING_TEXT, LISTING_ALWAYS, false},
      {"PARKED", "parked", LISTING_TEXT, LISTING_SAID, false},
      {"FORGOTTEN", "forgotten", LISTING_TEXT, LISTING_SAID, false},
      {"PAUSED", "paused", LISTING_YES, LISTING_SAID, false},
      {"OK", "runs_ok", LISTING_TEXT, LISTING_ALWAYS, false},
      {"FAILED", "runs_failed", LISTING_TEXT, LISTING_ALWAYS, false},
      {"P50", "latency_p50_s", LISTING_TOOK, LISTING_WIDE, false},
      {"P99", "latency_p99_s", LISTING_TOOK, LISTING_WIDE, false},
      {"SUCCESS", "last_success", LISTING_SINCE, LISTING_ALWAYS, false},
      {"ERROR", "last_error", LISTING_PROSE, LISTING_SAID, false},
      },
};

const struct listing listing_runs = {
    NULL,
    {
      {"RUN", "run", LISTING_TEXT, LISTING_WIDE, true},
      {"HOOK", "hook", LISTING_TEXT, LISTING_ALWAYS, false},
      {"PROGRAM", "program", LISTING_TEXT, LISTING_WIDE, false},
      {"ENDED", "ended", LISTING_SINCE, LISTING_ALWAYS, false},
      {"TOOK", "took_s", LISTING_TOOK, LISTING_ALWAYS, false},
      {"CPU", "cpu_s", LISTING_TOOK, LISTING_WIDE, false},
      {"MEMORY", "memory_peak_bytes", LISTING_BYTES, LISTING_WIDE, false},
      {"SOURCE", "source", LISTING_TEXT, LISTING_WIDE, false},
      {"KEY", "key", LISTING_TEXT, LISTING_ALWAYS, false},
      {"EVENT", "event", LISTING_TEXT, LISTING_SAID, false},
      {"EVENTS", "events", LISTING_TEXT, LISTING_WIDE, false},
      {"REASON", "reason", LISTING_TEXT, LISTING_ALWAYS, false},
      {"ATTEMPT", "attempt", LISTING_TEXT, LISTING_WIDE, false},
      {"OUTCOME", "outcome", LISTING_TEXT, LISTING_WIDE, false},
      {"RESULT", "result", LISTING_PROSE, LISTING_ALWAYS, false},
      {"HOOKS", "hooks", LISTING_LIST, LISTING_SAID, false},
      {"FILE", "file", LISTING_TEXT, LISTING_WIDE, false},
      {"DROPPED", "dropped_bytes", LISTING_BYTES, LISTING_WIDE, false},
      {"OUTPUT", "last_line", LISTING_PROSE, LISTING_SAID, false},
      },
};

const struct listing listing_explain = {
    "units",
    {
      {"KEY", "key", LISTING_TEXT, LISTING_ALWAYS, true},
      {"SOURCE", "source", LISTING_TEXT, LISTING_DIFFERS, false},
      {"WHY", "text", LISTING_PROSE, LISTING_ALWAYS, false},
      {"UNTIL", "until", LISTING_UNTIL, LISTING_SAID, false},
      {"FAILURES", "failures", LISTING_TEXT, LISTING_SAID, false},
      {"EVENT", "event.type", LISTING_TEXT, LISTING_SAID, false},
      {"CAUSE", "event.cause", LISTING_TEXT, LISTING_WIDE, false},
      {"RECEIVED", "event.received", LISTING_SINCE, LISTING_WIDE, false},
      {"DIGEST", "digest", LISTING_TEXT, LISTING_WIDE, false},
      {"RUN", "last_run.run", LISTING_TEXT, LISTING_WIDE, false},
      {"ENDED", "last_run.ended", LISTING_SINCE, LISTING_WIDE, false},
      {"RESULT", "last_run.result", LISTING_PROSE, LISTING_SAID, false},
      },
};

const struct listing listing_pauses = {
    "hooks",
    {
      {"HOOK", NULL, LISTING_TEXT, LISTING_ALWAYS, true},
      {"PAUSED", "paused", LISTING_YES, LISTING_ALWAYS, false},
      {"CHANGED", "changed", LISTING_YES, LISTING_ALWAYS, false},
      {"RUNNING", "running", LISTING_TEXT, LISTING_ALWAYS, false},
      },
};

const struct listing listing_objects = {
    NULL,
    {
      {"NAMESPACE", "metadata.namespace", LISTING_TEXT, LISTING_ALWAYS, true},
      {"NAME", "metadata.name", LISTING_TEXT, LISTING_ALWAYS, true},
      {"AGE", "metadata.creationTimestamp", LISTING_SINCE, LISTING_ALWAYS, false},
      {"VERSION", "metadata.resourceVersion", LISTING_TEXT, LISTING_WIDE, false},
      {"UID", "metadata.uid", LISTING_TEXT, LISTING_WIDE, false},
      },
};

/* Objects of a view (service_endpoints). They have no metadata. */
const struct listing listing_endpoints = {
    NULL,
    {
      {"NAMESPACE", "namespace", LISTING_TEXT, LISTING_ALWAYS, true},
      {"NAME", "name", LISTING_TEXT, LISTING_ALWAYS, true},
      {"TYPE", "service.spec.type", LISTING_TEXT, LISTING_ALWAYS, false},
      {"READY", "ready", LISTING_TEXT, LISTING_ALWAYS, false},
      {"LOCAL", "local_ready", LISTING_TEXT, LISTING_ALWAYS, false},
      {"HELD", "held", LISTING_YES, LISTING_ALWAYS, false},
      {"UID", "uid", LISTING_TEXT, LISTING_WIDE, false},
      },
};

const struct listing listing_differences = {
    "keys",
    {
      {"KEY", "key", LISTING_TEXT, LISTING_ALWAYS, true},
      {"WHAT", "what", LISTING_TEXT, LISTING_ALWAYS, false},
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

/* Adds a member of an object, or an element of an array, to those that are in the cell. */
static void add_part(struct buf *cell, enum listing_format format, struct str name,
                     struct str value)
{
    if (cell->len > 0)
        buf_putc(cell, ' ');
    if (format == LISTING_MEMBERS)
        buf_printf(cell, "%.*s=", STR_ARG(name));
    buf_append_str(cell, value);
}

/* Puts the leaf into the cell of column i if it is the value of that column, or, with
 * LISTING_MEMBERS and LISTING_LIST, a part of the value. skip is the number of path parts before the
 * row's own. */
static void put_in_cell(struct walk *w, size_t i, const struct leaf *leaf, size_t skip)
{
    const struct listing_column *column = &w->listing->columns[i];
    bool has_parts = column->format == LISTING_MEMBERS || column->format == LISTING_LIST;
    struct buf *cell = &w->cells[i];

    if (!has_parts && reader_leads(leaf, skip, column->path)) {
        buf_clear(cell);
        put_value(cell, column->format, leaf, w->look->now_s);
    } else if (has_parts && leaf->depth == skip + 2 && str_is(leaf->path[skip], column->path)) {
        add_part(cell, column->format, leaf->path[skip + 1], leaf->text);
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

/* Columns that depend on the rows are in the table until fit() hides them. */
static bool is_shown(const struct walk *w, size_t column)
{
    return w->look->wide || w->listing->columns[column].when != LISTING_WIDE;
}

/* Hides columns that say nothing, and cuts cells that have no room. */
static void fit(const struct walk *w)
{
    size_t n = 0;

    for (size_t i = 0; i < column_count(w->listing); i++) {
        const struct listing_column *c = &w->listing->columns[i];

        if (!is_shown(w, i))
            continue;
        if ((c->when == LISTING_SAID && !table_says(w->table, n)) ||
            (c->when == LISTING_DIFFERS && !table_differs(w->table, n)))
            table_hide(w->table, n);
        if (c->format == LISTING_PROSE)
            table_may_cut(w->table, n);
        else
            table_may_shorten(w->table, n);
        n++;
    }
    if (w->look->width > 0)
        table_fit(w->table, w->look->width);
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
    if (look->colour)
        table_colour(w.table);
    enum err_kind kind = walk(&w, json, err);
    if (kind == ERR_OK && !look->wide)
        fit(&w);
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
        visible_put(w->out, buf_str(&w->cells[i]));
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
