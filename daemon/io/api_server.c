/* SPDX-License-Identifier: Apache-2.0 */
#include "io/api_server.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "io/conn.h"
#include "io/deadline.h"
#include "io/exchange.h"
#include "io/loop.h"
#include "io/pool.h"
#include "io/tls_session_cache.h"
#include "proto/http_out.h"
#include "proto/proxy.h"
#include "proto/tls.h"
#include "proto/url.h"

/* How long the leader waits for a session after its handshake: TLS 1.3 sends sessions later. After
 * that the server counts as one that gives no sessions. */
enum { LEAD_MS = 1000 };

struct api_server {
    struct loop *loop;
    struct api_server_params params; /* not its texts */
    char *host;
    char *prefix;            /* in front of every path; may be "" */
    char *host_header;       /* HOST[:PORT], IPv6 in brackets */
    char *tls_server_name;   /* NULL = host */
    char *authorization;     /* secret; NULL = none */
    uint64_t authorizations; /* how many there were so far */
    uint16_t port;
    bool tls;
    struct tls_session_cache session;
    struct deadline *lead; /* LEAD_MS of the leader */
    struct pool pool;
    struct deadline *age; /* until the next idle connection is too old */
};

/* The lead may have ended: other requests may connect now, or one of them may lead. */
static void look_at_lead(struct api_server *s)
{
    if (s->session.leader == NULL)
        deadline_stop(s->lead);
    s->params.on_change(s->params.arg);
}

/* The server has given no session within LEAD_MS: the others wait no longer. */
static void on_lead_over(void *arg)
{
    struct api_server *s = arg;

    if (s->session.leader != NULL)
        tls_session_cache_missing(&s->session, s->session.leader);
    look_at_lead(s);
}

/* Closes idle connections before the server does. */
static void on_age(void *arg)
{
    struct api_server *s = arg;
    uint64_t next_ms = pool_expire(&s->pool, loop_now_ms(s->loop));

    if (next_ms > 0)
        deadline_start(s->age, next_ms);
}

struct api_server *api_server_create(struct loop *loop, const struct api_server_params *params)
{
    const struct url *url = params->url;
    /* An empty name in the configuration means the same as none. */
    bool named = params->tls_server_name != NULL && params->tls_server_name[0] != '\0';
    struct buf header = {0};

    url_put_host(&header, url);
    struct api_server *s =
        MEM_NEW(struct api_server, .loop = loop, .params = *params, .host = mem_strdup(url->host),
                .prefix = mem_strdup(url->prefix), .host_header = mem_strdup(buf_cstr(&header)),
                .tls_server_name = mem_strdup(named ? params->tls_server_name : NULL),
                .port = url->port, .tls = url->tls);
    buf_free(&header);
    s->lead = deadline_create(loop, on_lead_over, s);
    s->age = deadline_create(loop, on_age, s);
    return s;
}

void api_server_set_tls(struct api_server *s, struct tls_ctx *ctx)
{
    tls_session_cache_set_ctx(&s->session, ctx);
    pool_clear(&s->pool);
    look_at_lead(s);
}

void api_server_set_authorization(struct api_server *s, const char *value)
{
    char *copy = mem_strdup(value);

    /* A credential that is not used any more must not be left in freed memory. */
    if (s->authorization != NULL)
        mem_wipe(s->authorization, strlen(s->authorization));
    free(s->authorization);
    s->authorization = copy;
    s->authorizations++;
}

uint64_t api_server_authorizations(const struct api_server *s)
{
    return s->authorizations;
}

const char *api_server_proxy_obstacle(const struct api_server *s)
{
    const struct proxy *p = s->params.proxy;

    if (p != NULL && p->url.tls && s->params.proxy_tls == NULL)
        return "the proxy has https://, and the CAs of the system cannot be used";
    return NULL;
}

const char *api_server_obstacle(const struct api_server *s)
{
    if (s->tls && s->session.ctx == NULL)
        return "no usable certificates are loaded";
    return api_server_proxy_obstacle(s);
}

bool api_server_is_current(const struct api_server *s, const struct conn *conn)
{
    return conn_tls_ctx(conn) == s->session.ctx;
}

const char *api_server_host(const struct api_server *s)
{
    return s->host_header;
}

bool api_server_has_sessions(const struct api_server *s)
{
    return s->tls && !s->session.none;
}

struct conn *api_server_take(struct api_server *s)
{
    return pool_take(&s->pool);
}

struct conn *api_server_take_peer(struct api_server *s, uint64_t peer)
{
    return pool_take_peer(&s->pool, peer);
}

void api_server_keep(struct api_server *s, struct conn **conn)
{
    if (conn_state(*conn) == CONN_OPEN && api_server_is_current(s, *conn)) {
        pool_put(&s->pool, *conn, loop_now_ms(s->loop));
        *conn = NULL;
        on_age(s);
    }
    conn_dispose(conn);
}

void api_server_drop_idle(struct api_server *s)
{
    pool_clear(&s->pool);
}

/* Without TLS there are no sessions to wait for. */
bool api_server_may_connect(struct api_server *s, const void *who)
{
    return !s->tls || tls_session_cache_enter(&s->session, who);
}

static void on_session(void *arg, struct conn *conn, struct tls_session *session)
{
    struct api_server *s = arg;

    tls_session_cache_keep(&s->session, conn_tls_ctx(conn), session, conn_peer(conn));
    look_at_lead(s);
}

/* conn_peer() says the number of the saved session's process if that is resumed. */
struct conn *api_server_connect(struct api_server *s, uint64_t peer,
                                const struct conn_events *events, void *arg)
{
    const struct conn_params params = {
        .host = s->host,
        .port = s->port,
        .resolver = s->params.resolver,
        .proxy = s->params.proxy,
        .proxy_tls = s->params.proxy_tls,
        .tls = s->session.ctx,
        .server_name = s->tls_server_name,
        .resume = s->session.saved,
        .peer = peer,
        .resume_peer = s->session.peer,
        .connect_timeout_ms = s->params.connect_timeout_ms,
        .tls_timeout_ms = s->params.tls_timeout_ms,
        .on_session = on_session,
        .session_arg = s,
    };

    return conn_create(s->loop, &params, events, arg);
}

void api_server_opened(struct api_server *s, const struct conn *conn, const void *who)
{
    if (conn_resumed(conn)) {
        tls_session_cache_resumed(&s->session, conn_tls_ctx(conn));
        look_at_lead(s);
    }
    if (s->session.leader == who)
        deadline_start(s->lead, LEAD_MS);
}

void api_server_heard(struct api_server *s, const void *who)
{
    if (s->session.leader != who)
        return;
    tls_session_cache_missing(&s->session, who);
    look_at_lead(s);
}

bool api_server_leave(struct api_server *s, const void *who)
{
    bool led = tls_session_cache_leave(&s->session, who);

    if (led)
        look_at_lead(s);
    return led;
}

void api_server_doubt(struct api_server *s)
{
    tls_session_cache_doubt(&s->session);
}

struct exchange *api_server_send(struct api_server *s, struct conn *conn,
                                 struct http_request request, struct exchange_params params,
                                 const struct exchange_events *events, void *arg)
{
    char *path = mem_printf("%s%s", s->prefix, request.target);

    request.target = path;
    request.host = s->host_header;
    request.authorization = s->tls ? s->authorization : NULL;
    params.request = &request;
    struct exchange *x = exchange_create(s->loop, conn, &params, events, arg);
    free(path);
    return x;
}

void api_server_dispose(struct api_server **sp)
{
    struct api_server *s = *sp;

    if (s == NULL)
        return;
    *sp = NULL;
    pool_clear(&s->pool);
    tls_session_cache_set_ctx(&s->session, NULL);
    deadline_dispose(&s->lead);
    deadline_dispose(&s->age);
    api_server_set_authorization(s, NULL);
    free(s->host);
    free(s->prefix);
    free(s->host_header);
    free(s->tls_server_name);
    free(s);
}
