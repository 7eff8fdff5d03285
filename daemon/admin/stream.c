/* SPDX-License-Identifier: Apache-2.0 */
#include "admin/stream.h"

#include <stdlib.h>

#include "admin/journal.h"
#include "admin/line.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/panic.h"
#include "cache/source.h"
#include "cache/store.h"
#include "cache/subscriber.h"
#include "hook/event_json.h"
#include "proto/json_member.h"

enum state {
    STATE_WAITING, /* the source is not synced yet, the condition does not hold, or no answer came */
    STATE_MET,     /* the condition holds: the line that says so is still to be given */
    STATE_LISTING,   /* gives the objects that the source had when the stream began */
    STATE_FOLLOWING, /* gives each change, or each line of the journal */
    STATE_CUT,       /* cut off: the last line, which says so, is still to be given */
    STATE_OVER,      /* nothing more will be given */
};

struct admin_streams {
    struct list streams; /* of struct admin_stream */
    struct journal *journal;
};

/* A change that the reader has not got yet. */
struct change {
    struct change *next;
    struct delta delta; /* holds a reference of its object; STALE and FRESH have none */
};

/* The kinds of streams. */
enum kind { OF_SOURCE, OF_JOURNAL, OF_CONDITION, OF_ANSWER };

/* A source that is followed. */
struct following {
    struct source source;
    bool stale;              /* of the source, when the stream began to list */
    struct object **objects; /* LISTING: holds references from object_at on */
    size_t object_count;
    size_t object_at;
    struct change *first_change; /* changes, oldest first */
    struct change *last_change;
    size_t change_count;
    size_t change_bytes;
    /* the most objects, and bytes, that the source had since the reader knew them all */
    size_t most_objects;
    size_t most_bytes;
};

struct admin_stream {
    struct list link;
    enum state state;
    bool asleep; /* the last pull returned EMPTY: ready is due when something comes */
    void (*ready)(void *arg);
    void *arg;
    const char *complaint; /* why the stream was cut off; constant */
    char *name;

    enum kind kind;
    union {
        struct following of; /* OF_SOURCE */
        struct {             /* OF_JOURNAL */
            const struct journal *journal;
            uint64_t seq; /* number of the next line to give */
        };
        enum wait_for what; /* OF_CONDITION */
        struct {            /* OF_ANSWER */
            uint64_t number;
            struct buf answer; /* MET: it */
        };
    };
};

/* ---- Begin and end */

static void on_line(void *arg);

struct admin_streams *admin_streams_create(struct journal *journal)
{
    struct admin_streams *hub = MEM_NEW(struct admin_streams, .journal = journal);

    list_init(&hub->streams);
    journal_watch_lines(journal, on_line, hub);
    return hub;
}

void admin_streams_destroy(struct admin_streams **hubp)
{
    struct admin_streams *hub = *hubp;

    if (hub == NULL)
        return;
    *hubp = NULL;
    ensure(list_is_empty(&hub->streams));
    journal_watch_lines(hub->journal, NULL, NULL);
    free(hub);
}

static struct admin_stream *new_stream(struct admin_streams *hub, enum kind kind, const char *name)
{
    struct admin_stream *s = MEM_NEW(struct admin_stream, .kind = kind, .name = mem_strdup(name));

    list_init(&s->link);
    list_append(&hub->streams, &s->link);
    return s;
}

/* Called when the reader has got all that the source holds. From here on is_behind() counts how far
 * the source may have moved on. */
static void measure(struct admin_stream *s)
{
    s->of.most_objects = store_count(source_store(s->of.source));
    s->of.most_bytes = store_bytes(source_store(s->of.source));
}

/* Takes the objects as they are now. Changes that come while they are listed wait in the list of
 * changes, so the reader gets list and changes without a gap. */
static void begin(struct admin_stream *s)
{
    const struct store *store = source_store(s->of.source);

    s->state = STATE_LISTING;
    s->of.objects = store_sorted(store);
    s->of.object_count = store_count(store);
    for (size_t i = 0; i < s->of.object_count; i++)
        object_ref(s->of.objects[i]);
    measure(s);
}

struct admin_stream *admin_streams_follow(struct admin_streams *hub, const char *name,
                                          struct source source)
{
    struct admin_stream *s = new_stream(hub, OF_SOURCE, name);

    s->of.source = source;
    s->of.stale = source_stale(source); /* as on_stale told last: the next line of that kind fits */
    if (source_synced(source))
        begin(s);
    return s;
}

struct admin_stream *admin_streams_follow_journal(struct admin_streams *hub)
{
    struct admin_stream *s = new_stream(hub, OF_JOURNAL, "events");

    s->state = STATE_FOLLOWING;
    s->journal = hub->journal;
    s->seq = journal_first(hub->journal);
    return s;
}

struct admin_stream *admin_streams_wait(struct admin_streams *hub, enum wait_for what, bool holds)
{
    struct admin_stream *s = new_stream(hub, OF_CONDITION, "wait");

    s->state = holds ? STATE_MET : STATE_WAITING;
    s->what = what;
    return s;
}

struct admin_stream *admin_streams_await(struct admin_streams *hub, uint64_t number)
{
    struct admin_stream *s = new_stream(hub, OF_ANSWER, "answer");

    s->state = STATE_WAITING;
    s->number = number;
    return s;
}

/* Objects before object_at are with the reader already, and their references are gone. */
static void drop_objects(struct admin_stream *s)
{
    while (s->of.object_at < s->of.object_count)
        object_unref(&s->of.objects[s->of.object_at++]);
    free(s->of.objects);
    s->of.objects = NULL;
}

static void drop_change(struct admin_stream *s)
{
    struct change *c = s->of.first_change;

    s->of.first_change = c->next;
    s->of.change_count--;
    if (c->delta.object != NULL)
        s->of.change_bytes -= object_bytes(c->delta.object);
    object_unref(&c->delta.object);
    free(c);
}

/* A stream that is cut off gives its memory back at once, and not when the reader has got the last
 * line. */
static void drop_all(struct admin_stream *s)
{
    if (s->kind != OF_SOURCE)
        return;
    drop_objects(s);
    while (s->of.first_change != NULL)
        drop_change(s);
}

void admin_stream_destroy(struct admin_stream **sp)
{
    struct admin_stream *s = *sp;

    if (s == NULL)
        return;
    *sp = NULL;
    list_remove(&s->link);
    drop_all(s);
    if (s->kind == OF_ANSWER)
        buf_free(&s->answer);
    free(s->name);
    free(s);
}

/* ---- Changes arrive */

/* ready runs once per EMPTY: the caller then defers one pull to the next turn, however much comes
 * before that. */
static void wake(struct admin_stream *s)
{
    if (!s->asleep)
        return;
    s->asleep = false;
    if (s->ready != NULL)
        s->ready(s->arg);
}

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* Whether too much waits for the reader. One list may delete all objects and add as many at once,
 * which is no fault of the reader: so twice the most objects that the source had, and once their
 * bytes, are allowed on top of the limits. */
static bool is_behind(struct admin_stream *s)
{
    const struct store *store = source_store(s->of.source);

    s->of.most_objects = larger(s->of.most_objects, store_count(store));
    s->of.most_bytes = larger(s->of.most_bytes, store_bytes(store));
    return s->of.change_count > ADMIN_STREAM_BACKLOG + 2 * s->of.most_objects ||
           s->of.change_bytes > ADMIN_STREAM_BACKLOG_BYTES + s->of.most_bytes;
}

static void cut(struct admin_stream *s, const char *complaint)
{
    s->state = STATE_CUT;
    s->complaint = complaint;
    drop_all(s);
}

/* Queues a change for the reader, or cuts the reader off. */
static void push(struct admin_stream *s, const struct delta *d)
{
    struct change *c = MEM_NEW(struct change, .delta = *d);

    if (s->of.first_change == NULL)
        s->of.first_change = c;
    else
        s->of.last_change->next = c;
    s->of.last_change = c;
    s->of.change_count++;
    if (d->object != NULL) {
        object_ref(d->object);
        s->of.change_bytes += object_bytes(d->object);
    }
    if (is_behind(s))
        cut(s, "the reader was too slow: it is too far behind what changes");
    wake(s);
}

/* Whether the stream follows the source and has begun. A WAITING stream lists all objects when it
 * begins, and needs no changes before that. */
static bool takes_from(const struct admin_stream *s, struct source from)
{
    return s->kind == OF_SOURCE && source_equal(s->of.source, from) &&
           (s->state == STATE_LISTING || s->state == STATE_FOLLOWING);
}

void admin_streams_leave(struct admin_streams *hub, struct source source)
{
    list_each (pos, tmp, &hub->streams) {
        struct admin_stream *s = list_entry(pos, struct admin_stream, link);

        if (s->kind != OF_SOURCE || s->state >= STATE_CUT || !source_equal(s->of.source, source))
            continue;
        cut(s, "a reload has changed or dropped the source: ask again");
        wake(s);
    }
}

static void on_delta(void *arg, struct source from, const struct delta *d)
{
    const struct admin_streams *hub = arg;

    list_each (pos, tmp, &hub->streams) {
        struct admin_stream *s = list_entry(pos, struct admin_stream, link);

        if (takes_from(s, from))
            push(s, d);
    }
}

static void on_stale(void *arg, struct source from, bool stale, struct now now)
{
    struct admin_streams *hub = arg;
    const struct delta d = {
        .type = stale ? DELTA_STALE : DELTA_FRESH,
        .cause = CAUSE_WATCH,
        .received_ns = now.wall_ns,
    };

    list_each (pos, tmp, &hub->streams) {
        struct admin_stream *s = list_entry(pos, struct admin_stream, link);

        /* A stream that waits tells this in its SYNCED line. */
        if (s->state == STATE_WAITING && s->kind == OF_SOURCE && source_equal(s->of.source, from))
            s->of.stale = stale;
    }
    on_delta(hub, from, &d);
}

const struct subscriber admin_streams_subscriber = {.on_delta = on_delta, .on_stale = on_stale};

void admin_streams_synced(struct admin_streams *hub)
{
    list_each (pos, tmp, &hub->streams) {
        struct admin_stream *s = list_entry(pos, struct admin_stream, link);

        if (s->state != STATE_WAITING || s->kind != OF_SOURCE || !source_synced(s->of.source))
            continue;
        begin(s);
        wake(s);
    }
}

/* Whether the condition of the stream is still to be looked at. */
static bool awaits(const struct admin_stream *s)
{
    return s->kind == OF_CONDITION && s->state == STATE_WAITING;
}

bool admin_streams_waits(const struct admin_streams *hub)
{
    list_each (pos, tmp, &hub->streams)
        if (awaits(list_entry(pos, struct admin_stream, link)))
            return true;
    return false;
}

void admin_streams_look(struct admin_streams *hub, const struct admin_model *m, uint64_t now_ms)
{
    list_each (pos, tmp, &hub->streams) {
        struct admin_stream *s = list_entry(pos, struct admin_stream, link);

        if (!awaits(s) || !wait_holds(m, s->what, now_ms))
            continue;
        s->state = STATE_MET;
        wake(s);
    }
}

void admin_streams_answer(struct admin_streams *hub, uint64_t number, struct str line)
{
    list_each (pos, tmp, &hub->streams) {
        struct admin_stream *s = list_entry(pos, struct admin_stream, link);

        if (s->kind != OF_ANSWER || s->state != STATE_WAITING || s->number != number)
            continue;
        buf_append_str(&s->answer, line);
        s->state = STATE_MET;
        wake(s);
    }
}

/* Runs for each new line of the journal. The line stays in the ring, and streams read it there. */
static void on_line(void *arg)
{
    struct admin_streams *hub = arg;

    list_each (pos, tmp, &hub->streams) {
        struct admin_stream *s = list_entry(pos, struct admin_stream, link);

        if (s->kind == OF_JOURNAL)
            wake(s);
    }
}

/* ---- Pulling */

void admin_stream_on_ready(struct admin_stream *s, void (*ready)(void *arg), void *arg)
{
    s->ready = ready;
    s->arg = arg;
}

/* One change as a line: the same members as an event in the input of a hook. */
static void put_event(const struct admin_stream *s, const struct delta *d, struct buf *out)
{
    struct json_out j = json_out_to(out);
    const struct event_json ev = {
        .type = d->type,
        .cause = d->cause,
        .cluster = source_cluster(s->of.source),
        .source = s->name,
        .object = d->object,
        .final_state_unknown = d->final_state_unknown,
        .received_ns = d->received_ns,
    };
    size_t start = out->len;

    event_json_put(&j, &ev);
    line_flatten(out->data + start, out->len - start);
    buf_putc(out, '\n');
}

/* The line between the list and the changes. A reader that wants only the present state can stop
 * here. */
static void put_synced(const struct admin_stream *s, struct buf *out)
{
    struct json_out j = json_out_to(out);

    json_out_open(&j, '{');
    json_member_text(&j, "type", "SYNCED");
    json_member_text(&j, "cluster", source_cluster(s->of.source));
    json_member_text(&j, "source", s->name);
    json_member_count(&j, "objects", s->of.object_count);
    json_member_flag(&j, "stale", s->of.stale);
    json_out_close(&j, '}');
    buf_putc(out, '\n');
}

/* The last line of a stream that is cut off. lost: how many lines of the journal are lost; 0 leaves
 * the member out. */
static void put_error(const struct admin_stream *s, uint64_t lost, struct buf *out)
{
    struct json_out j = json_out_to(out);

    json_out_open(&j, '{');
    if (s->kind == OF_JOURNAL)
        json_member_text(&j, "what", "error");
    else
        json_member_text(&j, "type", "ERROR");
    json_member_text(&j, "error", s->complaint);
    if (lost > 0)
        json_member_count(&j, "lost", lost);
    json_out_close(&j, '}');
    buf_putc(out, '\n');
}

/* put_object(), put_change() and put_journal() take one step: they append one line and return MORE,
 * or nothing and EMPTY. */
static enum admin_stream_pulled put_object(struct admin_stream *s, struct buf *out)
{
    struct delta d = {.type = DELTA_ADDED, .cause = CAUSE_RELIST};

    if (s->of.object_at == s->of.object_count) {
        put_synced(s, out);
        drop_objects(s);
        s->state = STATE_FOLLOWING;
        return ADMIN_STREAM_MORE;
    }
    d.object = s->of.objects[s->of.object_at++];
    put_event(s, &d, out);
    object_unref(&d.object);
    return ADMIN_STREAM_MORE;
}

static enum admin_stream_pulled put_change(struct admin_stream *s, struct buf *out)
{
    if (s->of.first_change == NULL) {
        /* The reader has got every change, so it knows the source as it is now. */
        measure(s);
        return ADMIN_STREAM_EMPTY;
    }
    put_event(s, &s->of.first_change->delta, out);
    drop_change(s);
    return ADMIN_STREAM_MORE;
}

/* The ring keeps no line for a reader: lines that were overwritten before the pull are lost, and
 * the stream ends with their number. */
static enum admin_stream_pulled put_journal(struct admin_stream *s, struct buf *out)
{
    uint64_t first = journal_first(s->journal);

    if (s->seq == journal_next(s->journal))
        return ADMIN_STREAM_EMPTY;
    if (s->seq < first) {
        s->complaint = "the reader was too slow: lines are lost";
        put_error(s, first - s->seq, out);
        s->state = STATE_OVER;
    } else {
        journal_put_line(out, s->journal, s->seq++);
    }
    return ADMIN_STREAM_MORE;
}

static enum admin_stream_pulled step(struct admin_stream *s, struct buf *out)
{
    switch (s->state) {
    case STATE_WAITING:
        return ADMIN_STREAM_EMPTY;
    case STATE_MET:
        if (s->kind == OF_ANSWER)
            buf_append_str(out, buf_str(&s->answer));
        else
            wait_put_done(out, s->what);
        s->state = STATE_OVER;
        return ADMIN_STREAM_MORE;
    case STATE_LISTING:
        return put_object(s, out);
    case STATE_FOLLOWING:
        return s->kind == OF_JOURNAL ? put_journal(s, out) : put_change(s, out);
    case STATE_CUT:
        put_error(s, 0, out);
        s->state = STATE_OVER;
        return ADMIN_STREAM_MORE;
    case STATE_OVER:
        break;
    }
    return ADMIN_STREAM_ENDED;
}

enum admin_stream_pulled admin_stream_pull(struct admin_stream *s, struct buf *out, size_t max)
{
    size_t before = out->len;
    enum admin_stream_pulled pulled = ADMIN_STREAM_MORE;

    while (pulled == ADMIN_STREAM_MORE && out->len - before < max)
        pulled = step(s, out);
    /* Only after EMPTY the caller waits for ready; after MORE it pulls again by itself. */
    s->asleep = pulled == ADMIN_STREAM_EMPTY;
    return pulled;
}

const char *admin_stream_complaint(const struct admin_stream *s)
{
    return s->complaint;
}

const char *admin_stream_name(const struct admin_stream *s)
{
    return s->name;
}
