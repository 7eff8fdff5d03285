/* SPDX-License-Identifier: Apache-2.0 */
#include "io/printed.h"

#include "base/log.h"

static const char *stream_name(const struct printed_one *s)
{
    return s == &s->of->streams[PRINTED_STDOUT] ? "stdout" : "stderr";
}

static void on_line(void *arg, struct str line)
{
    const struct printed_one *s = arg;
    const struct printed_run *r = &s->of->run;

    log_info("hook output", KV_STR("hook", r->hook), KV_STR("key", r->key), KV_U64("run", r->id),
             KV_STR("stream", stream_name(s)), KV_VIEW("line", line));
}

static void end(struct printed_one *s)
{
    if (s->capture == NULL)
        return;
    buf_append_str(&s->tail, capture_tail(s->capture));
    s->dropped = capture_dispose(&s->capture);
    if (s->dropped > 0)
        log_warn("hook output over log_limit was dropped", KV_STR("hook", s->of->run.hook),
                 KV_STR("key", s->of->run.key), KV_U64("run", s->of->run.id),
                 KV_STR("stream", stream_name(s)), KV_U64("bytes", s->dropped));
}

static void on_eof(void *arg)
{
    struct printed_one *s = arg;
    const struct printed_run *r = &s->of->run;

    end(s);
    r->on_eof(r->arg);
}

enum err_kind printed_open(struct printed *p, struct loop *loop, enum printed_stream which, int *fd,
                           struct err *err)
{
    static const struct capture_events events = {on_line, on_eof};
    struct printed_one *s = &p->streams[which];

    s->of = p;
    if (capture_create(loop, p->run.limit, &events, s, &s->capture, err) != ERR_OK)
        return err->kind;
    *fd = capture_take_writer(s->capture);
    return ERR_OK;
}

void printed_watch(const struct printed *p)
{
    for (size_t i = 0; i < PRINTED_STREAMS; i++)
        if (p->streams[i].capture != NULL)
            capture_watch(p->streams[i].capture);
}

struct str printed_drain(struct printed *p, enum printed_stream which)
{
    struct printed_one *s = &p->streams[which];

    if (s->capture != NULL && capture_drain(s->capture))
        end(s);
    return s->capture != NULL ? capture_tail(s->capture) : buf_str(&s->tail);
}

bool printed_is_over(const struct printed *p)
{
    return p->streams[PRINTED_STDOUT].capture == NULL && p->streams[PRINTED_STDERR].capture == NULL;
}

uint64_t printed_dropped(const struct printed *p)
{
    uint64_t n = 0;

    for (size_t i = 0; i < PRINTED_STREAMS; i++) {
        const struct printed_one *s = &p->streams[i];

        n += s->capture != NULL ? capture_dropped(s->capture) : s->dropped;
    }
    return n;
}

void printed_give_up(struct printed *p)
{
    for (size_t i = 0; i < PRINTED_STREAMS; i++)
        end(&p->streams[i]);
}

void printed_fini(struct printed *p)
{
    printed_give_up(p);
    for (size_t i = 0; i < PRINTED_STREAMS; i++)
        buf_free(&p->streams[i].tail);
}
