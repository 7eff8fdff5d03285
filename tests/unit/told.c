/* SPDX-License-Identifier: Apache-2.0 */
#include "told.h"

struct told told;

void told_init(unsigned events, const char *path)
{
    const char *const paths[] = {path};

    told.now = 1000;
    told.key = "ns/n";
    assert_int_equal(filter_init(&told.filter, events, paths, path != NULL ? 1 : 0, NULL), ERR_OK);
    delivery_queue_init(&told.queue, &told.filter, 1);
}

void told_fini(void)
{
    delivery_queue_fini(&told.queue);
    filter_fini(&told.filter);
    buf_free(&told.text);
}

int told_set_up(void **state)
{
    (void)state;
    told_init(TOLD_ALL, NULL);
    delivery_queue_open(&told.queue, 0, false, told.now);
    return 0;
}

int told_clean_up(void **state)
{
    (void)state;
    told_fini();
    return 0;
}

void told_restart(unsigned events, const char *path)
{
    told_fini();
    told_init(events, path);
    delivery_queue_open(&told.queue, 0, false, told.now);
}

static struct delivery *take(const struct delta *d, const char *key)
{
    told.key = key;
    return delivery_queue_change(&told.queue, 0, d, told.now);
}

struct delivery *told_change(enum delta_type type, const char *uid, const char *data)
{
    struct object *o = objects_make("ns/n", uid, "1", data);
    struct delivery *dl =
        take(&(struct delta){.type = type, .cause = CAUSE_WATCH, .object = o}, "ns/n");

    object_unref(&o);
    return dl;
}

struct delivery *told_stale(bool stale)
{
    struct object *o =
        object_create(&(struct object_parts){.rv_at = SIZE_MAX, .generation_at = SIZE_MAX});
    enum delta_type type = stale ? DELTA_STALE : DELTA_FRESH;
    struct delivery *dl =
        take(&(struct delta){.type = type, .cause = CAUSE_WATCH, .object = o}, "");

    object_unref(&o);
    return dl;
}

struct delivery *told_entry(void)
{
    return delivery_queue_find(&told.queue, 0, str_c(told.key));
}

static void put_event(const struct delivery_event *ev)
{
    struct str uid = object_uid(ev->object);

    buf_printf(&told.text, "%s%s", told.text.len > 0 ? " " : "", delta_type_name(ev->type));
    if (uid.n > 0)
        buf_printf(&told.text, " %.*s", STR_ARG(uid));
}

const char *told_due(void)
{
    struct delivery_event ev[2];
    struct delivery *dl = told_entry();
    size_t n = dl != NULL && delivery_is_due(dl) ? delivery_events(&told.queue, dl, ev) : 0;

    buf_clear(&told.text);
    for (size_t i = 0; i < n; i++)
        if (filter_takes(&told.filter, ev[i].type))
            put_event(&ev[i]);
    assert_int_equal(told.queue.pending_count, n > 0 ? 1 : 0);
    return buf_cstr(&told.text);
}

struct told_run told_start(size_t most)
{
    struct told_run run = {0};
    struct delivery *dl = told_entry();
    size_t n = delivery_events(&told.queue, dl, run.ev);

    for (; run.n < n && run.n < most && filter_takes(&told.filter, run.ev[run.n].type); run.n++) {
        object_ref(run.ev[run.n].object);
        delivery_started(&told.queue, dl, &run.ev[run.n]);
    }
    return run;
}

void told_end(struct told_run run, bool ok)
{
    struct delivery *dl = told_entry();

    for (size_t i = 0; i < run.n; i++)
        delivery_ended(&told.queue, dl);
    for (size_t i = 0; i < run.n && ok; i++)
        delivery_handled(&told.queue, dl, &run.ev[i], told.now);
    for (size_t i = 0; i < run.n; i++)
        object_unref(&run.ev[i].object);
    delivery_release(&told.queue, dl);
}

void told_run(bool ok)
{
    told_end(told_start(2), ok);
}
