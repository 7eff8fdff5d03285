/* SPDX-License-Identifier: Apache-2.0 */
#include "hook/payload.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/wire.h"
#include "hook/event_json.h"
#include "proto/json_member.h"

/* The member `version` of the document, which input_version pins (docs/design.md "Hook input"). */
#define INPUT_VERSION 1

/* The variables, and the document without its objects, seldom need more: so each takes one
 * allocation. */
#define USUAL_BYTES 1024

/* So much of the document is in memory before it is drained. Memory that was just used is still in the
 * processor's cache then, and none of it is fresh, which costs the kernel a page fault for each page. */
#define PIECE_BYTES ((size_t)64 * 1024)

void payload_put_run_id(struct buf *out, const struct payload_context *ctx, uint64_t id)
{
    buf_puts(out, ctx->instance);
    buf_putc(out, '-');
    buf_put_u64(out, id);
}

static void begin_var(struct buf *out, const char *name)
{
    buf_puts(out, name);
    buf_putc(out, '=');
}

static void put_var(struct buf *out, const char *name, struct str value)
{
    begin_var(out, name);
    buf_append_str(out, value);
    buf_putc(out, '\0');
}

static const struct hook_source *source_of(const struct run *run, size_t i)
{
    return &run->hook->sources[run->events[i].delivery->source];
}

static void put_event_vars(struct buf *out, const struct run *run)
{
    const struct delivery_event *ev = &run->events[0].ev;
    const struct hook_source *source = source_of(run, 0);

    put_var(out, "INFORMERD_EVENT", str_c(delta_type_name(ev->type)));
    put_var(out, "INFORMERD_CLUSTER", str_c(source_cluster(source->of)));
    put_var(out, "INFORMERD_SOURCE", str_c(source->name));
    put_var(out, "INFORMERD_NAMESPACE", object_namespace(ev->object));
    put_var(out, "INFORMERD_NAME", object_name(ev->object));
    put_var(out, "INFORMERD_UID", object_uid(ev->object));
    put_var(out, "INFORMERD_RESOURCE_VERSION", object_rv(ev->object));
}

static void put_field(struct buf *out, const struct hook_field *f, const struct buf *value)
{
    buf_printf(out, "INFORMERD_FIELD_%s=", f->name);
    buf_append(out, value->data, value->len);
    buf_putc(out, '\0');
}

/* The values of all fields, found in one pass over the object. They stay empty for STALE and FRESH,
 * and for an object that ended while informerd did not run and whose bytes were not kept. */
static enum err_kind read_fields(const struct run *run, struct buf *values, struct err *err)
{
    const struct hook_rules *r = &run->hook->rules;
    const struct delivery_event *ev = &run->events[0].ev;
    struct buf json = {0};
    enum err_kind kind = ERR_OK;

    if (object_is_bare(ev->object))
        return ERR_OK;
    const struct json_path **paths = mem_array(r->field_count, sizeof(struct json_path *));
    for (size_t i = 0; i < r->field_count; i++)
        paths[i] = r->fields[i].path;
    object_put_json(&json, ev->object);
    kind = json_path_values(paths, r->field_count, buf_str(&json), values, err);
    buf_free(&json);
    free(paths);
    return kind;
}

static enum err_kind put_fields(struct buf *out, const struct run *run, struct err *err)
{
    const struct hook_rules *r = &run->hook->rules;
    struct buf *values = mem_array(r->field_count, sizeof(*values));
    enum err_kind kind = read_fields(run, values, err);

    for (size_t i = 0; i < r->field_count; i++) {
        if (kind == ERR_OK)
            put_field(out, &r->fields[i], &values[i]);
        buf_free(&values[i]);
    }
    free(values);
    if (kind != ERR_OK)
        return err_wrap(err, "fields");
    /* All variables count, as they are sent to the helper in one request. */
    if (out->len <= WIRE_ENV_MAX)
        return ERR_OK;
    return err_set(err, ERR_TOO_BIG, 0,
                   "fields: an environment of %zu bytes, and %d is all that a program can get: "
                   "read the object from stdin instead",
                   out->len, WIRE_ENV_MAX);
}

enum err_kind payload_put_env(struct buf *out, const struct payload_context *ctx,
                              const struct run *run, struct err *err)
{
    buf_make_room(out, USUAL_BYTES);
    put_var(out, "INFORMERD_HOOK", str_c(run->hook->name));
    begin_var(out, "INFORMERD_RUN");
    payload_put_run_id(out, ctx, run->id);
    buf_putc(out, '\0');
    begin_var(out, "INFORMERD_ATTEMPT");
    buf_put_u64(out, run->attempt);
    buf_putc(out, '\0');
    put_var(out, "INFORMERD_REASON", str_c(run_reason_name(run->reason)));
    put_var(out, "INFORMERD_NODE", str_c(ctx->node));
    if (run_keyed(run) == NULL)
        return ERR_OK;
    put_event_vars(out, run);
    /* No program runs when a file is removed, so a bad field must not park the removal. */
    if (run->kind == RUN_REMOVE || run->hook->rules.field_count == 0)
        return ERR_OK;
    return put_fields(out, run, err);
}

/* `changes` of mode snapshot are events without objects, which are in `snapshot`. */
enum with_object { WITHOUT_OBJECT, WITH_OBJECT };

/* Each line ends in a newline (hook/changes), so memchr() always finds one. */
static void put_changed(struct json_out *j, const struct buf *lines)
{
    const char *end = lines->data + lines->len;

    json_out_key(j, "changed");
    json_out_open(j, '[');
    for (const char *at = lines->data; at < end;) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));

        json_out_str(j, str_of(at, (size_t)(newline - at)));
        at = newline + 1;
    }
    json_out_close(j, ']');
}

static void put_event(struct json_out *j, const struct run *run, size_t i, enum with_object with)
{
    const struct run_event *re = &run->events[i];
    const struct hook_source *source = source_of(run, i);
    const struct event_json event = {
        .type = re->ev.type,
        .cause = re->ev.cause,
        .cluster = source_cluster(source->of),
        .source = source->name,
        .object = re->ev.object,
        .final_state_unknown = re->ev.final_state_unknown,
        .received_ns = re->ev.received_ns,
    };

    event_json_open(j, &event);
    put_changed(j, &re->changed);
    if (with == WITH_OBJECT) {
        event_json_object(j, "object", event_json_about(&event));
        if (run->hook->rules.include_old)
            event_json_object(j, "old_object", re->old);
    }
    json_out_close(j, '}');
}

static void look_full(struct buf *out, const struct payload_drain *drain)
{
    if (drain != NULL && out->len >= PIECE_BYTES)
        drain->fn(drain->arg, out);
}

static void put_events(struct json_out *j, const char *key, const struct run *run,
                       enum with_object with, const struct payload_drain *drain)
{
    json_out_key(j, key);
    json_out_open(j, '[');
    for (size_t i = 0; i < run->event_count; i++) {
        put_event(j, run, i, with);
        look_full(j->buf, drain);
    }
    json_out_close(j, ']');
}

static void put_source(struct json_out *j, const struct hook_source *source, uint64_t now_ms)
{
    struct source_status s = source_status(source->of, now_ms);

    json_out_key(j, source->name);
    json_out_open(j, '{');
    json_member_text(j, "cluster", source_cluster(source->of));
    json_member_flag(j, "synced", s.synced);
    json_member_flag(j, "stale", s.stale);
    json_out_key(j, "age_s");
    if (s.contact)
        json_out_ms_as_s(j, s.contact_age_ms);
    else
        json_out_null(j);
    json_member_flag(j, "held", s.held);
    json_out_close(j, '}');
}

static void put_sources(struct json_out *j, const struct hook *h, uint64_t now_ms)
{
    json_out_key(j, "sources");
    json_out_open(j, '{');
    for (size_t i = 0; i < h->source_count; i++)
        put_source(j, &h->sources[i], now_ms);
    json_out_close(j, '}');
}

/* A source that is not synced is absent, never []: a hook must not take "not known yet" for "there
 * are no objects" (docs/design.md "Hook input"). */
static void put_snapshot(struct json_out *j, const struct hook *h,
                         const struct payload_drain *drain)
{
    json_out_key(j, "snapshot");
    json_out_open(j, '{');
    for (size_t i = 0; i < h->source_count; i++) {
        if (!source_synced(h->sources[i].of))
            continue;
        size_t n;
        /* Made of deliveries: the cache may be ahead
         * (docs/decisions.md "A snapshot is made of deliveries, not of the cache"). */
        struct object **all = delivery_queue_sorted(&h->queue, i, &n);

        json_out_key(j, h->sources[i].name);
        json_out_open(j, '[');
        for (size_t k = 0; k < n; k++) {
            object_put_json(json_out_raw(j), all[k]);
            look_full(j->buf, drain);
        }
        json_out_close(j, ']');
        free(all);
    }
    json_out_close(j, '}');
}

static void put_what_happened(struct json_out *j, const struct run *run,
                              const struct payload_drain *drain)
{
    switch (run->hook->rules.mode) {
    case HOOK_OBJECT:
        json_out_key(j, "event");
        put_event(j, run, 0, WITH_OBJECT);
        break;
    case HOOK_BATCH:
        put_events(j, "events", run, WITH_OBJECT, drain);
        break;
    case HOOK_SNAPSHOT:
        put_events(j, "changes", run, WITHOUT_OBJECT, drain);
        put_snapshot(j, run->hook, drain);
        break;
    }
}

void payload_put_json(struct buf *out, const struct payload_context *ctx, const struct run *run,
                      uint64_t now_ms, const struct payload_drain *drain)
{
    struct json_out j = json_out_to(out);
    struct buf id = {0};

    buf_make_room(out, USUAL_BYTES);
    payload_put_run_id(&id, ctx, run->id);
    json_out_open(&j, '{');
    json_out_key(&j, "version");
    json_out_u64(&j, INPUT_VERSION);
    json_member_text(&j, "hook", run->hook->name);
    json_member_str(&j, "run", buf_str(&id));
    buf_free(&id);
    json_out_key(&j, "attempt");
    json_out_u64(&j, run->attempt);
    json_member_text(&j, "reason", run_reason_name(run->reason));
    put_sources(&j, run->hook, now_ms);
    if (run->kind != RUN_APPLY)
        put_what_happened(&j, run, drain);
    json_out_close(&j, '}');
    buf_putc(out, '\n');
}
