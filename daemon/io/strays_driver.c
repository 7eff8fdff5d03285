/* SPDX-License-Identifier: Apache-2.0 */
#include "io/strays_driver.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "io/deadline.h"
#include "io/loop.h"
#include "io/memfile.h"

#define FIRST_RUN (UINT64_C(1) << 62)

/* Of one hook: a run of the helper's, if answers is not -1. */
struct sweep {
    struct strays_driver *of;
    struct hook *hook;
    int answers;
    struct deadline *timer;
};

struct strays_driver {
    struct strays_driver_params params;
    void (*on_swept)(void *arg);
    void *arg;
    struct sweep *all; /* as hooks */
};

static void on_late(void *arg)
{
    const struct sweep *w = arg;

    helper_link_kill(w->of->params.link, FIRST_RUN + (uint64_t)(w - w->of->all), SIGKILL);
}

struct strays_driver *strays_driver_create(const struct strays_driver_params *params,
                                           void (*on_swept)(void *arg), void *arg)
{
    struct strays_driver *d =
        MEM_NEW(struct strays_driver, .params = *params, .on_swept = on_swept, .arg = arg);

    d->all = mem_array(params->hooks->n + 1, sizeof(*d->all));
    for (size_t i = 0; i < params->hooks->n; i++)
        d->all[i] = (struct sweep){.of = d, .hook = params->hooks->v[i], .answers = -1};
    return d;
}

static void log_end(const struct hook *h, const struct stray *x, enum stray_end end)
{
    if (end == STRAY_END_REMOVED)
        log_info("a file is removed that nothing names any more", KV_STR("hook", h->name),
                 KV_STR("file", x->path));
    else if (x->state == STRAY_LEFT)
        log_warn("a file stays that nothing names any more: remove it if it is not needed",
                 KV_STR("hook", h->name), KV_STR("file", x->path), KV_STR("because", x->why));
}

/* Those that were asked for are the first that are due: nothing else changes what is. */
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

static void put_strays(const struct hook *h, struct buf *out)
{
    size_t n = 0;

    list_each (pos, tmp, &h->strays.all) {
        const struct stray *x = list_entry(pos, struct stray, link);
        const struct wire_stray head = {
            .digest = {x->digest.lo, x->digest.hi},
              .length = strlen(x->path)
        };

        if (x->state != STRAY_DUE || n++ >= WIRE_SWEEP_MAX)
            continue;
        buf_append(out, &head, sizeof(head));
        buf_puts(out, x->path);
    }
}

/* What the helper's process gets; false: there are no descriptors. */
static bool open_fds(struct sweep *w, int fds[WIRE_RUN_FDS])
{
    struct buf strays = {0};
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) < 0)
        return false;
    put_strays(w->hook, &strays);
    w->answers = ends[0];
    fds[STDOUT_FILENO] = ends[1];
    fds[STDERR_FILENO] = open("/dev/null", O_WRONLY | O_CLOEXEC);
    bool is_open =
        memfile_create("informerd-strays", buf_str(&strays), &fds[STDIN_FILENO], NULL) == ERR_OK;
    buf_free(&strays);
    if (is_open && fds[STDERR_FILENO] >= 0 && fcntl(w->answers, F_SETFL, O_NONBLOCK) == 0)
        return true;
    close(ends[0]);
    close(ends[1]);
    if (is_open)
        close(fds[STDIN_FILENO]);
    if (fds[STDERR_FILENO] >= 0)
        close(fds[STDERR_FILENO]);
    w->answers = -1;
    return false;
}

static void begin(struct sweep *w)
{
    struct strays_driver *d = w->of;
    uint64_t number = (uint64_t)(w - d->all);
    int fds[WIRE_RUN_FDS];

    if (!open_fds(w, fds)) {
        take_answers(w, NULL, 0, SIZE_MAX);
        return;
    }
    if (w->timer == NULL)
        w->timer = deadline_create(d->params.loop, on_late, w);
    deadline_start(w->timer, d->params.timeout_ms);
    helper_link_run(d->params.link, FIRST_RUN + number, (uint32_t)w->hook->index,
                    WIRE_PROGRAM_SWEEP, str_c(NULL), fds);
}

/* Nothing is removed: it stays due as far as the next process is concerned. */
static void pretend(struct sweep *w)
{
    list_each (pos, tmp, &w->hook->strays.all) {
        struct stray *x = list_entry(pos, struct stray, link);

        if (x->state != STRAY_DUE)
            continue;
        log_info("would remove a file that nothing names any more", KV_STR("hook", w->hook->name),
                 KV_STR("file", x->path));
        strays_ended(w->hook, x, STRAY_END_REMOVED, loop_now_ms(w->of->params.loop));
    }
}

void strays_driver_look(struct strays_driver *d)
{
    for (size_t i = 0; i < d->params.hooks->n; i++) {
        struct sweep *w = &d->all[i];

        if (w->hook->strays.due == 0 || w->answers >= 0 || hook_running(w->hook) > 0 ||
            w->hook->paused)
            continue;
        if (d->params.dry_run)
            pretend(w);
        else
            begin(w);
        if (w->hook->strays.due == 0)
            d->on_swept(d->arg);
    }
}

bool strays_driver_exited(struct strays_driver *d, const struct helper_link_exit *end)
{
    unsigned char answers[WIRE_SWEEP_MAX];
    uint64_t number = end->run - FIRST_RUN;

    if (end->run < FIRST_RUN || number >= d->params.hooks->n || d->all[number].answers < 0)
        return false;
    struct sweep *w = &d->all[number];
    ssize_t n = read(w->answers, answers, sizeof(answers));
    close(w->answers);
    w->answers = -1;
    deadline_stop(w->timer);
    take_answers(w, answers, n > 0 ? (size_t)n : 0, WIRE_SWEEP_MAX);
    d->on_swept(d->arg);
    return true;
}

void strays_driver_dispose(struct strays_driver **sp)
{
    struct strays_driver *d = *sp;

    if (d == NULL)
        return;
    *sp = NULL;
    for (size_t i = 0; i < d->params.hooks->n; i++) {
        if (d->all[i].answers >= 0)
            close(d->all[i].answers);
        deadline_dispose(&d->all[i].timer);
    }
    free(d->all);
    free(d);
}
