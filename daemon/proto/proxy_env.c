/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/proxy_env.h"

#include <arpa/inet.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"

/* An IP address as 16 bytes; an IPv4 address as the IPv6 address that stands for it (::ffff:1.2.3.4),
 * as in Go: so both spellings are the same address. */
struct ip {
    unsigned char b[16];
    bool v4;
};

/* Text that is longer than any address is none. */
static bool parse_ip(struct str text, struct ip *out)
{
    static const unsigned char mapped[12] = {[10] = 0xff, [11] = 0xff};
    char copy[INET6_ADDRSTRLEN + 1];

    if (text.n == 0 || text.n >= sizeof(copy))
        return false;
    memcpy(copy, text.p, text.n);
    copy[text.n] = '\0';
    if (inet_pton(AF_INET6, copy, out->b) == 1) {
        out->v4 = memcmp(out->b, mapped, sizeof(mapped)) == 0;
        return true;
    }
    memcpy(out->b, mapped, sizeof(mapped));
    out->v4 = inet_pton(AF_INET, copy, out->b + sizeof(mapped)) == 1;
    return out->v4;
}

static bool is_loopback(const struct ip *ip)
{
    static const unsigned char one[16] = {[15] = 1};

    return ip->v4 ? ip->b[12] == 127 : memcmp(ip->b, one, sizeof(one)) == 0;
}

/* The whole text as a number; -1: it is none, or larger than max. */
static int read_number(struct str digits, int max)
{
    uint64_t value;

    return str_take_u64(&digits, &value) && digits.n == 0 && value <= (uint64_t)max ? (int)value
                                                                                    : -1;
}

/* Is ip in the net of a CIDR (192.0.2.0/24)? *is_cidr: the entry is one. */
static bool in_cidr(struct str entry, const struct ip *ip, bool *is_cidr)
{
    const char *slash = memchr(entry.p, '/', entry.n);
    size_t n = slash != NULL ? (size_t)(slash - entry.p) : 0;
    struct ip net;

    *is_cidr = slash != NULL && parse_ip(str_of(entry.p, n), &net);
    if (!*is_cidr)
        return false;
    bool v4 = memchr(entry.p, ':', n) == NULL;
    int bits = read_number(str_of(slash + 1, entry.n - n - 1), v4 ? 32 : 128);

    *is_cidr = bits >= 0;
    if (bits < 0 || ip == NULL || v4 != ip->v4)
        return false;
    bits += v4 ? 96 : 0;
    for (int i = 0; i < bits; i++)
        if (((net.b[i / 8] ^ ip->b[i / 8]) & (0x80 >> i % 8)) != 0)
            return false;
    return true;
}

/* Splits HOST:PORT or [IPv6]:PORT. An entry that has no port, or several colons and no brackets, is
 * a host. *port: the digits; empty = any port. */
static struct str split_port(struct str entry, struct str *port)
{
    const char *colon = memchr(entry.p, ':', entry.n);
    const char *last = colon;

    *port = str_of(NULL, 0);
    if (entry.n > 0 && entry.p[0] == '[') {
        const char *end = memchr(entry.p, ']', entry.n);

        if (end == NULL)
            return entry;
        size_t n = (size_t)(end - entry.p);
        if (n + 1 < entry.n && end[1] == ':')
            *port = str_of(end + 2, entry.n - n - 2);
        return str_of(entry.p + 1, n - 1);
    }
    if (colon != NULL)
        last = memchr(colon + 1, ':', entry.n - (size_t)(colon + 1 - entry.p));
    if (colon == NULL || last != NULL)
        return entry;
    *port = str_of(colon + 1, entry.n - (size_t)(colon + 1 - entry.p));
    return str_of(entry.p, (size_t)(colon - entry.p));
}

static bool equals(struct str a, struct str b)
{
    return a.n == b.n && strncasecmp(a.p, b.p, a.n) == 0;
}

static struct str from(struct str s, size_t at)
{
    return str_of(s.p + at, s.n - at);
}

/* "x" is the name x and all names below it; ".x" and "*.x" are those below it only. */
static bool matches_name(struct str entry, struct str host)
{
    if (entry.n > 1 && entry.p[0] == '*' && entry.p[1] == '.')
        entry = from(entry, 1);
    if (entry.n == 0)
        return false;
    if (entry.p[0] == '.')
        return host.n > entry.n && equals(from(host, host.n - entry.n), entry);
    return equals(host, entry) || (host.n > entry.n && host.p[host.n - entry.n - 1] == '.' &&
                                   equals(from(host, host.n - entry.n), entry));
}

/* ip NULL: host is a name. */
static bool matches(struct str entry, struct str host, const struct ip *ip, uint16_t port)
{
    struct str digits;
    struct ip other;
    bool is_cidr;

    if (str_is(entry, "*") || in_cidr(entry, ip, &is_cidr))
        return true;
    if (is_cidr)
        return false;
    struct str name = split_port(entry, &digits);
    if (digits.n > 0 && read_number(digits, UINT16_MAX) != port)
        return false;
    if (parse_ip(name, &other))
        return ip != NULL && memcmp(other.b, ip->b, sizeof(other.b)) == 0;
    return ip == NULL && matches_name(name, host);
}

static struct str trim(struct str s)
{
    while (s.n > 0 && strchr(" \t\r\n", s.p[0]) != NULL)
        s = from(s, 1);
    while (s.n > 0 && strchr(" \t\r\n", s.p[s.n - 1]) != NULL)
        s.n--;
    return s;
}

bool proxy_env_exempts(struct str no_proxy, const struct url *server)
{
    struct str host = str_c(server->host);
    struct ip ip;

    if (host.n > 1 && host.p[host.n - 1] == '.')
        host.n--;
    bool is_ip = parse_ip(host, &ip);
    if (equals(host, str_c("localhost")) || (is_ip && is_loopback(&ip)))
        return true;
    while (no_proxy.n > 0) {
        const char *comma = memchr(no_proxy.p, ',', no_proxy.n);
        size_t n = comma != NULL ? (size_t)(comma - no_proxy.p) : no_proxy.n;
        struct str entry = trim(str_of(no_proxy.p, n));

        if (entry.n > 0 && matches(entry, host, is_ip ? &ip : NULL, server->port))
            return true;
        no_proxy = from(no_proxy, comma != NULL ? n + 1 : n);
    }
    return false;
}

enum err_kind proxy_env_find(const struct proxy_env *env, const struct url *server,
                             struct proxy *out, struct err *err)
{
    const char *value = server->tls ? env->https_proxy : env->http_proxy;

    *out = (struct proxy){0};
    if (value == NULL || value[0] == '\0' || proxy_env_exempts(str_c(env->no_proxy), server))
        return ERR_OK;
    /* A proxy without a scheme is an HTTP proxy. */
    bool bare = strstr(value, "://") == NULL;
    char *text = mem_printf("%s%s", bare ? "http://" : "", value);
    enum err_kind kind = proxy_parse(text, out, err);

    mem_free_secret(text);
    return kind == ERR_OK ? kind : err_wrap(err, server->tls ? "HTTPS_PROXY" : "HTTP_PROXY");
}
