/* SPDX-License-Identifier: Apache-2.0 */
#include "admin/admin.h"

#include <stdlib.h>
#include <string.h>

#include "admin/call.h"
#include "admin/doctor.h"
#include "admin/forget_call.h"
#include "admin/health.h"
#include "admin/hook_call.h"
#include "admin/journal.h"
#include "admin/log_call.h"
#include "admin/metrics.h"
#include "admin/page.h"
#include "admin/report.h"
#include "admin/restore_status.h"
#include "admin/stream.h"
#include "admin/target.h"
#include "admin/wait.h"
#include "base/mem.h"
#include "cache/audit.h"
#include "cache/source.h"
#include "cache/store.h"
#include "cache/view.h"
#include "cache/watch.h"
#include "proto/json_out.h"

/* Clears *out without freeing it: callers that have begun an answer release what it holds first. */
void admin_refuse(struct admin_response *out, int status, const char *text)
{
    *out = (struct admin_response){.status = status, .content_type = CALL_JSON};
    struct json_out j = json_out_to(&out->body);

    json_out_open(&j, '{');
    json_out_key(&j, "error");
    json_out_cstr(&j, text);
    json_out_close(&j, '}');
    buf_putc(&out->body, '\n');
}

/* The watch of the path; NULL: there is none, and the answer is 404. */
static struct watch *find_watch(struct call *c)
{
    for (size_t i = 0; i < c->m->watch_count; i++)
        if (str_is(c->target->part[2], c->m->watches[i].name))
            return c->m->watches[i].watch;
    admin_refuse(c->out, 404, "there is no watch of this name: informerctl watches lists them");
    return NULL;
}

/* The watch or view of the path, under the name that the request used (a watch may have several);
 * NULL: there is none. */
static const char *source_named(const struct call *c, struct source *out)
{
    for (size_t i = 0; i < c->m->watch_count; i++) {
        const struct admin_watch *w = &c->m->watches[i];

        *out = (struct source){.watch = w->watch};
        if (str_is(c->target->part[2], w->name))
            return w->name;
    }
    for (size_t i = 0; i < c->m->view_count; i++) {
        *out = (struct source){.view = c->m->views[i]};
        if (str_is(c->target->part[2], view_name(c->m->views[i])))
            return view_name(c->m->views[i]);
    }
    return NULL;
}

/* The same if the peer may see its objects. NULL: the answer is 404 or 403. */
static const char *find_readable(struct call *c, struct source *out)
{
    const char *name = source_named(c, out);

    if (name == NULL)
        admin_refuse(c->out, 404,
                     "there is no watch or view of this name: informerctl watches lists them");
    return name != NULL && call_may_see(c, call_has_secrets(*out)) ? name : NULL;
}

/* With persist = "digest" an object is stored without its body. */
static void look_for_body(void *arg, struct object *o)
{
    bool *whole = arg;

    *whole = *whole && object_parts_of(o).body.n > 0;
}

/* Whether the objects of the source may be shown as the current ones. If not, *out is 409 on
 * return. */
static bool may_show(struct call *c, struct source from)
{
    bool whole = true;

    /* A watch that started stale counts as synced, and may be shown. */
    if (restore_status_is(from) && !source_synced(from)) {
        admin_refuse(c->out, 409,
                     "there are only objects from before the restart or reload, and no server has "
                     "confirmed them yet: informerctl status says why");
        return false;
    }
    store_each(source_store(from), look_for_body, &whole);
    if (!whole)
        admin_refuse(c->out, 409,
                     "only the digests of some objects were saved (persist), and no server has "
                     "sent these objects again yet: informerctl status says why");
    return whole;
}

static void answer_objects(struct call *c)
{
    struct source source;

    if (find_readable(c, &source) == NULL || !may_show(c, source))
        return;
    /* One answer is made whole in memory while the loop stands still: its size is checked first. */
    const struct store *store = source_store(source);
    if (store_bytes(store) > ADMIN_OBJECTS_BYTES) {
        admin_refuse(c->out, 503, "the objects are too many for one answer: ask for single keys");
        return;
    }
    struct object **objects = store_sorted(store);
    struct json_out j = json_out_to(&c->out->body);

    json_out_open(&j, '[');
    for (size_t i = 0; i < store_count(store); i++) {
        /* Each object begins a line of its own, so that people can read the array. */
        struct buf *raw = json_out_raw(&j);

        buf_putc(raw, '\n');
        object_put_json(raw, objects[i]);
    }
    json_out_close(&j, ']');
    call_end(c);
    free(objects);
}

static void answer_object(struct call *c)
{
    struct source source;

    if (find_readable(c, &source) == NULL || !may_show(c, source))
        return;
    const struct object *o = store_get(source_store(source), c->target->part[4]);
    if (o == NULL) {
        admin_refuse(c->out, 404,
                     "there is no object with this key: write NAMESPACE/NAME, or NAME for "
                     "cluster-scoped objects");
        return;
    }
    object_put_json(&c->out->body, o);
    call_end(c);
}

static void answer_verify(struct call *c)
{
    const struct watch *w = find_watch(c);

    if (w != NULL && call_may_see(c, call_has_secrets((struct source){.watch = w})))
        report_verify(c, w);
}

/* The cluster of the watch; NULL = there are none, as in a replay. */
static const struct admin_cluster *cluster_of(const struct admin_model *m, const struct watch *w)
{
    for (size_t i = 0; i < m->cluster_count; i++)
        if (strcmp(m->clusters[i].name, watch_cluster(w)) == 0)
            return &m->clusters[i];
    return NULL;
}

static void refuse_for_kubeconfig(struct call *c, const struct admin_cluster *of)
{
    char *text = mem_printf("cluster %s waits for its kubeconfig %s", of->name, of->awaits);

    admin_refuse(c->out, 409, text);
    free(text);
}

/* The watch of the path, if an action can be carried out on it now. A watch that waits for
 * discovery has no scopes yet. NULL: the answer is 404 or 409. */
static struct watch *find_active(struct call *c)
{
    struct watch *w = find_watch(c);
    const struct admin_cluster *of = w != NULL ? cluster_of(c->m, w) : NULL;

    if (of != NULL && of->awaits != NULL) {
        refuse_for_kubeconfig(c, of);
        return NULL;
    }
    if (w == NULL || watch_wants(w) == NULL)
        return w;
    admin_refuse(c->out, 409,
                 "the server has not told yet what the resource of this watch is: "
                 "informerctl status says why");
    return NULL;
}

/* The action has begun: 202. number is that of the audit whose result will tell the outcome; 0 =
 * the action has no number. */
static void accept(struct call *c, uint64_t number)
{
    struct json_out j = json_out_to(&c->out->body);

    c->out->status = 202;
    json_out_open(&j, '{');
    json_out_key(&j, "started");
    json_out_bool(&j, true);
    if (number > 0) {
        json_out_key(&j, "number");
        json_out_u64(&j, number);
    }
    json_out_close(&j, '}');
    call_end(c);
}

static void start_relist(struct call *c)
{
    struct watch *w = find_active(c);

    if (w == NULL)
        return;
    c->m->actions->relist(c->m->arg, w);
    accept(c, 0);
}

static void start_verify(struct call *c)
{
    struct watch *w = find_active(c);

    if (w == NULL)
        return;
    if (!watch_synced(w)) {
        admin_refuse(c->out, 409, "the watch is not synced yet: there is nothing to compare");
        return;
    }
    /* Read before the call: verify may fail, and so end, at once. An audit that verify joins gets
     * this number as well. */
    uint64_t number = audit_result(watch_audit(w))->runs + 1;
    c->m->actions->verify(c->m->arg, w);
    accept(c, number);
}

static void start_guard(struct call *c)
{
    struct watch *w = find_active(c);
    bool accepted = str_is(c->target->part[4], "accept");

    if (w == NULL)
        return;
    if (c->m->actions->guard(c->m->arg, w, accepted))
        accept(c, 0);
    else
        admin_refuse(c->out, 409, "the guard holds no list of this watch");
}

/* The result comes as one line, when the configuration was read. */
static void order_reload(struct call *c)
{
    const char *refusal = NULL;
    uint64_t number = c->m->actions->reload(c->m->arg, c->target->count > 2, &refusal);

    if (number == 0) {
        admin_refuse(c->out, 409, refusal);
        return;
    }
    c->out->content_type = CALL_NDJSON;
    c->out->stream = admin_streams_await(c->m->streams, number);
}

static void answer_events(struct call *c)
{
    c->out->content_type = CALL_NDJSON;
    journal_put_all(&c->out->body, c->m->journal);
}

static void follow_events(struct call *c)
{
    c->out->content_type = CALL_NDJSON;
    c->out->stream = admin_streams_follow_journal(c->m->streams);
}

static void follow_source(struct call *c)
{
    struct source source;
    const char *name = find_readable(c, &source);

    if (name == NULL)
        return;
    c->out->content_type = CALL_NDJSON;
    c->out->stream = admin_streams_follow(c->m->streams, name, source);
}

/* Every request that the socket understands. POST is for privileged peers only, on every path:
 * admin_handle() checks that. */
static const struct route {
    const char *method;
    bool is_public; /* also for peers of which nothing is known; HEAD is taken as well */
    const char *pattern[TARGET_PARTS];
    void (*answer)(struct call *c);
} routes[] = {
    {"GET",  true,  {"livez"},                                 health_livez     },
    {"GET",  true,  {"readyz"},                                health_readyz    },
    {"GET",  true,  {"healthz"},                               health_healthz   },
    {"GET",  true,  {"metrics"},                               metrics_answer   },
    {"GET",  true,  {NULL},                                    page_answer_html },
    {"GET",  true,  {"page.json"},                             page_answer_json },
    {"GET",  true,  {"page.css"},                              page_answer_css  },
    {"GET",  true,  {"page.js"},                               page_answer_js   },
    {"GET",  true,  {"page.svg"},                              page_answer_svg  },
    {"GET",  false, {"v1", "status"},                          report_status    },
    {"GET",  false, {"v1", "doctor"},                          doctor_answer    },
    {"GET",  false, {"v1", "watches"},                         report_watches   },
    {"GET",  false, {"v1", "watches", "*", "verify"},          answer_verify    },
    {"POST", false, {"v1", "watches", "*", "verify"},          start_verify     },
    {"POST", false, {"v1", "watches", "*", "relist"},          start_relist     },
    {"POST", false, {"v1", "watches", "*", "guard", "accept"}, start_guard      },
    {"POST", false, {"v1", "watches", "*", "guard", "reject"}, start_guard      },
    {"GET",  false, {"v1", "sources", "*", "objects"},         answer_objects   },
    {"GET",  false, {"v1", "sources", "*", "objects", "*"},    answer_object    },
    {"GET",  false, {"v1", "sources", "*", "stream"},          follow_source    },
    {"POST", false, {"v1", "reload"},                          order_reload     },
    {"POST", false, {"v1", "reload", "dry-run"},               order_reload     },
    {"GET",  false, {"v1", "events"},                          answer_events    },
    {"GET",  false, {"v1", "events", "follow"},                follow_events    },
    {"GET",  false, {"v1", "wait", "*"},                       wait_answer      },
    {"GET",  false, {"v1", "wait", "*", "follow"},             wait_follow      },
    {"GET",  false, {"v1", "hooks"},                           report_hooks     },
    {"GET",  false, {"v1", "runs"},                            hook_call_runs   },
    {"GET",  false, {"v1", "hooks", "*", "runs"},              hook_call_runs   },
    {"GET",  false, {"v1", "hooks", "*", "why"},               hook_call_why    },
    {"GET",  false, {"v1", "hooks", "*", "why", "*"},          hook_call_why    },
    {"GET",  false, {"v1", "hooks", "*", "input"},             hook_call_input  },
    {"GET",  false, {"v1", "hooks", "*", "input", "*"},        hook_call_input  },
    {"GET",  false, {"v1", "hooks", "*", "order", "*"},        hook_call_order  },
    {"POST", false, {"v1", "hooks", "*", "run"},               hook_call_run    },
    {"POST", false, {"v1", "hooks", "*", "run", "*"},          hook_call_run    },
    {"POST", false, {"v1", "pause"},                           hook_call_pause  },
    {"POST", false, {"v1", "resume"},                          hook_call_pause  },
    {"POST", false, {"v1", "hooks", "*", "pause"},             hook_call_pause  },
    {"POST", false, {"v1", "hooks", "*", "resume"},            hook_call_pause  },
    {"GET",  false, {"v1", "log-level"},                       log_call_show    },
    {"POST", false, {"v1", "log-level", "*"},                  log_call_set     },
    {"POST", false, {"v1", "log-level", "*", "watch", "*"},    log_call_set     },
    {"POST", false, {"v1", "log-level", "*", "hook", "*"},     log_call_set     },
    {"GET",  false, {"v1", "hooks", "*", "forget"},            forget_call_show },
    {"POST", false, {"v1", "hooks", "*", "forget"},            forget_call_order},
    {"POST", false, {"v1", "hooks", "*", "forget", "files"},   forget_call_order},
};

static bool takes(const struct route *r, struct str method)
{
    return str_is(method, r->method) || (r->is_public && str_is(method, "HEAD"));
}

/* The route of the request. Methods are collected on the way, so that a wrong method gets a 405
 * that names the right ones. NULL: the answer is 404 or 405. */
static const struct route *find_route(struct call *c)
{
    struct buf methods = {0};
    const struct route *found = NULL;

    for (size_t i = 0; found == NULL && i < ARRAY_LEN(routes); i++) {
        if (!target_fits(c->target, routes[i].pattern) ||
            (c->req->anonymous && !routes[i].is_public))
            continue;
        buf_printf(&methods, "%s%s%s", methods.len > 0 ? " and " : "", routes[i].method,
                   routes[i].is_public ? " and HEAD" : "");
        if (takes(&routes[i], c->req->method))
            found = &routes[i];
    }
    if (found == NULL && methods.len == 0) {
        admin_refuse(c->out, 404, "there is nothing under this path");
    } else if (found == NULL) {
        buf_puts(&methods, " is all that is understood here");
        admin_refuse(c->out, 405, buf_cstr(&methods));
    }
    buf_free(&methods);
    return found;
}

void admin_handle(const struct admin_model *m, const struct admin_request *req, uint64_t now_ms,
                  struct admin_response *out)
{
    struct target t;
    struct call c = {m, req, &t, now_ms, out};

    *out = (struct admin_response){.status = 200, .content_type = CALL_JSON};
    if (!target_parse(&t, req->target)) {
        admin_refuse(out, 400, "the path of the request cannot be read");
        return;
    }
    const struct route *r = find_route(&c);
    /* Permission comes before the state of informerd: others do not learn whether an action could
     * start. */
    if (r != NULL && strcmp(r->method, "POST") == 0 && !req->privileged)
        admin_refuse(out, 403, "only root and the user that informerd was started as may do this");
    else if (r != NULL && strcmp(r->method, "POST") == 0 && m->stopping)
        admin_refuse(out, 503, "informerd is stopping: it starts nothing new");
    else if (r != NULL)
        r->answer(&c);
    target_fini(&t);
}
