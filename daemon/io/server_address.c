/* SPDX-License-Identifier: Apache-2.0 */
#include "io/server_address.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "proto/http_out.h"
#include "proto/url.h"

/* An empty name in the configuration means the same as none. */
static const char *or_null(const char *s)
{
    return s != NULL && s[0] != '\0' ? s : NULL;
}

void server_address_init(struct server_address *o, const struct url *url,
                         const char *tls_server_name, const char *user_agent)
{
    struct buf header = {0};

    url_put_host(&header, url);
    *o = (struct server_address){
        .host = mem_strdup(url->host),
        .prefix = mem_strdup(url->prefix),
        .host_header = mem_strdup(buf_cstr(&header)),
        .tls_server_name = mem_strdup(or_null(tls_server_name)),
        .user_agent = mem_strdup(user_agent),
        .port = url->port,
        .tls = url->tls,
    };
    buf_free(&header);
}

void server_address_set_token(struct server_address *o, const char *token)
{
    char *copy = mem_strdup(token);

    /* A token that is not used any more must not be left in freed memory. */
    if (o->token != NULL)
        mem_wipe(o->token, strlen(o->token));
    free(o->token);
    o->token = copy;
}

void server_address_fill(const struct server_address *o, const char *target, const char *accept,
                         char **path, struct http_request *out)
{
    *path = mem_printf("%s%s", o->prefix, target);
    *out = (struct http_request){
        .method = "GET",
        .target = *path,
        .host = o->host_header,
        .accept = accept,
        .bearer = o->token,
        .user_agent = o->user_agent,
    };
}

void server_address_fini(struct server_address *o)
{
    server_address_set_token(o, NULL);
    free(o->host);
    free(o->prefix);
    free(o->host_header);
    free(o->tls_server_name);
    free(o->user_agent);
    *o = (struct server_address){0};
}
