/* SPDX-License-Identifier: Apache-2.0 */
#include "conf/watch_conf.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "conf/check.h"
#include "conf/conf.h"
#include "conf/value.h"

enum { NAMES_MAX = 1000, PATHS_MAX = 1000, LABEL_MAX = 63, AT_LEAST_MAX = 1000000 };

/* In the order of enum conf_persist. */
static const char *const persist_words[] = {"full", "digest", "none", NULL};

/* A namespace is a DNS label (RFC 1123). */
static const char *namespace_fault(const char *text)
{
    size_t n = strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-");

    if (strcmp(text, "*") == 0)
        return NULL;
    if (n == 0 || n > LABEL_MAX || text[n] != '\0' || text[0] == '-' || text[n - 1] == '-')
        return "is no namespace: small letters, digits and -, or \"*\" for all";
    return NULL;
}

/* The name of an object becomes a part of the path of a request, so it must stay one component of
 * that path. Names are not checked further: some resources have names with ":" and capital
 * letters. */
static const char *name_fault(const char *text)
{
    if (text[0] == '\0' || strcmp(text, ".") == 0 || strcmp(text, "..") == 0 ||
        strpbrk(text, "/% \t") != NULL)
        return "is no name of an object";
    return NULL;
}

/* An element of match; kube/shape parses it later. */
static const char *match_fault(const char *text)
{
    const char *wrong = check_filled(text);

    return wrong != NULL ? wrong : check_variables(text);
}

/* Reads guard.relist_deletes: a percentage or "off". */
static bool read_share(const char *text, int64_t *out)
{
    if (strcmp(text, "off") != 0)
        return value_percent(text, out);
    *out = CONF_GUARD_OFF;
    return true;
}

/* Appends guard.relist_deletes as read_share() reads it. */
static void put_share(struct buf *out, int64_t share)
{
    if (share == CONF_GUARD_OFF)
        buf_puts(out, "off");
    else
        value_put_percent(out, share);
}

/* tests/lint/settings.py compares keys and defaults with config/informerd.conf. */
#define ROW_STRUCT struct conf_guard
static const struct setting guard_settings[] = {
    SETTING_ROW(CODE, relist_deletes, SETTING_DEFAULT("\"50%\""), .code = read_share,
                .put_code = put_share, .expects = "a whole percentage up to \"100%\", or \"off\""),
    SETTING_ROW(INT, at_least, SETTING_DEFAULT("10"), SETTING_RANGE(0, AT_LEAST_MAX)),
    SETTING_ROW(MS, hold, SETTING_DEFAULT("\"60s\""), SETTING_RANGE(0, SETTING_YEAR_MS)),
    {.key = NULL},
};
#undef ROW_STRUCT

#define ROW_STRUCT struct conf_watch
const struct setting watch_conf_settings[] = {
    SETTING_ROW(STR, cluster, SETTING_DEFAULT("\"\"")),
    SETTING_ROW(STR, resource, SETTING_RANGE(1, 0)),
    SETTING_ROW(LIST, namespaces, SETTING_DEFAULT("[ ]"), SETTING_RANGE(0, NAMES_MAX),
                .check = namespace_fault),
    SETTING_ROW(LIST, names, SETTING_DEFAULT("[ ]"), SETTING_RANGE(0, NAMES_MAX),
                .check = name_fault),
    SETTING_ROW(STR, label_selector, SETTING_DEFAULT("\"\""), .check = check_variables),
    SETTING_ROW(STR, field_selector, SETTING_DEFAULT("\"\""), .check = check_variables),
    SETTING_ROW(LIST, match, SETTING_DEFAULT("[ ]"), SETTING_RANGE(0, PATHS_MAX),
                .check = match_fault),
    SETTING_ROW(LIST, keep, SETTING_DEFAULT("[ ]"), SETTING_RANGE(0, PATHS_MAX),
                .check = check_filled),
    SETTING_ROW(LIST, drop, SETTING_DEFAULT("[ ]"), SETTING_RANGE(0, PATHS_MAX),
                .check = check_filled),
    SETTING_ROW(WORD, persist, SETTING_DEFAULT("\"full\""), .words = persist_words),
    SETTING_ROW(GROUP, guard, .group = guard_settings),
    SETTING_ROW(BOOL, confirm_deletes, SETTING_DEFAULT("false")),
    SETTING_ROW(MS, audit, SETTING_DEFAULT("\"off\""), SETTING_RANGE(1000, SETTING_YEAR_MS),
                .zero = "off"),
    {.key = NULL},
};
#undef ROW_STRUCT

/* A watch need not name the cluster if there is only one. With none, check_all() in conf/conf.c
 * reports that once for all watches. */
static void check_cluster(const struct conf *c, struct conf_watch *w, struct problems *p)
{
    if (w->cluster.v[0] != '\0') {
        if (conf_find_cluster(c, w->cluster.v) == NULL)
            problems_add(p, w->cluster.at, "watches.%s.cluster: there is no cluster \"%.80s\"",
                         w->name.v, w->cluster.v);
    } else if (c->n_clusters == 1) {
        free(w->cluster.v);
        w->cluster.v = mem_strdup(c->clusters[0].name.v);
    } else if (c->n_clusters > 1 && !problems_has(p, w->cluster.at)) {
        problems_add(p, w->name.at, "watches.%s.cluster is required: there are %zu clusters",
                     w->name.v, c->n_clusters);
    }
}

/* "*" beside a namespace would bring the objects of that namespace twice. */
static void check_all_alone(const struct conf_watch *w, struct problems *p)
{
    for (size_t i = 0; w->namespaces.n > 1 && i < w->namespaces.n; i++) {
        if (strcmp(w->namespaces.v[i].v, "*") == 0) {
            problems_add(p, w->namespaces.v[i].at,
                         "watches.%s.namespaces: \"*\" means all and must stand alone", w->name.v);
            return;
        }
    }
}

/* In any form that kubectl takes: NAME or NAME.VERSION. with the singular, the plural or the kind as
 * NAME. kube/resource would know, but conf may not include it (ARCHITECTURE.md "Layers"). */
bool watch_conf_has_secrets(const struct conf_watch *w)
{
    const char *resource = w->resource.v;
    static const char plural[] = "secrets";
    size_t n = strcspn(resource, ".");
    size_t all = strlen(resource);
    bool core = resource[n] == '\0' || resource[all - 1] == '.';

    /* "secrets" or "secret": the plural less its last letter. */
    return core && (n == strlen(plural) || n == strlen(plural) - 1) &&
           strncasecmp(resource, plural, n) == 0;
}

void watch_conf_check(const struct conf *c, struct conf_watch *w, struct problems *p)
{
    char *namespaces = mem_printf("watches.%s.namespaces", w->name.v);
    char *names = mem_printf("watches.%s.names", w->name.v);

    /* Contents of Secrets are on disk only if the user asks for that (docs/design.md
     * "Security"). */
    if (w->persist.at.line == 0 && watch_conf_has_secrets(w))
        w->persist.v = CONF_PERSIST_DIGEST;
    check_cluster(c, w, p);
    check_all_alone(w, p);
    check_distinct(&w->namespaces, namespaces, p);
    check_distinct(&w->names, names, p);
    free(namespaces);
    free(names);
}
