/* SPDX-License-Identifier: Apache-2.0 */
#include "admin/doctor.h"

#include <inttypes.h>
#include <string.h>

#include "admin/admin.h"
#include "admin/call.h"
#include "admin/faults.h"
#include "cache/watch.h"
#include "hook/gone.h"
#include "hook/history.h"
#include "hook/hook.h"
#include "kube/servers.h"
#include "proto/json_member.h"
#include "proto/json_out.h"

#define NS_PER_MS 1000000U

/* On top of the time for which `settle` and `min_interval` hold a run back. */
enum { LOOP_GAP_MS = 2000 };

/* Clocks that differ by more are wrong; a Date has whole seconds only. */
enum { CLOCK_SKEW_S = 60 };

/* The word of each finding, and what to type or do. NAME in an advice stands for the name of the watch,
 * hook or cluster; each command stands between two '`', and can be typed as it is. */
static const struct remedy {
    const char *id;
    const char *advice;
} remedies[FINDINGS] = {
    [FINDING_RELOAD] = {"reload",       "mend the file, then `informerctl reload`"                                   },
    [FINDING_STATE] = {"state",        "`df -h`; `journalctl -u informerd -p warning`"                              },
    [FINDING_CLUSTER] = {"cluster",      "`informerctl status`"                                                       },
    [FINDING_KUBECONFIG] = {"kubeconfig",
                        "`kubeadm join`, or write it; informerd reads it by itself"                                  },
    [FINDING_CREDENTIALS] = {"credentials",  "`informerd --check-access`"                                                 },
    [FINDING_EXPIRES] = {"expires",      "informerd reads the new file by itself"                                     },
    [FINDING_CLOCK] = {"clock",        "`timedatectl`"                                                              },
    [FINDING_INSECURE] = {"insecure",     "set ca_file instead of insecure_skip_tls_verify"                            },
    [FINDING_FORBIDDEN] = {"forbidden",    "`informerd --check-access`"                                                 },
    [FINDING_STALE] = {"stale",        "`informerctl relist NAME`; `informerd --check-access`"                      },
    [FINDING_WATCH_FAILS] = {"watch_fails",  "`informerd --check-access`"                                                 },
    [FINDING_HELD] = {"held",         "`informerctl guard accept NAME` or `informerctl guard reject NAME`"         },
    [FINDING_MEMORY] =
        {"memory",
                        "raise limits.memory, or have the watch keep less (keep, drop, match), then `informerctl "
         "reload`"                                                                                                   },
    [FINDING_SKIPPED] = {"skipped",      "`informerctl watches -o json`"                                              },
    [FINDING_PENDING] = {"pending",      "`informerctl why NAME`"                                                     },
    [FINDING_TEXTFILE] = {"textfile",     "make its folder, and let informerd write there"                             },
    [FINDING_PARKED] = {"parked",       "`informerctl why NAME`; then `informerctl run NAME`"                        },
    [FINDING_LEFT_FILES] = {"left_files",   "`informerctl forget NAME --files`"                                          },
    [FINDING_LOOP] =
        {"loop",         "`informerctl runs NAME`; set changes_in so that its own change is no change"},
    [FINDING_CLOCK_SKEW] = {"clock_skew",   "`timedatectl`, here and on the server"                                      },
    [FINDING_BUFFERS] = {"buffers",
                        "have the proxy pass watches on at once; docs/doctor.md says how"                            },
    [FINDING_TWO_DAEMONS] =
        {"two_daemons",  "`systemctl status informerd`, and end the daemon that is not of the unit"   },
    [FINDING_NODE_NAME] = {"node_name",
                        "`kubectl get nodes`; then set node_name to the name of this one"                            },
    [FINDING_PROGRAM] = {"program",      "mend the program, then `informerctl run NAME`"                              },
    [FINDING_STATE_IN_RAM] = {"state_in_ram",
                        "set state_dir to a folder on disk (/var/lib/informerd)"                                     },
    [FINDING_DESCRIPTORS] = {"descriptors",  "`systemctl edit informerd`: LimitNOFILE=65536"                              },
    [FINDING_UNIT_ORDER] =
        {"unit_order",
                        "call `systemctl try-reload-or-restart`; docs/haproxy.md \"At boot\" says why"               },
    [FINDING_SECRET_FIELD] = {"secret_field", "take it from the input (stdin) instead of fields"                           },
    [FINDING_SANDBOX] =
        {"sandbox",
                        "if informerd or a module of the name service needs it: sandbox = \"off\", and report it"    },
};

const char *doctor_word(enum finding_id id)
{
    return remedies[id].id;
}

/* ---- Rules that only doctor has */

static bool same_subject(const struct history_run *a, const struct history_run *b)
{
    return strcmp(a->source, b->source) == 0 && strcmp(a->key, b->key) == 0;
}

const struct history_run *doctor_find_loop(const struct history *h, uint64_t wall_ns,
                                           uint64_t gap_ms)
{
    const struct history_run *newest = NULL;
    uint64_t until_ns = wall_ns; /* when the next run began */
    size_t n = 0;

    for (size_t i = 0; i < h->n && n < DOCTOR_LOOP_RUNS; i++) {
        const struct history_run *r = history_get(h, i);

        if (r->kind == RUN_APPLY)
            continue;
        if (newest == NULL)
            newest = r;
        if (r->event_count != 1 || r->reason != RUN_CHANGE || !same_subject(r, newest) ||
            r->ended_ns + gap_ms * NS_PER_MS < until_ns)
            return NULL;
        until_ns = r->ended_ns - r->took_ms * NS_PER_MS;
        n++;
    }
    return n == DOCTOR_LOOP_RUNS ? newest : NULL;
}

struct visit {
    const struct admin_model *m;
    uint64_t now_ms;
    struct json_out *j;
};

/* The sentence without the place, which has a member of its own. */
static const char *without(const char *sentence, const char *place)
{
    size_t n = strlen(place);

    return strncmp(sentence, place, n) == 0 && strncmp(sentence + n, ": ", 2) == 0
               ? sentence + n + 2
               : sentence;
}

void doctor_put_marked_advice(struct buf *out, const struct finding *f)
{
    const char *advice = remedies[f->id].advice;

    for (const char *at; (at = strstr(advice, "NAME")) != NULL; advice = at + strlen("NAME"))
        buf_printf(out, "%.*s%s", (int)(at - advice), advice, f->name);
    buf_puts(out, advice);
}

void doctor_put_advice(struct buf *out, const struct finding *f)
{
    struct buf marked = {0};
    const char *p;

    doctor_put_marked_advice(&marked, f);
    for (p = buf_cstr(&marked); *p != '\0'; p++)
        if (*p != DOCTOR_MARK)
            buf_putc(out, *p);
    buf_free(&marked);
}

void doctor_put_fault(struct buf *out, const struct finding *f)
{
    buf_puts(out, f->sentence);
    if (f->id != FINDING_HELD && f->id != FINDING_PENDING && f->id != FINDING_RELOAD)
        return;
    buf_puts(out, ": ");
    doctor_put_advice(out, f);
}

static void put_finding(void *arg, const struct finding *f)
{
    const struct visit *v = arg;
    struct buf place = {0};
    struct buf advice = {0};

    buf_printf(&place, "%s%s%s", f->kind, f->name[0] != '\0' ? " " : "", f->name);
    doctor_put_advice(&advice, f);
    json_out_open(v->j, '{');
    json_member_text(v->j, "id", remedies[f->id].id);
    json_member_text(v->j, "where", buf_cstr(&place));
    json_member_text(v->j, "text", without(f->sentence, buf_cstr(&place)));
    json_member_text(v->j, "advice", buf_cstr(&advice));
    json_out_close(v->j, '}');
    buf_free(&place);
    buf_free(&advice);
}

static void look_at_hook(struct visit *v, const struct hook *h)
{
    const struct work_queue_params *times = &h->work_queue.params;
    uint64_t gap_ms = LOOP_GAP_MS + times->settle_ms + times->min_interval_ms + times->splay_ms;
    const struct history_run *loop = doctor_find_loop(&h->history, v->m->wall_ns, gap_ms);
    size_t parked = hook_parked(h);
    struct buf text = {0};

    if (parked > 0) {
        const char *error = hook_last_error(h);

        buf_printf(&text,
                   "%zu parked: a run failed, and is not tried again until something changes%s%s",
                   parked, error != NULL ? "; the last error: " : "", error != NULL ? error : "");
        put_finding(v, &(struct finding){FINDING_PARKED, "hook", h->name, buf_cstr(&text)});
    }
    buf_clear(&text);
    if (loop != NULL) {
        buf_printf(&text,
                   "seems to trigger itself: %d runs for %s%s%s, each right after the one before",
                   DOCTOR_LOOP_RUNS, loop->source,
                   loop->key[0] != '\0' ? " " : "one change at a time", loop->key);
        put_finding(v, &(struct finding){FINDING_LOOP, "hook", h->name, buf_cstr(&text)});
    }
    buf_free(&text);
}

static void look_at_gone(struct visit *v, const struct gone_hook *gh)
{
    size_t n = 0;
    struct buf text = {0};

    list_each (pos, tmp, &gh->files.all) {
        const struct stray *x = list_entry(pos, struct stray, link);

        n += x->state == STRAY_LEFT && gone_is_left(v->m->hooks, x);
    }
    if (n > 0) {
        buf_printf(&text, "is not configured any more, and %zu output file%s", n,
                   n == 1 ? " of it stays" : "s of it stay");
        put_finding(v, &(struct finding){FINDING_LEFT_FILES, "hook", gh->name, buf_cstr(&text)});
    }
    buf_free(&text);
}

/* The number is BUFFERING_IN_A_ROW. */
static void look_at_buffering(struct visit *v, const struct admin_watch *w)
{
    static const char *const texts[] = {
        [BUFFERING_HEADS] = "the server answers lists, but three watches in a row got no response: "
                            "does a proxy hold it back until it is complete?",
        [BUFFERING_BODIES] = "three answers in a row came late and all at once: "
                             "does a proxy hold it back?",
    };
    enum buffering_sign sign = watch_status(w->watch, v->now_ms).buffering;

    if (sign != BUFFERING_NONE)
        put_finding(v, &(struct finding){FINDING_BUFFERS, "watch", w->name, texts[sign]});
}

static void look_at_clocks(struct visit *v, const struct admin_cluster *c)
{
    struct buf text = {0};

    for (size_t i = 0; i < c->servers->n; i++) {
        const struct server_health *h = &c->servers->v[i];
        bool ahead = h->clock_ahead_s > 0;
        int64_t s = ahead ? h->clock_ahead_s : -h->clock_ahead_s;

        if (s <= CLOCK_SKEW_S)
            continue;
        buf_clear(&text);
        buf_printf(&text, "the clock of %s is %" PRId64 " s %s that of this machine", h->name, s,
                   ahead ? "ahead of" : "behind");
        put_finding(v, &(struct finding){FINDING_CLOCK_SKEW, "cluster", c->name, buf_cstr(&text)});
    }
    buf_free(&text);
}

void doctor_answer(struct call *c)
{
    const struct admin_model *m = c->m;
    struct json_out j = json_out_to(&c->out->body);
    struct visit v = {m, c->now_ms, &j};

    json_out_open(&j, '{');
    json_out_key(&j, "findings");
    json_out_open(&j, '[');
    faults_each(m, c->now_ms, put_finding, &v);
    for (size_t i = 0; i < m->cluster_count; i++)
        look_at_clocks(&v, &m->clusters[i]);
    for (size_t i = 0; i < m->watch_count; i++)
        look_at_buffering(&v, &m->watches[i]);
    for (size_t i = 0; i < m->hooks->n; i++)
        look_at_hook(&v, m->hooks->v[i]);
    for (size_t i = 0; m->gone != NULL && i < m->gone->n; i++)
        look_at_gone(&v, m->gone->v[i]);
    if (m->inspect != NULL)
        m->inspect(m->arg, put_finding, &v);
    json_out_close(&j, ']');
    json_out_close(&j, '}');
    call_end(c);
}
