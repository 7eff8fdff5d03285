/* SPDX-License-Identifier: Apache-2.0 */
#include "base/socket_address.h"

#include <arpa/inet.h>
#include <string.h>

enum { PORT_MAX = 65535 };

/* The longest text of an IPv6 address, with its NUL. */
enum { HOST_SIZE = INET6_ADDRSTRLEN };

static bool read_port(const char *text, in_port_t *out)
{
    unsigned port = 0;

    if (*text == '\0')
        return false;
    for (const char *p = text; *p != '\0'; p++) {
        if (*p < '0' || *p > '9')
            return false;
        port = port * 10 + (unsigned)(*p - '0');
        if (port > PORT_MAX)
            return false;
    }
    *out = htons((in_port_t)port);
    return true;
}

static bool copy_host(char *out, const char *from, size_t n)
{
    if (n >= HOST_SIZE)
        return false;
    memcpy(out, from, n);
    out[n] = '\0';
    return true;
}

bool socket_address_read(const char *text, struct socket_address *out)
{
    const char *colon = strrchr(text, ':');
    char host[HOST_SIZE];

    *out = (struct socket_address){0};
    if (colon == NULL)
        return false;
    if (text[0] == '[') {
        out->size = sizeof(out->to.v6);
        out->to.v6.sin6_family = AF_INET6;
        return colon - text >= 2 && colon[-1] == ']' &&
               copy_host(host, text + 1, (size_t)(colon - text) - 2) &&
               inet_pton(AF_INET6, host, &out->to.v6.sin6_addr) == 1 &&
               read_port(colon + 1, &out->to.v6.sin6_port);
    }
    out->size = sizeof(out->to.v4);
    out->to.v4.sin_family = AF_INET;
    return copy_host(host, text, (size_t)(colon - text)) &&
           inet_pton(AF_INET, host, &out->to.v4.sin_addr) == 1 &&
           read_port(colon + 1, &out->to.v4.sin_port);
}

void socket_address_put(struct buf *out, const struct socket_address *a)
{
    char host[HOST_SIZE] = "";

    if (a->to.any.sa_family == AF_INET6) {
        inet_ntop(AF_INET6, &a->to.v6.sin6_addr, host, sizeof(host));
        buf_printf(out, "[%s]:%u", host, (unsigned)ntohs(a->to.v6.sin6_port));
        return;
    }
    inet_ntop(AF_INET, &a->to.v4.sin_addr, host, sizeof(host));
    buf_printf(out, "%s:%u", host, (unsigned)ntohs(a->to.v4.sin_port));
}
