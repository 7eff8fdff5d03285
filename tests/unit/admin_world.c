/* SPDX-License-Identifier: Apache-2.0 */
#include "admin_world.h"
#include "identified.h"

#include <string.h>

#include "hook/gone.h"
#include "proto/json_in.h"

static void on_delta(void *arg, struct source from, const struct delta *d)
{
    struct admin_world *t = arg;

    struct delta at = *d;

    at.now_ms = WORLD_NOW_MS - 1500;
    hooks_subscriber.on_delta(&t->hooks, from, &at);
}

static const struct subscriber events = {.on_delta = on_delta};

static struct watch *new_watch(struct admin_world *t, const char *name, const char *resource)
{
    struct watch_params p = objects_watch_params();
    struct watch *w = NULL;
    struct err err = {0};

    p.name = name;
    p.cluster = "prod";
    p.resource = resource;
    p.object_size = 1 << 20;
    p.reflector.backoff.initial_ms = 1000;
    p.reflector.watch_list = WATCH_LIST_OFF;
    p.guard = (struct guard_params){.relist_deletes = 50, .at_least = 10, .hold_ms = 60000};
    p.stale_after_ms = WORLD_STALE_MS;
    if (watch_create(&p, &w, &err) != ERR_OK)
        fail_msg("%s", err.text);
    watch_subscribe(w, &events, t);
    return w;
}

struct hook *admin_world_add_hook(struct admin_world *t, struct world_hook params)
{
    static const size_t order[] = {WORLD_SERVICES, WORLD_TWIN, WORLD_PRIVATE, WORLD_WIDGETS};
    struct hook_source sources[ARRAY_LEN(order)];
    struct hook_params p = {
        .name = params.name,
        .index = t->hooks.n,
        .rules = params.rules,
        .sources = sources,
        .source_count = params.source_count,
        .work_queue = params.work_queue,
    };
    struct err err = {0};

    for (size_t i = 0; i < params.source_count; i++) {
        const struct admin_watch *w = &t->watches[order[i]];

        sources[i] = (struct hook_source){.name = w->name, .of.watch = w->watch};
    }
    p.rules.mode = params.mode;
    if (p.work_queue.concurrency == 0)
        p.work_queue.concurrency = 1;
    if (p.work_queue.retry.initial_ms == 0)
        p.work_queue.retry = (struct backoff_params){1000, 60000, 2, 0};
    assert_int_equal(filter_init(&p.filter, 0xf, NULL, 0, &err), ERR_OK);
    hooks_add(&t->hooks, &p);
    return t->hooks.v[t->hooks.n - 1];
}

struct run *admin_world_start(struct admin_world *t)
{
    struct run *run = hooks_next(&t->hooks, t->now_ms);

    assert_non_null(run);
    return run;
}

void admin_world_run(struct admin_world *t, const char *failure)
{
    const struct run_result ok = {.text = "exit status 0", .wall_ns = WORLD_STARTED_NS};
    const struct run_result failed = {
        .end.cut = RUN_CUT_TIMEOUT, .text = failure, .wall_ns = WORLD_STARTED_NS};

    hooks_finish(&t->hooks, admin_world_start(t), failure[0] == '\0' ? &ok : &failed, t->now_ms);
}

static void note(struct admin_world *t, const char *what, const struct watch *w)
{
    buf_printf(&t->done, "%s %s;", what, watch_name(w));
}

static void on_relist(void *arg, struct watch *w)
{
    note(arg, "relist", w);
}

static void on_verify(void *arg, struct watch *w)
{
    note(arg, "verify", w);
}

static bool on_guard(void *arg, struct watch *w, bool accept)
{
    struct admin_world *t = arg;

    note(t, accept ? "accept" : "reject", w);
    return t->guard_holds;
}

static void on_kick(void *arg)
{
    struct admin_world *t = arg;

    buf_puts(&t->done, "kick;");
}

static void on_pause(void *arg, struct hook *h, bool paused)
{
    struct admin_world *t = arg;

    hook_pause(h, paused);
    buf_printf(&t->done, "%s %s;", paused ? "pause" : "resume", h->name);
}

static void on_log_level(void *arg, enum log_subject subject, const char *name, int level)
{
    static const char *const subjects[] = {"all", "watch", "hook"};
    struct admin_world *t = arg;

    buf_printf(&t->done, "log %s %s %d;", subjects[subject], name != NULL ? name : "-", level);
}

static bool on_forget(void *arg, struct gone_hook *gh, bool with_files)
{
    struct admin_world *t = arg;

    if (!t->model.state.kept)
        return false;
    buf_printf(&t->done, "forget %s%s;", gh->name, with_files ? " files" : "");
    gone_forget(gh, &t->hooks, with_files);
    return true;
}

static uint64_t on_reload(void *arg, bool dry_run, const char **refusal)
{
    struct admin_world *t = arg;

    *refusal = "this process does not reload";
    buf_printf(&t->done, "reload%s;", dry_run ? " dry" : "");
    return t->reload_number;
}

static void fill_model(struct admin_world *t)
{
    static const struct admin_actions actions = {on_relist, on_verify,    on_guard,  on_kick,
                                                 on_pause,  on_log_level, on_forget, on_reload};

    t->model = (struct admin_model){
        .version = "1.2.3",
        .pid = 77,
        .started_ns = WORLD_STARTED_NS,
        .started_ms = WORLD_STARTED_MS,
        .clusters = t->clusters,
        .cluster_count = ARRAY_LEN(t->clusters),
        .watches = t->watches,
        .watch_count = WORLD_NAMES,
        .hooks = &t->hooks,
        .pending_ms = WORLD_PENDING_MS,
        .context = &t->context,
        .journal = t->journal,
        .streams = t->streams,
        .actions = &actions,
        .arg = t,
    };
}

int admin_world_set_up(void **state)
{
    static struct admin_world world;
    struct admin_world *t = &world;

    memset(t, 0, sizeof(*t));
    t->now_ms = WORLD_NOW_MS;
    hooks_init(&t->hooks, 8, 1);
    t->watches[WORLD_SERVICES] =
        (struct admin_watch){"services", new_watch(t, "services", "services")};
    t->watches[WORLD_PRIVATE] = (struct admin_watch){"private", new_watch(t, "private", "Secret")};
    t->watches[WORLD_WIDGETS] =
        (struct admin_watch){"widgets", new_watch(t, "widgets", "widgets.example.com")};
    t->watches[WORLD_TWIN] = (struct admin_watch){"twin", t->watches[WORLD_SERVICES].watch};
    t->journal = journal_create();
    t->streams = admin_streams_create(t->journal);
    t->context = (struct payload_context){.node = "n1", .instance = "i"};
    admin_world_add_hook(t, (struct world_hook){.name = "print", .source_count = 1});
    servers_init(&t->servers[0], &(struct servers_entry){"https://10.0.0.1:6443", 1}, 1, 1);
    servers_init(&t->servers[1], &(struct servers_entry){"https://10.0.0.2:6443", 1}, 1, 1);
    t->clusters[0] = (struct admin_cluster){.name = "prod",
                                            .servers = &t->servers[0],
                                            .contact_ms = WORLD_NOW_MS - 250,
                                            .logins = t->logins,
                                            .login_count = ARRAY_LEN(t->logins)};
    t->clusters[1] = (struct admin_cluster){.name = "test", .servers = &t->servers[1]};
    fill_model(t);
    *state = t;
    return 0;
}

int admin_world_tear_down(void **state)
{
    struct admin_world *t = *state;

    admin_streams_destroy(&t->streams);
    journal_destroy(&t->journal);
    for (size_t i = 0; i < ARRAY_LEN(t->servers); i++)
        servers_fini(&t->servers[i]);
    hooks_fini(&t->hooks);
    for (size_t i = 0; i < WORLD_TWIN; i++)
        watch_destroy(&t->watches[i].watch);
    buf_free(&t->done);
    return 0;
}

void admin_world_put_list(struct buf *out, const char *rv, size_t n)
{
    buf_printf(out,
               "{\"kind\":\"ServiceList\",\"apiVersion\":\"v1\",\"metadata\":{"
               "\"resourceVersion\":\"%s\"},\"items\":[",
               rv);
    for (size_t i = 0; i < n; i++)
        buf_printf(out,
                   "%s{\"metadata\":{\"name\":\"s%zu\",\"namespace\":\"b\",\"uid\":\"u%zu\","
                   "\"resourceVersion\":\"1\"}}",
                   i > 0 ? "," : "", i, i);
    buf_puts(out, "]}");
}

void admin_world_list(struct admin_world *t, size_t watch, int status, const char *body)
{
    const struct http_head head = {
        .status = status, .content_type = str_c("application/json"), .retry_after_s = -1};
    const struct now now = {WORLD_STARTED_MS + 1000, WORLD_STARTED_NS};
    struct watch *w = t->watches[watch].watch;
    struct list_watch *f = watch_list_watch(w, 0);

    if (list_watch_status(f).state == REFLECTOR_IDLE) {
        assert_int_equal(list_watch_start(f, WORLD_STARTED_MS).what, LW_LIST);
    } else {
        watch_relist(w, RELIST_MANUAL);
        assert_true(list_watch_is_ordered(f));
        assert_int_equal(list_watch_restart(f, now).what, LW_LIST);
    }
    list_watch_head(f, &head, now.ms);
    assert_true(list_watch_body(f, body, strlen(body), now));
    list_watch_end_identified(f, NULL, now);
}

void admin_world_fail(struct admin_world *t, size_t watch, const struct err *err)
{
    struct list_watch *f = watch_list_watch(t->watches[watch].watch, 0);
    const struct now now = {WORLD_STARTED_MS + 2000, WORLD_STARTED_NS};

    list_watch_end_identified(f, err, now);
}

static bool any_token(void *arg, const struct json_token *t)
{
    (void)arg;
    (void)t;
    return true;
}

struct admin_response admin_world_ask(struct admin_world *t, const char *method, const char *target,
                                      bool privileged)
{
    const struct admin_request req = {
        .method = str_c(method), .target = str_c(target), .privileged = privileged};
    struct admin_response r;
    struct err err = {0};

    t->model.wall_ns = WORLD_STARTED_NS + (t->now_ms - WORLD_STARTED_MS) * 1000000U;
    admin_handle(&t->model, &req, t->now_ms, &r);
    if (strcmp(r.content_type, "application/json") == 0 &&
        json_in_scan(buf_str(&r.body), any_token, NULL, &err) != ERR_OK)
        fail_msg("%s: %s: %s", target, err.text, buf_cstr(&r.body));
    return r;
}

static struct admin_response ask(struct admin_world *t, const char *request, bool privileged)
{
    size_t n = strcspn(request, " ");
    char method[16] = "";

    assert_true(n < sizeof(method) && request[n] == ' ');
    memcpy(method, request, n);
    return admin_world_ask(t, method, request + n + 1, privileged);
}

static void check(struct admin_response r, const char *request, int status, const char *text)
{
    if (r.status != status || strstr(buf_cstr(&r.body), text) == NULL)
        fail_msg("%s: %d %s, wanted %d %s", request, r.status, buf_cstr(&r.body), status, text);
    buf_free(&r.body);
}

void admin_world_expect(struct admin_world *t, const char *request, int status, const char *text)
{
    check(ask(t, request, true), request, status, text);
}

void admin_world_expect_poor(struct admin_world *t, const char *request, int status,
                             const char *text)
{
    check(ask(t, request, false), request, status, text);
}

void admin_world_lacks(struct admin_world *t, const char *request, const char *text)
{
    struct admin_response r = ask(t, request, true);

    if (strstr(buf_cstr(&r.body), text) != NULL)
        fail_msg("%s: %s, not wanted: %s", request, buf_cstr(&r.body), text);
    buf_free(&r.body);
}
