/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/json_value.h"

#include <string.h>

#include "base/buf.h"
#include "base/digest.h"

/* Mixed into digests to tell values of different types apart. */
enum { OF_OBJECT = 1, OF_ARRAY = 2, OF_STRING = 3, OF_LITERAL = 4 };

struct reader {
    const char *p;
    const char *end;
    unsigned depth;
    struct buf decoded; /* the last string that had escapes */
};

/* A hash of both numbers, in this order. The constants are those of well-known 64-bit mixing
 * functions. */
static uint64_t mix(uint64_t a, uint64_t b)
{
    uint64_t h = a * 0x9e3779b97f4a7c15U + b;

    h = (h ^ (h >> 32)) * 0xd6e8feb86659fd93U;
    h = (h ^ (h >> 32)) * 0xd6e8feb86659fd93U;
    return h ^ (h >> 32);
}

static uint64_t digest_of_str(struct str s)
{
    return digest_of(s.p, s.n).lo;
}

/* Skips white space and returns the next byte without taking it; '\0' at the end of the text. */
static char ahead(struct reader *r)
{
    while (r->p < r->end && json_is_space(*r->p))
        r->p++;
    if (r->p == r->end)
        return '\0';
    return *r->p;
}

static bool on_decoded(void *arg, const struct json_token *t)
{
    buf_append_str(arg, t->text);
    return true;
}

/* Decodes a string that has escapes; quoted includes the quotes. Such strings are rare, so the
 * usual parser reads them. A string that it refuses counts by its bytes. */
static struct str decode(struct reader *r, struct str quoted)
{
    buf_clear(&r->decoded);
    if (json_in_scan(quoted, on_decoded, &r->decoded, NULL) != ERR_OK)
        return quoted;
    return buf_str(&r->decoded);
}

/* The position of the closing quote of the string that begins at r->p, or the end of the text. */
static const char *end_of_string(const struct reader *r)
{
    const char *at = r->p + 1;

    for (; at < r->end && *at != '"'; at++)
        if (*at == '\\' && at + 1 < r->end)
            at++;
    return at;
}

/* Reads a string; the result is valid until the next one is read. The first quote ends the string
 * unless there is a backslash before it, so most strings need no more than two searches. */
static struct str read_string(struct reader *r)
{
    const char *begin = r->p;
    const char *quote = memchr(begin + 1, '"', (size_t)(r->end - begin) - 1);
    size_t n = quote != NULL ? (size_t)(quote - begin) - 1 : 0;

    if (quote != NULL && memchr(begin + 1, '\\', n) == NULL) {
        r->p = quote + 1;
        return str_of(begin + 1, n);
    }
    const char *end = end_of_string(r);
    r->p = end < r->end ? end + 1 : end;
    return decode(r, str_of(begin, (size_t)(r->p - begin)));
}

static bool ends_literal(char c)
{
    return json_is_space(c) || c == ',' || c == '}' || c == ']' || c == ':' || c == '\0';
}

/* Reads a number, true, false or null. If no such text stands here, the rest of the whole text is
 * taken, so that the reader always moves on. */
static uint64_t read_literal(struct reader *r)
{
    const char *begin = r->p;

    while (r->p < r->end && !ends_literal(*r->p))
        r->p++;
    if (r->p == begin)
        r->p = r->end;
    return mix(OF_LITERAL, digest_of_str(str_of(begin, (size_t)(r->p - begin))));
}

static uint64_t read_value(struct reader *r);

/* Reads a member, and returns 0 if it counts as absent. An empty value before ',' or '}' was cut
 * out of the text. */
static uint64_t read_member(struct reader *r)
{
    if (*r->p != '"')
        return read_literal(r);
    struct str name = read_string(r);
    uint64_t digest = digest_of_str(name);
    bool can_be_void = json_value_is_void(name, JSON_NULL);

    if (ahead(r) == ':')
        r->p++;
    char c = ahead(r);
    if (c == ',' || c == '}')
        return 0;
    uint64_t value = read_value(r);
    return can_be_void && c == 'n' ? 0 : mix(digest, value);
}

/* Moves to the next member or element, behind commas. False: the container, or the text, ends
 * here. */
static bool goes_on(struct reader *r, char bracket)
{
    char c = ahead(r);

    while (c == ',') {
        r->p++;
        c = ahead(r);
    }
    if (c == bracket)
        r->p++;
    return r->p < r->end && c != bracket;
}

/* The digests of members are added, as their order makes no difference. */
static uint64_t read_object(struct reader *r)
{
    uint64_t sum = 0;

    for (r->p++; goes_on(r, '}');)
        sum += read_member(r);
    return mix(OF_OBJECT, sum);
}

/* The digests of elements are mixed one after the other, as their order counts. */
static uint64_t read_array(struct reader *r)
{
    uint64_t digest = 0;

    for (r->p++; goes_on(r, ']');)
        digest = mix(digest, read_value(r));
    return mix(OF_ARRAY, digest);
}

/* At the greatest depth a bracket is read as a literal, which bounds the recursion. */
static uint64_t read_container(struct reader *r, char bracket)
{
    if (r->depth == JSON_IN_MAX_DEPTH)
        return read_literal(r);
    r->depth++;
    uint64_t digest = bracket == '{' ? read_object(r) : read_array(r);
    r->depth--;
    return digest;
}

static uint64_t read_value(struct reader *r)
{
    char c = ahead(r);

    if (c == '{' || c == '[')
        return read_container(r, c);
    return c == '"' ? mix(OF_STRING, digest_of_str(read_string(r))) : read_literal(r);
}

bool json_value_is_void(struct str name, enum json_type type)
{
    return type == JSON_NULL && str_is(name, "creationTimestamp");
}

uint64_t json_value_digest(struct str text)
{
    struct reader r = {.p = text.p, .end = text.n > 0 ? text.p + text.n : text.p};
    uint64_t digest = 0;

    while (ahead(&r) != '\0' || r.p < r.end)
        digest = mix(digest, read_value(&r));
    buf_free(&r.decoded);
    return digest;
}
