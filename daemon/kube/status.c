/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/status.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "proto/json_in.h"

static const char too_large_text[] = "Too large resource version";

/* The deepest members that count are those of details.causes[], at depth 4. */
enum { DEPTHS = 5 };

/* The scan of a body. Members come in any order, so conclusions wait for the end. */
struct scan {
    struct status *out;
    char key[DEPTHS][24]; /* [d]: the member that a token at depth d belongs to; "" in an array */
    char kind[64];
    bool failure; /* "status":"Failure" */
    bool has_code;
    bool has_message;
    bool has_details;
    bool cause_reason;     /* a cause has the reason ResourceVersionTooLarge */
    bool cause_message;    /* a cause has the message too_large_text */
    char other_error[256]; /* {"error":...}, which some proxies send */
};

/* Copies text. If it is too long it is cut between two characters. Ends of lines, tabs and NULs become
 * blanks, as the text is a C string for one line; whoever shows it escapes the rest. */
static void put_text(char *out, size_t size, struct str text)
{
    size_t n = text.n < size - 1 ? text.n : size - 1;

    if (n < text.n)
        while (n > 0 && ((unsigned char)text.p[n] & 0xc0) == 0x80)
            n--;
    memcpy(out, text.n > 0 ? text.p : "", n);
    out[n] = '\0';
    for (char *c = out; c < out + n; c++)
        if (strchr("\t\n\v\f\r", *c) != NULL) /* or a NUL: it ends that text, too */
            *c = ' ';
}

#define PUT_TEXT(array, text) put_text((array), sizeof(array), (text))

/* The number, or -1 if the value is no number or has more digits than any that counts. */
static long long number(const struct json_token *t)
{
    char digits[24];

    if (t->type != JSON_NUMBER || t->text.n >= sizeof(digits))
        return -1;
    PUT_TEXT(digits, t->text);
    return strtoll(digits, NULL, 10);
}

static bool key_is(const struct scan *s, unsigned depth, const char *key)
{
    return strcmp(s->key[depth], key) == 0;
}

static void top_string(struct scan *s, struct str text)
{
    if (key_is(s, 1, "kind")) {
        PUT_TEXT(s->kind, text);
    } else if (key_is(s, 1, "status")) {
        s->failure = str_is(text, "Failure");
    } else if (key_is(s, 1, "reason")) {
        PUT_TEXT(s->out->reason, text);
    } else if (key_is(s, 1, "error")) {
        PUT_TEXT(s->other_error, text);
    } else if (key_is(s, 1, "message")) {
        PUT_TEXT(s->out->message, text);
        s->has_message = true;
    }
}

/* A value directly in the body. Codes that HTTP does not have do not count. */
static void top_value(struct scan *s, const struct json_token *t)
{
    if (t->type == JSON_STRING)
        top_string(s, t->text);
    if (key_is(s, 1, "details"))
        s->has_details = t->type == JSON_OBJECT;
    if (!key_is(s, 1, "code") || number(t) <= 0 || number(t) > 999)
        return;
    s->out->code = (int)number(t);
    s->has_code = true;
}

/* A value in details: how long to wait, and the causes that show a too large resourceVersion
 * (docs/kubernetes-protocol.md "Too large resource version"). */
static void details_value(struct scan *s, const struct json_token *t)
{
    bool cause = t->depth == 4 && key_is(s, 2, "causes") && t->type == JSON_STRING;

    if (t->depth == 2 && key_is(s, 2, "retryAfterSeconds"))
        s->out->retry_after_s = number(t);
    if (cause && key_is(s, 4, "reason") && str_is(t->text, "ResourceVersionTooLarge"))
        s->cause_reason = true;
    if (cause && key_is(s, 4, "message") && str_is(t->text, too_large_text))
        s->cause_message = true;
}

static bool on_token(void *arg, const struct json_token *t)
{
    struct scan *s = arg;

    if (t->depth >= DEPTHS || t->type == JSON_OBJECT_END || t->type == JSON_ARRAY_END)
        return true;
    if (t->type == JSON_KEY) {
        PUT_TEXT(s->key[t->depth], t->text);
        return true;
    }
    if ((t->type == JSON_OBJECT || t->type == JSON_ARRAY) && t->depth + 1 < DEPTHS)
        /* A new container: the key of the one before it at this depth no longer holds. */
        s->key[t->depth + 1][0] = '\0';
    if (t->depth == 1)
        top_value(s, t);
    else if (t->depth > 1 && key_is(s, 1, "details"))
        details_value(s, t);
    return true;
}

/* Does Kubernetes define this reason? Such a reason counts more than the code. */
static bool known_reason(const char *reason)
{
    static const char *const known[] = {
        "Unauthorized",
        "Forbidden",
        "NotFound",
        "AlreadyExists",
        "Conflict",
        "Gone",
        "Invalid",
        "ServerTimeout",
        "StoreReadError",
        "Timeout",
        "TooManyRequests",
        "BadRequest",
        "MethodNotAllowed",
        "NotAcceptable",
        "InternalError",
        "RequestEntityTooLarge",
        "Expired",
        "UnsupportedMediaType",
        "ServiceUnavailable",
    };

    for (size_t i = 0; i < ARRAY_LEN(known); i++)
        if (strcmp(reason, known[i]) == 0)
            return true;
    return false;
}

/* Does the Status have this reason, or this code with a reason that Kubernetes does not define? */
static bool means(const struct status *s, const char *reason, int code)
{
    return strcmp(s->reason, reason) == 0 || (s->code == code && !known_reason(s->reason));
}

/* Describes JSON that is no Status. An object is named by its kind only, because it may hold
 * secrets. A body without a kind is no object, so its message or error may be quoted. */
static void name_json(const struct scan *s)
{
    struct status *out = s->out;
    const char *error = s->has_message ? out->message : s->other_error;
    char text[sizeof(out->message)] = "JSON that is no Status";

    if (s->kind[0] != '\0')
        snprintf(text, sizeof(text), "a %s instead of a Status", s->kind);
    else if (error[0] != '\0')
        PUT_TEXT(text, str_c(error));
    PUT_TEXT(out->message, str_c(text));
    out->reason[0] = '\0';
    out->retry_after_s = -1;
}

/* Describes a body that is no JSON. The beginning of a text usually says who has answered, a
 * proxy for example. HTML and broken JSON say little in 120 bytes, and broken JSON may be an
 * object with secrets. */
static void quote_text(struct status *out, struct str body)
{
    while (body.n > 0 && strchr(" \t\r\n", body.p[0]) != NULL)
        body = str_of(body.p + 1, body.n - 1);
    while (body.n > 0 && strchr(" \t\r\n", body.p[body.n - 1]) != NULL)
        body.n--;
    if (body.n > 0 && body.p[0] == '<')
        PUT_TEXT(out->message, str_c("an HTML page"));
    else if (body.n > 0 && (body.p[0] == '{' || body.p[0] == '['))
        PUT_TEXT(out->message, str_c("broken JSON"));
    else
        PUT_TEXT(out->message, str_of(body.p, body.n < 120 ? body.n : 120));
}

void status_parse(struct status *out, int http_code, struct str body)
{
    struct scan s = {.out = out};

    *out = (struct status){.code = http_code, .retry_after_s = -1};
    if (json_in_scan(body, on_token, &s, NULL) != ERR_OK) {
        /* The scan may have taken members before it found the fault. */
        *out = (struct status){.code = http_code, .retry_after_s = -1};
        quote_text(out, body);
        return;
    }
    /* A Status without kind and apiVersion is real: API servers write one when a request times
     * out (docs/kubernetes-protocol.md "Other bodies"). */
    out->is_status = strcmp(s.kind, "Status") == 0 ||
                     (s.kind[0] == '\0' && (s.failure || (s.has_code && s.has_message)));
    if (!out->is_status) {
        out->code = http_code;
        name_json(&s);
        return;
    }
    /* The three spellings. A 504 alone does not mean it: etcd may just be slow. */
    out->too_large =
        s.cause_reason || (s.has_details && means(out, "Timeout", 504) &&
                           (s.cause_message || strstr(out->message, too_large_text) != NULL));
}

/* too_large comes first, as its code 504 would otherwise be an ordinary fault of the server. A
 * 503 without Retry-After is no promise that the server is only busy. */
static enum err_kind kind_of(const struct status *s)
{
    if (s->too_large)
        return ERR_FUTURE;
    if (strcmp(s->reason, "Expired") == 0 || means(s, "Gone", 410))
        return ERR_EXPIRED;
    if (means(s, "Unauthorized", 401))
        return ERR_UNAUTHORIZED;
    if (means(s, "Forbidden", 403))
        return ERR_FORBIDDEN;
    if (means(s, "NotFound", 404))
        return ERR_NOT_FOUND;
    if (means(s, "MethodNotAllowed", 405))
        return ERR_NO_VERB;
    if (means(s, "TooManyRequests", 429) || (s->code == 503 && s->retry_after_s >= 0))
        return ERR_BUSY;
    return ERR_SERVER;
}

static const char *advice(enum err_kind kind)
{
    if (kind == ERR_UNAUTHORIZED)
        return ": the server does not accept the credential; check token or client certificate";
    if (kind == ERR_FORBIDDEN)
        return ": grant get, list and watch with RBAC";
    if (kind == ERR_NOT_FOUND)
        return ": no such resource on this server (is the CRD installed?)";
    return "";
}

enum err_kind status_to_err(const struct status *s, struct err *err)
{
    enum err_kind kind = kind_of(s);
    char message[200];
    char code[16] = "";

    PUT_TEXT(message, str_c(s->message));
    if (s->code > 0)
        snprintf(code, sizeof(code), " %d", s->code);
    /* An ERROR event whose object has no text at all. */
    if (s->code == 0 && s->reason[0] == '\0' && message[0] == '\0')
        PUT_TEXT(code, str_c(" nothing"));
    return err_set(err, kind, s->code, "server says%s%s%s%s%s%s", code, s->reason[0] ? " " : "",
                   s->reason, message[0] ? ": " : "", message, advice(kind));
}
