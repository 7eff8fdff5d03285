/* SPDX-License-Identifier: Apache-2.0 */
#include "conf/hook_conf.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "conf/check.h"
#include "conf/hook_output.h"
#include "conf/value.h"

enum { LIST_MAX = 1000, ATTEMPTS_MAX = 1000000, EXIT_MAX = 255, INPUT_VERSION = 1 };
enum { FILES_MAX = 100 }; /* informerd reads all of them at each start: io/fingerprints */
/* The defaults of settle in modes batch and snapshot: one burst of changes becomes one run. */
enum { GROUPED_SETTLE_MIN_MS = 200, GROUPED_SETTLE_MAX_MS = 2000 };

/* A record keeps the minute at which a key was parked, hence the least age, in a counter that goes
 * round after two years. An age of more than half a round cannot be told from a clock that was set
 * back (delivery_log_minutes_since() in hook/delivery_log), hence the longest one. */
#define PARKED_AGE_MIN_MS INT64_C(60000)
#define PARKED_AGE_MAX_MS (INT64_C(300) * 24 * 3600 * 1000)

#define GIB (INT64_C(1024) * 1024 * 1024)

/* Each in the order of its enum in conf/conf_hook.h. */
static const char *const modes[] = {"object", "batch", "snapshot", NULL};
static const char *const existing_words[] = {"run", "skip", NULL};
static const char *const effect_words[] = {"disk", "boot", "process", NULL};
static const char *const require_words[] = {"all", "any", NULL};
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
        return "is taken: INFORMERD_ is what informerd itself sets";
    return NULL;
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
const struct setting hook_conf_settings[] = {
    SETTING_ROW(LIST, sources, SETTING_RANGE(1, LIST_MAX), .check = check_filled),
    SETTING_ROW(WORD, mode, SETTING_DEFAULT("\"object\""), .words = modes),
    SETTING_ROW(LIST, command, SETTING_DEFAULT("[ ]"), SETTING_RANGE(0, LIST_MAX)),
    SETTING_ROW(STR, shell, SETTING_DEFAULT("\"\"")),
    SETTING_ROW(WORDS, events,
                SETTING_DEFAULT("[ \"added\", \"modified\", \"deleted\", \"left\" ]"),
                SETTING_RANGE(1, LIST_MAX), .words = events),
    SETTING_ROW(LIST, changes_in, SETTING_DEFAULT("[ ]"), SETTING_RANGE(0, LIST_MAX),
                .check = check_filled),
    SETTING_ROW(MAP, fields, SETTING_DEFAULT("{ }"), .check = check_filled,
                .check_name = field_fault),
    SETTING_ROW(WORD, existing, SETTING_DEFAULT("\"run\""), .words = existing_words),
    SETTING_ROW(WORD, effect, SETTING_DEFAULT("\"disk\""), .words = effect_words),
    SETTING_ROW(LIST, files, SETTING_DEFAULT("[ ]"), SETTING_RANGE(0, FILES_MAX),
                .check = check_path),
    SETTING_ROW(WORD, require, SETTING_DEFAULT("\"all\""), .words = require_words),
    SETTING_ROW(WORD, when_stale, SETTING_DEFAULT("\"run\""), .words = when_stale_words),
    SETTING_ROW(LIST, after, SETTING_DEFAULT("[ ]"), SETTING_RANGE(0, LIST_MAX),
                .check = check_filled),
    SETTING_ROW(SPAN, settle, SETTING_DEFAULT("[ \"0s\", \"0s\" ]"),
                SETTING_RANGE(0, SETTING_YEAR_MS)),
    SETTING_ROW(MS, min_interval, SETTING_DEFAULT("\"0s\""), SETTING_RANGE(0, SETTING_YEAR_MS)),
    SETTING_ROW(MS, splay, SETTING_DEFAULT("\"0s\""), SETTING_RANGE(0, SETTING_YEAR_MS)),
    SETTING_ROW(MS, rerun_every, SETTING_DEFAULT("\"off\""), SETTING_RANGE(1, SETTING_YEAR_MS),
                .zero = "off"),
    SETTING_ROW(MS, timeout, SETTING_DEFAULT("\"30s\""), SETTING_RANGE(1, SETTING_YEAR_MS)),
    SETTING_ROW(CODE, kill_signal, SETTING_DEFAULT("\"TERM\""), .code = value_signal,
                .put_code = value_put_signal, .expects = "the name of a signal, such as \"TERM\""),
    SETTING_ROW(MS, kill_grace, SETTING_DEFAULT("\"5s\""), SETTING_RANGE(0, SETTING_YEAR_MS)),
    SETTING_ROW(GROUP, retry, .group = retry_settings),
    SETTING_ROW(INTS, park_exit, SETTING_DEFAULT("[ ]"), SETTING_RANGE(1, EXIT_MAX)),
    SETTING_ROW(INT, parked_deletes, SETTING_DEFAULT("1000"), SETTING_RANGE(1, 1000000)),
    SETTING_ROW(MS, parked_age, SETTING_DEFAULT("\"7d\""),
                SETTING_RANGE(PARKED_AGE_MIN_MS, PARKED_AGE_MAX_MS)),
    SETTING_ROW(INT, concurrency, SETTING_DEFAULT("1"), SETTING_RANGE(1, 1000)),
    SETTING_ROW(STR, user, SETTING_DEFAULT("\"\"")),
    SETTING_ROW(STR, group, SETTING_DEFAULT("\"\"")),
    SETTING_ROW(CODE, umask, SETTING_DEFAULT("\"0022\""), .code = value_umask,
                .put_code = value_put_umask, .expects = "a mode in octal digits, such as \"0022\""),
    SETTING_ROW(MAP, environment, SETTING_DEFAULT("{ }"), .check = check_variables,
                .check_name = variable_fault),
    SETTING_ROW(BOOL, include_old, SETTING_DEFAULT("false")),
    SETTING_ROW(SIZE, log_limit, SETTING_DEFAULT("\"64KiB\""), SETTING_RANGE(1, GIB)),
    /* Any number is read: check_sense() says which version this release has. */
    SETTING_ROW(INT, input_version, SETTING_DEFAULT("1"), SETTING_RANGE(INT64_MIN, INT64_MAX)),
    SETTING_ROW(STR, output, SETTING_DEFAULT("\"\"")),
    SETTING_ROW(CODE, output_mode, SETTING_DEFAULT("\"0644\""), .code = value_umask,
                .put_code = value_put_umask, .expects = "a mode in octal digits, such as \"0644\""),
    SETTING_ROW(STR, output_owner, SETTING_DEFAULT("\"\""), .check = hook_output_owner_fault),
    SETTING_ROW(LIST, check, SETTING_DEFAULT("[ ]"), SETTING_RANGE(0, LIST_MAX)),
    SETTING_ROW(LIST, apply, SETTING_DEFAULT("[ ]"), SETTING_RANGE(0, LIST_MAX)),
    {.key = NULL},
};
#undef ROW_STRUCT

/* Exactly one of command and shell must be set. A setting that was refused is empty, too, but then
 * its own message is enough. Whether the program exists is checked in app/check. */
static void check_program(const struct conf_hook *h, struct problems *p)
{
    bool command = h->command.n > 0;
    bool shell = h->shell.v[0] != '\0';

    if (command && shell)
        problems_add(p, h->shell.at,
                     "hooks.%s.shell cannot stand beside command: leave one of them out",
                     h->name.v);
    if (!command && !shell && !problems_has(p, h->command.at) && !problems_has(p, h->shell.at))
        problems_add(p, h->name.at, "hooks.%s needs command or shell", h->name.v);
    if (command && check_path(h->command.v[0].v) != NULL)
        problems_add(p, h->command.v[0].at, "hooks.%s.command[0]: \"%.80s\" %s", h->name.v,
                     h->command.v[0].v, check_path(h->command.v[0].v));
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

static void check_files(const struct conf_hook *h, struct problems *p)
{
    char *what = mem_printf("hooks.%s.files", h->name.v);

    check_distinct(&h->files, what, p);
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

/* The single names of `after`; conf/hook_after looks for cycles. */
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

void hook_conf_check(const struct conf *c, struct conf_hook *h, struct problems *p)
{
    char *retry = mem_printf("hooks.%s.retry", h->name.v);

    check_program(h, p);
    check_sources(c, h, p);
    check_after(c, h, p);
    check_files(h, p);
    check_backoff(&h->retry.initial, &h->retry.max, retry, p);
    if (h->mode.v != CONF_MODE_OBJECT)
        check_grouped(h, p);
    check_sense(h, p);
    hook_output_check(c, h, p);
    free(retry);
}
