/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/command.h"

#include <string.h>
#include <time.h>

#include "ctl/args.h"
#include "ctl/client.h"
#include "ctl/reader.h"
#include "ctl/summary.h"
#include "ctl/units.h"
#include "ctl/view.h"
#include "proto/url.h"

struct call;

/* One row of the table below. */
struct command {
    const char *name;
    const char *arguments;
    const char *help;
    size_t min; /* arguments */
    size_t max;
    bool names; /* has -o name */
    void (*put_target)(struct buf *out, const struct args *a);
    enum err_kind (*print)(struct call *c, struct err *err);
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

static void put_objects_target(struct buf *out, const struct args *a)
{
    buf_puts(out, "/v1/watches/");
    url_put_escaped(out, str_c(a->words[1]));
    buf_puts(out, "/objects");
    if (a->word_count < 3)
        return;
    buf_putc(out, '/');
    url_put_escaped(out, str_c(a->words[2]));
}

static enum err_kind print_objects(struct call *c, struct err *err)
{
    return print_rows(c, &view_objects, c->args->word_count > 2 ? VIEW_ONE : VIEW_ARRAY, err);
}

static const struct command commands[] = {
    {"status",  "",            "is all well? version, clusters, watches, hooks", 0, 0, false, put_status_target,
     print_status                                                                                                              },
    {"watches", "",            "the watches: state, freshness, size",            0, 0, true,  put_watches_target,
     print_watches                                                                                                             },
    {"get",     "WATCH [KEY]", "cached objects; KEY is NAMESPACE/NAME, or NAME", 1, 2, true,
     put_objects_target,                                                                                          print_objects},
    {"hooks",   "",            "the hooks: what waits, runs, failed",            0, 0, true,  put_hooks_target,   print_hooks  },
};

static const struct command *find(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(commands); i++)
        if (strcmp(commands[i].name, name) == 0)
            return &commands[i];
    return NULL;
}

void command_put_help(struct buf *out)
{
    buf_puts(out, "usage: informerctl [--socket PATH] COMMAND [-o json|name|wide]\n\n");
    for (size_t i = 0; i < ARRAY_LEN(commands); i++)
        buf_printf(out, "  %-8s%-13s%s\n", commands[i].name, commands[i].arguments,
                   commands[i].help);
    buf_puts(out, "\n"
                  "  --socket PATH    control socket of informerd (" ARGS_SOCKET ")\n"
                  "  -o json          the daemon's own answer\n"
                  "  -o name          one name or key a line\n"
                  "  -o wide          more columns\n"
                  "  -h, --help       this text\n"
                  "  -V, --version    the version\n\n"
                  "Exit codes: 0 fine; 1 the answer is no (degraded, no such key); 2 informerd is\n"
                  "not reachable; 64 usage; 77 not allowed.\n");
}

static enum command_exit exit_of(enum err_kind kind)
{
    return kind == ERR_FORBIDDEN ? EXIT_NOT_ALLOWED : EXIT_UNREACHABLE;
}

static void on_error_leaf(void *arg, const struct leaf *leaf)
{
    if (reader_leads(leaf, 0, "error"))
        units_put_visible(arg, leaf->text);
}

/* The daemon's refusal in its own words. */
static enum command_exit refuse(const struct client_reply *reply, struct buf *complaint)
{
    struct err err = {0};
    size_t before = complaint->len;

    if (reader_scan(buf_str(&reply->body), on_error_leaf, complaint, &err) != ERR_OK ||
        complaint->len == before)
        buf_printf(complaint, "the daemon answered with status %d", reply->status);
    buf_putc(complaint, '\n');
    return reply->status == 403 ? EXIT_NOT_ALLOWED : EXIT_NO;
}

static enum command_exit print(struct call *c, struct buf *complaint)
{
    struct err err = {0};

    if (c->command->print(c, &err) == ERR_OK)
        return c->exit;
    buf_printf(complaint, "%s: is it informerd that answers there? %s\n", c->args->socket,
               err.text);
    return EXIT_UNREACHABLE;
}

static enum command_exit ask(const struct command *command, const struct args *a, struct buf *out,
                             struct buf *complaint)
{
    struct client_reply reply;
    struct buf target = {0};
    struct err err = {0};
    enum command_exit code;

    command->put_target(&target, a);
    enum err_kind kind = client_get(a->socket, buf_cstr(&target), &reply, &err);
    buf_free(&target);
    if (kind != ERR_OK) {
        buf_printf(complaint, "%s\n", err.text);
        return exit_of(kind);
    }
    struct call c = {.command = command, .args = a, .json = buf_str(&reply.body), .out = out};
    code = reply.status == 200 ? print(&c, complaint) : refuse(&reply, complaint);
    buf_free(&reply.body);
    return code;
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
    if (a->word_count - 1 < command->min || a->word_count - 1 > command->max) {
        buf_printf(complaint, "usage: informerctl %s %s\n", command->name, command->arguments);
        return EXIT_USAGE;
    }
    if (a->output == OUTPUT_NAME && !command->names) {
        buf_printf(complaint, "%s has no -o name\n", command->name);
        return EXIT_USAGE;
    }
    return ask(command, a, out, complaint);
}
