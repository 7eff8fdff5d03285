/* SPDX-License-Identifier: Apache-2.0 */
#include "admin/page_json.h"

#include "admin/page_model.h"
#include "base/visible.h"
#include "cache/store.h"
#include "cache/view.h"
#include "hook/history.h"
#include "hook/hook.h"
#include "hook/payload.h"
#include "proto/json_member.h"
#include "proto/json_out.h"

#define NS_PER_MS 1000000U
#define MS_PER_S  1000U

static void open_array(struct json_out *j, const char *key)
{
    json_out_key(j, key);
    json_out_open(j, '[');
}

/* A text for the script, which shows it as it is; an empty one gives null. */
static void put_buf(struct json_out *j, const char *key, const struct buf *text)
{
    struct buf shown = {0};

    visible_put(&shown, buf_str(text));
    json_member_str(j, key, buf_str(&shown));
    buf_free(&shown);
}

/* A number that may not be known. */
static void put_maybe(struct json_out *j, const char *key, bool known, uint64_t value)
{
    json_out_key(j, key);
    if (known)
        json_out_u64(j, value);
    else
        json_out_null(j);
}

static void put_problems(struct json_out *j, const struct page_model *p)
{
    json_member_count(j, "problem_count", p->problem_count);
    open_array(j, "problems");
    for (size_t i = 0; i < p->problem_count && i < PAGE_PROBLEMS; i++) {
        const struct page_problem *x = &p->problems[i];

        json_out_open(j, '{');
        json_member_shown(j, "id", x->id);
        json_member_shown(j, "kind", x->kind);
        json_member_shown(j, "name", x->name);
        put_buf(j, "text", &x->text);
        put_buf(j, "todo", &x->todo);
        json_out_close(j, '}');
    }
    json_out_close(j, ']');
}

static void put_watch(struct json_out *j, const struct page_watch *w)
{
    json_out_open(j, '{');
    json_member_shown(j, "name", w->name);
    json_member_shown(j, "cluster", w->cluster);
    json_member_shown(j, "resource", w->resource);
    json_member_shown(j, "word", w->word);
    json_member_shown(j, "level", page_model_level_name(w->level));
    put_maybe(j, "age_ms", w->heard, w->age_ms);
    json_member_count(j, "fresh", w->fresh);
    json_member_count(j, "changes", w->changes);
    json_member_count(j, "objects", w->objects);
    json_member_count(j, "bytes", w->bytes);
    json_member_count(j, "skipped", w->skipped);
    put_buf(j, "error", &w->error);
    json_out_close(j, '}');
}

static void put_last_run(struct json_out *j, const struct history_run *run)
{
    json_out_key(j, "last");
    if (run == NULL) {
        json_out_null(j);
        return;
    }
    json_out_open(j, '{');
    json_member_shown(j, "outcome", history_outcome_name(run->outcome));
    json_member_count(j, "ended_ms", run->ended_ns / NS_PER_MS);
    json_member_count(j, "took_ms", run->took_ms);
    json_out_close(j, '}');
}

static void put_hook(struct json_out *j, const struct page_hook *h)
{
    json_out_open(j, '{');
    json_member_shown(j, "name", h->name);
    json_member_shown(j, "word", h->word);
    json_member_shown(j, "level", page_model_level_name(h->level));
    json_member_count(j, "running", h->running);
    json_member_count(j, "pending", h->pending);
    json_member_count(j, "parked", h->parked);
    put_maybe(j, "oldest_ms", h->waits, h->oldest_ms);
    json_member_count(j, "runs_ok", h->runs_ok);
    json_member_count(j, "runs_failed", h->runs_failed);
    put_last_run(j, h->last);
    put_maybe(j, "p50_ms", h->timed, h->p50_ms);
    put_maybe(j, "p99_ms", h->timed, h->p99_ms);
    put_buf(j, "error", &h->error);
    json_out_close(j, '}');
}

static void put_views(struct json_out *j, const struct admin_model *m)
{
    open_array(j, "views");
    for (size_t i = 0; i < m->view_count; i++) {
        const struct view *v = m->views[i];

        json_out_open(j, '{');
        json_member_shown(j, "name", view_name(v));
        json_member_shown(j, "cluster", view_cluster(v));
        json_member_count(j, "objects", store_count(view_store(v)));
        json_member_flag(j, "synced", view_synced(v));
        json_member_flag(j, "stale", view_stale(v));
        json_member_flag(j, "incomplete", view_incomplete(v));
        json_out_close(j, '}');
    }
    json_out_close(j, ']');
}

static void put_servers(struct json_out *j, const struct page_model *p)
{
    open_array(j, "servers");
    for (size_t i = 0; i < p->server_count; i++) {
        const struct page_server *s = &p->servers[i];

        json_out_open(j, '{');
        json_member_shown(j, "cluster", s->cluster);
        json_member_shown(j, "url", s->url);
        json_member_shown(j, "word", s->word);
        json_member_shown(j, "level", page_model_level_name(s->level));
        json_member_flag(j, "in_use", s->in_use);
        put_maybe(j, "since_ms", s->tried, s->since_ms);
        put_buf(j, "error", &s->error);
        json_out_close(j, '}');
    }
    json_out_close(j, ']');
}

static void put_credentials(struct json_out *j, const struct page_model *p)
{
    open_array(j, "credentials");
    for (size_t i = 0; i < p->credential_count; i++) {
        const struct page_credential *c = &p->credentials[i];

        json_out_open(j, '{');
        json_member_shown(j, "cluster", c->cluster);
        json_member_shown(j, "type", c->type);
        json_member_shown(j, "word", c->word);
        json_member_shown(j, "level", page_model_level_name(c->level));
        json_member_count(j, "till_ms", c->till_s > 0 ? (uint64_t)c->till_s * MS_PER_S : 0);
        json_out_close(j, '}');
    }
    json_out_close(j, ']');
}

/* at_ms is monotonic: rates are made of the difference to the answer before. started_ms tells another
 * process, whose counters begin anew. */
static void put_daemon(struct json_out *j, const struct page_model *p)
{
    const struct admin_model *m = p->admin;

    json_member_shown(j, "version", m->version);
    json_member_shown(j, "node", m->context->node);
    json_member_count(j, "started_ms", m->started_ns / NS_PER_MS);
    json_member_count(j, "wall_ms", m->wall_ns / NS_PER_MS);
    json_member_count(j, "up_ms", p->now_ms > m->started_ms ? p->now_ms - m->started_ms : 0);
    json_member_count(j, "at_ms", p->now_ms);
    json_member_shown(j, "level", page_model_level_name(p->level));
    put_buf(j, "summary", &p->summary);
    json_member_flag(j, "reloading", m->reload.is_running);
}

void page_json_put(struct buf *out, const struct page_model *p)
{
    struct json_out j = json_out_to(out);

    json_out_open(&j, '{');
    put_daemon(&j, p);
    put_problems(&j, p);
    open_array(&j, "watches");
    for (size_t i = 0; i < p->admin->watch_count; i++)
        put_watch(&j, &p->watches[i]);
    json_out_close(&j, ']');
    open_array(&j, "hooks");
    for (size_t i = 0; i < p->admin->hooks->n; i++)
        put_hook(&j, &p->hooks[i]);
    json_out_close(&j, ']');
    put_views(&j, p->admin);
    put_servers(&j, p);
    put_credentials(&j, p);
    json_out_close(&j, '}');
    buf_putc(out, '\n');
}
