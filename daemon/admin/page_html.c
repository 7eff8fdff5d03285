/* SPDX-License-Identifier: Apache-2.0 */
#include "admin/page_html.h"

#include <inttypes.h>
#include <string.h>

#include "admin/doctor.h"
#include "admin/html_out.h"
#include "admin/page_files.h"
#include "admin/page_model.h"
#include "base/panic.h"
#include "cache/store.h"
#include "cache/view.h"
#include "hook/history.h"
#include "hook/payload.h"
#include "kube/expiry.h"

#define NS_PER_MS 1000000U
#define NS_PER_S  1000000000U
#define MS_PER_S  1000U
#define MIB       1048576U

/* Where the content goes in daemon/page/page.html. */
static const char mark[] = "<!-- content -->";

/* ---- Texts */

/* "3 s", "5 min", "7 h", "3 d": the largest unit of which there are at least two. */
static void put_duration(struct buf *out, uint64_t ms)
{
    uint64_t s = ms / MS_PER_S;

    if (s < 120)
        buf_printf(out, "%" PRIu64 " s", s);
    else if (s < 7200)
        buf_printf(out, "%" PRIu64 " min", s / 60);
    else if (s < 172800)
        buf_printf(out, "%" PRIu64 " h", s / 3600);
    else
        buf_printf(out, "%" PRIu64 " d", s / 86400);
}

static void put_size(struct buf *out, uint64_t bytes)
{
    if (bytes < 1024)
        buf_printf(out, "%" PRIu64 " B", bytes);
    else if (bytes < MIB)
        buf_printf(out, "%.1f KiB", (double)bytes / 1024);
    else
        buf_printf(out, "%.1f MiB", (double)bytes / MIB);
}

/* ---- Tables */

/* A table that is being written; text is the cell under way. */
struct table {
    struct buf *out;
    struct buf text;
};

static void open_table(struct table *t, const char *id, const char *title, size_t rows)
{
    buf_printf(
        t->out,
        "<section id=\"%s\"><h2>%s <span class=\"count\">%zu</span></h2><table class=\"%s\">", id,
        title, rows, id);
}

/* Heads are "class|title" with a semicolon between them; all constants. */
static void put_heads(struct table *t, const char *heads)
{
    buf_puts(t->out, "<thead><tr>");
    while (*heads != '\0') {
        size_t name = strcspn(heads, "|");
        size_t end = strcspn(heads, ";");

        buf_printf(t->out, "<th scope=\"col\" class=\"%.*s\">", (int)name, heads);
        html_out_text(t->out, str_of(heads + name + 1, end - name - 1));
        buf_puts(t->out, "</th>");
        heads += end + (heads[end] == ';');
    }
    buf_puts(t->out, "</tr></thead><tbody>");
}

static void close_table(struct table *t)
{
    buf_puts(t->out, "</tbody></table></section>\n");
    buf_free(&t->text);
}

static void open_row(struct table *t, enum page_level level, const char *word)
{
    buf_printf(t->out, "<tr class=\"%s\"><td class=\"state\"><span>", page_model_level_name(level));
    html_out_text(t->out, str_c(word));
    buf_puts(t->out, "</span></td>");
}

static void close_row(struct table *t)
{
    buf_puts(t->out, "</tr>\n");
}

static void cell(struct table *t, const char *class_name, const char *text)
{
    html_out_element(t->out, "td", class_name, str_c(text));
}

/* The text that was gathered. */
static void flush(struct table *t, const char *class_name)
{
    html_out_element(t->out, "td", class_name, buf_str(&t->text));
    buf_clear(&t->text);
}

static void number(struct table *t, const char *class_name, uint64_t n)
{
    buf_put_u64(&t->text, n);
    flush(t, class_name);
}

static void name_cell(struct table *t, const char *name, const char *about, const char *more)
{
    buf_puts(t->out, "<td class=\"name\">");
    html_out_element(t->out, "b", NULL, str_c(name));
    buf_puts(t->out, " <small>");
    html_out_text(t->out, str_c(about));
    buf_puts(t->out, more[0] != '\0' ? " \xc2\xb7 " : "");
    html_out_text(t->out, str_c(more));
    buf_puts(t->out, "</small></td>");
}

/* ---- Watches */

static void put_watch(struct table *t, const struct page_watch *w)
{
    open_row(t, w->level, w->word);
    name_cell(t, w->name, w->resource, w->cluster);
    buf_printf(t->out,
               "<td class=\"fresh\"><meter min=\"0\" max=\"1000\" low=\"200\" high=\"400\" "
               "optimum=\"1000\" value=\"%u\"></meter> <span>",
               w->fresh);
    if (w->heard)
        put_duration(t->out, w->age_ms);
    else
        buf_puts(t->out, "never");
    buf_puts(t->out, "</span></td>");
    number(t, "rate", w->changes);
    number(t, "num objects", w->objects);
    put_size(&t->text, w->bytes);
    flush(t, "num bytes");
    if (w->skipped > 0)
        buf_printf(&t->text, "%" PRIu64 " skipped%s", w->skipped, w->error.len > 0 ? "; " : "");
    buf_append_str(&t->text, buf_str(&w->error));
    flush(t, "error");
    close_row(t);
}

static void put_watches(struct buf *out, const struct page_model *p)
{
    struct table t = {.out = out};

    open_table(&t, "watches", "Watches", p->admin->watch_count);
    put_heads(&t, "state|State;name|Watch;fresh|Last contact;rate|Changes;num|Objects;num|Size;"
                  "error|Last error");
    for (int level = PAGE_BAD; level >= PAGE_GOOD; level--)
        for (size_t i = 0; i < p->admin->watch_count; i++)
            if (p->watches[i].level == (enum page_level)level)
                put_watch(&t, &p->watches[i]);
    close_table(&t);
}

/* ---- Hooks */

static void put_last_run(struct table *t, const struct page_model *p, const struct history_run *run)
{
    uint64_t ago_ms = 0;

    if (run == NULL) {
        cell(t, "last", "none");
        return;
    }
    if (p->admin->wall_ns > run->ended_ns)
        ago_ms = (p->admin->wall_ns - run->ended_ns) / NS_PER_MS;
    buf_printf(&t->text, "%s, ", history_outcome_name(run->outcome));
    put_duration(&t->text, ago_ms);
    buf_printf(&t->text, " ago, took %" PRIu64 " ms", run->took_ms);
    flush(t, "last");
}

static void put_hook(struct table *t, const struct page_model *p, const struct page_hook *h)
{
    open_row(t, h->level, h->word);
    name_cell(t, h->name, "", "");
    number(t, "num running", h->running);
    number(t, "num pending", h->pending);
    if (h->waits)
        put_duration(&t->text, h->oldest_ms);
    flush(t, "num oldest");
    buf_printf(&t->text, "%" PRIu64 " of %" PRIu64, h->runs_failed, h->runs_ok + h->runs_failed);
    if (h->parked > 0)
        buf_printf(&t->text, ", %" PRIu64 " parked", h->parked);
    flush(t, "num failed");
    put_last_run(t, p, h->last);
    if (h->timed)
        buf_printf(&t->text, "%" PRIu64 " / %" PRIu64 " ms", h->p50_ms, h->p99_ms);
    flush(t, "num times");
    html_out_element(t->out, "td", "error", buf_str(&h->error));
    close_row(t);
}

static void put_hooks(struct buf *out, const struct page_model *p)
{
    struct table t = {.out = out};

    open_table(&t, "hooks", "Hooks", p->admin->hooks->n);
    put_heads(&t, "state|State;name|Hook;num|Running;num|Pending;num|Oldest;num|Failed runs;"
                  "last|Last run;num|p50 / p99;error|Last error");
    for (int level = PAGE_BAD; level >= PAGE_GOOD; level--)
        for (size_t i = 0; i < p->admin->hooks->n; i++)
            if (p->hooks[i].level == (enum page_level)level)
                put_hook(&t, p, &p->hooks[i]);
    close_table(&t);
}

/* ---- Views, servers, credentials */

static void put_views(struct buf *out, const struct admin_model *m)
{
    struct table t = {.out = out};

    if (m->view_count == 0)
        return;
    open_table(&t, "views", "Views", m->view_count);
    put_heads(&t, "state|State;name|View;num|Objects");
    for (size_t i = 0; i < m->view_count; i++) {
        const struct view *v = m->views[i];
        const char *trouble = view_incomplete(v) ? "incomplete" : view_stale(v) ? "stale" : NULL;

        open_row(&t,
                 trouble != NULL  ? PAGE_BAD
                 : view_synced(v) ? PAGE_GOOD
                                  : PAGE_LOOK,
                 trouble != NULL  ? trouble
                 : view_synced(v) ? "current"
                                  : "waiting");
        name_cell(&t, view_name(v), view_cluster(v), "");
        number(&t, "num objects", store_count(view_store(v)));
        close_row(&t);
    }
    close_table(&t);
}

static void put_servers(struct buf *out, const struct page_model *p)
{
    struct table t = {.out = out};

    open_table(&t, "servers", "Servers", p->server_count);
    put_heads(&t, "state|State;name|Server;since|Since;error|Last error");
    for (size_t i = 0; i < p->server_count; i++) {
        const struct page_server *s = &p->servers[i];

        open_row(&t, s->level, s->word);
        name_cell(&t, s->url, s->cluster, s->in_use ? "in use" : "");
        if (s->tried)
            put_duration(&t.text, s->since_ms);
        flush(&t, "since");
        html_out_element(out, "td", "error", buf_str(&s->error));
        close_row(&t);
    }
    close_table(&t);
}

static void put_credentials(struct buf *out, const struct page_model *p)
{
    struct table t = {.out = out};

    if (p->credential_count == 0)
        return;
    open_table(&t, "credentials", "Credentials", p->credential_count);
    put_heads(&t, "state|State;name|Credential;since|Expires");
    for (size_t i = 0; i < p->credential_count; i++) {
        const struct page_credential *c = &p->credentials[i];

        open_row(&t, c->level, c->word);
        name_cell(&t, c->type, c->cluster, "");
        expiry_put_time(&t.text, c->till_s);
        flush(&t, "since");
        close_row(&t);
    }
    close_table(&t);
}

/* ---- All */

/* Commands are elements of their own: one click selects one. */
static void put_todo(struct buf *out, struct str todo)
{
    bool is_command = false;

    buf_puts(out, "<span class=\"todo\">");
    while (todo.n > 0) {
        const char *mark_at = memchr(todo.p, DOCTOR_MARK, todo.n);
        size_t n = mark_at != NULL ? (size_t)(mark_at - todo.p) : todo.n;

        if (is_command)
            html_out_element(out, "code", NULL, str_of(todo.p, n));
        else
            html_out_text(out, str_of(todo.p, n));
        n += mark_at != NULL;
        todo = str_of(todo.p + n, todo.n - n);
        is_command = !is_command;
    }
    buf_puts(out, "</span>");
}

static void put_problems(struct buf *out, const struct page_model *p)
{
    if (p->problem_count == 0)
        return;
    buf_puts(out, "<ul class=\"problems\">");
    for (size_t i = 0; i < p->problem_count && i < PAGE_PROBLEMS; i++) {
        buf_puts(out, "<li><p>");
        html_out_text(out, buf_str(&p->problems[i].text));
        buf_puts(out, "</p>");
        put_todo(out, buf_str(&p->problems[i].todo));
        buf_puts(out, "</li>\n");
    }
    if (p->problem_count > PAGE_PROBLEMS)
        buf_printf(out, "<li class=\"more\"><p>and %zu more: informerctl doctor lists all</p></li>",
                   p->problem_count - PAGE_PROBLEMS);
    buf_puts(out, "</ul>\n");
}

static void put_content(struct buf *out, const struct page_model *p)
{
    const struct admin_model *m = p->admin;

    buf_puts(out, "<header><h1>informerd</h1> ");
    html_out_element(out, "span", "node", str_c(m->context->node));
    buf_puts(out, "<span class=\"live\">as of ");
    expiry_put_time(out, (int64_t)(m->wall_ns / NS_PER_S));
    buf_puts(out, "</span></header>\n<main>");
    buf_printf(out, "<p class=\"verdict %s\"><b>", page_model_level_name(p->level));
    html_out_text(out, buf_str(&p->summary));
    buf_printf(out, "</b> <small>informerd %s, up ", m->version);
    put_duration(out, p->now_ms > m->started_ms ? p->now_ms - m->started_ms : 0);
    buf_puts(out, "</small></p>\n");
    put_problems(out, p);
    put_watches(out, p);
    put_hooks(out, p);
    put_views(out, m);
    put_servers(out, p);
    put_credentials(out, p);
    buf_puts(out, "</main>\n");
}

void page_html_put(struct buf *out, const struct page_model *p)
{
    struct str frame = page_file_html();
    const char *at = strstr(frame.p, mark); /* a 0 stands behind the file */

    ensure(at != NULL);
    size_t before = (size_t)(at - frame.p);
    buf_append(out, frame.p, before);
    put_content(out, p);
    buf_append(out, at + strlen(mark), frame.n - before - strlen(mark));
}
