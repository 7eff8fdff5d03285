/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/command.h"

#include <string.h>

#include "ctl/args.h"
#include "ctl/command_hooks.h"
#include "ctl/reader.h"
#include "ctl/summary.h"
#include "ctl/verb.h"
#include "ctl/verify.h"

static void put_status_target(struct buf *out, const struct args *a)
{
    (void)a;
    buf_puts(out, "/v1/status");
}

/* The exit code says whether informerd is degraded in every output format, -o json as well. */
static enum err_kind print_status(struct verb_call *c, struct err *err)
{
    bool wide = c->args->output == OUTPUT_WIDE;
    bool degraded = false;

    if (summary_verdict(c->json, &degraded, err) != ERR_OK)
        return err->kind;
    c->exit = degraded ? EXIT_NO : EXIT_FINE;
    if (c->args->output != OUTPUT_JSON)
        return summary_put(c->out, c->json, wide, verb_now_s(), err);
    verb_put_json(c);
    return ERR_OK;
}

static void put_watches_target(struct buf *out, const struct args *a)
{
    (void)a;
    buf_puts(out, "/v1/watches");
}

/* The answer has two groups of rows: the views come below the watches, where there are any. */
static enum err_kind print_watches(struct verb_call *c, struct err *err)
{
    const struct listing_look look = {
        .rows = LISTING_GROUP, .wide = c->args->output == OUTPUT_WIDE, .now_s = verb_now_s()};

    if (verb_put_rows(c, &listing_watches, LISTING_GROUP, err) != ERR_OK)
        return err->kind;
    if (c->args->output == OUTPUT_JSON)
        return ERR_OK;
    if (c->args->output == OUTPUT_NAME)
        return listing_put_keys(c->out, &listing_views, LISTING_GROUP, c->json, err);
    return listing_put_below(c->out, &listing_views, &look, c->json, err);
}

static void put_objects_target(struct buf *out, const struct args *a)
{
    verb_put_path(out, "sources", a->words[1], "objects", a->words[2]);
}

/* A member that shows of which kind the objects of an answer are. */
struct trait {
    const char *name;
    size_t depth; /* of the member: in an object, or in an object of an array */
    bool found;
};

static void look_for_trait(void *arg, const struct leaf *leaf)
{
    struct trait *t = arg;

    t->found = t->found || (leaf->depth == t->depth && str_is(leaf->path[t->depth - 1], t->name));
}

/* A source is a watch or a view, and its objects need different columns. Only objects of a view
 * have local_ready. */
static enum err_kind print_objects(struct verb_call *c, struct err *err)
{
    enum listing_rows rows = c->args->word_count > 2 ? LISTING_ONE : LISTING_ARRAY;
    struct trait count = {.name = "local_ready", .depth = rows == LISTING_ONE ? 1 : 2};
    enum err_kind kind = reader_scan(c->json, look_for_trait, &count, err);

    if (kind != ERR_OK && c->args->output != OUTPUT_JSON)
        return err_wrap(err, "the answer cannot be read");
    return verb_put_rows(c, count.found ? &listing_endpoints : &listing_objects, rows, err);
}

/* Prints the result of an action: its text for people, or the daemon's answer. */
static enum err_kind print_done(struct verb_call *c, const char *watch, const char *what)
{
    if (c->args->output == OUTPUT_JSON)
        verb_put_json(c);
    else
        buf_printf(c->out, "%s: %s\n", watch, what);
    return ERR_OK;
}

static void put_relist_target(struct buf *out, const struct args *a)
{
    verb_put_path(out, "watches", a->words[1], "relist", NULL);
}

static enum err_kind print_relist(struct verb_call *c, struct err *err)
{
    (void)err;
    return print_done(c, c->args->words[1], "is listed again");
}

static bool is_accept(const struct args *a)
{
    return strcmp(a->words[1], "accept") == 0;
}

/* The first argument must be the decision: `guard WATCH` gets the usage, not a request. */
static bool fits_guard(const struct args *a)
{
    return is_accept(a) || strcmp(a->words[1], "reject") == 0;
}

static void put_guard_target(struct buf *out, const struct args *a)
{
    verb_put_path(out, "watches", a->words[2], is_accept(a) ? "guard/accept" : "guard/reject",
                  NULL);
}

static enum err_kind print_guard(struct verb_call *c, struct err *err)
{
    (void)err;
    return print_done(c, c->args->words[2],
                      is_accept(c->args) ? "the next list is applied, whatever it says"
                                         : "only a list that the guard would not hold is applied");
}

static const struct verb status_command = {
    .name = "status",
    .arguments = "",
    .help = "is all well? version, clusters, watches, views, hooks",
    .method = "GET",
    .put_target = put_status_target,
    .print = print_status,
};

static const struct verb watches_command = {
    .name = "watches",
    .arguments = "",
    .help = "watches and views: state, freshness, size",
    .options = VERB_NAMES,
    .method = "GET",
    .put_target = put_watches_target,
    .print = print_watches,
};

static const struct verb get_command = {
    .name = "get",
    .arguments = "SOURCE [KEY]",
    .help = "cached objects; KEY is NAMESPACE/NAME, or NAME",
    .min = 1,
    .max = 2,
    .options = VERB_NAMES,
    .method = "GET",
    .put_target = put_objects_target,
    .print = print_objects,
};

static const struct verb relist_command = {
    .name = "relist",
    .arguments = "WATCH",
    .help = "reads the whole watch from the server again",
    .min = 1,
    .max = 1,
    .method = "POST",
    .put_target = put_relist_target,
    .print = print_relist,
};

static const struct verb verify_command = {
    .name = "verify",
    .arguments = "WATCH [--timeout D]",
    .help = "compares the cache with the server; changes nothing",
    .min = 1,
    .max = 1,
    .options = VERB_NAMES | VERB_TIMEOUT,
    .run = verify_run,
};

static const struct verb guard_command = {
    .name = "guard",
    .arguments = "accept|reject WATCH",
    .help = "decides about a list that is held",
    .min = 2,
    .max = 2,
    .fits = fits_guard,
    .method = "POST",
    .put_target = put_guard_target,
    .print = print_guard,
};

/* In the order of the help text: first what exists, then hooks, then actions on watches. */
static const struct verb *const commands[] = {
    &status_command,     &watches_command,     &get_command,          &command_hooks_stream,
    &command_hooks_list, &command_hooks_runs,  &command_hooks_why,    &command_hooks_input,
    &command_hooks_run,  &command_hooks_pause, &command_hooks_resume, &command_hooks_events,
    &relist_command,     &verify_command,      &guard_command,
};

static const struct verb *find(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(commands); i++)
        if (strcmp(commands[i]->name, name) == 0)
            return commands[i];
    return NULL;
}

void command_put_help(struct buf *out)
{
    buf_puts(out, "usage: informerctl [--socket PATH] COMMAND [-o json|name|wide]\n\n");
    for (size_t i = 0; i < ARRAY_LEN(commands); i++)
        buf_printf(out, "  %-8s%-23s%s\n", commands[i]->name, commands[i]->arguments,
                   commands[i]->help);
    buf_puts(out,
             "\n"
             "  --socket PATH    control socket of informerd (" ARGS_SOCKET ")\n"
             "  --wait           run: waits until the runs have ended\n"
             "  --timeout D      verify, run --wait: how long to wait (2min)\n"
             "  -f, --follow     events: follows new events\n"
             "  -o json          the daemon's own answer\n"
             "  -o name          one name or key a line\n"
             "  -o wide          more columns\n"
             "  -h, --help       this text\n"
             "  -V, --version    the version\n\n"
             "Exit codes: 0 fine; 1 the answer is no (degraded, differences found, a run failed,\n"
             "nothing held, no such watch, hook or key, timeout); 2 informerd is not reachable;\n"
             "64 usage; 77 not allowed.\n");
}

/* The option that was given although the command does not have it, or NULL. Ignored silently, it
 * would mislead the user. */
static const char *foreign_option(const struct verb *v, const struct args *a)
{
    const struct {
        enum verb_option option;
        bool given;
        const char *name;
    } rows[] = {
        {VERB_NAMES,   a->output == OUTPUT_NAME, "-o name"  },
        {VERB_TIMEOUT, a->timeout != NULL,       "--timeout"},
        {VERB_WAIT,    a->wait,                  "--wait"   },
        {VERB_FOLLOW,  a->follow,                "-f"       },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (rows[i].given && (v->options & rows[i].option) == 0)
            return rows[i].name;
    return NULL;
}

/* Does the command take these arguments and options? If not, complaint says so. */
static bool fits(const struct verb *command, const struct args *a, struct buf *complaint)
{
    size_t n = a->word_count - 1;

    if (n < command->min || n > command->max || (command->fits != NULL && !command->fits(a)))
        buf_printf(complaint, "usage: informerctl %s %s\n", command->name, command->arguments);
    else if (foreign_option(command, a) != NULL)
        buf_printf(complaint, "%s has no %s\n", command->name, foreign_option(command, a));
    else
        return true;
    return false;
}

enum command_exit command_run(const struct args *a, struct buf *out, struct buf *complaint)
{
    const struct verb *command = a->word_count > 0 ? find(a->words[0]) : NULL;

    if (a->word_count == 0) {
        buf_puts(complaint, "a command is missing: informerctl --help lists them\n");
        return EXIT_USAGE;
    }
    if (command == NULL) {
        buf_printf(complaint, "unknown command %s: informerctl --help lists them\n", a->words[0]);
        return EXIT_USAGE;
    }
    if (!fits(command, a, complaint))
        return EXIT_USAGE;
    if (command->run != NULL)
        return command->run(a, out, complaint);
    return verb_ask(command, a, out, complaint);
}
