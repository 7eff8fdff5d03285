/* SPDX-License-Identifier: Apache-2.0 */
#include "admin/journal.h"

#include <stdlib.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/panic.h"
#include "base/utf8.h"
#include "cache/subscriber.h"
#include "hook/history.h"
#include "proto/json_member.h"

/* The lines lie one after the other in `ring`. Positions and numbers of lines only grow; modulo the
 * size of the array they give the place in it, and differences need no care for the wrap. */
struct journal {
    uint64_t first;                 /* number of the oldest line kept */
    uint64_t next;                  /* number of the next line */
    uint64_t end;                   /* position behind the last line */
    uint64_t starts[JOURNAL_LINES]; /* positions of the lines kept, by number */
    struct buf line;                /* the line that is being written */
    void (*on_line)(void *arg);
    void *arg;
    char ring[JOURNAL_BYTES];
};

struct journal *journal_create(void)
{
    struct journal *j = mem_zalloc(sizeof(*j));

    j->first = j->next = 1;
    return j;
}

void journal_destroy(struct journal **jp)
{
    struct journal *j = *jp;

    if (j == NULL)
        return;
    *jp = NULL;
    buf_free(&j->line);
    free(j);
}

void journal_watch_lines(struct journal *j, void (*on_line)(void *arg), void *arg)
{
    j->on_line = on_line;
    j->arg = arg;
}

/* ---- The ring */

/* Where a line begins. The next line will begin at the end, so start_of(seq + 1) is the end of each
 * line that is kept. */
static uint64_t start_of(const struct journal *j, uint64_t seq)
{
    return seq == j->next ? j->end : j->starts[seq % JOURNAL_LINES];
}

/* A line may wrap around: how many of its n bytes fit before the end of the ring. The others are at
 * the beginning of the ring. */
static size_t first_piece(uint64_t at, size_t n)
{
    size_t room = JOURNAL_BYTES - (size_t)(at % JOURNAL_BYTES);

    return n < room ? n : room;
}

/* Whether one more line of n bytes stays within both limits. */
static bool fits(const struct journal *j, size_t n)
{
    return j->next - j->first < JOURNAL_LINES &&
           j->end - start_of(j, j->first) + n <= JOURNAL_BYTES;
}

/* Takes the line over into the ring; the oldest lines make room. A line is far smaller than the
 * ring, as put_str() cuts each value. */
static void keep(struct journal *j, struct str line)
{
    size_t piece = first_piece(j->end, line.n);

    ensure(line.n <= JOURNAL_BYTES);
    while (!fits(j, line.n))
        j->first++;
    memcpy(j->ring + j->end % JOURNAL_BYTES, line.p, piece);
    memcpy(j->ring, line.p + piece, line.n - piece);
    j->starts[j->next % JOURNAL_LINES] = j->end;
    j->end += line.n;
    j->next++;
}

uint64_t journal_first(const struct journal *j)
{
    return j->first;
}

uint64_t journal_next(const struct journal *j)
{
    return j->next;
}

/* Appends the bytes between two positions. */
static void put_range(struct buf *out, const struct journal *j, uint64_t from, uint64_t to)
{
    size_t n = (size_t)(to - from);
    size_t piece = first_piece(from, n);

    buf_append(out, j->ring + from % JOURNAL_BYTES, piece);
    buf_append(out, j->ring, n - piece);
}

void journal_put_line(struct buf *out, const struct journal *j, uint64_t seq)
{
    ensure(seq >= j->first && seq < j->next);
    put_range(out, j, start_of(j, seq), start_of(j, seq + 1));
}

void journal_put_all(struct buf *out, const struct journal *j)
{
    put_range(out, j, start_of(j, j->first), j->end);
}

/* ---- Lines */

/* Begins the line with the members that every line has. */
static struct json_out begin(struct journal *j, uint64_t wall_ns, const char *what)
{
    struct json_out o = json_out_to(&j->line);

    buf_clear(&j->line);
    json_out_open(&o, '{');
    json_member_time(&o, "time", wall_ns);
    json_member_count(&o, "seq", j->next);
    json_member_text(&o, "what", what);
    return o;
}

/* Ends the line, keeps it, and lets on_line know. */
static void end(struct journal *j, struct json_out *o)
{
    json_out_close(o, '}');
    buf_putc(&j->line, '\n');
    keep(j, buf_str(&j->line));
    if (j->on_line != NULL)
        j->on_line(j->arg);
}

static void put_str(struct json_out *o, const char *key, struct str value)
{
    json_out_key(o, key);
    json_out_str(o, utf8_cut(value, JOURNAL_VALUE_BYTES));
}

static void put_text(struct json_out *o, const char *key, const char *value)
{
    put_str(o, key, str_c(value));
}

static const char *kind_of(struct source from)
{
    return from.view != NULL ? "view" : "watch";
}

/* Which source the line is about: its cluster, and "watch" or "view" with its name. */
static void put_source(struct json_out *o, struct source from)
{
    put_text(o, "cluster", source_cluster(from));
    put_text(o, kind_of(from), source_name(from));
}

static void on_delta(void *arg, struct source from, const struct delta *d)
{
    struct journal *j = arg;
    struct json_out o = begin(j, d->received_ns, "change");

    put_text(&o, "type", delta_type_name(d->type));
    put_text(&o, "cause", delta_cause_name(d->cause));
    put_source(&o, from);
    put_str(&o, "key", object_key(d->object));
    put_str(&o, "resource_version", object_rv(d->object));
    end(j, &o);
}

void journal_source(struct journal *j, uint64_t wall_ns, struct source from, const char *state)
{
    struct json_out o = begin(j, wall_ns, kind_of(from));

    put_source(&o, from);
    put_text(&o, "state", state);
    end(j, &o);
}

static void on_stale(void *arg, struct source from, bool stale, struct now now)
{
    journal_source(arg, now.wall_ns, from, stale ? "stale" : "fresh");
}

const struct subscriber journal_subscriber = {.on_delta = on_delta, .on_stale = on_stale};

void journal_resumed(struct journal *j, uint64_t wall_ns, struct source from, size_t objects)
{
    struct json_out o = begin(j, wall_ns, kind_of(from));

    put_source(&o, from);
    put_text(&o, "state", "resumed");
    json_member_count(&o, "objects", objects);
    end(j, &o);
}

/* The command needs no word, and a file that the run has not touched is not written. A run with
 * files_from has many files, which are not named. */
void journal_run(struct journal *j, const char *hook, struct str id, const struct history_run *run)
{
    struct json_out o = begin(j, run->ended_ns, "run");

    put_text(&o, "hook", hook);
    put_str(&o, "run", id);
    if (run->key[0] != '\0')
        put_text(&o, "key", run->key);
    if (run->keyed)
        put_text(&o, "type", delta_type_name(run->type));
    if (run->kind != RUN_COMMAND)
        put_text(&o, "program", run_kind_name(run->kind));
    put_text(&o, "reason", run_reason_name(run->reason));
    json_member_count(&o, "attempt", run->attempt);
    json_member_flag(&o, "ok", run->outcome == HISTORY_OK);
    put_text(&o, "result", run->text);
    if (run_end_file(&run->end) != NULL) {
        if (run->file != NULL)
            put_text(&o, "file", run->file);
        put_text(&o, "became", run_end_file(&run->end));
    }
    json_member_count(&o, "took_ms", run->took_ms);
    end(j, &o);
}

void journal_reload(struct journal *j, uint64_t wall_ns, const char *result, struct str problem)
{
    struct json_out o = begin(j, wall_ns, "reload");

    put_text(&o, "result", result);
    if (problem.n > 0)
        put_str(&o, "problem", problem);
    end(j, &o);
}

void journal_hook(struct journal *j, uint64_t wall_ns, const char *hook, struct str key,
                  const char *state)
{
    struct json_out o = begin(j, wall_ns, "hook");

    put_text(&o, "hook", hook);
    if (key.n > 0)
        put_str(&o, "key", key);
    put_text(&o, "state", state);
    end(j, &o);
}
