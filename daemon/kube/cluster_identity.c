/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/cluster_identity.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "proto/json_in.h"

/* A digest of 128 bits as hexadecimal digits. */
enum { DIGEST_HEX = 32 };

/* The depths of the members that count in {"metadata": {"resourceVersion": ..}, "items":
 * [{"metadata": {"name": .., "uid": ..}}]}. */
enum { LIST_MEMBER = 1, LIST_META = 2, ITEM_MEMBER = 3, ITEM_META = 4 };

/* Where in the answer a token stands, as far as that matters. The two places inside of items come
 * last: place >= PLACE_ITEMS asks for them. */
enum place { PLACE_ELSEWHERE, PLACE_LIST_META, PLACE_ITEMS, PLACE_ITEM_META };

enum member { MEMBER_OTHER, MEMBER_REVISION, MEMBER_NAME, MEMBER_UID };

struct scan {
    enum place place;
    enum member member; /* the member whose value comes next */
    bool is_object;
    bool is_kube_system; /* the item that is being read has that name */
    struct cluster_identity item;
    struct cluster_identity_answer *out;
};

/* Copies a text that is printable ASCII and fits; any other one becomes "". The text ends in log
 * lines and in the state, and comes from a server that nobody has identified yet. */
static void set_text(char *to, size_t max, struct str text)
{
    bool fits = text.n <= max;

    for (size_t i = 0; i < text.n; i++)
        fits = fits && text.p[i] > ' ' && text.p[i] <= '~';
    snprintf(to, max + 1, "%.*s", fits ? (int)text.n : 0, text.p);
}

static void set_uid(struct cluster_identity *id, struct str uid)
{
    set_text(id->uid, CLUSTER_IDENTITY_UID_MAX, uid);
}

/* The place of the value of this key. Keys that are deeper than those of interest leave the place
 * as it is. */
static enum place place_of(enum place place, const struct json_token *t)
{
    if (t->depth == LIST_MEMBER) {
        if (str_is(t->text, "metadata"))
            return PLACE_LIST_META;
        return str_is(t->text, "items") ? PLACE_ITEMS : PLACE_ELSEWHERE;
    }
    if (t->depth == ITEM_MEMBER && place >= PLACE_ITEMS)
        return str_is(t->text, "metadata") ? PLACE_ITEM_META : PLACE_ITEMS;
    return place;
}

/* Depth and place together: a key "uid" at another depth, say in ownerReferences, is not the uid
 * of the item. */
static enum member member_of(enum place place, const struct json_token *t)
{
    if (t->depth == LIST_META && place == PLACE_LIST_META)
        return str_is(t->text, "resourceVersion") ? MEMBER_REVISION : MEMBER_OTHER;
    if (t->depth != ITEM_META || place != PLACE_ITEM_META)
        return MEMBER_OTHER;
    if (str_is(t->text, "uid"))
        return MEMBER_UID;
    return str_is(t->text, "name") ? MEMBER_NAME : MEMBER_OTHER;
}

static void on_key(struct scan *s, const struct json_token *t)
{
    s->place = place_of(s->place, t);
    s->member = member_of(s->place, t);
}

static void on_string(struct scan *s, const struct json_token *t)
{
    if (s->member == MEMBER_REVISION && t->depth == LIST_META)
        set_text(s->out->revision, CLUSTER_IDENTITY_REVISION_MAX, t->text);
    else if (s->member == MEMBER_UID && t->depth == ITEM_META)
        set_uid(&s->item, t->text);
    else if (s->member == MEMBER_NAME && t->depth == ITEM_META)
        s->is_kube_system = str_is(t->text, "kube-system");
}

/* An item is complete. A server that knows no field selectors lists all namespaces, so the name
 * is checked here again. */
static void end_item(struct scan *s)
{
    if (s->is_kube_system)
        memcpy(s->out->id.uid, s->item.uid, sizeof(s->item.uid));
    s->is_kube_system = false;
    s->item = (struct cluster_identity){0};
}

static bool on_token(void *arg, const struct json_token *t)
{
    struct scan *s = arg;

    if (t->depth == 0)
        s->is_object = t->type == JSON_OBJECT || t->type == JSON_OBJECT_END;
    else if (t->type == JSON_KEY)
        on_key(s, t);
    else if (t->type == JSON_STRING)
        on_string(s, t);
    /* An item ends at the depth at which the members of the list's metadata stand. */
    else if (t->type == JSON_OBJECT_END && t->depth == LIST_META && s->place >= PLACE_ITEMS)
        end_item(s);
    return true;
}

enum err_kind cluster_identity_read(struct str body, struct cluster_identity_answer *out,
                                    struct err *err)
{
    struct cluster_identity_answer found = {0};
    struct scan s = {.out = &found};

    if (json_in_scan(body, on_token, &s, err) != ERR_OK || !s.is_object)
        return err_set(err, ERR_PROTOCOL, 0,
                       "the answer to the LIST of namespace kube-system is no object");
    *out = found;
    return ERR_OK;
}

bool cluster_identity_is_secret(int status)
{
    /* 401 may come from an expired token, 408 and 429 from a busy server. The others, such as 403
     * and 404, do not pass by asking again. */
    return status >= 400 && status < 500 && status != 401 && status != 408 && status != 429;
}

void cluster_identity_put(const struct cluster_identity *id, struct buf *out)
{
    if (id->uid[0] != '\0')
        buf_printf(out, "uid:%s\n", id->uid);
    for (size_t i = 0; i < id->authorities.n; i++)
        buf_printf(out, "ca:%016" PRIx64 "%016" PRIx64 "\n", id->authorities.v[i].hi,
                   id->authorities.v[i].lo);
}

/* Reads half a digest, 16 hexadecimal digits; false if hex does not begin with these. */
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

/* Adds the key of an authority; a line that is not a digest, or one too many, is passed over. */
static void add_key(struct tls_keys *keys, struct str hex)
{
    struct digest d;

    if (hex.n == DIGEST_HEX && keys->n < TLS_KEYS_MAX && read_half(hex.p, &d.hi) &&
        read_half(hex.p + DIGEST_HEX / 2, &d.lo))
        keys->v[keys->n++] = d;
}

/* The text behind the word that the line begins with; .p NULL if the line does not begin with
 * it. */
static struct str value_of(struct str line, const char *word)
{
    size_t n = strlen(word);

    if (line.n < n || memcmp(line.p, word, n) != 0)
        return str_of(NULL, 0);
    return str_of(line.p + n, line.n - n);
}

void cluster_identity_parse(struct str text, struct cluster_identity *out)
{
    *out = (struct cluster_identity){0};
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

enum cluster_identity_relation cluster_identity_compare(const struct cluster_identity *known,
                                                        const struct cluster_identity *now)
{
    bool same;

    if (known->uid[0] != '\0' && now->uid[0] != '\0')
        same = strcmp(known->uid, now->uid) == 0;
    else if (known->authorities.n > 0 && now->authorities.n > 0)
        same = share_key(&known->authorities, &now->authorities);
    else
        return CLUSTER_IDENTITY_UNKNOWN;
    return same ? CLUSTER_IDENTITY_SAME : CLUSTER_IDENTITY_OTHER;
}

/* now may lack the uid because this server refused the LIST; the uid that another server told
 * still holds. */
void cluster_identity_update(struct cluster_identity *known, const struct cluster_identity *now)
{
    if (now->uid[0] != '\0')
        memcpy(known->uid, now->uid, sizeof(known->uid));
    if (now->authorities.n > 0)
        known->authorities = now->authorities;
}
