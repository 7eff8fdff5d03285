/* SPDX-License-Identifier: Apache-2.0 */
#include "admin/faults.h"

#include <inttypes.h>
#include <string.h>

#include "admin/admin.h"
#include "admin/hide.h"
#include "admin/restore_status.h"
#include "base/utf8.h"
#include "cache/watch.h"
#include "hook/hook.h"
#include "kube/expiry.h"

#define NS_PER_S 1000000000U
#define MS_PER_S 1000U

/* Where the faults go. */
struct telling {
    finding_cb *cb;
    void *arg;
};

static void tell(const struct telling *t, enum finding_id id, const char *kind, const char *name,
                 struct buf *sentence)
{
    const struct finding f = {id, kind, name, buf_cstr(sentence)};

    t->cb(t->arg, &f);
}

/* The worst fault of the watch; NULL = all is well. A watch that was synced and has an error is
 * between two tries, which is no fault until it is stale. */
static const char *trouble(const struct watch *w, const struct watch_status *s, enum finding_id *id)
{
    bool refused = s->err->kind == ERR_FORBIDDEN || s->err->kind == ERR_UNAUTHORIZED;

    /* The server may be lost as well, but only this keeps the hooks from running. */
    if (s->incomplete) {
        *id = FINDING_MEMORY;
        return "incomplete, as limits.memory is reached: its hooks wait";
    }
    *id = FINDING_WATCH_FAILS;
    /* Before the first list is complete also while the next try is under way. */
    if (s->state == WATCH_FORBIDDEN || (refused && !s->synced)) {
        *id = FINDING_FORBIDDEN;
        return "forbidden";
    }
    /* Before `stale`, as a watch that started stale is stale, too, and this says more. */
    if (s->synced && restore_status_is((struct source){.watch = w})) {
        *id = FINDING_STALE;
        return "started stale";
    }
    if (s->stale) {
        *id = FINDING_STALE;
        return "stale";
    }
    if (s->synced || s->err->kind == ERR_OK)
        return NULL;
    return s->state == WATCH_WAITING ? "waiting" : "not synced";
}

/* The error may be about one object, or be the text of a server that names one. */
static void put_trouble(const struct telling *t, const struct admin_model *m,
                        const struct admin_watch *w, const struct watch_status *s)
{
    enum finding_id id;
    const char *what = trouble(w->watch, s, &id);
    struct buf text = {0};

    if (what == NULL)
        return;
    buf_printf(&text, "watch %s: %s", w->name, what);
    if (s->err->kind != ERR_OK) {
        buf_puts(&text, ": ");
        hide_put_watch_error(&text, m, s);
    }
    tell(t, id, "watch", w->name, &text);
    buf_free(&text);
}

static void put_held(const struct telling *t, const struct admin_watch *w,
                     const struct watch_status *s)
{
    struct buf text = {0};

    if (s->held == GUARD_NOTHING)
        return;
    if (s->held == GUARD_IDENTITY) {
        buf_printf(&text, "watch %s: held, because another cluster answers", w->name);
        tell(t, FINDING_HELD, "watch", w->name, &text);
        buf_free(&text);
        return;
    }
    buf_printf(&text, "watch %s: a list ", w->name);
    if (s->held == GUARD_BACKWARDS)
        buf_puts(&text, "whose version went backwards");
    else
        buf_printf(&text, "that would delete %zu of %zu objects", s->held_deletes,
                   store_count(watch_store(w->watch)));
    buf_puts(&text, " is held");
    tell(t, FINDING_HELD, "watch", w->name, &text);
    buf_free(&text);
}

/* How many skipped objects the sentence of a watch names, and how many bytes of a name; the status
 * lists more (REPORT_SKIPS). */
enum { NAMED = 20, NAME_BYTES = 320 };

struct sentence {
    struct buf *out;
    size_t named;
    uint64_t left; /* objects that are not named */
};

/* A skip without a name stands for all items of one cause whose names cannot be read. */
static void name_skipped(void *arg, const struct skip *s)
{
    struct sentence *n = arg;

    if (n->named == NAMED) {
        n->left += s->times;
        return;
    }
    buf_puts(n->out, n->named++ == 0 ? ": " : ", ");
    if (s->name.n > 0)
        buf_append_str(n->out, utf8_cut(s->name, NAME_BYTES));
    else
        buf_printf(n->out, "%" PRIu64 " of which the name cannot be read", s->times);
    buf_printf(n->out, " (%.*s)", STR_ARG(s->why));
}

/* Objects that cannot be used: the cache does not have them as the server has them (docs/design.md
 * "Skipped objects"). */
static void put_skipped_sentence(const struct telling *t, const struct admin_model *m,
                                 const struct admin_watch *w)
{
    const struct skips *skips = store_skips(watch_store(w->watch));
    uint64_t count = skips_count(skips);
    struct buf text = {0};
    struct sentence n = {.out = &text};

    if (count == 0)
        return;
    buf_printf(&text, "watch %s: %" PRIu64 " object%s skipped, with the old state if there is one",
               w->name, count, count == 1 ? " is" : "s are");
    if (!m->hides_keys)
        skips_each(skips, name_skipped, &n);
    if (n.left > 0)
        buf_printf(&text, ", and %" PRIu64 " more", n.left);
    tell(t, FINDING_SKIPPED, "watch", w->name, &text);
    buf_free(&text);
}

bool faults_is_overdue(const struct admin_model *m, uint64_t oldest_ms)
{
    return m->pending_ms > 0 && oldest_ms > m->pending_ms;
}

/* A key that waits too long, for whatever reason: a run that hangs, a hook that is paused, a hook
 * that fails again and again. Or a file that waits for apply: oldest_ms is the larger one of the
 * two ages. */
static void put_pending_sentence(const struct telling *t, const struct admin_model *m,
                                 const struct hook *h, uint64_t now_ms)
{
    uint64_t oldest_ms = hook_oldest_pending_ms(h, now_ms);
    struct buf text = {0};

    if (!faults_is_overdue(m, oldest_ms))
        return;
    buf_printf(&text, "hook %s: %s for longer than limits.pending: %" PRIu64 " s", h->name,
               apply_age_ms(&h->apply, now_ms) == oldest_ms ? "a written file is not applied"
                                                            : "a key is pending",
               oldest_ms / 1000);
    tell(t, FINDING_PENDING, "hook", h->name, &text);
    buf_free(&text);
}

/* Faults of the state: it cannot be written, or a cluster is not the one that it was. */
static void put_persist(const struct telling *t, const struct admin_model *m)
{
    struct buf text = {0};

    if (m->state.trouble != NULL) {
        buf_printf(&text, "state not writable: %s", m->state.trouble);
        tell(t, FINDING_STATE, "state", "", &text);
    }
    for (size_t i = 0; i < m->cluster_count; i++) {
        if (m->clusters[i].trouble == NULL)
            continue;
        buf_clear(&text);
        buf_puts(&text, m->clusters[i].trouble);
        tell(t, FINDING_CLUSTER, "cluster", m->clusters[i].name, &text);
    }
    buf_free(&text);
}

/* Writes a fault of credentials. Servers that share a file share its fault: told has the faults of
 * this cluster so far, each with a line end, and one that stands there is not told again. */
static void put_fault(const struct telling *t, enum finding_id id, const char *cluster,
                      struct buf *told, struct buf *fault)
{
    struct buf line = {0};

    buf_printf(&line, "%s\n", buf_cstr(fault));
    if (strstr(buf_cstr(told), buf_cstr(&line)) == NULL) {
        tell(t, id, "cluster", cluster, fault);
        buf_append_str(told, buf_str(&line));
    }
    buf_free(&line);
}

static void put_login(const struct telling *t, const struct admin_model *m,
                      const struct admin_cluster *c, const struct admin_login *l, struct buf *told)
{
    int64_t now_s = (int64_t)(m->wall_ns / NS_PER_S);
    int64_t window_s = (int64_t)(m->credential_expiry_ms / MS_PER_S);
    struct buf text = {0};

    for (enum expiry_item i = EXPIRY_CA; l->expiry != NULL && i < EXPIRY_ITEMS; i++) {
        struct expiry_view view = expiry_look(l->expiry, i, now_s, window_s);

        if (view.state == EXPIRY_NONE || view.state == EXPIRY_VALID)
            continue;
        buf_printf(&text, "cluster %s: ", c->name);
        expiry_put(&text, l->expiry, i, &view);
        put_fault(t, view.state == EXPIRY_EARLY ? FINDING_CLOCK : FINDING_EXPIRES, c->name, told,
                  &text);
        buf_clear(&text);
    }
    if (l->trouble != NULL) {
        buf_printf(&text, "cluster %s: credentials cannot be used: %s", c->name, l->trouble);
        put_fault(t, FINDING_CREDENTIALS, c->name, told, &text);
    }
    buf_free(&text);
}

/* Faults of the credentials of a cluster. */
static void put_credentials(const struct telling *t, const struct admin_model *m,
                            const struct admin_cluster *c)
{
    struct buf told = {0};

    for (size_t i = 0; i < c->login_count; i++)
        put_login(t, m, c, &c->logins[i], &told);
    buf_clear(&told);
    if (c->awaits != NULL) {
        buf_printf(&told, "cluster %s: waiting for %s: the kubeconfig does not exist yet", c->name,
                   c->awaits);
        tell(t, FINDING_KUBECONFIG, "cluster", c->name, &told);
        buf_clear(&told);
    }
    if (c->is_insecure) {
        buf_printf(&told, "cluster %s: servers are not verified (insecure_skip_tls_verify)",
                   c->name);
        tell(t, FINDING_INSECURE, "cluster", c->name, &told);
    }
    buf_free(&told);
}

/* The sentence has the first problem; the status has all. */
static void put_reload(const struct telling *t, const struct admin_model *m)
{
    const struct admin_reload *r = &m->reload;
    struct buf text = {0};

    if (r->failing_ns == 0)
        return;
    buf_printf(&text, "the last reload %s, and the configuration before it stays in use: ",
               strcmp(r->result, "invalid") == 0 ? "was refused" : "failed");
    if (m->hides_keys) /* a setting such as `names` has them */
        buf_puts(&text, "informerctl status tells why");
    else
        buf_append_str(&text, str_of(r->problems, strcspn(r->problems, "\n")));
    tell(t, FINDING_RELOAD, "reload", "", &text);
    buf_free(&text);
}

static void put_textfile(const struct telling *t, const struct admin_model *m)
{
    struct buf text = {0};

    if (m->textfile_trouble == NULL)
        return;
    buf_printf(&text, "metrics.textfile cannot be written: %s", m->textfile_trouble);
    tell(t, FINDING_TEXTFILE, "informerd", "", &text);
    buf_free(&text);
}

/* The reload and the state come first: they concern every watch and hook. */
void faults_each(const struct admin_model *m, uint64_t now_ms, finding_cb *cb, void *arg)
{
    const struct telling t = {cb, arg};

    put_reload(&t, m);
    put_persist(&t, m);
    for (size_t i = 0; i < m->cluster_count; i++)
        put_credentials(&t, m, &m->clusters[i]);
    for (size_t i = 0; i < m->watch_count; i++) {
        struct watch_status s = watch_status(m->watches[i].watch, now_ms);

        put_held(&t, &m->watches[i], &s);
        put_trouble(&t, m, &m->watches[i], &s);
        put_skipped_sentence(&t, m, &m->watches[i]);
    }
    for (size_t i = 0; i < m->hooks->n; i++)
        put_pending_sentence(&t, m, m->hooks->v[i], now_ms);
    put_textfile(&t, m);
}
