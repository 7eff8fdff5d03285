/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/object.h"

#include <stdint.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/meter.h"
#include "base/panic.h"
#include "proto/json_member.h"
#include "proto/json_value.h"

/* One allocation holds everything, because a cache may have 100 000 objects. data: key NUL uid rv
 * generation api_version kind body. */
struct object {
    unsigned refs;
    uint16_t ns_n;
    uint16_t key_n;
    uint16_t uid_n;
    uint16_t rv_n;
    uint16_t generation_n;
    uint16_t api_version_n;
    uint16_t kind_n;
    size_t body_n;
    size_t rv_at;
    size_t generation_at;
    uint64_t value; /* digest_of_value(); 0 = not computed yet */
    char data[];
};

/* The readers bound all names far below this (kube/object_scan), so a longer one is a bug. */
static uint16_t size16(struct str s)
{
    ensure(s.n < UINT16_MAX / 2);
    return (uint16_t)s.n;
}

static size_t key_size(const struct object_parts *p)
{
    return (p->ns.n > 0 ? p->ns.n + 1 : 0) + p->name.n;
}

/* The bytes of the object as a whole. */
static size_t size_of(const struct object_parts *p)
{
    return sizeof(struct object) + key_size(p) + 1 + p->uid.n + p->rv.n + p->generation.n +
           p->api_version.n + p->kind.n + p->body.n;
}

/* n: the bytes of the object. */
static struct object *fill(struct object *o, size_t n, const struct object_parts *p)
{
    size_t key_n = key_size(p);
    char *at = o->data;

    meter_add(n + METER_BLOCK);
    ensure(p->rv_at == SIZE_MAX || p->rv_at <= p->body.n);
    ensure(p->generation_at == SIZE_MAX || p->generation_at <= p->body.n);
    *o = (struct object){
        .refs = 1,
        .ns_n = size16(p->ns),
        .key_n = size16(str_of(NULL, key_n)),
        .uid_n = size16(p->uid),
        .rv_n = size16(p->rv),
        .generation_n = size16(p->generation),
        .api_version_n = size16(p->api_version),
        .kind_n = size16(p->kind),
        .body_n = p->body.n,
        .rv_at = p->rv_at,
        .generation_at = p->generation_at,
    };
    str_put(&at, p->ns);
    if (p->ns.n > 0)
        *at++ = '/';
    str_put(&at, p->name);
    *at++ = '\0';
    str_put(&at, p->uid);
    str_put(&at, p->rv);
    str_put(&at, p->generation);
    str_put(&at, p->api_version);
    str_put(&at, p->kind);
    str_put(&at, p->body);
    return o;
}

struct object *object_create(const struct object_parts *p)
{
    size_t n = size_of(p);

    return fill(mem_alloc(n), n, p);
}

struct object *object_try_create(const struct object_parts *p)
{
    size_t n = size_of(p);
    struct object *o = mem_try_realloc(NULL, n);

    return o != NULL ? fill(o, n, p) : NULL;
}

struct object *object_ref(struct object *o)
{
    ensure(o->refs > 0 && o->refs < UINT32_MAX);
    o->refs++;
    return o;
}

/* The bytes of the block of an object: data ends with the body. */
static size_t block_of(const struct object *o)
{
    return sizeof(*o) + o->key_n + 1 + o->uid_n + o->rv_n + o->generation_n + o->api_version_n +
           o->kind_n + o->body_n;
}

void object_unref(struct object **o)
{
    if (*o == NULL)
        return;
    ensure((*o)->refs > 0);
    if (--(*o)->refs == 0) {
        meter_sub(block_of(*o) + METER_BLOCK);
        free(*o);
    }
    *o = NULL;
}

struct str object_key(const struct object *o)
{
    return str_of(o->data, o->key_n);
}

int object_by_key(const void *a, const void *b)
{
    const struct object *const *x = a;
    const struct object *const *y = b;

    return str_cmp(object_key(*x), object_key(*y));
}

struct str object_namespace(const struct object *o)
{
    return str_of(o->data, o->ns_n);
}

struct str object_name(const struct object *o)
{
    size_t at = o->ns_n > 0 ? (size_t)o->ns_n + 1 : 0;

    return str_of(o->data + at, o->key_n - at);
}

struct str object_uid(const struct object *o)
{
    return str_of(o->data + o->key_n + 1, o->uid_n);
}

/* The position behind s: each field of data begins where the one before it ends. */
static const char *behind(struct str s)
{
    return s.p + s.n;
}

struct str object_rv(const struct object *o)
{
    return str_of(behind(object_uid(o)), o->rv_n);
}

static struct str generation(const struct object *o)
{
    return str_of(behind(object_rv(o)), o->generation_n);
}

struct str object_api_version(const struct object *o)
{
    return str_of(behind(generation(o)), o->api_version_n);
}

struct str object_kind(const struct object *o)
{
    return str_of(behind(object_api_version(o)), o->kind_n);
}

struct str object_body(const struct object *o)
{
    return str_of(behind(object_kind(o)), o->body_n);
}

struct object_parts object_parts_of(const struct object *o)
{
    return (struct object_parts){
        .ns = object_namespace(o),
        .name = object_name(o),
        .uid = object_uid(o),
        .rv = object_rv(o),
        .generation = generation(o),
        .api_version = object_api_version(o),
        .kind = object_kind(o),
        .body = object_body(o),
        .rv_at = o->rv_at,
        .generation_at = o->generation_at,
    };
}

size_t object_bytes(const struct object *o)
{
    return block_of(o);
}

/* A range of the body, and the text that is written in its place. */
struct splice {
    size_t from;
    size_t to;
    struct str text;
};

/* Writes the body with both replacements, which come in either order in the body. An absent one
 * has the position SIZE_MAX and so is the last one. */
static void put_with(struct buf *out, const struct object *o, struct splice rv, struct splice gen)
{
    struct str b = object_body(o);
    bool rv_first = rv.from <= gen.from;
    struct splice in[] = {rv_first ? rv : gen, rv_first ? gen : rv};
    size_t done = 0;

    buf_make_room(out, b.n + rv.text.n + gen.text.n);
    for (size_t i = 0; i < ARRAY_LEN(in) && in[i].from != SIZE_MAX; i++) {
        buf_append(out, b.p + done, in[i].from - done);
        buf_append_str(out, in[i].text);
        done = in[i].to;
    }
    buf_append(out, b.p + done, b.n - done);
}

/* The position of the last c before at; 0 if there is none. */
static size_t back_to(struct str b, size_t at, char c)
{
    while (at > 0 && b.p[--at] != c)
        continue;
    return at;
}

/* The range of the member whose value was cut out at this position, with the comma behind it or
 * else the one before it. The key cannot hold a quote, so going back to quotes finds it. */
static struct splice member_at(struct str b, size_t at)
{
    size_t from = back_to(b, back_to(b, back_to(b, at, ':'), '"'), '"');
    size_t to = at;

    while (to < b.n && json_is_space(b.p[to]))
        to++;
    if (to < b.n && b.p[to] == ',')
        return (struct splice){.from = from, .to = to + 1};
    while (from > 0 && json_is_space(b.p[from - 1]))
        from--;
    return (struct splice){.from = from > 0 && b.p[from - 1] == ',' ? from - 1 : from, .to = to};
}

static void put_unless_empty(struct json_out *j, const char *key, struct str value)
{
    if (value.n > 0)
        json_member_str(j, key, value);
}

/* Writes a bare object. Members that are not known are left out rather than empty. */
static void put_identity(struct buf *out, const struct object *o)
{
    struct json_out j = json_out_to(out);

    json_out_open(&j, '{');
    put_unless_empty(&j, "apiVersion", object_api_version(o));
    put_unless_empty(&j, "kind", object_kind(o));
    json_out_key(&j, "metadata");
    json_out_open(&j, '{');
    put_unless_empty(&j, "name", object_name(o));
    put_unless_empty(&j, "namespace", object_namespace(o));
    put_unless_empty(&j, "uid", object_uid(o));
    json_out_close(&j, '}');
    json_out_close(&j, '}');
}

void object_put_json(struct buf *out, const struct object *o)
{
    if (object_is_bare(o))
        put_identity(out, o);
    else
        put_with(out, o, (struct splice){o->rv_at, o->rv_at, object_rv(o)},
                 (struct splice){o->generation_at, o->generation_at, generation(o)});
}

void object_put_unversioned(struct buf *out, const struct object *o)
{
    struct splice gen = {.from = SIZE_MAX};

    if (o->generation_at != SIZE_MAX)
        gen = member_at(object_body(o), o->generation_at);
    put_with(out, o, (struct splice){.from = o->rv_at, .to = o->rv_at}, gen);
}

uint64_t object_digest_of_bytes(const struct object *o)
{
    struct str b = object_body(o);

    return digest_of(b.p, b.n).hi;
}

/* json_value_digest(), computed at the first call and kept: few objects are ever asked. The object is constant for its
 * users all the same, because the result does not depend on when it is computed. */
static uint64_t digest_of_value(const struct object *o)
{
    /* NOLINTNEXTLINE(performance-no-int-to-ptr): the value of the object does not change */
    struct object *memo = (struct object *)(uintptr_t)o;

    if (o->value == 0)
        memo->value = json_value_digest(object_body(o));
    return o->value;
}

struct digest object_digest(const struct object *o)
{
    return (struct digest){.hi = object_digest_of_bytes(o), .lo = digest_of_value(o)};
}

bool object_is_bare(const struct object *o)
{
    return o->body_n == 0;
}

bool object_same_bytes(const struct object *a, const struct object *b)
{
    return str_eq(object_body(a), object_body(b));
}

bool object_same(const struct object *a, const struct object *b)
{
    /* Comparing bytes is cheap and nearly always decides. The values decide for a server that
     * writes the same object in other words, as after an upgrade. */
    return object_same_bytes(a, b) || digest_of_value(a) == digest_of_value(b);
}
