/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/command.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "base/nearest.h"
#include "base/visible.h"
#include "ctl/action.h"
#include "ctl/args.h"
#include "ctl/ask.h"
#include "ctl/events.h"
#include "ctl/findings.h"
#include "ctl/follow.h"
#include "ctl/listing.h"
#include "ctl/reader.h"
#include "ctl/record.h"
#include "ctl/reload.h"
#include "ctl/repeat.h"
#include "ctl/summary.h"
#include "ctl/terminal.h"
#include "ctl/top.h"
#include "ctl/wait.h"

/* Options that not every command has. */
enum command_option {
    WITH_NAMES = 1,     /* -o name */
    WITH_TIMEOUT = 2,   /* --timeout */
    WITH_WAIT = 4,      /* --wait */
    WITH_FOLLOW = 8,    /* -f */
    WITH_FOR = 16,      /* --for */
    WITH_SUBJECT = 32,  /* --watch, --hook */
    WITH_SECRETS = 64,  /* --with-secrets */
    WITH_REPEAT = 128,  /* -w */
    WITH_FILES = 256,   /* --files */
    WITH_DRY_RUN = 512, /* --dry-run */
};

/* An answer of the daemon that is being printed. */
struct answer {
    const struct args *args;
    struct str json;
    struct buf *out;
    enum command_exit exit; /* the exit code if printing succeeds; EXIT_FINE before */
};

/* One command. It has a method and a path: the request; the answer is printed by `print`, or, if
 * that is NULL, as `rows` of `listing`. Or it has only `run`, which does everything itself. */
struct command {
    const char *name;
    const char *arguments;
    const char *help;
    size_t min; /* the least and the most arguments */
    size_t max;
    unsigned options; /* enum command_option */
    const char *method;
    const char *path;        /* of ask_daemon() */
    const char *path_of_all; /* the path without arguments; NULL = path */
    const struct listing *listing;
    enum listing_rows rows;
    enum err_kind (*print)(struct answer *answer, struct err *err);
    bool (*fits)(const struct args *a); /* does the command take these? NULL = it takes any */
    enum command_exit (*run)(const struct args *a, struct buf *out, struct buf *complaint);
};

/* ---- Printing an answer */

static int64_t now_s(void)
{
    return (int64_t)time(NULL);
}

static enum err_kind print_json(struct answer *c, struct err *err)
{
    (void)err;
    terminal_put_json(c->out, c->json);
    if (c->json.n > 0 && c->json.p[c->json.n - 1] != '\n')
        buf_putc(c->out, '\n');
    return ERR_OK;
}

/* Prints the answer in the format that -o asks for: a table, keys, or the JSON itself. The check
 * that the answer is JSON is left to the tables: with -o json the bytes are passed on. */
static enum err_kind print_rows(struct answer *c, const struct listing *l, enum listing_rows rows,
                                struct err *err)
{
    const struct listing_look look = ask_look(c->args, rows);

    if (c->args->output == OUTPUT_NAME)
        return listing_put_keys(c->out, l, rows, c->json, err);
    if (c->args->output != OUTPUT_JSON)
        return listing_put_table(c->out, l, &look, c->json, err);
    return print_json(c, err);
}

/* The exit code says whether informerd is degraded in every output format, -o json as well. */
static enum err_kind print_status(struct answer *c, struct err *err)
{
    bool wide = c->args->output == OUTPUT_WIDE;
    bool degraded = false;

    if (summary_verdict(c->json, &degraded, err) != ERR_OK)
        return err->kind;
    c->exit = degraded ? EXIT_NO : EXIT_FINE;
    if (c->args->output != OUTPUT_JSON)
        return summary_put(c->out, c->json,
                           &(struct summary_look){wide, terminal_width_of_tables(), now_s(),
                                                  terminal_has_colour()},
                           err);
    return print_json(c, err);
}

/* The answer has two groups of rows: the views come below the watches, where there are any. */
static enum err_kind print_watches(struct answer *c, struct err *err)
{
    const struct listing_look look = ask_look(c->args, LISTING_GROUP);

    if (print_rows(c, &listing_watches, LISTING_GROUP, err) != ERR_OK)
        return err->kind;
    if (c->args->output == OUTPUT_JSON)
        return ERR_OK;
    if (c->args->output == OUTPUT_NAME)
        return listing_put_keys(c->out, &listing_views, LISTING_GROUP, c->json, err);
    return listing_put_below(c->out, &listing_views, &look, c->json, err);
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
static enum err_kind print_objects(struct answer *c, struct err *err)
{
    enum listing_rows rows = c->args->word_count > 2 ? LISTING_ONE : LISTING_ARRAY;
    struct trait count = {.name = "local_ready", .depth = rows == LISTING_ONE ? 1 : 2};
    enum err_kind kind = reader_scan(c->json, look_for_trait, &count, err);

    if (kind != ERR_OK && c->args->output != OUTPUT_JSON)
        return err_wrap(err, "the answer cannot be read");
    return print_rows(c, count.found ? &listing_endpoints : &listing_objects, rows, err);
}

/* Prints the result of an action on a watch: its text for people, or the daemon's answer. */
static enum err_kind print_done(struct answer *c, const char *watch, const char *text,
                                struct err *err)
{
    if (c->args->output == OUTPUT_JSON)
        return print_json(c, err);
    buf_printf(c->out, "%s: %s\n", watch, text);
    return ERR_OK;
}

static enum err_kind print_relist(struct answer *c, struct err *err)
{
    return print_done(c, c->args->words[1], "is listed again", err);
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

static enum err_kind print_guard(struct answer *c, struct err *err)
{
    return print_done(c, c->args->words[2],
                      is_accept(c->args) ? "the next list is applied, whatever it says"
                                         : "only a list that the guard would not hold is applied",
                      err);
}

/* Remarks below a table are for people only: -o json and -o name are read by programs. */
static bool is_for_people(const struct answer *c)
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

/* Collects each advice once, in the order of the units; three at most. */
struct advices {
    struct buf lines;
    size_t n;
};

static void on_advice(void *arg, const struct leaf *leaf)
{
    struct advices *a = arg;
    struct buf line = {0};

    if (leaf->depth != 3 || leaf->type != JSON_STRING || !str_is(leaf->path[0], "units") ||
        !str_is(leaf->path[2], "advice"))
        return;
    visible_put(&line, leaf->text);
    buf_putc(&line, '\n');
    if (a->n < 3 && strstr(buf_cstr(&a->lines), buf_cstr(&line)) == NULL) {
        buf_append_str(&a->lines, buf_str(&line));
        a->n++;
    }
    buf_free(&line);
}

static enum err_kind put_advices(struct answer *c, struct err *err)
{
    struct advices a = {0};
    enum err_kind kind = reader_scan(c->json, on_advice, &a, err);

    if (kind == ERR_OK && a.n > 0)
        buf_printf(c->out, "\n%.*s", STR_ARG(buf_str(&a.lines)));
    buf_free(&a.lines);
    return kind;
}

static enum err_kind print_why(struct answer *c, struct err *err)
{
    uint64_t left_out = 0;

    if (reader_scan(c->json, on_left_out, &left_out, err) != ERR_OK ||
        print_rows(c, &listing_explain, LISTING_GROUP, err) != ERR_OK)
        return err->kind;
    enum err_kind kind = is_for_people(c) ? put_advices(c, err) : ERR_OK;
    if (left_out > 0 && is_for_people(c))
        buf_printf(c->out, "\nand %" PRIu64 " more keys\n", left_out);
    return kind;
}

/* "kept":false in the answer: the state is not on disk, so the pause ends with the process. */
static void on_unkept(void *arg, const struct leaf *leaf)
{
    bool *unkept = arg;

    if (reader_leads(leaf, 0, "kept"))
        *unkept = leaf->type == JSON_FALSE;
}

/* Anything that was found is a "no", in every output format. */
static enum err_kind print_findings(struct answer *c, struct err *err)
{
    struct buf lines = {0};
    size_t n = 0;
    enum err_kind kind = findings_put(&lines, c->json, terminal_width_of_tables(), &n, err);

    if (kind == ERR_OK) {
        c->exit = n > 0 ? EXIT_NO : EXIT_FINE;
        kind = c->args->output == OUTPUT_JSON ? print_json(c, err) : ERR_OK;
        if (c->args->output != OUTPUT_JSON)
            buf_append_str(c->out, buf_str(&lines));
    }
    buf_free(&lines);
    return kind;
}

static enum err_kind print_pause(struct answer *c, struct err *err)
{
    bool unkept = false;

    if (reader_scan(c->json, on_unkept, &unkept, err) != ERR_OK ||
        print_rows(c, &listing_pauses, LISTING_GROUP, err) != ERR_OK)
        return err->kind;
    if (unkept && is_for_people(c))
        buf_puts(c->out, "\na restart of informerd ends the pause: the state is not saved\n");
    return ERR_OK;
}

/* ---- The commands */

/* --timeout only limits the wait of --wait. */
static bool fits_run(const struct args *a)
{
    return a->wait || a->timeout == NULL;
}

/* One watch or one hook, and then the level must be there. */
static bool fits_log_level(const struct args *a)
{
    bool special = a->watch != NULL || a->hook != NULL;

    return !(a->watch != NULL && a->hook != NULL) && (a->word_count > 1 || !special);
}

/* The screen is for people; `status -o json` has its figures. */
static bool fits_top(const struct args *a)
{
    return a->output == OUTPUT_TABLE;
}

static bool fits_wait(const struct args *a)
{
    return a->wait_for != NULL;
}

/* --timeout only limits the wait for the removal of files. */
static bool fits_forget(const struct args *a)
{
    return a->files || a->timeout == NULL;
}

/* Prints the lines as they come; out stays empty. */
static enum command_exit run_stream(const struct args *a, struct buf *out, struct buf *complaint)
{
    (void)out;
    return follow_daemon(a, "/v1/sources/%1/stream", NULL, complaint);
}

/* In the order of the help text: first the commands that show things, then hooks, then actions on watches. */
static const struct command commands[] = {
    {
     .name = "status",
     .arguments = "",
     .help = "is all well? clusters, watches, views, hooks",
     .options = WITH_REPEAT,
     .method = "GET",
     .path = "/v1/status",
     .print = print_status,
     },
    {
     .name = "doctor",
     .arguments = "",
     .help = "what is wrong, where, and what to type",
     .method = "GET",
     .path = "/v1/doctor",
     .print = print_findings,
     },
    {
     .name = "watches",
     .arguments = "",
     .help = "watches and views: state, freshness, size",
     .options = WITH_NAMES | WITH_REPEAT,
     .method = "GET",
     .path = "/v1/watches",
     .print = print_watches,
     },
    {
     .name = "get",
     .arguments = "SOURCE [KEY]",
     .help = "cached objects; KEY: NAMESPACE/NAME, or NAME",
     .min = 1,
     .max = 2,
     .options = WITH_NAMES | WITH_REPEAT,
     .method = "GET",
     .path = "/v1/sources/%1/objects/%2",
     .print = print_objects,
     },
    {
     .name = "stream",
     .arguments = "SOURCE",
     .help = "the objects, then each change, as NDJSON",
     .min = 1,
     .max = 1,
     .run = run_stream,
     },
    {
     .name = "record",
     .arguments = "WATCH... > FILE",
     .help = "the same of several, for informerd --replay",
     .min = 1,
     .max = ARGS_WORDS - 1,
     .options = WITH_SECRETS,
     .run = record_run,
     },
    {
     .name = "hooks",
     .arguments = "",
     .help = "the hooks: keys that wait, runs, failures",
     .options = WITH_NAMES | WITH_REPEAT,
     .method = "GET",
     .path = "/v1/hooks",
     .listing = &listing_hooks,
     .rows = LISTING_GROUP,
     },
    {
     .name = "runs",
     .arguments = "[HOOK]",
     .help = "the last runs, and how they ended",
     .max = 1,
     .options = WITH_NAMES | WITH_REPEAT,
     .method = "GET",
     .path = "/v1/hooks/%1/runs",
     .path_of_all = "/v1/runs",
     .listing = &listing_runs,
     .rows = LISTING_ARRAY,
     },
    {
     .name = "why",
     .arguments = "HOOK [KEY]",
     .help = "what the hook or the key waits for",
     .min = 1,
     .max = 2,
     .options = WITH_NAMES | WITH_REPEAT,
     .method = "GET",
     .path = "/v1/hooks/%1/why/%2",
     .print = print_why,
     },
    {
     .name = "input",
     .arguments = "HOOK [KEY]",
     .help = "the JSON that a run would get now",
     .min = 1,
     .max = 2,
     .method = "GET",
     .path = "/v1/hooks/%1/input/%2",
     .print = print_json,
     },
    {
     .name = "run",
     .arguments = "HOOK [KEY] [--wait]",
     .help = "runs the hook now",
     .min = 1,
     .max = 2,
     .options = WITH_WAIT | WITH_TIMEOUT,
     .fits = fits_run,
     .run = action_run,
     },
    {
     .name = "pause",
     .arguments = "[HOOK]",
     .help = "starts no more runs of it, or of any hook",
     .max = 1,
     .options = WITH_NAMES,
     .method = "POST",
     .path = "/v1/hooks/%1/%0",
     .path_of_all = "/v1/%0",
     .print = print_pause,
     },
    {
     .name = "resume",
     .arguments = "[HOOK]",
     .help = "ends a pause",
     .max = 1,
     .options = WITH_NAMES,
     .method = "POST",
     .path = "/v1/hooks/%1/%0",
     .path_of_all = "/v1/%0",
     .listing = &listing_pauses,
     .rows = LISTING_GROUP,
     },
    {
     .name = "forget",
     .arguments = "HOOK [--files]",
     .help = "forgets a hook that is not configured",
     .min = 1,
     .max = 1,
     .options = WITH_FILES | WITH_TIMEOUT,
     .fits = fits_forget,
     .run = action_forget,
     },
    {
     .name = "events",
     .arguments = "[-f]",
     .help = "the last events, and with -f new ones",
     .options = WITH_FOLLOW,
     .run = events_run,
     },
    {
     .name = "relist",
     .arguments = "WATCH",
     .help = "reads the whole watch from the server again",
     .min = 1,
     .max = 1,
     .method = "POST",
     .path = "/v1/watches/%1/relist",
     .print = print_relist,
     },
    {
     .name = "verify",
     .arguments = "WATCH [--timeout D]",
     .help = "compares cache and server; changes nothing",
     .min = 1,
     .max = 1,
     .options = WITH_NAMES | WITH_TIMEOUT,
     .run = action_verify,
     },
    {
     .name = "guard",
     .arguments = "accept|reject WATCH",
     .help = "decides about a list that is held",
     .min = 2,
     .max = 2,
     .fits = fits_guard,
     .method = "POST",
     .path = "/v1/watches/%2/guard/%1",
     .print = print_guard,
     },
    {
     .name = "reload",
     .arguments = "[--dry-run]",
     .help = "takes a changed configuration",
     .options = WITH_DRY_RUN,
     .run = reload_run,
     },
    {
     .name = "top",
     .arguments = "",
     .help = "a live view of watches and hooks",
     .fits = fits_top,
     .run = top_run,
     },
    {
     .name = "wait",
     .arguments = "--for synced|ready|idle [--timeout D]",
     .help = "waits until informerd is that",
     .options = WITH_FOR | WITH_TIMEOUT,
     .fits = fits_wait,
     .run = wait_run,
     },
    {
     .name = "log-level",
     .arguments = "[LEVEL|default] [--watch W|--hook H]",
     .help = "shows or sets the level of the log",
     .max = 1,
     .options = WITH_SUBJECT,
     .fits = fits_log_level,
     .run = action_log_level,
     },
};

static const struct command *find(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(commands); i++)
        if (strcmp(commands[i].name, name) == 0)
            return &commands[i];
    return NULL;
}

/* Arguments that are longer than their column push the help to a line of its own. */
static void put_help_of(struct buf *out, const struct command *c)
{
    enum { ARGUMENTS = 21 };

    buf_printf(out, "  %-10s%-*s", c->name, ARGUMENTS, c->arguments);
    if (strlen(c->arguments) >= ARGUMENTS)
        buf_printf(out, "\n  %-10s%-*s", "", ARGUMENTS, "");
    buf_printf(out, "%s\n", c->help);
}

void command_put_help(struct buf *out)
{
    buf_puts(out, "usage: informerctl [--socket PATH] COMMAND [-o json|name|wide]\n\n");
    for (size_t i = 0; i < ARRAY_LEN(commands); i++)
        put_help_of(out, &commands[i]);
    buf_puts(out,
             "\n"
             "  --socket PATH    control socket of informerd (" ARGS_SOCKET ")\n"
             "  --wait           run: waits until the runs have ended\n"
             "  --files          forget: removes the output files of the hook, too\n"
             "  --dry-run        reload: shows what would change, and changes nothing\n"
             "  --timeout D      verify, run --wait, forget --files, wait: how long (" ARGS_TIMEOUT
             ")\n"
             "  --for CONDITION  wait: synced, ready or idle\n"
             "  --watch W, --hook H\n"
             "                   log-level: of the lines about this watch or hook only\n"
             "  -f, --follow     events: follows new events\n"
             "  -w, --repeat     status, watches, get, hooks, runs, why: again when changed\n"
             "  --with-secrets   record: also watches of Secrets, with their data\n"
             "  -o json          the daemon's own answer\n"
             "  -o name          one name or key a line\n"
             "  -o wide          more columns\n"
             "  -h, --help       this text\n"
             "  -V, --version    the version\n\n"
             "Exit codes: 0 fine; 1 the answer is no (degraded, differences found, a run\n"
             "failed, nothing held, no such watch, hook or key, timeout); 2 informerd is not\n"
             "reachable; 64 usage; 77 not allowed; 78 the configuration is not good.\n");
}

void command_each(void (*cb)(void *arg, const char *name), void *arg)
{
    for (size_t i = 0; i < ARRAY_LEN(commands); i++)
        cb(arg, commands[i].name);
}

const char *command_arguments(const char *command)
{
    const struct command *c = find(command);

    return c != NULL ? c->arguments : NULL;
}

/* The options that only some commands have. */
static const struct own_option {
    enum command_option option;
    const char *name;
    const char *shown; /* as messages have it */
} own_options[] = {
    {WITH_TIMEOUT, "timeout",      "--timeout"     },
    {WITH_WAIT,    "wait",         "--wait"        },
    {WITH_FOLLOW,  "follow",       "-f"            },
    {WITH_SECRETS, "with-secrets", "--with-secrets"},
    {WITH_FOR,     "for",          "--for"         },
    {WITH_SUBJECT, "watch",        "--watch"       },
    {WITH_SUBJECT, "hook",         "--hook"        },
    {WITH_REPEAT,  "repeat",       "-w"            },
    {WITH_FILES,   "files",        "--files"       },
    {WITH_DRY_RUN, "dry-run",      "--dry-run"     },
};

/* For choose_option(). */
struct option_choice {
    const struct command *command; /* NULL: of any command */
    void (*cb)(void *arg, const char *name);
    void *arg;
};

static void choose_option(void *arg, const char *name)
{
    const struct option_choice *c = arg;
    bool has = true;

    for (size_t i = 0; c->command != NULL && i < ARRAY_LEN(own_options); i++)
        if (strcmp(own_options[i].name, name) == 0)
            has = (c->command->options & own_options[i].option) != 0;
    if (has)
        c->cb(c->arg, name);
}

void command_each_option(const char *command, void (*cb)(void *arg, const char *name), void *arg)
{
    struct option_choice c = {command != NULL ? find(command) : NULL, cb, arg};

    args_each_option(choose_option, &c);
}

/* The option that was given although the command does not have it, or NULL. Ignored silently, it
 * would mislead the user. */
static const char *foreign_option(const struct command *c, const struct args *a)
{
    if (a->output == OUTPUT_NAME && (c->options & WITH_NAMES) == 0)
        return "-o name";
    for (size_t i = 0; i < ARRAY_LEN(own_options); i++)
        if (args_has(a, own_options[i].name) && (c->options & own_options[i].option) == 0)
            return own_options[i].shown;
    return NULL;
}

/* Does the command take these arguments and options? If not, complaint says so. */
static bool fits(const struct command *command, const struct args *a, struct buf *complaint)
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

/* A command that is carried out. */
struct execution {
    const struct command *command;
    const struct args *args;
};

/* Sends the request of a command, and prints the answer, of which *json is a copy; a repeat_ask. */
static enum command_exit ask_and_print(void *arg, struct buf *json, struct buf *out,
                                       struct buf *complaint)
{
    const struct execution *e = arg;
    const struct command *command = e->command;
    const struct args *a = e->args;
    const char *path =
        a->word_count == 1 && command->path_of_all != NULL ? command->path_of_all : command->path;
    struct err err = {0};
    enum command_exit code = ask_daemon(a, command->method, path, json, complaint);

    if (code == EXIT_FINE) {
        struct answer answer = {.args = a, .json = buf_str(json), .out = out};
        enum err_kind kind = command->print != NULL
                                 ? command->print(&answer, &err)
                                 : print_rows(&answer, command->listing, command->rows, &err);

        code = kind == ERR_OK ? answer.exit : ask_unreadable(a, &err, complaint);
    }
    return code;
}

static enum command_exit carry_out(const struct command *command, const struct args *a,
                                   struct buf *out, struct buf *complaint)
{
    struct execution e = {command, a};
    struct buf json = {0};

    if (command->run != NULL)
        return command->run(a, out, complaint);
    if (a->repeat)
        return repeat_run(ask_and_print, &e, complaint);
    enum command_exit code = ask_and_print(&e, &json, out, complaint);
    buf_free(&json);
    return code;
}

static enum command_exit complain_unknown(const char *name, struct buf *complaint)
{
    struct nearest nearest = {.word = name};

    for (size_t i = 0; i < ARRAY_LEN(commands); i++)
        nearest_try(&nearest, commands[i].name);
    buf_printf(complaint, "unknown command %s: ", name);
    if (nearest.found != NULL)
        buf_printf(complaint, "did you mean %s? ", nearest.found);
    buf_puts(complaint, "informerctl --help lists them\n");
    return EXIT_USAGE;
}

enum command_exit command_run(const struct args *a, struct buf *out, struct buf *complaint)
{
    const struct command *command = a->word_count > 0 ? find(a->words[0]) : NULL;

    if (a->word_count == 0) {
        buf_puts(complaint, "a command is missing: informerctl --help lists them\n");
        return EXIT_USAGE;
    }
    if (command == NULL)
        return complain_unknown(a->words[0], complaint);
    if (!fits(command, a, complaint))
        return EXIT_USAGE;
    return carry_out(command, a, out, complaint);
}
