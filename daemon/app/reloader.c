/* SPDX-License-Identifier: Apache-2.0 */
#include "app/reloader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/log.h"
#include "base/mem.h"
#include "conf/problems.h"
#include "io/deadline.h"
#include "io/helper_link.h"
#include "io/loop.h"
#include "proto/json_member.h"
#include "proto/json_out.h"

/* The kind of an order. A read that serves orders of both kinds commits. */
enum order { ORDER_NONE, ORDER_PLAN, ORDER_COMMIT };

struct reloader {
    struct loop *loop;
    struct helper_link *link;
    const char *refusal; /* NULL = orders are taken */
    const struct reloader_events *events;
    void *arg;
    struct deadline *limit;   /* of the read that is under way */
    enum order reading;       /* NONE = nothing is under way */
    struct reload_plan *plan; /* the receiver of on_commit() is switching over; else NULL */
    enum order next;          /* of the next read; NONE = no order waits */
    uint64_t number;          /* of the read that is under way, else of the last one */

    /* The last reload that was no dry run. */
    enum reloader_result result;
    uint64_t ended_ns;
    uint64_t failing_ns; /* since when all have failed; 0 = the last one was good */
    char *problems;      /* of it */
};

/* ---- Results */

static const char *name_of(const struct reloader_end *end)
{
    static const char *const names[] = {
        [RELOADER_DONE] = "reloaded", [RELOADER_INVALID] = "invalid", [RELOADER_FAILED] = "failed"};

    return end->result == RELOADER_DONE && end->dry_run ? "planned" : names[end->result];
}

static void put_lines(struct json_out *j, const char *text)
{
    json_out_open(j, '[');
    while (*text != '\0') {
        size_t n = strcspn(text, "\n");

        json_out_str(j, str_of(text, n));
        text += n + (text[n] == '\n');
    }
    json_out_close(j, ']');
}

void reloader_put_answer(const struct reloader_end *end, struct buf *out)
{
    struct json_out j = json_out_to(out);

    json_out_open(&j, '{');
    json_member_text(&j, "result", name_of(end));
    json_out_key(&j, "problems");
    put_lines(&j, end->problems);
    json_out_key(&j, "plan");
    if (end->plan != NULL)
        reload_plan_put(end->plan, &j);
    else
        json_out_null(&j);
    json_out_close(&j, '}');
    buf_putc(out, '\n');
}

static uint64_t count(const struct reload_plan *p, enum reload_change change)
{
    return reload_plan_count(&p->clusters, change) + reload_plan_count(&p->watches, change) +
           reload_plan_count(&p->views, change) + reload_plan_count(&p->hooks, change);
}

static void log_plan(const struct reload_plan *p)
{
    log_info("reloaded", KV_U64("kept", count(p, RELOAD_KEEP)),
             KV_U64("added", count(p, RELOAD_ADD)), KV_U64("changed", count(p, RELOAD_CHANGE)),
             KV_U64("replaced", count(p, RELOAD_REPLACE)),
             KV_U64("dropped", count(p, RELOAD_DROP)));
    for (size_t i = 0; i < p->restart_count; i++)
        log_warn("a changed setting needs a restart", KV_STR("setting", p->restarts[i].setting),
                 KV_STR("now", p->restarts[i].now), KV_STR("wanted", p->restarts[i].wanted));
}

/* After SIGHUP the log is the only answer, so it has all problems. */
static void log_problems(const char *text)
{
    while (*text != '\0') {
        size_t n = strcspn(text, "\n");

        log_error("reload failed: the configuration in use stays",
                  KV_VIEW("problem", str_of(text, n)));
        text += n + (text[n] == '\n');
    }
}

static void remember(struct reloader *r, const struct reloader_end *end)
{
    r->result = end->result;
    r->ended_ns = loop_wall_ns();
    if (end->result == RELOADER_DONE)
        r->failing_ns = 0;
    else if (r->failing_ns == 0)
        r->failing_ns = r->ended_ns;
    free(r->problems);
    r->problems = mem_strdup(end->problems);
    if (end->result == RELOADER_DONE)
        log_plan(end->plan);
    else
        log_problems(end->problems);
}

static void read_next(struct reloader *r);

static void end_read(struct reloader *r, struct reloader_end *end)
{
    end->number = r->number;
    end->dry_run = r->reading == ORDER_PLAN;
    deadline_stop(r->limit);
    r->reading = ORDER_NONE;
    if (!end->dry_run)
        remember(r, end);
    r->events->on_end(r->arg, end);
    if (r->next != ORDER_NONE)
        read_next(r);
}

static void fail(struct reloader *r, enum reloader_result result, const char *problems)
{
    end_read(r, &(struct reloader_end){.result = result, .problems = problems});
}

/* ---- The read */

/* The read ends in a later turn: by then all that wait for it know its number. */
static void read_next(struct reloader *r)
{
    r->reading = r->next;
    r->next = ORDER_NONE;
    r->number++;
    deadline_start(r->limit, RELOADER_TIME_MS);
    if (r->reading == ORDER_COMMIT)
        r->events->on_begin(r->arg);
    helper_link_reload(r->link);
}

static void on_limit(void *arg)
{
    struct reloader *r = arg;

    helper_link_drop(r->link);
    fail(r, RELOADER_FAILED,
         "the configuration was not read within 30 s: a path in it may be a pipe, or on a file "
         "system that hangs\n");
}

/* Reads the whole memory file, which has a known size, into one piece of memory: nothing of it is left where
 * a buffer was before it grew. Returns 0 or an errno. */
static int read_fd(int fd, struct buf *out)
{
    struct stat st;

    if (fstat(fd, &st) < 0)
        return errno;
    char *to = buf_reserve(out, (size_t)st.st_size);
    for (off_t at = 0; at < st.st_size;) {
        ssize_t n = pread(fd, to + at, (size_t)(st.st_size - at), at);

        if (n < 0 && errno != EINTR)
            return errno;
        if (n == 0)
            return EIO;
        at += n > 0 ? n : 0;
    }
    out->len += (size_t)st.st_size;
    return 0;
}

/* The configuration is good by itself, and cannot take the place of the one in use. */
static void refuse(struct reloader *r, struct generation **g, enum reloader_result result,
                   const char *problems)
{
    helper_link_drop(r->link);
    generation_destroy(g);
    reload_plan_destroy(&r->plan);
    fail(r, result, problems);
}

/* Returns whether a kubeconfig is gone, and has ended the reload then. */
static bool refuse_lost(struct reloader *r, struct generation **g, const struct reload_side *was)
{
    struct problems p = {0};
    struct buf text = {0};

    generation_find_lost(*g, was, &p);
    bool any = problems_count(&p) > 0;
    problems_put(&p, &text);
    problems_free(&p);
    if (any)
        refuse(r, g, RELOADER_INVALID, buf_cstr(&text));
    buf_free(&text);
    return any;
}

static void take_good(struct reloader *r, struct str bundle)
{
    const struct reload_side was = r->events->in_use(r->arg);
    struct generation *g;
    struct err err;

    if (generation_create(bundle, was.conf, &g, &err) != ERR_OK) {
        helper_link_drop(r->link);
        fail(r, RELOADER_FAILED, err.text);
        return;
    }
    deadline_stop(r->limit);
    if (refuse_lost(r, &g, &was))
        return;
    r->plan = generation_plan(g, &was);
    if (r->reading == ORDER_COMMIT && r->events->on_prepare(r->arg, g, &err) != ERR_OK) {
        refuse(r, &g, err.kind == ERR_CONFIG ? RELOADER_INVALID : RELOADER_FAILED, err.text);
        return;
    }
    if (r->reading == ORDER_COMMIT) {
        generation_warn(g->conf, &g->cluster_access, buf_str(&g->warnings));
        r->events->on_commit(r->arg, g, r->plan);
        return;
    }
    helper_link_drop(r->link);
    generation_destroy(&g);
    reloader_committed(r);
}

void reloader_committed(struct reloader *r)
{
    struct reload_plan *plan = r->plan;

    r->plan = NULL;
    end_read(r, &(struct reloader_end){.result = RELOADER_DONE, .problems = "", .plan = plan});
    reload_plan_destroy(&plan);
}

void reloader_give_up(struct reloader *r, const char *why)
{
    helper_link_drop(r->link);
    reload_plan_destroy(&r->plan);
    fail(r, RELOADER_FAILED, why);
}

static void take_bad(struct reloader *r, struct buf *text)
{
    struct str problems = buf_str(text);
    bool is_invalid = generation_take_invalid(&problems);
    char *lines = mem_strndup(problems.p, problems.n);

    fail(r, is_invalid ? RELOADER_INVALID : RELOADER_FAILED, lines);
    free(lines);
}

void reloader_on_reloaded(struct reloader *r, bool ok, int fd)
{
    struct buf bytes = {0};
    int error = fd >= 0 ? read_fd(fd, &bytes) : EMFILE;

    if (fd >= 0)
        close(fd);
    if (error != 0) {
        char *text =
            mem_printf("the answer of the helper cannot be read: %s\n", strerrordesc_np(error));

        helper_link_drop(r->link);
        fail(r, RELOADER_FAILED, text);
        free(text);
    } else if (ok) {
        take_good(r, buf_str(&bytes));
    } else {
        take_bad(r, &bytes);
    }
    if (bytes.data != NULL)
        mem_wipe(bytes.data, bytes.len); /* it has the keys and tokens of kubeconfigs */
    buf_free(&bytes);
}

/* ---- Orders */

uint64_t reloader_start(struct reloader *r, bool dry_run, const char **refusal)
{
    enum order order = dry_run ? ORDER_PLAN : ORDER_COMMIT;

    *refusal = r->refusal;
    if (r->refusal != NULL)
        return 0;
    if (r->next < order)
        r->next = order;
    if (r->reading != ORDER_NONE)
        return r->number + 1;
    read_next(r);
    return r->number;
}

void reloader_stop(struct reloader *r, const char *refusal)
{
    char *text = mem_printf("%s\n", refusal);

    r->refusal = refusal;
    helper_link_drop(r->link);
    enum order next = r->next;
    r->next = ORDER_NONE;
    reload_plan_destroy(&r->plan);
    if (r->reading != ORDER_NONE)
        fail(r, RELOADER_FAILED, text);
    if (next != ORDER_NONE) {
        r->reading = next;
        r->number++;
        fail(r, RELOADER_FAILED, text);
    }
    free(text);
}

struct admin_reload reloader_status(const struct reloader *r)
{
    static const char *const names[] = {NULL, "reloaded", "invalid", "failed"};

    return (struct admin_reload){.result = names[r->result],
                                 .is_running = r->reading == ORDER_COMMIT,
                                 .ended_ns = r->ended_ns,
                                 .failing_ns = r->failing_ns,
                                 .problems = r->problems};
}

/* ---- Begin and end */

struct reloader *reloader_create(struct loop *loop, struct helper_link *link, const char *refusal,
                                 const struct reloader_events *events, void *arg)
{
    struct reloader *r = MEM_NEW(struct reloader, .loop = loop, .link = link, .refusal = refusal,
                                 .events = events, .arg = arg);

    r->limit = deadline_create(loop, on_limit, r);
    return r;
}

void reloader_dispose(struct reloader **rp)
{
    struct reloader *r = *rp;

    if (r == NULL)
        return;
    *rp = NULL;
    deadline_dispose(&r->limit);
    reload_plan_destroy(&r->plan);
    free(r->problems);
    free(r);
}
