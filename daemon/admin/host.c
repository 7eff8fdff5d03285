/* SPDX-License-Identifier: Apache-2.0 */
#include "admin/host.h"

#include <string.h>
#include <strings.h>

static struct str without_port(struct str host)
{
    size_t n = host.n;

    while (n > 0 && host.p[n - 1] != ':')
        n--;
    return n > 0 ? str_of(host.p, n - 1) : host;
}

/* The last label of a name in the DNS is never a number (RFC 3696 2), so that of an IPv4 address tells
 * the two apart. */
static bool is_ipv4(struct str name)
{
    for (size_t i = 0; i < name.n; i++)
        if (strchr("0123456789.", name.p[i]) == NULL || name.p[i] == '\0')
            return false;
    return name.n > 0;
}

static bool ends_with(struct str name, const char *end)
{
    size_t n = strlen(end);

    return name.n >= n && memcmp(name.p + name.n - n, end, n) == 0;
}

bool host_is_ours(struct str host, const char *node)
{
    struct str name = without_port(host);

    if (host.n == 0 || host.p[0] == '[')
        return true;
    return is_ipv4(name) || str_is(name, "localhost") || ends_with(name, ".localhost") ||
           (node != NULL && node[0] != '\0' && strlen(node) == name.n &&
            strncasecmp(name.p, node, name.n) == 0);
}
