/* SPDX-License-Identifier: Apache-2.0 */
#include "request_probe.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/panic.h"
#include "io/loop.h"
#include "kube/servers.h"
#include "proto/http_in.h"
#include "proto/url.h"

static void note(struct request_probe *rq, enum request_probe_at at)
{
    ensure(!rq->of->calling && !rq->silent && rq->ends <= (at == RQ_AT_END));
    if (rq->dispose != at)
        return;
    rq->silent = true;
    if (rq->with_cluster)
        api_client_dispose(&rq->of->client);
    request_dispose(&rq->r);
    loop_stop(rq->of->loop);
}

static void on_head(void *arg, const struct http_head *head)
{
    struct request_probe *rq = arg;

    rq->heads++;
    rq->status = head->status;
    note(rq, RQ_AT_HEAD);
}

static void on_body(void *arg, const char *data, size_t n)
{
    struct request_probe *rq = arg;

    ensure(rq->heads == 1);
    buf_append(&rq->body, data, n);
    note(rq, RQ_AT_BODY);
}

static void on_end(void *arg, const struct err *err)
{
    struct request_probe *rq = arg;

    rq->ends++;
    rq->complete = err == NULL;
    if (err != NULL)
        rq->err = *err;
    if (++rq->of->ended == rq->of->want)
        loop_stop(rq->of->loop);
    note(rq, RQ_AT_END);
}

void client_probe_make_many(struct client_probe *p, const char *const *urls, const unsigned *tiers,
                            size_t n)
{
    struct api_client_server servers[SERVERS_MAX];
    struct url parsed[SERVERS_MAX];

    for (size_t i = 0; i < n; i++) {
        ensure(url_parse(urls[i], &parsed[i], NULL) == ERR_OK);
        servers[i] = (struct api_client_server){
            .name = urls[i], .url = &parsed[i], .tier = tiers != NULL ? tiers[i] : 1};
    }
    p->params.servers = servers;
    p->params.server_count = n;
    p->client = api_client_create(p->loop, &p->params);
    p->params.servers = NULL;
    for (size_t i = 0; i < n; i++)
        url_fini(&parsed[i]);
}

void client_probe_make(struct client_probe *p, const char *url)
{
    client_probe_make_many(p, &url, NULL, 1);
}

void client_probe_set_tls(struct client_probe *p, struct tls_ctx *ctx)
{
    for (size_t i = 0; i < api_client_servers(p->client)->n; i++)
        api_client_set_tls(p->client, i, ctx);
}

void client_probe_init(struct client_probe *p, const char *scheme, uint16_t port,
                       unsigned list_concurrency)
{
    char url[64];

    memset(p, 0, sizeof(*p));
    p->loop = loop_create();
    p->params = (struct api_client_params){
        .name = "prod",
        .user_agent = "informerd/test",
        .connect_timeout_ms = CLIENT_PROBE_TIMEOUT_MS,
        .tls_timeout_ms = CLIENT_PROBE_TIMEOUT_MS,
        .response_timeout_ms = CLIENT_PROBE_TIMEOUT_MS,
        .list_idle_timeout_ms = CLIENT_PROBE_TIMEOUT_MS,
        .list_concurrency = list_concurrency,
    };
    (void)snprintf(url, sizeof(url), "%s://127.0.0.1:%u/pre", scheme, (unsigned)port);
    client_probe_make(p, url);
}

static bool on_identity(void *arg, const char *revision, bool is_last)
{
    struct request_probe *rq = arg;
    size_t n = strlen(rq->revisions);

    ensure(!rq->of->calling && rq->heads == 0 && rq->ends == 0);
    (void)snprintf(rq->revisions + n, sizeof(rq->revisions) - n, "%s ", revision);
    if (strtoull(revision, NULL, 10) >= rq->needs)
        return true;
    if (!is_last)
        return false;
    rq->doubted = true;
    request_dispose(&rq->r);
    if (++rq->of->ended == rq->of->want)
        loop_stop(rq->of->loop);
    return false;
}

static const struct request_events events = {
    .on_head = on_head, .on_body = on_body, .on_end = on_end, .on_identity = on_identity};

/* params NULL: the question which cluster it is, about this server process. */
static void start(struct client_probe *p, unsigned i, const struct request_params *params,
                  uint64_t peer)
{
    struct request_probe *rq = &p->rq[i];

    ensure(rq->r == NULL);
    buf_free(&rq->body);
    *rq = (struct request_probe){.of = p, .dispose = rq->dispose, .with_cluster = rq->with_cluster};
    p->calling = true;
    rq->r = params != NULL ? api_client_request(p->client, params, &events, rq)
                           : api_client_identify(p->client, peer, &events, rq);
    p->calling = false;
}

void client_probe_start(struct client_probe *p, unsigned i, bool list, const char *target)
{
    start(p, i, &(struct request_params){.target = target, .list = list}, 0);
}

void client_probe_stream(struct client_probe *p, unsigned i, const char *target)
{
    start(p, i, &(struct request_params){.target = target, .stream = true}, 0);
}

void client_probe_follow(struct client_probe *p, unsigned i, uint64_t needs)
{
    start(p, i,
          &(struct request_params){.target = "/watch",
                                   .follows = true,
                                   .last_peer = UINT64_MAX,
                                   .last_ms = loop_now_ms(p->loop)},
          0);
    p->rq[i].needs = needs;
}

void client_probe_identify(struct client_probe *p, unsigned i, uint64_t peer)
{
    start(p, i, NULL, peer);
}

void client_probe_run(struct client_probe *p, unsigned n)
{
    p->want = p->ended + n;
    loop_run(p->loop);
}

void client_probe_do(struct client_probe *p, unsigned i, bool list, const char *target)
{
    client_probe_start(p, i, list, target);
    client_probe_run(p, 1);
    request_dispose(&p->rq[i].r);
}

void client_probe_fini(struct client_probe *p)
{
    p->calling = true; /* nothing comes after dispose */
    api_client_dispose(&p->client);
    for (unsigned i = 0; i < CLIENT_PROBE_MAX; i++) {
        request_dispose(&p->rq[i].r);
        buf_free(&p->rq[i].body);
    }
    loop_destroy(&p->loop);
}
