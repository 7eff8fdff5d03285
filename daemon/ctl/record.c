/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/record.h"

#include <poll.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/recording.h"
#include "ctl/args.h"
#include "ctl/ask.h"
#include "ctl/client.h"
#include "ctl/reader.h"
#include "ctl/write_out.h"
#include "proto/json_member.h"

/* A watch that is recorded. */
struct recorded {
    const char *name;
    struct buf cluster;
    struct buf resource; /* empty: informerd has no such watch */
    bool is_view;
    struct client_stream *stream;
    struct record *of;
};

struct record {
    const struct args *args;
    struct recorded watches[ARGS_WORDS];
    size_t count;
    struct buf *complaint;
    struct buf text; /* the lines that are written next */
    enum command_exit exit;
    bool ended; /* nothing more is recorded */
};

static uint64_t wall_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* ---- Writing */

/* Writes the lines, unless the recording has ended. */
static void put_lines(struct record *r)
{
    int error = r->ended ? 0 : write_out(buf_str(&r->text));

    if (error != 0) {
        r->ended = true;
        r->exit = write_out_judge(error, r->complaint);
    }
    buf_clear(&r->text);
}

/* An open line of the recording, which begins with the time. */
static struct json_out open_line(struct buf *out, uint64_t at_ns)
{
    struct json_out j = json_out_to(out);

    json_out_open(&j, '{');
    json_member_time(&j, "at", at_ns);
    return j;
}

static void end_line(struct json_out *j)
{
    json_out_close(j, '}');
    buf_putc(j->buf, '\n');
}

static void put_cut(struct buf *out, uint64_t at_ns, const char *watch, const char *why)
{
    struct json_out j = open_line(out, at_ns);

    json_member_text(&j, "type", "CUT");
    json_member_text(&j, "source", watch);
    json_member_text(&j, "why", why);
    end_line(&j);
}

/* The lines before the first object: the version, and which watches there are. */
static void put_head(struct record *r)
{
    uint64_t at_ns = wall_ns();
    struct json_out j = open_line(&r->text, at_ns);

    json_member_count(&j, "recording", RECORDING_VERSION);
    json_member_text(&j, "informerd", INFORMERD_VERSION);
    end_line(&j);
    for (size_t i = 0; i < r->count; i++) {
        struct recorded *w = &r->watches[i];

        j = open_line(&r->text, at_ns);
        json_member_text(&j, "type", "WATCH");
        json_member_text(&j, "source", w->name);
        json_member_text(&j, "cluster", buf_cstr(&w->cluster));
        json_member_text(&j, "resource", buf_cstr(&w->resource));
        end_line(&j);
    }
}

bool record_put_line(struct buf *out, struct str line, uint64_t at_ns, const char *watch,
                     struct buf *why)
{
    static const char error[] = "{\"type\":\"ERROR\"";
    struct err err;

    if (line.n < sizeof(error) || memcmp(line.p, error, sizeof(error) - 1) != 0) {
        struct json_out j = open_line(out, at_ns);

        (void)j;
        buf_putc(out, ',');
        buf_append_str(out, str_of(line.p + 1, line.n - 1));
        return true;
    }
    if (reader_scan(line, ask_on_error_leaf, why, &err) != ERR_OK)
        buf_puts(why, "informerd has cut the stream off");
    put_cut(out, at_ns, watch, buf_cstr(why));
    return false;
}

/* A callback for client_lines.on_line. */
static bool on_line(void *arg, struct str line)
{
    struct recorded *w = arg;
    struct record *r = w->of;
    struct buf why = {0};

    if (r->ended)
        return false;
    bool more = record_put_line(&r->text, line, wall_ns(), w->name, &why);
    put_lines(r);
    if (!more) {
        r->ended = true;
        r->exit = EXIT_NO;
        buf_printf(r->complaint, "%s: %s: the recording ends here\n", w->name, buf_cstr(&why));
    }
    buf_free(&why);
    return !r->ended;
}

/* ---- Which watches */

static void on_watch_leaf(void *arg, const struct leaf *leaf)
{
    struct record *r = arg;

    for (size_t i = 0; i < r->count; i++) {
        struct recorded *w = &r->watches[i];

        if (leaf->depth < 3 || !str_is(leaf->path[1], w->name))
            continue;
        if (str_is(leaf->path[0], "views"))
            w->is_view = true;
        else if (str_is(leaf->path[0], "watches") && reader_leads(leaf, 2, "resource"))
            buf_append_str(&w->resource, leaf->text);
        else if (str_is(leaf->path[0], "watches") && reader_leads(leaf, 2, "cluster"))
            buf_append_str(&w->cluster, leaf->text);
    }
}

static bool is_named_before(const struct record *r, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (strcmp(r->watches[k].name, r->watches[i].name) == 0)
            return true;
    return false;
}

/* May all of them be recorded? */
static enum command_exit check_watches(struct record *r)
{
    for (size_t i = 0; i < r->count; i++) {
        const struct recorded *w = &r->watches[i];

        if (is_named_before(r, i)) {
            buf_printf(r->complaint, "%s: named twice\n", w->name);
            return EXIT_USAGE;
        }
        if (w->is_view)
            buf_printf(r->complaint,
                       "%s is a view: record the two watches that it is made of; a replay makes "
                       "the view again\n",
                       w->name);
        else if (w->resource.len == 0)
            buf_printf(r->complaint, "there is no watch %s: informerctl watches lists them\n",
                       w->name);
        else if (str_is(buf_str(&w->resource), "secrets") && !r->args->with_secrets)
            buf_printf(r->complaint,
                       "%s: its objects are Secrets: --with-secrets records them, with their "
                       "data; keep the file from others\n",
                       w->name);
        else
            continue;
        return EXIT_NO;
    }
    return EXIT_FINE;
}

static enum command_exit find_watches(struct record *r)
{
    struct buf json;
    struct err err;
    enum command_exit code = ask_daemon(r->args, "GET", "/v1/watches", &json, r->complaint);

    if (code == EXIT_FINE && reader_scan(buf_str(&json), on_watch_leaf, r, &err) != ERR_OK)
        code = ask_unreadable(r->args, &err, r->complaint);
    buf_free(&json);
    return code == EXIT_FINE ? check_watches(r) : code;
}

/* ---- The streams */

/* All streams are open before the first line is written: a recording of some of the watches would
 * be no use. */
static enum command_exit open_streams(struct record *r)
{
    enum command_exit code = EXIT_FINE;

    for (size_t i = 0; code == EXIT_FINE && i < r->count; i++) {
        struct recorded *w = &r->watches[i];
        const struct client_lines lines = {.on_line = on_line, .arg = w, .out_fd = -1};
        const struct args one = {
            .words = {"record", w->name},
              .word_count = 2
        };
        struct client_reply refused;
        struct buf target = {0};
        struct err err;

        ask_put_path(&target, "/v1/sources/%1/stream", &one);
        if (client_stream_open(r->args->socket, buf_cstr(&target), &lines, &w->stream, &refused,
                               &err) != ERR_OK)
            code = ask_failed(&err, r->complaint);
        else if (w->stream == NULL)
            code = ask_refused(&refused, r->complaint);
        buf_free(&refused.body);
        buf_free(&target);
    }
    return code;
}

static void read_stream(struct record *r, struct recorded *w, bool receives)
{
    struct err err;

    if (r->ended || client_stream_read(w->stream, receives, &err) == ERR_OK || r->ended)
        return;
    put_cut(&r->text, wall_ns(), w->name, err.text);
    put_lines(r);
    if (!r->ended)
        r->exit = ask_failed(&err, r->complaint);
    r->ended = true;
}

/* Waits until a stream has something, or the reader of stdout is gone. */
static void read_streams(struct record *r)
{
    struct pollfd p[ARGS_WORDS + 1];

    for (size_t i = 0; i < r->count; i++)
        p[i] = (struct pollfd){.fd = client_stream_fd(r->watches[i].stream), .events = POLLIN};
    p[r->count] = (struct pollfd){.fd = STDOUT_FILENO};
    if (poll(p, r->count + 1, -1) < 0)
        return; /* a signal */
    for (size_t i = 0; i < r->count; i++)
        if (p[i].revents != 0)
            read_stream(r, &r->watches[i], true);
    r->ended = r->ended || p[r->count].revents != 0;
}

enum command_exit record_run(const struct args *a, struct buf *out, struct buf *complaint)
{
    struct record r = {.args = a, .count = a->word_count - 1, .complaint = complaint};

    (void)out;
    for (size_t i = 0; i < r.count; i++)
        r.watches[i] = (struct recorded){.name = a->words[i + 1], .of = &r};
    r.exit = find_watches(&r);
    if (r.exit == EXIT_FINE)
        r.exit = open_streams(&r);
    r.ended = r.exit != EXIT_FINE;
    if (!r.ended)
        put_head(&r);
    put_lines(&r);
    for (size_t i = 0; i < r.count; i++)
        read_stream(&r, &r.watches[i], false);
    while (!r.ended)
        read_streams(&r);
    for (size_t i = 0; i < r.count; i++) {
        client_stream_close(&r.watches[i].stream);
        buf_free(&r.watches[i].cluster);
        buf_free(&r.watches[i].resource);
    }
    buf_free(&r.text);
    return r.exit;
}
