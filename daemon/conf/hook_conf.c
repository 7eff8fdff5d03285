/* SPDX-License-Identifier: Apache-2.0 */
#include "conf/hook_conf.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/capability.h"
#include "base/mem.h"
#include "base/path_template.h"
#include "conf/check.h"
#include "conf/conf.h"
#include "conf/value.h"
#include "conf/watch_conf.h"

enum { LIST_MAX = 1000, ATTEMPTS_MAX = 1000000, EXIT_MAX = 255, INPUT_VERSION = 1 };
enum { FILES_MAX = 100 }; /* informerd reads all of them at each start: io/fingerprints */
/* A program needs some memory to be started at all. A weight is as in cgroups(7), whose default is 100; the kernel
 * has at most so many processes. */
enum { MEMORY_MIN = 1024 * 1024, PIDS_MAX = 4194304, CPU_WEIGHT_MAX = 10000 };
/* The defaults of settle in modes batch and snapshot: one burst of changes becomes one run. */
enum { GROUPED_SETTLE_MIN_MS = 200, GROUPED_SETTLE_MAX_MS = 2000 };

/* A record keeps the minute at which a key was parked, hence the least age, in a counter that goes
 * round after two years. An age of more than half a round cannot be told from a clock that was set
 * back (delivery_log_minutes_since() in hook/delivery_log), hence the longest one. */
#define PARKED_AGE_MIN_MS INT64_C(60000)
#define PARKED_AGE_MAX_MS (INT64_C(300) * 24 * 3600 * 1000)

#define GIB (INT64_C(1024) * 1024 * 1024)

/* Each in the order of its enum in conf/hook_conf.h. */
static const char *const modes[] = {"object", "batch", "snapshot", NULL};
static const char *const existing_words[] = {"run", "skip", NULL};
static const char *const effect_words[] = {"disk", "boot", "process", NULL};
static const char *const require_words[] = {"all", "any", NULL};
static const char *const leave_words[] = {"keep", "kill", NULL};
static const char *const when_stale_words[] = {"run", "wait", NULL};

/* In the order of the bits of enum conf_event. */
static const char *const events[] = {"added", "modified", "deleted", "left",
                                     "stale", "fresh",    NULL};

/* Does the name have only letters, digits and _ ? */
static bool is_word(const char *name)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789";

    return strspn(name, letters) == strlen(name);
}

/* A field becomes a variable INFORMERD_FIELD_NAME, so NAME may begin with a digit. */
static const char *field_fault(const char *name)
{
    return is_word(name) ? NULL : "becomes part of a variable: letters, digits and _ only";
}

/* The name of a variable in `environment`: shells read no others. */
static const char *variable_fault(const char *name)
{
    if (!is_word(name) || (name[0] >= '0' && name[0] <= '9'))
        return "is none that a program can read: letters, digits and _, no digit first";
    if (strncmp(name, "INFORMERD_", strlen("INFORMERD_")) == 0)
        return "is taken: informerd itself sets the names that begin with INFORMERD_";
    return NULL;
}

/* Whether the names exist on this machine is checked in app/check. */
static const char *owner_fault(const char *text)
{
    const char *colon = strchr(text, ':');

    if (colon != NULL && (colon[1] == '\0' || strchr(colon + 1, ':') != NULL))
        return "must be \"USER\", \"USER:GROUP\" or \":GROUP\"";
    return NULL;
}

/* Whether informerd has it on this machine is checked in app/check. */
static const char *capability_fault(const char *name)
{
    unsigned number;

    return capability_find(name, &number) ? NULL
                                          : "is no capability, such as \"CAP_NET_ADMIN\": see "
                                            "capabilities(7)";
}

/* More may follow: the contents of other resources. */
static const char *files_from_fault(const char *text)
{
    return text[0] == '\0' || strcmp(text, "data") == 0 ? NULL : "must be \"data\"";
}

/* tests/lint/settings.py compares keys and defaults with config/informerd.conf. */
#define ROW_STRUCT struct conf_retry
static const struct setting retry_settings[] = {
    SETTING_ROW(MS, initial, SETTING_DEFAULT("\"1s\""), SETTING_RANGE(1, SETTING_YEAR_MS)),
    SETTING_ROW(NUM, factor, SETTING_DEFAULT("2.0"), SETTING_RANGE(1, 100)),
    SETTING_ROW(MS, max, SETTING_DEFAULT("\"5min\""), SETTING_RANGE(1, SETTING_YEAR_MS)),
    SETTING_ROW(INT, attempts, SETTING_DEFAULT("\"forever\""), SETTING_RANGE(1, ATTEMPTS_MAX),
                .zero = "forever"),
    {.key = NULL},
};
#undef ROW_STRUCT

#define ROW_STRUCT struct conf_hook
/* The class of each setting stands in informerd.conf(5), too: tests/lint/settings.py compares them. */
const struct setting hook_conf_settings[] = {
    SETTING_HOOK_ROW(RENEWS, LIST, sources, SETTING_RANGE(1, LIST_MAX), .check = check_filled),
    SETTING_HOOK_ROW(RENEWS, WORD, mode, SETTING_DEFAULT("\"object\""), .words = modes),
    SETTING_HOOK_ROW(RENEWS, LIST, command, SETTING_DEFAULT("[ ]"), SETTING_RANGE(0, LIST_MAX)),
    SETTING_HOOK_ROW(RENEWS, STR, shell, SETTING_DEFAULT("\"\"")),
    SETTING_HOOK_ROW(RENEWS, WORDS, events,
                     SETTING_DEFAULT("[ \"added\", \"modified\", \"deleted\", \"left\" ]"),
                     SETTING_RANGE(1, LIST_MAX), .words = events),
    SETTING_HOOK_ROW(RENEWS, LIST, changes_in, SETTING_DEFAULT("[ ]"), SETTING_RANGE(0, LIST_MAX),
                     .check = check_filled),
    SETTING_HOOK_ROW(RENEWS, MAP, fields, SETTING_DEFAULT("{ }"), .check = check_filled,
                     .check_name = field_fault),
    SETTING_HOOK_ROW(RENEWS, WORD, existing, SETTING_DEFAULT("\"run\""), .words = existing_words),
    SETTING_HOOK_ROW(IN_PLACE, WORD, effect, SETTING_DEFAULT("\"disk\""), .words = effect_words),
    SETTING_HOOK_ROW(RENEWS, LIST, files, SETTING_DEFAULT("[ ]"), SETTING_RANGE(0, FILES_MAX),
                     .check = check_path),
    SETTING_HOOK_ROW(IN_PLACE, WORD, require, SETTING_DEFAULT("\"all\""), .words = require_words),
    SETTING_HOOK_ROW(IN_PLACE, WORD, when_stale, SETTING_DEFAULT("\"run\""),
                     .words = when_stale_words),
    SETTING_HOOK_ROW(IN_PLACE, LIST, after, SETTING_DEFAULT("[ ]"), SETTING_RANGE(0, LIST_MAX),
                     .check = check_filled),
    SETTING_HOOK_ROW(IN_PLACE, SPAN, settle, SETTING_DEFAULT("[ \"0s\", \"0s\" ]"),
                     SETTING_RANGE(0, SETTING_YEAR_MS), .written_counts = true),
    SETTING_HOOK_ROW(IN_PLACE, MS, min_interval, SETTING_DEFAULT("\"0s\""),
                     SETTING_RANGE(0, SETTING_YEAR_MS)),
    SETTING_HOOK_ROW(IN_PLACE, MS, splay, SETTING_DEFAULT("\"0s\""),
                     SETTING_RANGE(0, SETTING_YEAR_MS)),
    SETTING_HOOK_ROW(IN_PLACE, MS, rerun_every, SETTING_DEFAULT("\"off\""),
                     SETTING_RANGE(1, SETTING_YEAR_MS), .zero = "off"),
    SETTING_HOOK_ROW(IN_PLACE, MS, timeout, SETTING_DEFAULT("\"30s\""),
                     SETTING_RANGE(1, SETTING_YEAR_MS)),
    SETTING_HOOK_ROW(IN_PLACE, CODE, kill_signal, SETTING_DEFAULT("\"TERM\""), .code = value_signal,
                     .put_code = value_put_signal,
                     .expects = "the name of a signal, such as \"TERM\""),
    SETTING_HOOK_ROW(IN_PLACE, MS, kill_grace, SETTING_DEFAULT("\"5s\""),
                     SETTING_RANGE(0, SETTING_YEAR_MS)),
    SETTING_HOOK_ROW(IN_PLACE, WORD, leave, SETTING_DEFAULT("\"keep\""), .words = leave_words),
    SETTING_HOOK_ROW(IN_PLACE, SIZE, memory_max, SETTING_DEFAULT("\"infinity\""),
                     SETTING_RANGE(MEMORY_MIN, 16384 * GIB), .zero = "infinity"),
    SETTING_HOOK_ROW(IN_PLACE, INT, pids_max, SETTING_DEFAULT("\"infinity\""),
                     SETTING_RANGE(1, PIDS_MAX), .zero = "infinity"),
    SETTING_HOOK_ROW(IN_PLACE, CODE, cpu_max, SETTING_DEFAULT("\"infinity\""),
                     .code = value_cpu_max, .put_code = value_put_cpu_max,
                     .expects = "percent of one CPU, such as \"50%\", or \"infinity\""),
    SETTING_HOOK_ROW(IN_PLACE, INT, cpu_weight, SETTING_DEFAULT("100"),
                     SETTING_RANGE(1, CPU_WEIGHT_MAX)),
    SETTING_HOOK_ROW(IN_PLACE, GROUP, retry, .group = retry_settings),
    SETTING_HOOK_ROW(IN_PLACE, INTS, park_exit, SETTING_DEFAULT("[ ]"), SETTING_RANGE(1, EXIT_MAX)),
    SETTING_HOOK_ROW(IN_PLACE, INT, parked_deletes, SETTING_DEFAULT("1000"),
                     SETTING_RANGE(1, 1000000)),
    SETTING_HOOK_ROW(IN_PLACE, MS, parked_age, SETTING_DEFAULT("\"7d\""),
                     SETTING_RANGE(PARKED_AGE_MIN_MS, PARKED_AGE_MAX_MS)),
    SETTING_HOOK_ROW(IN_PLACE, INT, concurrency, SETTING_DEFAULT("1"), SETTING_RANGE(1, 1000)),
    SETTING_HOOK_ROW(RENEWS, STR, user, SETTING_DEFAULT("\"\"")),
    SETTING_HOOK_ROW(RENEWS, STR, group, SETTING_DEFAULT("\"\"")),
    SETTING_HOOK_ROW(RENEWS, CODE, umask, SETTING_DEFAULT("\"0022\""), .code = value_umask,
                     .put_code = value_put_umask,
                     .expects = "a mode in octal digits, such as \"0022\""),
    SETTING_HOOK_ROW(RENEWS, LIST, capabilities, SETTING_DEFAULT("[ ]"), SETTING_RANGE(0, LIST_MAX),
                     .check = capability_fault),
    SETTING_HOOK_ROW(RENEWS, BOOL, no_new_privileges, SETTING_DEFAULT("false")),
    SETTING_HOOK_ROW(RENEWS, GROUP, rlimits, .group = rlimits_conf_settings),
    SETTING_HOOK_ROW(RENEWS, MAP, environment, SETTING_DEFAULT("{ }"), .check = check_variables,
                     .check_name = variable_fault),
    SETTING_HOOK_ROW(RENEWS, BOOL, include_old, SETTING_DEFAULT("false")),
    SETTING_HOOK_ROW(IN_PLACE, SIZE, log_limit, SETTING_DEFAULT("\"64KiB\""),
                     SETTING_RANGE(1, GIB)),
    SETTING_HOOK_ROW(IN_PLACE, BOOL, log_secrets, SETTING_DEFAULT("false")),
    /* Any number is read: check_sense() says which version this release has. */
    SETTING_HOOK_ROW(RENEWS, INT, input_version, SETTING_DEFAULT("1"),
                     SETTING_RANGE(INT64_MIN, INT64_MAX)),
    SETTING_HOOK_ROW(RENEWS, STR, files_from, SETTING_DEFAULT("\"\""), .check = files_from_fault),
    SETTING_HOOK_ROW(RENEWS, STR, output, SETTING_DEFAULT("\"\"")),
    SETTING_HOOK_ROW(RENEWS, CODE, output_mode, SETTING_DEFAULT("\"0644\""), .code = value_umask,
                     .put_code = value_put_umask,
                     .expects = "a mode in octal digits, such as \"0644\""),
    SETTING_HOOK_ROW(RENEWS, STR, output_owner, SETTING_DEFAULT("\"\""), .check = owner_fault),
    SETTING_HOOK_ROW(RENEWS, LIST, check, SETTING_DEFAULT("[ ]"), SETTING_RANGE(0, LIST_MAX)),
    SETTING_HOOK_ROW(RENEWS, LIST, apply, SETTING_DEFAULT("[ ]"), SETTING_RANGE(0, LIST_MAX)),
    {.key = NULL},
};
#undef ROW_STRUCT

/* ---- The rules for one hook */

/* Nothing is looked up in PATH: programs are named by their path. */
static void check_absolute(const struct conf_hook *h, const char *key, const struct conf_list *argv,
                           struct problems *p)
{
    const char *fault = argv->n > 0 ? check_path(argv->v[0].v) : NULL;

    if (fault != NULL)
        problems_add(p, argv->v[0].at, "hooks.%s.%s[0]: \"%.80s\" %s", h->name.v, key, argv->v[0].v,
                     fault);
}

static bool has_files_from(const struct conf_hook *h)
{
    return h->files_from.v[0] != '\0';
}

/* Exactly one of command, shell and files_from must be set. A setting that was refused is empty, too, but
 * then its own message is enough. Whether the program exists is checked in app/check. */
static void check_program(const struct conf_hook *h, struct problems *p)
{
    bool command = h->command.n > 0;
    bool shell = h->shell.v[0] != '\0';

    if (command && shell)
        problems_add(p, h->shell.at,
                     "hooks.%s.shell cannot stand beside command: leave one of them out",
                     h->name.v);
    if (has_files_from(h) && (command || shell))
        problems_add(p, command ? h->command.at : h->shell.at,
                     "hooks.%s.%s cannot stand beside files_from (line %d), which runs no program: "
                     "leave one of them out",
                     h->name.v, command ? "command" : "shell", h->files_from.at.line);
    if (!command && !shell && !has_files_from(h) && !problems_has(p, h->command.at) &&
        !problems_has(p, h->shell.at) && !problems_has(p, h->files_from.at))
        problems_add(p, h->name.at, "hooks.%s needs command or shell, or output with files_from",
                     h->name.v);
    check_absolute(h, "command", &h->command, p);
}

static void check_sources(const struct conf *c, const struct conf_hook *h, struct problems *p)
{
    char *what = mem_printf("hooks.%s.sources", h->name.v);

    for (size_t i = 0; i < h->sources.n; i++)
        if (conf_find_watch(c, h->sources.v[i].v) == NULL &&
            conf_find_view(c, h->sources.v[i].v) == NULL)
            problems_add(p, h->sources.v[i].at, "%s[%zu]: there is no watch or view \"%.80s\"",
                         what, i, h->sources.v[i].v);
    check_distinct(&h->sources, what, p);
    free(what);
}

/* The rules for modes batch and snapshot, where one run gets all changes: so there are no two runs
 * at a time, no single object to take fields from, and it pays to wait until a burst is over. A
 * settle that the user wrote stays. */
static void check_grouped(struct conf_hook *h, struct problems *p)
{
    if (h->concurrency.v != 1)
        problems_add(p, h->concurrency.at, "hooks.%s.concurrency must be 1 in mode \"%s\"",
                     h->name.v, modes[h->mode.v]);
    if (h->fields.n > 0)
        problems_add(p, h->fields.at,
                     "hooks.%s.fields needs mode \"object\": in mode \"%s\" a run is told of many "
                     "objects",
                     h->name.v, modes[h->mode.v]);
    if (h->settle.at.line == 0) {
        h->settle.min_ms = GROUPED_SETTLE_MIN_MS;
        h->settle.max_ms = GROUPED_SETTLE_MAX_MS;
    }
}

/* Refuses settings that would never do anything, and an input that this release cannot write. */
static void check_sense(const struct conf_hook *h, struct problems *p)
{
    if (h->when_stale.v == CONF_WHEN_STALE_WAIT && (h->events.v & CONF_EVENT_STALE) != 0)
        problems_add(p, h->when_stale.at,
                     "hooks.%s.when_stale: \"wait\" holds runs back while sources are stale, but "
                     "events (line %d) has \"stale\": leave one of them out",
                     h->name.v, h->events.at.line);
    if (h->include_old.v && h->mode.v == CONF_MODE_SNAPSHOT)
        problems_add(p, h->include_old.at,
                     "hooks.%s.include_old needs mode \"object\" or \"batch\": the changes of a "
                     "snapshot have no objects",
                     h->name.v);
    if (h->input_version.v != INPUT_VERSION)
        problems_add(p, h->input_version.at,
                     "hooks.%s.input_version: %" PRId64
                     " is not understood: this release understands %d",
                     h->name.v, h->input_version.v, INPUT_VERSION);
}

/* The single names of `after`; check_cycles() looks for cycles. */
static void check_after(const struct conf *c, const struct conf_hook *h, struct problems *p)
{
    char *what = mem_printf("hooks.%s.after", h->name.v);

    for (size_t i = 0; i < h->after.n; i++) {
        const struct conf_str *name = &h->after.v[i];

        if (strcmp(name->v, h->name.v) == 0)
            problems_add(p, name->at, "%s[%zu]: \"%s\" is this hook itself: leave it out", what, i,
                         name->v);
        else if (conf_find_hook(c, name->v) == NULL)
            problems_add(p, name->at, "%s[%zu]: there is no hook \"%.80s\"", what, i, name->v);
    }
    check_distinct(&h->after, what, p);
    free(what);
}

/* ---- The rules for output, check and apply (docs/design.md "Output files") */

enum {
    DEFAULT_MODE = 0644,
    NEEDED_EVENTS = CONF_EVENT_ADDED | CONF_EVENT_MODIFIED | CONF_EVENT_DELETED | CONF_EVENT_LEFT,
    SOURCE_EVENTS = CONF_EVENT_STALE | CONF_EVENT_FRESH
};

/* One file cannot have the name of one of many objects, and files of many objects must not have the
 * same path. ${node_name} is the same for all objects. */
static void check_variables_of(const struct conf_hook *h, unsigned used, struct problems *p)
{
    bool is_object = h->mode.v == CONF_MODE_OBJECT;
    bool has_key = (used & 1U << PATH_TEMPLATE_KEY) != 0;
    unsigned of_object = used & ~(1U << PATH_TEMPLATE_NODE_NAME | 1U << PATH_TEMPLATE_KEY);

    if (!is_object && of_object != 0)
        problems_add(p, h->output.at,
                     "hooks.%s.output: ${namespace}, ${name} and ${cluster} need mode \"object\": "
                     "in mode \"%s\" there is one file for all objects",
                     h->name.v, modes[h->mode.v]);
    if (has_key && !has_files_from(h) && !problems_has(p, h->files_from.at))
        problems_add(p, h->output.at,
                     "hooks.%s.output: ${key} needs files_from: it is the name of a member that "
                     "becomes a file",
                     h->name.v);
    if (!has_key && has_files_from(h))
        problems_add(
            p, h->output.at,
            "hooks.%s.output: needs ${key} with files_from (line %d), where each member of "
            "an object has a file of its own",
            h->name.v, h->files_from.at.line);
    /* With files_from, members of several objects may share a folder: whether two of them have the
     * same name shows only when they are there. */
    if (is_object && !has_files_from(h) && (used & 1U << PATH_TEMPLATE_NAME) == 0)
        problems_add(p, h->output.at,
                     "hooks.%s.output: needs ${name} in mode \"object\", where each object has a "
                     "file of its own (one file for all objects: mode = \"snapshot\")",
                     h->name.v);
}

/* Two hooks with one file would write it in turn, without end. Paths of mode object are compared as
 * templates only, as the names of objects are not known here. */
static void check_alone(const struct conf *c, const struct conf_hook *h, struct problems *p)
{
    for (const struct conf_hook *other = c->hooks; other < h; other++)
        if (strcmp(other->output.v, h->output.v) == 0) {
            problems_add(p, h->output.at,
                         "hooks.%s.output: hook %s (%s:%d) writes \"%.80s\", too: each needs a "
                         "file of its own",
                         h->name.v, other->name.v, other->output.at.file, other->output.at.line,
                         h->output.v);
            return;
        }
}

/* A hook that does not hear of a change would leave an old file. */
static void check_events(const struct conf_hook *h, struct problems *p)
{
    if ((h->events.v & NEEDED_EVENTS) != NEEDED_EVENTS)
        problems_add(p, h->events.at,
                     "hooks.%s.events must have \"added\", \"modified\", \"deleted\" and "
                     "\"left\" with output (line %d): the file follows every change",
                     h->name.v, h->output.at.line);
    if (h->mode.v == CONF_MODE_OBJECT && (h->events.v & SOURCE_EVENTS) != 0)
        problems_add(p, h->events.at,
                     "hooks.%s.events: \"stale\" and \"fresh\" have no object, so no output "
                     "(line %d): leave them out, or use another hook for them",
                     h->name.v, h->output.at.line);
}

/* The rules for a hook that has output. Without a valid template the other rules have nothing to
 * look at. */
static void check_file(const struct conf *c, const struct conf_hook *h, struct problems *p)
{
    unsigned used = 0;
    struct err err;

    if (path_template_check(h->output.v, &used, &err) != ERR_OK) {
        problems_add(p, h->output.at, "hooks.%s.output: \"%.80s\" %s", h->name.v, h->output.v,
                     err.text);
        return;
    }
    check_variables_of(h, used, p);
    check_alone(c, h, p);
    check_events(h, p);
}

/* In mode object one apply is for the files of many objects (docs/design.md "Apply"), so ${file}
 * would not say which file. */
static void check_apply_file(const struct conf_hook *h, struct problems *p)
{
    for (size_t i = 0; i < h->apply.n && h->mode.v == CONF_MODE_OBJECT; i++)
        if (strstr(h->apply.v[i].v, "${file}") != NULL)
            problems_add(p, h->apply.v[i].at,
                         "hooks.%s.apply[%zu]: ${file} needs mode \"batch\" or \"snapshot\": in "
                         "mode \"object\" one apply is for the files of many objects",
                         h->name.v, i);
}

/* A setting without effect is a mistake that the user should hear of. */
static void check_needs_output(const struct conf_hook *h, const char *key, bool is_set,
                               struct where at, struct problems *p)
{
    if (is_set)
        problems_add(p, at, "hooks.%s.%s needs output: it is about the file that output names",
                     h->name.v, key);
}

/* The settings that files_from needs, and those that only a program could use. */
static void check_files_from(const struct conf_hook *h, struct problems *p)
{
    if (h->mode.v != CONF_MODE_OBJECT)
        problems_add(p, h->files_from.at,
                     "hooks.%s.files_from needs mode \"object\": each object has files of its own",
                     h->name.v);
    if (h->output.v[0] == '\0' && !problems_has(p, h->output.at))
        problems_add(p, h->files_from.at,
                     "hooks.%s.files_from needs output: the path of each file, such as "
                     "\"/etc/app/${name}/${key}\"",
                     h->name.v);
    if (h->fields.n > 0)
        problems_add(p, h->fields.at,
                     "hooks.%s.fields cannot stand beside files_from (line %d), which runs no "
                     "program that could read them",
                     h->name.v, h->files_from.at.line);
}

/* Reports problems of these settings of one hook, and whether a hook before it in c writes the same
 * file. */
static void check_output(const struct conf *c, const struct conf_hook *h, struct problems *p)
{
    if (has_files_from(h))
        check_files_from(h, p);
    check_absolute(h, "check", &h->check, p);
    check_absolute(h, "apply", &h->apply, p);
    check_apply_file(h, p);
    if (h->output.v[0] != '\0') {
        check_file(c, h, p);
    } else if (!problems_has(p, h->output.at)) { /* a refused output is empty, too */
        check_needs_output(h, "output_mode", h->output_mode.v != DEFAULT_MODE, h->output_mode.at,
                           p);
        check_needs_output(h, "output_owner", h->output_owner.v[0] != '\0', h->output_owner.at, p);
        check_needs_output(h, "check", h->check.n > 0, h->check.at, p);
        check_needs_output(h, "apply", h->apply.n > 0, h->apply.at, p);
    }
}

/* ---- The order of the first runs of all hooks, which `after` asks for */

enum { NONE = -1, SHOWN_MAX = 10 }; /* at most so many hooks of a cycle stand in a message */

/* Depth-first search: OPEN are the hooks on the way from the start to the current one, so an
 * element of `after` that leads to an OPEN hook closes a cycle. DONE hooks lead to no cycle that is
 * not reported yet. */
enum stop_state { STOP_NEW, STOP_OPEN, STOP_DONE };

/* A hook in the search, which goes from each hook to those that it waits for. It has no recursion:
 * a chain may be as long as the configuration, the stack is not. */
struct stop {
    enum stop_state state;
    size_t next;    /* index of the element of after to follow next */
    ptrdiff_t from; /* the hook that waits for this one; NONE = the search began here */
};

/* The index of the hook that element i of after names, or NONE. */
static ptrdiff_t target(const struct conf *c, const struct conf_hook *h, size_t i)
{
    const struct conf_hook *to = conf_find_hook(c, h->after.v[i].v);

    return to != NULL && to != h ? to - c->hooks : NONE;
}

/* The element of `after` that the hook last has just followed leads back to the hook first, which
 * is on the way to last. The message names the cycle in the order of the first runs. */
static void report_cycle(const struct conf *c, const struct stop *stops, ptrdiff_t last,
                         ptrdiff_t first, struct problems *p)
{
    const struct conf_hook *h = &c->hooks[last];
    size_t i = stops[last].next - 1;
    size_t shown = 0;
    struct buf chain = {0};

    for (ptrdiff_t at = last; at != stops[first].from; at = stops[at].from)
        if (shown++ < SHOWN_MAX)
            buf_printf(&chain, "%s before ", c->hooks[at].name.v);
    buf_printf(&chain, "%s%s", shown > SHOWN_MAX ? "... before " : "", h->name.v);
    problems_add(
        p, h->after.v[i].at,
        "hooks.%s.after[%zu]: \"%s\" closes a cycle (%s): leave it or another of these out",
        h->name.v, i, h->after.v[i].v, buf_cstr(&chain));
    buf_free(&chain);
}

/* Follows the next element of `after` of the hook at. Returns the hook where the search goes on:
 * the named one, or the same again, or the hook before it when all elements are done. */
static ptrdiff_t step(const struct conf *c, struct stop *stops, ptrdiff_t at, struct problems *p)
{
    const struct conf_hook *h = &c->hooks[at];

    if (stops[at].next == h->after.n) {
        stops[at].state = STOP_DONE;
        return stops[at].from;
    }
    ptrdiff_t to = target(c, h, stops[at].next++);
    if (to == NONE || stops[to].state == STOP_DONE)
        return at;
    if (stops[to].state == STOP_OPEN) {
        report_cycle(c, stops, at, to, p);
        return at;
    }
    stops[to] = (struct stop){.state = STOP_OPEN, .from = at};
    return to;
}

/* Reports each cycle at the element of `after` that closes it. Names without a hook, and hooks that
 * name themselves, are passed over here: check_after() reports them. */
static void check_cycles(const struct conf *c, struct problems *p)
{
    struct stop *stops = mem_array(c->n_hooks + 1, sizeof(*stops));

    for (size_t i = 0; i < c->n_hooks; i++) {
        if (stops[i].state != STOP_NEW)
            continue;
        stops[i] = (struct stop){.state = STOP_OPEN, .from = NONE};
        for (ptrdiff_t at = (ptrdiff_t)i; at != NONE;)
            at = step(c, stops, at, p);
    }
    free(stops);
}

static void check_hook(const struct conf *c, struct conf_hook *h, struct problems *p)
{
    char *retry = mem_printf("hooks.%s.retry", h->name.v);
    char *files = mem_printf("hooks.%s.files", h->name.v);
    char *capabilities = mem_printf("hooks.%s.capabilities", h->name.v);

    check_program(h, p);
    check_sources(c, h, p);
    check_after(c, h, p);
    check_distinct(&h->files, files, p);
    check_distinct(&h->capabilities, capabilities, p);
    check_backoff(&h->retry.initial, &h->retry.max, retry, p);
    if (h->mode.v != CONF_MODE_OBJECT)
        check_grouped(h, p);
    check_sense(h, p);
    check_output(c, h, p);
    free(retry);
    free(files);
    free(capabilities);
}

void hook_conf_check(struct conf *c, struct problems *p)
{
    for (size_t i = 0; i < c->n_hooks; i++)
        check_hook(c, &c->hooks[i], p);
    check_cycles(c, p);
}

/* Is the path ".data" or below it? The metadata of a Secret are no secret. */
static bool is_data(const char *path)
{
    const char *member = path[0] == '.' ? path + 1 : path;

    return strncmp(member, "data", 4) == 0 &&
           (member[4] == '\0' || member[4] == '.' || member[4] == '[');
}

bool hook_conf_has_secrets(const struct conf *c, const struct conf_hook *h)
{
    for (size_t i = 0; i < h->sources.n; i++) {
        const struct conf_watch *w = conf_find_watch(c, h->sources.v[i].v);

        if (w != NULL && watch_conf_has_secrets(w))
            return true;
    }
    return false;
}

const char *hook_conf_secret_field(const struct conf *c, const struct conf_hook *h)
{
    for (size_t i = 0; i < h->fields.n && hook_conf_has_secrets(c, h); i++)
        if (is_data(h->fields.v[i].value))
            return h->fields.v[i].name;
    return NULL;
}
