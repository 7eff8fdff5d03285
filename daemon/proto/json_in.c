/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/json_in.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <yajl/yajl_parse.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/panic.h"

/* A token larger than KEEP_BYTES makes yajl's buffers large. Their memory is given back as soon as
 * the reader is idle. */
enum { KEEP_BYTES = 64 * 1024, MAX_NUMBER = 1024 };

/* A token that is held back and is already larger than LARGE_BYTES gets all the memory that it may
 * need at once, if that is at most RESERVE_BYTES: growing step by step would move it each time. */
enum { LARGE_BYTES = 1024 * 1024, RESERVE_BYTES = 64 * 1024 * 1024 };

/* Of a string so many bytes are kept at least: decoded ("\u0041" is one byte), they are more than any text
 * that consumers compare with a string, so its beginning is never taken for such a text. */
enum {
    MIN_KEPT_BYTES = 8192,
    CUT_WITHIN = 16 /* bytes behind them: an escape or a character is shorter */
};

/* yajl keeps a byte for each open container, so nesting that is tolerated is bounded, too. Go's
 * decoder, which API servers read objects with, takes 10000 levels. */
enum { TOLERATED_DEPTH = 100000 };

/* At the end of each chunk yajl copies an unfinished token, and at the next scans it again from its
 * start. A large one that arrives in small chunks would so take quadratic time. Therefore, once the
 * bytes given to yajl end inside a string, more are held back until its closing quote is here, and
 * numbers are bounded. */
struct json_in {
    yajl_handle yajl;
    json_in_cb *cb;
    void *arg;
    json_in_excess *excess; /* NULL = exceeding a limit is an error */
    size_t max_token;
    uint64_t base;     /* position of the first byte that yajl is parsing now */
    uint64_t last_end; /* of the last token */
    unsigned depth;
    unsigned max_depth;
    bool single;    /* one value, then nothing but white space */
    size_t rest;    /* bytes of an unfinished token that yajl was given */
    bool in_string; /* the bytes given to yajl end inside a string, which goes on in held */
    bool escape;    /* ... and the last byte is a backslash that escapes the next */
    bool in_number; /* they end inside a number that is too long, which goes on in held */
    bool grown;     /* buffers are large: give_back() */
    bool too_deep;
    bool too_long; /* a number */
    bool extra;    /* single, and a second value began */
    bool stopped;
    struct buf held;
    bool held_escape; /* the first byte of held is escaped by the one before it */
    bool dropping;    /* held has as much of the token as is kept; the rest is thrown away */
    uint64_t dropped; /* bytes that were thrown away */
};

static bool is_end(enum json_type type)
{
    return type == JSON_OBJECT_END || type == JSON_ARRAY_END;
}

/* Gives a token to the consumer. With `single` a second value at depth 0 stops the reader; the end
 * of the first one is no second value. */
static int emit(struct json_in *j, enum json_type type, struct str text)
{
    const struct json_token t = {
        .type = type,
        .depth = j->depth,
        .text = text,
        .end = j->base + yajl_get_bytes_consumed(j->yajl),
    };

    if (j->depth == 0 && j->single && j->last_end > 0 && !is_end(type)) {
        j->extra = true;
        return 0;
    }
    j->last_end = t.end;
    j->rest = 0;
    return j->cb(j->arg, &t);
}

/* A container has the depth at which it stands, so depth grows after its token, and shrinks before
 * the token of its end. */
static int open_container(struct json_in *j, enum json_type type)
{
    if (j->depth >= j->max_depth) {
        if (j->excess == NULL || j->depth >= TOLERATED_DEPTH) {
            j->too_deep = true;
            return 0;
        }
        j->excess(j->arg, "it is nested too deep");
        j->grown = j->grown || j->depth > KEEP_BYTES;
    }
    int go_on = emit(j, type, (struct str){0});
    j->depth++;
    return go_on;
}

static int close_container(struct json_in *j, enum json_type type)
{
    ensure(j->depth > 0);
    j->depth--;
    return emit(j, type, (struct str){0});
}

static int on_null(void *ctx)
{
    return emit(ctx, JSON_NULL, (struct str){0});
}

static int on_boolean(void *ctx, int value)
{
    return emit(ctx, value ? JSON_TRUE : JSON_FALSE, (struct str){0});
}

static int on_number(void *ctx, const char *text, size_t n)
{
    struct json_in *j = ctx;

    j->too_long = n > MAX_NUMBER && j->excess == NULL;
    if (n > MAX_NUMBER && j->excess != NULL)
        j->excess(j->arg, "it has a number of more than 1024 bytes");
    return !j->too_long && emit(j, JSON_NUMBER, str_of(text, n));
}

static int on_string(void *ctx, const unsigned char *text, size_t n)
{
    return emit(ctx, JSON_STRING, str_of((const char *)text, n));
}

static int on_key(void *ctx, const unsigned char *text, size_t n)
{
    return emit(ctx, JSON_KEY, str_of((const char *)text, n));
}

static int on_start_map(void *ctx)
{
    return open_container(ctx, JSON_OBJECT);
}

static int on_end_map(void *ctx)
{
    return close_container(ctx, JSON_OBJECT_END);
}

static int on_start_array(void *ctx)
{
    return open_container(ctx, JSON_ARRAY);
}

static int on_end_array(void *ctx)
{
    return close_container(ctx, JSON_ARRAY_END);
}

static const yajl_callbacks callbacks = {
    .yajl_null = on_null,
    .yajl_boolean = on_boolean,
    .yajl_number = on_number,
    .yajl_string = on_string,
    .yajl_map_key = on_key,
    .yajl_start_map = on_start_map,
    .yajl_end_map = on_end_map,
    .yajl_start_array = on_start_array,
    .yajl_end_array = on_end_array,
};

static void *yajl_mem_alloc(void *ctx, size_t n)
{
    (void)ctx;
    return mem_alloc(n);
}

static void *yajl_mem_realloc(void *ctx, void *p, size_t n)
{
    (void)ctx;
    return mem_realloc(p, n);
}

static void yajl_mem_free(void *ctx, void *p)
{
    (void)ctx;
    free(p);
}

/* yajl's memory comes from base/mem, which aborts when there is none. */
static void open_yajl(struct json_in *j)
{
    yajl_alloc_funcs memory = {yajl_mem_alloc, yajl_mem_realloc, yajl_mem_free, NULL};

    j->yajl = yajl_alloc(&callbacks, &memory, j);
    ensure(j->yajl != NULL);
    ensure(yajl_config(j->yajl, yajl_allow_multiple_values, 1) != 0);
}

struct json_in *json_in_create(unsigned max_depth, json_in_cb *cb, void *arg)
{
    struct json_in *j = MEM_NEW(struct json_in, .cb = cb, .arg = arg, .max_depth = max_depth);

    open_yajl(j);
    return j;
}

void json_in_tolerate(struct json_in *j, json_in_excess *excess, size_t max_token)
{
    j->excess = excess;
    j->max_token = max_token;
}

void json_in_destroy(struct json_in **j)
{
    if (*j == NULL)
        return;
    yajl_free((*j)->yajl);
    buf_free(&(*j)->held);
    free(*j);
    *j = NULL;
}

/* Sets yajl's text for the error. Only its first line: the next ones quote the data, which may be a
 * Secret. */
static enum err_kind syntax_error(struct json_in *j, const char *data, size_t n, struct err *err)
{
    size_t at = yajl_get_bytes_consumed(j->yajl);
    unsigned char *text = yajl_get_error(j->yajl, 0, (const unsigned char *)data, n);
    bool markup = j->last_end == 0 && at > 0 && at <= n && data[at - 1] == '<';

    if (markup)
        err_set(err, ERR_PROTOCOL, 0, "an HTML or XML page, not JSON");
    else
        err_set(err, ERR_PROTOCOL, 0, "not valid JSON at byte %" PRIu64 ": %.*s", j->base + at,
                (int)strcspn((const char *)text, "\n"), (const char *)text);
    yajl_free_error(j->yajl, text);
    return ERR_PROTOCOL;
}

/* Sets the error after a callback has made yajl stop. */
static enum err_kind canceled(const struct json_in *j, struct err *err)
{
    if (j->too_deep)
        return err_set(err, ERR_TOO_BIG, 0, "JSON nested deeper than %u", j->depth);
    if (j->too_long)
        return err_set(err, ERR_TOO_BIG, 0, "a number in JSON of more than %d bytes", MAX_NUMBER);
    if (j->extra)
        return err_set(err, ERR_PROTOCOL, 0, "more than one JSON value");
    return err_set(err, ERR_CLOSED, 0, "the reader of the JSON stopped");
}

/* Gives bytes to yajl. The reader cannot go on after an error. */
static enum err_kind parse(struct json_in *j, const char *data, size_t n, struct err *err)
{
    yajl_status status = yajl_parse(j->yajl, (const unsigned char *)data, n);

    if (status == yajl_status_ok) {
        j->base += n;
        return ERR_OK;
    }
    j->stopped = true;
    if (status == yajl_status_client_canceled)
        return canceled(j, err);
    return syntax_error(j, data, n, err);
}

/* Notes which token the bytes that were just parsed end in, if any. They end at j->base;
 * j->last_end is the end of the last complete token. */
static void look_at_tail(struct json_in *j, const char *data, size_t n)
{
    uint64_t tail = j->base - j->last_end;
    size_t i = tail < n ? n - (size_t)tail : 0;
    size_t escapes = 0;

    /* Commas and colons belong to no token. At depth 0 they would be an error, which yajl finds. */
    while (i < n &&
           (json_is_space(data[i]) || (j->depth > 0 && (data[i] == ',' || data[i] == ':'))))
        i++;
    if (i == n)
        return;
    j->rest = j->rest > 0 ? j->rest + n : n - i;
    if (data[i] != '"') /* no other token can contain a quote, so a string begins here */
        return;
    /* An odd number of backslashes at the end escapes the byte that comes next. */
    for (size_t k = n; k > i + 1 && data[k - 1] == '\\'; k--)
        escapes++;
    j->in_string = true;
    j->escape = escapes % 2 == 1;
}

/* How many bytes of a number are kept so that they are a number by themselves: up to a digit. */
static size_t cut_of_number(const char *p, size_t n)
{
    size_t i = 0;

    while (i < n && (p[i] < '0' || p[i] > '9'))
        i++;
    return i < n ? i + 1 : n;
}

/* How many bytes of a string are kept, at least MIN_KEPT_BYTES, so that they are valid by themselves: the
 * cut must not be inside a character of several bytes or inside an escape. An escape that began before p is
 * over after four bytes, the digits of \uXXXX. */
static size_t cut_of_string(const char *p, size_t n, bool escape)
{
    enum { DIGITS = 4 };
    size_t left = DIGITS;

    for (size_t i = 0; i < n; i++) {
        bool inside = ((unsigned char)p[i] & 0xc0) == 0x80;

        if (i >= MIN_KEPT_BYTES && left == 0 && !escape && !inside)
            return i;
        left = escape && p[i] == 'u' ? DIGITS : left > 0 ? left - 1 : 0;
        escape = !escape && p[i] == '\\';
    }
    return n;
}

/* The token is longer than max_token: keeps its beginning, and gives the rest of the memory
 * back. */
static void drop_rest(struct json_in *j)
{
    struct buf all = j->held;
    size_t cut = j->in_number ? cut_of_number(all.data, all.len)
                              : cut_of_string(all.data, all.len, j->held_escape);

    j->held = (struct buf){0};
    buf_append(&j->held, all.data, cut);
    j->dropping = true;
    j->dropped = all.len - cut;
    buf_free(&all);
}

/* There is no memory for the token: keeps its beginning, for which yajl needs little. */
static void keep_beginning(struct json_in *j, bool quote)
{
    size_t most = j->held.len < KEEP_BYTES ? j->held.len : KEEP_BYTES;
    size_t cut = quote ? cut_of_string(j->held.data, most, j->held_escape)
                       : cut_of_number(j->held.data, most);

    j->excess(j->arg, "it is larger than the memory that is left");
    j->dropping = true;
    j->dropped = j->held.len - cut;
    j->held.len = cut;
}

/* Returns how many of these bytes belong to the token that is held back, its closing quote
 * included. *ends: the token ends among them. */
static size_t span_of_token(struct json_in *j, const char *data, size_t n, bool *ends)
{
    size_t i = 0;

    if (j->in_number) {
        while (i < n && data[i] != '\0' && strchr("0123456789+-.eE", data[i]) != NULL)
            i++;
        *ends = i < n;
        return i;
    }
    for (; i < n && (j->escape || data[i] != '"'); i++)
        j->escape = !j->escape && data[i] == '\\';
    *ends = i < n;
    return *ends ? i + 1 : n;
}

/* Holds back bytes inside a string, or inside a number that is too long. Returns how many bytes of
 * data it took: all of them, unless the token ends among them. */
static size_t hold(struct json_in *j, const char *data, size_t n)
{
    bool ends;
    bool escape = j->escape;
    bool quote = j->in_string;
    size_t used = span_of_token(j, data, n, &ends);
    size_t dropped = ends && quote ? used - 1 : used; /* the closing quote stays */

    if (ends)
        j->in_string = j->in_number = false;
    if (j->dropping) {
        j->dropped += dropped;
        return used;
    }
    if (ends && j->held.len == 0)
        return 0; /* no bytes are held, so yajl can read the rest in place */
    if (j->held.len == 0)
        j->held_escape = escape;
    bool reserves = j->held.len > LARGE_BYTES && j->max_token <= RESERVE_BYTES;
    if (j->excess != NULL && !(reserves && buf_try_room(&j->held, j->max_token)) &&
        !buf_try_room(&j->held, used)) {
        keep_beginning(j, quote);
        j->dropped += dropped;
        return used;
    }
    buf_append(&j->held, data, used);
    j->grown = j->grown || j->held.len > KEEP_BYTES;
    if (!ends && j->excess != NULL && j->held.len > j->max_token &&
        j->held.len > MIN_KEPT_BYTES + CUT_WITHIN)
        drop_rest(j);
    return used;
}

/* yajl copies a token that it gets in parts, and decodes one with escapes into a second copy, in buffers that
 * it doubles. It cannot go on without memory, so this asks first whether there is any. */
static bool has_memory_for_yajl(const struct json_in *j)
{
    void *both = mem_try_realloc(NULL, 4 * j->held.len);

    free(both);
    return both != NULL;
}

/* Gives a token that was held back, and has ended now, to yajl. If a part was thrown away,
 * positions move on by its length, and a string still needs its closing quote. */
static enum err_kind parse_held(struct json_in *j, bool quote, struct err *err)
{
    if (j->excess != NULL && !j->dropping && j->held.len > KEEP_BYTES && !has_memory_for_yajl(j)) {
        keep_beginning(j, quote);
        j->dropped -= quote; /* the closing quote stays */
    }
    enum err_kind kind = j->held.len > 0 ? parse(j, j->held.data, j->held.len, err) : ERR_OK;

    if (kind == ERR_OK && j->dropping) {
        j->base += j->dropped;
        kind = quote ? parse(j, "\"", 1, err) : ERR_OK;
    }
    buf_clear(&j->held);
    j->dropping = false;
    j->dropped = 0;
    return kind;
}

/* Releases large buffers between two values. yajl cannot shrink its own, so it is made anew. */
static void give_back(struct json_in *j)
{
    if (!j->grown || !json_in_idle(j))
        return;
    buf_free(&j->held);
    yajl_free(j->yajl);
    open_yajl(j);
    j->grown = false;
}

/* The number of bytes before the first vertical tab or form feed. yajl takes these for white space,
 * but JSON allows them neither between tokens nor in strings. */
static size_t before_bad_space(const char *data, size_t n)
{
    const char *bad = n > 0 ? memchr(data, '\v', n) : NULL;

    if (bad != NULL)
        n = (size_t)(bad - data);
    bad = n > 0 ? memchr(data, '\f', n) : NULL;
    return bad != NULL ? (size_t)(bad - data) : n;
}

/* The first n bytes of data may stand in JSON: parses them and looks at their end. A number that is
 * already too long is an error, or with json_in_tolerate() it is held back from here on. */
static enum err_kind parse_and_look(struct json_in *j, const char *data, size_t n, struct err *err)
{
    enum err_kind kind = parse(j, data, n, err);

    if (kind != ERR_OK)
        return kind;
    look_at_tail(j, data, n);
    if (j->in_string || j->rest <= MAX_NUMBER)
        return ERR_OK;
    if (j->excess != NULL) {
        j->in_number = true;
        return ERR_OK;
    }
    j->too_long = true;
    j->stopped = true;
    return canceled(j, err);
}

enum err_kind json_in_feed(struct json_in *j, const char *data, size_t n, struct err *err)
{
    size_t good = before_bad_space(data, n);
    size_t used = 0;
    enum err_kind kind = ERR_OK;

    if (j->stopped)
        return err_set(err, ERR_CLOSED, 0, "the reader of the JSON has stopped");
    if (j->in_string || j->in_number) {
        bool quote = j->in_string;

        used = hold(j, data, good);
        if (!j->in_string && !j->in_number)
            kind = parse_held(j, quote, err);
    }
    if (kind == ERR_OK && used < good)
        kind = parse_and_look(j, data + used, good - used, err);
    if (kind != ERR_OK)
        return kind;
    /* The tokens before the bad byte were given to the consumer: the result must not depend on how
     * the bytes were cut. */
    if (good < n) {
        j->stopped = true;
        return err_set(err, ERR_PROTOCOL, 0, "not valid JSON at byte %" PRIu64 ": control byte",
                       j->base + j->held.len + j->dropped);
    }
    give_back(j);
    return ERR_OK;
}

enum err_kind json_in_finish(struct json_in *j, struct err *err)
{
    yajl_status status = yajl_status_error;

    if (j->stopped)
        return err_set(err, ERR_CLOSED, 0, "the reader of the JSON has stopped");
    j->stopped = true;
    if (json_in_idle(j))
        return ERR_OK;
    /* yajl cannot tell that a number at depth 0 has ended until it is told that nothing follows.
     * Inside a container or a string the text is cut off in any case. */
    if (j->depth == 0 && !j->in_string && !j->in_number)
        status = yajl_complete_parse(j->yajl);
    if (status == yajl_status_client_canceled)
        return canceled(j, err);
    if (status == yajl_status_error)
        return err_set(err, ERR_CLOSED, 0, "JSON cut off inside a value at byte %" PRIu64,
                       j->base + j->held.len + j->dropped);
    return ERR_OK;
}

bool json_in_idle(const struct json_in *j)
{
    return j->depth == 0 && j->rest == 0;
}

enum err_kind json_in_scan(struct str text, json_in_cb *cb, void *arg, struct err *err)
{
    struct json_in *j = json_in_create(JSON_IN_MAX_DEPTH, cb, arg);

    j->single = true;
    enum err_kind kind = json_in_feed(j, text.p, text.n, err);
    if (kind == ERR_OK)
        kind = json_in_finish(j, err);
    if (kind == ERR_OK && j->last_end == 0)
        kind = err_set(err, ERR_PROTOCOL, 0, "no JSON value");
    json_in_destroy(&j);
    return kind;
}
