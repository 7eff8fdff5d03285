/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/url.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"

/* A host name has at most 253 bytes, a label 63 (RFC 1035 2.3.4). An error text shows at most SHOWN
 * bytes of the address. */
enum { URL_MAX = 2048, HOST_MAX = 253, LABEL_MAX = 63, SHOWN = 80 };

/* The parts of an address, not checked yet. */
struct parts {
    bool tls;
    bool bracketed;
    bool has_port;
    struct str host;
    struct str port;
    struct str path;
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_hex(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

static bool is_alnum(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static struct str skip(struct str s, size_t n)
{
    return str_of(s.p + n, s.n - n);
}

static struct str until(struct str s, const char *any)
{
    size_t n = 0;

    while (n < s.n && strchr(any, s.p[n]) == NULL)
        n++;
    return str_of(s.p, n);
}

static bool starts_with(struct str s, const char *prefix)
{
    size_t n = strlen(prefix);

    return s.n >= n && strncasecmp(s.p, prefix, n) == 0;
}

/* Sets an error that shows nothing of the address, as a password may be in it. */
static enum err_kind bad(struct err *err, const char *why)
{
    return err_set(err, ERR_CONFIG, 0, "address: %s", why);
}

/* Sets an error that shows a part of the address. check_text() has refused addresses with '@', '?'
 * or '#', so no part is a user name, a password or a query. */
static enum err_kind bad_part(struct err *err, struct str part, const char *why)
{
    if (part.n > SHOWN)
        part.n = SHOWN;
    return err_set(err, ERR_CONFIG, 0, "address: \"%.*s\" %s", STR_ARG(part), why);
}

/* Runs before all else: the parts are only shown in errors after this. */
static enum err_kind check_text(struct str text, struct err *err)
{
    if (text.n == 0)
        return bad(err, "it is empty");
    if (text.n > URL_MAX)
        return bad(err, "it is longer than 2048 bytes");
    for (size_t i = 0; i < text.n; i++)
        if (text.p[i] <= ' ' || text.p[i] > '~')
            return bad(err, "it holds a blank, a control byte or a letter that is not ASCII");
    if (memchr(text.p, '@', text.n) != NULL)
        return bad(err,
                   "it holds a user name or an \"@\"; give credentials by token or certificate");
    if (memchr(text.p, '?', text.n) != NULL || memchr(text.p, '#', text.n) != NULL)
        return bad(err, "it holds a query (?) or a fragment (#)");
    return ERR_OK;
}

/* Takes the scheme off *rest. Without one it is https. */
static enum err_kind split_scheme(struct str *rest, struct parts *out, struct err *err)
{
    out->tls = true;
    if (starts_with(*rest, "https://")) {
        *rest = skip(*rest, strlen("https://"));
    } else if (starts_with(*rest, "http://")) {
        out->tls = false;
        *rest = skip(*rest, strlen("http://"));
    } else {
        struct str scheme = until(*rest, ":/");

        if (starts_with(skip(*rest, scheme.n), "://"))
            return bad_part(err, scheme, "is a scheme other than http and https");
    }
    return ERR_OK;
}

/* Splits HOST[:PORT] or [IPv6][:PORT]. */
static enum err_kind split_host(struct str authority, struct parts *out, struct err *err)
{
    struct str rest;

    if (authority.n > 0 && authority.p[0] == '[') {
        out->bracketed = true;
        out->host = until(skip(authority, 1), "]");
        rest = skip(authority, 1 + out->host.n);
        if (rest.n == 0)
            return bad_part(err, authority, "lacks the \"]\" behind an IPv6 address");
        rest = skip(rest, 1);
        if (rest.n > 0 && rest.p[0] != ':')
            return bad_part(err, authority, "has something else than a port behind the \"]\"");
    } else {
        out->host = until(authority, ":");
        rest = skip(authority, out->host.n);
        if (rest.n > 0 && memchr(rest.p + 1, ':', rest.n - 1) != NULL)
            return bad_part(err, authority,
                            "has several colons; write an IPv6 address in brackets: [::1]");
    }
    out->has_port = rest.n > 0;
    out->port = out->has_port ? skip(rest, 1) : rest;
    return ERR_OK;
}

static bool is_ip(int family, struct str host)
{
    unsigned char ip[16];
    char text[INET6_ADDRSTRLEN];

    if (host.n >= sizeof(text))
        return false;
    memcpy(text, host.p, host.n);
    text[host.n] = '\0';
    return inet_pton(family, text, ip) == 1;
}

/* Whether the text is a host name: labels of 1 to 63 letters, digits, hyphens and underscores
 * (which real names have although RFC 952 knows none). A final dot is fine. */
static bool is_name(struct str host)
{
    size_t label = 0;

    if (host.n == 0 || host.n > HOST_MAX)
        return false;
    for (size_t i = 0; i < host.n; i++) {
        char c = host.p[i];

        if (c == '.' && label == 0)
            return false;
        label = c == '.' ? 0 : label + 1;
        if (label > LABEL_MAX || (c != '.' && c != '-' && c != '_' && !is_alnum(c)))
            return false;
    }
    return true;
}

/* Whether the last label is a number. No host name is like that: it is an IPv4 address with a
 * typing error (RFC 3986 3.2.2, WHATWG URL 3.5). */
static bool ends_in_number(struct str host)
{
    size_t n = host.n;

    while (n > 0 && is_digit(host.p[n - 1]))
        n--;
    return n < host.n && (n == 0 || host.p[n - 1] == '.');
}

static enum err_kind check_host(const struct parts *p, struct err *err)
{
    if (p->host.n == 0)
        return bad(err, "it names no host");
    if (p->bracketed) {
        if (is_ip(AF_INET6, p->host))
            return ERR_OK;
        if (memchr(p->host.p, '%', p->host.n) != NULL)
            return bad_part(err, p->host, "names a zone; link-local addresses are not supported");
        return bad_part(err, p->host, "is not an IPv6 address");
    }
    if (is_ip(AF_INET, p->host))
        return ERR_OK;
    if (ends_in_number(p->host))
        return bad_part(err, p->host, "is not an IPv4 address");
    return is_name(p->host) ? ERR_OK : bad_part(err, p->host, "is not a host name");
}

static enum err_kind read_port(const struct parts *p, uint16_t *port, struct err *err)
{
    unsigned long value = 0;

    if (!p->has_port) {
        *port = p->tls ? 443 : 80;
        return ERR_OK;
    }
    for (size_t i = 0; i < p->port.n && value <= UINT16_MAX; i++) {
        if (!is_digit(p->port.p[i]))
            return bad_part(err, p->port, "is not a port");
        value = value * 10 + (unsigned long)(p->port.p[i] - '0');
    }
    if (value == 0 || value > UINT16_MAX)
        return bad_part(err, p->port, "is not a port (1 to 65535)");
    *port = (uint16_t)value;
    return ERR_OK;
}

/* Checks that the path has only characters that RFC 3986 allows there, and drops slashes at its
 * end, which mean nothing. */
static enum err_kind check_path(struct str *path, struct err *err)
{
    while (path->n > 0 && path->p[path->n - 1] == '/')
        path->n--;
    for (size_t i = 0; i < path->n; i++) {
        char c = path->p[i];

        if (c == '%' && !(i + 2 < path->n && is_hex(path->p[i + 1]) && is_hex(path->p[i + 2])))
            return bad_part(err, *path, "has a \"%\" without two hexadecimal digits behind it");
        if (!is_alnum(c) && strchr("%-._~!$&'()*+,;=:/", c) == NULL)
            return bad_part(err, *path, "holds a character that a path cannot have");
    }
    return ERR_OK;
}

enum err_kind url_parse(const char *text, struct url *out, struct err *err)
{
    struct str rest = str_c(text);
    struct parts p = {0};
    uint16_t port = 0;

    enum err_kind kind = check_text(rest, err);
    if (kind == ERR_OK)
        kind = split_scheme(&rest, &p, err);
    if (kind != ERR_OK)
        return kind;
    struct str authority = until(rest, "/");
    p.path = skip(rest, authority.n);
    kind = split_host(authority, &p, err);
    if (kind == ERR_OK)
        kind = check_host(&p, err);
    if (kind == ERR_OK)
        kind = read_port(&p, &port, err);
    if (kind == ERR_OK)
        kind = check_path(&p.path, err);
    if (kind == ERR_OK)
        *out = (struct url){.tls = p.tls,
                            .host = mem_strndup(p.host.p, p.host.n),
                            .port = port,
                            .prefix = mem_strndup(p.path.p, p.path.n)};
    return kind;
}

void url_fini(struct url *u)
{
    free(u->host);
    free(u->prefix);
    *u = (struct url){0};
}

void url_put_host(struct buf *out, const struct url *u)
{
    bool v6 = strchr(u->host, ':') != NULL;

    buf_printf(out, v6 ? "[%s]" : "%s", u->host);
    if (u->port != (u->tls ? 443 : 80))
        buf_printf(out, ":%u", (unsigned)u->port);
}

void url_put_escaped(struct buf *out, struct str s)
{
    static const char hex[] = "0123456789ABCDEF";

    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];

        if (is_alnum((char)c) || (c != '\0' && strchr("-._~", c) != NULL)) {
            buf_putc(out, (char)c);
        } else {
            buf_putc(out, '%');
            buf_putc(out, hex[c >> 4]);
            buf_putc(out, hex[c & 15]);
        }
    }
}
