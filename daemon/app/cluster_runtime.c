/* SPDX-License-Identifier: Apache-2.0 */
#include "app/cluster_runtime.h"

#include <stdlib.h>
#include <string.h>

#include "app/cluster_client.h"
#include "app/cluster_settings.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/panic.h"
#include "io/api_client.h"
#include "io/cluster_identity_driver.h"
#include "io/deadline.h"
#include "io/discovery_driver.h"
#include "io/loop.h"
#include "io/renewals.h"
#include "io/watch_driver.h"

/* From Kubernetes 1.34 on servers can stream lists without a feature gate
 * (docs/kubernetes-protocol.md "Streaming lists"). */
enum { STREAM_MAJOR = 1, STREAM_MINOR = 34 };

/* Reading credentials takes some ms. */
enum { LATECOMERS_MS = 1000 };

/* A watch of this cluster. */
struct followed {
    struct watch *watch;
    uint64_t audit_ms;
    uint64_t seed;
    bool held_back; /* waits until the cluster has said which one it is */
    /* NULL until the credentials are there, and while the watch is held back */
    struct watch_driver *watch_driver;
};

struct cluster_runtime {
    struct loop *loop;
    struct helper_link *link;
    char *name;
    uint64_t seed;
    struct cluster_client *now; /* the way to the cluster that requests take */
    /* The way that takes its place when it has its credentials; NULL = none. */
    struct cluster_client *next;
    bool is_late;                   /* the log says already that next lacks credentials */
    struct cluster_client **former; /* ways on which requests are still under way */
    size_t n_former;
    uint64_t contact_ms; /* of ways that are gone */
    struct renewals *renewals;
    struct discovery_driver *discovery_driver; /* NULL until the credentials are there */
    struct deadline *ask_version;
    struct deadline *latecomers; /* LATECOMERS_MS for the credentials of other servers */
    /* NULL: no question is under way, apart from those on connections of watches. */
    struct cluster_identity_driver *cluster_identity_driver;
    cluster_runtime_judge_cb *judge; /* NULL = all answers are good */
    void *judge_arg;
    int said; /* status of the last answer; 0: servers did not answer; -1: none was asked yet */
    bool can_stream; /* servers are known to stream lists */
    bool stopped;
    struct followed *v;
    size_t n;
    uint64_t added; /* watches that were added so far */
    const struct cluster_runtime_events *events;
    void *arg;
};

static const struct cluster_settings *settings(const struct cluster_runtime *s)
{
    return cluster_client_settings(s->now);
}

static const struct cluster_settings_tuning *tuning(const struct cluster_runtime *s)
{
    return &settings(s)->tuning;
}

static struct api_client *api(const struct cluster_runtime *s)
{
    return cluster_client_api(s->now);
}

/* A server has answered 401: the token may have expired, and a newer one may be in its file. */
static void on_unauthorized(void *arg)
{
    struct cluster_runtime *s = arg;

    cluster_client_unauthorized(s->now);
    s->events->on_progress(s->arg);
}

/* Logs that the server does not tell the uid of its cluster. The line comes once for each new
 * status, not for each connection. */
static void tell_secret(struct cluster_runtime *s, const char *why, int status)
{
    if (s->said == status)
        return;
    s->said = status;
    log_emit(status == 0 ? LOG_LVL_WARN : LOG_LVL_INFO, why,
             LOG_FIELDS(KV_STR("cluster", s->name),
                        status > 0 ? KV_INT("status", status) : (struct kv){.type = KV_TYPE_NONE}));
}

/* Logs why the uid is not known. The cluster is then known by its CA at most. A person can mend
 * this where a right is missing. */
static void tell_answer(struct cluster_runtime *s, const struct cluster_identity_answer *answer,
                        int status)
{
    if (status == 0)
        tell_secret(s,
                    "cluster identity unknown: the LIST of namespace kube-system fails, the "
                    "cluster is identified by its CA at most",
                    status);
    else if (status == 404 || (status == 200 && answer->id.uid[0] == '\0'))
        tell_secret(s,
                    "cluster identity unknown: there is no namespace kube-system, the cluster is "
                    "identified by its CA at most",
                    status);
    else if (status != 200)
        tell_secret(
            s,
            "cluster identity unknown: the LIST of namespace kube-system is refused, the cluster "
            "is identified by its CA at most; informerd --print-rbac prints the missing right",
            status);
    else
        s->said = status;
}

/* A server has answered the question, or failed so long that this counts as an answer (status 0).
 * The CAs come from our credentials, not from the answer. */
static bool on_judge(void *arg, struct cluster_client *c,
                     const struct cluster_identity_answer *answer, int status, struct err *err)
{
    struct cluster_runtime *s = arg;
    struct cluster_identity id = answer->id;

    tell_answer(s, answer, status);
    if (s->judge == NULL)
        return true;
    cluster_client_put_authorities(c, &id.authorities);
    bool good = s->judge(s->judge_arg, &id, err);
    log_debug("cluster identity known", KV_STR("cluster", s->name), KV_STR("uid", id.uid),
              KV_STR("revision", answer->revision));
    s->events->on_progress(s->arg);
    return good;
}

/* The judge has decided. Further questions come from connections of watches, not from this
 * driver. */
static void on_answered(void *arg)
{
    struct cluster_runtime *s = arg;

    cluster_identity_driver_dispose(&s->cluster_identity_driver);
}

static bool any_held_back(const struct cluster_runtime *s)
{
    for (size_t i = 0; i < s->n; i++)
        if (s->v[i].held_back)
            return true;
    return false;
}

/* Asks the servers which cluster they are, with a request of its own. is_awaited: watches wait for
 * the answer, so failures are worth a log line. */
static void identify(struct cluster_runtime *s, uint64_t jitter_ms)
{
    static const struct cluster_identity_driver_events events = {on_answered, on_unauthorized};
    const struct cluster_identity_driver_params p = {
        .loop = s->loop,
        .client = api(s),
        .retry = tuning(s)->retry,
        .start_jitter_ms = jitter_ms,
        .seed = s->seed,
        .is_awaited = any_held_back(s),
    };

    s->cluster_identity_driver = cluster_identity_driver_create(&p, &events, s);
}

static void on_progress(void *arg)
{
    struct cluster_runtime *s = arg;

    s->events->on_progress(s->arg);
}

static void follow(struct cluster_runtime *s, struct followed *f)
{
    static const struct watch_driver_events events = {on_progress, on_unauthorized};
    const struct watch_driver_params p = {
        .loop = s->loop,
        .client = api(s),
        .renewals = s->renewals,
        .discovery_driver = s->discovery_driver,
        .watch = f->watch,
        .audit_ms = f->audit_ms,
        .page_size = tuning(s)->page_size,
        .seed = f->seed,
    };

    f->held_back = false;
    f->watch_driver = watch_driver_create(&p, &events, s);
    watch_driver_can_stream(f->watch_driver, s->can_stream);
}

/* v NULL: there was no good answer, so ask again later. Until then lists are not streamed. */
static void on_version(void *arg, const struct version *v)
{
    struct cluster_runtime *s = arg;
    bool can = v != NULL &&
               (v->major > STREAM_MAJOR || (v->major == STREAM_MAJOR && v->minor >= STREAM_MINOR));

    if (v == NULL)
        deadline_start(s->ask_version, tuning(s)->reset_after_ms);
    s->can_stream = can;
    for (size_t i = 0; i < s->n; i++)
        if (s->v[i].watch_driver != NULL)
            watch_driver_can_stream(s->v[i].watch_driver, can);
}

/* The version is of use to later lists only
 * (docs/decisions.md "watch_list auto lists first and streams later"), so it is asked for when the
 * first lists are long done. */
static void on_ask_version(void *arg)
{
    struct cluster_runtime *s = arg;

    discovery_driver_version(s->discovery_driver, on_version, s);
}

/* Without watches nobody wants to know it. */
static void await_version(struct cluster_runtime *s)
{
    if (tuning(s)->asks_version && s->n > 0)
        deadline_start(s->ask_version, tuning(s)->reset_after_ms);
}

static void make_discovery(struct cluster_runtime *s)
{
    s->discovery_driver = discovery_driver_create(&(struct discovery_driver_params){
        .loop = s->loop,
        .client = api(s),
        .retry = tuning(s)->retry,
        .seed = s->seed,
    });
}

static void tell_credentials(const struct cluster_runtime *s, const struct err *err)
{
    if (s->events->on_credentials != NULL)
        s->events->on_credentials(s->arg, err);
}

/* The credentials are there: the watches may begin. Watches that are held back wait for the answer
 * which cluster it is, and that question gets the start jitter in their place. */
static void begin(struct cluster_runtime *s)
{
    if (s->discovery_driver != NULL)
        return;
    make_discovery(s);
    if (any_held_back(s))
        identify(s, tuning(s)->start_jitter_ms);
    for (size_t i = 0; i < s->n; i++)
        if (!s->v[i].held_back)
            follow(s, &s->v[i]);
    await_version(s);
    tell_credentials(s, NULL);
}

/* Requests that failed because of the old credentials are tried again at once. Before begin() there
 * are none. */
static void reauthenticate(struct cluster_runtime *s)
{
    if (s->discovery_driver == NULL)
        return;
    if (s->cluster_identity_driver != NULL)
        cluster_identity_driver_reauthenticate(s->cluster_identity_driver);
    discovery_driver_reauthenticate(s->discovery_driver);
    for (size_t i = 0; i < s->n; i++)
        if (s->v[i].watch_driver != NULL)
            watch_driver_reauthenticate(s->v[i].watch_driver);
}

/* Open watches get new connections, and the old ones go on until then. All other requests have the
 * new credentials from their next connection on. */
static void renew(struct cluster_runtime *s)
{
    for (size_t i = 0; i < s->n; i++)
        if (s->v[i].watch_driver != NULL)
            watch_driver_renew(s->v[i].watch_driver);
}

/* ---- Another way to the cluster. */

/* The time ms, or that of the last contact on a way, whichever is later. */
static uint64_t later(uint64_t ms, const struct cluster_client *c)
{
    uint64_t contact_ms = api_client_last_contact_ms(cluster_client_api(c));

    return contact_ms > ms ? contact_ms : ms;
}

/* A way that is retired has no request any more. */
static void on_empty(void *arg, struct cluster_client *c)
{
    struct cluster_runtime *s = arg;
    size_t i = 0;

    while (s->former[i] != c)
        i++;
    s->former[i] = s->former[--s->n_former];
    s->contact_ms = later(s->contact_ms, c);
    cluster_client_dispose(&c);
}

static void retire(struct cluster_runtime *s, struct cluster_client *c)
{
    s->former = mem_grow(s->former, s->n_former, sizeof(struct cluster_client *));
    s->former[s->n_former++] = c;
    cluster_client_retire(c);
}

/* The next way has its credentials. Drivers that hold the old client get the new one. The question
 * which cluster it is goes first, so that another cluster is noticed even if no watch needs a new
 * connection; the client is wary, so nothing is taken from a server before its answer. */
static void change_over(struct cluster_runtime *s)
{
    struct cluster_client *before = s->now;
    struct discovery_driver *discovery_before = s->discovery_driver;

    s->now = s->next;
    s->next = NULL;
    make_discovery(s);
    renewals_restart(s->renewals, &tuning(s)->retry);
    s->can_stream = false; /* until the servers have said their version */
    for (size_t i = 0; i < s->n; i++)
        if (s->v[i].watch_driver != NULL) {
            watch_driver_can_stream(s->v[i].watch_driver, false);
            watch_driver_move(s->v[i].watch_driver, api(s), s->discovery_driver,
                              tuning(s)->page_size);
        }
    deadline_stop(s->ask_version);
    await_version(s);
    cluster_identity_driver_dispose(&s->cluster_identity_driver);
    if (s->judge != NULL)
        identify(s, 0);
    discovery_driver_dispose(&discovery_before);
    retire(s, before);
    log_info("cluster changed: requests take the new way, open watches move to it",
             KV_STR("cluster", s->name));
}

/* ---- Events of the ways. */

static void on_renewed(void *arg, struct cluster_client *c, bool is_tls)
{
    struct cluster_runtime *s = arg;

    if (c != s->now)
        return;
    reauthenticate(s);
    if (is_tls)
        renew(s);
}

static void on_lack(void *arg, struct cluster_client *c, const struct err *err)
{
    struct cluster_runtime *s = arg;

    if (c == s->now) {
        tell_credentials(s, err);
        return;
    }
    log_emit(s->is_late ? LOG_LVL_DEBUG : LOG_LVL_WARN,
             "cluster not changed yet: new credentials cannot be used, and the old way to the "
             "servers goes on",
             LOG_FIELDS(KV_STR("cluster", s->name), KV_ERR(err)));
    s->is_late = true;
}

static void on_latecomers(void *arg)
{
    begin(arg);
}

/* Watches begin when all servers have their credentials, so that the best tier is there; or a moment
 * after the first one has them, as the credentials of another one may be broken. Another way takes over
 * only with all of them: the present one serves meanwhile. */
static void on_login(void *arg, struct cluster_client *c, bool all)
{
    struct cluster_runtime *s = arg;

    if (s->stopped)
        return;
    if (c == s->next) {
        if (all)
            change_over(s);
    } else if (all) {
        begin(s);
    } else if (s->discovery_driver == NULL) {
        deadline_start(s->latecomers, LATECOMERS_MS);
    }
}

static struct cluster_settings *settings_of(const struct cluster_runtime_params *p)
{
    return cluster_settings_create(p->conf, p->cluster_access, p->user_agent, p->plugin,
                                   p->credential_expiry_ms);
}

/* Takes the settings. */
static struct cluster_client *make_way(struct cluster_runtime *s, struct cluster_settings *wanted,
                                       uint64_t tag, bool is_wary)
{
    static const struct cluster_client_events events = {on_login, on_renewed, on_lack, on_judge,
                                                        on_empty};
    const struct cluster_client_params p = {.loop = s->loop,
                                            .link = s->link,
                                            .settings = wanted,
                                            .tag = tag,
                                            .seed = s->seed,
                                            .is_wary = is_wary};

    return cluster_client_create(&p, &events, s);
}

static struct followed *find(struct cluster_runtime *s, const struct watch *w)
{
    for (size_t i = 0; i < s->n; i++)
        if (s->v[i].watch == w)
            return &s->v[i];
    return NULL;
}

struct cluster_runtime *cluster_runtime_create(const struct cluster_runtime_params *params,
                                               const struct cluster_runtime_events *events,
                                               void *arg)
{
    struct cluster_runtime *s =
        MEM_NEW(struct cluster_runtime, .loop = params->loop, .link = params->link,
                .seed = params->seed, .said = -1, .events = events, .arg = arg);

    s->now = make_way(s, settings_of(params), params->tag, false);
    s->ask_version = deadline_create(params->loop, on_ask_version, s);
    s->latecomers = deadline_create(params->loop, on_latecomers, s);
    s->name = mem_strdup(settings(s)->name);
    s->renewals = renewals_create(&(struct renewals_params){
        .loop = params->loop, .cluster = s->name, .retry = tuning(s)->retry, .seed = params->seed});
    return s;
}

/* Before the credentials are there nothing runs that had to be kept. */
void cluster_runtime_change(struct cluster_runtime *s, const struct cluster_runtime_params *params)
{
    struct cluster_settings *wanted = settings_of(params);
    struct cluster_client *newest = s->next != NULL ? s->next : s->now;

    cluster_client_renumber(s->now, wanted);
    if (s->next != NULL)
        cluster_client_renumber(s->next, wanted);
    if (s->stopped || cluster_settings_equal(cluster_client_settings(newest), wanted)) {
        cluster_settings_destroy(&wanted);
        return;
    }
    cluster_client_dispose(&s->next);
    s->is_late = false;
    if (s->discovery_driver != NULL) {
        s->next = make_way(s, wanted, params->tag, true);
        return;
    }
    deadline_stop(s->latecomers);
    cluster_client_dispose(&s->now);
    s->now = make_way(s, wanted, params->tag, false);
    renewals_restart(s->renewals, &tuning(s)->retry);
}

/* Watches must not wait for the same random times, also when others come and go. */
void cluster_runtime_add(struct cluster_runtime *s, struct watch *w, uint64_t audit_ms)
{
    s->v = mem_grow(s->v, s->n, sizeof(*s->v));
    s->v[s->n++] =
        (struct followed){.watch = w, .audit_ms = audit_ms, .seed = s->seed + s->added++};
    if (s->discovery_driver == NULL)
        return;
    follow(s, &s->v[s->n - 1]);
    if (s->n == 1)
        await_version(s);
}

void cluster_runtime_remove(struct cluster_runtime *s, const struct watch *w)
{
    struct followed *f = find(s, w);

    ensure(f != NULL);
    watch_driver_dispose(&f->watch_driver);
    size_t behind = s->n - 1 - (size_t)(f - s->v);
    memmove(f, f + 1, behind * sizeof(*f));
    s->n--;
}

void cluster_runtime_replace(struct cluster_runtime *s, const struct watch *old, struct watch *w,
                             uint64_t audit_ms)
{
    struct followed *f = find(s, old);

    ensure(f != NULL);
    watch_driver_dispose(&f->watch_driver);
    f->watch = w;
    f->audit_ms = audit_ms;
    if (f->held_back) /* no driver calls watch_tick(): if the old watch has begun stale, so does w */
        watch_tick(w, (struct now){.ms = loop_now_ms(s->loop), .wall_ns = loop_wall_ns()});
    if (s->discovery_driver != NULL && !f->held_back)
        follow(s, f);
}

void cluster_runtime_set_audit(struct cluster_runtime *s, const struct watch *w, uint64_t audit_ms)
{
    struct followed *f = find(s, w);

    ensure(f != NULL);
    f->audit_ms = audit_ms;
    if (f->watch_driver != NULL)
        watch_driver_set_audit(f->watch_driver, audit_ms);
}

void cluster_runtime_identify(struct cluster_runtime *s, cluster_runtime_judge_cb *judge, void *arg)
{
    s->judge = judge;
    s->judge_arg = arg;
}

void cluster_runtime_identify_again(struct cluster_runtime *s)
{
    /* The discovery driver exists as soon as the credentials are there. */
    ensure(s->judge != NULL && (s->discovery_driver != NULL || s->stopped));
    if (s->cluster_identity_driver == NULL && !s->stopped)
        identify(s, 0);
}

const char *cluster_runtime_identity_trouble(const struct cluster_runtime *s)
{
    return s->cluster_identity_driver != NULL
               ? cluster_identity_driver_trouble(s->cluster_identity_driver)
               : NULL;
}

void cluster_runtime_changed(struct cluster_runtime *s, uint32_t file)
{
    cluster_client_changed(s->now, file);
    if (s->next != NULL)
        cluster_client_changed(s->next, file);
}

bool cluster_runtime_opened(struct cluster_runtime *s, uint64_t tag, int fd, int error)
{
    return cluster_client_opened(s->now, tag, fd, error) ||
           (s->next != NULL && cluster_client_opened(s->next, tag, fd, error));
}

void cluster_runtime_hold_back(struct cluster_runtime *s, const struct watch *w)
{
    struct followed *f = find(s, w);

    ensure(f != NULL && s->judge != NULL);
    f->held_back = true;
    watch_driver_dispose(&f->watch_driver); /* it begins in the next turn only */
    if (s->discovery_driver != NULL && s->cluster_identity_driver == NULL)
        identify(s, 0);
}

void cluster_runtime_follow(struct cluster_runtime *s, const struct watch *w)
{
    struct followed *f = find(s, w);

    ensure(f != NULL && s->discovery_driver != NULL);
    if (f->held_back && !s->stopped)
        follow(s, f);
}

bool cluster_runtime_poke(struct cluster_runtime *s, struct watch *w)
{
    struct followed *f = find(s, w);

    if (f != NULL && f->watch_driver != NULL)
        watch_driver_poke(f->watch_driver);
    return f != NULL;
}

void cluster_runtime_retry(struct cluster_runtime *s)
{
    for (size_t i = 0; i < s->n; i++)
        if (s->v[i].watch_driver != NULL)
            watch_driver_retry(s->v[i].watch_driver);
}

bool cluster_runtime_verify(struct cluster_runtime *s, struct watch *w)
{
    struct followed *f = find(s, w);

    if (f != NULL && f->watch_driver != NULL)
        watch_driver_verify(f->watch_driver);
    return f != NULL;
}

const struct servers *cluster_runtime_servers(const struct cluster_runtime *s)
{
    return api_client_servers(api(s));
}

struct api_client *cluster_runtime_client(const struct cluster_runtime *s)
{
    return api(s);
}

struct discovery_driver *cluster_runtime_discovery(const struct cluster_runtime *s)
{
    return s->discovery_driver;
}

uint64_t cluster_runtime_contact_ms(const struct cluster_runtime *s)
{
    uint64_t ms = later(s->contact_ms, s->now);

    for (size_t i = 0; i < s->n_former; i++)
        ms = later(ms, s->former[i]);
    return ms;
}

size_t cluster_runtime_login_count(const struct cluster_runtime *s)
{
    return cluster_client_login_count(s->now) +
           (s->next != NULL ? cluster_client_login_count(s->next) : 0);
}

/* The way that the login belongs to: those of the next one come behind. Its number there is in
 * *login then. */
static const struct cluster_client *way_of(const struct cluster_runtime *s, size_t *login)
{
    size_t n = cluster_client_login_count(s->now);

    if (*login < n)
        return s->now;
    *login -= n;
    return s->next;
}

const struct expiry *cluster_runtime_expiry(const struct cluster_runtime *s, size_t login)
{
    const struct cluster_client *c = way_of(s, &login);

    return cluster_client_expiry(c, login);
}

const char *cluster_runtime_credential_trouble(const struct cluster_runtime *s, size_t login)
{
    const struct cluster_client *c = way_of(s, &login);

    return cluster_client_trouble(c, login);
}

/* Order: the drivers of watches ask the discovery driver, so they go first. */
void cluster_runtime_stop(struct cluster_runtime *s)
{
    s->stopped = true;
    deadline_dispose(&s->ask_version);
    deadline_dispose(&s->latecomers);
    cluster_identity_driver_dispose(&s->cluster_identity_driver);
    for (size_t i = 0; i < s->n; i++)
        watch_driver_dispose(&s->v[i].watch_driver);
    discovery_driver_dispose(&s->discovery_driver);
}

void cluster_runtime_dispose(struct cluster_runtime **sp)
{
    struct cluster_runtime *s = *sp;

    if (s == NULL)
        return;
    *sp = NULL;
    /* Requests go before the client whose connections they use. */
    cluster_runtime_stop(s);
    cluster_client_dispose(&s->next);
    for (size_t i = 0; i < s->n_former; i++)
        cluster_client_dispose(&s->former[i]);
    free(s->former);
    renewals_dispose(&s->renewals);
    cluster_client_dispose(&s->now);
    free(s->name);
    free(s->v);
    free(s);
}
