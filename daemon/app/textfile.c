/* SPDX-License-Identifier: Apache-2.0 */
#include "app/textfile.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "io/deadline.h"
#include "io/helper_link.h"
#include "io/loop.h"

struct textfile {
    struct textfile_params params;
    char *path; /* NULL = no file is written */
    uint32_t number;
    struct deadline *timer; /* of the next write; while one is under way, of its time */
    struct helper_run run;
    int answers; /* of the write under way; -1 = none is */
    char *trouble;
};

/* One warning for each kind of trouble, however often the file is tried. */
static void set_trouble(struct textfile *t, char *trouble)
{
    bool is_same = trouble != NULL && t->trouble != NULL && strcmp(trouble, t->trouble) == 0;

    if (trouble != NULL && !is_same)
        log_warn("metrics.textfile cannot be written", KV_STR("why", trouble));
    else if (trouble == NULL && t->trouble != NULL && t->path != NULL)
        log_info("metrics.textfile is written again", KV_STR("path", t->path));
    char *before = t->trouble;

    t->trouble = trouble;
    t->params.on_trouble(t->params.arg, trouble);
    free(before);
}

/* The way to the file, not the file, is what an administrator can mend. */
static char *text_of(const struct textfile *t, const struct run_end *end)
{
    if (end->kind == RUN_END_REFUSED)
        return mem_printf(
            "%s: %s: %s%s", t->path, run_stage_name(end->stage), strerrordesc_np(end->value),
            end->value == EROFS ? " (under systemd ReadWritePaths= has to name its folder)" : "");
    return mem_printf("%s: the write was ended by signal %d", t->path, end->value);
}

static void on_exited(struct helper_run *run, const struct run_end *end)
{
    struct textfile *t = container_of(run, struct textfile, run);

    close(t->answers);
    t->answers = -1;
    if (t->path == NULL)
        return;
    deadline_start(t->timer, TEXTFILE_EVERY_MS);
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
        deadline_start(t->timer, TEXTFILE_TIME_MS);
        return;
    }
    deadline_start(t->timer, TEXTFILE_EVERY_MS);
    set_trouble(t, mem_printf("%s: %s", t->path, strerrordesc_np(errno)));
}

static void on_timer(void *arg)
{
    struct textfile *t = arg;

    if (t->answers >= 0)
        helper_link_kill(t->params.link, &t->run, SIGKILL);
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
    bool is_same = path != NULL && t->path != NULL && strcmp(path, t->path) == 0;

    t->number = number;
    if (is_same || (path == NULL && t->path == NULL))
        return;
    free(t->path);
    t->path = path != NULL ? mem_strdup(path) : NULL;
    set_trouble(t, NULL);
    if (t->answers >= 0) /* its end begins the next write, or nothing */
        return;
    deadline_stop(t->timer);
    if (path != NULL)
        deadline_start(t->timer, 0);
}

void textfile_dispose(struct textfile **tp)
{
    struct textfile *t = *tp;

    if (t == NULL)
        return;
    *tp = NULL;
    if (t->answers >= 0) {
        helper_run_forget(&t->run);
        close(t->answers);
    }
    deadline_dispose(&t->timer);
    free(t->path);
    free(t->trouble);
    free(t);
}
