/* SPDX-License-Identifier: Apache-2.0 */
#include "hook/payload.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "proto/json_out.h"

#define INPUT_VERSION 1

const char *payload_reason(enum run_reason reason)
{
    static const char *const names[] = {"existing", "change", "retry"};

    return names[reason];
}

void payload_put_run_id(struct buf *out, const struct payload_context *ctx, const struct run *run)
{
    buf_printf(out, "%s-%" PRIu64, ctx->instance, run->id);
}

static void put_var(struct buf *out, const char *name, struct str value)
{
    buf_puts(out, name);
    buf_putc(out, '=');
    buf_append_str(out, value);
    buf_putc(out, '\0');
}

static const struct hook_source *source_of(const struct run *run, size_t i)
{
    return &run->hook->sources[run->events[i].entry->source];
}

/* STALE and FRESH are of the source, of no object in it. */
static bool has_object(const struct queue_event *ev)
{
    return ev->type != DELTA_STALE && ev->type != DELTA_FRESH;
}

static void put_event_vars(struct buf *out, const struct run *run)
{
    const struct queue_event *ev = &run->events[0].ev;
    const struct hook_source *source = source_of(run, 0);

    put_var(out, "INFORMERD_EVENT", str_c(delta_type_name(ev->type)));
    put_var(out, "INFORMERD_CLUSTER", str_c(hook_source_cluster(source)));
    put_var(out, "INFORMERD_SOURCE", str_c(source->name));
    put_var(out, "INFORMERD_NAMESPACE", object_namespace(ev->object));
    put_var(out, "INFORMERD_NAME", object_name(ev->object));
    put_var(out, "INFORMERD_UID", object_uid(ev->object));
    put_var(out, "INFORMERD_RESOURCE_VERSION", object_rv(ev->object));
}

void payload_put_env(struct buf *out, const struct payload_context *ctx, const struct run *run)
{
    struct buf id = {0};
    char attempt[16];

    payload_put_run_id(&id, ctx, run);
    snprintf(attempt, sizeof(attempt), "%u", run->attempt);
    put_var(out, "INFORMERD_HOOK", str_c(run->hook->name));
    put_var(out, "INFORMERD_RUN", buf_str(&id));
    put_var(out, "INFORMERD_ATTEMPT", str_c(attempt));
    put_var(out, "INFORMERD_REASON", str_c(payload_reason(run->reason)));
    put_var(out, "INFORMERD_NODE", str_c(ctx->node));
    buf_free(&id);
    if (run->hook->mode == HOOK_OBJECT)
        put_event_vars(out, run);
}

static void put_time(struct json_out *j, uint64_t wall_ns)
{
    time_t s = (time_t)(wall_ns / 1000000000U);
    struct tm tm;
    char day[32];
    char text[48];

    gmtime_r(&s, &tm);
    strftime(day, sizeof(day), "%Y-%m-%dT%H:%M:%S", &tm);
    snprintf(text, sizeof(text), "%s.%09uZ", day, (unsigned)(wall_ns % 1000000000U));
    json_out_cstr(j, text);
}

static void put_member(struct json_out *j, const char *key, struct str value)
{
    json_out_key(j, key);
    json_out_str(j, value);
}

static void put_flag(struct json_out *j, const char *key, bool value)
{
    json_out_key(j, key);
    json_out_bool(j, value);
}

enum with_object { WITHOUT_OBJECT, WITH_OBJECT };

/* What an event says about its object: NULL = it has none, all of it is null. */
static void put_identity(struct json_out *j, const struct object *o)
{
    static const struct {
        const char *key;
        struct str (*value)(const struct object *o);
    } rows[] = {
        {"api_version",      object_api_version},
        {"kind",             object_kind       },
        {"namespace",        object_namespace  },
        {"name",             object_name       },
        {"uid",              object_uid        },
        {"resource_version", object_rv         },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        json_out_key(j, rows[i].key);
        if (o != NULL)
            json_out_str(j, rows[i].value(o));
        else
            json_out_null(j);
    }
}

static void put_object(struct json_out *j, const struct object *o)
{
    json_out_key(j, "object");
    if (o != NULL)
        object_put_json(json_out_raw(j), o);
    else
        json_out_null(j);
}

static void put_event(struct json_out *j, const struct hook_source *source,
                      const struct queue_event *ev, enum with_object with)
{
    const struct object *o = has_object(ev) ? ev->object : NULL;

    json_out_open(j, '{');
    put_member(j, "type", str_c(delta_type_name(ev->type)));
    put_member(j, "cause", str_c(delta_cause_name(ev->cause)));
    put_member(j, "cluster", str_c(hook_source_cluster(source)));
    put_member(j, "source", str_c(source->name));
    put_identity(j, o);
    put_flag(j, "final_state_unknown", ev->final_state_unknown);
    json_out_key(j, "received");
    put_time(j, ev->received_ns);
    if (with == WITH_OBJECT)
        put_object(j, o);
    json_out_close(j, '}');
}

static void put_source(struct json_out *j, const struct hook_source *source, uint64_t now_ms)
{
    struct watch_status s = hook_source_status(source, now_ms);

    json_out_key(j, source->name);
    json_out_open(j, '{');
    put_member(j, "cluster", str_c(hook_source_cluster(source)));
    put_flag(j, "synced", s.synced);
    put_flag(j, "stale", s.stale);
    json_out_key(j, "age_s");
    if (s.contact)
        json_out_ms_as_s(j, s.contact_age_ms);
    else
        json_out_null(j);
    put_flag(j, "held", s.held != NULL);
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

static void put_changes(struct json_out *j, const struct run *run)
{
    json_out_key(j, "changes");
    json_out_open(j, '[');
    for (size_t i = 0; i < run->event_count; i++)
        put_event(j, source_of(run, i), &run->events[i].ev, WITHOUT_OBJECT);
    json_out_close(j, ']');
}

/* A source that is not synced is absent, never [] (DESIGN 1.3). */
static void put_snapshot(struct json_out *j, const struct hook *h)
{
    json_out_key(j, "snapshot");
    json_out_open(j, '{');
    for (size_t i = 0; i < h->source_count; i++) {
        if (!hook_source_synced(&h->sources[i]))
            continue;
        const struct store *store = hook_source_store(&h->sources[i]);
        struct object **all = store_sorted(store);

        json_out_key(j, h->sources[i].name);
        json_out_open(j, '[');
        for (size_t k = 0; k < store_count(store); k++)
            object_put_json(json_out_raw(j), all[k]);
        json_out_close(j, ']');
        free(all);
    }
    json_out_close(j, '}');
}

void payload_put_json(struct buf *out, const struct payload_context *ctx, const struct run *run,
                      uint64_t now_ms)
{
    struct json_out j = json_out_to(out);
    struct buf id = {0};

    payload_put_run_id(&id, ctx, run);
    json_out_open(&j, '{');
    json_out_key(&j, "version");
    json_out_u64(&j, INPUT_VERSION);
    put_member(&j, "hook", str_c(run->hook->name));
    put_member(&j, "run", buf_str(&id));
    buf_free(&id);
    json_out_key(&j, "attempt");
    json_out_u64(&j, run->attempt);
    put_member(&j, "reason", str_c(payload_reason(run->reason)));
    put_sources(&j, run->hook, now_ms);
    if (run->hook->mode == HOOK_OBJECT) {
        json_out_key(&j, "event");
        put_event(&j, source_of(run, 0), &run->events[0].ev, WITH_OBJECT);
    } else {
        put_changes(&j, run);
        put_snapshot(&j, run->hook);
    }
    json_out_close(&j, '}');
    buf_putc(out, '\n');
}
