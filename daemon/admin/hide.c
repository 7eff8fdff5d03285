/* SPDX-License-Identifier: Apache-2.0 */
#include "admin/hide.h"

#include <string.h>

#include "admin/admin.h"
#include "base/buf.h"
#include "base/run_end.h"
#include "cache/watch.h"
#include "hook/history.h"
#include "hook/hook.h"

/* Is the text all ours? That of any other kind may have a sentence of the server, or be about one object. */
static bool is_of_the_network(enum err_kind kind)
{
    return kind == ERR_IO || kind == ERR_REFUSED || kind == ERR_TIMEOUT || kind == ERR_CLOSED ||
           kind == ERR_TLS || kind == ERR_CREDENTIAL || kind == ERR_FOREIGN;
}

void hide_put_watch_error(struct buf *out, const struct admin_model *m,
                          const struct watch_status *s)
{
    bool is_shown = !m->hides_keys || is_of_the_network(s->err->kind);

    buf_puts(out, is_shown ? s->err->text : "informerctl status tells why");
}

static const char *program_of(const struct run_end *end)
{
    switch (end->program) {
    case RUN_PROGRAM_OUTPUT:
    case RUN_PROGRAM_REMOVE:
    case RUN_PROGRAM_FILES:
        return "output: ";
    case RUN_PROGRAM_CHECK:
        return "check: ";
    case RUN_PROGRAM_APPLY:
        return "apply: ";
    case RUN_PROGRAM_COMMAND:
    case RUN_PROGRAM_FINGERPRINT:
    case RUN_PROGRAM_SWEEP:
        break;
    }
    return "";
}

static void put_end(struct buf *out, const struct run_end *end)
{
    if (end->cut == RUN_CUT_TIMEOUT)
        buf_puts(out, "timeout: ");
    else if (end->cut == RUN_CUT_FULL)
        buf_puts(out, "too much output: ");
    else if (end->cut == RUN_CUT_MEMORY)
        buf_puts(out, "no memory for the output: ");
    buf_puts(out, program_of(end));
    switch (end->kind) {
    case RUN_END_EXITED:
        buf_printf(out, "exit status %d%s", end->value, run_end_limit(end));
        break;
    case RUN_END_SIGNALED:
        buf_printf(out, "killed by signal %d%s", end->value, run_end_limit(end));
        break;
    case RUN_END_REFUSED:
        buf_printf(out, "%s: %s", run_stage_name(end->stage), strerror(end->value));
        break;
    }
}

/* The newest run that failed; NULL = the history does not have it any more, or the run could not be
 * started, which is no run. */
static const struct history_run *last_failure(const struct history *h)
{
    for (size_t i = 0; i < h->n; i++)
        if (history_get(h, i)->outcome != HISTORY_OK)
            return history_get(h, i);
    return NULL;
}

void hide_put_hook_error(struct buf *out, const struct admin_model *m, const struct hook *h)
{
    const struct history_run *failed = last_failure(&h->history);

    if (hook_last_error(h) == NULL)
        return;
    if (!m->hides_keys)
        buf_puts(out, hook_last_error(h));
    else if (failed != NULL)
        put_end(out, &failed->end);
    else
        buf_printf(out, "informerctl why %s tells why", h->name);
}

/* Does a path begin here? A URL has its slashes inside of a word. */
static bool begins_path(struct str text, size_t i)
{
    if (text.p[i] != '/' || i == 0)
        return text.p[i] == '/';
    if (text.p[i - 1] == ':')
        return i + 1 < text.n && text.p[i + 1] != '/';
    return strchr(" \t\n(\"'=,", text.p[i - 1]) != NULL;
}

/* The number of bytes of the path that begins the text: up to a space or a closing sign, and without
 * the sign that ends the sentence. */
static size_t path_bytes(struct str text)
{
    size_t n = 0;

    while (n < text.n && strchr(" \t\n)\"',;", text.p[n]) == NULL &&
           !(text.p[n] == ':' && n + 1 < text.n && text.p[n + 1] == '/')) /* the next of several */
        n++;
    while (n > 1 && (text.p[n - 1] == ':' || text.p[n - 1] == '.'))
        n--;
    return n;
}

void hide_put_without_paths(struct buf *out, struct str text)
{
    for (size_t i = 0; i < text.n;) {
        if (!begins_path(text, i)) {
            buf_putc(out, text.p[i++]);
            continue;
        }
        struct str path = str_of(text.p + i, path_bytes(str_of(text.p + i, text.n - i)));
        size_t name = path.n;

        while (name > 0 && path.p[name - 1] != '/')
            name--;
        if (name > 0)
            buf_puts(out, name > 1 || name < path.n ? ".../" : "/");
        buf_append(out, path.p + name, path.n - name);
        i += path.n;
    }
}
