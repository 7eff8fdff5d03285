/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/verb.h"

#include <time.h>

#include "base/panic.h"
#include "ctl/args.h"
#include "ctl/ask.h"
#include "proto/url.h"

int64_t verb_now_s(void)
{
    return (int64_t)time(NULL);
}

uint64_t verb_now_ms(void)
{
    struct timespec t;

    ensure(clock_gettime(CLOCK_MONOTONIC, &t) == 0);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

void verb_pause(unsigned ms)
{
    const struct timespec pause = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000L};

    nanosleep(&pause, NULL);
}

void verb_put_json(struct verb_call *c)
{
    buf_append_str(c->out, c->json);
    if (c->json.n > 0 && c->json.p[c->json.n - 1] != '\n')
        buf_putc(c->out, '\n');
}

/* The check that the answer is JSON is left to the tables: with -o json the bytes are passed on. */
enum err_kind verb_put_rows(struct verb_call *c, const struct listing *l, enum listing_rows rows,
                            struct err *err)
{
    const struct listing_look look = {
        .rows = rows,
        .wide = c->args->output == OUTPUT_WIDE,
        .now_s = verb_now_s(),
    };

    if (c->args->output == OUTPUT_NAME)
        return listing_put_keys(c->out, l, rows, c->json, err);
    if (c->args->output != OUTPUT_JSON)
        return listing_put_table(c->out, l, &look, c->json, err);
    verb_put_json(c);
    return ERR_OK;
}

/* Escaped as one part of the path: the '/' in the key NAMESPACE/NAME becomes %2F, and the daemon
 * finds the whole key in one part. */
void verb_put_path(struct buf *out, const char *folder, const char *name, const char *what,
                   const char *key)
{
    buf_printf(out, "/v1/%s/", folder);
    url_put_escaped(out, str_c(name));
    buf_printf(out, "/%s%s", what, key != NULL ? "/" : "");
    if (key != NULL)
        url_put_escaped(out, str_c(key));
}

enum command_exit verb_ask(const struct verb *v, const struct args *a, struct buf *out,
                           struct buf *complaint)
{
    struct buf target = {0};
    struct buf json = {0};
    struct err err = {0};

    v->put_target(&target, a);
    enum command_exit code =
        ask_daemon(a, &(struct ask){v->method, buf_cstr(&target)}, &json, complaint);
    if (code == EXIT_FINE) {
        struct verb_call c = {.args = a, .json = buf_str(&json), .out = out};

        code = v->print(&c, &err) == ERR_OK ? c.exit : ask_unreadable(a, &err, complaint);
    }
    buf_free(&target);
    buf_free(&json);
    return code;
}
