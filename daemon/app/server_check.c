/* SPDX-License-Identifier: Apache-2.0 */
#include "app/server_check.h"

#include <stdlib.h>
#include <string.h>

#include "app/access_reviews.h"
#include "app/cluster_runtime.h"
#include "base/mem.h"
#include "base/panic.h"
#include "io/api_client.h"
#include "io/deadline.h"
#include "io/fetch.h"
#include "io/loop.h"
#include "io/resolver.h"
#include "kube/expiry.h"
#include "kube/version.h"

/* The answer to GET /version has some hundred bytes. */
#define VERSION_BODY_BYTES ((size_t)64 * 1024)

/* From the head of an answer to its end. */
enum { HARD_DEADLINE_MS = 60000 };

enum { NS_PER_S = 1000000000, MS_PER_S = 1000 };

enum server_check_step {
    STEP_CREDENTIALS, /* are read */
    STEP_NAME,        /* is looked up */
    STEP_CONNECTION,  /* is made */
    STEP_VERSION,     /* is asked for: is this an API server that takes the credential? */
    STEP_REVIEWS,
    STEP_DONE,
};

struct server_check {
    struct server_check_params params;
    size_t block; /* of params.report */
    enum server_check_step step;
    struct cluster_access access; /* that of the cluster, with this server alone */
    struct cluster_runtime *runtime;
    struct err lack; /* why there are no credentials; OK = they are there */
    struct resolver *resolver;
    struct resolver_wait lookup;
    struct deadline *timeout; /* of the lookup */
    struct conn *conn;
    bool is_reached; /* up to the end of the TLS handshake */
    struct fetch *fetch;
    struct access_reviews *reviews;
    void (*done)(void *arg);
    void *arg;
};

static void add(const struct server_check *c, enum access_verdict verdict, const char *what,
                const char *text)
{
    access_report_add(c->params.report, c->block, verdict, what, text);
}

/* The same; takes the text, which is freed. */
static void add_buf(const struct server_check *c, enum access_verdict verdict, const char *what,
                    struct buf *text)
{
    add(c, verdict, what, buf_cstr(text));
    buf_free(text);
}

static const struct cluster_server *server_of(const struct server_check *c)
{
    return &c->params.access->servers[c->params.server];
}

static void finish(struct server_check *c)
{
    c->step = STEP_DONE;
    c->done(c->arg);
}

/* ---- The version, and then the reviews */

static void on_reviewed(void *arg)
{
    finish(arg);
}

static void review(struct server_check *c)
{
    const struct access_reviews_params params = {
        .loop = c->params.loop,
        .client = cluster_runtime_client(c->runtime),
        .discovery_driver = cluster_runtime_discovery(c->runtime),
        .conf = c->params.conf,
        .cluster = c->params.cluster,
        .node_name = c->params.node_name,
        .report = c->params.report,
        .block = c->block,
    };

    c->step = STEP_REVIEWS;
    c->reviews = access_reviews_create(&params, on_reviewed, c);
}

/* A server that keeps its version to itself may still serve watches. */
static void on_version(void *arg, const struct fetch_answer *a)
{
    struct server_check *c = arg;
    struct version version;
    struct buf text = {0};
    enum access_verdict verdict = ACCESS_NOT_OK;

    if (a->outcome == FETCH_GOOD && version_parse(a->body, &version)) {
        verdict = ACCESS_OK;
        buf_printf(&text, "Kubernetes %u.%u", version.major, version.minor);
    } else if (a->outcome == FETCH_GOOD) {
        buf_puts(&text, "/version: the answer is not that of an API server; check the address");
    } else {
        if (a->err.kind == ERR_FORBIDDEN)
            verdict = ACCESS_WARNING;
        buf_printf(&text, "/version: %s", a->err.text);
    }
    fetch_dispose(&c->fetch);
    add_buf(c, verdict, "api", &text);
    if (verdict != ACCESS_NOT_OK) {
        review(c);
        return;
    }
    add(c, ACCESS_SKIPPED, "watches", "the server cannot be asked");
    finish(c);
}

static void ask_version(struct server_check *c)
{
    const struct fetch_params params = {
        .request = {.target = "/version", .hard_deadline_ms = HARD_DEADLINE_MS},
        .max_bytes = VERSION_BODY_BYTES,
    };

    c->step = STEP_VERSION;
    c->fetch =
        fetch_start(c->params.loop, cluster_runtime_client(c->runtime), &params, on_version, c);
}

/* ---- The credentials */

static void add_dates(const struct server_check *c, enum expiry_item item)
{
    static const enum access_verdict verdicts[] = {
        [EXPIRY_NONE] = ACCESS_OK,      [EXPIRY_VALID] = ACCESS_OK,
        [EXPIRY_SOON] = ACCESS_WARNING, [EXPIRY_EARLY] = ACCESS_NOT_OK,
        [EXPIRY_OVER] = ACCESS_NOT_OK,
    };
    const struct expiry *e = cluster_runtime_expiry(c->runtime, 0);
    struct expiry_view view =
        expiry_look(e, item, (int64_t)(loop_wall_ns() / NS_PER_S),
                    (int64_t)(c->params.conf->limits.credential_expiry.v / MS_PER_S));
    struct buf text = {0};

    if (e->items[item].from == NULL) /* not in use */
        return;
    expiry_put(&text, e, item, &view);
    add_buf(c, verdicts[view.state], item == EXPIRY_CA ? "ca" : "credential", &text);
}

/* Without any of them a server takes us for system:anonymous. */
static void add_anonymous(const struct server_check *c)
{
    const struct expiry *e = cluster_runtime_expiry(c->runtime, 0);

    if (!server_of(c)->url.tls)
        add(c, ACCESS_WARNING, "credential", "none is sent to a server without TLS");
    else if (c->params.access->basic != NULL)
        add(c, ACCESS_OK, "credential", "user name and password of the kubeconfig");
    else if (e->items[EXPIRY_CERT].from == NULL && e->items[EXPIRY_TOKEN].from == NULL)
        add(c, ACCESS_WARNING, "credential",
            "none is configured: the server takes requests as those of system:anonymous");
}

static void add_node(const struct server_check *c)
{
    const char *is = c->params.credential_node;
    struct buf text = {0};

    if (is == NULL)
        return;
    if (strcmp(is, c->params.node_name) == 0) {
        buf_printf(&text, "%s, as in the credential (system:node:%s)", is, is);
        add_buf(c, ACCESS_OK, "node_name", &text);
        return;
    }
    buf_printf(
        &text,
        "it is \"%s\", and the credential is that of the node \"%s\" (system:node:%s): servers "
        "refuse its kubelet what belongs to another node; correct node_name, or use the "
        "credential of this node",
        c->params.node_name, is, is);
    add_buf(c, ACCESS_WARNING, "node_name", &text);
}

static void add_credentials(const struct server_check *c)
{
    const char *as = c->params.access->kubeconfig.impersonation.user;
    const char *trouble = cluster_runtime_credential_trouble(c->runtime, 0);
    struct buf text = {0};

    add_dates(c, EXPIRY_CA);
    if (c->lack.kind != ERR_OK) {
        add(c, ACCESS_NOT_OK, "credential", c->lack.text);
        return;
    }
    add_dates(c, EXPIRY_CERT);
    add_dates(c, EXPIRY_TOKEN);
    add_anonymous(c);
    if (trouble != NULL) /* another one stands in */
        add(c, ACCESS_WARNING, "credential", trouble);
    if (as != NULL) {
        buf_printf(&text, "requests are made in the name of %s (impersonation)", as);
        add_buf(c, ACCESS_OK, "credential", &text);
    }
    add_node(c);
}

/* ---- The connection */

/* The way to the server is known, good or bad. */
static void go_on(struct server_check *c)
{
    conn_dispose(&c->conn);
    add_credentials(c);
    if (c->is_reached && c->lack.kind == ERR_OK) {
        ask_version(c);
        return;
    }
    add(c, ACCESS_SKIPPED, "api", "the server cannot be asked");
    add(c, ACCESS_SKIPPED, "watches", "the server cannot be asked");
    finish(c);
}

static void add_tls(const struct server_check *c)
{
    const struct cluster_server *s = server_of(c);
    struct buf text = {0};

    if (!s->url.tls) {
        add(c, ACCESS_WARNING, "tls", "none: anybody on the way can read and change everything");
        return;
    }
    if (conn_tls_ctx(c->conn) == NULL) {
        add(c, ACCESS_SKIPPED, "tls", "the credentials cannot be used");
        return;
    }
    conn_put_peer(&text, c->conn);
    if (s->insecure)
        buf_puts(&text, "; it is not verified (insecure_skip_tls_verify): configure the CA");
    add_buf(c, s->insecure ? ACCESS_WARNING : ACCESS_OK, "tls", &text);
}

static void add_way(const struct server_check *c)
{
    struct buf text = {0};

    conn_put_way(&text, c->conn);
    add_buf(c, ACCESS_OK, "tcp", &text);
}

static void on_open(void *arg)
{
    struct server_check *c = arg;

    c->is_reached = true;
    add_way(c);
    add_tls(c);
    go_on(c);
}

static void on_closed(void *arg, const struct err *err)
{
    struct server_check *c = arg;

    if (conn_reached(c->conn) < CONN_HANDSHAKING) {
        add(c, ACCESS_NOT_OK, "tcp", err->text);
        add(c, ACCESS_SKIPPED, "tls", "there is no connection");
    } else {
        add_way(c);
        add(c, ACCESS_NOT_OK, "tls", err->text);
    }
    go_on(c);
}

static void connect_server(struct server_check *c)
{
    static const struct conn_events events = {.on_open = on_open, .on_closed = on_closed};

    c->step = STEP_CONNECTION;
    c->conn = api_client_connect(cluster_runtime_client(c->runtime), 0, &events, c);
    if (c->conn != NULL)
        return;
    add(c, ACCESS_NOT_OK, "tcp",
        "the proxy has https://, and the CAs of the system cannot be used");
    add(c, ACCESS_SKIPPED, "tls", "there is no connection");
    go_on(c);
}

/* ---- The name */

/* The name that is looked up here: a proxy looks up that of the server. */
static const char *host_of(const struct server_check *c)
{
    const struct cluster_server *s = server_of(c);

    return s->proxy.url.host != NULL ? s->proxy.url.host : s->url.host;
}

static void put_host(struct buf *out, const struct server_check *c)
{
    buf_printf(out, "%s%s", server_of(c)->proxy.url.host != NULL ? "proxy " : "", host_of(c));
}

static bool is_host(const struct server_check *c, const struct address *a)
{
    struct buf text = {0};

    address_put(&text, a);
    bool is = str_is(buf_str(&text), host_of(c));
    buf_free(&text);
    return is;
}

static void lookup_failed(struct server_check *c, const char *why)
{
    struct buf text = {0};

    put_host(&text, c);
    buf_printf(&text, ": %s", why);
    add_buf(c, ACCESS_NOT_OK, "dns", &text);
    add(c, ACCESS_SKIPPED, "tcp", "there is no address");
    add(c, ACCESS_SKIPPED, "tls", "there is no address");
    go_on(c);
}

static void on_addresses(struct resolver_wait *wait, const struct addresses *addresses,
                         const struct err *err)
{
    struct server_check *c = container_of(wait, struct server_check, lookup);
    struct buf text = {0};

    deadline_stop(c->timeout);
    if (addresses == NULL) {
        lookup_failed(c, err->text);
        return;
    }
    put_host(&text, c);
    for (size_t i = 0; i < addresses->n && !is_host(c, &addresses->v[i]); i++) {
        buf_puts(&text, i > 0 ? ", " : ": ");
        address_put(&text, &addresses->v[i]);
    }
    add_buf(c, ACCESS_OK, "dns", &text);
    connect_server(c);
}

static void on_timeout(void *arg)
{
    struct server_check *c = arg;

    resolver_cancel(&c->lookup);
    lookup_failed(c, "no answer in time");
}

/* An address needs no lookup, but goes the same way. */
static void look_up_name(struct server_check *c)
{
    c->step = STEP_NAME;
    deadline_start(c->timeout, c->params.cluster->tuning.connect_timeout.v);
    resolver_find(c->resolver, host_of(c), &c->lookup);
}

/* ---- Begin and end */

/* The way to the server is checked even if there are no credentials. Later tries to read them come too
 * late. */
static void on_credentials(void *arg, const struct err *err)
{
    struct server_check *c = arg;

    if (c->step != STEP_CREDENTIALS)
        return;
    if (err != NULL)
        c->lack = *err;
    look_up_name(c);
}

static void on_progress(void *arg)
{
    (void)arg;
}

static void add_block(struct server_check *c)
{
    const struct cluster_server *s = server_of(c);
    char *heading = mem_printf("cluster %s, server %s%s%s", c->params.cluster->name.v, s->name,
                               s->name[0] != '\0' ? ": " : "", s->address);

    c->block = access_report_add_block(c->params.report, heading);
    free(heading);
}

struct server_check *server_check_create(const struct server_check_params *params,
                                         void (*done)(void *arg), void *arg)
{
    static const struct cluster_runtime_events events = {on_progress, on_credentials};
    struct server_check *c = MEM_NEW(struct server_check, .params = *params, .done = done,
                                     .arg = arg, .access = *params->access);

    c->access.servers = &params->access->servers[params->server];
    c->access.server_count = 1;
    c->resolver = resolver_create(params->loop);
    resolver_wait_init(&c->lookup, on_addresses);
    c->timeout = deadline_create(params->loop, on_timeout, c);
    add_block(c);
    const struct cluster_runtime_params p = {
        .loop = params->loop,
        .link = params->link,
        .conf = params->cluster,
        .cluster_access = &c->access,
        .user_agent = params->user_agent,
        .tag = params->tag,
        .plugin = params->plugin,
        .seed = loop_wall_ns(),
        .credential_expiry_ms = params->conf->limits.credential_expiry.v,
    };
    c->runtime = cluster_runtime_create(&p, &events, c);
    return c;
}

void server_check_opened(struct server_check *c, uint64_t tag, int fd, int error)
{
    bool is_taken = cluster_runtime_opened(c->runtime, tag, fd, error);

    ensure(is_taken);
}

void server_check_dispose(struct server_check **cp)
{
    struct server_check *c = *cp;

    if (c == NULL)
        return;
    *cp = NULL;
    access_reviews_dispose(&c->reviews);
    fetch_dispose(&c->fetch);
    conn_dispose(&c->conn);
    cluster_runtime_dispose(&c->runtime);
    resolver_cancel(&c->lookup);
    resolver_dispose(&c->resolver);
    deadline_dispose(&c->timeout);
    free(c);
}
