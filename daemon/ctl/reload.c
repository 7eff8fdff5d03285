/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/reload.h"

#include <string.h>
#include <unistd.h>

#include "base/visible.h"
#include "ctl/args.h"
#include "ctl/ask.h"
#include "ctl/reader.h"
#include "ctl/table.h"
#include "ctl/terminal.h"

enum { COL_KIND, COL_NAME, COL_CHANGE, COL_SETTINGS, COL_EFFECT, COLUMNS };

static const char *const headings[COLUMNS] = {
    [COL_KIND] = "KIND",         [COL_NAME] = "NAME",     [COL_CHANGE] = "CHANGE",
    [COL_SETTINGS] = "SETTINGS", [COL_EFFECT] = "EFFECT",
};

/* The answer so far. An entry of the plan is one row of the table, and is complete when a leaf of
 * another one comes. */
struct plan_look {
    struct table *table;
    struct buf cells[COLUMNS];
    struct buf index; /* of the entry, as it stands in the path */
    struct buf kinds; /* "hooks": where the entry is */
    bool is_planned;
    bool is_invalid;
    bool is_good;
    bool compares_programs;
    struct buf problems;
    struct buf settings; /* of no cluster, watch, view or hook */
    struct buf restarts;
};

static void add_text(struct buf *b, const char *between, struct str text)
{
    if (b->len > 0)
        buf_puts(b, between);
    visible_put(b, text);
}

/* An entry that is kept has no row. */
static void end_entry(struct plan_look *l)
{
    struct str row[COLUMNS];

    for (size_t i = 0; i < COLUMNS; i++)
        row[i] = buf_str(&l->cells[i]);
    if (row[COL_CHANGE].n > 0 && !str_is(row[COL_CHANGE], "keep"))
        table_add(l->table, row);
    for (size_t i = 0; i < COLUMNS; i++)
        buf_clear(&l->cells[i]);
    buf_clear(&l->index);
    buf_clear(&l->kinds);
}

static const char *kind_of(struct str kinds)
{
    static const char *const names[][2] = {
        {"clusters", "cluster"},
        {"watches",  "watch"  },
        {"views",    "view"   },
        {"hooks",    "hook"   },
    };

    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (str_is(kinds, names[i][0]))
            return names[i][1];
    return NULL;
}

static void take_entry(struct plan_look *l, const struct leaf *leaf)
{
    if (!str_is(leaf->path[1], buf_cstr(&l->kinds)) ||
        !str_is(leaf->path[2], buf_cstr(&l->index))) {
        end_entry(l);
        buf_append_str(&l->kinds, leaf->path[1]);
        buf_append_str(&l->index, leaf->path[2]);
        buf_puts(&l->cells[COL_KIND], kind_of(leaf->path[1]));
    }
    if (leaf->type != JSON_STRING)
        return;
    if (str_is(leaf->path[3], "name"))
        buf_append_str(&l->cells[COL_NAME], leaf->text);
    else if (str_is(leaf->path[3], "change"))
        buf_append_str(&l->cells[COL_CHANGE], leaf->text);
    else if (str_is(leaf->path[3], "settings"))
        add_text(&l->cells[COL_SETTINGS], " ", leaf->text);
    else if (str_is(leaf->path[3], "effect") || str_is(leaf->path[3], "because"))
        add_text(&l->cells[COL_EFFECT], ", ", leaf->text);
}

/* The default of control.group is an empty text. */
static void put_value(struct buf *out, struct str value)
{
    visible_put(out, value.n > 0 ? value : str_c("the default"));
}

/* Members come in the order of reload_plan_put(): setting, now, wanted, at. */
static void take_restart(struct plan_look *l, const struct leaf *leaf)
{
    if (str_is(leaf->path[3], "setting")) {
        buf_puts(&l->restarts, "needs a restart: ");
        visible_put(&l->restarts, leaf->text);
    } else if (str_is(leaf->path[3], "now")) {
        buf_puts(&l->restarts, " (now ");
        put_value(&l->restarts, leaf->text);
    } else if (str_is(leaf->path[3], "wanted")) {
        buf_puts(&l->restarts, ", file says ");
        put_value(&l->restarts, leaf->text);
        buf_putc(&l->restarts, ')');
    } else {
        if (leaf->type == JSON_STRING) {
            buf_puts(&l->restarts, ": ");
            visible_put(&l->restarts, leaf->text);
        }
        buf_putc(&l->restarts, '\n');
    }
}

static void on_leaf(void *arg, const struct leaf *leaf)
{
    struct plan_look *l = arg;

    if (reader_leads(leaf, 0, "result")) {
        l->is_planned = str_is(leaf->text, "planned");
        l->is_good = l->is_planned || str_is(leaf->text, "reloaded");
        l->is_invalid = str_is(leaf->text, "invalid");
    } else if (leaf->depth == 2 && str_is(leaf->path[0], "problems")) {
        visible_put(&l->problems, leaf->text);
        buf_putc(&l->problems, '\n');
    } else if (reader_leads(leaf, 0, "plan.compares_programs")) {
        l->compares_programs = leaf->type == JSON_TRUE;
    } else if (leaf->depth < 3 || !str_is(leaf->path[0], "plan")) {
        return;
    } else if (leaf->depth == 3 && str_is(leaf->path[1], "settings")) {
        add_text(&l->settings, " ", leaf->text);
    } else if (leaf->depth >= 4 && kind_of(leaf->path[1]) != NULL) {
        take_entry(l, leaf);
    } else if (leaf->depth == 4 && str_is(leaf->path[1], "needs_restart")) {
        take_restart(l, leaf);
    }
}

/* A person who has edited a script must not take the plan for the whole answer. */
static void put_next(const struct plan_look *l, struct buf *out)
{
    if (!l->compares_programs)
        return;
    buf_puts(out, l->is_planned ? "a reload compares programs and files of hooks, too\n"
                                : "programs and files of hooks are compared next: other ones run "
                                  "their hook again\n");
}

static void put_plan(struct plan_look *l, size_t width, struct buf *out)
{
    if (l->settings.len > 0) {
        struct str row[COLUMNS] = {str_c("daemon"), str_c(""), str_c("change"),
                                   buf_str(&l->settings), str_c("")};

        table_add(l->table, row);
    }
    if (table_rows(l->table) > 0) {
        table_may_cut(l->table, COL_SETTINGS);
        table_may_cut(l->table, COL_EFFECT);
        table_may_shorten(l->table, COL_NAME);
        if (width > 0)
            table_fit(l->table, width);
        table_put(out, l->table);
    } else if (l->restarts.len == 0) {
        buf_puts(out, l->is_planned ? "nothing changes\n" : "nothing changed\n");
        put_next(l, out);
    }
    buf_append_str(out, buf_str(&l->restarts));
}

enum err_kind reload_put(struct str json, size_t width, struct buf *out, struct buf *complaint,
                         enum command_exit *code, struct err *err)
{
    struct plan_look l = {.table = table_create(headings, COLUMNS)};
    enum err_kind kind = reader_scan(json, on_leaf, &l, err);

    if (kind == ERR_OK) {
        end_entry(&l);
        *code = l.is_good ? EXIT_FINE : l.is_invalid ? EXIT_CONFIG : EXIT_NO;
        if (l.is_good)
            put_plan(&l, width, out);
        buf_append_str(complaint, buf_str(&l.problems));
    }
    table_destroy(&l.table);
    for (size_t i = 0; i < COLUMNS; i++)
        buf_free(&l.cells[i]);
    buf_free(&l.index);
    buf_free(&l.kinds);
    buf_free(&l.problems);
    buf_free(&l.settings);
    buf_free(&l.restarts);
    return kind;
}

static enum command_exit show(const struct args *a, const struct buf *json, struct buf *out,
                              struct buf *complaint)
{
    struct buf people = {0};
    struct err err = {0};
    enum command_exit code = EXIT_FINE;

    if (reload_put(buf_str(json), a->output == OUTPUT_WIDE ? 0 : terminal_width_of_tables(),
                   &people, complaint, &code, &err) != ERR_OK)
        code = ask_unreadable(a, &err, complaint);
    else
        buf_append_str(out, buf_str(a->output == OUTPUT_JSON ? json : &people));
    buf_free(&people);
    return code;
}

/* The daemon has a time limit for the read, so there is none here. */
enum command_exit reload_run(const struct args *a, struct buf *out, struct buf *complaint)
{
    const char *target = a->dry_run ? "/v1/reload/dry-run" : "/v1/reload";
    struct buf json;
    enum command_exit code = ask_for_line(a, "POST", target, 0, &json, complaint);

    if (code == EXIT_FINE)
        code = show(a, &json, out, complaint);
    buf_free(&json);
    return code;
}
