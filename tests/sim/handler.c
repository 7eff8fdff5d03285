/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/handler.h"

#include <stdlib.h>
#include <string.h>

#include "base/panic.h"
#include "hook/payload.h"

enum { TIMEOUT_MS = 30000 };

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

struct api_object handler_read(const struct object *o)
{
    struct buf json = {0};
    struct api_object out = {0};

    object_put_json(&json, o);
    const char *text = buf_cstr(&json);
    ensure(strstr(text, "managedFields") == NULL);
    ensure(strncmp(text, "{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",", 38) == 0);
    out.uid = number_in(object_uid(o), 1);
    out.rv = number_in(object_rv(o), 0);
    out.value = number_behind(text, "\"value\":\"");
    out.noise = number_behind(text, "\"noise\":\"");
    out.labelled = strstr(text, "\"app\":\"x\"") != NULL;
    out.shown = strstr(text, "\"on\":\"yes\"") != NULL;
    buf_free(&json);
    return out;
}

static bool is_end(const struct run_event *e)
{
    return e->ev.type == DELTA_DELETED || e->ev.type == DELTA_LEFT || e->ev.type == DELTA_FRESH;
}

/* The uid of what it is about. */
static uint64_t life_of(const struct run_event *e)
{
    bool outage = e->ev.type == DELTA_STALE || e->ev.type == DELTA_FRESH;

    return outage ? 1 : number_in(object_uid(e->ev.object), 1);
}

/* Was the end of the life handled? */
static bool *ended(struct handler *h, const struct run_event *e, uint64_t uid)
{
    ensure(uid < API_LIVES);
    return &h->ended[e->entry->source][uid];
}

static struct effect *effect_of(struct handler *h, const struct run_event *e)
{
    bool outage = e->ev.type == DELTA_STALE || e->ev.type == DELTA_FRESH;
    size_t key = outage ? HANDLER_OUTAGE : api_find(object_key(e->ev.object));

    return &h->effects[e->entry->source][key];
}

static void complain(const struct handler *h, const struct run_event *e, const char *what)
{
    panic("hook %s, key %s, %s: %s", h->name, e->entry->key, delta_type_name(e->ev.type), what);
}

static void take_end(struct handler *h, const struct run_event *e, struct effect *f, uint64_t uid)
{
    bool heirs = f->heir != 0 && uid == f->heir;
    bool skipped = h->skips && f->uid == 0 && e->ev.type != DELTA_FRESH;

    if (*ended(h, e, uid))
        complain(h, e, "an end that was handled already");
    if (uid != f->uid && !heirs && !skipped)
        complain(h, e, "the end of a life that was not announced");
    f->ending = true;
}

static void take_life(struct handler *h, const struct run_event *e, struct effect *f, uint64_t uid)
{
    bool skipped = h->skips && f->uid == 0;

    if (e->ev.type == DELTA_MODIFIED && (f->uid != uid || (!f->applied && !h->skips)) && !skipped)
        complain(h, e, "a change of what was never handled");
    if (f->uid == 0 || f->uid == uid) {
        f->uid = uid;
    } else if (f->ending) {
        f->heir = uid;
    } else {
        if (f->failed_deletes < 5)
            complain(h, e, "the next life before the end of the last one");
        *f = (struct effect){.uid = uid, .running = true};
    }
}

static void take_event(struct handler *h, const struct run_event *e)
{
    struct effect *f = effect_of(h, e);
    uint64_t uid = life_of(e);

    f->sure = false;
    f->running = true;
    if (is_end(e))
        take_end(h, e, f, uid);
    else
        take_life(h, e, f, uid);
    if (!is_end(e))
        *ended(h, e, uid) = false;
}

static void take_snapshot(struct handler *h, const struct run *run)
{
    memset(h->seen, 0, sizeof(h->seen));
    for (size_t s = 0; s < run->hook->source_count; s++) {
        const struct store *store = hook_source_store(&run->hook->sources[s]);
        struct object **all = store_sorted(store);

        for (size_t i = 0; i < store_count(store); i++)
            h->seen[s][api_find(object_key(all[i]))] = handler_read(all[i]);
        free(all);
    }
}

static void check_document(const struct run *run)
{
    static const struct payload_context ctx = {.node = "sim", .instance = "sim"};
    struct buf out = {0};
    struct err err;

    payload_put_json(&out, &ctx, run, 0);
    struct json_path *path = NULL;
    if (json_path_parse("run", &path, &err) != ERR_OK)
        panic("%s", err.text);
    struct buf found = {0};
    if (json_path_select((const struct json_path *const *)&path, 1, buf_str(&out), &found, &err) !=
        ERR_OK)
        panic("a document that is not JSON: %s", err.text);
    buf_free(&found);
    buf_free(&out);
    json_path_destroy(&path);
}

void handler_forget(struct handler *h)
{
    memset(h->effects, 0, sizeof(h->effects));
    memset(h->ended, 0, sizeof(h->ended));
    h->snapshot_seen = false;
}

void handler_start(struct handler *h, const struct run *run)
{
    bool object_mode = run->hook->mode == HOOK_OBJECT;

    ensure(!object_mode || run->event_count == 1);
    h->runs++;
    check_document(run);
    for (size_t i = 0; i < run->event_count; i++) {
        struct effect *f = effect_of(h, &run->events[i]);

        if (object_mode && f->running)
            complain(h, &run->events[i], "two runs for one key");
        take_event(h, &run->events[i]);
    }
    if (!object_mode)
        take_snapshot(h, run);
}

uint64_t handler_plan(struct handler *h, bool *ok, bool *effect)
{
    *ok = !clock_percent(h->clock, h->percent);
    *effect = *ok || clock_percent(h->clock, 50);
    if (*ok)
        return clock_pick(h->clock, 1, 400);
    h->failures++;
    return clock_percent(h->clock, 20) ? TIMEOUT_MS : clock_pick(h->clock, 1, 400);
}

static void apply(struct handler *h, const struct run_event *e, bool ok, bool effect)
{
    struct effect *f = effect_of(h, e);
    uint64_t uid = life_of(e);

    f->running = false;
    f->ending = false;
    if (is_end(e)) {
        if (!ok) {
            f->failed_deletes++;
            return;
        }
        *ended(h, e, uid) = true;
        if (f->uid == uid)
            *f = (struct effect){.uid = f->heir};
        else if (f->heir == uid)
            f->heir = 0;
        return;
    }
    if (!effect)
        return;
    f->applied = f->applied || ok;
    f->sure = ok;
    if (e->ev.type == DELTA_STALE)
        return;
    struct api_object o = handler_read(e->ev.object);
    f->value = o.value;
    f->noise = o.noise;
}

void handler_end(struct handler *h, const struct run *run, bool ok, bool effect)
{
    for (size_t i = 0; i < run->event_count; i++)
        apply(h, &run->events[i], ok, effect);
    if (run->hook->mode == HOOK_SNAPSHOT && ok) {
        h->snapshot_seen = true;
        memcpy(h->snapshot, h->seen, sizeof(h->snapshot));
    }
}
