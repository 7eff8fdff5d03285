/* SPDX-License-Identifier: Apache-2.0 */
#include "io/sweep.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "io/deadline.h"
#include "io/loop.h"

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
    size_t i = 0;

    list_each (pos, tmp, &w->strays->all) {
        struct stray *x = list_entry(pos, struct stray, link);
        enum stray_end end = STRAY_END_FAILED;

        if (x->state != STRAY_DUE || i >= asked)
            continue;
        if (i < n && answers[i] >= WIRE_SWEPT_REMOVED && answers[i] <= WIRE_SWEPT_FAILED)
            end = ends[answers[i]];
        i++;
        w->params.on_stray(w->params.arg, x, end);
    }
}

/* Writes the question: the first WIRE_SWEEP_MAX files that are due. If there are more, they follow
 * in the next run. Returns how many. */
static size_t put_strays(const struct strays *s, struct buf *out)
{
    size_t n = 0;

    list_each (pos, tmp, &s->all) {
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

/* The run is over: files without an answer count as failed. */
static void end_sweep(struct sweep *w, const unsigned char *answers, size_t n)
{
    close(w->answers);
    w->answers = -1;
    deadline_stop(w->timer);
    take_answers(w, answers, n, w->asked);
    w->params.on_swept(w->params.arg);
}

/* The helper's process has ended. The answers fit into the pipe, so they are complete. */
static void on_exited(struct helper_run *run, const struct run_end *end)
{
    struct sweep *w = container_of(run, struct sweep, run);
    unsigned char answers[WIRE_SWEEP_MAX];
    ssize_t n = read(w->answers, answers, sizeof(answers));

    (void)end;
    end_sweep(w, answers, n > 0 ? (size_t)n : 0);
}

/* The helper's process takes too long. SIGKILL does not end one that waits for a file system that hangs, so
 * its end is not awaited. The helper starts no other one of the same hook beside it. */
static void on_late(void *arg)
{
    struct sweep *w = arg;

    helper_link_kill(w->params.link, &w->run, SIGKILL);
    helper_run_forget(&w->run);
    end_sweep(w, NULL, 0);
}

void sweep_init(struct sweep *w, const struct sweep_params *params)
{
    *w = (struct sweep){.params = *params, .run.on_exited = on_exited, .answers = -1};
}

bool sweep_is_on(const struct sweep *w)
{
    return w->answers >= 0;
}

void sweep_begin(struct sweep *w, struct strays *strays)
{
    struct buf question = {0};

    w->strays = strays;
    w->asked = put_strays(strays, &question);
    w->answers = helper_link_ask(w->params.link, &w->run, w->params.number, RUN_PROGRAM_SWEEP,
                                 buf_str(&question));
    buf_free(&question);
    if (w->answers < 0) {
        take_answers(w, NULL, 0, SIZE_MAX);
        w->params.on_swept(w->params.arg);
        return;
    }
    if (w->timer == NULL)
        w->timer = deadline_create(w->params.loop, on_late, w);
    deadline_start(w->timer, w->params.timeout_ms);
}

void sweep_fini(struct sweep *w)
{
    helper_run_forget(&w->run);
    if (w->answers >= 0)
        close(w->answers);
    w->answers = -1;
    deadline_dispose(&w->timer);
}
