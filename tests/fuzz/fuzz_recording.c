/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of a recording, and the same bytes as objects of a folder: each is refused with a text, or played to a
 * watch that selects and cuts objects. Each object of the watch reads as the same object again. */
#include "base/log.h"
#include "cache/recording.h"
#include "cache/replay.h"
#include "cache/watch.h"
#include "fuzz_input.h"
#include "fuzz_shape.h"
#include "objects.h"

static const struct now now = {.ms = 1000, .wall_ns = 1000};

/* A watch that gets the list and then the changes. */
struct playing {
    const struct resource *resource;
    struct replay *replay;
    bool listed;
};

static void play(struct playing *p, const struct recording_line *l)
{
    const struct delta as = {
        .type = l->type, .cause = l->cause, .final_state_unknown = l->final_state_unknown};

    switch (l->what) {
    case RECORDING_SYNCED:
        if (!p->listed)
            replay_listed(p->replay, now);
        p->listed = true;
        break;
    case RECORDING_CHANGE:
        if (!p->listed && l->object != NULL)
            replay_item(p->replay, l->object);
        else if (p->listed && l->object != NULL)
            (void)!replay_change(p->replay, l->object, as, now, NULL);
        else if (p->listed)
            replay_stale(p->replay, l->type == DELTA_STALE, now);
        break;
    case RECORDING_HEAD:
    case RECORDING_WATCH:
    case RECORDING_CUT:
        break;
    }
}

static void check_line(const struct recording_line *l)
{
    ensure((l->source == NULL) == (l->what == RECORDING_HEAD));
    if (l->what != RECORDING_CHANGE)
        return;
    ensure((l->object == NULL) == (l->type == DELTA_STALE || l->type == DELTA_FRESH));
    ensure(l->object == NULL || object_name(l->object).n > 0);
}

static void read_line(struct playing *p, struct str text)
{
    struct recording_line line;
    struct err err = {0};

    if (recording_read(text, &line, &err) == ERR_OK) {
        check_line(&line);
        /* app/replay_plan refuses an object of another kind. */
        if (line.object == NULL || replay_is_of(p->resource, line.object))
            play(p, &line);
        recording_line_fini(&line);
    } else {
        ensure(err.kind == ERR_PROTOCOL || err.kind == ERR_CONFIG);
        fuzz_check_line(err.text);
    }
}

static struct watch *make_watch(void)
{
    static const char *const keep[] = {"metadata.labels", "data"};
    static const char *const drop[] = {"data.x"};
    static const char *const match[] = {"!data.y"};
    static const struct shape_params shape = {keep, 2, drop, 1, match, 1, NULL};
    struct watch_params params = objects_watch_params();
    struct watch *w = NULL;

    params.shape = shape;
    params.label_selector = "a!=b";
    params.stale_after_ms = 0;
    params.object_size = 4096;
    ensure(watch_create(&params, &w, NULL) == ERR_OK);
    return w;
}

static void check_object(void *arg, struct object *o)
{
    fuzz_shape_put(arg, o, NULL);
}

static void take(void *arg, struct object *o)
{
    (void)arg;
    ensure(object_name(o).n > 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct str in = str_of((const char *)data, n);
    struct watch *w = make_watch();
    struct resource resource;
    struct playing p = {&resource, replay_create(w, NULL), false};
    struct buf seen = {0};
    struct err err = {0};

    log_set_level(LOG_LVL_ERROR);
    ensure(resource_parse("configmaps", &resource, NULL) == ERR_OK);
    if (recording_read_objects(in, take, NULL, &err) != ERR_OK)
        fuzz_check_line(err.text);
    while (in.n > 0) {
        const char *end = memchr(in.p, '\n', in.n);
        size_t length = end != NULL ? (size_t)(end - in.p) : in.n;

        read_line(&p, str_of(in.p, length));
        in = str_of(in.p + length, in.n - length);
        if (in.n > 0)
            in = str_of(in.p + 1, in.n - 1);
    }
    store_each(watch_store(w), check_object, &seen);
    buf_free(&seen);
    replay_destroy(&p.replay);
    watch_destroy(&w);
    resource_fini(&resource);
    return 0;
}
