/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of the state, as a file with good checksums may hold them whoever has written it: informerd starts with
 * them, lists, learns which cluster it follows and runs hooks. Each row that it writes then can be read. The first
 * byte of a row says its table; behind it come its fields. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "fuzz_input.h"
#include "hook_rig.h"
#include "persist/persist.h"
#include "persist/row.h"
#include "state/loader.h"

enum { ROW_ITEM, ROW_FACT, ROW_OBJECT, ROW_DELIVERY, ROW_TABLES };

static struct str rows;

/* ---- The file */

/* A key or a uid. The loader refuses one with a NUL. */
static struct str take_id(struct str *in)
{
    struct str id = fuzz_take_part(in);

    return str_of(id.p, strnlen(id.p, id.n));
}

static struct row_object take_object(struct str *in)
{
    struct row_object o = {.rv_at = ROW_NOWHERE, .generation_at = ROW_NOWHERE};
    unsigned where = fuzz_take_byte(in);

    o.uid = take_id(in);
    o.rv = fuzz_take_part(in);
    o.generation = fuzz_take_part(in);
    o.api_version = fuzz_take_part(in);
    o.kind = fuzz_take_part(in);
    o.body = fuzz_take_part(in);
    o.whole = where % 8 != 7;
    o.digest = digest_of(o.body.p, o.body.n);
    /* The loader refuses positions outside of the body. */
    if (where % 2 == 0)
        o.rv_at = fuzz_take_byte(in) % (unsigned)(o.body.n + 1);
    if (where % 4 < 2)
        o.generation_at = fuzz_take_byte(in) % (unsigned)(o.body.n + 1);
    return o;
}

static struct digest take_digest(struct str *in)
{
    return (struct digest){.lo = fuzz_take_byte(in), .hi = fuzz_take_byte(in)};
}

static struct row_delivery take_delivery(struct str *in)
{
    struct row_delivery m = {.source = fuzz_take_byte(in)};
    unsigned flags = fuzz_take_byte(in);

    m.key = take_id(in);
    m.uid = take_id(in);
    m.is_handled = flags & 1;
    m.is_delivered = flags & 2;
    m.attempted = flags & 4;
    m.is_ended = flags & 8;
    m.note = fuzz_take_byte(in) | fuzz_take_byte(in) << 8 | fuzz_take_byte(in) << 16;
    m.handled = take_digest(in);
    m.delivered = take_digest(in);
    m.last.key = m.key;
    if (m.is_ended)
        m.last = take_object(in);
    m.last.key = m.key;
    return m;
}

static void read_row(struct str *in, const struct loader_sink *sink, void *arg)
{
    unsigned table = fuzz_take_below(in, ROW_TABLES);
    uint64_t id = fuzz_take_byte(in);

    if (table == ROW_ITEM) {
        const unsigned kind = fuzz_take_byte(in);
        const unsigned parent = fuzz_take_byte(in);
        const unsigned unused = fuzz_take_byte(in);

        sink->on_item(
            arg, &(struct row_item){id, (enum row_kind)kind, parent, fuzz_take_part(in), unused});
    } else if (table == ROW_FACT) {
        struct row_fact f = {.item = id, .what = (enum row_what)fuzz_take_below(in, ROW_WHATS)};

        f.key = fuzz_take_part(in);
        f.value = fuzz_take_part(in);
        sink->on_fact(arg, &f);
    } else if (table == ROW_OBJECT) {
        struct str key = take_id(in);
        struct row_object o = take_object(in);

        o.key = key;
        sink->on_object(arg, id, &o);
    } else {
        struct row_delivery m = take_delivery(in);

        sink->on_delivery(arg, &m);
    }
}

/* Stands in for state/loader, which reads the disk. */
enum loader_found loader_read(const struct folder *f, const struct loader_sink *sink, void *arg,
                              struct err *err)
{
    struct str in = rows;

    (void)f;
    (void)err;
    while (in.n > 0)
        read_row(&in, sink, arg);
    return LOADER_STATE;
}

/* ---- The process */

static struct batch batch;

static void on_delta(void *arg, struct source from, const struct delta *d)
{
    (void)from;
    persist_watch_delta(arg, d, &batch);
}

/* All rows that were put are read as the next start would. */
static void check_batch(void)
{
    struct batch_op op;

    for (size_t at = 0; batch_next(&batch, &at, &op);)
        if (op.what == BATCH_OBJECT && op.u.object.whole) {
            struct object *o = persist_row_object(&op.u.object);

            ensure(str_eq(object_key(o), op.u.object.key));
            object_unref(&o);
        } else if (op.what == BATCH_DELIVERY) {
            struct delivery_record m = persist_row_delivery(&op.u.delivery);

            object_unref(&m.last);
        }
    batch_clear(&batch);
}

static void keep(struct persist *p, struct persist_now now)
{
    persist_put_versions(p, now, &batch);
    (void)persist_put_hooks(p, &batch);
    check_batch();
}

static struct persist *start(struct persist_now now)
{
    static const struct subscriber subscriber = {.on_delta = on_delta};
    struct persist_watch_params watches[HOOK_RIG_WATCHES] = {0};
    const struct persist_cluster_params cluster = {"c", 1000, 3600000};
    const struct hook_rig_hook hook = {.output = "/o/${namespace}/${name}"};
    const struct persist_hook_params by_hook = {
        .hook = hook_rig_add(&hook), .settings = {{.lo = 1}, {.hi = 1}}
    };
    struct restore r;
    struct err err;

    for (size_t i = 0; i < HOOK_RIG_WATCHES; i++)
        watches[i] = (struct persist_watch_params){.watch = hook_rig.watches[i],
                                                   .name = watch_name(hook_rig.watches[i])};
    const struct persist_params params = {.clusters = &cluster,
                                          .cluster_count = 1,
                                          .watches = watches,
                                          .watch_count = HOOK_RIG_WATCHES,
                                          .hooks = &hook_rig.hooks,
                                          .by_hook = &by_hook};
    ensure(restore_read(&r, (const struct folder *)&rows, &err) == LOADER_STATE);
    struct persist *p = persist_create(&params, &r, now, &batch);
    restore_fini(&r);
    for (size_t i = 0; i < p->watch_count; i++)
        watch_subscribe(p->watches[i]->watch, &subscriber, p->watches[i]);
    return p;
}

static void run_all(void)
{
    struct run *run;

    for (int i = 0; i < 20 && (run = hooks_next(&hook_rig.hooks, hook_rig.now)) != NULL; i++)
        (void)hook_rig_end(run, i % 3 == 2);
}

static void live(struct persist *p, struct persist_now now)
{
    const struct cluster_identity id = {.uid = "u"};
    struct err err;

    keep(p, now);
    (void)persist_tick(p, 0, now);
    if (persist_judge(p, 0, &id, now, &batch, &err) == PERSIST_VERDICT_HELD)
        persist_accept(p, 0, &batch);
    run_all();
    keep(p, now);
    hook_rig.now += 600000;
    run_all();
    persist_sweep(p, now, true, &batch);
    persist_lost(p, now, &batch);
    keep(p, now);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static const char *const clusters[HOOK_RIG_WATCHES] = {"c", "c", "c"};
    const struct persist_now now = {
        .ms = 100000, .wall_ns = UINT64_C(1700000000000000000), .boot_id = "b"};

    rows = str_of((const char *)data, n);
    batch = (struct batch){.release = persist_row_release};
    hook_rig_init(4, &hooks_subscriber, clusters);
    struct persist *p = start(now);
    live(p, now);
    persist_destroy(&p);
    batch_fini(&batch);
    hook_rig_clean_up(NULL);
    return 0;
}
