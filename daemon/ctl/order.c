/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/order.h"

#include <inttypes.h>
#include <stdio.h>

#include "ctl/args.h"
#include "ctl/ask.h"
#include "ctl/reader.h"
#include "ctl/verb.h"

/* The pause between two polls doubles: a short run is noticed at once, and a long one costs few
 * requests. The timeout is the default of --timeout. */
#define PAUSE_MIN_MS 20
#define PAUSE_MAX_MS 500
#define TIMEOUT_MS   120000

/* The members of an answer: to the start of a manual run, and to each poll for it. Members that the
 * answer lacks are 0. */
struct answer {
    bool numbered;  /* it has a number, so it is an answer of informerd */
    uint64_t order; /* the number of the manual run */
    uint64_t units; /* runs that belong to it */
    uint64_t left;  /* runs of these that have not ended */
    uint64_t failed;
};

/* One manual run that the user waits for. */
struct wait {
    const struct args *args;
    uint64_t order;    /* its number */
    uint64_t until_ms; /* monotonic */
    struct buf json;   /* the last answer */
    struct answer answer;
};

static void on_leaf(void *arg, const struct leaf *leaf)
{
    struct answer *a = arg;

    if (reader_leads(leaf, 0, "order")) {
        a->order = reader_whole(leaf);
        a->numbered = leaf->type == JSON_NUMBER;
    } else if (reader_leads(leaf, 0, "units")) {
        a->units = reader_whole(leaf);
    } else if (reader_leads(leaf, 0, "left")) {
        a->left = reader_whole(leaf);
    } else if (reader_leads(leaf, 0, "failed")) {
        a->failed = reader_whole(leaf);
    }
}

/* Sends a request, and reads the answer into w->answer. */
static enum command_exit ask(struct wait *w, const struct ask *what, struct buf *complaint)
{
    struct err err = {0};

    buf_free(&w->json);
    w->answer = (struct answer){0};
    enum command_exit code = ask_daemon(w->args, what, &w->json, complaint);
    if (code != EXIT_FINE)
        return code;
    if (reader_scan(buf_str(&w->json), on_leaf, &w->answer, &err) == ERR_OK && !w->answer.numbered)
        err_set(&err, ERR_PROTOCOL, 0, "the answer has no number");
    return err.kind == ERR_OK ? EXIT_FINE : ask_unreadable(w->args, &err, complaint);
}

/* Starts the manual run, and notes its number for the polls. */
static enum command_exit give(struct wait *w, struct buf *complaint)
{
    struct buf target = {0};

    verb_put_path(&target, "hooks", w->args->words[1], "run", w->args->words[2]);
    enum command_exit code = ask(w, &(struct ask){"POST", buf_cstr(&target)}, complaint);
    w->order = w->answer.order;
    buf_free(&target);
    return code;
}

static const char *runs(uint64_t n)
{
    return n == 1 ? "run" : "runs";
}

/* Polls until all runs of the manual run have ended. At the timeout they go on: nothing cancels a
 * run. */
static enum command_exit wait_for_end(struct wait *w, struct buf *complaint)
{
    const char *hook = w->args->words[1];
    unsigned pause_ms = PAUSE_MIN_MS;
    struct buf target = {0};
    char number[24];
    enum command_exit code;

    snprintf(number, sizeof(number), "%" PRIu64, w->order);
    verb_put_path(&target, "hooks", hook, "order", number);
    while ((code = ask(w, &(struct ask){"GET", buf_cstr(&target)}, complaint)) == EXIT_FINE) {
        if (w->answer.left == 0)
            break;
        if (verb_now_ms() >= w->until_ms) {
            buf_printf(complaint,
                       "%s: the runs have not ended yet; they go on, a longer --timeout waits for "
                       "them\n",
                       hook);
            code = EXIT_NO;
            break;
        }
        verb_pause(pause_ms);
        pause_ms = pause_ms * 2 < PAUSE_MAX_MS ? pause_ms * 2 : PAUSE_MAX_MS;
    }
    buf_free(&target);
    return code;
}

/* Prints the last answer. Failed runs are a complaint, also with -o json. */
static enum command_exit show(const struct wait *w, struct buf *out, struct buf *complaint)
{
    const struct answer *a = &w->answer;
    const char *hook = w->args->words[1];

    if (w->args->output == OUTPUT_JSON)
        buf_append_str(out, buf_str(&w->json));
    else if (!w->args->wait)
        buf_printf(out, "%s: %" PRIu64 " %s ordered\n", hook, a->units, runs(a->units));
    else if (a->failed == 0)
        buf_printf(out, "%s: %" PRIu64 " %s succeeded\n", hook, a->units, runs(a->units));
    if (a->failed == 0)
        return EXIT_FINE;
    buf_printf(complaint,
               "%s: %" PRIu64 " of %" PRIu64 " %s failed: informerctl runs %s tells why\n", hook,
               a->failed, a->units, runs(a->units), hook);
    return EXIT_NO;
}

enum command_exit order_run(const struct args *a, struct buf *out, struct buf *complaint)
{
    struct wait w = {
        .args = a,
        .until_ms = verb_now_ms() + (a->timeout != NULL ? a->timeout_ms : TIMEOUT_MS),
    };
    enum command_exit code = give(&w, complaint);

    if (code == EXIT_FINE && a->wait)
        code = wait_for_end(&w, complaint);
    if (code == EXIT_FINE)
        code = show(&w, out, complaint);
    buf_free(&w.json);
    return code;
}
