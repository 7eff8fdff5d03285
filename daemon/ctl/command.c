/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/command.h"

#include <string.h>
#include <time.h>

#include "ctl/args.h"
#include "ctl/ask.h"
#include "ctl/summary.h"
#include "ctl/verify.h"
#include "ctl/view.h"
#include "proto/url.h"

struct call;

/* What is asked and how the answer is printed, or `run` alone. */
struct command {
    const char *name;
    const char *arguments;
    const char *help;
    size_t min; /* arguments */
    size_t max;
    bool names;   /* has -o name */
    bool timeout; /* has --timeout */
    const char *method;
    void (*put_target)(struct buf *out, const struct args *a);
    enum err_kind (*print)(struct call *c, struct err *err);
    bool (*fits)(const struct args *a); /* are the arguments such as it takes? NULL = all are */
    enum command_exit (*run)(const struct args *a, struct buf *out, struct buf *complaint);
};

/* One command on its way. */
struct call {
    const struct command *command;
    const struct args *args;
    struct str json; /* the answer */
    struct buf *out;
    enum command_exit exit; /* if nothing goes wrong */
};

static int64_t now_s(void)
{
    return (int64_t)time(NULL);
}

static void put_json(struct call *c)
{
    buf_append_str(c->out, c->json);
    if (c->json.n > 0 && c->json.p[c->json.n - 1] != '\n')
        buf_putc(c->out, '\n');
}

static enum err_kind print_rows(struct call *c, const struct view *v, enum view_rows rows,
                                struct err *err)
{
    const struct view_look look = {
        .rows = rows,
        .wide = c->args->output == OUTPUT_WIDE,
        .now_s = now_s(),
    };

    if (c->args->output == OUTPUT_NAME)
        return view_put_keys(c->out, v, rows, c->json, err);
    if (c->args->output != OUTPUT_JSON)
        return view_put_table(c->out, v, &look, c->json, err);
    put_json(c);
    return ERR_OK;
}

static void put_status_target(struct buf *out, const struct args *a)
{
    (void)a;
    buf_puts(out, "/v1/status");
}

static enum err_kind print_status(struct call *c, struct err *err)
{
    bool wide = c->args->output == OUTPUT_WIDE;
    bool degraded = false;

    if (summary_verdict(c->json, &degraded, err) != ERR_OK)
        return err->kind;
    c->exit = degraded ? EXIT_NO : EXIT_FINE;
    if (c->args->output != OUTPUT_JSON)
        return summary_put(c->out, c->json, wide, now_s(), err);
    put_json(c);
    return ERR_OK;
}

static void put_watches_target(struct buf *out, const struct args *a)
{
    (void)a;
    buf_puts(out, "/v1/watches");
}

static enum err_kind print_watches(struct call *c, struct err *err)
{
    return print_rows(c, &view_watches, VIEW_GROUP, err);
}

static void put_hooks_target(struct buf *out, const struct args *a)
{
    (void)a;
    buf_puts(out, "/v1/hooks");
}

static enum err_kind print_hooks(struct call *c, struct err *err)
{
    return print_rows(c, &view_hooks, VIEW_GROUP, err);
}

static void put_watch_target(struct buf *out, const char *watch, const char *rest)
{
    buf_puts(out, "/v1/watches/");
    url_put_escaped(out, str_c(watch));
    buf_puts(out, rest);
}

static void put_objects_target(struct buf *out, const struct args *a)
{
    put_watch_target(out, a->words[1], "/objects");
    if (a->word_count < 3)
        return;
    buf_putc(out, '/');
    url_put_escaped(out, str_c(a->words[2]));
}

static enum err_kind print_objects(struct call *c, struct err *err)
{
    return print_rows(c, &view_objects, c->args->word_count > 2 ? VIEW_ONE : VIEW_ARRAY, err);
}

/* What was done, for people. */
static enum err_kind print_done(struct call *c, const char *watch, const char *what)
{
    if (c->args->output == OUTPUT_JSON)
        put_json(c);
    else
        buf_printf(c->out, "%s: %s\n", watch, what);
    return ERR_OK;
}

static void put_relist_target(struct buf *out, const struct args *a)
{
    put_watch_target(out, a->words[1], "/relist");
}

static enum err_kind print_relist(struct call *c, struct err *err)
{
    (void)err;
    return print_done(c, c->args->words[1], "is listed anew");
}

static bool is_accept(const struct args *a)
{
    return strcmp(a->words[1], "accept") == 0;
}

static bool fits_guard(const struct args *a)
{
    return is_accept(a) || strcmp(a->words[1], "reject") == 0;
}

static void put_guard_target(struct buf *out, const struct args *a)
{
    put_watch_target(out, a->words[2], is_accept(a) ? "/guard/accept" : "/guard/reject");
}

static enum err_kind print_guard(struct call *c, struct err *err)
{
    (void)err;
    return print_done(c, c->args->words[2],
                      is_accept(c->args) ? "the next list is applied, whatever it says"
                                         : "only a list is applied that the guard would not hold");
}

static const struct command status_command = {
    .name = "status",
    .arguments = "",
    .help = "is all well? version, clusters, watches, hooks",
    .method = "GET",
    .put_target = put_status_target,
    .print = print_status,
};

static const struct command watches_command = {
    .name = "watches",
    .arguments = "",
    .help = "the watches: state, freshness, size",
    .names = true,
    .method = "GET",
    .put_target = put_watches_target,
    .print = print_watches,
};

static const struct command get_command = {
    .name = "get",
    .arguments = "WATCH [KEY]",
    .help = "cached objects; KEY is NAMESPACE/NAME, or NAME",
    .min = 1,
    .max = 2,
    .names = true,
    .method = "GET",
    .put_target = put_objects_target,
    .print = print_objects,
};

static const struct command hooks_command = {
    .name = "hooks",
    .arguments = "",
    .help = "the hooks: what waits, runs, failed",
    .names = true,
    .method = "GET",
    .put_target = put_hooks_target,
    .print = print_hooks,
};

static const struct command relist_command = {
    .name = "relist",
    .arguments = "WATCH",
    .help = "reads the whole watch from the server again",
    .min = 1,
    .max = 1,
    .method = "POST",
    .put_target = put_relist_target,
    .print = print_relist,
};

static const struct command verify_command = {
    .name = "verify",
    .arguments = "WATCH [--timeout D]",
    .help = "compares it with the server; changes nothing",
    .min = 1,
    .max = 1,
    .names = true,
    .timeout = true,
    .run = verify_run,
};

static const struct command guard_command = {
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

static const struct command *const commands[] = {
    &status_command, &watches_command, &get_command,   &hooks_command,
    &relist_command, &verify_command,  &guard_command,
};

static const struct command *find(const char *name)
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
        buf_printf(out, "  %-8s%-21s%s\n", commands[i]->name, commands[i]->arguments,
                   commands[i]->help);
    buf_puts(out,
             "\n"
             "  --socket PATH    control socket of informerd (" ARGS_SOCKET ")\n"
             "  --timeout D      verify: how long to wait for the result (2min)\n"
             "  -o json          the daemon's own answer\n"
             "  -o name          one name or key a line\n"
             "  -o wide          more columns\n"
             "  -h, --help       this text\n"
             "  -V, --version    the version\n\n"
             "Exit codes: 0 fine; 1 the answer is no (degraded, differences found, nothing held,\n"
             "no such watch or key, timeout); 2 informerd is not reachable; 64 usage; 77 not\n"
             "allowed.\n");
}

static enum command_exit ask(const struct command *command, const struct args *a, struct buf *out,
                             struct buf *complaint)
{
    struct buf target = {0};
    struct buf json = {0};
    struct err err = {0};

    command->put_target(&target, a);
    enum command_exit code =
        ask_daemon(a, &(struct ask){command->method, buf_cstr(&target)}, &json, complaint);
    if (code == EXIT_FINE) {
        struct call c = {.command = command, .args = a, .json = buf_str(&json), .out = out};

        code = command->print(&c, &err) == ERR_OK ? c.exit : ask_unreadable(a, &err, complaint);
    }
    buf_free(&target);
    buf_free(&json);
    return code;
}

/* False: the command does not take what a has; complaint says so. */
static bool fits(const struct command *command, const struct args *a, struct buf *complaint)
{
    size_t n = a->word_count - 1;

    if (n < command->min || n > command->max || (command->fits != NULL && !command->fits(a)))
        buf_printf(complaint, "usage: informerctl %s %s\n", command->name, command->arguments);
    else if (a->output == OUTPUT_NAME && !command->names)
        buf_printf(complaint, "%s has no -o name\n", command->name);
    else if (a->timeout != NULL && !command->timeout)
        buf_printf(complaint, "%s has no --timeout\n", command->name);
    else
        return true;
    return false;
}

enum command_exit command_run(const struct args *a, struct buf *out, struct buf *complaint)
{
    const struct command *command = a->word_count > 0 ? find(a->words[0]) : NULL;

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
    return ask(command, a, out, complaint);
}
