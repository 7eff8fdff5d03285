/* SPDX-License-Identifier: Apache-2.0 */
#include "io/confirm_driver.h"

#include <stdlib.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/panic.h"
#include "cache/confirm.h"
#include "cache/watch.h"
#include "io/deadline.h"
#include "io/fetch.h"
#include "io/loop.h"
#include "kube/resource.h"
#include "proto/json_in.h"
#include "proto/url.h"

/* Only metadata.uid counts; a server that cannot send metadata alone sends the whole object
 * (docs/kubernetes-protocol.md "PartialObjectMetadata"). */
#define ACCEPT "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"

/* From the first try to connect to the end of the answer. The limit is short because one GET is
 * made at a time, and each DELETED waits for CONFIRM_PATIENCE_MS (30 s) at most. */
#define ANSWER_MS 10000

/* Bounds the answer. No object that an API server stores comes near this size. */
#define BODY_BYTES ((uint64_t)64 * 1024 * 1024)

/* Depths of the members of the object, and of metadata; and how long a token may be before only its
 * beginning is kept. */
enum { MEMBER_DEPTH = 1, UID_DEPTH = 2, TOKEN_BYTES = 64 * 1024 };

/* Under which member of the answer the tokens are now, as far as that matters. */
enum place { PLACE_ELSEWHERE, PLACE_METADATA, PLACE_UID };

struct confirm_driver {
    struct confirm_driver_params params;
    const struct confirm_driver_events *events;
    void *arg;
    struct loop_task kick; /* confirm_driver_kick() */
    struct deadline *wake; /* confirm_due_ms() */
    struct fetch *fetch;   /* NULL = no GET is under way */
    struct buf uid;        /* of the object that the GET asks for */
    struct json_in *json;  /* reads an answer with status 200 */
    uint64_t fed;          /* bytes that json got */
    enum place place;
    struct buf found;  /* metadata.uid of the answer; empty = not seen so far */
    struct err logged; /* the last failure; kind OK = none */
};

static struct confirm *confirm(const struct confirm_driver *c)
{
    return watch_confirm(c->params.watch);
}

static uint64_t now_ms(const struct confirm_driver *c)
{
    return loop_now_ms(c->params.loop);
}

static void tell_trouble(struct confirm_driver *c, const struct err *err)
{
    const char *remedy = err->kind == ERR_FORBIDDEN
                             ? "confirm_deletes needs the right to get objects, too"
                             : "without an answer in 30 s it counts as DELETED";

    log_emit(log_failure_level(&c->logged, err), "delete not confirmed",
             LOG_FIELDS(KV_STR("cluster", watch_cluster(c->params.watch)),
                        KV_STR("watch", watch_name(c->params.watch)), KV_ERR(err),
                        KV_STR("remedy", remedy)));
}

static void end_fetch(struct confirm_driver *c)
{
    fetch_dispose(&c->fetch);
    json_in_destroy(&c->json);
}

/* The meaning of an answer with status 200: an object with another uid is another incarnation of
 * the key, so the one that was asked for is gone. An answer that cannot be read proves neither. */
static enum confirm_answer read_object(struct confirm_driver *c, struct err *err)
{
    if (json_in_finish(c->json, err) == ERR_OK && c->fed == 0)
        err_set(err, ERR_PROTOCOL, 0, "the answer is empty");
    if (err->kind == ERR_OK && c->found.len == 0 && c->uid.len > 0)
        err_set(err, ERR_PROTOCOL, 0, "the answer is no object with a metadata.uid");
    if (err->kind != ERR_OK)
        return CONFIRM_NO_ANSWER;
    return str_eq(buf_str(&c->found), buf_str(&c->uid)) ? CONFIRM_SAME : CONFIRM_GONE;
}

/* The GET is over: 404 says that the object is gone, and is no error. confirm_answer() sends the
 * DELETED out, or keeps it for another try; confirm_driver_kick() looks for the next one. */
static void on_answer(void *arg, const struct fetch_answer *a)
{
    struct confirm_driver *c = arg;
    enum confirm_answer answer = CONFIRM_NO_ANSWER;
    struct err why = a->err;

    if (a->outcome == FETCH_GOOD)
        answer = read_object(c, &why);
    else if (a->outcome == FETCH_REFUSED && why.kind == ERR_NOT_FOUND)
        answer = CONFIRM_GONE;
    end_fetch(c);
    if (answer == CONFIRM_NO_ANSWER) {
        err_wrap(&why, "GET of a deleted object");
        tell_trouble(c, &why);
    } else {
        c->logged.kind = ERR_OK;
    }
    confirm_answer(confirm(c), answer, now_ms(c));
    confirm_driver_kick(c);
    if (answer == CONFIRM_NO_ANSWER && why.kind == ERR_UNAUTHORIZED)
        c->events->on_unauthorized(c->arg);
    else
        c->events->on_progress(c->arg);
}

/* Looks for the string metadata.uid. */
static bool on_token(void *arg, const struct json_token *t)
{
    struct confirm_driver *c = arg;

    if (t->type == JSON_KEY && t->depth == MEMBER_DEPTH)
        c->place = str_is(t->text, "metadata") ? PLACE_METADATA : PLACE_ELSEWHERE;
    else if (t->type == JSON_KEY && t->depth == UID_DEPTH && c->place != PLACE_ELSEWHERE)
        c->place = str_is(t->text, "uid") ? PLACE_UID : PLACE_METADATA;
    else if (t->type == JSON_STRING && t->depth == UID_DEPTH && c->place == PLACE_UID) {
        buf_clear(&c->found);
        buf_append_str(&c->found, t->text);
    }
    return true;
}

/* A part of the answer is nested too deeply, or a number is too long. Neither matters for the
 * uid. */
static void on_excess(void *arg, const char *why)
{
    (void)arg;
    (void)why;
}

static enum err_kind on_body(void *arg, const char *data, size_t n, struct err *err)
{
    struct confirm_driver *c = arg;

    c->fed += n;
    if (c->fed > BODY_BYTES)
        return err_set(err, ERR_TOO_BIG, 0, "the answer is larger than any object");
    return json_in_feed(c->json, data, n, err);
}

static void ask(struct confirm_driver *c, const struct object *o)
{
    struct str ns = object_namespace(o);
    char *space = mem_strndup(ns.n > 0 ? ns.p : "", ns.n);
    struct buf target = {0};

    resource_put_path(&target, c->params.resource, space);
    buf_putc(&target, '/');
    url_put_escaped(&target, object_name(o));
    free(space);
    buf_clear(&c->uid);
    buf_append_str(&c->uid, object_uid(o));
    buf_clear(&c->found);
    c->json = json_in_create(JSON_IN_MAX_DEPTH, on_token, c);
    json_in_tolerate(c->json, on_excess, TOKEN_BYTES);
    c->fed = 0;
    c->place = PLACE_ELSEWHERE;
    confirm_started(confirm(c), now_ms(c));
    /* follows: a DELETED must not be confirmed by a server of another cluster. */
    const struct fetch_params params = {
        .request = {.target = buf_cstr(&target), .accept = ACCEPT, .follows = true},
        .timeout_ms = ANSWER_MS,
        .on_body = on_body,
    };
    c->fetch = fetch_start(c->params.loop, c->params.client, &params, on_answer, c);
    buf_free(&target);
}

/* Sends out each DELETED that has waited for too long, and asks for the next object if no GET is
 * under way. */
static void act(void *arg)
{
    struct confirm_driver *c = arg;
    size_t held = confirm_count(confirm(c));
    const struct object *next;

    confirm_tick(confirm(c), now_ms(c));
    next = confirm_next(confirm(c), now_ms(c));
    if (next != NULL)
        ask(c, next);
    deadline_start_at(c->wake, confirm_due_ms(confirm(c)));
    if (confirm_count(confirm(c)) < held)
        c->events->on_progress(c->arg);
}

static void on_kick(struct loop_task *task)
{
    act(container_of(task, struct confirm_driver, kick));
}

struct confirm_driver *confirm_driver_create(const struct confirm_driver_params *params,
                                             const struct confirm_driver_events *events, void *arg)
{
    struct confirm_driver *c =
        MEM_NEW(struct confirm_driver, .params = *params, .events = events, .arg = arg);

    ensure(watch_confirm(params->watch) != NULL && params->resource != NULL);
    loop_task_init(&c->kick, on_kick);
    c->wake = deadline_create(params->loop, act, c);
    return c;
}

void confirm_driver_kick(struct confirm_driver *c)
{
    loop_defer(c->params.loop, &c->kick);
}

void confirm_driver_move(struct confirm_driver *c, struct api_client *client)
{
    c->params.client = client;
}

void confirm_driver_dispose(struct confirm_driver **cp)
{
    struct confirm_driver *c = *cp;

    if (c == NULL)
        return;
    *cp = NULL;
    /* cache/confirm lives on with its watch, and lets no other GET start before this one is
     * answered. */
    if (c->fetch != NULL)
        confirm_answer(confirm(c), CONFIRM_NO_ANSWER, now_ms(c));
    end_fetch(c);
    loop_cancel(&c->kick);
    deadline_dispose(&c->wake);
    buf_free(&c->found);
    buf_free(&c->uid);
    free(c);
}
