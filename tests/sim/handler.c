/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/handler.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/panic.h"
#include "hook/payload.h"
#include "sim/answer.h"

static const struct payload_context context = {.node = "sim", .instance = "sim"};

static bool is_outage(const struct run_event *e)
{
    return e->ev.type == DELTA_STALE || e->ev.type == DELTA_FRESH;
}

static struct effect *effect_of(struct handler *h, const struct run_event *e)
{
    size_t key = is_outage(e) ? ACCOUNT_OUTAGE : api_find(object_key(e->ev.object));

    return &h->effects[e->entry->source][key];
}

static void take_snapshot(struct handler *h, const struct run *run)
{
    memset(h->seen, 0, sizeof(h->seen));
    for (size_t s = 0; s < run->hook->source_count; s++) {
        const struct store *store = hook_source_store(&run->hook->sources[s]);
        struct object **all = store_sorted(store);

        for (size_t i = 0; i < store_count(store); i++)
            h->seen[s][api_find(object_key(all[i]))] = answer_read(all[i]);
        free(all);
    }
}

static size_t count_text(const char *in, const char *text)
{
    size_t n = 0;

    for (const char *at = in; (at = strstr(at, text)) != NULL; at++)
        n++;
    return n;
}

/* A source that is not synced is absent in a snapshot. */
static void check_snapshot(const struct run *run, const char *json)
{
    const char *snapshot = strstr(json, ",\"snapshot\":{");

    ensure(snapshot != NULL);
    for (size_t i = 0; i < run->hook->source_count; i++) {
        const struct hook_source *s = &run->hook->sources[i];
        char member[64];

        snprintf(member, sizeof(member), "\"%s\":[", s->name);
        ensure((strstr(snapshot, member) != NULL) == hook_source_synced(s));
    }
}

static void check_document(const struct handler *h, const struct run *run)
{
    bool whole = h->rules->mode == HOOK_SNAPSHOT;
    size_t olds = h->rules->include_old && !whole ? run->event_count : 0;
    struct buf out = {0};
    struct buf found = {0};
    struct json_path *path = NULL;
    struct err err;

    payload_put_json(&out, &context, run, 0);
    if (json_path_parse("run", &path, &err) != ERR_OK ||
        json_path_select((const struct json_path *const *)&path, 1, buf_str(&out), &found, &err) !=
            ERR_OK)
        panic("a document that is not JSON: %s", err.text);
    const char *json = buf_cstr(&out);
    ensure(count_text(json, "\"old_object\":") == olds);
    ensure(count_text(json, ",\"changed\":[") == run->event_count);
    if (whole)
        check_snapshot(run, json);
    buf_free(&found);
    buf_free(&out);
    json_path_destroy(&path);
}

/* Can it be told its fields? */
static bool is_fit(const struct handler *h, const struct run *run)
{
    struct buf env = {0};
    struct err err;
    bool odd = h->rules->fields && !is_outage(&run->events[0]) &&
               answer_is_unfit(run->events[0].ev.object);
    bool fit = payload_put_env(&env, &context, run, &err) == ERR_OK;

    buf_free(&env);
    if (fit == odd)
        panic("%s: key %s %s", h->rules->name, run_key(run),
              fit ? "got what is no variable" : err.text);
    return fit;
}

void handler_forget(struct handler *h)
{
    memset(h->effects, 0, sizeof(h->effects));
    h->snapshot_seen = false;
}

void handler_start(struct handler *h, const struct run *run)
{
    h->runs++;
    check_document(h, run);
    for (size_t i = 0; i < run->event_count; i++) {
        struct effect *f = effect_of(h, &run->events[i]);

        f->sure = false;
        if (account_is_end(run->events[i].ev.type))
            f->told = 0;
        else
            f->told = is_outage(&run->events[i]) ? 1 : answer_uid(run->events[i].ev.object);
    }
    if (h->rules->mode == HOOK_SNAPSHOT)
        take_snapshot(h, run);
}

static uint64_t draw_ms(const struct handler *h)
{
    bool slow = clock_percent(h->clock, h->rules->slow_percent);

    return slow ? clock_pick(h->clock, 400, 4000) : clock_pick(h->clock, 1, 400);
}

static struct handler_plan fail(struct handler *h)
{
    struct handler_plan p = {
        .ms = draw_ms(h), .end = RUN_EXITED, .effect = clock_percent(h->clock, 50)};

    h->failures++;
    if (clock_percent(h->clock, h->rules->hang_percent)) {
        p.ms = clock_percent(h->clock, 80) ? HANDLER_TIMEOUT_MS : HANDLER_LONG_MS;
        p.end = RUN_FAILED;
    } else if (clock_percent(h->clock, 20)) {
        p.end = RUN_FAILED;
    } else {
        p.status = (int)clock_pick(h->clock, 1, RULES_STATUSES);
    }
    return p;
}

struct handler_plan handler_plan(struct handler *h, const struct run *run)
{
    if (!is_fit(h, run)) {
        h->failures++;
        return (struct handler_plan){.end = RUN_UNFIT};
    }
    if (!h->well && clock_percent(h->clock, h->rules->percent))
        return fail(h);
    return (struct handler_plan){.ms = draw_ms(h), .end = RUN_EXITED, .effect = true};
}

static void apply(struct handler *h, const struct run_event *e, bool ok, bool effect)
{
    struct effect *f = effect_of(h, e);

    f->sure = ok;
    if (!effect)
        return;
    if (account_is_end(e->ev.type)) {
        f->uid = 0;
        return;
    }
    f->uid = f->told;
    if (is_outage(e))
        return;
    struct api_object o = answer_read(e->ev.object);
    f->value = o.value;
    f->noise = o.noise;
}

void handler_end(struct handler *h, const struct run *run, bool ok, bool effect)
{
    for (size_t i = 0; i < run->event_count; i++)
        apply(h, &run->events[i], ok, effect);
    if (h->rules->mode == HOOK_SNAPSHOT && ok) {
        h->snapshot_seen = true;
        memcpy(h->snapshot, h->seen, sizeof(h->snapshot));
    }
}
