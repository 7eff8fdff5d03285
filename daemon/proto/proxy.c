/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/proxy.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/base64.h"
#include "base/mem.h"

/* The length of "SCHEME://", or 0 if the text has no scheme. */
static size_t scheme_bytes(const char *text)
{
    const char *end = strstr(text, "://");

    return end != NULL && strcspn(text, "/@") > (size_t)(end - text) ? (size_t)(end - text) + 3 : 0;
}

static bool has_scheme(const char *text, size_t n, const char *scheme)
{
    return n == strlen(scheme) + 3 && strncasecmp(text, scheme, n - 3) == 0;
}

static int hex_value(char c)
{
    static const char digits[] = "0123456789abcdef";
    const char *at = c != '\0' ? strchr(digits, c >= 'A' && c <= 'F' ? c | 0x20 : c) : NULL;

    return at != NULL ? (int)(at - digits) : -1;
}

/* Appends the text with its %XX as bytes. False: a "%" without two digits behind it. */
static bool decode_percent(struct buf *out, struct str text)
{
    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] != '%') {
            buf_putc(out, text.p[i]);
            continue;
        }
        int high = i + 2 < text.n ? hex_value(text.p[i + 1]) : -1;
        int low = high >= 0 ? hex_value(text.p[i + 2]) : -1;

        if (low < 0)
            return false;
        buf_putc(out, (char)(high << 4 | low));
        i += 2;
    }
    return true;
}

static void wipe(struct buf *b)
{
    mem_wipe(b->data, b->cap);
    buf_free(b);
}

/* USER[:PASSWORD] -> "Basic ..." (RFC 7617). NULL: the text is malformed. */
static char *basic(struct str userinfo)
{
    const char *colon = memchr(userinfo.p, ':', userinfo.n);
    size_t user = colon != NULL ? (size_t)(colon - userinfo.p) : userinfo.n;
    size_t behind = colon != NULL ? user + 1 : user;
    struct buf plain = {0}, value = {0};
    char *result = NULL;

    /* Neither buffer is moved while it is filled: that would leave a copy of the secret behind. */
    buf_make_room(&plain, userinfo.n + 2);
    buf_make_room(&value, userinfo.n * 2 + 16);
    bool good = decode_percent(&plain, str_of(userinfo.p, user));
    buf_putc(&plain, ':');
    good = good && decode_percent(&plain, str_of(userinfo.p + behind, userinfo.n - behind));
    if (good) {
        buf_puts(&value, "Basic ");
        base64_encode(buf_str(&plain), &value);
        result = mem_strdup(buf_cstr(&value));
    }
    wipe(&plain);
    wipe(&value);
    return result;
}

/* Neither error shows the text, which may have a password in it. */
static enum err_kind check_scheme(const char *text, size_t n, struct err *err)
{
    if (has_scheme(text, n, "http") || has_scheme(text, n, "https"))
        return ERR_OK;
    if (n >= 5 && strncasecmp(text, "socks", 5) == 0)
        return err_set(err, ERR_CONFIG, 0,
                       "address: SOCKS proxies are not supported; give an HTTP proxy (http:// or "
                       "https://)");
    return err_set(err, ERR_CONFIG, 0, "address: it must begin with http:// or https://");
}

enum err_kind proxy_parse(const char *text, struct proxy *out, struct err *err)
{
    size_t scheme = scheme_bytes(text);
    const char *authority = text + scheme;
    struct str rest = str_of(authority, strcspn(authority, "/?#"));
    struct url url = {0};
    size_t at = rest.n; /* behind the last "@" of the authority; a password may have one, too */
    char *authorization = NULL;

    if (check_scheme(text, scheme, err) != ERR_OK)
        return err->kind;
    /* Then the text in front of the "/" is a part of the password, and must not be shown. */
    if (strchr(rest.p + rest.n, '@') != NULL)
        return err_set(err, ERR_CONFIG, 0,
                       "address: it has an \"@\" behind the host; in a user name or password write "
                       "%%2F for a \"/\", %%3F for a \"?\" and %%23 for a \"#\"");
    while (at > 0 && rest.p[at - 1] != '@')
        at--;
    char *bare = mem_printf("%.*s%.*s", (int)scheme, text, (int)(rest.n - at), rest.p + at);
    enum err_kind kind = url_parse(bare, &url, err);

    free(bare);
    if (kind != ERR_OK)
        return kind;
    if (at > 0)
        authorization = basic(str_of(rest.p, at - 1));
    if (at > 0 && authorization == NULL) {
        url_fini(&url);
        return err_set(err, ERR_CONFIG, 0,
                       "address: a \"%%\" in the user name or password has no two "
                       "hexadecimal digits behind it (write %%25 for a \"%%\")");
    }
    *out = (struct proxy){.url = url, .authorization = authorization};
    return ERR_OK;
}

enum err_kind proxy_check(const char *text, struct err *err)
{
    struct proxy proxy = {0};
    enum err_kind kind = proxy_parse(text, &proxy, err);

    proxy_fini(&proxy);
    return kind;
}

void proxy_fini(struct proxy *p)
{
    url_fini(&p->url);
    mem_free_secret(p->authorization);
    *p = (struct proxy){0};
}

/* An authority always has its port (RFC 9112 section 3.2.3). */
void proxy_put_connect(struct buf *out, const struct proxy *p, const char *host, uint16_t port)
{
    bool v6 = strchr(host, ':') != NULL;
    char *to = mem_printf(v6 ? "[%s]:%u" : "%s:%u", host, (unsigned)port);
    size_t secret = p->authorization != NULL ? strlen(p->authorization) : 0;

    /* The buffer must not be moved with the secret in it. */
    buf_make_room(out, 2 * strlen(to) + secret + 128);
    buf_printf(out, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n", to, to);
    if (p->authorization != NULL) {
        buf_puts(out, "Proxy-Authorization: ");
        buf_puts(out, p->authorization);
        buf_puts(out, "\r\n");
    }
    buf_puts(out, "\r\n");
    free(to);
}

enum err_kind proxy_judge(int status, bool has_credentials, struct err *err)
{
    const char *why = "see its log";

    if (status / 100 == 2)
        return ERR_OK;
    if (status == 407 && has_credentials)
        why = "it does not accept the user name and password; correct them in its address";
    else if (status == 407)
        why = "it wants a user name and a password; write them into its address, as in "
              "http://USER:PASSWORD@HOST:PORT";
    else if (status == 403)
        why = "it does not let us connect to this host and port; allow that there, or go without "
              "the proxy (NO_PROXY)";
    else if (status == 502 || status == 503 || status == 504)
        why = "it cannot reach the server; see its log";
    else if (status / 100 == 3 || status == 400 || status == 404 || status == 405 || status == 501)
        why = "it may be no HTTP proxy, or one without CONNECT; check its address";
    return err_set(err, ERR_IO, status, "CONNECT was answered with status %d: %s", status, why);
}
