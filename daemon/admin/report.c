/* SPDX-License-Identifier: Apache-2.0 */
#include "admin/report.h"

#include <time.h>

#include "admin/admin.h"
#include "admin/health.h"
#include "admin/restore_status.h"
#include "cache/audit.h"
#include "cache/view.h"
#include "cache/watch.h"
#include "hook/hook.h"
#include "hook/why.h"
#include "proto/json_member.h"
#include "proto/json_out.h"

/* The most files that left_files lists. */
enum { LEFT_FILES_MAX = 1000 };

#define NS_PER_MS 1000000U
#define NS_PER_S  1000000000U

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

static void put_clusters(struct json_out *j, const struct admin_model *m, uint64_t now_ms)
{
    json_out_key(j, "clusters");
    json_out_open(j, '{');
    for (size_t i = 0; i < m->cluster_count; i++) {
        const struct admin_cluster *c = &m->clusters[i];

        json_out_key(j, c->name);
        json_out_open(j, '{');
        json_member_text(j, "server", c->server);
        json_member_age(j, "contact_age_s", c->contact_ms, now_ms);
        json_member_text(j, "trouble", c->trouble);
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

/* Only hooks that have `apply` get these members. */
static void put_apply(struct json_out *j, const struct admin_model *m, const struct hook *h,
                      uint64_t now_ms)
{
    struct why w = why_apply(m->hooks, h, now_ms);

    json_member_text(j, "apply", why_reason_name(w.reason));
    json_member_count(j, "applies_ok", h->apply.runs_ok);
    json_member_count(j, "applies_failed", h->apply.runs_failed);
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
    json_member_count(j, "runs_ok", h->runs_ok);
    json_member_count(j, "runs_failed", h->runs_failed);
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

/* Whether a stray file of a hook that is not configured any more still has no owner. A hook that
 * was renamed may write the same file under its new name. */
static bool is_left(const struct admin_model *m, const char *file)
{
    for (size_t i = 0; i < m->hooks->n; i++)
        if (files_has(&m->hooks->v[i]->files, str_c(file)))
            return false;
    return true;
}

/* Files that stay and that nothing names: strays of today's hooks, then files of hooks that are not
 * configured any more. */
static void put_left_files(struct json_out *j, const struct admin_model *m)
{
    size_t n = 0;

    json_out_key(j, "left_files");
    json_out_open(j, '[');
    for (size_t i = 0; i < m->hooks->n; i++) {
        const struct hook *h = m->hooks->v[i];

        list_each (pos, tmp, &h->strays.all) {
            const struct stray *x = list_entry(pos, struct stray, link);

            if (x->state == STRAY_LEFT && n++ < LEFT_FILES_MAX)
                put_left_file(j, h->name, x->path, x->why);
        }
    }
    for (size_t i = 0; i < m->gone_count; i++)
        if (n < LEFT_FILES_MAX && is_left(m, m->gone[i].file)) {
            put_left_file(j, m->gone[i].hook, m->gone[i].file, m->gone[i].because);
            n++;
        }
    json_out_close(j, ']');
}

void report_put_status(struct buf *out, const struct admin_model *m, uint64_t now_ms)
{
    struct json_out j = json_out_to(out);

    json_out_open(&j, '{');
    json_member_text(&j, "version", m->version);
    json_member_count(&j, "pid", m->pid);
    put_time(&j, "started", m->started_ns);
    json_member_flag(&j, "ready", m->ready);
    json_out_key(&j, "degraded");
    health_put_degraded(&j, m, now_ms);
    restore_status_put_state(&j, m);
    put_clusters(&j, m, now_ms);
    put_sources(&j, m, now_ms);
    put_hooks(&j, m, now_ms);
    put_left_files(&j, m);
    json_out_close(&j, '}');
    buf_putc(out, '\n');
}

/* Writes one member of the status as an answer of its own. */
static void put_alone(struct buf *out, const struct admin_model *m, uint64_t now_ms,
                      void (*put)(struct json_out *, const struct admin_model *, uint64_t))
{
    struct json_out j = json_out_to(out);

    json_out_open(&j, '{');
    put(&j, m, now_ms);
    json_out_close(&j, '}');
    buf_putc(out, '\n');
}

void report_put_watches(struct buf *out, const struct admin_model *m, uint64_t now_ms)
{
    put_alone(out, m, now_ms, put_sources);
}

void report_put_hooks(struct buf *out, const struct admin_model *m, uint64_t now_ms)
{
    put_alone(out, m, now_ms, put_hooks);
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

void report_put_verify(struct buf *out, const struct watch *w, uint64_t now_ms)
{
    const struct audit_result *r = audit_result(watch_audit(w));
    struct json_out j = json_out_to(out);

    json_out_open(&j, '{');
    json_member_count(&j, "number", r->runs);
    put_state_of_audit(&j, audit_state(watch_audit(w)));
    json_member_age(&j, "done_age_s", r->done_ms, now_ms);
    json_member_flag(&j, "applied", r->applied);
    json_member_count(&j, "compared", r->compared);
    json_member_count(&j, "not_compared", r->not_compared);
    json_member_count(&j, "differences", r->differences);
    put_differences(&j, r);
    json_member_text(&j, "error", r->err->kind != ERR_OK ? r->err->text : NULL);
    json_out_close(&j, '}');
    buf_putc(out, '\n');
}
