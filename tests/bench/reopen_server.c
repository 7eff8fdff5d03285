/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reopen_server - the API server of reopen.py: serves empty lists and silent watches to thousands of
 * TLS connections, on one thread, and gives out session tickets.
 *
 *     reopen_server PORT CERT KEY
 *
 * Commands come on stdin, a line each: "listen" begins to accept connections. Each second in which
 * the number has changed, and whenever it has reached a round thousand, stdout gets a line: "watches
 * N full F resumed R": open watches, and handshakes since the start. The program ends with stdin.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <mbedtls/net_sockets.h>
#include <mbedtls/pk.h>
#include <mbedtls/ssl.h>
#include <mbedtls/ssl_ticket.h>
#include <mbedtls/version.h>
#include <mbedtls/x509_crt.h>
#include <psa/crypto.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/panic.h"

enum { BACKLOG = 4096, EVENTS = 256, REQUEST_MAX = 8192 };

enum state { SHAKING, TALKING, WATCHING };

struct client {
    mbedtls_ssl_context ssl;
    enum state state;
    int fd;
    bool resumed; /* the session came from a ticket */
    size_t n;
    char request[REQUEST_MAX];
};

static mbedtls_ssl_config conf;
static mbedtls_ssl_ticket_context tickets;
static mbedtls_x509_crt cert;
static mbedtls_pk_context key;
static int poll_fd;
static int listen_fd;
static unsigned watches;
static unsigned full;
static unsigned resumed;

static void must(int ret)
{
    if (ret != 0)
        panic("mbedTLS: -0x%04x", (unsigned)-ret);
}

static int from_kernel(void *arg, unsigned char *out, size_t n)
{
    (void)arg;
    return getrandom(out, n, 0) == (ssize_t)n ? 0 : -1;
}

static int send_out(void *arg, const unsigned char *data, size_t n)
{
    const struct client *c = arg;
    ssize_t done = send(c->fd, data, n, MSG_NOSIGNAL);

    if (done < 0)
        return errno == EAGAIN ? MBEDTLS_ERR_SSL_WANT_WRITE : MBEDTLS_ERR_NET_SEND_FAILED;
    return (int)done;
}

static int recv_in(void *arg, unsigned char *data, size_t n)
{
    const struct client *c = arg;
    ssize_t done = recv(c->fd, data, n, 0);

    if (done < 0)
        return errno == EAGAIN ? MBEDTLS_ERR_SSL_WANT_READ : MBEDTLS_ERR_NET_RECV_FAILED;
    return (int)done;
}

/* A ticket that can be read is a session that is resumed. The library does not say whose it is:
 * tickets are read inside a handshake, of which there is one at a time. */
static struct client *shaking;

static int parse_ticket(void *arg, mbedtls_ssl_session *session, unsigned char *data, size_t n)
{
    int ret = mbedtls_ssl_ticket_parse(arg, session, data, n);

    if (ret == 0)
        shaking->resumed = true;
    return ret;
}

static void configure(const char *cert_file, const char *key_file)
{
    ensure(psa_crypto_init() == PSA_SUCCESS);
    mbedtls_ssl_config_init(&conf);
    mbedtls_ssl_ticket_init(&tickets);
    mbedtls_x509_crt_init(&cert);
    mbedtls_pk_init(&key);
    must(mbedtls_x509_crt_parse_file(&cert, cert_file));
#if MBEDTLS_VERSION_MAJOR >= 3
    must(mbedtls_pk_parse_keyfile(&key, key_file, NULL, from_kernel, NULL));
#else
    must(mbedtls_pk_parse_keyfile(&key, key_file, NULL));
#endif
    must(mbedtls_ssl_config_defaults(&conf, MBEDTLS_SSL_IS_SERVER, MBEDTLS_SSL_TRANSPORT_STREAM,
                                     MBEDTLS_SSL_PRESET_DEFAULT));
    mbedtls_ssl_conf_rng(&conf, from_kernel, NULL);
    must(mbedtls_ssl_conf_own_cert(&conf, &cert, &key));
#if MBEDTLS_VERSION_MAJOR >= 3
    mbedtls_ssl_conf_max_tls_version(&conf, MBEDTLS_SSL_VERSION_TLS1_2);
#endif
    must(mbedtls_ssl_ticket_setup(&tickets, from_kernel, NULL, MBEDTLS_CIPHER_AES_256_GCM, 3600));
    mbedtls_ssl_conf_session_tickets_cb(&conf, mbedtls_ssl_ticket_write, parse_ticket, &tickets);
}

/* ---- Connections */

static void tell(void)
{
    printf("watches %u full %u resumed %u\n", watches, full, resumed);
    fflush(stdout);
}

static void drop(struct client *c)
{
    watches -= c->state == WATCHING;
    mbedtls_ssl_free(&c->ssl);
    close(c->fd);
    free(c);
}

static bool put(struct client *c, const char *text)
{
    size_t n = strlen(text);

    /* The kernel's buffer has room for these few bytes. */
    return mbedtls_ssl_write(&c->ssl, (const unsigned char *)text, n) == (int)n;
}

static bool put_body(struct client *c, const char *body)
{
    char head[200];

    (void)snprintf(
        head, sizeof(head),
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n\r\n",
        strlen(body));
    return put(c, head) && put(c, body);
}

static bool answer(struct client *c)
{
    static const char watch[] = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
                                "Transfer-Encoding: chunked\r\n\r\n";

    c->request[c->n] = '\0';
    c->n = 0;
    if (strstr(c->request, "watch=1") != NULL || strstr(c->request, "watch=true") != NULL) {
        c->state = WATCHING;
        watches++;
        if (watches % 1000 == 0)
            tell();
        return put(c, watch);
    }
    if (strstr(c->request, "kube-system") != NULL)
        return put_body(c, "{\"kind\":\"NamespaceList\",\"apiVersion\":\"v1\",\"metadata\":{"
                           "\"resourceVersion\":\"1000\"},\"items\":[{\"metadata\":{\"name\":"
                           "\"kube-system\",\"uid\":\"5eed0000-0000-4000-8000-000000000000\"}}]}");
    return put_body(c, "{\"kind\":\"ServiceList\",\"apiVersion\":\"v1\",\"metadata\":{"
                       "\"resourceVersion\":\"1000\"},\"items\":[]}");
}

/* Reads the bytes that came. False: the connection is over. */
static bool go_on(struct client *c)
{
    if (c->state == SHAKING) {
        shaking = c;
        int ret = mbedtls_ssl_handshake(&c->ssl);

        if (ret == MBEDTLS_ERR_SSL_WANT_READ || ret == MBEDTLS_ERR_SSL_WANT_WRITE)
            return true;
        if (ret != 0)
            return false;
        c->state = TALKING;
        full += !c->resumed;
        resumed += c->resumed;
    }
    for (;;) {
        if (c->n + 1 >= sizeof(c->request))
            return false;
        int n = mbedtls_ssl_read(&c->ssl, (unsigned char *)c->request + c->n,
                                 sizeof(c->request) - 1 - c->n);

        if (n == MBEDTLS_ERR_SSL_WANT_READ)
            return true;
        if (n <= 0)
            return false;
        c->n += (size_t)n;
        if (c->n >= 4 && memcmp(c->request + c->n - 4, "\r\n\r\n", 4) == 0 && !answer(c))
            return false;
    }
}

static void accept_all(void)
{
    for (;;) {
        int fd = accept4(listen_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

        if (fd < 0)
            return;
        struct client *c = mem_zalloc(sizeof(*c));

        c->fd = fd;
        mbedtls_ssl_init(&c->ssl);
        must(mbedtls_ssl_setup(&c->ssl, &conf));
        mbedtls_ssl_set_bio(&c->ssl, c, send_out, recv_in, NULL);
        ensure(epoll_ctl(poll_fd, EPOLL_CTL_ADD, fd,
                         &(struct epoll_event){.events = EPOLLIN, .data.ptr = c}) == 0);
    }
}

static void begin_to_listen(const char *port)
{
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
                             .sin_port = htons((uint16_t)strtoul(port, NULL, 10))};
    const int on = 1;

    listen_fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    setsockopt(listen_fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    setsockopt(listen_fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on));
    if (bind(listen_fd, (struct sockaddr *)&to, sizeof(to)) != 0 || listen(listen_fd, BACKLOG) != 0)
        panic("cannot listen on port %s", port);
    ensure(epoll_ctl(poll_fd, EPOLL_CTL_ADD, listen_fd,
                     &(struct epoll_event){.events = EPOLLIN, .data.ptr = &listen_fd}) == 0);
}

/* A command, or the end of stdin. */
static void obey(const char *port)
{
    char line[64];
    ssize_t n = read(STDIN_FILENO, line, sizeof(line));

    if (n <= 0)
        exit(0);
    if (strncmp(line, "listen", 6) == 0) {
        begin_to_listen(port);
        tell();
    }
}

int main(int argc, char **argv)
{
    struct epoll_event events[EVENTS];
    unsigned told = 0;
    static int commands;

    if (argc != 4)
        panic("usage: reopen_server PORT CERT KEY");
    setrlimit(RLIMIT_NOFILE, &(struct rlimit){65536, 65536});
    configure(argv[2], argv[3]);
    poll_fd = epoll_create1(EPOLL_CLOEXEC);
    ensure(epoll_ctl(poll_fd, EPOLL_CTL_ADD, STDIN_FILENO,
                     &(struct epoll_event){.events = EPOLLIN, .data.ptr = &commands}) == 0);
    for (;;) {
        int n = epoll_wait(poll_fd, events, EVENTS, 1000);

        if (n == 0 && told != watches)
            tell();
        if (n == 0)
            told = watches;
        for (int i = 0; i < n; i++) {
            if (events[i].data.ptr == &commands)
                obey(argv[1]);
            else if (events[i].data.ptr == &listen_fd)
                accept_all();
            else if (!go_on(events[i].data.ptr))
                drop(events[i].data.ptr);
        }
    }
}
