/* SPDX-License-Identifier: Apache-2.0 */
#include "io/api_request.h"

#include <stdio.h>

#include "io/api_server.h"
#include "io/conn.h"
#include "io/deadline.h"

/* Does the answer to the question, from this process, count for r? Only if it was asked late enough
 * for r. Without sessions each connection may lead to another process, and every scope would have to
 * ask by itself, once a second; so there the answer counts for all that waited
 * (docs/decisions.md "A cluster's identity holds for a server process"). */
static bool is_served(const struct request *r, uint64_t peer)
{
    const struct api_client *c = r->client;
    size_t server = api_request_server_of_peer(c, peer);

    if (r->asked_ms > c->server_identity.asked_ms)
        return false;
    return r->peer == peer || (!api_server_has_sessions(c->v[server]) &&
                               (r->server == server || r->server == SERVERS_NONE));
}

/* The server has said that its etcd has this revision, and the request goes on from a later
 * version: another server may have that. */
static void leave_lagging(struct request *r)
{
    struct err err;

    r->lags = true;
    err_set(&err, ERR_BUSY, 0, "%s: the server lags behind: its etcd is at revision %s only",
            api_server_host(api_request_server(r)), r->revision);
    api_request_try_another_or_end(r, &err, FAULT_LAGS);
}

/* If the connection was closed behind the answer, the request connects anew, and is not asked for
 * another answer: a server that closes each connection would otherwise be asked for ever. */
static void send_or_reconnect(struct request *r)
{
    if (r->conn != NULL) {
        api_request_talk(r);
        return;
    }
    r->served = true;
    api_request_start_later(r);
}

/* The server has said that it is of the right cluster: on_identity may still stop the request, if
 * the revision shows a server that lags behind or went back. */
void api_question_go_on(struct loop_task *task)
{
    struct request *r = container_of(task, struct request, go_on);
    bool is_last = !api_request_has_another(r);

    if (r->asks) {
        api_request_enter(r, RQ_DONE);
        r->events->on_end(r->arg, NULL);
    } else if (r->events->on_identity == NULL ||
               r->events->on_identity(r->arg, r->revision, is_last)) {
        send_or_reconnect(r);
    } else if (!is_last) { /* else on_identity has disposed it */
        leave_lagging(r);
    }
}

/* The server is of the right cluster, and has said this revision: r goes on in the next turn. */
static void go_on(struct request *r, const char *revision)
{
    snprintf(r->revision, sizeof(r->revision), "%s", revision);
    api_request_enter(r, RQ_IDENTIFIED);
    loop_defer(r->client->loop, &r->go_on);
}

/* The answer to the question serves r. */
static void serve(struct request *r, const char *revision)
{
    struct api_client *c = r->client;

    if (r->conn != NULL) {
        conn_set_identified(r->conn);
        server_identity_answered(&c->server_identity, conn_peer(r->conn), revision,
                                 loop_now_ms(c->loop));
    }
    if (r->asks && r->conn != NULL) /* for the request that follows the answer */
        api_server_keep(api_request_server(r), &r->conn);
    go_on(r, revision);
}

/* The question of by is over, and its connection, if there still is one, is idle. Has the answer
 * judged; no answer for too long counts as one (status 0). The result goes to by and to all other
 * requests that the answer counts for. If the cluster is not the right one, idle connections and
 * earlier answers are of no use any more. */
static void judge(struct api_client *c, struct request *by,
                  const struct cluster_identity_answer *answer, int status)
{
    uint64_t peer = by->peer;
    struct err err = {0};
    bool good = c->params.judge(c->params.judge_arg, answer, status, &err);

    c->asker = NULL;
    if (!good) {
        server_identity_forget_all(&c->server_identity);
        api_server_drop_idle(api_request_server(by));
        servers_failed(&c->servers, by->server, &err, loop_now_ms(c->loop));
    }
    list_each (pos, tmp, &c->asking) {
        struct request *r = list_entry(pos, struct request, wait);

        if (r != by && !is_served(r, peer))
            continue;
        if (good)
            serve(r, answer->revision);
        else if (r->server == SERVERS_NONE)
            api_request_end_later(r, &err);
        else
            api_request_try_another_or_end(r, &err, FAULT_CERTAIN);
    }
    api_question_next(c);
}

/* The server has not said which cluster it is. Another server may have an answer for r, and for the
 * others that wait for one of this server: it lags, is dying, or does not take the credential. Only
 * a server that asks for patience is as good as before. */
static void not_told(struct request *r, const struct err *err,
                     const struct server_identity_reply *reply)
{
    struct api_client *c = r->client;
    size_t server = r->server;
    bool lags = err != NULL ? err->kind == ERR_TIMEOUT : reply->status >= 500;
    bool unproven = err != NULL || reply->status == 200 || reply->status == 401;
    enum server_fault fault = lags ? FAULT_LAGS : unproven ? FAULT_UNPROVEN : FAULT_NONE;

    list_each (pos, tmp, &c->asking) {
        struct request *other = list_entry(pos, struct request, wait);

        if (other != r && other->server == server && fault != FAULT_NONE &&
            api_request_has_another(other))
            (void)api_request_try_another(other, &reply->err, fault);
    }
    api_request_fail(r, &reply->err, fault);
}

/* If the servers count as ones that
 * do not tell, the judge decides without an answer, and r connects anew: idle connections may be as
 * broken as this one. If there may be an answer later, or at another server, r fails there. */
void api_question_over(struct request *r, const struct err *err, bool reusable)
{
    struct api_client *c = r->client;
    struct server_identity_reply reply;
    enum server_identity_outcome outcome = server_identity_end(
        &c->server_identity, err, !api_request_has_another(r), loop_now_ms(c->loop), &reply);

    if (!reusable || outcome != SERVER_IDENTITY_TOLD)
        conn_dispose(&r->conn);
    if (outcome == SERVER_IDENTITY_FAILED) {
        not_told(r, err, &reply);
        return;
    }
    r->fresh = r->fresh || outcome == SERVER_IDENTITY_MUTE;
    judge(c, r, &reply.answer, reply.status);
}

/* Sends the question on the open connection of r. No callback runs before return. */
static void send_question(struct request *r)
{
    struct api_client *c = r->client;
    uint64_t patience_ms =
        api_request_has_another(r) ? SERVER_IDENTITY_LAG_MS : SERVER_IDENTITY_PATIENCE_MS;

    c->asker = r;
    server_identity_asked(&c->server_identity, r->server, loop_now_ms(c->loop));
    r->peer = conn_peer(r->conn);
    api_request_send(
        r,
        (struct http_request){.target = CLUSTER_IDENTITY_TARGET, .accept = CLUSTER_IDENTITY_ACCEPT},
        (struct exchange_params){.response_timeout_ms = patience_ms,
                                 .hard_deadline_ms = patience_ms});
}

/* The certificate or CA is another one since r has connected. Over its connection the server may
 * refuse what it accepts now, and of many requests each would find that out in its own turn. A
 * request that is about the process at the other end has no other connection to it. */
static bool is_outdated(const struct request *r)
{
    return r->conn != NULL && !r->pinned && !api_server_is_current(api_request_server(r), r->conn);
}

/* Can r, which is to ask, do so on an open connection? An api_client_identify() has none at first:
 * it takes an idle connection to the process that it asks about. Else it goes to the waiting
 * requests and comes back with a new one, which resumes the session if the process still lives. */
static bool has_connection(struct request *r)
{
    if (is_outdated(r))
        conn_dispose(&r->conn);
    if (r->conn == NULL && r->pinned) {
        r->conn = api_server_take_peer(api_request_server(r), r->peer);
        r->reused = r->conn != NULL;
    }
    if (r->conn != NULL)
        return true;
    r->fresh = r->pinned;
    api_request_start_later(r);
    return false;
}

/* Of the requests whose server may be asked now, the one that has waited for longest asks. If none
 * may be, the timer is started. */
void api_question_next(struct api_client *c)
{
    uint64_t next_ms = UINT64_MAX;

    if (c->asker != NULL)
        return;
    list_each (pos, tmp, &c->asking) {
        struct request *r = list_entry(pos, struct request, wait);

        if (!has_connection(r))
            continue;
        uint64_t wait_ms =
            server_identity_wait_ms(&c->server_identity, r->server, loop_now_ms(c->loop));
        if (wait_ms == 0) {
            send_question(r);
            return;
        }
        next_ms = wait_ms < next_ms ? wait_ms : next_ms;
    }
    if (next_ms != UINT64_MAX)
        deadline_start(c->ask_timer, next_ms);
}

/* A watch needs an answer that was given after its last response; a list needs an answer from now on. */
void api_question_ask(struct request *r)
{
    struct api_client *c = r->client;

    api_request_enter(r, RQ_ASKING);
    if (r->conn != NULL)
        r->peer = conn_peer(r->conn);
    r->asked_ms = r->asks || r->asks_first ? loop_now_ms(c->loop) : r->last_ms;
    list_append(&c->asking, &r->wait);
    api_question_next(c);
}

/* If an api_client_identify() asks about a process that cannot be reached any more, no other process
 * can answer for it; the request fails and its owner begins anew. */
void api_question_begin(struct request *r)
{
    static const struct err gone = {.kind = ERR_CLOSED,
                                    .text = "the connection to the server that sent the list was "
                                            "lost before the server said which cluster it is"};
    const struct api_client *c = r->client;
    uint64_t peer = conn_peer(r->conn);
    bool known = c->params.judge == NULL || r->served || conn_is_identified(r->conn) ||
                 !server_identity_must_ask(&c->server_identity, peer, r->identify_first,
                                           loop_now_ms(c->loop));

    if (r->pinned && r->peer != peer && api_server_has_sessions(api_request_server(r))) {
        api_request_end_later(r, &gone);
        return;
    }
    r->peer = peer;
    /* If another process goes on with a watch, it may have an older state of etcd. So it must have
     * said its revision since the last response of the scope ended
     * (docs/decisions.md "The revision of etcd counts only from a new process"). */
    bool is_asked = c->params.judge != NULL && !r->served;
    bool moved = r->identify_first && is_asked && r->last_peer != peer;
    bool asks_first = r->asks_first && is_asked;
    if (r->asks || !known || asks_first ||
        (moved && server_identity_answered_ms(&c->server_identity, peer) < r->last_ms)) {
        api_question_ask(r);
    } else if (moved) { /* the last answer of the process is new enough */
        go_on(r, server_identity_revision(&c->server_identity, peer));
    } else {
        api_request_talk(r);
    }
}

void api_question_drop(struct request *r)
{
    if (r->client->asker != r)
        return;
    r->client->asker = NULL;
    list_remove(&r->wait);
    api_question_next(r->client);
}
