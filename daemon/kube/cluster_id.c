/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/cluster_id.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "proto/json_in.h"

enum { MEMBER_DEPTH = 1, UID_DEPTH = 2, DIGEST_HEX = 32 };

/* Where the tokens of the answer are: at which member, as far as that matters. */
enum place { PLACE_ELSEWHERE, PLACE_METADATA, PLACE_UID };

struct scan {
    enum place place;
    bool is_object;
    struct cluster_id *id;
};

static void set_uid(struct cluster_id *id, struct str uid)
{
    bool fits = uid.n <= CLUSTER_ID_UID_MAX;

    for (size_t i = 0; i < uid.n; i++)
        fits = fits && uid.p[i] > ' ' && uid.p[i] <= '~';
    id->uid[0] = '\0';
    if (fits)
        snprintf(id->uid, sizeof(id->uid), "%.*s", STR_ARG(uid));
}

static bool on_token(void *arg, const struct json_token *t)
{
    struct scan *s = arg;

    if (t->depth == 0)
        s->is_object = t->type == JSON_OBJECT || t->type == JSON_OBJECT_END;
    else if (t->type == JSON_KEY && t->depth == MEMBER_DEPTH)
        s->place = str_is(t->text, "metadata") ? PLACE_METADATA : PLACE_ELSEWHERE;
    else if (t->type == JSON_KEY && t->depth == UID_DEPTH && s->place != PLACE_ELSEWHERE)
        s->place = str_is(t->text, "uid") ? PLACE_UID : PLACE_METADATA;
    else if (t->type == JSON_STRING && t->depth == UID_DEPTH && s->place == PLACE_UID)
        set_uid(s->id, t->text);
    return true;
}

enum err_kind cluster_id_read(struct str body, struct cluster_id *id, struct err *err)
{
    struct cluster_id found = {0};
    struct scan s = {.id = &found};

    if (json_in_scan(body, on_token, &s, err) != ERR_OK || !s.is_object)
        return err_set(err, ERR_PROTOCOL, 0, "the answer for namespace kube-system is no object");
    memcpy(id->uid, found.uid, sizeof(id->uid));
    return ERR_OK;
}

bool cluster_id_is_secret(int status)
{
    return status >= 400 && status < 500 && status != 401 && status != 408 && status != 429;
}

void cluster_id_put(const struct cluster_id *id, struct buf *out)
{
    if (id->uid[0] != '\0')
        buf_printf(out, "uid:%s\n", id->uid);
    for (size_t i = 0; i < id->authorities.n; i++)
        buf_printf(out, "ca:%016" PRIx64 "%016" PRIx64 "\n", id->authorities.v[i].hi,
                   id->authorities.v[i].lo);
}

/* Half a digest; false if it is not that. */
static bool read_half(const char *hex, uint64_t *out)
{
    static const char digits[] = "0123456789abcdef";

    *out = 0;
    for (int i = 0; i < DIGEST_HEX / 2; i++) {
        const char *digit = memchr(digits, hex[i], sizeof(digits) - 1);

        if (digit == NULL)
            return false;
        *out = *out << 4 | (uint64_t)(digit - digits);
    }
    return true;
}

static void add_key(struct tls_keys *keys, struct str hex)
{
    struct digest d;

    if (hex.n == DIGEST_HEX && keys->n < TLS_KEYS_MAX && read_half(hex.p, &d.hi) &&
        read_half(hex.p + DIGEST_HEX / 2, &d.lo))
        keys->v[keys->n++] = d;
}

/* What stands behind the word; .p NULL if the line is about something else. */
static struct str value_of(struct str line, const char *word)
{
    size_t n = strlen(word);

    if (line.n < n || memcmp(line.p, word, n) != 0)
        return str_of(NULL, 0);
    return str_of(line.p + n, line.n - n);
}

void cluster_id_parse(struct str text, struct cluster_id *out)
{
    *out = (struct cluster_id){0};
    for (const char *end; text.n > 0 && (end = memchr(text.p, '\n', text.n)) != NULL;) {
        struct str line = str_of(text.p, (size_t)(end - text.p));
        struct str uid = value_of(line, "uid:");
        struct str key = value_of(line, "ca:");

        if (uid.p != NULL)
            set_uid(out, uid);
        if (key.p != NULL)
            add_key(&out->authorities, key);
        text = str_of(end + 1, text.n - line.n - 1);
    }
}

static bool has_key(const struct tls_keys *keys, struct digest key)
{
    for (size_t i = 0; i < keys->n; i++)
        if (digest_eq(keys->v[i], key))
            return true;
    return false;
}

static bool share_key(const struct tls_keys *a, const struct tls_keys *b)
{
    for (size_t i = 0; i < a->n; i++)
        if (has_key(b, a->v[i]))
            return true;
    return false;
}

enum cluster_id_relation cluster_id_compare(const struct cluster_id *known,
                                            const struct cluster_id *now)
{
    bool same;

    if (known->uid[0] != '\0' && now->uid[0] != '\0')
        same = strcmp(known->uid, now->uid) == 0;
    else if (known->authorities.n > 0 && now->authorities.n > 0)
        same = share_key(&known->authorities, &now->authorities);
    else
        return CLUSTER_ID_UNKNOWN;
    return same ? CLUSTER_ID_SAME : CLUSTER_ID_OTHER;
}

void cluster_id_update(struct cluster_id *known, const struct cluster_id *now)
{
    if (now->uid[0] != '\0')
        memcpy(known->uid, now->uid, sizeof(known->uid));
    if (now->authorities.n > 0)
        known->authorities = now->authorities;
}
