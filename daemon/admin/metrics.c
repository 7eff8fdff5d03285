/* SPDX-License-Identifier: Apache-2.0 */
#include "admin/metrics.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "admin/call.h"
#include "admin/doctor.h"
#include "admin/faults.h"
#include "admin/first_expiry.h"
#include "admin/metrics_out.h"
#include "admin/restore_status.h"
#include "base/mem.h"
#include "base/meter.h"
#include "cache/watch.h"
#include "hook/hook.h"

#define US_PER_MS 1000U
#define NS_PER_MS 1000000U
#define NS_PER_S  1000000000U

/* A watch, once for each of its names, with the values that all of its families need. */
struct watch_row {
    const struct watch *watch;
    struct watch_status status;
    struct buf labels;
};

struct hook_row {
    const struct hook *hook;
    struct buf labels;
};

struct metrics {
    const struct admin_model *model;
    uint64_t now_ms;
    struct metrics_out out;
    struct watch_row *watches;
    struct hook_row *hooks;
};

static void family(struct metrics *m, const char *name, const char *type, const char *help)
{
    metrics_out_family(&m->out, name, type, help);
}

/* A family with one sample without labels. */
static void single(struct metrics *m, const char *name, const char *type, const char *help,
                   uint64_t value)
{
    family(m, name, type, help);
    metrics_out_u64(&m->out, str_c(""), value);
}

/* ---- The daemon */

static void count_fault(void *arg, const struct finding *f)
{
    uint64_t *counts = arg;

    counts[f->id]++;
}

static void put_faults(struct metrics *m)
{
    uint64_t counts[FINDINGS] = {0};

    faults_each(m->model, m->now_ms, count_fault, counts);
    family(m, "informerd_faults", "gauge",
           "Reasons for which /healthz is 503, by the ids of docs/doctor.md.");
    for (enum finding_id id = FINDING_RELOAD; id < FINDING_PARKED; id++)
        metrics_out_by(&m->out, str_c(""), "reason", doctor_word(id), counts[id]);
}

static void put_info(struct metrics *m)
{
    char digest[17];

    snprintf(digest, sizeof(digest), "%016" PRIx64, m->model->config_digest);
    family(m, "informerd_build_info", "gauge", "The release, as a label; always 1.");
    metrics_out_by(&m->out, str_c(""), "version", m->model->version, 1);
    family(m, "informerd_config_info", "gauge",
           "A digest of the configuration in use, as a label; always 1.");
    metrics_out_by(&m->out, str_c(""), "digest", digest, 1);
}

static bool any_started_stale(const struct metrics *m)
{
    for (size_t i = 0; i < m->model->watch_count; i++)
        if (m->watches[i].status.synced &&
            restore_status_is((struct source){.watch = m->model->watches[i].watch}))
            return true;
    return false;
}

static void put_daemon(struct metrics *m, const struct admin_process *p)
{
    const struct admin_model *model = m->model;

    put_info(m);
    single(m, "informerd_ready", "gauge", "Whether /readyz is 200.", model->ready);
    put_faults(m);
    single(m, "informerd_config_last_reload_successful", "gauge",
           "Whether the last reload, if there was one, was good.", model->reload.failing_ns == 0);
    single(m, "informerd_state_writable", "gauge",
           "Whether the state can be written; 1 if none is kept.", model->state.trouble == NULL);
    single(m, "informerd_started_stale", "gauge",
           "Whether hooks see objects of an earlier process that no server has confirmed yet.",
           any_started_stale(m));
    single(m, "informerd_memory_bytes", "gauge",
           "Bytes of the objects that the process holds, with the records of their keys.",
           meter_bytes());
    single(m, "informerd_memory_limit_bytes", "gauge", "The setting limits.memory; 0 = none.",
           model->memory_limit);
    if (p->turns == NULL)
        return;
    family(m, "informerd_loop_lag_seconds", "histogram",
           "How long the event loop was busy each time before it looked for events again.");
    metrics_out_histogram(&m->out, str_c(""), p->turns, p->busy_ns / NS_PER_MS);
}

/* ---- Clusters */

static void put_expiry(struct metrics *m, const struct admin_cluster *c, struct str labels)
{
    int64_t now_s = (int64_t)(m->model->wall_ns / NS_PER_S);

    for (enum expiry_item i = EXPIRY_CA; i < EXPIRY_ITEMS; i++) {
        struct expiry_view first = first_expiry_look(c, i, now_s, 0);

        if (first.dates != NULL)
            metrics_out_by(&m->out, labels, "type", expiry_item_name(i),
                           (uint64_t)first.dates->till_s);
    }
}

static void put_contact(struct metrics *m, const struct admin_cluster *c, struct str labels)
{
    if (c->contact_ms > 0)
        metrics_out_seconds(&m->out, labels,
                            restore_status_wall_ns(m->model, c->contact_ms) / NS_PER_MS);
}

static void each_cluster(struct metrics *m,
                         void (*put)(struct metrics *m, const struct admin_cluster *c,
                                     struct str labels))
{
    struct buf labels = {0};

    for (size_t i = 0; i < m->model->cluster_count; i++) {
        buf_clear(&labels);
        metrics_out_label(&labels, "cluster", str_c(m->model->clusters[i].name));
        put(m, &m->model->clusters[i], buf_str(&labels));
    }
    buf_free(&labels);
}

static void put_clusters(struct metrics *m)
{
    family(m, "informerd_cluster_last_contact_timestamp_seconds", "gauge",
           "When the last bytes of a response came from the cluster.");
    each_cluster(m, put_contact);
    family(m, "informerd_credential_expiry_timestamp_seconds", "gauge",
           "When the first credential in use expires, by its type.");
    each_cluster(m, put_expiry);
}

/* ---- Watches */

static uint64_t state_of(const struct watch_row *r)
{
    return r->status.state;
}

static uint64_t synced_of(const struct watch_row *r)
{
    return r->status.synced;
}

static uint64_t stale_of(const struct watch_row *r)
{
    return r->status.stale;
}

static uint64_t incomplete_of(const struct watch_row *r)
{
    return r->status.incomplete;
}

static uint64_t held_of(const struct watch_row *r)
{
    return r->status.held != GUARD_NOTHING;
}

static uint64_t objects_of(const struct watch_row *r)
{
    return store_count(watch_store(r->watch));
}

static uint64_t bytes_of(const struct watch_row *r)
{
    return store_bytes(watch_store(r->watch));
}

static uint64_t skipped_of(const struct watch_row *r)
{
    return r->status.skipped;
}

/* Families with one sample for each watch. */
static const struct watch_gauge {
    const char *name;
    const char *help;
    uint64_t (*value)(const struct watch_row *r);
} watch_gauges[] = {
    {"informerd_watch_state",
     "0 watching, 1 listing, 2 waiting, 3 backoff, 4 forbidden, 5 incomplete: the worst of its "
     "scopes.",                                                                                state_of     },
    {"informerd_watch_synced",          "Whether all objects were listed once.",               synced_of    },
    {"informerd_watch_stale",           "Whether the cache may be out of date.",               stale_of     },
    {"informerd_watch_incomplete",      "Whether limits.memory keeps objects out of it.",      incomplete_of},
    {"informerd_watch_guard_held",      "Whether the guard holds a list of the watch.",        held_of      },
    {"informerd_watch_objects",         "Objects in the cache.",                               objects_of   },
    {"informerd_watch_bytes",           "Bytes of the objects in the cache.",                  bytes_of     },
    {"informerd_watch_skipped_objects", "Objects that cannot be used: their old state stays.",
     skipped_of                                                                                             },
};

/* When a server was last heard, also by an earlier process, in ms since 1970; 0 = not known. */
static uint64_t contact_of(const struct metrics *m, const struct watch_row *r)
{
    uint64_t past_ns = watch_resume_contact_ns(r->watch);
    uint64_t now_ms = m->model->wall_ns / NS_PER_MS;

    if (r->status.contact)
        return now_ms > r->status.contact_age_ms ? now_ms - r->status.contact_age_ms : 0;
    return past_ns <= m->model->wall_ns ? past_ns / NS_PER_MS : 0;
}

/* Types of which none came are left out, but for those that every watch gets. */
static void put_events(struct metrics *m, const struct watch_row *r)
{
    static const char *const types[EVENT_TYPES] = {
        [EVENT_ADDED] = "ADDED",       [EVENT_MODIFIED] = "MODIFIED", [EVENT_DELETED] = "DELETED",
        [EVENT_BOOKMARK] = "BOOKMARK", [EVENT_ERROR] = "ERROR",       [EVENT_UNUSABLE] = "UNUSABLE",
        [EVENT_SKIPPED] = "SKIPPED"};

    for (int i = 0; i < EVENT_TYPES; i++)
        if (i <= EVENT_BOOKMARK || r->status.events_by[i] > 0)
            metrics_out_by(&m->out, buf_str(&r->labels), "type", types[i], r->status.events_by[i]);
}

static void put_relists(struct metrics *m, const struct watch_row *r)
{
    for (int i = 0; i < RELIST_REASONS; i++)
        if (r->status.relists_by[i] > 0)
            metrics_out_by(&m->out, buf_str(&r->labels), "reason",
                           relist_reason_name((enum relist_reason)i), r->status.relists_by[i]);
}

static void put_errors(struct metrics *m, const struct watch_row *r)
{
    for (int i = 0; i < ERR_KINDS; i++)
        if (r->status.errors_by[i] > 0)
            metrics_out_by(&m->out, buf_str(&r->labels), "reason", err_kind_name((enum err_kind)i),
                           r->status.errors_by[i]);
}

static void put_last_contact(struct metrics *m, const struct watch_row *r)
{
    uint64_t ms = contact_of(m, r);

    if (ms > 0)
        metrics_out_seconds(&m->out, buf_str(&r->labels), ms);
}

static void each_watch(struct metrics *m, void (*put)(struct metrics *m, const struct watch_row *r))
{
    for (size_t i = 0; i < m->model->watch_count; i++)
        put(m, &m->watches[i]);
}

static void put_watches(struct metrics *m)
{
    for (size_t g = 0; g < ARRAY_LEN(watch_gauges); g++) {
        family(m, watch_gauges[g].name, "gauge", watch_gauges[g].help);
        for (size_t i = 0; i < m->model->watch_count; i++)
            metrics_out_u64(&m->out, buf_str(&m->watches[i].labels),
                            watch_gauges[g].value(&m->watches[i]));
    }
    family(m, "informerd_watch_last_contact_timestamp_seconds", "gauge",
           "When the last byte came from a server that follows the watch.");
    each_watch(m, put_last_contact);
    family(m, "informerd_watch_events_total", "counter", "Events that came from servers.");
    each_watch(m, put_events);
    family(m, "informerd_watch_relists_total", "counter",
           "Lists of a watch that was synced before.");
    each_watch(m, put_relists);
    family(m, "informerd_watch_errors_total", "counter",
           "Requests that failed, by the kind of the error.");
    each_watch(m, put_errors);
}

/* ---- Hooks */

static uint64_t pending_of(const struct hook *h)
{
    return hook_pending(h);
}

static uint64_t running_of(const struct hook *h)
{
    return hook_running(h);
}

static uint64_t parked_of(const struct hook *h)
{
    return hook_parked(h);
}

static uint64_t paused_of(const struct hook *h)
{
    return h->paused;
}

static const struct hook_gauge {
    const char *name;
    const char *help;
    uint64_t (*value)(const struct hook *h);
} hook_gauges[] = {
    {"informerd_hook_pending_keys", "Keys that wait for a run.",                              pending_of},
    {"informerd_hook_running",      "Runs under way.",                                        running_of},
    {"informerd_hook_parked_keys",  "Keys that are not tried again until something changes.",
     parked_of                                                                                          },
    {"informerd_hook_paused",       "Whether a person has paused the hook.",                  paused_of },
};

static void put_oldest(struct metrics *m, const struct hook_row *r)
{
    metrics_out_seconds(&m->out, buf_str(&r->labels), hook_oldest_pending_ms(r->hook, m->now_ms));
}

static void put_overdue(struct metrics *m, const struct hook_row *r)
{
    uint64_t oldest_ms = hook_oldest_pending_ms(r->hook, m->now_ms);

    metrics_out_u64(&m->out, buf_str(&r->labels), faults_is_overdue(m->model, oldest_ms));
}

static void put_success(struct metrics *m, const struct hook_row *r)
{
    if (r->hook->success_ms > 0)
        metrics_out_seconds(&m->out, buf_str(&r->labels),
                            restore_status_wall_ns(m->model, r->hook->success_ms) / NS_PER_MS);
}

static void put_forgotten(struct metrics *m, const struct hook_row *r)
{
    metrics_out_u64(&m->out, buf_str(&r->labels), r->hook->forgotten);
}

static void put_runs(struct metrics *m, const struct hook_row *r)
{
    const struct hook *h = r->hook;
    struct str labels = buf_str(&r->labels);

    metrics_out_by(&m->out, labels, "result", "ok", h->figures.runs_ok);
    metrics_out_by(&m->out, labels, "result", "failed",
                   h->figures.runs_failed - h->figures.runs_timed_out);
    metrics_out_by(&m->out, labels, "result", "timeout", h->figures.runs_timed_out);
}

static void put_limits(struct metrics *m, const struct hook_row *r)
{
    const struct hook_figures *f = &r->hook->figures;

    metrics_out_by(&m->out, buf_str(&r->labels), "reason", "memory", f->met_memory);
    metrics_out_by(&m->out, buf_str(&r->labels), "reason", "pids", f->met_pids);
}

static void put_cpu(struct metrics *m, const struct hook_row *r)
{
    metrics_out_seconds(&m->out, buf_str(&r->labels), r->hook->figures.cpu_us / US_PER_MS);
}

/* Only where cgroups have the controller for memory. */
static void put_memory_peak(struct metrics *m, const struct hook_row *r)
{
    if (r->hook->figures.memory_peak > 0)
        metrics_out_u64(&m->out, buf_str(&r->labels), r->hook->figures.memory_peak);
}

/* Only hooks that have `apply` get these. */
static void put_applies(struct metrics *m, const struct hook_row *r)
{
    const struct apply *a = &r->hook->apply;
    struct str labels = buf_str(&r->labels);

    if (!a->wanted)
        return;
    metrics_out_by(&m->out, labels, "result", "ok", a->runs_ok);
    metrics_out_by(&m->out, labels, "result", "failed", a->runs_failed);
}

static void put_durations(struct metrics *m, const struct hook_row *r)
{
    const struct histogram *h = &r->hook->figures.durations;

    metrics_out_histogram(&m->out, buf_str(&r->labels), h, h->sum_ms);
}

static void put_latency(struct metrics *m, const struct hook_row *r)
{
    struct histogram h = latency_all(&r->hook->figures.latency);

    metrics_out_histogram(&m->out, buf_str(&r->labels), &h, h.sum_ms);
}

/* Only hooks with endpoints among their sources get this one. */
static void put_since_trigger(struct metrics *m, const struct hook_row *r)
{
    const struct histogram *h = &r->hook->figures.since_trigger;

    if (h->total > 0)
        metrics_out_histogram(&m->out, buf_str(&r->labels), h, h->sum_ms);
}

/* Families with a function for the samples of a hook. */
static const struct hook_family {
    const char *name;
    const char *type;
    const char *help;
    void (*put)(struct metrics *m, const struct hook_row *r);
} hook_families[] = {
    {"informerd_hook_oldest_pending_seconds",         "gauge",
     "How long the oldest key has waited that is neither handled nor parked, or a written file.",                           put_oldest       },
    {"informerd_hook_overdue",                        "gauge",     "Whether it has waited for longer than limits.pending.",
     put_overdue                                                                                                                             },
    {"informerd_hook_last_success_timestamp_seconds", "gauge",     "When a run last succeeded.",
     put_success                                                                                                                             },
    {"informerd_hook_forgotten_keys_total",           "counter",
     "Parked deletions that were given up, also by earlier processes.",                                                     put_forgotten    },
    {"informerd_hook_runs_total",                     "counter",   "Runs that have ended.",                                 put_runs         },
    {"informerd_hook_cpu_seconds_total",              "counter",   "User and system time of runs.",                         put_cpu          },
    {"informerd_hook_memory_peak_bytes",              "gauge",     "Memory of the run that had most.",
     put_memory_peak                                                                                                                         },
    {"informerd_hook_limits_reached_total",           "counter",   "Runs that met a limit of their cgroup.",
     put_limits                                                                                                                              },
    {"informerd_hook_applies_total",                  "counter",
     "Runs of apply that have ended; one that hooks share counts for each.",                                                put_applies      },
    {"informerd_hook_run_duration_seconds",           "histogram", "How long runs took.",                                   put_durations    },
    {"informerd_hook_event_to_handled_seconds",       "histogram",
     "From when a change came until a run had handled it.",                                                                 put_latency      },
    {"informerd_hook_change_to_handled_seconds",      "histogram",
     "From the change that the endpoint controller noted in an EndpointSlice or Endpoints until a "
     "run had handled it.",                                                                                                 put_since_trigger},
};

static void put_hooks(struct metrics *m)
{
    for (size_t g = 0; g < ARRAY_LEN(hook_gauges); g++) {
        family(m, hook_gauges[g].name, "gauge", hook_gauges[g].help);
        for (size_t i = 0; i < m->model->hooks->n; i++)
            metrics_out_u64(&m->out, buf_str(&m->hooks[i].labels),
                            hook_gauges[g].value(m->hooks[i].hook));
    }
    for (size_t g = 0; g < ARRAY_LEN(hook_families); g++) {
        family(m, hook_families[g].name, hook_families[g].type, hook_families[g].help);
        for (size_t i = 0; i < m->model->hooks->n; i++)
            hook_families[g].put(m, &m->hooks[i]);
    }
}

/* ---- The process: the names that every client library of Prometheus has */

static void put_process(struct metrics *m, const struct admin_process *p)
{
    family(m, "process_cpu_seconds_total", "counter", "User and system time of the main process.");
    metrics_out_seconds(&m->out, str_c(""), p->cpu_ms);
    single(m, "process_resident_memory_bytes", "gauge", "Resident memory of the main process.",
           p->resident_bytes);
    single(m, "process_virtual_memory_bytes", "gauge", "Virtual memory of the main process.",
           p->virtual_bytes);
    single(m, "process_open_fds", "gauge", "Open file descriptors of the main process.",
           p->open_fds);
    single(m, "process_max_fds", "gauge", "The limit of open file descriptors.", p->max_fds);
    family(m, "process_start_time_seconds", "gauge", "When the process was started.");
    metrics_out_seconds(&m->out, str_c(""), m->model->started_ns / NS_PER_MS);
}

/* ---- All */

static void make_rows(struct metrics *m)
{
    const struct admin_model *model = m->model;

    m->watches = mem_array(model->watch_count + 1, sizeof(*m->watches));
    for (size_t i = 0; i < model->watch_count; i++) {
        struct watch_row *r = &m->watches[i];

        r->watch = model->watches[i].watch;
        r->status = watch_status(r->watch, m->now_ms);
        metrics_out_label(&r->labels, "cluster", str_c(watch_cluster(r->watch)));
        metrics_out_label(&r->labels, "watch", str_c(model->watches[i].name));
    }
    m->hooks = mem_array(model->hooks->n + 1, sizeof(*m->hooks));
    for (size_t i = 0; i < model->hooks->n; i++) {
        m->hooks[i].hook = model->hooks->v[i];
        metrics_out_label(&m->hooks[i].labels, "hook", str_c(model->hooks->v[i]->name));
    }
}

static void free_rows(struct metrics *m)
{
    for (size_t i = 0; i < m->model->watch_count; i++)
        buf_free(&m->watches[i].labels);
    for (size_t i = 0; i < m->model->hooks->n; i++)
        buf_free(&m->hooks[i].labels);
    free(m->watches);
    free(m->hooks);
}

static void put_all(struct buf *out, const struct admin_model *model, uint64_t now_ms,
                    bool with_process)
{
    struct metrics m = {.model = model, .now_ms = now_ms, .out = {.text = out}};
    struct admin_process process = {0};

    if (model->measure != NULL)
        model->measure(model->arg, &process);
    make_rows(&m);
    put_daemon(&m, &process);
    put_clusters(&m);
    put_watches(&m);
    put_hooks(&m);
    if (with_process)
        put_process(&m, &process);
    free_rows(&m);
}

void metrics_answer(struct call *c)
{
    c->out->content_type = METRICS_OUT_TYPE;
    put_all(&c->out->body, c->m, c->now_ms, true);
}

void metrics_put(struct buf *out, const struct admin_model *m, uint64_t now_ms)
{
    put_all(out, m, now_ms, false);
}
