/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/verify.h"

#include <inttypes.h>

#include "ctl/args.h"
#include "ctl/ask.h"
#include "ctl/reader.h"
#include "ctl/units.h"
#include "ctl/verb.h"

#define POLL_MS    100
#define TIMEOUT_MS 120000

/* The members of an answer: to the start of a comparison (only the number), and to each poll, which
 * has the result of the last comparison that ended. */
struct answer {
    uint64_t number; /* the comparisons of a watch are counted since informerd was started */
    uint64_t compared;
    uint64_t not_compared;
    uint64_t differences;
    uint64_t shown;   /* the differences that the answer names */
    bool idle;        /* no comparison is under way */
    bool applied;     /* a relist repairs the differences */
    bool numbered;    /* it has a number, so it is an answer of informerd */
    struct buf error; /* why the comparison has failed; "" = it has not */
};

/* One comparison that the user waits for. */
struct wait {
    const struct args *args;
    uint64_t number;   /* the number that its result will have */
    uint64_t until_ms; /* monotonic */
    struct buf target;
    struct buf json; /* the last answer */
    struct answer answer;
};

static void on_leaf(void *arg, const struct leaf *leaf)
{
    struct answer *a = arg;

    if (reader_leads(leaf, 0, "number")) {
        a->number = reader_whole(leaf);
        a->numbered = leaf->type == JSON_NUMBER;
    } else if (reader_leads(leaf, 0, "compared")) {
        a->compared = reader_whole(leaf);
    } else if (reader_leads(leaf, 0, "not_compared")) {
        a->not_compared = reader_whole(leaf);
    } else if (reader_leads(leaf, 0, "differences")) {
        a->differences = reader_whole(leaf);
    } else if (reader_leads(leaf, 0, "state")) {
        a->idle = str_is(leaf->text, "idle");
    } else if (reader_leads(leaf, 0, "applied")) {
        a->applied = leaf->type == JSON_TRUE;
    } else if (reader_leads(leaf, 0, "error")) {
        units_put_visible(&a->error, leaf->text);
    } else if (leaf->depth == 3 && str_is(leaf->path[0], "keys") && reader_leads(leaf, 2, "key")) {
        a->shown++;
    }
}

/* Sends a request, and reads the answer into w->answer. */
static enum command_exit ask(struct wait *w, const char *method, struct buf *complaint)
{
    const struct ask what = {.method = method, .target = buf_cstr(&w->target)};
    struct err err = {0};

    buf_free(&w->json);
    buf_free(&w->answer.error);
    w->answer = (struct answer){0};
    enum command_exit code = ask_daemon(w->args, &what, &w->json, complaint);
    if (code != EXIT_FINE)
        return code;
    if (reader_scan(buf_str(&w->json), on_leaf, &w->answer, &err) == ERR_OK && !w->answer.numbered)
        err_set(&err, ERR_PROTOCOL, 0, "the answer has no number");
    return err.kind == ERR_OK ? EXIT_FINE : ask_unreadable(w->args, &err, complaint);
}

/* Polls until the comparison w->number has ended; w->answer is then the result of it, or of a later
 * one. If no comparison is under way although the number is still smaller, informerd was restarted
 * and counts from 1 again. */
static enum command_exit wait_for_end(struct wait *w, struct buf *complaint)
{
    const char *watch = w->args->words[1];

    for (;;) {
        enum command_exit code = ask(w, "GET", complaint);

        if (code != EXIT_FINE || w->answer.number >= w->number)
            return code;
        if (w->answer.idle) {
            buf_printf(complaint, "%s: the comparison is lost: informerd was restarted\n", watch);
            return EXIT_NO;
        }
        if (verb_now_ms() >= w->until_ms) {
            buf_printf(complaint,
                       "%s: the comparison has not ended yet; it goes on, a longer --timeout waits "
                       "for it\n",
                       watch);
            return EXIT_NO;
        }
        verb_pause(POLL_MS);
    }
}

/* The line below the table, or alone if there are no differences. */
static void put_total(struct buf *out, const struct answer *a)
{
    if (a->differences == 0)
        buf_puts(out, "no differences");
    else if (a->differences == 1)
        buf_puts(out, "\n1 difference");
    else
        buf_printf(out, "\n%" PRIu64 " differences", a->differences);
    if (a->shown < a->differences)
        buf_printf(out, ", %" PRIu64 " of them shown", a->shown);
    if (a->applied && a->differences > 0)
        buf_puts(out, ", which a relist repairs");
    buf_printf(out, " (%" PRIu64 " objects compared", a->compared);
    if (a->not_compared > 0)
        buf_printf(out, ", %" PRIu64 " not: they changed meanwhile, or cannot be used",
                   a->not_compared);
    buf_puts(out, ")\n");
}

static enum err_kind put_result(struct buf *out, const struct wait *w, struct err *err)
{
    const struct listing_look look = {.rows = LISTING_GROUP};
    struct str json = buf_str(&w->json);

    if (w->args->output == OUTPUT_NAME)
        return listing_put_keys(out, &listing_differences, LISTING_GROUP, json, err);
    if (w->answer.differences > 0 &&
        listing_put_table(out, &listing_differences, &look, json, err) != ERR_OK)
        return err->kind;
    put_total(out, &w->answer);
    return ERR_OK;
}

/* The exit code is EXIT_NO for differences as well as for a comparison that has failed. */
static enum command_exit show(struct wait *w, struct buf *out, struct buf *complaint)
{
    bool failed = w->answer.error.len > 0;
    struct err err = {0};

    if (w->args->output == OUTPUT_JSON)
        buf_append_str(out, buf_str(&w->json));
    else if (failed)
        buf_printf(complaint, "%s cannot be compared: %s\n", w->args->words[1],
                   buf_cstr(&w->answer.error));
    else if (put_result(out, w, &err) != ERR_OK)
        return ask_unreadable(w->args, &err, complaint);
    return failed || w->answer.differences > 0 ? EXIT_NO : EXIT_FINE;
}

enum command_exit verify_run(const struct args *a, struct buf *out, struct buf *complaint)
{
    struct wait w = {
        .args = a,
        .until_ms = verb_now_ms() + (a->timeout != NULL ? a->timeout_ms : TIMEOUT_MS),
    };

    verb_put_path(&w.target, "watches", a->words[1], "verify", NULL);
    enum command_exit code = ask(&w, "POST", complaint);
    w.number = w.answer.number;
    if (code == EXIT_FINE)
        code = wait_for_end(&w, complaint);
    if (code == EXIT_FINE)
        code = show(&w, out, complaint);
    buf_free(&w.target);
    buf_free(&w.json);
    buf_free(&w.answer.error);
    return code;
}
