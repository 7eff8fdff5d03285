/* SPDX-License-Identifier: Apache-2.0 */
#include "app/monitoring.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "admin/metrics_out.h"
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

struct monitoring {
    struct loop *loop;
    struct control *control;
    struct place *places;
    size_t n;
    struct monitoring_sockets next; /* new ones of the reload under way */
    struct textfile *textfile;
    struct buf metrics;  /* the last answer to /metrics; empty = there was none */
    uint64_t metrics_ms; /* when it was made */
};

/* /metrics takes milliseconds to make when there are a thousand watches, and anybody may ask: so it is not
 * made more often, and takes no more than a few percent of the loop's time. */
#define METRICS_EVERY_MS 100

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

static enum err_kind bind_one(struct monitoring_sockets *s, const struct conf_list *listen,
                              const char *address, struct err *err)
{
    int fd;
    enum err_kind kind = listener_bind_tcp(address, &fd, err);

    if (kind == ERR_OK) {
        log_address(fd);
        s->fds[s->n] = fd;
        s->addresses[s->n++] = mem_strdup(address);
    } else if (listen->at.line == 0) {
        /* Nobody has asked for it: a second informerd on the machine is no fault. */
        log_info("metrics are served on the control socket only", KV_ERR(err),
                 KV_STR("remedy", "set metrics.listen, or metrics : { listen = [ ]; }"));
        kind = ERR_OK;
    }
    return kind;
}

static bool has(const struct monitoring *m, const char *address)
{
    for (size_t i = 0; m != NULL && i < m->n; i++)
        if (strcmp(m->places[i].address, address) == 0)
            return true;
    return false;
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
            kind = bind_one(out, listen, listen->v[i].v, err);
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
        close(s->fds[i]);
    free_sockets(s);
}

/* ---- Answers */

static bool asks_for_metrics(const struct admin_request *req)
{
    return str_is(req->target, "/metrics") &&
           (str_is(req->method, "GET") || str_is(req->method, "HEAD"));
}

static void answer_metrics(struct monitoring *m, const struct admin_request *req,
                           struct admin_response *out)
{
    uint64_t now_ms = loop_now_ms(m->loop);

    *out = (struct admin_response){.status = 200, .content_type = METRICS_OUT_TYPE};
    if (m->metrics.len > 0 && now_ms - m->metrics_ms < METRICS_EVERY_MS) {
        buf_append_str(&out->body, buf_str(&m->metrics));
        return;
    }
    control_answer(m->control, req, out);
    buf_clear(&m->metrics);
    buf_append_str(&m->metrics, buf_str(&out->body));
    m->metrics_ms = now_ms;
}

static void answer(void *arg, const struct admin_request *req, struct admin_response *out)
{
    struct monitoring *m = arg;

    if (asks_for_metrics(req))
        answer_metrics(m, req, out);
    else
        control_answer(m->control, req, out);
}

/* Makes listeners of sockets, behind the places that there are. */
static void serve(struct monitoring *m, struct monitoring_sockets *s)
{
    for (size_t i = 0; i < s->n; i++) {
        const struct listener_params p = {.fd = s->fds[i],
                                          .clients = MONITORING_CLIENTS,
                                          .queued_bytes = MONITORING_QUEUED_BYTES,
                                          .handle = answer,
                                          .arg = m};

        m->places = mem_grow(m->places, m->n, sizeof(*m->places));
        m->places[m->n++] =
            (struct place){mem_strdup(s->addresses[i]), listener_create(m->loop, &p)};
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

static bool is_wanted(const struct conf *conf, const char *address)
{
    for (size_t i = 0; i < conf->metrics.listen.n; i++)
        if (strcmp(conf->metrics.listen.v[i].v, address) == 0)
            return true;
    return false;
}

void monitoring_change(struct monitoring *m, const struct conf *conf, uint32_t textfile_number)
{
    size_t kept = 0;

    for (size_t i = 0; i < m->n; i++) {
        if (is_wanted(conf, m->places[i].address))
            m->places[kept++] = m->places[i];
        else
            leave(&m->places[i]);
    }
    m->n = kept;
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
    struct monitoring *m =
        MEM_NEW(struct monitoring, .loop = params->loop, .control = params->control);
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
    buf_free(&m->metrics);
    free(m->places);
    free(m);
}
