/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/http_in.h"

#include <llhttp.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/panic.h"

enum phase {
    IN_HEAD,
    IN_BODY,   /* trailers, too */
    IN_END,    /* the message is complete */
    IN_FAILED, /* an error was returned */
};

/* The header fields that are read. If a field comes several times, the first one counts, but of
 * Warning all do; a second Content-Encoding or Transfer-Encoding is an error. */
enum field {
    FIELD_TYPE,
    FIELD_RETRY,
    FIELD_LOCATION,
    FIELD_CONTENT_ENCODING,
    FIELD_CODING,
    FIELD_DATE,
    FIELD_WARNING,
    FIELD_HOST,
    FIELDS,
};

static const char *const field_names[FIELDS] = {
    "content-type",      "retry-after", "location", "content-encoding",
    "transfer-encoding", "date",        "warning",  "host",
};

static const char framing[] = "what stands between chunks";

enum { LONGEST_NAME = 17 }; /* the longest of field_names */

struct http_in {
    llhttp_t parser;
    llhttp_settings_t settings;
    struct http_limits limits;
    enum phase phase;
    bool until_eof;   /* the body ends with the connection */
    bool keep_alive;  /* as of the head */
    bool paused;      /* by our callback, behind a piece or the end of the head or message */
    struct str piece; /* of the body, found by the last call of llhttp; empty = none */
    struct http_head head;
    bool head_is_new;     /* it was returned by the last http_in_read() */
    uint64_t body_bytes;  /* so far */
    size_t head_bytes;    /* so far, with the heads of 1xx responses */
    size_t framing_bytes; /* since the last byte of the body: chunk sizes, extensions, trailers */
    const char *framed;   /* the data that is being read is counted up to here */
    char name[LONGEST_NAME + 1]; /* the field that is read, lower case, cut */
    size_t name_bytes;           /* its length, not cut */
    bool in_value;
    enum field field; /* FIELDS = a field that is not read */
    struct buf values[FIELDS];
    bool seen[FIELDS];
    struct buf target;
    enum err_kind stopped; /* the error with which a callback of ours ended it */
    const char *complaint; /* a constant text */
    uint64_t exceeded;     /* the limit that was exceeded, with ERR_TOO_BIG */
    unsigned char first;   /* the first byte of the message */
    bool got_any;
};

static struct http_in *self(llhttp_t *parser)
{
    return parser->data;
}

/* Stops llhttp from inside a callback, which must return the result; fail() reports the reason
 * afterwards. */
static int stop(struct http_in *h, enum err_kind kind, const char *complaint)
{
    h->stopped = kind;
    h->complaint = complaint;
    return HPE_USER;
}

static int stop_too_big(struct http_in *h, const char *what, uint64_t limit)
{
    h->exceeded = limit;
    return stop(h, ERR_TOO_BIG, what);
}

/* To llhttp each 1xx response is a message of its own. The fields of its head must not count for
 * the response that follows. */
static int on_message_begin(llhttp_t *parser)
{
    struct http_in *h = self(parser);

    for (size_t i = 0; i < FIELDS; i++) {
        buf_clear(&h->values[i]);
        h->seen[i] = false;
    }
    h->name_bytes = 0;
    h->in_value = false;
    h->field = FIELDS;
    return 0;
}

static int on_url(llhttp_t *parser, const char *at, size_t n)
{
    buf_append(&self(parser)->target, at, n);
    return 0;
}

/* Names and values may arrive in pieces, as the bytes were cut on the way. Bytes beyond the longest
 * name that is read are only counted. */
static int on_name(llhttp_t *parser, const char *at, size_t n)
{
    struct http_in *h = self(parser);

    for (size_t i = 0; i < n; i++, h->name_bytes++)
        if (h->name_bytes < LONGEST_NAME)
            h->name[h->name_bytes] = (char)(at[i] >= 'A' && at[i] <= 'Z' ? at[i] | 0x20 : at[i]);
    return 0;
}

static int on_name_complete(llhttp_t *parser)
{
    struct http_in *h = self(parser);

    if (h->name_bytes == 0) /* some versions of llhttp accept that */
        return stop(h, ERR_PROTOCOL, "a field without a name");
    return 0;
}

static enum field find_field(const struct http_in *h)
{
    size_t i = 0;

    if (h->name_bytes > LONGEST_NAME)
        return FIELDS;
    while (i < FIELDS && !str_is(str_of(h->name, h->name_bytes), field_names[i]))
        i++;
    return (enum field)i;
}

/* Runs once per field, before its value. An empty value gives no call of on_value(), so
 * on_value_complete() calls this, too. Fields of trailers do not count. */
static int begin_value(struct http_in *h)
{
    if (h->in_value)
        return 0;
    if (h->phase != IN_HEAD)
        return 0;
    h->in_value = true;
    h->field = find_field(h);
    if (h->field == FIELDS)
        return 0;
    if (h->field == FIELD_HOST && h->seen[FIELD_HOST] && h->parser.type == HTTP_REQUEST)
        return stop(h, ERR_PROTOCOL, "several Host fields"); /* RFC 9112 3.2 */
    if (h->field == FIELD_CODING && h->seen[FIELD_CODING])
        return stop(h, ERR_PROTOCOL, "several Transfer-Encoding fields");
    if (h->field == FIELD_CONTENT_ENCODING && h->seen[FIELD_CONTENT_ENCODING])
        return stop(h, ERR_PROTOCOL, "several Content-Encoding fields");
    if (h->field == FIELD_WARNING && h->seen[h->field])
        buf_putc(&h->values[h->field], '\n');
    else if (h->seen[h->field])
        h->field = FIELDS;
    else
        h->seen[h->field] = true;
    return 0;
}

static int on_value(llhttp_t *parser, const char *at, size_t n)
{
    struct http_in *h = self(parser);
    int ret = begin_value(h);

    if (ret == 0 && h->field != FIELDS && h->phase == IN_HEAD)
        buf_append(&h->values[h->field], at, n);
    return ret;
}

static int on_value_complete(llhttp_t *parser)
{
    struct http_in *h = self(parser);
    int ret = begin_value(h);

    h->in_value = false;
    h->name_bytes = 0;
    return ret;
}

/* llhttp leaves white space at the end of a value, which is no part of it (RFC 9112 5). */
static struct str value_of(const struct http_in *h, enum field field)
{
    struct str v = buf_str(&h->values[field]);

    while (v.n > 0 && (v.p[v.n - 1] == ' ' || v.p[v.n - 1] == '\t'))
        v.n--;
    return v;
}

static bool is_informational(const llhttp_t *parser)
{
    return parser->type == HTTP_RESPONSE && parser->status_code / 100 == 1;
}

/* Why a head is refused that llhttp accepts; NULL if it is fine. A body that two programs frame in
 * different ways can hide a second message (RFC 9112 11.2). */
static const char *objection(const struct http_in *h)
{
    const llhttp_t *p = &h->parser;
    struct str coding = value_of(h, FIELD_CODING);
    bool coded = h->seen[FIELD_CODING];

    if (p->http_major != 1 || p->http_minor > 1)
        return "neither HTTP/1.1 nor HTTP/1.0";
    if (p->type == HTTP_RESPONSE && (p->status_code < 100 || p->status_code == 101))
        return "a status that nobody asked for";
    if (p->type == HTTP_REQUEST && (p->method == HTTP_CONNECT || h->target.data[0] != '/'))
        return "a request for a proxy";
    if (coded && p->http_minor == 0)
        return "Transfer-Encoding in HTTP/1.0"; /* RFC 9112 6.1 */
    /* llhttp forgets "chunked" when an empty line of a folded value follows (RFC 9112 5.2). */
    if (coded &&
        (coding.n != 7 || strncasecmp(coding.p, "chunked", 7) != 0 || (p->flags & F_CHUNKED) == 0))
        return "a Transfer-Encoding other than chunked";
    return NULL;
}

static int on_headers_complete(llhttp_t *parser)
{
    struct http_in *h = self(parser);
    const char *complaint = objection(h);

    if (complaint != NULL)
        return stop(h, ERR_PROTOCOL, complaint);
    parser->upgrade = 0; /* ignored, as RFC 9110 7.8 allows */
    if (parser->type == HTTP_RESPONSE && (parser->status_code / 100 == 1 ||
                                          parser->status_code == 204 || parser->status_code == 304))
        parser->flags |= F_SKIPBODY; /* RFC 9112 6.3: whatever the fields say */
    if (is_informational(parser))
        return 0;
    /* Both are asked here: llhttp clears its flags at the end of the message. */
    h->until_eof = llhttp_message_needs_eof(parser) != 0;
    h->keep_alive =
        llhttp_should_keep_alive(parser) != 0 && (parser->flags & F_CONNECTION_CLOSE) == 0;
    h->paused = true;
    return HPE_PAUSED;
}

/* Counts bytes of a body that are not content. Without a limit for these a peer could send chunk
 * extensions or trailers for ever. False: over the limit. */
static bool count_framing(struct http_in *h, const char *upto)
{
    h->framing_bytes += (size_t)(upto - h->framed);
    h->framed = upto;
    return h->framing_bytes <= h->limits.head_bytes;
}

/* The reader gets the bytes up to the limit before the error, as it would if they had arrived in
 * smaller pieces. */
static int on_body(llhttp_t *parser, const char *at, size_t n)
{
    struct http_in *h = self(parser);
    uint64_t left = h->limits.body_bytes - h->body_bytes;
    size_t take = h->limits.body_bytes != 0 && left < n ? (size_t)left : n;

    if (n == 0) /* llhttp was called without bytes, inside a body */
        return 0;
    if (!count_framing(h, at))
        return stop_too_big(h, framing, h->limits.head_bytes);
    h->framing_bytes = 0;
    h->framed = at + n;
    h->body_bytes += take;
    h->piece = str_of(at, take);
    if (take < n)
        return stop_too_big(h, "the body", h->limits.body_bytes);
    h->paused = true;
    return HPE_PAUSED;
}

static int on_message_complete(llhttp_t *parser)
{
    struct http_in *h = self(parser);

    if (is_informational(parser))
        return 0;
    h->paused = true;
    return HPE_PAUSED; /* all bytes up to here are counted then */
}

struct http_in *http_in_create(enum http_in_kind kind, const struct http_limits *limits)
{
    struct http_in *h = MEM_NEW(struct http_in, .limits = *limits, .field = FIELDS);

    ensure(limits->head_bytes > 0);
    llhttp_settings_init(&h->settings);
    h->settings.on_message_begin = on_message_begin;
    h->settings.on_url = on_url;
    h->settings.on_header_field = on_name;
    h->settings.on_header_field_complete = on_name_complete;
    h->settings.on_header_value = on_value;
    h->settings.on_header_value_complete = on_value_complete;
    h->settings.on_headers_complete = on_headers_complete;
    h->settings.on_body = on_body;
    h->settings.on_message_complete = on_message_complete;
    llhttp_init(&h->parser, kind == HTTP_IN_REQUEST ? HTTP_REQUEST : HTTP_RESPONSE, &h->settings);
    h->parser.data = h;
    return h;
}

static void free_head(struct http_in *h)
{
    for (size_t i = 0; i < FIELDS; i++)
        buf_free(&h->values[i]);
    buf_free(&h->target);
}

void http_in_destroy(struct http_in **h)
{
    if (*h == NULL)
        return;
    free_head(*h);
    free(*h);
    *h = NULL;
}

static struct str lower_value(struct http_in *h, enum field field)
{
    struct buf *value = &h->values[field];

    for (size_t i = 0; i < value->len; i++)
        if (value->data[i] >= 'A' && value->data[i] <= 'Z')
            value->data[i] = (char)(value->data[i] | 0x20);
    return value_of(h, field);
}

/* A media type without its parameters. */
static struct str media_type(struct http_in *h)
{
    struct str v = lower_value(h, FIELD_TYPE);
    size_t n = 0;

    while (n < v.n && strchr("; \t", v.p[n]) == NULL)
        n++;
    return str_of(v.p, n);
}

/* RFC 9110 8.4.1: x-gzip is gzip, and identity is no coding. */
static struct str content_encoding(struct http_in *h)
{
    struct str v = lower_value(h, FIELD_CONTENT_ENCODING);

    if (str_is(v, "x-gzip"))
        return str_c("gzip");
    return str_is(v, "identity") ? str_of(NULL, 0) : v;
}

/* Only whole seconds count; a date gives -1 (docs/kubernetes-protocol.md "Retry-After"). Nine
 * digits fit, and are more than anybody waits. */
static int64_t retry_after_s(struct str value)
{
    int64_t n = 0;

    if (value.n == 0 || value.n > 9)
        return -1;
    for (size_t i = 0; i < value.n; i++) {
        if (value.p[i] < '0' || value.p[i] > '9')
            return -1;
        n = n * 10 + (value.p[i] - '0');
    }
    return n;
}

/* The number of the n digits. */
static int number_at(const char *digits, size_t n)
{
    int value = 0;

    for (size_t i = 0; i < n; i++)
        value = value * 10 + (digits[i] - '0');
    return value;
}

/* Are there digits where the pattern has a 0, letters where it has an a, and else its own bytes? */
static bool fits(struct str value, const char *pattern)
{
    size_t i = 0;

    if (value.n != strlen(pattern))
        return false;
    while (i < value.n &&
           (pattern[i] == '0'   ? value.p[i] >= '0' && value.p[i] <= '9'
            : pattern[i] == 'a' ? (value.p[i] | 0x20) >= 'a' && (value.p[i] | 0x20) <= 'z'
                                : value.p[i] == pattern[i]))
        i++;
    return i == value.n;
}

/* Only the form that servers must send counts; those of old days do not. */
static int64_t date_s(struct str value)
{
    static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    int month = 0;

    if (!fits(value, "aaa, 00 aaa 0000 00:00:00 GMT"))
        return 0;
    while (month < 12 && memcmp(months + (size_t)3 * (size_t)month, value.p + 8, 3) != 0)
        month++;
    struct tm tm = {.tm_year = number_at(value.p + 12, 4) - 1900,
                    .tm_mon = month,
                    .tm_mday = number_at(value.p + 5, 2),
                    .tm_hour = number_at(value.p + 17, 2),
                    .tm_min = number_at(value.p + 20, 2),
                    .tm_sec = number_at(value.p + 23, 2)};
    return month < 12 ? timegm(&tm) : 0;
}

/* Its texts are released with the next part, as the body of a watch goes on for minutes. */
static void make_head(struct http_in *h)
{
    h->head = (struct http_head){
        .content_type = media_type(h),
        .content_encoding = content_encoding(h),
        .location = value_of(h, FIELD_LOCATION),
        .warnings = value_of(h, FIELD_WARNING),
        .retry_after_s = retry_after_s(value_of(h, FIELD_RETRY)),
        .date_s = date_s(value_of(h, FIELD_DATE)),
        .keep_alive = h->keep_alive,
    };

    if (h->parser.type == HTTP_REQUEST) {
        h->head.method = str_c(llhttp_method_name((llhttp_method_t)h->parser.method));
        h->head.target = buf_str(&h->target);
        h->head.host = lower_value(h, FIELD_HOST);
    } else {
        h->head.status = h->parser.status_code;
    }
}

const struct http_head *http_in_head(const struct http_in *h)
{
    return &h->head;
}

/* Reports the error that stop() noted. A first byte of 0x15 or 0x16 is a TLS record (alert or
 * handshake): somebody speaks TLS where plain HTTP is expected. */
static enum http_in_part fail(struct http_in *h, struct err *err)
{
    enum err_kind kind = h->stopped;
    const char *what = h->parser.type == HTTP_REQUEST ? "request" : "response";

    h->phase = IN_FAILED;
    if (kind == ERR_TOO_BIG)
        err_set(err, kind, 0, "HTTP %s: %s: more than the limit of %llu bytes", what, h->complaint,
                (unsigned long long)h->exceeded);
    else if (h->head_bytes == 0 && (h->first == 0x15 || h->first == 0x16))
        err_set(err, kind, 0, "HTTP %s: the peer speaks TLS; use https://", what);
    else
        err_set(err, kind, 0, "HTTP %s: malformed: %s", what, h->complaint);
    return HTTP_IN_FAILED;
}

/* llhttp or a callback of ours found an error. If a limit was exceeded before the position of the error, the
 * limit counts: in smaller pieces the same bytes would have met the limit first, and the result must not
 * depend on how they were cut. */
static void malformed(struct http_in *h)
{
    if (h->phase == IN_BODY && !count_framing(h, llhttp_get_error_pos(&h->parser)))
        stop_too_big(h, framing, h->limits.head_bytes);
    else if (h->stopped == ERR_OK)
        stop(h, ERR_PROTOCOL, llhttp_get_error_reason(&h->parser));
}

/* llhttp has paused at `end`, behind the head or behind the message. */
static enum http_in_part end_of_phase(struct http_in *h, const char *end, struct err *err)
{
    if (h->phase == IN_HEAD) {
        h->phase = IN_BODY;
        h->head_is_new = true;
        make_head(h);
        return HTTP_IN_HEAD;
    }
    if (!count_framing(h, end)) {
        stop_too_big(h, framing, h->limits.head_bytes);
        return fail(h, err);
    }
    h->phase = IN_END;
    return HTTP_IN_END;
}

/* llhttp has read all bytes that it was given. The framing of a body is counted at the end of each
 * chunk of data, as it may go on in the next one. */
static enum http_in_part end_of_data(struct http_in *h, const char *end, struct err *err)
{
    if (h->phase == IN_HEAD && h->head_bytes == h->limits.head_bytes)
        stop_too_big(h, "the head", h->limits.head_bytes);
    else if (h->phase == IN_BODY && !count_framing(h, end))
        stop_too_big(h, framing, h->limits.head_bytes);
    return h->stopped == ERR_OK ? HTTP_IN_MORE : fail(h, err);
}

/* Calls llhttp with the data: up to its end, to the limit of the head, or to the pause behind the
 * next part. After a pause the error position is where llhttp stopped; without a pause, and without
 * an error, it has read everything. */
static void execute(struct http_in *h, struct str *data)
{
    size_t room = h->limits.head_bytes - h->head_bytes;
    size_t n = h->phase == IN_HEAD && data->n > room ? room : data->n;

    h->paused = false;
    h->framed = data->p;
    llhttp_errno_t e = llhttp_execute(&h->parser, data->p, n);
    if (h->paused) {
        n = (size_t)(llhttp_get_error_pos(&h->parser) - data->p);
        llhttp_resume(&h->parser);
    } else if (e != HPE_OK && h->stopped != ERR_TOO_BIG) {
        malformed(h);
    }
    if (h->phase == IN_HEAD)
        h->head_bytes += h->stopped == ERR_OK ? n : 0;
    *data = str_of(data->p + n, data->n - n);
}

enum http_in_part http_in_read(struct http_in *h, struct str *data, struct str *piece,
                               struct err *err)
{
    ensure(h->phase == IN_HEAD || h->phase == IN_BODY);
    if (data->n > 0 && !h->got_any) {
        h->got_any = true;
        h->first = (unsigned char)data->p[0];
    }
    /* After a pause llhttp is called once more, even with no bytes left: the message may end behind
     * its head, or behind the last piece of its body. */
    if (data->n == 0 && !h->paused && h->stopped == ERR_OK)
        return HTTP_IN_MORE;
    if (h->head_is_new)
        free_head(h);
    h->head_is_new = false;
    if (h->stopped == ERR_OK)
        execute(h, data);
    if (h->piece.n > 0) {
        *piece = h->piece;
        h->piece = (struct str){0};
        return HTTP_IN_BODY;
    }
    if (h->stopped != ERR_OK)
        return fail(h, err);
    return h->paused ? end_of_phase(h, data->p, err) : end_of_data(h, data->p, err);
}

enum err_kind http_in_eof(struct http_in *h, struct err *err)
{
    const char *what = h->parser.type == HTTP_REQUEST ? "request" : "response";

    ensure(h->phase == IN_HEAD || h->phase == IN_BODY);
    if (h->phase == IN_BODY && h->until_eof) {
        h->phase = IN_END;
        return ERR_OK;
    }
    bool head = h->phase == IN_HEAD;

    h->phase = IN_FAILED;
    /* A connection that the server closed while it was idle looks like this: no byte of the
     * response came. */
    if (!h->got_any)
        return err_set(err, ERR_CLOSED, 0,
                       "HTTP %s: the peer closed the connection before it began", what);
    if (head)
        return err_set(err, ERR_CLOSED, 0,
                       "HTTP %s: the peer closed the connection within its head", what);
    return err_set(err, ERR_CLOSED, 0,
                   "HTTP %s: the peer closed the connection within its body, after %llu bytes",
                   what, (unsigned long long)h->body_bytes);
}

bool http_in_reusable(const struct http_in *h)
{
    return h->phase == IN_END && h->keep_alive && !h->until_eof;
}
