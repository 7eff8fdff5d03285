/* SPDX-License-Identifier: Apache-2.0 */
#include "app/monitoring.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "admin/admin.h"
#include "admin/host.h"
#include "app/control.h"
#include "app/textfile.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/socket_address.h"
#include "io/listener.h"
#include "io/loop.h"

/* An address that is answered on. */
struct place {
    char *address;
    struct listener *listener;
};

/* Paths whose answers take milliseconds to make when there are a thousand watches, while anybody may
 * ask: so such an answer is not made more often than this, and takes no more than a few percent of the
 * loop's time. /healthz is always made anew, so that a probe never gets an old answer: it takes 0.2 to 0.3 ms
 * (tests/bench/bench_monitoring.c), a tenth of the others. */
#define KEPT_MS 100
static const char *const kept_paths[] = {"/metrics", "/", "/page.json"};
enum { KEPT_PATHS = ARRAY_LEN(kept_paths) };

/* The last answer to one of them. */
struct kept {
    struct admin_response answer; /* body empty = there was none */
    uint64_t made_ms;
};

struct monitoring {
    struct loop *loop;
    struct control *control;
    const char *node;
    struct place *places;
    size_t n;
    struct monitoring_sockets next; /* new ones of the reload under way */
    struct textfile *textfile;
    struct kept kept[KEPT_PATHS];
};

/* ---- Sockets */

/* With the port 0 the system has chosen one. */
static void log_address(int fd)
{
    struct socket_address at = {.size = sizeof(at.to)};
    struct buf text = {0};

    if (getsockname(fd, &at.to.any, &at.size) == 0)
        socket_address_put(&text, &at);
    log_info("listening for metrics", KV_STR("address", buf_cstr(&text)));
    buf_free(&text);
}

static bool has(const struct monitoring *m, const char *address)
{
    for (size_t i = 0; m != NULL && i < m->n; i++)
        if (strcmp(m->places[i].address, address) == 0)
            return true;
    return false;
}

static bool same_port(const char *a, const char *b)
{
    struct socket_address x;
    struct socket_address y;

    if (!socket_address_read(a, &x) || !socket_address_read(b, &y) ||
        x.to.any.sa_family != y.to.any.sa_family)
        return false;
    return x.to.any.sa_family == AF_INET ? x.to.v4.sin_port == y.to.v4.sin_port
                                         : x.to.v6.sin6_port == y.to.v6.sin6_port;
}

/* 0.0.0.0:1 and 127.0.0.1:1 cannot both be bound. Does m hold the port with an address that it is about to
 * leave? */
static bool leaves_port(const struct monitoring *m, const struct conf *conf, const char *address)
{
    for (size_t i = 0; m != NULL && i < m->n; i++)
        if (!conf_list_has(&conf->metrics.listen, m->places[i].address) &&
            same_port(m->places[i].address, address))
            return true;
    return false;
}

static void note(struct monitoring_sockets *s, const char *address, int fd)
{
    s->fds[s->n] = fd;
    s->addresses[s->n++] = mem_strdup(address);
}

static enum err_kind bind_one(const struct conf *conf, const struct monitoring *m,
                              const char *address, struct monitoring_sockets *out, struct err *err)
{
    int fd;

    if (listener_bind_tcp(address, &fd, err) == ERR_OK) {
        log_address(fd);
        note(out, address, fd);
        return ERR_OK;
    }
    if (err->code == EADDRINUSE && leaves_port(m, conf, address)) {
        note(out, address, -1);
        return ERR_OK;
    }
    if (conf->metrics.listen.at.line > 0)
        return err->kind;
    /* Nobody has asked for it: a second informerd on the machine is no fault. */
    log_info("metrics are served on the control socket only", KV_ERR(err),
             KV_STR("remedy", "set metrics.listen, or metrics : { listen = [ ]; }"));
    return ERR_OK;
}

/* Binds the addresses that m does not have; NULL = all. */
static enum err_kind bind_missing(const struct conf *conf, const struct monitoring *m,
                                  struct monitoring_sockets *out, struct err *err)
{
    const struct conf_list *listen = &conf->metrics.listen;
    enum err_kind kind = ERR_OK;

    *out = (struct monitoring_sockets){.fds = mem_array(listen->n + 1, sizeof(*out->fds)),
                                       .addresses = mem_array(listen->n + 1, sizeof(char *))};
    for (size_t i = 0; kind == ERR_OK && i < listen->n; i++)
        if (!has(m, listen->v[i].v))
            kind = bind_one(conf, m, listen->v[i].v, out, err);
    if (kind != ERR_OK)
        monitoring_unbind(out);
    return kind;
}

enum err_kind monitoring_bind(const struct conf *conf, struct monitoring_sockets *out,
                              struct err *err)
{
    return bind_missing(conf, NULL, out, err);
}

static void free_sockets(struct monitoring_sockets *s)
{
    for (size_t i = 0; i < s->n; i++)
        free(s->addresses[i]);
    free(s->addresses);
    free(s->fds);
    *s = (struct monitoring_sockets){0};
}

void monitoring_unbind(struct monitoring_sockets *s)
{
    for (size_t i = 0; i < s->n; i++)
        if (s->fds[i] >= 0)
            close(s->fds[i]);
    free_sockets(s);
}

/* ---- Answers */

/* The target without its query. */
static struct str path_of(const struct admin_request *req)
{
    const char *query = req->target.n > 0 ? memchr(req->target.p, '?', req->target.n) : NULL;

    return query != NULL ? str_of(req->target.p, (size_t)(query - req->target.p)) : req->target;
}

/* Where the path stands among the n paths; n = it does not. */
static size_t find(struct str path, const char *const *paths, size_t n)
{
    size_t i = 0;

    while (i < n && !str_is(path, paths[i]))
        i++;
    return i;
}

/* Programs may reach these under any name. The rest is for browsers, which let a site read it if the
 * name of that site has our address (admin/host). */
static bool is_for_programs(struct str path)
{
    static const char *const paths[] = {"/metrics", "/livez", "/readyz", "/healthz"};

    return find(path, paths, ARRAY_LEN(paths)) < ARRAY_LEN(paths);
}

/* Also with another query, which means nothing to these paths. */
static void answer_kept(struct monitoring *m, struct kept *k, const struct admin_request *req,
                        struct admin_response *out)
{
    uint64_t now_ms = loop_now_ms(m->loop);

    if (k->answer.body.len == 0 || now_ms - k->made_ms >= KEPT_MS) {
        buf_free(&k->answer.body);
        control_answer(m->control, req, &k->answer);
        k->made_ms = now_ms;
    }
    *out = k->answer;
    out->body = (struct buf){0};
    buf_append_str(&out->body, buf_str(&k->answer.body));
}

static void forget_kept(struct monitoring *m)
{
    for (size_t i = 0; i < KEPT_PATHS; i++)
        buf_free(&m->kept[i].answer.body);
}

/* No path here needs an escape, and one with an escape would be taken for another one. */
static void answer(void *arg, const struct admin_request *req, struct admin_response *out)
{
    struct monitoring *m = arg;
    struct str path = path_of(req);
    bool reads = str_is(req->method, "GET") || str_is(req->method, "HEAD");
    size_t at = find(path, kept_paths, KEPT_PATHS);

    if (path.n > 0 && memchr(path.p, '%', path.n) != NULL)
        admin_refuse(out, 404, "there is nothing under this path");
    else if (!is_for_programs(path) && !host_is_ours(req->host, m->node))
        admin_refuse(
            out, 403,
            "this is answered under an IP address, localhost and the name of the node only");
    else if (reads && at < KEPT_PATHS)
        answer_kept(m, &m->kept[at], req, out);
    else
        control_answer(m->control, req, out);
}

static void add_place(struct monitoring *m, const char *address, int fd)
{
    const struct listener_params p = {.fd = fd,
                                      .clients = MONITORING_CLIENTS,
                                      .queued_bytes = MONITORING_QUEUED_BYTES,
                                      .handle = answer,
                                      .arg = m};

    m->places = mem_grow(m->places, m->n, sizeof(*m->places));
    m->places[m->n++] = (struct place){mem_strdup(address), listener_create(m->loop, &p)};
}

/* Binds an address that had to wait until its port was free. It is too late for the reload to fail. */
static int bind_now(const char *address)
{
    struct err err;
    int fd;

    if (listener_bind_tcp(address, &fd, &err) == ERR_OK) {
        log_address(fd);
        return fd;
    }
    log_error("metrics are not served at an address of metrics.listen: reload to try again",
              KV_ERR(&err));
    return -1;
}

/* Makes listeners of sockets, behind the places that there are. */
static void serve(struct monitoring *m, struct monitoring_sockets *s)
{
    for (size_t i = 0; i < s->n; i++) {
        int fd = s->fds[i] >= 0 ? s->fds[i] : bind_now(s->addresses[i]);

        if (fd >= 0)
            add_place(m, s->addresses[i], fd);
    }
    free_sockets(s);
}

static void leave(struct place *p)
{
    listener_dispose(&p->listener);
    free(p->address);
}

/* ---- A reload */

enum err_kind monitoring_prepare(struct monitoring *m, const struct conf *conf, struct err *err)
{
    monitoring_unbind(&m->next);
    return bind_missing(conf, m, &m->next, err);
}

void monitoring_cancel(struct monitoring *m)
{
    monitoring_unbind(&m->next);
}

void monitoring_change(struct monitoring *m, const struct conf *conf, uint32_t textfile_number)
{
    size_t kept = 0;

    for (size_t i = 0; i < m->n; i++) {
        if (conf_list_has(&conf->metrics.listen, m->places[i].address))
            m->places[kept++] = m->places[i];
        else
            leave(&m->places[i]);
    }
    m->n = kept;
    forget_kept(m); /* page_keys may be another one */
    serve(m, &m->next);
    textfile_set(m->textfile, conf_textfile(conf), textfile_number);
}

/* ---- Begin and end */

static void put_metrics(void *arg, struct buf *out)
{
    const struct monitoring *m = arg;

    control_put_metrics(m->control, out);
}

static void on_trouble(void *arg, const char *trouble)
{
    const struct monitoring *m = arg;

    control_set_textfile_trouble(m->control, trouble);
}

struct monitoring *monitoring_create(const struct monitoring_params *params)
{
    struct monitoring *m = MEM_NEW(struct monitoring, .loop = params->loop,
                                   .control = params->control, .node = params->node);
    const struct textfile_params p = {.loop = params->loop,
                                      .link = params->link,
                                      .put = put_metrics,
                                      .on_trouble = on_trouble,
                                      .arg = m};

    serve(m, params->sockets);
    m->textfile = textfile_create(&p);
    textfile_set(m->textfile, conf_textfile(params->conf), params->textfile_number);
    return m;
}

void monitoring_dispose(struct monitoring **mp)
{
    struct monitoring *m = *mp;

    if (m == NULL)
        return;
    *mp = NULL;
    for (size_t i = 0; i < m->n; i++)
        leave(&m->places[i]);
    monitoring_unbind(&m->next);
    textfile_dispose(&m->textfile);
    forget_kept(m);
    free(m->places);
    free(m);
}
