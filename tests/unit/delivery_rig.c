/* SPDX-License-Identifier: Apache-2.0 */
#include "delivery_rig.h"

struct delivery_rig delivery_rig;

void delivery_rig_init(unsigned events, const char *path)
{
    const char *const paths[] = {path};

    delivery_rig.now = 1000;
    delivery_rig.key = "ns/n";
    assert_int_equal(filter_init(&delivery_rig.filter, events, paths, path != NULL ? 1 : 0, NULL),
                     ERR_OK);
    delivery_queue_init(&delivery_rig.queue, &delivery_rig.filter, 1, false);
}

void delivery_rig_fini(void)
{
    delivery_queue_fini(&delivery_rig.queue);
    filter_fini(&delivery_rig.filter);
    buf_free(&delivery_rig.text);
}

int delivery_rig_set_up(void **state)
{
    (void)state;
    delivery_rig_init(DELIVERY_RIG_ALL, NULL);
    delivery_queue_open(&delivery_rig.queue, 0, false, delivery_rig.now);
    return 0;
}

int delivery_rig_clean_up(void **state)
{
    (void)state;
    delivery_rig_fini();
    return 0;
}

void delivery_rig_restart(unsigned events, const char *path)
{
    delivery_rig_fini();
    delivery_rig_init(events, path);
    delivery_queue_open(&delivery_rig.queue, 0, false, delivery_rig.now);
}

static struct delivery *take(const struct delta *d, const char *key)
{
    bool counts;

    delivery_rig.key = key;
    return delivery_queue_change(&delivery_rig.queue, 0, d, &counts, delivery_rig.now);
}

struct delivery *delivery_rig_change(enum delta_type type, const char *uid, const char *data)
{
    struct object *o = objects_make("ns/n", uid, "1", data);
    struct delivery *dl =
        take(&(struct delta){.type = type, .cause = CAUSE_WATCH, .object = o}, "ns/n");

    object_unref(&o);
    return dl;
}

struct delivery *delivery_rig_stale(bool stale)
{
    struct object *o =
        object_create(&(struct object_parts){.rv_at = SIZE_MAX, .generation_at = SIZE_MAX});
    enum delta_type type = stale ? DELTA_STALE : DELTA_FRESH;
    struct delivery *dl =
        take(&(struct delta){.type = type, .cause = CAUSE_WATCH, .object = o}, "");

    object_unref(&o);
    return dl;
}

struct delivery *delivery_rig_delivery(void)
{
    return delivery_queue_find(&delivery_rig.queue, 0, str_c(delivery_rig.key));
}

static void put_event(const struct delivery_event *ev)
{
    struct str uid = object_uid(ev->object);

    buf_printf(&delivery_rig.text, "%s%s", delivery_rig.text.len > 0 ? " " : "",
               delta_type_name(ev->type));
    if (uid.n > 0)
        buf_printf(&delivery_rig.text, " %.*s", STR_ARG(uid));
}

const char *delivery_rig_due(void)
{
    struct delivery_event ev[2];
    struct delivery *dl = delivery_rig_delivery();
    size_t n = dl != NULL && delivery_is_due(dl) ? delivery_events(&delivery_rig.queue, dl, ev) : 0;

    buf_clear(&delivery_rig.text);
    for (size_t i = 0; i < n; i++)
        if (filter_takes(&delivery_rig.filter, ev[i].type))
            put_event(&ev[i]);
    assert_int_equal(delivery_rig.queue.pending_count, n > 0 ? 1 : 0);
    return buf_cstr(&delivery_rig.text);
}

struct delivery_rig_run delivery_rig_start(size_t most)
{
    struct delivery_rig_run run = {0};
    struct delivery *dl = delivery_rig_delivery();
    size_t n = delivery_events(&delivery_rig.queue, dl, run.ev);

    for (; run.n < n && run.n < most && filter_takes(&delivery_rig.filter, run.ev[run.n].type);
         run.n++) {
        object_ref(run.ev[run.n].object);
        delivery_started(&delivery_rig.queue, dl, &run.ev[run.n]);
    }
    return run;
}

void delivery_rig_end(struct delivery_rig_run run, bool ok)
{
    struct delivery *dl = delivery_rig_delivery();

    for (size_t i = 0; i < run.n; i++)
        delivery_ended(&delivery_rig.queue, dl);
    for (size_t i = 0; i < run.n && ok; i++)
        delivery_handled(&delivery_rig.queue, dl, &run.ev[i], delivery_rig.now);
    for (size_t i = 0; i < run.n; i++)
        object_unref(&run.ev[i].object);
    delivery_release(&delivery_rig.queue, dl);
}

void delivery_rig_run(bool ok)
{
    delivery_rig_end(delivery_rig_start(2), ok);
}

void delivery_rig_add_handled(const char *uid, const char *data)
{
    delivery_rig_change(DELTA_ADDED, uid, data);
    delivery_rig_run(true);
}

void delivery_rig_replace(enum delta_type end)
{
    delivery_rig_add_handled("u1", NULL);
    delivery_rig_change(end, "u1", NULL);
    delivery_rig_change(DELTA_ADDED, "u2", NULL);
}

void delivery_rig_supersede_end(void)
{
    delivery_rig_end(delivery_rig_start(1), false);
    delivery_supersede(&delivery_rig.queue, delivery_rig_delivery(), delivery_rig.now);
}
