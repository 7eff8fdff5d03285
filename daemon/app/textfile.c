/* SPDX-License-Identifier: Apache-2.0 */
#include "app/textfile.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "io/deadline.h"
#include "io/helper_link.h"
#include "io/loop.h"

enum textfile_state {
    TEXTFILE_OFF,     /* no file is wanted */
    TEXTFILE_WAITING, /* the timer begins the next write */
    TEXTFILE_WRITING, /* the timer kills the write */
    TEXTFILE_KILLED,  /* the write was killed, and its end is awaited */
    /* A write is under way whose file is not wanted any more: its end begins the first write of the
     * new one, or nothing. The timer kills it. */
    TEXTFILE_OUTDATED,
};

struct textfile {
    struct textfile_params params;
    enum textfile_state state;
    char *path; /* NULL = no file is wanted */
    uint32_t number;
    struct deadline *timer;
    struct helper_run run;
    int answers; /* WRITING, KILLED, OUTDATED: of the write; else -1 */
    char *trouble;
};

/* One warning for each kind of trouble, however often the file is tried. */
static void set_trouble(struct textfile *t, char *trouble)
{
    if (trouble != NULL && !str_same(trouble, t->trouble))
        log_warn("metrics.textfile cannot be written", KV_STR("err", trouble));
    else if (trouble == NULL && t->trouble != NULL && t->path != NULL)
        log_info("metrics.textfile is written again", KV_STR("path", t->path));
    char *before = t->trouble;

    t->trouble = trouble;
    t->params.on_trouble(t->params.arg, trouble);
    free(before);
}

/* An administrator can mend only the path to the file, not the file itself. */
static char *text_of(const struct textfile *t, const struct run_end *end)
{
    if (end->kind == RUN_END_REFUSED)
        return mem_printf(
            "%s: %s: %s%s", t->path, run_stage_name(end->stage), strerrordesc_np(end->value),
            end->value == EROFS ? " (under systemd ReadWritePaths= has to name its folder)" : "");
    return mem_printf("%s: the write was ended by signal %d", t->path, end->value);
}

static bool is_writing(const struct textfile *t)
{
    return t->state == TEXTFILE_WRITING || t->state == TEXTFILE_KILLED ||
           t->state == TEXTFILE_OUTDATED;
}

static void wait_then_write(struct textfile *t, uint64_t ms)
{
    t->state = TEXTFILE_WAITING;
    deadline_start(t->timer, ms);
}

/* The first write of the file that is wanted now. Without one the helper has no hook for it: a write
 * would end the helper. */
static void begin_anew(struct textfile *t)
{
    if (t->path != NULL) {
        wait_then_write(t, 0);
        return;
    }
    t->state = TEXTFILE_OFF;
    deadline_stop(t->timer);
}

static void on_exited(struct helper_run *run, const struct run_end *end)
{
    struct textfile *t = container_of(run, struct textfile, run);

    close(t->answers);
    t->answers = -1;
    if (t->state == TEXTFILE_OUTDATED) {
        begin_anew(t);
        return;
    }
    bool is_told = t->state == TEXTFILE_KILLED && !run_end_is_good(end);
    wait_then_write(t, TEXTFILE_EVERY_MS);
    if (!is_told)
        set_trouble(t, run_end_is_good(end) ? NULL : text_of(t, end));
}

static void begin_write(struct textfile *t)
{
    struct buf text = {0};

    t->params.put(t->params.arg, &text);
    t->answers =
        helper_link_ask(t->params.link, &t->run, t->number, RUN_PROGRAM_OUTPUT, buf_str(&text));
    buf_free(&text);
    if (t->answers >= 0) {
        t->state = TEXTFILE_WRITING;
        deadline_start(t->timer, TEXTFILE_TIME_MS);
        return;
    }
    wait_then_write(t, TEXTFILE_EVERY_MS);
    set_trouble(t, mem_printf("%s: %s", t->path, strerrordesc_np(errno)));
}

/* SIGKILL does not end a process that waits for a file system that hangs, so the trouble is told before the
 * write ends. */
static void kill_write(struct textfile *t)
{
    helper_link_kill(t->params.link, &t->run, SIGKILL);
    if (t->path != NULL)
        set_trouble(t, mem_printf("%s: the write%s has not ended within %d s", t->path,
                                  t->state == TEXTFILE_OUTDATED ? " of the file before" : "",
                                  TEXTFILE_TIME_MS / 1000));
    if (t->state == TEXTFILE_WRITING)
        t->state = TEXTFILE_KILLED;
}

static void on_timer(void *arg)
{
    struct textfile *t = arg;

    if (is_writing(t))
        kill_write(t);
    else
        begin_write(t);
}

struct textfile *textfile_create(const struct textfile_params *params)
{
    struct textfile *t =
        MEM_NEW(struct textfile, .params = *params, .run.on_exited = on_exited, .answers = -1);

    t->timer = deadline_create(params->loop, on_timer, t);
    return t;
}

void textfile_set(struct textfile *t, const char *path, uint32_t number)
{
    t->number = number;
    if (str_same(path, t->path))
        return;
    free(t->path);
    t->path = NULL; /* while its trouble ends, as it is not written again */
    set_trouble(t, NULL);
    t->path = mem_strdup(path);
    if (!is_writing(t)) {
        begin_anew(t);
        return;
    }
    t->state = TEXTFILE_OUTDATED;
    if (!deadline_pending(t->timer)) /* the write was killed, and does not end */
        deadline_start(t->timer, TEXTFILE_TIME_MS);
}

void textfile_dispose(struct textfile **tp)
{
    struct textfile *t = *tp;

    if (t == NULL)
        return;
    *tp = NULL;
    if (is_writing(t)) {
        helper_run_forget(&t->run);
        close(t->answers);
    }
    deadline_dispose(&t->timer);
    free(t->path);
    free(t->trouble);
    free(t);
}
