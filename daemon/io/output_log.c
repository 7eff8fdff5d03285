/* SPDX-License-Identifier: Apache-2.0 */
#include "io/output_log.h"

#include "base/log.h"

static const char *stream_name(const struct output_log_one *s)
{
    return s == &s->of->streams[OUTPUT_LOG_STDOUT] ? "stdout" : "stderr";
}

static void on_line(void *arg, struct str line)
{
    const struct output_log_one *s = arg;
    const struct output_log_run *r = &s->of->run;

    log_info("hook output", KV_STR("hook", r->hook), KV_STR("key", r->key), KV_U64("run", r->id),
             KV_STR("stream", stream_name(s)), KV_VIEW("line", line));
}

/* Closes a stream, keeps the end of its output for the result, and logs how much was over
 * log_limit. */
static void end(struct output_log_one *s)
{
    if (s->line_reader == NULL)
        return;
    buf_append_str(&s->tail, line_reader_tail(s->line_reader));
    s->dropped = line_reader_dispose(&s->line_reader);
    if (s->dropped > 0)
        log_warn("hook output over log_limit was dropped", KV_STR("hook", s->of->run.hook),
                 KV_STR("key", s->of->run.key), KV_U64("run", s->of->run.id),
                 KV_STR("stream", stream_name(s)), KV_U64("bytes", s->dropped));
}

/* The stream is closed before the callback, which may free everything. */
static void on_eof(void *arg)
{
    struct output_log_one *s = arg;
    const struct output_log_run *r = &s->of->run;

    end(s);
    r->on_eof(r->arg);
}

enum err_kind output_log_open(struct output_log *p, struct loop *loop, enum output_log_stream which,
                              int *fd, struct err *err)
{
    static const struct line_reader_events events = {on_line, on_eof};
    struct output_log_one *s = &p->streams[which];

    s->of = p;
    if (line_reader_create(loop, p->run.limit, &events, s, &s->line_reader, err) != ERR_OK)
        return err->kind;
    *fd = line_reader_take_writer(s->line_reader);
    return ERR_OK;
}

void output_log_watch(const struct output_log *p)
{
    for (size_t i = 0; i < OUTPUT_LOG_STREAMS; i++)
        if (p->streams[i].line_reader != NULL)
            line_reader_watch(p->streams[i].line_reader);
}

/* A stream that has ended is closed here, as its on_eof will not come. */
struct str output_log_drain(struct output_log *p, enum output_log_stream which)
{
    struct output_log_one *s = &p->streams[which];

    if (s->line_reader != NULL && line_reader_drain(s->line_reader))
        end(s);
    return s->line_reader != NULL ? line_reader_tail(s->line_reader) : buf_str(&s->tail);
}

bool output_log_is_over(const struct output_log *p)
{
    return p->streams[OUTPUT_LOG_STDOUT].line_reader == NULL &&
           p->streams[OUTPUT_LOG_STDERR].line_reader == NULL;
}

uint64_t output_log_dropped(const struct output_log *p)
{
    uint64_t n = 0;

    for (size_t i = 0; i < OUTPUT_LOG_STREAMS; i++) {
        const struct output_log_one *s = &p->streams[i];

        n += s->line_reader != NULL ? line_reader_dropped(s->line_reader) : s->dropped;
    }
    return n;
}

void output_log_give_up(struct output_log *p)
{
    for (size_t i = 0; i < OUTPUT_LOG_STREAMS; i++)
        end(&p->streams[i]);
}

void output_log_fini(struct output_log *p)
{
    output_log_give_up(p);
    for (size_t i = 0; i < OUTPUT_LOG_STREAMS; i++)
        buf_free(&p->streams[i].tail);
}
