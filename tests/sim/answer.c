/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/answer.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/panic.h"
#include "sim/view_oracle.h"

/* One of so many values of data.noise has a NUL, so that hooks with `fields` cannot get it. */
enum { UNFIT_EVERY = 5 };

static bool is_unfit(const struct api_object *o)
{
    return o->noise % UNFIT_EVERY == UNFIT_EVERY - 1;
}

/* Appends kind and apiVersion; suffix stands behind the name of the kind ("List", or ""). */
static void put_kind(struct buf *out, const struct lens *v, const char *suffix)
{
    static const char *const kinds[] = {"ConfigMap", "Service", "EndpointSlice"};

    buf_printf(out, "\"kind\":\"%s%s\",\"apiVersion\":\"%s\",", kinds[v->kind], suffix,
               v->kind == LENS_SLICE ? "discovery.k8s.io/v1" : "v1");
}

/* Appends the member that makes an object unusable (docs/design.md "Skipped objects"). */
static void put_odd(struct buf *out, enum api_odd odd)
{
    enum { DEEP = 600, DIGITS = 1100, LARGE = 9000 };

    switch (odd) {
    case API_DEEP:
        buf_puts(out, ",\"deep\":");
        for (int i = 0; i < DEEP; i++)
            buf_putc(out, '[');
        for (int i = 0; i < DEEP; i++)
            buf_putc(out, ']');
        break;
    case API_NUMBER:
        buf_printf(out, ",\"number\":1%0*d", DIGITS, 0);
        break;
    case API_LARGE:
        buf_printf(out, ",\"large\":\"%0*d\"", LARGE, 0);
        break;
    case API_USABLE:
    case API_ODDS:
        break;
    }
}

static void put_object(struct buf *out, const struct lens *v, size_t key,
                       const struct api_object *o, bool unnamed)
{
    const char *slash = strchr(api_key(key), '/');

    buf_puts(out, "\"metadata\":{");
    if (!unnamed)
        buf_printf(out, "\"name\":\"%s\",", slash + 1);
    buf_printf(out,
               "\"namespace\":\"%s\",\"uid\":\"u%" PRIu64 "\","
               "\"resourceVersion\":\"%" PRIu64 "\",\"labels\":{\"app\":\"%s\"",
               api_space_name(api_space(key)), o->uid, o->rv, o->labelled ? "x" : "y");
    if (v->kind == LENS_SLICE)
        view_oracle_put_owner(out, key, o);
    buf_printf(out,
               "},\"managedFields\":[{\"time\":\"%" PRIu64 "\"}]},"
               "\"data\":{\"value\":\"%u\",\"noise\":\"%u%s\",\"on\":\"%s\"}",
               o->rv, o->value, o->noise, is_unfit(o) ? "\\u0000" : "", o->shown ? "yes" : "no");
    if (v->kind == LENS_SERVICE)
        view_oracle_put_spec(out, o);
    else if (v->kind == LENS_SLICE)
        view_oracle_put_endpoints(out, key, o);
    put_odd(out, o->odd);
    buf_puts(out, "}");
}

static void put_page_version(struct buf *out, const struct answer_page *p)
{
    static const char *const none[] = {"\"selfLink\":\"\"", "\"resourceVersion\":\"\"",
                                       "\"resourceVersion\":\"0\""};

    if (p->unversioned)
        buf_puts(out, none[p->spelling % 3]);
    else
        buf_printf(out, "\"resourceVersion\":\"%" PRIu64 "\"", p->told_rv);
}

void answer_put_page(struct buf *out, const struct answer_page *p)
{
    struct buf items = {0};
    uint64_t count = 0;
    size_t key = p->from;

    for (; key < API_KEYS && (p->limit == 0 || count < p->limit); key++) {
        if (!lens_selects(p->lens, key, &p->state[key]))
            continue;
        buf_puts(&items, count > 0 ? ",{" : "{");
        put_object(&items, p->lens, key, &p->state[key], p->unnamed && count == 0);
        count++;
    }
    buf_puts(out, "{");
    put_kind(out, p->lens, "List");
    if (p->items_first)
        buf_printf(out, "\"items\":[%.*s],", STR_ARG(buf_str(&items)));
    buf_puts(out, "\"metadata\":{");
    put_page_version(out, p);
    if (key < API_KEYS)
        buf_printf(out, ",\"continue\":\"%" PRIu64 "\"", p->rv * 100 + key);
    buf_puts(out, "}");
    if (!p->items_first)
        buf_printf(out, ",\"items\":[%.*s]", STR_ARG(buf_str(&items)));
    buf_puts(out, "}\n");
    buf_free(&items);
}

static void put_frame(struct buf *out, const struct lens *v, const char *type, size_t key,
                      const struct api_object *o, bool unnamed)
{
    buf_printf(out, "{\"type\":\"%s\",\"object\":{", type);
    put_kind(out, v, "");
    put_object(out, v, key, o, unnamed);
    buf_puts(out, "}\n");
}

bool answer_put_event(struct buf *out, const struct lens *v, const struct api_event *e,
                      bool unnamed)
{
    if (e->change == API_ELSEWHERE)
        return false;
    bool was = lens_selects(v, e->key, &e->before);
    bool is = e->change != API_DELETED && lens_selects(v, e->key, &e->object);
    /* An object that leaves comes with its old state and the new version. */
    struct api_object last = e->before;

    last.rv = e->rv;
    if (is)
        put_frame(out, v, was ? "MODIFIED" : "ADDED", e->key, &e->object, unnamed);
    else if (was)
        put_frame(out, v, "DELETED", e->key, &last, unnamed);
    return is || was;
}

void answer_put_added(struct buf *out, const struct lens *v, size_t key, const struct api_object *o)
{
    put_frame(out, v, "ADDED", key, o, false);
}

void answer_put_bookmark(struct buf *out, const struct lens *v, uint64_t rv, bool end)
{
    buf_puts(out, "{\"type\":\"BOOKMARK\",\"object\":{");
    put_kind(out, v, "");
    buf_printf(
        out, "\"metadata\":{\"resourceVersion\":\"%" PRIu64 "\",\"creationTimestamp\":null%s}}}\n",
        rv, end ? ",\"annotations\":{\"k8s.io/initial-events-end\":\"true\"}" : "");
}

void answer_put_status(struct buf *out, int code, const char *reason, const char *message)
{
    buf_printf(out,
               "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Failure\","
               "\"message\":\"%s\",\"reason\":\"%s\",\"code\":%d}",
               message, reason, code);
}

void answer_put_too_large(struct buf *out, size_t spelling)
{
    static const char *const details[] = {
        ("{\"causes\":[{\"reason\":\"ResourceVersionTooLarge\",\"message\":\"Too large resource "
         "version\"}],\"retryAfterSeconds\":1}"),
        "{\"causes\":[{\"message\":\"Too large resource version\"}]}",
        "{\"retryAfterSeconds\":1}",
    };

    buf_printf(out,
               "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Failure\","
               "\"message\":\"Timeout: Too large resource version: 9, current: 1\","
               "\"reason\":\"Timeout\",\"details\":%s,\"code\":504}",
               details[spelling % 3]);
}

void answer_put_error(struct buf *out, int code, const char *reason, const char *message)
{
    buf_puts(out, "{\"type\":\"ERROR\",\"object\":");
    answer_put_status(out, code, reason, message);
    buf_puts(out, "}\n");
}

void answer_put_error_too_large(struct buf *out, size_t spelling)
{
    buf_puts(out, "{\"type\":\"ERROR\",\"object\":");
    answer_put_too_large(out, spelling);
    buf_puts(out, "}\n");
}

static unsigned number_behind(const char *json, const char *key)
{
    const char *at = strstr(json, key);

    ensure(at != NULL);
    return (unsigned)strtoul(at + strlen(key), NULL, 10);
}

static uint64_t number_in(struct str text, size_t from)
{
    uint64_t n = 0;

    for (size_t i = from; i < text.n; i++)
        n = n * 10 + (uint64_t)(text.p[i] - '0');
    return n;
}

uint64_t answer_uid(const struct object *o)
{
    return number_in(object_uid(o), 1);
}

struct api_object answer_parse(const char *json)
{
    struct api_object out = {0};

    ensure(strstr(json, "managedFields") == NULL);
    json = strstr(json, "{\"kind\":\"");
    ensure(json != NULL && strstr(json, "\",\"apiVersion\":\"") != NULL);
    out.uid = number_behind(json, "\"uid\":\"u");
    out.rv = number_behind(json, "\"resourceVersion\":\"");
    out.value = number_behind(json, "\"value\":\"");
    out.noise = number_behind(json, "\"noise\":\"");
    out.labelled = strstr(json, "\"app\":\"x\"") != NULL;
    out.shown = strstr(json, "\"on\":\"yes\"") != NULL;
    out.uses = view_oracle_uses(json);
    return out;
}

struct api_object answer_read(const struct object *o)
{
    struct buf json = {0};

    object_put_json(&json, o);
    struct api_object out = answer_parse(buf_cstr(&json));
    ensure(out.uid == answer_uid(o));
    buf_free(&json);
    return out;
}

bool answer_is_unfit(const struct object *o)
{
    const struct api_object is = answer_read(o);

    return !view_oracle_is(o) && is_unfit(&is);
}
