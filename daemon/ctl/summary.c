/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/summary.h"

#include "ctl/listing.h"
#include "ctl/reader.h"
#include "ctl/units.h"

/* What stands in front of the tables. */
struct summary {
    struct buf version;
    struct buf pid;
    struct buf started;
    bool ready;
    bool degraded;
    struct buf reasons; /* a line each */
};

static void set(struct buf *b, struct str text)
{
    buf_clear(b);
    units_put_visible(b, text);
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
        units_put_visible(&s->reasons, leaf->text);
        buf_putc(&s->reasons, '\n');
    }
}

static void fini(struct summary *s)
{
    buf_free(&s->version);
    buf_free(&s->pid);
    buf_free(&s->started);
    buf_free(&s->reasons);
}

static void put_head(struct buf *out, const struct summary *s, int64_t now_s)
{
    int64_t started_s = 0;

    buf_printf(out, "informerd %.*s, pid %.*s", STR_ARG(buf_str(&s->version)),
               STR_ARG(buf_str(&s->pid)));
    if (units_parse_time(buf_str(&s->started), &started_s) && now_s >= started_s) {
        buf_puts(out, ", up ");
        units_put_duration(out, (uint64_t)(now_s - started_s));
    }
    buf_puts(out, s->ready ? ", ready" : ", not ready yet");
    buf_puts(out, s->degraded ? ", degraded:\n" : "\n");
    buf_append_str(out, buf_str(&s->reasons));
}

enum err_kind summary_put(struct buf *out, struct str json, bool wide, int64_t now_s,
                          struct err *err)
{
    static const struct listing *const listings[] = {&listing_clusters, &listing_watches,
                                                     &listing_views, &listing_hooks};
    const struct listing_look look = {.rows = LISTING_GROUP, .wide = wide, .now_s = now_s};
    struct summary s = {0};
    enum err_kind kind = reader_scan(json, on_leaf, &s, err);

    if (kind == ERR_OK)
        put_head(out, &s, now_s);
    fini(&s);
    for (size_t i = 0; kind == ERR_OK && i < ARRAY_LEN(listings); i++) {
        if (listings[i] == &listing_views) {
            kind = listing_put_below(out, listings[i], &look, json, err);
            continue;
        }
        buf_putc(out, '\n');
        kind = listing_put_table(out, listings[i], &look, json, err);
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
