/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/command_hooks.h"

#include <inttypes.h>

#include "ctl/args.h"
#include "ctl/events.h"
#include "ctl/follow.h"
#include "ctl/order.h"
#include "ctl/reader.h"

static void put_hooks_target(struct buf *out, const struct args *a)
{
    (void)a;
    buf_puts(out, "/v1/hooks");
}

static enum err_kind print_hooks(struct verb_call *c, struct err *err)
{
    return verb_put_rows(c, &listing_hooks, LISTING_GROUP, err);
}

const struct verb command_hooks_list = {
    .name = "hooks",
    .arguments = "",
    .help = "the hooks: keys that wait, runs, failures",
    .options = VERB_NAMES,
    .method = "GET",
    .put_target = put_hooks_target,
    .print = print_hooks,
};

static void put_runs_target(struct buf *out, const struct args *a)
{
    if (a->word_count > 1)
        verb_put_path(out, "hooks", a->words[1], "runs", NULL);
    else
        buf_puts(out, "/v1/runs");
}

static enum err_kind print_runs(struct verb_call *c, struct err *err)
{
    return verb_put_rows(c, &listing_runs, LISTING_ARRAY, err);
}

const struct verb command_hooks_runs = {
    .name = "runs",
    .arguments = "[HOOK]",
    .help = "the last runs, and how they ended",
    .max = 1,
    .options = VERB_NAMES,
    .method = "GET",
    .put_target = put_runs_target,
    .print = print_runs,
};

static void put_why_target(struct buf *out, const struct args *a)
{
    verb_put_path(out, "hooks", a->words[1], "why", a->words[2]);
}

/* Remarks below a table are for people only: -o json and -o name are read by programs. */
static bool is_for_people(const struct verb_call *c)
{
    return c->args->output != OUTPUT_JSON && c->args->output != OUTPUT_NAME;
}

/* The daemon lists the first keys only; left_out is the number of the others. */
static void on_left_out(void *arg, const struct leaf *leaf)
{
    uint64_t *left_out = arg;

    if (reader_leads(leaf, 0, "left_out"))
        *left_out = reader_whole(leaf);
}

static enum err_kind print_why(struct verb_call *c, struct err *err)
{
    uint64_t left_out = 0;

    if (reader_scan(c->json, on_left_out, &left_out, err) != ERR_OK ||
        verb_put_rows(c, &listing_explain, LISTING_GROUP, err) != ERR_OK)
        return err->kind;
    if (left_out > 0 && is_for_people(c))
        buf_printf(c->out, "\nand %" PRIu64 " more keys\n", left_out);
    return ERR_OK;
}

const struct verb command_hooks_why = {
    .name = "why",
    .arguments = "HOOK [KEY]",
    .help = "what the hook or the key waits for",
    .min = 1,
    .max = 2,
    .options = VERB_NAMES,
    .method = "GET",
    .put_target = put_why_target,
    .print = print_why,
};

static void put_input_target(struct buf *out, const struct args *a)
{
    verb_put_path(out, "hooks", a->words[1], "input", a->words[2]);
}

static enum err_kind print_input(struct verb_call *c, struct err *err)
{
    (void)err;
    verb_put_json(c);
    return ERR_OK;
}

const struct verb command_hooks_input = {
    .name = "input",
    .arguments = "HOOK [KEY]",
    .help = "the JSON that a run would get now",
    .min = 1,
    .max = 2,
    .method = "GET",
    .put_target = put_input_target,
    .print = print_input,
};

/* --timeout only limits the wait of --wait. */
static bool fits_run(const struct args *a)
{
    return a->wait || a->timeout == NULL;
}

const struct verb command_hooks_run = {
    .name = "run",
    .arguments = "HOOK [KEY] [--wait]",
    .help = "runs the hook now",
    .min = 1,
    .max = 2,
    .options = VERB_WAIT | VERB_TIMEOUT,
    .fits = fits_run,
    .run = order_run,
};

/* pause and resume have the same paths, which end with the name of the command:
 * /v1/hooks/HOOK/pause, or /v1/pause for all hooks. */
static void put_pause_target(struct buf *out, const struct args *a)
{
    if (a->word_count > 1)
        verb_put_path(out, "hooks", a->words[1], a->words[0], NULL);
    else
        buf_printf(out, "/v1/%s", a->words[0]);
}

/* "kept":false in the answer: the state is not on disk, so the pause ends with the process. */
static void on_unkept(void *arg, const struct leaf *leaf)
{
    bool *unkept = arg;

    if (reader_leads(leaf, 0, "kept"))
        *unkept = leaf->type == JSON_FALSE;
}

static enum err_kind print_resume(struct verb_call *c, struct err *err)
{
    return verb_put_rows(c, &listing_pauses, LISTING_GROUP, err);
}

static enum err_kind print_pause(struct verb_call *c, struct err *err)
{
    bool unkept = false;

    if (reader_scan(c->json, on_unkept, &unkept, err) != ERR_OK || print_resume(c, err) != ERR_OK)
        return err->kind;
    if (unkept && is_for_people(c))
        buf_puts(c->out, "\na restart of informerd ends the pause: the state is not saved\n");
    return ERR_OK;
}

const struct verb command_hooks_pause = {
    .name = "pause",
    .arguments = "[HOOK]",
    .help = "starts no more runs of the hook, or of any hook",
    .max = 1,
    .options = VERB_NAMES,
    .method = "POST",
    .put_target = put_pause_target,
    .print = print_pause,
};

const struct verb command_hooks_resume = {
    .name = "resume",
    .arguments = "[HOOK]",
    .help = "ends a pause",
    .max = 1,
    .options = VERB_NAMES,
    .method = "POST",
    .put_target = put_pause_target,
    .print = print_resume,
};

const struct verb command_hooks_events = {
    .name = "events",
    .arguments = "[-f]",
    .help = "the last events, and with -f new ones",
    .options = VERB_FOLLOW,
    .run = events_run,
};

/* Prints the lines as they come; out stays empty. */
static enum command_exit run_stream(const struct args *a, struct buf *out, struct buf *complaint)
{
    struct buf target = {0};

    (void)out;
    verb_put_path(&target, "sources", a->words[1], "stream", NULL);
    enum command_exit code = follow_daemon(a, buf_cstr(&target), NULL, complaint);
    buf_free(&target);
    return code;
}

const struct verb command_hooks_stream = {
    .name = "stream",
    .arguments = "SOURCE",
    .help = "the objects, then each change, as NDJSON",
    .min = 1,
    .max = 1,
    .run = run_stream,
};
