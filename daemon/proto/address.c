/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/address.h"

#include <arpa/inet.h>
#include <string.h>

static bool is_same(const struct address *a, const struct address *b)
{
    if (a->to.any.sa_family != b->to.any.sa_family)
        return false;
    if (a->to.any.sa_family == AF_INET)
        return a->to.v4.sin_addr.s_addr == b->to.v4.sin_addr.s_addr;
    return memcmp(&a->to.v6.sin6_addr, &b->to.v6.sin6_addr, sizeof(a->to.v6.sin6_addr)) == 0 &&
           a->to.v6.sin6_scope_id == b->to.v6.sin6_scope_id;
}

static struct address *find(struct addresses *a, const struct address *which)
{
    for (size_t i = 0; i < a->n; i++)
        if (is_same(&a->v[i], which))
            return &a->v[i];
    return NULL;
}

bool addresses_add(struct addresses *a, const struct sockaddr *to)
{
    struct address new = {0};

    if (a->n == ADDRESSES_MAX)
        return false;
    if (to->sa_family == AF_INET)
        memcpy(&new.to.v4, to, sizeof(new.to.v4));
    else if (to->sa_family == AF_INET6)
        memcpy(&new.to.v6, to, sizeof(new.to.v6));
    else
        return false;
    if (find(a, &new) != NULL)
        return false;
    a->v[a->n++] = new;
    return true;
}

void addresses_remember(struct addresses *a, const struct addresses *before)
{
    for (size_t i = 0; i < before->n; i++)
        addresses_note(a, &before->v[i], before->v[i].failed_ms);
}

void addresses_note(struct addresses *a, const struct address *which, uint64_t failed_ms)
{
    struct address *known = find(a, which);

    if (known != NULL)
        known->failed_ms = failed_ms;
}

void address_put(struct buf *out, const struct address *a)
{
    char text[INET6_ADDRSTRLEN] = "?";

    if (a->to.any.sa_family == AF_INET)
        inet_ntop(AF_INET, &a->to.v4.sin_addr, text, sizeof(text));
    else
        inet_ntop(AF_INET6, &a->to.v6.sin6_addr, text, sizeof(text));
    buf_puts(out, text);
}
