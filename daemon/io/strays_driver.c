/* SPDX-License-Identifier: Apache-2.0 */
#include "io/strays_driver.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "io/deadline.h"
#include "io/loop.h"

/* The stray files of one hook. While answers is not -1 the helper removes some of them. */
struct sweep {
    struct strays_driver *of;
    struct hook *hook;
    struct helper_run run;
    int answers;  /* our end of the pipe that the helper answers through; -1 = no run */
    size_t asked; /* files that the helper was asked about */
    struct deadline *timer;
};

struct strays_driver {
    struct strays_driver_params params;
    void (*on_swept)(void *arg);
    void *arg;
    struct sweep *all; /* by index of the hook */
};

/* The helper's process takes too long: it is killed, and files without an answer count as
 * failed. */
static void on_late(void *arg)
{
    const struct sweep *w = arg;

    helper_link_kill(w->of->params.link, &w->run, SIGKILL);
}

/* A file that was gone already needs no line. */
static void log_end(const struct hook *h, const struct stray *x, enum stray_end end)
{
    if (end == STRAY_END_REMOVED)
        log_info("obsolete output file removed", KV_STR("hook", h->name), KV_STR("file", x->path));
    else if (x->state == STRAY_LEFT)
        log_warn("obsolete output file left in place: remove it if not needed",
                 KV_STR("hook", h->name), KV_STR("file", x->path), KV_STR("because", x->why));
}

/* Takes one answer for each file that the helper was asked about. Answers carry no path: they
 * belong to the first `asked` files that are due, in the order of the list. A file that became due
 * meanwhile stands behind these (strays_look()). A file without a valid answer has failed. */
static void take_answers(struct sweep *w, const unsigned char *answers, size_t n, size_t asked)
{
    static const enum stray_end ends[] = {
        [WIRE_SWEPT_REMOVED] = STRAY_END_REMOVED, [WIRE_SWEPT_GONE] = STRAY_END_GONE,
        [WIRE_SWEPT_CHANGED] = STRAY_END_CHANGED, [WIRE_SWEPT_FOREIGN] = STRAY_END_FOREIGN,
        [WIRE_SWEPT_FAILED] = STRAY_END_FAILED,
    };
    uint64_t now_ms = loop_now_ms(w->of->params.loop);
    size_t i = 0;

    list_each (pos, tmp, &w->hook->strays.all) {
        struct stray *x = list_entry(pos, struct stray, link);
        enum stray_end end = STRAY_END_FAILED;

        if (x->state != STRAY_DUE || i >= asked)
            continue;
        if (i < n && answers[i] >= WIRE_SWEPT_REMOVED && answers[i] <= WIRE_SWEPT_FAILED)
            end = ends[answers[i]];
        i++;
        strays_ended(w->hook, x, end, now_ms);
        log_end(w->hook, x, end);
    }
}

/* Writes the question: the first WIRE_SWEEP_MAX files that are due. If there are more, they follow
 * in the next run. Returns how many. */
static size_t put_strays(const struct hook *h, struct buf *out)
{
    size_t n = 0;

    list_each (pos, tmp, &h->strays.all) {
        const struct stray *x = list_entry(pos, struct stray, link);
        const struct wire_stray head = {
            .digest = {x->digest.lo, x->digest.hi},
              .length = strlen(x->path)
        };

        if (x->state != STRAY_DUE || n >= WIRE_SWEEP_MAX)
            continue;
        n++;
        buf_append(out, &head, sizeof(head));
        buf_puts(out, x->path);
    }
    return n;
}

/* Has the helper remove files of the hook; it answers with one byte for each. If it cannot be asked,
 * all files that are due count as failed: they stay, and the log names them. */
static void begin(struct sweep *w)
{
    struct strays_driver *d = w->of;
    struct buf strays = {0};

    w->asked = put_strays(w->hook, &strays);
    w->answers = helper_link_ask(d->params.link, &w->run, (uint32_t)w->hook->index,
                                 RUN_PROGRAM_SWEEP, buf_str(&strays));
    buf_free(&strays);
    if (w->answers < 0) {
        take_answers(w, NULL, 0, SIZE_MAX);
        return;
    }
    if (w->timer == NULL)
        w->timer = deadline_create(d->params.loop, on_late, w);
    deadline_start(w->timer, d->params.timeout_ms);
}

/* --dry-run: logs the files and counts them as removed, so that the hook may run. The state is not
 * changed, so the next process finds them due again. */
static void pretend(struct sweep *w)
{
    list_each (pos, tmp, &w->hook->strays.all) {
        struct stray *x = list_entry(pos, struct stray, link);

        if (x->state != STRAY_DUE)
            continue;
        log_info("would remove an obsolete output file", KV_STR("hook", w->hook->name),
                 KV_STR("file", x->path));
        strays_ended(w->hook, x, STRAY_END_REMOVED, loop_now_ms(w->of->params.loop));
    }
}

void strays_driver_look(struct strays_driver *d)
{
    for (size_t i = 0; i < d->params.hooks->n; i++) {
        struct sweep *w = &d->all[i];

        /* A hook with a run under way may be writing a file: its stray files wait. */
        if (w->hook->strays.due == 0 || w->answers >= 0 || hook_running(w->hook) > 0 ||
            w->hook->paused)
            continue;
        if (d->params.dry_run)
            pretend(w);
        else
            begin(w);
        /* Nothing is under way for these files: no later call would say so. */
        if (w->hook->strays.due == 0)
            d->on_swept(d->arg);
    }
}

/* The helper's process has ended. The answers fit into the pipe, so they are complete. */
static void on_exited(struct helper_run *run, const struct run_end *end)
{
    struct sweep *w = container_of(run, struct sweep, run);
    unsigned char answers[WIRE_SWEEP_MAX];
    ssize_t n = read(w->answers, answers, sizeof(answers));

    (void)end; /* files without an answer count as failed */
    close(w->answers);
    w->answers = -1;
    deadline_stop(w->timer);
    take_answers(w, answers, n > 0 ? (size_t)n : 0, w->asked);
    w->of->on_swept(w->of->arg);
}

struct strays_driver *strays_driver_create(const struct strays_driver_params *params,
                                           void (*on_swept)(void *arg), void *arg)
{
    struct strays_driver *d =
        MEM_NEW(struct strays_driver, .params = *params, .on_swept = on_swept, .arg = arg);

    d->all = mem_array(params->hooks->n + 1, sizeof(*d->all));
    for (size_t i = 0; i < params->hooks->n; i++)
        d->all[i] = (struct sweep){
            .of = d, .hook = params->hooks->v[i], .run.on_exited = on_exited, .answers = -1};
    return d;
}

void strays_driver_dispose(struct strays_driver **dp)
{
    struct strays_driver *d = *dp;

    if (d == NULL)
        return;
    *dp = NULL;
    for (size_t i = 0; i < d->params.hooks->n; i++) {
        helper_run_forget(&d->all[i].run);
        if (d->all[i].answers >= 0)
            close(d->all[i].answers);
        deadline_dispose(&d->all[i].timer);
    }
    free(d->all);
    free(d);
}
