/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/disk_hooks.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/panic.h"

enum what { PUT_DELIVERY, DROP_DELIVERY, SEEN, PUT_FILE, DROP_FILE, PERSIST, SETTINGS };

struct op {
    struct disk_op base;
    struct disk_hooks_hook *of;
    enum what what;
    size_t source;
    size_t key;
    struct disk_hooks_row row;
    struct disk_hooks_file file;
    struct hook_record persist;
    unsigned settings;
};

/* The hook whose changes are being put. */
struct putting {
    struct disk_hooks *disk_hooks;
    size_t hook;
};

void disk_hooks_init(struct disk_hooks *m, struct disk *disk, uint64_t *features)
{
    *m = (struct disk_hooks){.disk = disk};
    m->features = features;
}

static void forget_row(struct disk_hooks_row *r)
{
    object_unref(&r->record.last);
    *r = (struct disk_hooks_row){0};
}

void disk_hooks_fini(struct disk_hooks *m)
{
    for (size_t i = 0; i < HOOKS; i++)
        for (size_t s = 0; s < RULES_SOURCES; s++)
            for (size_t key = 0; key < RULES_KEYS; key++) {
                forget_row(&m->hooks[i].rows[s][key][0]);
                forget_row(&m->hooks[i].rows[s][key][1]);
            }
}

static void measure_row(const struct disk_hooks_row *r, size_t *rows, size_t *bytes)
{
    *rows += r->is;
    *bytes += r->record.last != NULL ? object_bytes(r->record.last) : 0;
}

static void measure_hook(const struct disk_hooks_hook *h, size_t *rows, size_t *bytes)
{
    for (size_t s = 0; s < RULES_SOURCES; s++)
        for (size_t key = 0; key < RULES_KEYS; key++) {
            measure_row(&h->rows[s][key][0], rows, bytes);
            measure_row(&h->rows[s][key][1], rows, bytes);
        }
    for (size_t i = 0; i < API_KEYS; i++)
        *rows += h->files[i].is;
}

void disk_hooks_measure(const struct disk_hooks *m, size_t *rows, size_t *bytes)
{
    for (size_t i = 0; i < HOOKS; i++)
        measure_hook(&m->hooks[i], rows, bytes);
}

bool disk_hooks_known(const struct disk_hooks *m)
{
    for (size_t i = 0; i < HOOKS; i++)
        if (m->hooks[i].known)
            return true;
    return false;
}

static void copy(char *to, size_t room, struct str s)
{
    ensure(s.n < room);
    memset(to, 0, room);
    if (s.n > 0)
        memcpy(to, s.p, s.n);
}

/* ---- Rows reach the disk. */

/* The row of an incarnation, or a free one. */
static struct disk_hooks_row *row_of(struct disk_hooks_row rows[2], const char *uid)
{
    for (size_t i = 0; i < 2; i++)
        if (rows[i].is && strcmp(rows[i].uid, uid) == 0)
            return &rows[i];
    ensure(!rows[0].is || !rows[1].is);
    return rows[0].is ? &rows[1] : &rows[0];
}

static struct disk_hooks_file *file_of(struct disk_hooks_file files[API_KEYS], const char *path)
{
    struct disk_hooks_file *spare = NULL;

    for (size_t i = 0; i < API_KEYS; i++) {
        if (files[i].is && strcmp(files[i].path, path) == 0)
            return &files[i];
        if (!files[i].is)
            spare = &files[i];
    }
    ensure(spare != NULL);
    return spare;
}

static void write_mark(struct op *op)
{
    struct disk_hooks_row *r = row_of(op->of->rows[op->source][op->key], op->row.uid);

    ensure(r->is || op->what == PUT_DELIVERY); /* only a record that was put is dropped */
    forget_row(r);
    if (op->what == DROP_DELIVERY)
        return;
    *r = op->row;
    op->row.record.last = NULL;
}

static void write_op(struct disk_op *base)
{
    struct op *op = container_of(base, struct op, base);

    switch (op->what) {
    case PUT_DELIVERY:
    case DROP_DELIVERY:
        write_mark(op);
        break;
    case SEEN:
        op->of->seen[op->source] = true;
        break;
    case PUT_FILE:
    case DROP_FILE:
        *file_of(op->of->files, op->file.path) = op->file;
        break;
    case PERSIST:
        op->of->persist = op->persist;
        break;
    case SETTINGS:
        op->of->known = true;
        op->of->settings = op->settings;
        break;
    }
}

static void free_op(struct disk_op *base)
{
    struct op *op = container_of(base, struct op, base);

    object_unref(&op->row.record.last);
    free(op);
}

static struct op *put(const struct putting *p, enum what what)
{
    struct op *op = MEM_NEW(struct op, .of = &p->disk_hooks->hooks[p->hook], .what = what);

    op->base = (struct disk_op){.write = write_op, .free = free_op};
    disk_put(p->disk_hooks->disk, &op->base);
    p->disk_hooks->put_any = true;
    return op;
}

/* ---- Changes of the hooks go out: as persist_hook_put(). */

static size_t key_of(struct str key)
{
    return key.n == 0 ? RULES_OUTAGE : api_find(key);
}

static void put_mark(void *arg, size_t source, const struct delivery_record *m)
{
    struct op *op = put(arg, PUT_DELIVERY);

    op->source = source;
    op->key = key_of(m->key);
    op->row.is = true;
    copy(op->row.uid, sizeof(op->row.uid), m->uid);
    op->row.record = *m;
    op->row.record.key = op->row.record.uid = (struct str){0};
    if (m->last != NULL)
        object_ref(m->last);
}

static void drop_mark(void *arg, size_t source, struct str key, struct str uid)
{
    struct op *op = put(arg, DROP_DELIVERY);

    op->source = source;
    op->key = key_of(key);
    copy(op->row.uid, sizeof(op->row.uid), uid);
}

static void put_seen(void *arg, size_t source)
{
    put(arg, SEEN)->source = source;
}

static void put_file(void *arg, const struct files_seen *seen)
{
    struct op *op = put(arg, PUT_FILE);

    op->file = (struct disk_hooks_file){.is = true, .source = seen->source, .digest = seen->digest};
    copy(op->file.path, sizeof(op->file.path), seen->path);
    copy(op->file.key, sizeof(op->file.key), seen->key);
}

static void drop_file(void *arg, struct str path)
{
    struct op *op = put(arg, DROP_FILE);

    copy(op->file.path, sizeof(op->file.path), path);
}

static void put_memory(const struct putting *p, struct hook *h)
{
    struct hook_record now = hook_record_of(h);
    struct hook_record *was = &p->disk_hooks->last[p->hook];

    if (now.owes_snapshot == was->owes_snapshot && now.owes_apply == was->owes_apply &&
        now.owes_renewal == was->owes_renewal && now.is_paused == was->is_paused &&
        now.is_parked == was->is_parked)
        return;
    *was = now;
    put(p, PERSIST)->persist = now;
}

bool disk_hooks_put(struct disk_hooks *m, const struct hooks *hooks)
{
    static const struct delivery_log_sink disk_hooks = {put_mark, drop_mark, put_seen};
    static const struct files_sink files = {put_file, drop_file};

    m->put_any = false;
    for (size_t i = 0; i < hooks->n; i++) {
        struct putting p = {m, hooks->v[i]->index};

        delivery_log_put(&hooks->v[i]->queue, &disk_hooks, &p);
        files_put(&hooks->v[i]->files, &files, &p);
        put_memory(&p, hooks->v[i]);
    }
    return m->put_any;
}

/* ---- Rows come in: as persist_hook_load(). */

static struct delivery_record record_of(const struct disk_hooks_row *r, size_t key)
{
    struct delivery_record m = r->record;

    m.key = str_c(key == RULES_OUTAGE ? "" : api_key(key));
    m.uid = str_c(r->uid);
    return m;
}

static void load_rows(struct disk_hooks *m, struct hook *h, size_t source, uint64_t wall_ns)
{
    const struct disk_hooks_hook *of = &m->hooks[h->index];

    for (size_t key = 0; key < RULES_KEYS; key++)
        for (size_t i = 0; i < 2; i++) {
            const struct disk_hooks_row *r = &of->rows[source][key][i];
            const struct delivery_record record = record_of(r, key);

            m->features[FEATURE_KEPT_SUCCESSOR] +=
                r->is && (record.note & DELIVERY_HAS_PREDECESSOR) != 0;
            if (r->is && !delivery_log_restore(&h->queue, source, &record, wall_ns))
                panic("%s: a delivery record that says nothing", h->name);
        }
    if (of->seen[source])
        delivery_log_restore_seen(&h->queue, source);
}

bool disk_hooks_is_other(const struct disk_hooks *m, size_t hook)
{
    return m->hooks[hook].known && m->hooks[hook].settings != m->settings[hook];
}

static void load_hook(struct disk_hooks *m, struct hook *h, uint64_t now_ms)
{
    const struct disk_hooks_hook *of = &m->hooks[h->index];

    for (size_t i = 0; i < API_KEYS; i++) {
        const struct disk_hooks_file *f = &of->files[i];
        const struct files_seen seen = {
            .path = str_c(f->path), .source = f->source, .key = str_c(f->key), .digest = f->digest};

        if (f->is)
            files_restore(&h->files, &seen);
    }
    for (size_t s = 0; s < RULES_SOURCES; s++)
        load_rows(m, h, s, now_ms * 1000000);
    hook_record_restore(h, &of->persist, now_ms);
    m->last[h->index] = of->persist;
    if (disk_hooks_is_other(m, h->index))
        hook_record_renew(h);
}

void disk_hooks_put_settings(struct disk_hooks *m, size_t hook)
{
    const struct putting p = {m, hook};

    put(&p, SETTINGS)->settings = m->settings[hook];
}

void disk_hooks_load(struct disk_hooks *m, struct hook *h, uint64_t now_ms)
{
    m->last[h->index] = (struct hook_record){0};
    if (m->hooks[h->index].known)
        load_hook(m, h, now_ms);
    disk_hooks_put_settings(m, h->index);
}

void disk_hooks_each(const struct disk_hooks *m,
                     void (*fn)(void *arg, size_t hook, size_t source, struct str key,
                                struct str uid),
                     void *arg)
{
    for (size_t i = 0; i < HOOKS; i++)
        for (size_t s = 0; s < RULES_SOURCES && !m->dropped[i]; s++)
            for (size_t key = 0; key < API_KEYS; key++)
                /* Of two incarnations of a key the last one comes first. */
                for (size_t n = 0; n < 4; n++) {
                    const struct disk_hooks_row *r = &m->hooks[i].rows[s][key][n % 2];
                    bool successor = (r->record.note & DELIVERY_HAS_PREDECESSOR) != 0;

                    if (r->is && !r->record.is_ended && successor == (n < 2))
                        fn(arg, i, s, str_c(api_key(key)), str_c(r->uid));
                }
}
