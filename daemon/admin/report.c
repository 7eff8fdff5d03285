/* SPDX-License-Identifier: Apache-2.0 */
#include "admin/report.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "admin/call.h"
#include "admin/doctor.h"
#include "admin/faults.h"
#include "admin/first_expiry.h"
#include "admin/restore_status.h"
#include "base/meter.h"
#include "base/utf8.h"
#include "cache/audit.h"
#include "cache/view.h"
#include "cache/watch.h"
#include "hook/apply_group.h"
#include "hook/gone.h"
#include "hook/hook.h"
#include "hook/why.h"
#include "kube/servers.h"
#include "proto/json_member.h"
#include "proto/json_out.h"

/* The most files that left_files lists. */
enum { LEFT_FILES_MAX = 1000 };

#define NS_PER_MS 1000000U
#define NS_PER_S  1000000000U
#define MS_PER_S  1000U

/* Names the sources that the first run waits for. */
static void put_unsynced(struct buf *out, const struct hook *h)
{
    buf_puts(out, "these sources are synced:");
    for (size_t i = 0; i < h->source_count; i++)
        if (!source_synced(h->sources[i].of))
            buf_printf(out, " %s", h->sources[i].name);
}

/* Why the first runs of the hook have not ended. With an output file its apply belongs to them. */
static void put_not_ready(struct buf *out, const struct admin_model *m, const struct hook *h,
                          uint64_t now_ms)
{
    bool applies = h->gate == GATE_APPLY;
    struct why w = applies ? why_apply(m->hooks, h, now_ms) : why_hook(m->hooks, h, now_ms);

    buf_printf(out, "hook %s: ", h->name);
    if (h->gate == GATE_CLOSED && w.reason == WHY_NOT_SYNCED) {
        buf_puts(out, "waits for its first run until ");
        put_unsynced(out, h);
        return;
    }
    buf_puts(out, applies ? "the files of its first runs are not applied"
                          : "its first run has not ended");
    if (w.reason != WHY_HANDLED && w.reason != WHY_RUNNING) {
        buf_puts(out, ": ");
        why_put_text(out, &w);
    }
}

void report_each_not_ready(const struct admin_model *m, uint64_t now_ms, report_not_ready_cb *cb,
                           void *arg)
{
    struct buf text = {0};
    bool is_held = false;

    if (m->ready)
        return;
    for (size_t i = 0; i < m->hooks->n; i++) {
        const struct hook *h = m->hooks->v[i];

        if (!hook_holds_ready(m->hooks, h))
            continue;
        is_held = true;
        buf_clear(&text);
        put_not_ready(&text, m, h, now_ms);
        cb(arg, h->name, buf_cstr(&text));
    }
    if (!is_held)
        cb(arg, NULL, "READY is about to be sent");
    buf_free(&text);
}

/* ---- Members of the status */

static void put_fault(void *arg, const struct finding *f)
{
    struct buf text = {0};

    doctor_put_fault(&text, f);
    json_out_str(arg, buf_str(&text));
    buf_free(&text);
}

static void put_degraded(struct json_out *j, const struct admin_model *m, uint64_t now_ms)
{
    json_out_open(j, '[');
    faults_each(m, now_ms, put_fault, j);
    json_out_close(j, ']');
}

/* Times in the status have whole seconds, unlike json_member_time(). */
static void put_time(struct json_out *j, const char *key, uint64_t wall_ns)
{
    time_t s = (time_t)(wall_ns / NS_PER_S);
    struct tm tm;
    char text[32];

    gmtime_r(&s, &tm);
    strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm);
    json_member_text(j, key, text);
}

static void put_state(struct json_out *j, const struct admin_model *m)
{
    const struct admin_state *s = &m->state;

    json_out_key(j, "state");
    json_out_open(j, '{');
    json_member_text(j, "dir", s->dir);
    json_member_flag(j, "kept", s->kept);
    json_member_flag(j, "writable", s->trouble == NULL);
    json_member_text(j, "reason", s->trouble);
    /* null if the state could not be written from the start on */
    json_member_time(j, "since", s->failing_ms > 0 ? restore_status_wall_ns(m, s->failing_ms) : 0);
    json_member_count(j, "waiting", s->waiting);
    json_member_count(j, "commits", s->commits);
    json_out_close(j, '}');
}

/* When the first credential in use expires; null = none does, or none was read yet. */
static void put_expires(struct json_out *j, const struct admin_model *m,
                        const struct admin_cluster *c)
{
    int64_t first_s = 0;

    for (enum expiry_item i = EXPIRY_CA; i < EXPIRY_ITEMS; i++) {
        struct expiry_view first = first_expiry_look(c, i, (int64_t)(m->wall_ns / NS_PER_S), 0);

        if (first.dates != NULL && (first_s == 0 || first.dates->till_s < first_s))
            first_s = first.dates->till_s;
    }
    if (first_s > 0)
        put_time(j, "credential_expires", (uint64_t)first_s * NS_PER_S);
    else
        json_member_text(j, "credential_expires", NULL);
}

static void put_reload(struct json_out *j, const struct admin_reload *r)
{
    json_out_key(j, "reload");
    json_out_open(j, '{');
    json_member_text(j, "result", r->result);
    json_member_flag(j, "running", r->is_running);
    json_member_time(j, "ended", r->ended_ns);
    json_member_time(j, "failing_since", r->failing_ns);
    json_out_key(j, "problems");
    json_out_open(j, '[');
    for (const char *p = r->problems != NULL ? r->problems : ""; *p != '\0';) {
        size_t n = strcspn(p, "\n");

        json_out_str(j, str_of(p, n));
        p += n + (p[n] == '\n');
    }
    json_out_close(j, ']');
    json_out_close(j, '}');
}

/* The name of the server in use; before the first answer, of the one that requests go to first. NULL = the
 * cluster has no servers, as its kubeconfig does not exist yet. */
static const char *server_in_use(const struct servers *s)
{
    return s->n > 0 ? s->v[s->in_use != SERVERS_NONE ? s->in_use : s->choice].name : NULL;
}

static void put_servers(struct json_out *j, const struct servers *s, uint64_t now_ms)
{
    json_out_key(j, "servers");
    json_out_open(j, '[');
    for (size_t i = 0; i < s->n; i++) {
        const struct server_health *h = &s->v[i];

        json_out_open(j, '{');
        json_member_text(j, "url", h->name);
        json_member_flag(j, "in_use", i == s->in_use);
        json_member_count(j, "tier", h->tier);
        json_member_text(j, "state", server_state_name(h->state));
        json_member_age(j, "state_age_s", h->since_ms, now_ms);
        json_member_age(j, "failed_age_s", h->failed_ms, now_ms);
        json_member_text(j, "error", h->err.kind != ERR_OK ? h->err.text : NULL);
        json_out_close(j, '}');
    }
    json_out_close(j, ']');
}

static void put_clusters(struct json_out *j, const struct admin_model *m, uint64_t now_ms)
{
    json_out_key(j, "clusters");
    json_out_open(j, '{');
    for (size_t i = 0; i < m->cluster_count; i++) {
        const struct admin_cluster *c = &m->clusters[i];

        json_out_key(j, c->name);
        json_out_open(j, '{');
        json_member_text(j, "server", server_in_use(c->servers));
        json_member_age(j, "contact_age_s", c->contact_ms, now_ms);
        json_member_text(j, "trouble", c->trouble);
        put_expires(j, m, c);
        put_servers(j, c->servers, now_ms);
        json_out_close(j, '}');
    }
    json_out_close(j, '}');
}

/* Causes that never came up are left out. */
static void put_relists(struct json_out *j, const struct watch_status *s)
{
    json_out_key(j, "relists_by");
    json_out_open(j, '{');
    for (int why = 0; why < RELIST_REASONS; why++)
        if (s->relists_by[why] > 0)
            json_member_count(j, relist_reason_name((enum relist_reason)why), s->relists_by[why]);
    json_out_close(j, '}');
}

static void put_state_of_audit(struct json_out *j, enum audit_state state)
{
    static const char *const names[] = {
        [AUDIT_IDLE] = "idle",
        [AUDIT_LISTING] = "listing",
        [AUDIT_GRACE] = "grace",
    };

    json_member_text(j, "state", names[state]);
}

static void put_audit(struct json_out *j, const struct audit *a)
{
    const struct audit_result *r = audit_result(a);

    json_out_key(j, "audit");
    json_out_open(j, '{');
    put_state_of_audit(j, audit_state(a));
    json_member_count(j, "runs", r->runs);
    json_out_key(j, "differences");
    /* Only a comparison that was completed has a number of differences. */
    if (r->done_ms > 0 && r->err->kind == ERR_OK)
        json_out_u64(j, r->differences);
    else
        json_out_null(j);
    json_out_close(j, '}');
}

/* For put_skip(): the array, and how many more objects may be added to it. */
struct naming {
    struct json_out *j;
    size_t left; /* objects that may still be added */
};

static void put_skip(void *arg, const struct skip *s)
{
    struct naming *n = arg;

    if (n->left == 0)
        return;
    n->left--;
    json_out_open(n->j, '{');
    json_out_key(n->j, "key");
    if (s->name.n > 0)
        json_out_str(n->j, s->name);
    else
        json_out_null(n->j);
    json_out_key(n->j, "why");
    json_out_str(n->j, s->why);
    json_member_count(n->j, "objects", s->times);
    json_out_close(n->j, '}');
}

/* Lists the objects of the watch that cannot be used, up to REPORT_SKIPS. */
static void put_skipped(struct json_out *j, const struct watch *w)
{
    struct naming n = {.j = j, .left = REPORT_SKIPS};

    json_out_key(j, "skipped_objects");
    json_out_open(j, '[');
    skips_each(store_skips(watch_store(w)), put_skip, &n);
    json_out_close(j, ']');
}

/* Members that are not part of the contract: they may come and go
 * (docs/design.md "Status report"). */
static void put_more(struct json_out *j, const struct watch *w, const struct watch_status *s,
                     uint64_t now_ms)
{
    static const char *const resumed[] = {[RESUME_PARTIAL] = "list",
                                          [RESUME_RESHAPED] = "edited",
                                          [RESUME_EDITED] = "edited",
                                          [RESUME_WHOLE] = "watch"};

    json_member_text(j, "held_reason", guard_reason_name(s->held));
    json_member_count(j, "held_deletes", s->held_deletes);
    json_member_age(j, "last_event_age_s", s->event_ms, now_ms);
    json_member_age(j, "last_bookmark_age_s", s->bookmark_ms, now_ms);
    put_relists(j, s);
    json_member_count(j, "events", s->events);
    put_skipped(j, w);
    put_audit(j, watch_audit(w));
    json_member_text(j, "resumed", resumed[restore_status_began(w)]);
    json_member_flag(j, "past", restore_status_is((struct source){.watch = w}));
}

/* The age of the last contact with a server. Before this process has had one it is that of an
 * earlier process, if that is stored and the clock was not set back since. */
static void put_contact(struct json_out *j, const struct admin_model *m, const struct watch *w,
                        const struct watch_status *s)
{
    uint64_t past_ns = s->contact ? 0 : watch_resume_contact_ns(w);

    if (past_ns > 0 && past_ns <= m->wall_ns)
        json_member_seconds(j, "contact_age_s", true, (m->wall_ns - past_ns) / NS_PER_MS);
    else
        json_member_seconds(j, "contact_age_s", s->contact, s->contact_age_ms);
}

/* A watch with several names is written once for each name. */
static void put_watch(struct json_out *j, const struct admin_model *m,
                      const struct admin_watch *named, uint64_t now_ms)
{
    const struct watch *w = named->watch;
    struct watch_status s = watch_status(w, now_ms);
    /* "" is the resourceVersion of an API that gives its lists none */
    bool has_rv = s.rv != NULL && s.rv[0] != '\0';

    json_out_key(j, named->name);
    json_out_open(j, '{');
    json_member_text(j, "cluster", watch_cluster(w));
    json_member_text(j, "resource", watch_resource(w));
    json_member_text(j, "state", watch_state_name(s.state));
    json_member_flag(j, "synced", s.synced);
    json_member_flag(j, "stale", s.stale);
    json_member_flag(j, "incomplete", s.incomplete);
    json_member_flag(j, "held", s.held != GUARD_NOTHING);
    put_contact(j, m, w, &s);
    json_member_count(j, "objects", store_count(watch_store(w)));
    json_member_count(j, "bytes", store_bytes(watch_store(w)));
    json_member_count(j, "skipped", s.skipped);
    json_member_text(j, "resource_version", has_rv ? s.rv : NULL);
    json_member_count(j, "relists", s.relists);
    json_member_text(j, "last_error", s.err->kind != ERR_OK ? s.err->text : NULL);
    put_more(j, w, &s, now_ms);
    json_out_close(j, '}');
}

static void put_watches(struct json_out *j, const struct admin_model *m, uint64_t now_ms)
{
    json_out_key(j, "watches");
    json_out_open(j, '{');
    for (size_t i = 0; i < m->watch_count; i++)
        put_watch(j, m, &m->watches[i], now_ms);
    json_out_close(j, '}');
}

static void put_views(struct json_out *j, const struct admin_model *m)
{
    json_out_key(j, "views");
    json_out_open(j, '{');
    for (size_t i = 0; i < m->view_count; i++) {
        const struct view *v = m->views[i];

        json_out_key(j, view_name(v));
        json_out_open(j, '{');
        json_member_count(j, "objects", store_count(view_store(v)));
        json_member_flag(j, "synced", view_synced(v));
        json_member_flag(j, "stale", view_stale(v));
        json_member_flag(j, "incomplete", view_incomplete(v));
        json_out_close(j, '}');
    }
    json_out_close(j, '}');
}

static void put_sources(struct json_out *j, const struct admin_model *m, uint64_t now_ms)
{
    put_watches(j, m, now_ms);
    put_views(j, m);
}

/* Written as a time and not as an age: null means that no run of this process has succeeded. */
static void put_last_success(struct json_out *j, const struct admin_model *m, const struct hook *h)
{
    if (h->success_ms > 0)
        put_time(j, "last_success", restore_status_wall_ns(m, h->success_ms));
    else
        json_member_text(j, "last_success", NULL);
}

/* The other hooks whose `apply` is the same: one run is for all of them. */
static void put_apply_sharers(struct json_out *j, const struct hook *h)
{
    json_out_key(j, "apply_with");
    json_out_open(j, '[');
    for (const struct hook *other = NULL; (other = apply_group_next(h, other)) != NULL;)
        json_out_str(j, str_c(other->name));
    json_out_close(j, ']');
}

/* Only hooks that have `apply` get these members. */
static void put_apply(struct json_out *j, const struct admin_model *m, const struct hook *h,
                      uint64_t now_ms)
{
    struct why w = why_apply(m->hooks, h, now_ms);

    json_member_text(j, "apply", why_reason_name(w.reason));
    json_member_count(j, "applies_ok", h->apply.runs_ok);
    json_member_count(j, "applies_failed", h->apply.runs_failed);
    put_apply_sharers(j, h);
}

/* From event to handled, in the last minutes; null if nothing was handled in them. */
static void put_latency(struct json_out *j, const struct hook *h, uint64_t now_ms)
{
    struct histogram recent = latency_recent(&h->figures.latency, now_ms);
    bool any = recent.total > 0;

    json_member_count(j, "handled", latency_all(&h->figures.latency).total);
    json_member_seconds(j, "latency_p50_s", any, histogram_quantile_ms(&recent, 500));
    json_member_seconds(j, "latency_p99_s", any, histogram_quantile_ms(&recent, 990));
}

static void put_hook(struct json_out *j, const struct admin_model *m, const struct hook *h,
                     uint64_t now_ms)
{
    uint64_t oldest_ms = hook_oldest_pending_ms(h, now_ms);
    size_t pending = hook_pending(h);

    json_out_key(j, h->name);
    json_out_open(j, '{');
    json_member_count(j, "pending", pending);
    json_member_count(j, "running", hook_running(h));
    json_member_count(j, "parked", hook_parked(h));
    json_member_count(j, "forgotten", h->forgotten);
    json_member_flag(j, "paused", h->paused);
    /* A file that waits for apply has an age even if no key is pending. */
    json_member_seconds(j, "oldest_pending_s", pending > 0 || oldest_ms > 0, oldest_ms);
    put_last_success(j, m, h);
    json_member_text(j, "last_error", hook_last_error(h));
    json_member_count(j, "runs_ok", h->figures.runs_ok);
    json_member_count(j, "runs_failed", h->figures.runs_failed);
    put_latency(j, h, now_ms);
    if (h->apply.wanted)
        put_apply(j, m, h, now_ms);
    json_out_close(j, '}');
}

static void put_hooks(struct json_out *j, const struct admin_model *m, uint64_t now_ms)
{
    json_out_key(j, "hooks");
    json_out_open(j, '{');
    for (size_t i = 0; i < m->hooks->n; i++)
        put_hook(j, m, m->hooks->v[i], now_ms);
    json_out_close(j, '}');
}

static void put_left_file(struct json_out *j, const char *hook, const char *file,
                          const char *because)
{
    json_out_open(j, '{');
    json_member_text(j, "hook", hook);
    json_member_text(j, "file", file);
    json_member_text(j, "because", because);
    json_out_close(j, '}');
}

/* Files of one list of strays that stay. Returns how many files were put so far. */
static size_t put_strays(struct json_out *j, const char *hook, const struct strays *s, size_t n)
{
    list_each (pos, tmp, &s->all) {
        const struct stray *x = list_entry(pos, struct stray, link);

        if (x->state == STRAY_LEFT && n < LEFT_FILES_MAX) {
            put_left_file(j, hook, x->path, x->why);
            n++;
        }
    }
    return n;
}

/* The reason of hook/gone says what to type, which needs a state. */
static const char *why_left(const struct admin_model *m, const struct stray *x)
{
    return m->state.dir != NULL
               ? x->why
               : "the hook is not configured any more: remove the file by hand, as "
                 "informerd keeps no state";
}

size_t report_put_gone(struct json_out *j, const struct admin_model *m, const struct gone_hook *gh,
                       size_t n)
{
    list_each (pos, tmp, &gh->files.all) {
        const struct stray *x = list_entry(pos, struct stray, link);

        if (x->state == STRAY_LEFT && n < LEFT_FILES_MAX && gone_is_left(m->hooks, x)) {
            put_left_file(j, gh->name, x->path, why_left(m, x));
            n++;
        }
    }
    return n;
}

/* Files that stay and that nothing names: strays of today's hooks, then files of hooks that are not
 * configured any more. */
static void put_left_files(struct json_out *j, const struct admin_model *m)
{
    size_t n = 0;

    json_out_key(j, "left_files");
    json_out_open(j, '[');
    for (size_t i = 0; i < m->hooks->n; i++)
        n = put_strays(j, m->hooks->v[i]->name, &m->hooks->v[i]->strays, n);
    for (size_t i = 0; m->gone != NULL && i < m->gone->n; i++)
        n = report_put_gone(j, m, m->gone->v[i], n);
    json_out_close(j, ']');
}

/* Bytes as limits.memory counts them. */
static void put_memory(struct json_out *j, const struct admin_model *m)
{
    json_out_key(j, "memory");
    json_out_open(j, '{');
    json_member_count(j, "bytes", meter_bytes());
    json_out_key(j, "limit");
    if (m->memory_limit > 0)
        json_out_u64(j, m->memory_limit);
    else
        json_out_null(j);
    json_out_close(j, '}');
}

/* ---- Answers */

void report_status(struct call *c)
{
    struct json_out j = json_out_to(&c->out->body);

    json_out_open(&j, '{');
    json_member_text(&j, "version", c->m->version);
    json_member_count(&j, "pid", c->m->pid);
    put_time(&j, "started", c->m->started_ns);
    json_member_flag(&j, "ready", c->m->ready);
    put_reload(&j, &c->m->reload);
    json_out_key(&j, "degraded");
    put_degraded(&j, c->m, c->now_ms);
    put_state(&j, c->m);
    put_memory(&j, c->m);
    put_clusters(&j, c->m, c->now_ms);
    put_sources(&j, c->m, c->now_ms);
    put_hooks(&j, c->m, c->now_ms);
    put_left_files(&j, c->m);
    json_out_close(&j, '}');
    call_end(c);
}

void report_watches(struct call *c)
{
    struct json_out j = json_out_to(&c->out->body);

    json_out_open(&j, '{');
    put_sources(&j, c->m, c->now_ms);
    json_out_close(&j, '}');
    call_end(c);
}

void report_hooks(struct call *c)
{
    struct json_out j = json_out_to(&c->out->body);

    json_out_open(&j, '{');
    put_hooks(&j, c->m, c->now_ms);
    json_out_close(&j, '}');
    call_end(c);
}

static void put_differences(struct json_out *j, const struct audit_result *r)
{
    json_out_key(j, "keys");
    json_out_open(j, '[');
    for (size_t i = 0; i < r->n; i++) {
        json_out_open(j, '{');
        json_member_text(j, "key", r->v[i].key);
        json_member_text(j, "what", r->v[i].what);
        json_out_close(j, '}');
    }
    json_out_close(j, ']');
}

void report_verify(struct call *c, const struct watch *w)
{
    const struct audit_result *r = audit_result(watch_audit(w));
    struct json_out j = json_out_to(&c->out->body);

    json_out_open(&j, '{');
    json_member_count(&j, "number", r->runs);
    put_state_of_audit(&j, audit_state(watch_audit(w)));
    json_member_age(&j, "done_age_s", r->done_ms, c->now_ms);
    json_member_flag(&j, "applied", r->applied);
    json_member_count(&j, "compared", r->compared);
    json_member_count(&j, "not_compared", r->not_compared);
    json_member_count(&j, "differences", r->differences);
    put_differences(&j, r);
    json_member_text(&j, "error", r->err->kind != ERR_OK ? r->err->text : NULL);
    json_out_close(&j, '}');
    call_end(c);
}
