/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/action.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "base/visible.h"
#include "ctl/args.h"
#include "ctl/ask.h"
#include "ctl/clock.h"
#include "ctl/listing.h"
#include "ctl/reader.h"
#include "ctl/terminal.h"
#include "proto/url.h"

/* Runs and removals are polled with pauses that double: a short one is noticed at once, and a long one costs
 * few requests. */
#define RUN_PAUSE_MIN_MS 20
#define RUN_PAUSE_MAX_MS 500
#define VERIFY_PAUSE_MS  100

/* One action that the user waits for. */
struct wait {
    const struct args *args;
    uint64_t until_ms; /* monotonic */
    struct buf json;   /* the last answer */
    struct buf *complaint;
};

/* Sleeps; a signal may end the sleep early. */
static void pause_ms(unsigned ms)
{
    const struct timespec pause = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000L};

    nanosleep(&pause, NULL);
}

static struct wait wait_begin(const struct args *a, struct buf *complaint)
{
    return (struct wait){
        .args = a, .until_ms = clock_ms() + args_timeout_ms(a), .complaint = complaint};
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

/* The pause after this one. */
static unsigned longer(unsigned pause)
{
    return pause * 2 < RUN_PAUSE_MAX_MS ? pause * 2 : RUN_PAUSE_MAX_MS;
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
        if (clock_ms() >= w->until_ms) {
            buf_printf(w->complaint,
                       "%s: the runs have not ended yet; they go on, a longer --timeout waits for "
                       "them\n",
                       w->args->words[1]);
            return EXIT_NO;
        }
        pause_ms(pause);
        pause = longer(pause);
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
        visible_put(&c->error, leaf->text);
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
 * a later one. If no comparison is under way although the number is still smaller, a reload has
 * replaced the watch, or informerd was restarted: it counts from 1 again. */
static enum command_exit wait_for_comparison(struct wait *w, struct comparison *c)
{
    const char *watch = w->args->words[1];
    uint64_t number = c->number;

    for (;;) {
        enum command_exit code = ask_comparison(w, "GET", c);

        if (code != EXIT_FINE || c->number >= number)
            return code;
        if (c->idle) {
            buf_printf(
                w->complaint,
                "%s: the comparison is lost: a reload has changed the watch, or informerd was "
                "restarted\n",
                watch);
            return EXIT_NO;
        }
        if (clock_ms() >= w->until_ms) {
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
    const struct listing_look look = ask_look(w->args, LISTING_GROUP);
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

/* ---- log-level */

/* {"level":L,"configured":L,"watches":{W:L},"hooks":{H:L}} */
struct levels {
    struct buf level;
    struct buf configured;
    struct buf special; /* a line for each watch and hook with a level of its own */
};

static void on_level_leaf(void *arg, const struct leaf *leaf)
{
    struct levels *l = arg;

    if (reader_leads(leaf, 0, "level")) {
        visible_put(&l->level, leaf->text);
    } else if (reader_leads(leaf, 0, "configured")) {
        visible_put(&l->configured, leaf->text);
    } else if (leaf->depth == 2) {
        buf_puts(&l->special, str_is(leaf->path[0], "watches") ? "watch " : "hook ");
        visible_put(&l->special, leaf->path[1]);
        buf_puts(&l->special, ": ");
        visible_put(&l->special, leaf->text);
        buf_putc(&l->special, '\n');
    }
}

static void put_levels(struct buf *out, const struct levels *l)
{
    buf_append_str(out, buf_str(&l->level));
    if (!str_eq(buf_str(&l->level), buf_str(&l->configured)))
        buf_printf(out, " (configured: %.*s)", STR_ARG(buf_str(&l->configured)));
    buf_putc(out, '\n');
    buf_append_str(out, buf_str(&l->special));
}

static void put_level_path(struct buf *path, const struct args *a)
{
    const char *name = a->watch != NULL ? a->watch : a->hook;

    buf_puts(path, "/v1/log-level");
    if (a->word_count > 1) {
        buf_putc(path, '/');
        url_put_escaped(path, str_c(a->words[1]));
    }
    if (name != NULL) {
        buf_printf(path, "/%s/", a->watch != NULL ? "watch" : "hook");
        url_put_escaped(path, str_c(name));
    }
}

enum command_exit action_log_level(const struct args *a, struct buf *out, struct buf *complaint)
{
    struct levels l = {0};
    struct buf path = {0};
    struct buf json = {0};
    struct err err = {0};

    put_level_path(&path, a);
    enum command_exit code =
        ask_target(a, a->word_count > 1 ? "POST" : "GET", buf_cstr(&path), &json, complaint);
    if (code == EXIT_FINE && reader_scan(buf_str(&json), on_level_leaf, &l, &err) != ERR_OK)
        code = ask_unreadable(a, &err, complaint);
    else if (code == EXIT_FINE && a->output == OUTPUT_JSON)
        buf_append_str(out, buf_str(&json));
    else if (code == EXIT_FINE)
        put_levels(out, &l);
    buf_free(&l.level);
    buf_free(&l.configured);
    buf_free(&l.special);
    buf_free(&path);
    buf_free(&json);
    return code;
}

/* ---- forget: has the daemon remove the files of a hook that is gone, and waits for that */

/* The members of an answer about a hook that is gone. */
struct forgetting {
    bool is_counted;
    uint64_t removing;
    uint64_t removed;
    uint64_t left;
    struct buf files; /* a newline, the path and the reason for each file that stays */
};

/* The daemon writes the members of a file in this order: hook, file, because. */
static void on_forgetting_leaf(void *arg, const struct leaf *leaf)
{
    struct forgetting *f = arg;

    if (reader_leads(leaf, 0, "removing")) {
        f->removing = reader_whole(leaf);
        f->is_counted = leaf->type == JSON_NUMBER;
    } else if (reader_leads(leaf, 0, "removed")) {
        f->removed = reader_whole(leaf);
    } else if (leaf->depth == 3 && str_is(leaf->path[0], "left")) {
        bool begins = str_is(leaf->path[2], "hook");

        f->left += begins;
        buf_puts(&f->files, begins ? "\n  " : "");
        if (begins)
            return;
        visible_put(&f->files, leaf->text);
        buf_puts(&f->files, str_is(leaf->path[2], "file") ? ": " : "");
    }
}

static enum command_exit ask_forgetting(struct wait *w, const char *method, const char *path,
                                        struct forgetting *f)
{
    buf_free(&f->files);
    *f = (struct forgetting){0};
    enum command_exit code = ask(w, method, path, on_forgetting_leaf, f);
    return code == EXIT_FINE ? need_number(w, f->is_counted) : code;
}

static enum command_exit wait_for_removal(struct wait *w, struct forgetting *f)
{
    unsigned pause = RUN_PAUSE_MIN_MS;

    while (f->removing > 0) {
        if (clock_ms() >= w->until_ms) {
            buf_printf(w->complaint, "%s: the files are not all removed yet; that goes on\n",
                       w->args->words[1]);
            return EXIT_NO;
        }
        pause_ms(pause);
        pause = longer(pause);
        enum command_exit code = ask_forgetting(w, "GET", "/v1/hooks/%1/forget", f);
        if (code != EXIT_FINE)
            return code;
    }
    return EXIT_FINE;
}

static enum command_exit show_forgetting(const struct wait *w, const struct forgetting *f,
                                         struct buf *out)
{
    const char *hook = w->args->words[1];
    bool stay = w->args->files && f->left > 0;

    if (w->args->output == OUTPUT_JSON)
        buf_append_str(out, buf_str(&w->json));
    else if (w->args->files)
        buf_printf(out, "%s: %" PRIu64 " %s removed\n", hook, f->removed,
                   f->removed == 1 ? "file" : "files");
    else
        buf_printf(out, "%s: is forgotten; its files stay\n", hook);
    if (!stay)
        return EXIT_FINE;
    buf_printf(w->complaint, "%s: %" PRIu64 " %s:%.*s\n", hook, f->left,
               f->left == 1 ? "file stays" : "files stay", (int)f->files.len, f->files.data);
    return EXIT_NO;
}

enum command_exit action_forget(const struct args *a, struct buf *out, struct buf *complaint)
{
    struct wait w = wait_begin(a, complaint);
    struct forgetting f = {0};
    enum command_exit code = ask_forgetting(
        &w, "POST", a->files ? "/v1/hooks/%1/forget/files" : "/v1/hooks/%1/forget", &f);

    if (code == EXIT_FINE && a->files)
        code = wait_for_removal(&w, &f);
    if (code == EXIT_FINE)
        code = show_forgetting(&w, &f, out);
    buf_free(&f.files);
    buf_free(&w.json);
    return code;
}
