/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/token.h"

#include <string.h>

#include "base/base64.h"
#include "base/mem.h"
#include "proto/json_pick.h"
#include "proto/json_tree.h"

/* The end of the year 9999, behind which a time has no form in RFC 3339. */
#define DATE_MAX INT64_C(253402300799)

/* Decodes base64url without padding (RFC 7515 2) by turning it into standard base64. */
static bool decode(struct str text, struct buf *out)
{
    struct buf standard = {0};

    for (size_t i = 0; i < text.n; i++) {
        char c = text.p[i];

        buf_putc(&standard, (char)(c == '-' ? '+' : c == '_' ? '/' : c));
    }
    while (standard.len % 4 != 0)
        buf_putc(&standard, '=');
    bool good = base64_decode(buf_str(&standard), out);
    buf_free(&standard);
    return good;
}

/* The payload: the text between the first two points; empty = the token is no JWT. */
static struct str payload_of(struct str token)
{
    const char *first = memchr(token.p, '.', token.n);
    size_t rest = first != NULL ? token.n - (size_t)(first + 1 - token.p) : 0;
    const char *second = rest > 0 ? memchr(first + 1, '.', rest) : NULL;

    return second != NULL ? str_of(first + 1, (size_t)(second - first - 1)) : str_of("", 0);
}

/* Reads the claims of a JWT. False: the token is no JWT. Release json and tree in any case. */
static bool read_claims(struct str token, struct buf *json, struct json_tree *tree)
{
    struct str payload = token.n > 0 ? payload_of(token) : str_of("", 0);
    struct err err;

    if (payload.n == 0 || !decode(payload, json))
        return false;
    tree->text = buf_str(json);
    return json_tree_read(tree, &err) == ERR_OK;
}

char *token_subject(struct str token)
{
    struct buf json = {0};
    struct json_tree tree = {0};
    char *subject = NULL;

    if (read_claims(token, &json, &tree)) {
        struct str sub = json_pick_str(&tree, 0, "sub");

        /* A NUL byte would cut the string off and name another subject. */
        if (sub.n > 0 && memchr(sub.p, '\0', sub.n) == NULL)
            subject = mem_strndup(sub.p, sub.n);
    }
    json_tree_free(&tree);
    buf_free(&json);
    return subject;
}

/* A NumericDate (RFC 7519 2), whose fraction does not count. 0: there is none, or none that is a
 * time. */
static int64_t date_of(const struct json_tree *t, const char *name)
{
    unsigned at = json_pick(t, 0, name);
    int64_t s = 0;

    if (at == JSON_PICK_NONE || t->v[at].type != JSON_NUMBER)
        return 0;
    struct str text = t->v[at].bytes;
    for (size_t i = 0; i < text.n && text.p[i] != '.'; i++) {
        if (text.p[i] < '0' || text.p[i] > '9')
            return 0;
        s = 10 * s + (text.p[i] - '0');
        if (s > DATE_MAX)
            return 0;
    }
    return s;
}

bool token_dates(struct str token, int64_t *issued_s, int64_t *expires_s)
{
    struct buf json = {0};
    struct json_tree tree = {0};

    *issued_s = *expires_s = 0;
    if (read_claims(token, &json, &tree)) {
        *issued_s = date_of(&tree, "iat");
        *expires_s = date_of(&tree, "exp");
    }
    json_tree_free(&tree);
    buf_free(&json);
    return *expires_s > 0;
}
