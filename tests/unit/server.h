/* SPDX-License-Identifier: Apache-2.0 */
/*
 * server - a scripted server on the loopback for tests of io/: threads that read requests and
 * answer from a script, over TCP or TLS.
 */
#ifndef UNIT_SERVER_H
#define UNIT_SERVER_H

#include <stdint.h>

struct server;
struct tls_peer_server;

enum server_do {
    SERVER_CLOSE,      /* also the bytes behind the last step */
    SERVER_READ,       /* wait for the end of a request head, keep it for server_request() */
    SERVER_SEND,       /* text */
    SERVER_FLOOD,      /* text 65536 times */
    SERVER_GZIP,       /* text as one gzip member */
    SERVER_GZIP_FLOOD, /* text 65536 times, as one gzip member */
    SERVER_WAIT,       /* for one server_go() */
    SERVER_HALF_CLOSE,
    SERVER_RESET, /* close with RST */
    SERVER_HOLD,  /* send nothing until the client closes */
    SERVER_AGAIN, /* the script from its begin */
    SERVER_IF,    /* if the last request head lacks the text: goes on behind the next SERVER_ELSE */
    SERVER_ELSE,
};

struct server_step {
    enum server_do what;
    const char *text;
};

/* A head in front of a JSON body that ends with the connection. */
#define SERVER_OK_HEAD \
    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n"

/* A whole response without a body; status: "404 Not Found". */
#define SERVER_EMPTY(status) "HTTP/1.1 " status "\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"

/* A whole response with the body "hello"; the connection can be used again. */
#define SERVER_OK_HELLO "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"

/* The script of a connection: it reads a request, sends this text, and then closes or holds. */
#define SERVER_SAYS(text, then)                   \
    {                                             \
        {SERVER_READ, NULL}, {SERVER_SEND, text}, \
        {                                         \
            then, NULL                            \
        }                                         \
    }

/* Scripts of connections, in their order, for server_params. */
#define SERVER_SCRIPTS(...) ((const struct server_step *const[]){__VA_ARGS__, NULL})

/* Scripts of a connection that answers each request with SERVER_OK_HELLO, the second one after a
 * server_go(). */
extern const struct server_step server_hello[];
extern const struct server_step server_hello_later[];

struct server_params {
    const char *address;         /* NULL = 127.0.0.1 */
    uint16_t port;               /* 0 = any */
    struct tls_peer_server *tls; /* NULL = plain; borrowed */
    /* The n-th connection follows scripts[n], those beyond the last one the last; ends with NULL;
     * borrowed. */
    const struct server_step *const *scripts;
};

/* Listens when it returns. */
struct server *server_start(const struct server_params *params);

/* A server whose first connection follows one script and all later ones another; later NULL = every
 * connection follows the first. tls NULL = plain. */
struct server *server_start_two(const struct server_step *first, const struct server_step *later,
                                struct tls_peer_server *tls);

/* Where it listens. */
uint16_t server_port(const struct server *s);

/* Lets one SERVER_WAIT, present or future, go on. */
void server_go(struct server *s);

/* How many connections came. */
unsigned server_accepted(struct server *s);

/* How many of them could exchange bytes: with TLS, those that shook hands. */
unsigned server_connections(struct server *s);

/* The i-th request head, in the order of arrival; "" if there is none. Valid until
 * server_stop(). */
const char *server_request(struct server *s, unsigned i);

/* How many request heads came. */
unsigned server_requests(struct server *s);

/* Ends all connections and threads; *s is NULL. */
void server_stop(struct server **s);

/* A port of 127.0.0.1 where nobody listens, as long as *fd is open. */
uint16_t server_refusing_port(int *fd);

/* Nobody answers a SYN to this address and port (0 = any) as long as the descriptors are open;
 * returns the port. */
uint16_t server_dead_port(const char *address, uint16_t port, int fds[3]);

#endif
