/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/proxy_url.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "proto/url.h"

static enum err_kind bad(struct err *err, const char *why)
{
    return err_set(err, ERR_CONFIG, 0, "address: %s", why);
}

/* The length of the scheme with its "://"; 0 = it is none that a proxy can have. */
static size_t scheme_of(const char *text)
{
    static const char *const schemes[] = {"http://", "https://"};

    for (size_t i = 0; i < ARRAY_LEN(schemes); i++)
        if (strncasecmp(text, schemes[i], strlen(schemes[i])) == 0)
            return strlen(schemes[i]);
    return 0;
}

/* The errors of url_parse() are not passed on: if a password has a "/" in it, they show a piece of
 * it. */
enum err_kind proxy_url_check(const char *text, struct err *err)
{
    size_t scheme = scheme_of(text);
    const char *authority = text + scheme;
    size_t n = strcspn(authority, "/?#");
    const char *at = memchr(authority, '@', n);
    const char *host = at != NULL ? at + 1 : authority;
    struct url url = {0};

    if (strncasecmp(text, "socks", 5) == 0)
        return bad(err, "SOCKS proxies are not supported: give the address of an HTTP proxy");
    if (scheme == 0)
        return bad(err, "a proxy needs http:// or https://");
    char *plain = mem_printf("https://%.*s", (int)(authority + n - host), host);
    enum err_kind kind = url_parse(plain, &url, err);
    free(plain);
    url_fini(&url);
    if (kind != ERR_OK)
        return bad(err, "it names no host and port of a proxy");
    if (authority[n] != '\0' && strcmp(authority + n, "/") != 0)
        return bad(err, "a proxy has no path");
    return ERR_OK;
}
