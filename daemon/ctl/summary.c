/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/summary.h"

#include <inttypes.h>
#include <string.h>

#include "base/visible.h"
#include "ctl/listing.h"
#include "ctl/reader.h"
#include "ctl/tone.h"
#include "ctl/units.h"

enum { FILES_SHOWN = 10 };

/* The part of the status that comes before the tables. */
struct summary {
    struct buf version;
    struct buf pid;
    struct buf started;
    bool ready;
    bool degraded;
    struct buf reasons; /* why it is degraded, one line for each reason */
    struct buf files;   /* stray files that stay, one line each, FILES_SHOWN at most */
    size_t file_count;
    bool has_state;        /* the answer has the member "state" */
    bool kept;             /* the state is kept on disk */
    bool unwritable;       /* the disk does not take it */
    struct buf dir;        /* the state_dir; "" = none is configured */
    struct buf since;      /* the time since which the state cannot be written; "" = it can */
    uint64_t waiting;      /* changes of the state that are not on disk */
    uint64_t memory;       /* bytes of the caches, and .. */
    uint64_t memory_limit; /* .. limits.memory; 0 = none */
    bool several;          /* a cluster has several servers */
};

static void set(struct buf *b, struct str text)
{
    buf_clear(b);
    visible_put(b, text);
}

/* A member of "state": the state that informerd keeps over restarts. */
static void on_state(struct summary *s, const struct leaf *leaf)
{
    s->has_state = true;
    if (reader_leads(leaf, 1, "kept"))
        s->kept = leaf->type == JSON_TRUE;
    else if (reader_leads(leaf, 1, "writable"))
        s->unwritable = leaf->type == JSON_FALSE;
    else if (reader_leads(leaf, 1, "dir"))
        set(&s->dir, leaf->text);
    else if (reader_leads(leaf, 1, "since"))
        set(&s->since, leaf->text);
    else if (reader_leads(leaf, 1, "waiting"))
        s->waiting = reader_whole(leaf);
}

/* A member of an element of "left_files". The daemon writes the members in this order: hook, file,
 * because. So "hook" begins a line, and "because" ends it. */
static void on_file(struct summary *s, const struct leaf *leaf)
{
    bool begins = str_is(leaf->path[2], "hook");

    s->file_count += begins;
    if (s->file_count > FILES_SHOWN)
        return;
    buf_puts(&s->files, begins ? "  hook " : ": ");
    visible_put(&s->files, leaf->text);
    if (str_is(leaf->path[2], "because"))
        buf_putc(&s->files, '\n');
}

static void on_leaf(void *arg, const struct leaf *leaf)
{
    struct summary *s = arg;

    if (reader_leads(leaf, 0, "version")) {
        set(&s->version, leaf->text);
    } else if (reader_leads(leaf, 0, "pid")) {
        set(&s->pid, leaf->text);
    } else if (reader_leads(leaf, 0, "started")) {
        set(&s->started, leaf->text);
    } else if (reader_leads(leaf, 0, "ready")) {
        s->ready = leaf->type == JSON_TRUE;
    } else if (leaf->depth == 2 && str_is(leaf->path[0], "degraded")) {
        s->degraded = true;
        buf_puts(&s->reasons, "  ");
        visible_put(&s->reasons, leaf->text);
        buf_putc(&s->reasons, '\n');
    } else if (leaf->depth == 2 && str_is(leaf->path[0], "state")) {
        on_state(s, leaf);
    } else if (leaf->depth == 2 && str_is(leaf->path[0], "memory")) {
        *(str_is(leaf->path[1], "limit") ? &s->memory_limit : &s->memory) = reader_whole(leaf);
    } else if (leaf->depth == 3 && str_is(leaf->path[0], "left_files")) {
        on_file(s, leaf);
    } else if (leaf->depth > 4 && str_is(leaf->path[0], "clusters") &&
               str_is(leaf->path[2], "servers") && str_is(leaf->path[3], "1")) {
        s->several = true;
    }
}

static void fini(struct summary *s)
{
    buf_free(&s->version);
    buf_free(&s->pid);
    buf_free(&s->started);
    buf_free(&s->reasons);
    buf_free(&s->files);
    buf_free(&s->dir);
    buf_free(&s->since);
}

/* How long ago a time was. False: there is no time, or it is ahead of this clock. */
static bool age(const struct buf *then, int64_t now_s, uint64_t *s)
{
    int64_t then_s = 0;
    bool known = units_parse_time(buf_str(then), &then_s) && now_s >= then_s;

    *s = known ? (uint64_t)(now_s - then_s) : 0;
    return known;
}

/* A state that should be kept but cannot be written is reported as such, not as one that is not
 * kept. */
static void put_state(struct buf *out, const struct summary *s, int64_t now_s)
{
    uint64_t failing_s = 0;

    if (!s->has_state)
        return;
    if (!s->kept && !s->unwritable) {
        buf_puts(out, "state: nothing is kept over restarts\n");
        return;
    }
    buf_printf(out, "state: %.*s", STR_ARG(buf_str(&s->dir)));
    if (s->unwritable)
        buf_puts(out, ", not writable");
    if (age(&s->since, now_s, &failing_s)) {
        buf_puts(out, " for ");
        units_put_duration(out, failing_s);
    }
    if (s->unwritable && s->waiting > 0)
        buf_printf(out, ", %" PRIu64 " changes wait", s->waiting);
    buf_putc(out, '\n');
}

/* Without a limit the sizes of the watches say enough. */
static void put_memory(struct buf *out, const struct summary *s)
{
    if (s->memory_limit == 0)
        return;
    buf_puts(out, "memory: ");
    units_put_size(out, s->memory);
    buf_puts(out, " of limits.memory ");
    units_put_size(out, s->memory_limit);
    buf_putc(out, '\n');
}

static void put_files(struct buf *out, const struct summary *s)
{
    if (s->file_count == 0)
        return;
    buf_puts(out, "obsolete output files that were left in place:\n");
    buf_append_str(out, buf_str(&s->files));
    if (s->file_count > FILES_SHOWN)
        buf_printf(out, "  and %zu more: informerctl status -o json\n",
                   s->file_count - FILES_SHOWN);
}

/* Each line gets a colour of its own, since a pager may show only some of the lines. */
static void put_reasons(struct buf *out, const struct summary *s, bool colour)
{
    struct str left = buf_str(&s->reasons);

    while (left.n > 0) {
        size_t n = (size_t)((const char *)memchr(left.p, '\n', left.n) - left.p);

        tone_put(out, colour, TONE_BAD, str_of(left.p, n));
        buf_putc(out, '\n');
        left = str_of(left.p + n + 1, left.n - n - 1);
    }
}

static void put_head(struct buf *out, const struct summary *s, const struct summary_look *look)
{
    uint64_t up_s = 0;

    buf_printf(out, "informerd %.*s, pid %.*s", STR_ARG(buf_str(&s->version)),
               STR_ARG(buf_str(&s->pid)));
    if (age(&s->started, look->now_s, &up_s)) {
        buf_puts(out, ", up ");
        units_put_duration(out, up_s);
    }
    buf_puts(out, ", ");
    tone_put(out, look->colour, s->ready ? TONE_PLAIN : TONE_WAITS,
             str_c(s->ready ? "ready" : "not ready yet"));
    if (s->degraded) {
        buf_puts(out, ", ");
        tone_put(out, look->colour, TONE_BAD, str_c("degraded:"));
    }
    buf_putc(out, '\n');
    put_reasons(out, s, look->colour);
    put_state(out, s, look->now_s);
    put_memory(out, s);
    put_files(out, s);
}

enum err_kind summary_put(struct buf *out, struct str json, const struct summary_look *look,
                          struct err *err)
{
    static const struct listing *const listings[] = {
        &listing_clusters, &listing_servers, &listing_watches, &listing_views, &listing_hooks};
    struct summary s = {0};
    enum err_kind kind = reader_scan(json, on_leaf, &s, err);

    if (kind == ERR_OK)
        put_head(out, &s, look);
    fini(&s);
    for (size_t i = 0; kind == ERR_OK && i < ARRAY_LEN(listings); i++) {
        bool servers = listings[i] == &listing_servers;
        const struct listing_look table = {.rows = servers ? LISTING_NESTED : LISTING_GROUP,
                                           .nested = "servers",
                                           .wide = look->wide,
                                           .width = look->width,
                                           .colour = look->colour,
                                           .now_s = look->now_s};

        if (servers && !s.several)
            continue; /* the table of clusters says it all */
        if (listings[i] == &listing_views) {
            kind = listing_put_below(out, listings[i], &table, json, err);
            continue;
        }
        buf_putc(out, '\n');
        kind = listing_put_table(out, listings[i], &table, json, err);
    }
    return kind;
}

enum err_kind summary_verdict(struct str json, bool *degraded, struct err *err)
{
    struct summary s = {0};
    enum err_kind kind = reader_scan(json, on_leaf, &s, err);

    *degraded = s.degraded;
    fini(&s);
    return kind;
}
