/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/http_out.h"

#include "base/panic.h"

/* Writes a header line, or nothing if value is NULL. A line break in a value would let it add
 * header lines of its own, so it is a bug of the caller. */
static void put_field(struct buf *out, const char *name, const char *value)
{
    if (value == NULL)
        return;
    ensure(strpbrk(value, "\r\n") == NULL);
    buf_puts(out, name);
    buf_puts(out, ": ");
    buf_puts(out, value);
    buf_puts(out, "\r\n");
}

/* An empty line would end the head, and a line without its end would swallow the next one. */
static bool is_block(const char *lines)
{
    size_t n = strlen(lines);

    return n == 0 || (n > 2 && strcmp(lines + n - 2, "\r\n") == 0 && lines[0] != '\r' &&
                      strstr(lines, "\r\n\r\n") == NULL);
}

/* Writes header lines; NULL = none. */
static void put_block(struct buf *out, const char *lines)
{
    if (lines == NULL)
        return;
    ensure(is_block(lines));
    buf_puts(out, lines);
}

void http_out_request(struct buf *out, const struct http_request *r)
{
    ensure(r->target[0] == '/' && strpbrk(r->target, " \r\n") == NULL);
    ensure(r->method[0] != '\0' && strpbrk(r->method, " \r\n") == NULL);
    buf_printf(out, "%s %s HTTP/1.1\r\n", r->method, r->target);
    put_field(out, "Host", r->host);
    put_field(out, "Accept", r->accept != NULL ? r->accept : "application/json");
    put_field(out, "Accept-Encoding", r->gzip ? "gzip" : NULL);
    put_field(out, "User-Agent", r->user_agent);
    put_field(out, "Authorization", r->authorization);
    put_block(out, r->headers);
    if (r->json == NULL) {
        buf_puts(out, "\r\n");
        return;
    }
    put_field(out, "Content-Type", "application/json");
    buf_printf(out, "Content-Length: %zu\r\n\r\n", strlen(r->json));
    buf_puts(out, r->json);
}

/* The reason phrase of a status; "" = it has none here. */
static const char *reason_of(int status)
{
    /* The reason phrases of RFC 9110 15 and RFC 6585. They are for people who look at the bytes;
     * programs go by the number. */
    static const struct {
        int status;
        const char *reason;
    } known[] = {
        {200, "OK"                             },
        {202, "Accepted"                       },
        {204, "No Content"                     },
        {400, "Bad Request"                    },
        {401, "Unauthorized"                   },
        {403, "Forbidden"                      },
        {404, "Not Found"                      },
        {405, "Method Not Allowed"             },
        {408, "Request Timeout"                },
        {409, "Conflict"                       },
        {410, "Gone"                           },
        {413, "Content Too Large"              },
        {414, "URI Too Long"                   },
        {415, "Unsupported Media Type"         },
        {422, "Unprocessable Content"          },
        {429, "Too Many Requests"              },
        {431, "Request Header Fields Too Large"},
        {500, "Internal Server Error"          },
        {501, "Not Implemented"                },
        {502, "Bad Gateway"                    },
        {503, "Service Unavailable"            },
        {504, "Gateway Timeout"                },
    };

    for (size_t i = 0; i < ARRAY_LEN(known); i++)
        if (known[i].status == status)
            return known[i].reason;
    return "";
}

static void put_status(struct buf *out, int status, const char *content_type)
{
    /* Only final responses: behind a 1xx another head would have to follow. */
    ensure(status >= 200 && status <= 999);
    buf_printf(out, "HTTP/1.1 %d %s\r\n", status, reason_of(status));
    put_field(out, "Content-Type", content_type);
}

void http_out_response(struct buf *out, int status, const char *content_type, const char *headers,
                       size_t body_bytes)
{
    put_status(out, status, content_type);
    put_block(out, headers);
    buf_printf(out, "Content-Length: %zu\r\n\r\n", body_bytes);
}

void http_out_endless(struct buf *out, int status, const char *content_type)
{
    put_status(out, status, content_type);
    buf_puts(out, "Connection: close\r\n\r\n");
}
