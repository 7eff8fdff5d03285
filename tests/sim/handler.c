/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/handler.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
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
    size_t key = is_outage(e) ? RULES_OUTAGE : api_find(object_key(e->ev.object));

    return &h->effects[e->delivery->source][key];
}

/* The next object in a text, or NULL. */
static const char *next_object(const char *json)
{
    return strstr(json, "{\"kind\":");
}

/* The end of the array that json points into. */
static const char *end_of_array(const char *json)
{
    size_t depth = 1;

    for (; depth > 0; json++) {
        ensure(*json != '\0');
        depth += *json == '[';
        depth -= *json == ']';
    }
    return json - 1;
}

static size_t key_of(const char *object)
{
    char key[8];
    char name;
    char space[5];

    ensure(sscanf(strstr(object, "\"name\":"), "\"name\":\"%c\",\"namespace\":\"%4s", &name,
                  space) == 2);
    snprintf(key, sizeof(key), "%s/%c", space, name);
    return api_find(str_c(key));
}

/* Reads the objects that the input shows of a source; they must be sorted by their keys. */
static void take_source(struct handler *h, size_t source, const char *list)
{
    const char *last = "";
    const char *end = end_of_array(list);

    for (const char *at = next_object(list); at != NULL && at < end; at = next_object(at + 1)) {
        const char *behind = next_object(at + 1);
        size_t n = (size_t)((behind != NULL && behind < end ? behind : end) - at);
        char *object = mem_strndup(at, n);
        size_t key = key_of(object);

        ensure(strcmp(api_key(key), last) > 0);
        last = api_key(key);
        h->seen[source][key] = answer_parse(object);
        free(object);
    }
}

/* Reads the snapshot of the input. A source that is not synced must be absent. */
static void take_snapshot(struct handler *h, const struct run *run, const char *json)
{
    const char *snapshot = strstr(json, ",\"snapshot\":{");

    ensure(snapshot != NULL);
    memset(h->seen, 0, sizeof(h->seen));
    for (size_t i = 0; i < run->hook->source_count; i++) {
        const struct hook_source *s = &run->hook->sources[i];
        char member[64];

        snprintf(member, sizeof(member), "\"%s\":[", s->name);
        const char *list = strstr(snapshot, member);
        ensure((list != NULL) == source_synced(s->of));
        if (list != NULL)
            take_source(h, i, list + strlen(member));
    }
}

static size_t count_text(const char *in, const char *text)
{
    size_t n = 0;

    for (const char *at = in; (at = strstr(at, text)) != NULL; at++)
        n++;
    return n;
}

static void take_document(struct handler *h, const struct run *run)
{
    bool whole = h->rules->mode == HOOK_SNAPSHOT;
    size_t olds = h->rules->include_old && !whole ? run->event_count : 0;
    struct buf out = {0};
    struct buf found = {0};
    struct json_path *path = NULL;
    struct err err;

    payload_put_json(&out, &context, run, 0, NULL);
    if (json_path_parse("run", &path, &err) != ERR_OK ||
        json_path_select((const struct json_path *const *)&path, 1, buf_str(&out), &found, &err) !=
            ERR_OK)
        panic("a document that is not JSON: %s", err.text);
    const char *json = buf_cstr(&out);
    ensure(count_text(json, "\"old_object\":") == olds);
    ensure(count_text(json, ",\"changed\":[") == run->event_count);
    if (whole)
        take_snapshot(h, run, json);
    buf_free(&found);
    buf_free(&out);
    json_path_destroy(&path);
}

/* Can the run get its fields? */
static bool is_fit(const struct handler *h, const struct run *run)
{
    struct buf env = {0};
    struct err err;
    const struct object *o = run->event_count > 0 ? run->events[0].ev.object : NULL;
    bool odd = h->rules->fields && run->kind == RUN_COMMAND && !is_outage(&run->events[0]) &&
               !object_is_bare(o) && answer_is_unfit(o);
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
    output_files_begin_life(&h->output_files);
    h->snapshot_seen = false;
}

/* A hook that does not take ADDED is not renewed, so its effects stay. */
void handler_undo(struct handler *h)
{
    if (!rules_take(h->rules, DELTA_ADDED))
        return;
    for (size_t s = 0; s < RULES_SOURCES; s++)
        for (size_t key = 0; key < API_KEYS; key++)
            h->effects[s][key].uid = 0;
    h->snapshot_seen = false;
}

void handler_start(struct handler *h, const struct run *run)
{
    h->runs++;
    take_document(h, run);
}

void handler_tell(struct handler *h, const struct run *run)
{
    for (size_t i = 0; i < run->event_count; i++) {
        struct effect *f = effect_of(h, &run->events[i]);

        f->sure = false;
        if (rules_is_end(run->events[i].ev.type))
            f->told = 0;
        else
            f->told = is_outage(&run->events[i]) ? 1 : answer_uid(run->events[i].ev.object);
    }
}

static uint64_t draw_ms(const struct handler *h)
{
    bool slow = clock_percent(h->clock, h->rules->slow_percent);

    return slow ? clock_pick(h->clock, 400, 4000) : clock_pick(h->clock, 1, 400);
}

static const struct run_end unfit = {.kind = RUN_END_REFUSED, .stage = RUN_STAGE_FIELDS};
static const struct run_end no_process = {
    .kind = RUN_END_REFUSED, .stage = RUN_STAGE_FORK, .value = EAGAIN};

static struct handler_plan fail(struct handler *h)
{
    struct handler_plan p = {.ms = draw_ms(h), .effect = clock_percent(h->clock, 50)};

    h->failures++;
    if (clock_percent(h->clock, h->rules->hang_percent)) {
        p.ms = clock_percent(h->clock, 80) ? HANDLER_TIMEOUT_MS : HANDLER_LONG_MS;
        p.end.cut = RUN_CUT_TIMEOUT;
    } else if (clock_percent(h->clock, 20)) {
        p.end.cut = RUN_CUT_TIMEOUT;
    } else {
        p.end.value = (int)clock_pick(h->clock, 1, RULES_STATUSES);
    }
    return p;
}

/* The command succeeds, but its file is not written, or fails in the check, or is in place and the
 * run fails all the same, as the disk did not confirm the file. */
static struct handler_plan fail_file(struct handler *h, const struct run *run)
{
    bool writes = run->kind == RUN_COMMAND && clock_percent(h->clock, 30);

    h->failures++;
    return (struct handler_plan){
        .ms = draw_ms(h), .end.cut = RUN_CUT_TIMEOUT, .effect = writes, .writes = writes};
}

struct handler_plan handler_plan(struct handler *h, const struct run *run)
{
    if (!is_fit(h, run)) {
        h->failures++;
        return (struct handler_plan){.end = unfit};
    }
    if (!h->well && clock_percent(h->clock, h->rules->not_started_percent))
        return (struct handler_plan){.ms = clock_pick(h->clock, 0, 3), .end = no_process};
    if (!h->well && clock_percent(h->clock, h->rules->percent))
        return fail(h);
    if (!h->well && h->rules->output && clock_percent(h->clock, h->rules->file_percent))
        return fail_file(h, run);
    return (struct handler_plan){.ms = draw_ms(h), .effect = true, .writes = true};
}

struct handler_plan handler_plan_apply(struct handler *h)
{
    if (!h->well && clock_percent(h->clock, h->rules->not_started_percent))
        return (struct handler_plan){.ms = clock_pick(h->clock, 0, 3), .end = no_process};
    if (!h->well && clock_percent(h->clock, h->rules->apply_percent))
        return fail(h);
    return (struct handler_plan){.ms = draw_ms(h)};
}

/* The content that hooks with output make of a state: they do not look at noise. */
static uint64_t render_effect(const struct effect *f)
{
    return f->uid * 10007 + f->value * UINT64_C(101) + 1;
}

uint64_t handler_render(const struct handler *h, size_t source, size_t key)
{
    uint64_t sum = 7;

    if (h->rules->mode == HOOK_OBJECT)
        return render_effect(&h->effects[source][key]);
    for (size_t s = 0; s < RULES_SOURCES; s++)
        for (size_t k = 0; k < API_KEYS; k++)
            sum = sum * 31 + render_effect(&h->effects[s][k]);
    return sum;
}

uint64_t handler_render_run(const struct handler *h, const struct run *run)
{
    const struct run_event *e = run_keyed(run);

    if (e == NULL)
        return handler_render(h, 0, 0);
    return handler_render(h, e->delivery->source, api_find(object_key(e->ev.object)));
}

static void apply(struct handler *h, const struct run_event *e, bool ok, bool effect)
{
    struct effect *f = effect_of(h, e);

    f->sure = ok;
    if (!effect)
        return;
    if (rules_is_end(e->ev.type)) {
        f->uid = 0;
        return;
    }
    f->uid = f->told;
    if (is_outage(e))
        return;
    struct api_object o = answer_read(e->ev.object);
    f->value = o.value;
    f->noise = o.noise;
    f->uses = o.uses;
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
