/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/action.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "base/panic.h"
#include "ctl/args.h"
#include "ctl/ask.h"
#include "ctl/listing.h"
#include "ctl/reader.h"
#include "ctl/units.h"

/* Runs are polled with pauses that double: a short run is noticed at once, and a long one costs few
 * requests. The timeout is the default of --timeout. */
#define RUN_PAUSE_MIN_MS 20
#define RUN_PAUSE_MAX_MS 500
#define VERIFY_PAUSE_MS  100
#define TIMEOUT_MS       120000

/* One action that the user waits for. */
struct wait {
    const struct args *args;
    uint64_t until_ms; /* monotonic */
    struct buf json;   /* the last answer */
    struct buf *complaint;
};

static uint64_t now_ms(void)
{
    struct timespec t;

    ensure(clock_gettime(CLOCK_MONOTONIC, &t) == 0);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* Sleeps; a signal may end the sleep early. */
static void pause_ms(unsigned ms)
{
    const struct timespec pause = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000L};

    nanosleep(&pause, NULL);
}

static struct wait wait_begin(const struct args *a, struct buf *complaint)
{
    uint64_t timeout_ms = a->timeout != NULL ? a->timeout_ms : TIMEOUT_MS;

    return (struct wait){.args = a, .until_ms = now_ms() + timeout_ms, .complaint = complaint};
}

/* Sends a request for the path (ask_put_path()). on_leaf reads the answer, with arg. */
static enum command_exit ask(struct wait *w, const char *method, const char *path,
                             reader_cb *on_leaf, void *arg)
{
    struct err err = {0};

    buf_free(&w->json);
    enum command_exit code = ask_daemon(w->args, method, path, &w->json, w->complaint);
    if (code == EXIT_FINE && reader_scan(buf_str(&w->json), on_leaf, arg, &err) != ERR_OK)
        return ask_unreadable(w->args, &err, w->complaint);
    return code;
}

/* Each answer of informerd to an action has the number of that action. */
static enum command_exit need_number(const struct wait *w, bool is_there)
{
    struct err err = {0};

    if (is_there)
        return EXIT_FINE;
    err_set(&err, ERR_PROTOCOL, 0, "the answer has no number");
    return ask_unreadable(w->args, &err, w->complaint);
}

/* ---- run: has the daemon run a hook (a manual run), and with --wait waits for the end */

/* The members of an answer about a manual run. Members that the answer lacks are 0. */
struct runs {
    bool is_numbered;
    uint64_t number;
    uint64_t units; /* runs that belong to it */
    uint64_t left;  /* runs of these that have not ended */
    uint64_t failed;
};

static void on_runs_leaf(void *arg, const struct leaf *leaf)
{
    struct runs *r = arg;

    if (reader_leads(leaf, 0, "order")) {
        r->number = reader_whole(leaf);
        r->is_numbered = leaf->type == JSON_NUMBER;
    } else if (reader_leads(leaf, 0, "units")) {
        r->units = reader_whole(leaf);
    } else if (reader_leads(leaf, 0, "left")) {
        r->left = reader_whole(leaf);
    } else if (reader_leads(leaf, 0, "failed")) {
        r->failed = reader_whole(leaf);
    }
}

static enum command_exit ask_runs(struct wait *w, const char *method, const char *path,
                                  struct runs *r)
{
    *r = (struct runs){0};
    enum command_exit code = ask(w, method, path, on_runs_leaf, r);
    return code == EXIT_FINE ? need_number(w, r->is_numbered) : code;
}

/* Polls until all runs of the manual run have ended. At the timeout they go on: nothing cancels a
 * run. */
static enum command_exit wait_for_runs(struct wait *w, struct runs *r)
{
    unsigned pause = RUN_PAUSE_MIN_MS;
    char path[64];

    snprintf(path, sizeof(path), "/v1/hooks/%%1/order/%" PRIu64, r->number);
    for (;;) {
        enum command_exit code = ask_runs(w, "GET", path, r);

        if (code != EXIT_FINE || r->left == 0)
            return code;
        if (now_ms() >= w->until_ms) {
            buf_printf(w->complaint,
                       "%s: the runs have not ended yet; they go on, a longer --timeout waits for "
                       "them\n",
                       w->args->words[1]);
            return EXIT_NO;
        }
        pause_ms(pause);
        pause = pause * 2 < RUN_PAUSE_MAX_MS ? pause * 2 : RUN_PAUSE_MAX_MS;
    }
}

/* Prints the last answer. Failed runs are a complaint, also with -o json. */
static enum command_exit show_runs(const struct wait *w, const struct runs *r, struct buf *out)
{
    const char *hook = w->args->words[1];
    const char *runs = r->units == 1 ? "run" : "runs";

    if (w->args->output == OUTPUT_JSON)
        buf_append_str(out, buf_str(&w->json));
    else if (!w->args->wait)
        buf_printf(out, "%s: %" PRIu64 " %s ordered\n", hook, r->units, runs);
    else if (r->failed == 0)
        buf_printf(out, "%s: %" PRIu64 " %s succeeded\n", hook, r->units, runs);
    if (r->failed == 0)
        return EXIT_FINE;
    buf_printf(w->complaint,
               "%s: %" PRIu64 " of %" PRIu64 " %s failed: informerctl runs %s tells why\n", hook,
               r->failed, r->units, runs, hook);
    return EXIT_NO;
}

enum command_exit action_run(const struct args *a, struct buf *out, struct buf *complaint)
{
    struct wait w = wait_begin(a, complaint);
    struct runs r;
    enum command_exit code = ask_runs(&w, "POST", "/v1/hooks/%1/run/%2", &r);

    if (code == EXIT_FINE && a->wait)
        code = wait_for_runs(&w, &r);
    if (code == EXIT_FINE)
        code = show_runs(&w, &r, out);
    buf_free(&w.json);
    return code;
}

/* ---- verify: has the daemon compare a watch with the server (an audit), waits for the end, and
 * shows the differences */

static const char verify_path[] = "/v1/watches/%1/verify";

/* The members of an answer about a comparison: of the last one that ended, but for idle. Members
 * that the answer lacks are 0. */
struct comparison {
    bool is_numbered;
    uint64_t number; /* counted since informerd's start */
    bool idle;       /* no comparison is under way */
    bool applied;    /* a relist repairs the differences */
    uint64_t compared;
    uint64_t not_compared;
    uint64_t differences;
    uint64_t shown;   /* the differences that the answer names */
    struct buf error; /* why the comparison has failed; "" = it has not */
};

static void on_comparison_leaf(void *arg, const struct leaf *leaf)
{
    struct comparison *c = arg;

    if (reader_leads(leaf, 0, "number")) {
        c->number = reader_whole(leaf);
        c->is_numbered = leaf->type == JSON_NUMBER;
    } else if (reader_leads(leaf, 0, "compared")) {
        c->compared = reader_whole(leaf);
    } else if (reader_leads(leaf, 0, "not_compared")) {
        c->not_compared = reader_whole(leaf);
    } else if (reader_leads(leaf, 0, "differences")) {
        c->differences = reader_whole(leaf);
    } else if (reader_leads(leaf, 0, "state")) {
        c->idle = str_is(leaf->text, "idle");
    } else if (reader_leads(leaf, 0, "applied")) {
        c->applied = leaf->type == JSON_TRUE;
    } else if (reader_leads(leaf, 0, "error")) {
        units_put_visible(&c->error, leaf->text);
    } else if (leaf->depth == 3 && str_is(leaf->path[0], "keys") && reader_leads(leaf, 2, "key")) {
        c->shown++;
    }
}

static enum command_exit ask_comparison(struct wait *w, const char *method, struct comparison *c)
{
    buf_free(&c->error);
    *c = (struct comparison){0};
    enum command_exit code = ask(w, method, verify_path, on_comparison_leaf, c);
    return code == EXIT_FINE ? need_number(w, c->is_numbered) : code;
}

/* Polls until the comparison that c has the number of has ended; *c is then the result of it, or of
 * a later one. If no comparison is under way although the number is still smaller, informerd was
 * restarted and counts from 1 again. */
static enum command_exit wait_for_comparison(struct wait *w, struct comparison *c)
{
    const char *watch = w->args->words[1];
    uint64_t number = c->number;

    for (;;) {
        enum command_exit code = ask_comparison(w, "GET", c);

        if (code != EXIT_FINE || c->number >= number)
            return code;
        if (c->idle) {
            buf_printf(w->complaint, "%s: the comparison is lost: informerd was restarted\n",
                       watch);
            return EXIT_NO;
        }
        if (now_ms() >= w->until_ms) {
            buf_printf(w->complaint,
                       "%s: the comparison has not ended yet; it goes on, a longer --timeout waits "
                       "for it\n",
                       watch);
            return EXIT_NO;
        }
        pause_ms(VERIFY_PAUSE_MS);
    }
}

/* The line below the table, or alone if there are no differences. */
static void put_total(struct buf *out, const struct comparison *c)
{
    if (c->differences == 0)
        buf_puts(out, "no differences");
    else if (c->differences == 1)
        buf_puts(out, "\n1 difference");
    else
        buf_printf(out, "\n%" PRIu64 " differences", c->differences);
    if (c->shown < c->differences)
        buf_printf(out, ", %" PRIu64 " of them shown", c->shown);
    if (c->applied && c->differences > 0)
        buf_puts(out, ", which a relist repairs");
    buf_printf(out, " (%" PRIu64 " objects compared", c->compared);
    if (c->not_compared > 0)
        buf_printf(out, ", %" PRIu64 " not: they changed meanwhile, or cannot be used",
                   c->not_compared);
    buf_puts(out, ")\n");
}

static enum err_kind put_differences(struct buf *out, const struct wait *w,
                                     const struct comparison *c, struct err *err)
{
    const struct listing_look look = {.rows = LISTING_GROUP};
    struct str json = buf_str(&w->json);

    if (w->args->output == OUTPUT_NAME)
        return listing_put_keys(out, &listing_differences, LISTING_GROUP, json, err);
    if (c->differences > 0 &&
        listing_put_table(out, &listing_differences, &look, json, err) != ERR_OK)
        return err->kind;
    put_total(out, c);
    return ERR_OK;
}

/* The exit code is EXIT_NO for differences as well as for a comparison that has failed. */
static enum command_exit show_comparison(const struct wait *w, struct comparison *c,
                                         struct buf *out)
{
    bool failed = c->error.len > 0;
    struct err err = {0};

    if (w->args->output == OUTPUT_JSON)
        buf_append_str(out, buf_str(&w->json));
    else if (failed)
        buf_printf(w->complaint, "%s cannot be compared: %s\n", w->args->words[1],
                   buf_cstr(&c->error));
    else if (put_differences(out, w, c, &err) != ERR_OK)
        return ask_unreadable(w->args, &err, w->complaint);
    return failed || c->differences > 0 ? EXIT_NO : EXIT_FINE;
}

enum command_exit action_verify(const struct args *a, struct buf *out, struct buf *complaint)
{
    struct wait w = wait_begin(a, complaint);
    struct comparison c = {0};
    enum command_exit code = ask_comparison(&w, "POST", &c);

    if (code == EXIT_FINE)
        code = wait_for_comparison(&w, &c);
    if (code == EXIT_FINE)
        code = show_comparison(&w, &c, out);
    buf_free(&c.error);
    buf_free(&w.json);
    return code;
}
