/* SPDX-License-Identifier: Apache-2.0 */
#include "hook/members.h"

#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/path_template.h"
#include "base/wire.h"
#include "proto/json_in.h"

/* Where the tokens of an object are. */
enum place { PLACE_ELSEWHERE, PLACE_DATA, PLACE_BINARY_DATA };

/* A name that the object has, to find one that it has twice. */
struct name {
    struct map_node node;
    char text[];
};

struct reading {
    struct members *m;
    struct map names;
    enum place place;
    bool is_secret;
    char *key;        /* of the value that comes next */
    struct err fault; /* kind ERR_OK: none */
};

static const char *place_name(enum place place)
{
    return place == PLACE_DATA ? "data" : "binaryData";
}

struct members *members_create(void)
{
    return mem_zalloc(sizeof(struct members));
}

static void put_head(struct members *m, size_t size, size_t length, bool goes)
{
    const struct wire_member head = {
        .size = size, .length = (uint32_t)length, .goes = goes ? 1 : 0};

    buf_append(&m->input, &head, sizeof(head));
}

static struct member *add(struct members *m)
{
    m->v = mem_grow(m->v, m->n, sizeof(*m->v));
    m->v[m->n] = (struct member){0};
    return &m->v[m->n++];
}

bool members_add_gone(struct members *m, struct str name, const char *path)
{
    if (m->n == WIRE_FILES_MAX ||
        m->input.len + sizeof(struct wire_member) + name.n > WIRE_OUTPUT_MAX)
        return false;
    struct member *x = add(m);

    x->name = mem_strndup(name.p, name.n);
    x->path = mem_strdup(path);
    x->goes = true;
    put_head(m, 0, name.n, true);
    buf_append_str(&m->input, name);
    return true;
}

/* The API server refuses a name that stands in both data and binaryData. */
static bool note_name(struct reading *r)
{
    size_t n = strlen(r->key);

    if (map_get(&r->names, str_of(r->key, n)) != NULL)
        return err_set(&r->fault, ERR_CONFIG, 0, "the object has two members \"%.64s\"", r->key) ==
               ERR_OK;
    struct name *name = mem_zalloc(sizeof(*name) + n + 1);
    memcpy(name->text, r->key, n);
    map_put(&r->names, &name->node, str_of(name->text, n));
    return true;
}

/* Adds the value of a member as it stands in the object. */
static bool take_value(struct reading *r, struct str text)
{
    struct members *m = r->m;
    bool is_encoded = r->is_secret || r->place == PLACE_BINARY_DATA;
    size_t head_at = m->input.len;
    struct wire_member head = {.length = (uint32_t)strlen(r->key)};

    if (!note_name(r))
        return false;
    buf_append(&m->input, &head, sizeof(head));
    buf_puts(&m->input, r->key);
    size_t at = m->input.len;
    if (!is_encoded)
        buf_append_str(&m->input, text);
    else if (!base64_decode(text, &m->input))
        return err_set(&r->fault, ERR_CONFIG, 0, "%s[\"%.64s\"] is no base64", place_name(r->place),
                       r->key) == ERR_OK;
    head.size = m->input.len - at;
    memcpy(m->input.data + head_at, &head, sizeof(head));
    if (m->n == WIRE_MEMBERS_MAX || m->input.len > WIRE_OUTPUT_MAX)
        return err_set(&r->fault, ERR_TOO_BIG, 0,
                       "the object has more than %d members, or more than %d MiB", WIRE_MEMBERS_MAX,
                       WIRE_OUTPUT_MAX / 1024 / 1024) == ERR_OK;
    struct member *x = add(m);
    x->name = r->key;
    r->key = NULL;
    x->digest = digest_of(head.size > 0 ? m->input.data + at : "", head.size);
    return true;
}

static enum place place_of(struct str key)
{
    if (str_is(key, "data"))
        return PLACE_DATA;
    return str_is(key, "binaryData") ? PLACE_BINARY_DATA : PLACE_ELSEWHERE;
}

/* A json_in_cb: an error stops the reader. Depth 1: the members of the object itself; 2: those of data. */
static bool on_token(void *arg, const struct json_token *t)
{
    struct reading *r = arg;

    if (t->depth == 1 && t->type == JSON_KEY)
        r->place = place_of(t->text);
    if (r->place == PLACE_ELSEWHERE)
        return true;
    if (t->depth == 1 && t->type != JSON_KEY && t->type != JSON_OBJECT &&
        t->type != JSON_OBJECT_END && t->type != JSON_NULL)
        return err_set(&r->fault, ERR_CONFIG, 0, "%s is no object", place_name(r->place)) == ERR_OK;
    if (t->depth != 2)
        return true;
    if (t->type == JSON_KEY) {
        free(r->key);
        r->key = path_template_name(t->text);
        return true;
    }
    /* null counts as an empty value, as in Go. */
    if (t->type == JSON_STRING || t->type == JSON_NULL)
        return take_value(r, t->type == JSON_STRING ? t->text : str_of("", 0));
    return err_set(&r->fault, ERR_CONFIG, 0, "%s[\"%.64s\"] is no string", place_name(r->place),
                   r->key) == ERR_OK;
}

static void free_names(struct map *names)
{
    for (struct map_node *n = map_first(names), *next; n != NULL; n = next) {
        next = map_next(n);
        map_remove(names, n);
        free(container_of(n, struct name, node));
    }
}

enum err_kind members_read(struct members *m, const struct object *o, struct err *err)
{
    struct reading r = {.m = m, .is_secret = str_is(object_kind(o), "Secret")};
    struct buf json = {0};

    if (object_is_bare(o))
        return err_set(err, ERR_CONFIG, 0, "the contents of the object are not known");
    object_put_json(&json, o);
    enum err_kind kind = json_in_scan(buf_str(&json), on_token, &r, err);
    buf_free(&json);
    free_names(&r.names);
    free(r.key);
    if (r.fault.kind != ERR_OK)
        return err_set(err, r.fault.kind, 0, "%s", r.fault.text);
    return kind;
}

void members_drop_input(struct members *m)
{
    buf_free(&m->input);
}

void members_destroy(struct members **mp)
{
    struct members *m = *mp;

    if (m == NULL)
        return;
    *mp = NULL;
    for (size_t i = 0; i < m->n; i++) {
        free(m->v[i].name);
        free(m->v[i].path);
    }
    free(m->v);
    buf_free(&m->input);
    free(m);
}
