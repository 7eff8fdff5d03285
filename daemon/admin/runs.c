/* SPDX-License-Identifier: Apache-2.0 */
#include "admin/runs.h"

#include <inttypes.h>
#include <stdlib.h>

#include "admin/admin.h"
#include "admin/call.h"
#include "base/mem.h"
#include "hook/hook.h"
#include "hook/payload.h"
#include "proto/json_member.h"

#define US_PER_S 1000000U

/* The id as the run has it in INFORMERD_RUN: with the instance, so that it is unique over
 * restarts. */
static void put_id(struct json_out *j, const struct admin_model *m, const struct history_run *r)
{
    struct buf id = {0};

    payload_put_run_id(&id, m->context, r->id);
    json_member_str(j, "run", buf_str(&id));
    buf_free(&id);
}

/* Written as a decimal number with all microseconds: runs often use less than a millisecond. */
static void put_cpu(struct json_out *j, uint64_t us)
{
    json_out_key(j, "cpu_s");
    buf_printf(json_out_raw(j), "%" PRIu64 ".%06" PRIu64, us / US_PER_S, us % US_PER_S);
}

static bool is_blank(char c)
{
    return c == '\n' || c == '\r' || c == ' ' || c == '\t' || c == '\0';
}

/* The last line that is not blank; empty if there is none. */
static struct str last_line(const struct buf *text)
{
    size_t end = text->len;
    size_t start;

    while (end > 0 && is_blank(text->data[end - 1]))
        end--;
    for (start = end; start > 0 && text->data[start - 1] != '\n'; start--)
        continue;
    return str_of(text->data + start, end - start);
}

/* The line that most likely tells why a run failed: the last one on stderr, where errors go, or
 * else the last one on stdout. */
static void put_last_line(struct json_out *j, const struct history_run *r)
{
    struct str line = last_line(&r->err);

    if (line.n == 0)
        line = last_line(&r->out);
    if (line.n > 0)
        json_member_raw(j, "last_line", line);
    else
        json_member_text(j, "last_line", NULL);
}

static void put_output(struct json_out *j, const struct history_run *r, enum runs_detail detail)
{
    if (detail == RUNS_FULL) {
        put_last_line(j, r);
        json_member_raw(j, "stdout", buf_str(&r->out));
        json_member_raw(j, "stderr", buf_str(&r->err));
    } else if (detail == RUNS_SECRET) {
        json_member_text(j, "last_line", NULL);
        json_member_text(j, "stdout", NULL);
        json_member_text(j, "stderr", NULL);
    }
}

void runs_put(struct json_out *j, const struct admin_model *m, const struct hook *h,
              const struct history_run *r, enum runs_detail detail)
{
    json_out_open(j, '{');
    put_id(j, m, r);
    json_member_text(j, "hook", h->name);
    json_member_text(j, "program", run_kind_name(r->kind));
    json_member_time(j, "ended", r->ended_ns);
    json_member_seconds(j, "took_s", true, r->took_ms);
    json_member_str(j, "source", str_c(r->source));
    json_member_str(j, "key", str_c(r->key));
    json_member_text(j, "event", r->keyed ? delta_type_name(r->type) : NULL);
    json_member_count(j, "events", r->event_count);
    json_member_text(j, "reason", run_reason_name(r->reason));
    json_member_count(j, "attempt", r->attempt);
    json_member_text(j, "outcome", history_outcome_name(r->outcome));
    json_member_raw(j, "result", str_c(r->text));
    json_member_text(j, "file", r->file);
    json_member_text(j, "became", run_end_file(&r->end));
    put_cpu(j, r->end.cpu_us);
    json_member_count(j, "dropped_bytes", r->dropped);
    put_output(j, r, detail);
    json_out_close(j, '}');
}

/* One run in the common list of all hooks. */
struct row {
    const struct hook *hook;
    const struct history_run *run;
};

/* Sorts runs by the time of their end, and runs with the same time by number. */
static int compare(const void *a, const void *b)
{
    const struct history_run *x = ((const struct row *)a)->run;
    const struct history_run *y = ((const struct row *)b)->run;

    if (x->ended_ns != y->ended_ns)
        return x->ended_ns < y->ended_ns ? -1 : 1;
    return x->id < y->id ? -1 : x->id > y->id;
}

/* history_get() gives the newest run first; compare() decides the order. */
static size_t collect(struct row *rows, const struct hook *h)
{
    for (size_t i = 0; i < h->history.n; i++)
        rows[i] = (struct row){h, history_get(&h->history, i)};
    return h->history.n;
}

void runs_put_all(struct buf *out, const struct admin_model *m, const struct hook *only,
                  bool privileged)
{
    struct row *rows = mem_array(m->hooks->n * HISTORY_RUNS + 1, sizeof(*rows));
    struct json_out j = json_out_to(out);
    size_t n = 0;

    for (size_t i = 0; i < m->hooks->n; i++)
        if (only == NULL || m->hooks->v[i] == only)
            n += collect(rows + n, m->hooks->v[i]);
    qsort(rows, n, sizeof(*rows), compare);
    json_out_open(&j, '[');
    for (size_t i = 0; i < n; i++) {
        bool hidden = !privileged && call_gets_secrets(rows[i].hook);

        runs_put(&j, m, rows[i].hook, rows[i].run, hidden ? RUNS_SECRET : RUNS_FULL);
    }
    json_out_close(&j, ']');
    free(rows);
}
