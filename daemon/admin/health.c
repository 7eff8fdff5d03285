/* SPDX-License-Identifier: Apache-2.0 */
#include "admin/health.h"

#include <stdbool.h>
#include <string.h>

#include "admin/call.h"
#include "admin/doctor.h"
#include "admin/faults.h"
#include "admin/report.h"
#include "base/visible.h"
#include "proto/json_member.h"
#include "proto/json_out.h"

#define TEXT "text/plain; charset=utf-8"

/* One answer that is being written. The head of a text comes with its first reason. */
struct answer {
    const char *title; /* of a text with reasons */
    struct buf *text;
    struct json_out *json; /* NULL = text is wanted */
    size_t count;          /* reasons so far */
};

/* Whether the query has the parameter format=json. Others mean nothing: kubectl and load balancers
 * add "verbose" and the like. */
static bool wants_json(const struct call *c)
{
    static const char wanted[] = "format=json";
    struct str target = c->req->target;
    const char *end = target.p + target.n;
    const char *at = target.n > 0 ? memchr(target.p, '?', target.n) : NULL;

    while (at != NULL) {
        const char *from = at + 1;

        at = memchr(from, '&', (size_t)(end - from));
        if (str_is(str_of(from, (size_t)((at != NULL ? at : end) - from)), wanted))
            return true;
    }
    return false;
}

static void add(struct answer *a, const char *reason, const char *kind, const char *name,
                const char *sentence)
{
    a->count++;
    if (a->json == NULL) {
        buf_puts(a->text, a->count == 1 ? a->title : "");
        visible_put(a->text, str_c(sentence));
        buf_putc(a->text, '\n');
        return;
    }
    json_out_open(a->json, '{');
    json_member_text(a->json, "reason", reason);
    json_member_text(a->json, "kind", kind);
    json_member_text(a->json, "name", name);
    json_member_text(a->json, "text", sentence);
    json_out_close(a->json, '}');
}

static void add_fault(void *arg, const struct finding *f)
{
    struct buf sentence = {0};

    doctor_put_fault(&sentence, f);
    add(arg, doctor_word(f->id), f->kind, f->name, buf_cstr(&sentence));
    buf_free(&sentence);
}

/* ---- Is all well? If not, each of these adds the reasons. */

typedef bool judge(struct answer *a, const struct call *c);

static bool is_alive(struct answer *a, const struct call *c)
{
    (void)a;
    (void)c;
    return true;
}

static void add_not_ready(void *arg, const char *hook, const char *sentence)
{
    if (hook != NULL)
        add(arg, "first_run", "hook", hook, sentence);
    else
        add(arg, "starting", "informerd", "", sentence);
}

static bool is_ready(struct answer *a, const struct call *c)
{
    report_each_not_ready(c->m, c->now_ms, add_not_ready, a);
    return c->m->ready;
}

static bool is_healthy(struct answer *a, const struct call *c)
{
    faults_each(c->m, c->now_ms, add_fault, a);
    return a->count == 0;
}

static void answer(struct call *c, const char *title, judge *ask)
{
    struct buf reasons = {0};
    struct json_out list = json_out_to(&reasons);
    bool json = wants_json(c);
    struct answer a = {.title = title, .text = &reasons, .json = json ? &list : NULL};

    if (json)
        json_out_open(&list, '[');
    bool is_ok = ask(&a, c);
    if (json)
        json_out_close(&list, ']');
    c->out->status = is_ok ? 200 : 503;
    if (json) {
        buf_printf(&c->out->body, "{\"ok\":%s,\"reasons\":", is_ok ? "true" : "false");
        buf_append_str(&c->out->body, buf_str(&reasons));
        buf_puts(&c->out->body, "}\n");
    } else {
        c->out->content_type = TEXT;
        buf_puts(&c->out->body, is_ok ? "ok\n" : "");
        buf_append_str(&c->out->body, buf_str(&reasons));
    }
    buf_free(&reasons);
}

void health_livez(struct call *c)
{
    answer(c, "", is_alive);
}

void health_readyz(struct call *c)
{
    answer(c, "not ready\n", is_ready);
}

void health_healthz(struct call *c)
{
    answer(c, "not healthy\n", is_healthy);
}
