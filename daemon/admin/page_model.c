/* SPDX-License-Identifier: Apache-2.0 */
#include "admin/page_model.h"

#include <stdlib.h>
#include <string.h>

#include "admin/doctor.h"
#include "admin/faults.h"
#include "admin/first_expiry.h"
#include "admin/hide.h"
#include "admin/restore_status.h"
#include "admin/status_line.h"
#include "base/mem.h"
#include "cache/store.h"
#include "cache/watch.h"
#include "hook/history.h"
#include "hook/hook.h"
#include "kube/servers.h"

#define NS_PER_S 1000000000U
#define MS_PER_S 1000U

const char *page_model_level_name(enum page_level level)
{
    static const char *const names[] = {
        [PAGE_GOOD] = "good", [PAGE_LOOK] = "look", [PAGE_BAD] = "bad"};

    return names[level];
}

/* ---- Watches */

/* A watch or hook is BAD if faults_each() tells of it, too. Of several words the worst is taken, as only
 * one fits. */
static void judge_watch(struct page_watch *row, const struct watch *w, const struct watch_status *s)
{
    bool old = s->synced && restore_status_is((struct source){.watch = w});

    row->word = watch_state_name(s->state);
    row->level = PAGE_GOOD;
    if (s->state != WATCH_WATCHING || s->err->kind != ERR_OK)
        row->level = PAGE_LOOK;
    if (s->state == WATCH_FORBIDDEN || s->skipped > 0 || (!s->synced && s->err->kind != ERR_OK))
        row->level = PAGE_BAD;
    if (s->skipped > 0 && s->state == WATCH_WATCHING)
        row->word = "skipped";
    if (s->stale || old || s->held != GUARD_NOTHING) {
        row->level = PAGE_BAD;
        row->word = s->held != GUARD_NOTHING ? "held" : "stale";
    }
    if (s->incomplete) {
        row->level = PAGE_BAD;
        row->word = watch_state_name(WATCH_INCOMPLETE);
    }
}

static unsigned freshness(const struct watch_status *s)
{
    if (!s->contact || s->stale || s->contact_age_ms >= s->silence_ms)
        return 0;
    return (unsigned)(1000 - s->contact_age_ms * 1000 / s->silence_ms);
}

static void fill_watch(struct page_watch *row, const struct page_model *p,
                       const struct admin_watch *named)
{
    const struct watch *w = named->watch;
    const struct watch_status s = watch_status(w, p->now_ms);
    struct buf error = {0};

    *row = (struct page_watch){
        .name = named->name,
        .cluster = watch_cluster(w),
        .resource = watch_resource(w),
        .heard = s.contact,
        .age_ms = s.contact_age_ms,
        .fresh = freshness(&s),
        .changes =
            s.events_by[EVENT_ADDED] + s.events_by[EVENT_MODIFIED] + s.events_by[EVENT_DELETED],
        .objects = store_count(watch_store(w)),
        .bytes = store_bytes(watch_store(w)),
        .skipped = s.skipped,
    };
    judge_watch(row, w, &s);
    if (s.err->kind == ERR_OK)
        return;
    if (status_line_no_contact(s.err->kind))
        buf_puts(&error, "no contact: ");
    hide_put_watch_error(&error, p->admin, &s);
    hide_put_without_paths(&row->error, buf_str(&error));
    buf_free(&error);
}

/* ---- Hooks */

/* Of several words the worst is taken. It is BAD if faults_each() tells of it, too. */
static void judge_hook(struct page_hook *row, const struct hook *h, const struct admin_model *m)
{
    bool overdue = faults_is_overdue(m, row->oldest_ms);
    const struct {
        bool holds;
        const char *word;
        enum page_level level;
    } words[] = {
        {overdue,                    "overdue", PAGE_BAD },
        {h->paused,                  "paused",  PAGE_LOOK},
        {row->parked > 0,            "parked",  PAGE_LOOK},
        {hook_last_error(h) != NULL, "failing", PAGE_LOOK},
        {row->running > 0,           "running", PAGE_GOOD},
        {row->pending > 0,           "pending", PAGE_GOOD},
        {true,                       "idle",    PAGE_GOOD},
    };
    size_t i = 0;

    while (!words[i].holds)
        i++;
    row->word = words[i].word;
    row->level = words[i].level;
}

static void fill_hook(struct page_hook *row, const struct page_model *p, const struct hook *h)
{
    struct histogram recent = latency_recent(&h->figures.latency, p->now_ms);
    struct buf error = {0};

    *row = (struct page_hook){
        .name = h->name,
        .running = hook_running(h),
        .pending = hook_pending(h),
        .parked = hook_parked(h),
        .oldest_ms = hook_oldest_pending_ms(h, p->now_ms),
        .runs_ok = h->figures.runs_ok,
        .runs_failed = h->figures.runs_failed,
        .last = h->history.n > 0 ? history_get(&h->history, 0) : NULL,
        .timed = recent.total > 0,
        .p50_ms = histogram_quantile_ms(&recent, 500),
        .p99_ms = histogram_quantile_ms(&recent, 990),
    };
    row->waits = row->pending > 0 || row->oldest_ms > 0;
    judge_hook(row, h, p->admin);
    hide_put_hook_error(&error, p->admin, h);
    hide_put_without_paths(&row->error, buf_str(&error));
    buf_free(&error);
}

/* ---- Clusters */

static void fill_server(struct page_server *row, const struct page_model *p,
                        const struct admin_cluster *c, size_t i)
{
    const struct server_health *h = &c->servers->v[i];
    bool well = h->state == SERVER_GOOD || h->state == SERVER_UNTRIED;

    *row = (struct page_server){
        .cluster = c->name,
        .url = h->name,
        .word = server_state_name(h->state),
        .level = well ? PAGE_GOOD : PAGE_LOOK,
        .in_use = i == c->servers->in_use,
        .tried = h->since_ms > 0,
        .since_ms = h->since_ms > 0 && p->now_ms > h->since_ms ? p->now_ms - h->since_ms : 0,
    };
    if (!well && h->err.kind != ERR_OK)
        hide_put_without_paths(&row->error, str_c(h->err.text));
}

static void add_credentials(struct page_model *p, const struct admin_cluster *c)
{
    static const char *const words[] = {[EXPIRY_NONE] = "",
                                        [EXPIRY_VALID] = "valid",
                                        [EXPIRY_SOON] = "expires soon",
                                        [EXPIRY_EARLY] = "not valid yet",
                                        [EXPIRY_OVER] = "expired"};
    int64_t now_s = (int64_t)(p->admin->wall_ns / NS_PER_S);
    int64_t window_s = (int64_t)(p->admin->credential_expiry_ms / MS_PER_S);

    for (enum expiry_item i = EXPIRY_CA; i < EXPIRY_ITEMS; i++) {
        struct expiry_view view = first_expiry_look(c, i, now_s, window_s);

        if (view.dates == NULL)
            continue;
        p->credentials[p->credential_count++] = (struct page_credential){
            .cluster = c->name,
            .type = expiry_item_name(i),
            .word = words[view.state],
            .level = view.state == EXPIRY_VALID ? PAGE_GOOD : PAGE_BAD,
            .till_s = view.dates->till_s,
        };
    }
}

static void add_clusters(struct page_model *p)
{
    const struct admin_model *m = p->admin;
    size_t servers = 0;

    for (size_t i = 0; i < m->cluster_count; i++)
        servers += m->clusters[i].servers->n;
    p->servers = mem_array(servers + 1, sizeof(*p->servers));
    p->credentials = mem_array(m->cluster_count * EXPIRY_ITEMS + 1, sizeof(*p->credentials));
    for (size_t i = 0; i < m->cluster_count; i++) {
        for (size_t s = 0; s < m->clusters[i].servers->n; s++)
            fill_server(&p->servers[p->server_count++], p, &m->clusters[i], s);
        add_credentials(p, &m->clusters[i]);
    }
}

/* ---- All */

/* Faults that do not end before a person does something. */
static bool needs_person(enum finding_id id)
{
    return id == FINDING_RELOAD || id == FINDING_HELD || id == FINDING_MEMORY ||
           id == FINDING_SKIPPED;
}

static void add_problem(struct page_model *p, const struct finding *f)
{
    size_t i = p->problem_count++;

    if (i >= PAGE_PROBLEMS)
        return;
    struct page_problem *x = &p->problems[i];
    x->id = doctor_word(f->id);
    x->kind = f->kind;
    x->name = f->name;
    hide_put_without_paths(&x->text, str_c(f->sentence));
    doctor_put_marked_advice(&x->todo, f);
}

static void add_urgent(void *arg, const struct finding *f)
{
    if (needs_person(f->id))
        add_problem(arg, f);
}

static void add_other(void *arg, const struct finding *f)
{
    if (!needs_person(f->id))
        add_problem(arg, f);
}

/* An outage makes a fault of each watch. A list that is held must not stand behind them all. */
static void add_problems(struct page_model *p)
{
    faults_each(p->admin, p->now_ms, add_urgent, p);
    faults_each(p->admin, p->now_ms, add_other, p);
}

static size_t count_watches(const struct page_model *p, enum page_level level)
{
    size_t n = 0;

    for (size_t i = 0; i < p->admin->watch_count; i++)
        n += p->watches[i].level == level;
    return n;
}

static size_t count_hooks(const struct page_model *p, enum page_level level)
{
    size_t n = 0;

    for (size_t i = 0; i < p->admin->hooks->n; i++)
        n += p->hooks[i].level == level;
    return n;
}

static const char *plural(size_t n)
{
    return n == 1 ? "" : "s";
}

static void put_look(struct buf *out, size_t watches, size_t hooks)
{
    buf_puts(out, "No fault, but look at ");
    if (watches > 0)
        buf_printf(out, "%zu watch%s", watches, watches == 1 ? "" : "es");
    if (watches > 0 && hooks > 0)
        buf_puts(out, " and ");
    if (hooks > 0)
        buf_printf(out, "%zu hook%s", hooks, plural(hooks));
}

/* Parked keys are no fault, but a person has to look at them. A hook without trouble may have runs to do. */
static void summarize(struct page_model *p)
{
    const struct admin_model *m = p->admin;
    size_t faults = p->problem_count;
    size_t watches = m->watch_count - count_watches(p, PAGE_GOOD);
    size_t hooks = m->hooks->n - count_hooks(p, PAGE_GOOD);

    p->level = faults > 0                              ? PAGE_BAD
               : !m->ready || watches > 0 || hooks > 0 ? PAGE_LOOK
                                                       : PAGE_GOOD;
    if (faults > 0)
        buf_printf(&p->summary, "%zu problem%s", faults, plural(faults));
    else if (!m->ready)
        buf_printf(&p->summary, "Starting: %zu of %zu watches are current",
                   m->watch_count - watches, m->watch_count);
    else if (watches + hooks > 0)
        put_look(&p->summary, watches, hooks);
    else
        buf_printf(&p->summary, "All is well: %zu watch%s current, %zu hook%s without trouble",
                   m->watch_count, m->watch_count == 1 ? " is" : "es are", m->hooks->n,
                   plural(m->hooks->n));
}

void page_model_init(struct page_model *p, const struct admin_model *m, uint64_t now_ms)
{
    *p = (struct page_model){.admin = m, .now_ms = now_ms};
    p->watches = mem_array(m->watch_count + 1, sizeof(*p->watches));
    p->hooks = mem_array(m->hooks->n + 1, sizeof(*p->hooks));
    for (size_t i = 0; i < m->watch_count; i++)
        fill_watch(&p->watches[i], p, &m->watches[i]);
    for (size_t i = 0; i < m->hooks->n; i++)
        fill_hook(&p->hooks[i], p, m->hooks->v[i]);
    add_clusters(p);
    add_problems(p);
    summarize(p);
}

void page_model_fini(struct page_model *p)
{
    for (size_t i = 0; i < p->admin->watch_count; i++)
        buf_free(&p->watches[i].error);
    for (size_t i = 0; i < p->admin->hooks->n; i++)
        buf_free(&p->hooks[i].error);
    for (size_t i = 0; i < p->server_count; i++)
        buf_free(&p->servers[i].error);
    for (size_t i = 0; i < PAGE_PROBLEMS; i++) {
        buf_free(&p->problems[i].text);
        buf_free(&p->problems[i].todo);
    }
    free(p->watches);
    free(p->hooks);
    free(p->servers);
    free(p->credentials);
    buf_free(&p->summary);
    *p = (struct page_model){0};
}
