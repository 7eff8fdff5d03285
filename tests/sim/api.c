/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/api.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/panic.h"

void api_init(struct api *a, struct clock *clock)
{
    *a = (struct api){.clock = clock, .rv = 10, .compacted = 1, .next_uid = 1};
}

void api_fini(struct api *a)
{
    free(a->history);
}

const char *api_space_name(size_t space)
{
    static const char *const names[API_SPACES] = {"east", "west"};

    return names[space];
}

size_t api_space(size_t key)
{
    return key % API_SPACES;
}

const char *api_key(size_t key)
{
    static const char *const keys[API_KEYS] = {"east/a", "west/b", "east/c", "west/d",
                                               "east/e", "west/f", "east/g", "west/h",
                                               "east/i", "west/j", "east/k", "west/l"};

    return keys[key];
}

size_t api_find(struct str text)
{
    for (size_t i = 0; i < API_KEYS; i++)
        if (str_is(text, api_key(i)))
            return i;
    panic("an unknown key: %.*s", STR_ARG(text));
}

static void record(struct api *a, size_t key, const char *type, const struct api_object *o)
{
    a->history = mem_realloc(a->history, (a->events + 1) * sizeof(*a->history));
    a->history[a->events++] =
        (struct api_event){.rv = a->rv, .key = key, .type = type, .object = *o};
}

static void set(struct api *a, size_t key, const char *type, struct api_object o)
{
    a->rv += clock_pick(a->clock, 1, 3); /* versions are sparse */
    o.rv = a->rv;
    record(a, key, type, &o);
    a->now[key] = o;
    if (strcmp(type, "DELETED") == 0)
        a->now[key] = (struct api_object){0};
}

static void change(struct api *a, size_t key)
{
    struct api_object o = a->now[key];

    if (clock_percent(a->clock, 30))
        o.noise++;
    else
        o.value =
            (unsigned)clock_pick(a->clock, 0, 3); /* few values, so that it often changes back */
    set(a, key, "MODIFIED", o);
}

void api_mutate(struct api *a)
{
    size_t key = clock_pick(a->clock, 0, API_KEYS - 1);

    if (a->now[key].uid == 0)
        set(a, key, "ADDED",
            (struct api_object){.uid = a->next_uid++,
                                .value = (unsigned)clock_pick(a->clock, 0, 3)});
    else if (clock_percent(a->clock, 35))
        set(a, key, "DELETED", a->now[key]);
    else
        change(a, key);
}

void api_compact(struct api *a)
{
    a->compacted = clock_pick(a->clock, a->compacted, a->rv);
}

void api_state_at(const struct api *a, uint64_t rv, struct api_object out[API_KEYS])
{
    memset(out, 0, API_KEYS * sizeof(*out));
    for (size_t i = 0; i < a->events && a->history[i].rv <= rv; i++) {
        const struct api_event *e = &a->history[i];

        out[e->key] = e->object;
        if (strcmp(e->type, "DELETED") == 0)
            out[e->key] = (struct api_object){0};
    }
}

void api_put_object(struct buf *out, size_t key, const struct api_object *o, bool in_list)
{
    const char *slash = strchr(api_key(key), '/');

    buf_puts(out, in_list ? "{" : "{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",");
    buf_printf(out,
               "\"metadata\":{\"name\":\"%s\",\"namespace\":\"%s\",\"uid\":\"u%" PRIu64 "\","
               "\"resourceVersion\":\"%" PRIu64 "\",\"managedFields\":[{\"time\":\"%" PRIu64
               "\"}]},\"data\":{\"value\":\"%u\",\"noise\":\"%u\"}}",
               slash + 1, api_space_name(api_space(key)), o->uid, o->rv, o->rv, o->value, o->noise);
}

void api_put_event(struct buf *out, const struct api_event *e)
{
    buf_printf(out, "{\"type\":\"%s\",\"object\":", e->type);
    api_put_object(out, e->key, &e->object, false);
    buf_puts(out, "}\n");
}

void api_put_status(struct buf *out, int code, const char *reason, const char *message)
{
    buf_printf(
        out,
        "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":\"Failure\",\"message\":\"%s\","
        "\"reason\":\"%s\",\"details\":{\"causes\":[{\"message\":\"%s\"}]},\"code\":%d}",
        message, reason, message, code);
}
