/* SPDX-License-Identifier: Apache-2.0 */
/*
 * list_watch_script - a conversation between a list_watch and a server, as data: the answers of the
 * server, the changes that the store must report then, and the next action of the list_watch; pure.
 * Bodies come cut in two anywhere.
 */
#ifndef UNIT_LIST_WATCH_SCRIPT_H
#define UNIT_LIST_WATCH_SCRIPT_H

#include "objects.h"

#include "cache/list_watch.h"

/* Bodies. data and more are JSON, or "". */
#define ITEM(name, uid, rv, data)                                              \
    "{\"metadata\":{\"namespace\":\"ns\",\"name\":\"" name "\",\"uid\":\"" uid \
    "\",\"resourceVersion\":\"" rv "\"},\"data\":{" data "}}"
#define PAGE(rv, next, items)                                                                   \
    "{\"kind\":\"ConfigMapList\",\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":\"" rv \
    "\",\"continue\":\"" next "\"},\"items\":[" items "]}\n"
#define EVENT_OF(type, kind, name, uid, rv, data)                                  \
    "{\"type\":\"" type "\",\"object\":{\"kind\":\"" kind                          \
    "\",\"apiVersion\":\"v1\",\"metadata\":{\"namespace\":\"ns\",\"name\":\"" name \
    "\",\"uid\":\"" uid "\",\"resourceVersion\":\"" rv "\"},\"data\":{" data "}}}\n"
#define EVENT(type, name, uid, rv) EVENT_OF(type, "ConfigMap", name, uid, rv, "")
#define BOOKMARK(rv)                                                                   \
    "{\"type\":\"BOOKMARK\",\"object\":{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\"," \
    "\"metadata\":{"                                                                   \
    "\"resourceVersion\":\"" rv "\",\"creationTimestamp\":null}}}\n"
#define STATUS(code, reason, message)                                                    \
    "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Failure\"," \
    "\"message\":\"" message "\",\"reason\":\"" reason "\",\"code\":" code "}\n"
#define ERROR_EVENT(code, reason, message) \
    "{\"type\":\"ERROR\",\"object\":" STATUS(code, reason, message) "}\n"

#define INITIAL_END(rv)                                                                \
    "{\"type\":\"BOOKMARK\",\"object\":{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\"," \
    "\"metadata\":{"                                                                   \
    "\"resourceVersion\":\"" rv "\",\"annotations\":{\"k8s.io/initial-events-end\":\"true\"}}}}\n"

/* An answer: two objects, and the watch from 10 follows. */
#define SYNCED                                                                         \
    {                                                                                  \
        .code = 200,                                                                   \
        .body = PAGE("10", "", ITEM("a", "u1", "3", "") "," ITEM("b", "u2", "4", "")), \
        .heard = "+ns/a:u1:3 +ns/b:u2:4", .next = WATCH("10")                          \
    }

/* The next action of a list_watch. */
#define PATH             "/api/v1/configmaps"
#define LIST_ZERO        "LIST " PATH "?resourceVersion=0&limit=500"
#define LIST_FROM(rv)    "LIST " PATH "?resourceVersion=" rv
#define LIST_NEWEST      "LIST " PATH "?limit=500"
#define LIST_ALL         "LIST " PATH
#define LIST_NEXT(token) "LIST " PATH "?limit=500&continue=" token
#define WATCH(rv)        \
    "WATCH 310000 " PATH \
    "?watch=true&allowWatchBookmarks=true&timeoutSeconds=300&resourceVersion=" rv
#define STREAM                                                                      \
    "STREAM 310000 " PATH "?watch=true&allowWatchBookmarks=true&timeoutSeconds=300" \
    "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
#define STREAM_FROM(rv) STREAM "&resourceVersion=" rv
#define PROBE           "LIST " PATH "?limit=1"
#define HELD            "WAIT 60000, "

/* The settings of the watch. */
struct list_watch_script_setup {
    enum watch_list watch_list; /* AUTO: of a server that can */
    unsigned relist_deletes;    /* of the guard; 0 = off */
    bool no_hold;               /* its hold is "0s", not 60 s */
    const char *match;          /* NULL = none */
    const char *keep;           /* NULL = everything */
};

/* One answer of the server. */
struct answer {
    int code;              /* 0 = no answer at all */
    const char *type;      /* NULL = application/json */
    int64_t retry_after_s; /* 0 = not given */
    const char *body;
    enum err_kind cut_off; /* OK = the body is complete */
    bool brief;            /* the request ends at once, not after 2 s */
    /* "+ns/a:u1:7 ~ns/a:u1:8 -ns/a:u1:8? xns/b:u2:9" (x = left): "?" = the final state is unknown;
     * "(audit)" = the cause */
    const char *heard;
    const char *next; /* "WAIT MS, ..." goes on with the request behind the wait */
};

struct list_watch_script {
    struct resource resource; /* configmaps */
    struct shape *shape;      /* NULL = everything */
    struct store *store;
    struct guard_window window;
    struct list_watch *list_watch;
    struct list_watch_action action; /* the last one */
    struct now now;
    struct buf heard;
    struct buf next;
};

/* The setup of a group with cmocka: warnings are not written. */
int list_watch_script_be_quiet(void **state);

/* A list_watch of configmaps with its store, which has begun its first list. Release with
 * list_watch_script_fini(). */
void list_watch_script_init(struct list_watch_script *t,
                            const struct list_watch_script_setup *setup);

/* Frees the list_watch and its store. Zero-initialised is fine. */
void list_watch_script_fini(struct list_watch_script *t);

/* list_watch_script_fini(), then list_watch_script_init(). */
void list_watch_script_restart(struct list_watch_script *t,
                               const struct list_watch_script_setup *setup);

/* The head of a good response comes. */
void list_watch_script_head(struct list_watch_script *t);

/* A part of the body comes, and the request goes on. */
void list_watch_script_body(struct list_watch_script *t, const char *text);

/* Gives one answer, its body in two pieces cut behind cut bytes (SIZE_MAX: byte by byte), and checks the
 * changes that the store reported and the next action. */
void list_watch_script_answer(struct list_watch_script *t, const struct answer *a, size_t cut);

/* A whole conversation about configmaps, from the first list, once for every place to cut at. */
void list_watch_script_check(const struct list_watch_script_setup *setup,
                             const struct answer *answers, size_t n);

/* The same for a list_watch that is there already, without cuts. */
void list_watch_script_play(struct list_watch_script *t, const struct answer *answers, size_t n);

#endif
