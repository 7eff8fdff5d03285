/* SPDX-License-Identifier: Apache-2.0 */
#include "cache/replay.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/panic.h"
#include "cache/list_watch_replay.h"
#include "kube/object_scan.h"

struct replay {
    struct watch *watch;
    struct buf *items;            /* for each scope: its part of the list, with commas between */
    struct object_scan *scan;     /* of changes, by the rules of the watch */
    struct str kind, api_version; /* views of the resource of the watch */
};

/* ---- The resource */

/* The version in an apiVersion: all of it without a group. *group is the part before it. */
static struct str split(struct str api_version, struct str *group)
{
    const char *slash = memchr(api_version.p, '/', api_version.n);
    size_t n = slash != NULL ? (size_t)(slash - api_version.p) : 0;

    *group = str_of(api_version.p, n);
    return slash != NULL ? str_of(slash + 1, api_version.n - n - 1) : api_version;
}

/* The plural of a kind as Kubernetes guesses it: in small letters, with "s", "es" or "ies". */
static char *plural_of(struct str kind)
{
    char *word = mem_strndup(kind.p, kind.n);
    size_t n = kind.n;

    for (size_t i = 0; i < n; i++)
        word[i] = (char)tolower((unsigned char)word[i]);
    bool hisses = n > 0 && word[n - 1] == 's';
    bool ends_in_y = n > 0 && word[n - 1] == 'y';
    char *plural = mem_printf("%.*s%s", (int)(ends_in_y ? n - 1 : n), word,
                              ends_in_y ? "ies"
                              : hisses  ? "es"
                                        : "s");
    free(word);
    return plural;
}

/* Is the name of a resource that only a server knows one of this kind? */
static bool is_named(const struct resource *r, struct str kind)
{
    char *plural = plural_of(kind);
    bool is = resource_is_word(kind, r->plural) || resource_is_word(str_c(plural), r->plural);

    free(plural);
    return is;
}

bool replay_is_of(const struct resource *r, const struct object *o)
{
    struct str group;
    struct str version = split(object_api_version(o), &group);

    if ((r->group != NULL && !str_is(group, r->group)) ||
        (r->version != NULL && !str_is(version, r->version)))
        return false;
    return r->kind != NULL ? str_is(object_kind(o), r->kind) : is_named(r, object_kind(o));
}

static char *text_of(struct str s)
{
    return mem_strndup(s.p, s.n);
}

/* Completes the resource, as discovery does. */
static void resolve(struct watch *w, const struct object *example)
{
    const struct resource *wanted = watch_wants(w);
    struct str group = str_c(wanted->group != NULL ? wanted->group : "");
    struct str version = str_c(wanted->version != NULL ? wanted->version : "v1");
    struct str kind = str_c(wanted->plural);
    bool is_namespaced = true;
    struct err err;

    if (example != NULL) {
        version = split(object_api_version(example), &group);
        kind = object_kind(example);
        is_namespaced = object_namespace(example).n > 0;
    }
    struct resource found = {
        .text = mem_strdup(wanted->text),
        .plural = mem_strdup(wanted->plural),
        .group = text_of(group),
        .version = text_of(version),
        .kind = text_of(kind),
        .scope = is_namespaced ? RESOURCE_NAMESPACED : RESOURCE_CLUSTER_SCOPED,
    };
    if (watch_resolve(w, &found, &err) != ERR_OK) {
        /* With a server the watch would go on failing; here it serves with the other scope. */
        if (example != NULL)
            log_emit(LOG_LVL_WARN, "replay: with a server this watch would fail",
                     LOG_FIELDS(KV_STR("watch", watch_name(w)), KV_ERR(&err)));
        found.scope = is_namespaced ? RESOURCE_CLUSTER_SCOPED : RESOURCE_NAMESPACED;
        ensure(watch_resolve(w, &found, &err) == ERR_OK);
    }
    resource_fini(&found);
}

struct replay *replay_create(struct watch *w, const struct object *example)
{
    if (watch_wants(w) != NULL)
        resolve(w, example);
    const struct object_rules *rules = list_watch_rules(watch_list_watch(w, 0));
    return MEM_NEW(struct replay, .watch = w,
                   .items = mem_array(watch_list_watch_count(w), sizeof(struct buf)),
                   .scan = object_scan_create(rules), .kind = str_c(rules->kind),
                   .api_version = str_c(rules->api_version));
}

void replay_destroy(struct replay **rp)
{
    struct replay *r = *rp;

    if (r == NULL)
        return;
    *rp = NULL;
    for (size_t i = 0; i < watch_list_watch_count(r->watch); i++)
        buf_free(&r->items[i]);
    free(r->items);
    object_scan_destroy(&r->scan);
    free(r);
}

/* The scope whose requests select the object; NULL = none does. */
static struct list_watch *scope_of(const struct replay *r, const struct object *o, size_t *scope)
{
    *scope = watch_scope_of(r->watch, o);
    struct list_watch *lw = watch_list_watch(r->watch, *scope);
    return list_watch_selects(lw, o) ? lw : NULL;
}

/* ---- The list */

void replay_item(struct replay *r, struct object *o)
{
    size_t scope;

    if (scope_of(r, o, &scope) == NULL)
        return;
    struct buf *items = &r->items[scope];
    if (items->len > 0)
        buf_putc(items, ',');
    object_put_json(items, o);
}

static const struct http_head good = {
    .status = 200, .content_type = {"application/json", 16},
         .retry_after_s = -1
};

/* Answers the LIST of a scope. Its version is any: no watch goes on from it. */
static struct list_watch_action answer_list(const struct replay *r, size_t scope, struct now now)
{
    struct list_watch *lw = watch_list_watch(r->watch, scope);
    struct buf body = {0};

    buf_printf(&body,
               "{\"kind\":\"%.*sList\",\"apiVersion\":\"%.*s\",\"metadata\":{"
               "\"resourceVersion\":\"1\"},\"items\":[",
               STR_ARG(r->kind), STR_ARG(r->api_version));
    buf_append_str(&body, buf_str(&r->items[scope]));
    buf_puts(&body, "]}");
    list_watch_head(lw, &good, now.ms);
    ensure(list_watch_body(lw, body.data, body.len, now));
    buf_free(&body);
    buf_free(&r->items[scope]);
    return list_watch_end(lw, NULL, 0, now);
}

/* Plays the server until the watch of the scope is established. */
static void list_scope(const struct replay *r, size_t scope, struct now now)
{
    struct list_watch *lw = watch_list_watch(r->watch, scope);
    struct list_watch_action a = list_watch_start(lw, now.ms);

    while (a.what == LW_WAIT) /* the jitter of the start */
        a = list_watch_timer(lw, now.ms);
    ensure(a.what == LW_LIST);
    a = answer_list(r, scope, now);
    ensure(a.what == LW_WATCH);
    list_watch_head(lw, &good, now.ms);
}

void replay_listed(struct replay *r, struct now now)
{
    for (size_t i = 0; i < watch_list_watch_count(r->watch); i++)
        list_scope(r, i, now);
}

/* ---- Changes */

/* The object as the watch keeps it. *selected: match takes it. NULL: it cannot be used. */
static struct object *cut(const struct replay *r, const struct object *o, bool *selected,
                          const char **why)
{
    struct buf text = {0};
    struct object *kept = NULL;

    object_put_json(&text, o);
    object_scan_text(r->scan, buf_str(&text));
    if (object_scan_end(r->scan, r->kind, r->api_version, &kept) == OBJECT_SCAN_OK)
        *selected = object_scan_selected(r->scan);
    else
        *why = object_scan_unusable(r->scan, NULL).why;
    buf_free(&text);
    return kept;
}

/* The type that a recorded change has for this watch, whose selectors may be others than those of the
 * recording. */
static enum delta_type type_for(enum delta_type type, bool server_takes, bool match_takes)
{
    if (type == DELTA_DELETED || type == DELTA_LEFT)
        return type;
    if (!server_takes) /* a server says DELETED of an object that leaves a selector */
        return DELTA_DELETED;
    return match_takes ? type : DELTA_LEFT;
}

enum err_kind replay_change(struct replay *r, struct object *o, struct delta as, struct now now,
                            struct err *err)
{
    size_t scope;
    bool server_takes = scope_of(r, o, &scope) != NULL;
    struct list_watch *lw = watch_list_watch(r->watch, scope);
    bool match_takes = false;
    const char *why = NULL;
    struct object *kept = cut(r, o, &match_takes, &why);

    if (kept == NULL)
        return err_set(err, ERR_PROTOCOL, 0, "%.*s cannot be used: %s", STR_ARG(object_key(o)),
                       why);
    as.type = type_for(as.type, server_takes, match_takes);
    as.received_ns = now.wall_ns;
    as.now_ms = now.ms;
    list_watch_replay(lw, kept, as);
    object_unref(&kept);
    return ERR_OK;
}

void replay_stale(struct replay *r, bool stale, struct now now)
{
    for (size_t i = 0; i < watch_list_watch_count(r->watch); i++)
        list_watch_replay_stale(watch_list_watch(r->watch, i), stale, now.ms);
    watch_tick(r->watch, now);
}
