/* SPDX-License-Identifier: Apache-2.0 */
#include "server.h"

#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/panic.h"
#include "packed.h"
#include "tls_peer.h"

enum { MAX_PEERS = 256, MAX_REQUESTS = 1024 };

const struct server_step server_hello[] = {
    {SERVER_READ,  NULL           },
    {SERVER_SEND,  SERVER_OK_HELLO},
    {SERVER_AGAIN, NULL           }
};
const struct server_step server_hello_later[] = {
    {SERVER_READ,  NULL           },
    {SERVER_WAIT,  NULL           },
    {SERVER_SEND,  SERVER_OK_HELLO},
    {SERVER_AGAIN, NULL           }
};

struct peer {
    struct server *server;
    const struct server_step *script;
    char *last; /* the head of its last request; NULL = none */
    pthread_t thread;
    int fd;
    bool tls_ready;
    struct tls_peer tls;
    struct buf in; /* plain bytes that no step has taken yet */
};

struct server {
    struct server_params params;
    const struct server_step *two[3]; /* scripts of server_start_two() */
    int fd;
    pthread_t thread;
    sem_t go;
    pthread_mutex_t lock; /* for the members below */
    bool stopping;
    struct peer peers[MAX_PEERS];
    unsigned n_peers;
    unsigned n_ready;
    char *requests[MAX_REQUESTS];
    unsigned n_requests;
};

static bool send_all(int fd, const char *data, size_t n)
{
    while (n > 0) {
        ssize_t sent = send(fd, data, n, MSG_NOSIGNAL);

        if (sent <= 0)
            return false;
        data += sent;
        n -= (size_t)sent;
    }
    return true;
}

static bool flush(struct peer *p)
{
    bool ok = send_all(p->fd, p->tls.out.data, p->tls.out.len);

    buf_clear(&p->tls.out);
    return ok;
}

/* More bytes from the network, decrypted; false at the end. */
static bool receive(struct peer *p)
{
    bool tls = p->server->params.tls != NULL;
    struct buf *to = tls ? &p->tls.in : &p->in;
    ssize_t n = recv(p->fd, buf_reserve(to, 16384), 16384, 0);

    if (n <= 0)
        return false;
    to->len += (size_t)n;
    if (p->tls_ready)
        return tls_peer_read(&p->tls, &p->in) == 0;
    return true;
}

static bool shake(struct peer *p)
{
    int e = MBEDTLS_ERR_SSL_WANT_READ;

    tls_peer_init(&p->tls, p->server->params.tls);
    while (e == MBEDTLS_ERR_SSL_WANT_READ) {
        if (!receive(p))
            return false;
        e = tls_peer_handshake(&p->tls);
        if (!flush(p))
            return false;
    }
    p->tls_ready = e == 0;
    return p->tls_ready && tls_peer_read(&p->tls, &p->in) == 0;
}

static bool say(struct peer *p, const char *data, size_t n)
{
    if (p->server->params.tls == NULL)
        return send_all(p->fd, data, n);
    tls_peer_write(&p->tls, data, n);
    return flush(p);
}

static bool say_packed(struct peer *p, struct str content)
{
    struct buf member = {0};

    packed_put(&member, content);
    bool ok = say(p, member.data, member.len);

    buf_free(&member);
    return ok;
}

static bool flood(struct peer *p, const char *text, bool packed)
{
    struct buf all = {0};

    for (unsigned i = 0; i < 65536; i++)
        buf_puts(&all, text);
    bool ok = packed ? say_packed(p, buf_str(&all)) : say(p, all.data, all.len);

    buf_free(&all);
    return ok;
}

static void keep_request(struct server *s, const char *head, size_t n)
{
    pthread_mutex_lock(&s->lock);
    ensure(s->n_requests < MAX_REQUESTS);
    s->requests[s->n_requests++] = mem_strndup(head, n);
    pthread_mutex_unlock(&s->lock);
}

static bool read_request(struct peer *p)
{
    const char *end;

    while ((end = strstr(buf_cstr(&p->in), "\r\n\r\n")) == NULL)
        if (!receive(p))
            return false;
    size_t n = (size_t)(end - p->in.data) + 4;

    keep_request(p->server, p->in.data, n);
    free(p->last);
    p->last = mem_strndup(p->in.data, n);
    buf_consume(&p->in, n);
    return true;
}

static void hold(struct peer *p)
{
    while (receive(p))
        buf_clear(&p->in);
}

static void reset(struct peer *p)
{
    const struct linger now = {.l_onoff = 1, .l_linger = 0};

    setsockopt(p->fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
}

static bool wait_for_go(struct server *s)
{
    while (sem_wait(&s->go) != 0)
        continue;
    pthread_mutex_lock(&s->lock);
    bool go_on = !s->stopping;

    pthread_mutex_unlock(&s->lock);
    return go_on;
}

/* False: this was the last step. */
static bool carry_out(struct peer *p, const struct server_step *step)
{
    switch (step->what) {
    case SERVER_READ:
        return read_request(p);
    case SERVER_SEND:
        return say(p, step->text, strlen(step->text));
    case SERVER_FLOOD:
    case SERVER_GZIP_FLOOD:
        return flood(p, step->text, step->what == SERVER_GZIP_FLOOD);
    case SERVER_GZIP:
        return say_packed(p, str_c(step->text));
    case SERVER_WAIT:
        return wait_for_go(p->server);
    case SERVER_HALF_CLOSE:
        return shutdown(p->fd, SHUT_WR) == 0;
    case SERVER_HOLD:
        hold(p);
        return false;
    case SERVER_RESET:
        reset(p);
        return false;
    case SERVER_AGAIN:
    case SERVER_IF:
    case SERVER_ELSE:
    case SERVER_CLOSE:
        break;
    }
    return false;
}

/* The step to carry out when the script has come to this one. */
static const struct server_step *choose(const struct peer *p, const struct server_step *step)
{
    for (;;) {
        if (step->what == SERVER_AGAIN) {
            step = p->script;
        } else if (step->what == SERVER_IF && strstr(p->last, step->text) == NULL) {
            while (step->what != SERVER_ELSE)
                step++;
            step++;
        } else if (step->what == SERVER_IF) {
            step++;
        } else {
            return step;
        }
    }
}

static void *serve(void *arg)
{
    struct peer *p = arg;
    struct server *s = p->server;
    const struct server_step *step = p->script;
    bool ok = s->params.tls == NULL || shake(p);

    pthread_mutex_lock(&s->lock);
    s->n_ready += ok;
    pthread_mutex_unlock(&s->lock);
    while (ok && carry_out(p, step))
        step = choose(p, step + 1);
    if (s->params.tls != NULL)
        tls_peer_fini(&p->tls);
    buf_free(&p->in);
    free(p->last);
    pthread_mutex_lock(&s->lock);
    close(p->fd);
    p->fd = -1;
    pthread_mutex_unlock(&s->lock);
    return NULL;
}

static const struct server_step *script_of(const struct server *s, unsigned n)
{
    unsigned i = 0;

    while (i < n && s->params.scripts[i + 1] != NULL)
        i++;
    return s->params.scripts[i];
}

static void *accept_all(void *arg)
{
    struct server *s = arg;
    int fd;

    while ((fd = accept4(s->fd, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
        pthread_mutex_lock(&s->lock);
        ensure(s->n_peers < MAX_PEERS);
        struct peer *p = &s->peers[s->n_peers];

        *p = (struct peer){.server = s, .fd = fd, .script = script_of(s, s->n_peers)};
        s->n_peers++;
        ensure(pthread_create(&p->thread, NULL, serve, p) == 0);
        pthread_mutex_unlock(&s->lock);
    }
    return NULL;
}

static int bound_socket(const char *address, uint16_t *port)
{
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(*port)};
    socklen_t n = sizeof(in);
    int on = 1;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    ensure(fd >= 0 && inet_pton(AF_INET, address, &in.sin_addr) == 1);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    ensure(bind(fd, (const struct sockaddr *)&in, sizeof(in)) == 0);
    ensure(getsockname(fd, (struct sockaddr *)&in, &n) == 0);
    *port = ntohs(in.sin_port);
    return fd;
}

static struct server *start(struct server *s)
{
    if (s->params.address == NULL)
        s->params.address = "127.0.0.1";
    s->fd = bound_socket(s->params.address, &s->params.port);
    ensure(listen(s->fd, 512) == 0);
    sem_init(&s->go, 0, 0);
    pthread_mutex_init(&s->lock, NULL);
    ensure(pthread_create(&s->thread, NULL, accept_all, s) == 0);
    return s;
}

struct server *server_start(const struct server_params *params)
{
    struct server *s = mem_zalloc(sizeof(*s));

    s->params = *params;
    return start(s);
}

struct server *server_start_two(const struct server_step *first, const struct server_step *later,
                                struct tls_peer_server *tls)
{
    struct server *s = mem_zalloc(sizeof(*s));

    s->two[0] = first;
    s->two[1] = later;
    s->params = (struct server_params){.scripts = s->two, .tls = tls};
    return start(s);
}

uint16_t server_port(const struct server *s)
{
    return s->params.port;
}

void server_go(struct server *s)
{
    sem_post(&s->go);
}

static unsigned read_locked(struct server *s, const unsigned *value)
{
    pthread_mutex_lock(&s->lock);
    unsigned n = *value;

    pthread_mutex_unlock(&s->lock);
    return n;
}

unsigned server_accepted(struct server *s)
{
    return read_locked(s, &s->n_peers);
}

unsigned server_connections(struct server *s)
{
    return read_locked(s, &s->n_ready);
}

unsigned server_requests(struct server *s)
{
    return read_locked(s, &s->n_requests);
}

const char *server_request(struct server *s, unsigned i)
{
    return i < server_requests(s) ? s->requests[i] : "";
}

static void stop_peers(struct server *s)
{
    pthread_mutex_lock(&s->lock);
    s->stopping = true;
    for (unsigned i = 0; i < s->n_peers; i++) {
        if (s->peers[i].fd >= 0)
            shutdown(s->peers[i].fd, SHUT_RDWR);
        sem_post(&s->go);
    }
    pthread_mutex_unlock(&s->lock);
    for (unsigned i = 0; i < s->n_peers; i++)
        pthread_join(s->peers[i].thread, NULL);
}

void server_stop(struct server **sp)
{
    struct server *s = *sp;

    *sp = NULL;
    shutdown(s->fd, SHUT_RDWR);
    pthread_join(s->thread, NULL);
    close(s->fd);
    stop_peers(s);
    for (unsigned i = 0; i < s->n_requests; i++)
        free(s->requests[i]);
    sem_destroy(&s->go);
    pthread_mutex_destroy(&s->lock);
    free(s);
}

uint16_t server_refusing_port(int *fd)
{
    uint16_t port = 0;

    *fd = bound_socket("127.0.0.1", &port);
    return port;
}

uint16_t server_dead_port(const char *address, uint16_t port, int fds[3])
{
    struct sockaddr_in in = {.sin_family = AF_INET};

    fds[0] = bound_socket(address, &port);
    ensure(listen(fds[0], 0) == 0); /* room for one: the next SYN is dropped */
    in.sin_port = htons(port);
    ensure(inet_pton(AF_INET, address, &in.sin_addr) == 1);
    for (int i = 1; i < 3; i++) {
        fds[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        (void)connect(fds[i], (const struct sockaddr *)&in, sizeof(in));
        if (i == 1)
            poll(&(struct pollfd){.fd = fds[1], .events = POLLOUT}, 1, -1);
    }
    return port;
}
