/* SPDX-License-Identifier: Apache-2.0 */
#include "conf/hook_conf.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "conf/check.h"
#include "conf/value.h"

enum { LIST_MAX = 1000, SNAPSHOT_SETTLE_MIN_MS = 200, SNAPSHOT_SETTLE_MAX_MS = 2000 };

static const char *const modes[] = {"object", "snapshot", NULL};
static const char *const existing_words[] = {"run", "skip", NULL};

/* In the order of the bits of enum conf_event. */
static const char *const events[] = {"added", "modified", "deleted", "left",
                                     "stale", "fresh",    NULL};

static const char *mode_fault(const char *text)
{
    return strcmp(text, "batch") == 0 ? "is not in this release: use \"object\" or \"snapshot\""
                                      : NULL;
}

static const char *variable_fault(const char *name)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789";

    if (strspn(name, letters) != strlen(name) || (name[0] >= '0' && name[0] <= '9'))
        return "is none that a program can read: letters, digits and _, no digit first";
    if (strncmp(name, "INFORMERD_", strlen("INFORMERD_")) == 0)
        return "is taken: INFORMERD_ is what informerd itself sets";
    return NULL;
}

#define ROW_STRUCT struct conf_retry
static const struct setting retry_settings[] = {
    SETTING_ROW(MS, initial, SETTING_DEFAULT("\"1s\""), SETTING_RANGE(1, SETTING_YEAR_MS)),
    SETTING_ROW(NUM, factor, SETTING_DEFAULT("2.0"), SETTING_RANGE(1, 100)),
    SETTING_ROW(MS, max, SETTING_DEFAULT("\"5min\""), SETTING_RANGE(1, SETTING_YEAR_MS)),
    {.key = NULL},
};
#undef ROW_STRUCT

#define ROW_STRUCT struct conf_hook
const struct setting hook_conf_settings[] = {
    SETTING_ROW(LIST, sources, SETTING_RANGE(1, LIST_MAX), .check = check_filled),
    SETTING_ROW(WORD, mode, SETTING_DEFAULT("\"object\""), .words = modes, .check = mode_fault),
    SETTING_ROW(LIST, command, SETTING_DEFAULT("[ ]"), SETTING_RANGE(0, LIST_MAX)),
    SETTING_ROW(STR, shell, SETTING_DEFAULT("\"\"")),
    SETTING_ROW(WORDS, events,
                SETTING_DEFAULT("[ \"added\", \"modified\", \"deleted\", \"left\" ]"),
                SETTING_RANGE(1, LIST_MAX), .words = events),
    SETTING_ROW(LIST, changes_in, SETTING_DEFAULT("[ ]"), SETTING_RANGE(0, LIST_MAX),
                .check = check_filled),
    SETTING_ROW(WORD, existing, SETTING_DEFAULT("\"run\""), .words = existing_words),
    SETTING_ROW(SPAN, settle, SETTING_DEFAULT("[ \"0s\", \"0s\" ]"),
                SETTING_RANGE(0, SETTING_YEAR_MS)),
    SETTING_ROW(MS, timeout, SETTING_DEFAULT("\"30s\""), SETTING_RANGE(1, SETTING_YEAR_MS)),
    SETTING_ROW(CODE, kill_signal, SETTING_DEFAULT("\"TERM\""), .code = value_signal,
                .put_code = value_put_signal, .expects = "the name of a signal, such as \"TERM\""),
    SETTING_ROW(MS, kill_grace, SETTING_DEFAULT("\"5s\""), SETTING_RANGE(0, SETTING_YEAR_MS)),
    SETTING_ROW(GROUP, retry, .group = retry_settings),
    SETTING_ROW(INT, concurrency, SETTING_DEFAULT("1"), SETTING_RANGE(1, 1000)),
    SETTING_ROW(STR, user, SETTING_DEFAULT("\"\"")),
    SETTING_ROW(STR, group, SETTING_DEFAULT("\"\"")),
    SETTING_ROW(CODE, umask, SETTING_DEFAULT("\"0022\""), .code = value_umask,
                .put_code = value_put_umask, .expects = "a mode in octal digits, such as \"0022\""),
    SETTING_ROW(MAP, environment, SETTING_DEFAULT("{ }"), .check = check_variables,
                .check_name = variable_fault),
    {.key = NULL},
};
#undef ROW_STRUCT

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
        if (conf_find_watch(c, h->sources.v[i].v) == NULL)
            problems_add(p, h->sources.v[i].at, "%s[%zu]: there is no watch \"%.80s\"", what, i,
                         h->sources.v[i].v);
    check_distinct(&h->sources, what, p);
    free(what);
}

/* One run sees everything: there is nothing to run beside it, and changes are worth waiting for. */
static void check_snapshot(struct conf_hook *h, struct problems *p)
{
    if (h->concurrency.v != 1)
        problems_add(p, h->concurrency.at, "hooks.%s.concurrency must be 1 in mode \"snapshot\"",
                     h->name.v);
    if (h->settle.at.line == 0) {
        h->settle.min_ms = SNAPSHOT_SETTLE_MIN_MS;
        h->settle.max_ms = SNAPSHOT_SETTLE_MAX_MS;
    }
}

void hook_conf_check(const struct conf *c, struct conf_hook *h, struct problems *p)
{
    char *retry = mem_printf("hooks.%s.retry", h->name.v);

    check_program(h, p);
    check_sources(c, h, p);
    check_ladder(&h->retry.initial, &h->retry.max, retry, p);
    if (h->mode.v == CONF_MODE_SNAPSHOT)
        check_snapshot(h, p);
    free(retry);
}
