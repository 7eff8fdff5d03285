/* SPDX-License-Identifier: Apache-2.0 */
#include "io/addrs.h"

#include <netdb.h>
#include <netinet/in.h>
#include <string.h>
#include <uv.h>

bool addrs_add_literal(struct addrs *a, const char *host, uint16_t port)
{
    struct sockaddr_storage *to = &a->at[a->n];

    if (a->n == ADDRS_MAX)
        return false;
    if (uv_ip4_addr(host, port, (struct sockaddr_in *)to) != 0 &&
        uv_ip6_addr(host, port, (struct sockaddr_in6 *)to) != 0)
        return false;
    a->n++;
    return true;
}

/* The name lookup is made without a service, so the addresses that it finds have port 0. */
static bool set_port(struct sockaddr_storage *address, uint16_t port)
{
    if (address->ss_family == AF_INET)
        ((struct sockaddr_in *)address)->sin_port = htons(port);
    else if (address->ss_family == AF_INET6)
        ((struct sockaddr_in6 *)address)->sin6_port = htons(port);
    else
        return false;
    return true;
}

void addrs_add_found(struct addrs *a, const struct addrinfo *found, uint16_t port)
{
    for (const struct addrinfo *i = found; i != NULL && a->n < ADDRS_MAX; i = i->ai_next) {
        struct sockaddr_storage *to = &a->at[a->n];

        if (i->ai_addrlen > sizeof(*to))
            continue;
        memset(to, 0, sizeof(*to));
        memcpy(to, i->ai_addr, i->ai_addrlen);
        if (set_port(to, port))
            a->n++;
    }
}

const struct sockaddr *addrs_next(struct addrs *a)
{
    return a->tried < a->n ? (const struct sockaddr *)&a->at[a->tried++] : NULL;
}

void addrs_put_tried(const struct addrs *a, bool all, const char *host, struct buf *out)
{
    /* The address that was tried last is the one that is connected. */
    size_t from = all || a->tried == 0 ? 0 : a->tried - 1;
    struct buf list = {0};

    for (size_t i = from; i < a->tried; i++) {
        char text[INET6_ADDRSTRLEN] = "?";

        uv_ip_name((const struct sockaddr *)&a->at[i], text, sizeof(text));
        buf_printf(&list, "%s%s", i > from ? ", " : "", text);
    }
    /* The error names the host already, so an IP literal would stand there twice. */
    if (list.len > 0 && !str_is(buf_str(&list), host))
        buf_printf(out, " (%s%s)", all ? "tried " : "", buf_cstr(&list));
    buf_free(&list);
}
