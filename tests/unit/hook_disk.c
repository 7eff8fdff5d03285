/* SPDX-License-Identifier: Apache-2.0 */
#include "hook_disk.h"

#include <string.h>

static struct hook_disk_row *find_row(struct hook_disk *d, size_t source, struct str key,
                                      struct str uid)
{
    for (size_t i = 0; i < d->row_count; i++)
        if (d->rows[i].source == source && str_is(key, d->rows[i].key) &&
            str_is(uid, d->rows[i].uid))
            return &d->rows[i];
    return NULL;
}

static void copy(char *to, size_t room, struct str s)
{
    assert_true(s.n < room);
    memset(to, 0, room);
    if (s.n > 0)
        memcpy(to, s.p, s.n);
}

static void put_delivery(void *arg, size_t source, const struct delivery_record *m)
{
    struct hook_disk *d = arg;
    struct hook_disk_row *r = find_row(d, source, m->key, m->uid);

    if (r == NULL) {
        assert_true(d->row_count < DISK_DELIVERIES);
        r = &d->rows[d->row_count++];
        *r = (struct hook_disk_row){.source = source};
        copy(r->key, sizeof(r->key), m->key);
        copy(r->uid, sizeof(r->uid), m->uid);
    }
    object_unref(&r->delivery.last);
    r->delivery = *m;
    r->delivery.key = r->delivery.uid = (struct str){0};
    if (m->last != NULL)
        object_ref(m->last);
    d->puts++;
}

static void drop_delivery(void *arg, size_t source, struct str key, struct str uid)
{
    struct hook_disk *d = arg;
    struct hook_disk_row *r = find_row(d, source, key, uid);

    assert_non_null(r); /* the rig drops only rows that it has put */
    object_unref(&r->delivery.last);
    *r = d->rows[--d->row_count];
}

static void note_seen(void *arg, size_t source)
{
    struct hook_disk *d = arg;

    d->seen[source] = true;
    d->puts++;
}

static void drop_file(void *arg, struct str path)
{
    struct hook_disk *d = arg;
    size_t i = 0;

    while (i < d->file_count && !str_is(path, d->files[i].path))
        i++;
    assert_true(i < d->file_count);
    d->files[i] = d->files[--d->file_count];
}

static void put_file(void *arg, const struct files_seen *seen)
{
    struct hook_disk *d = arg;
    size_t i = 0;

    while (i < d->file_count && !str_is(seen->path, d->files[i].path))
        i++;
    assert_true(i < DISK_FILES);
    d->file_count += i == d->file_count;
    d->files[i].seen = *seen;
    copy(d->files[i].path, sizeof(d->files[i].path), seen->path);
    copy(d->files[i].key, sizeof(d->files[i].key), seen->key);
}

void hook_disk_commit(struct hook_disk *d, struct hook *h)
{
    static const struct delivery_log_sink deliveries = {put_delivery, drop_delivery, note_seen};
    static const struct files_sink files = {put_file, drop_file};

    delivery_log_put(&h->queue, &deliveries, d);
    strays_put(&h->strays, &files, d);
    files_put(&h->files, &files, d);
    d->record = hook_record_of(h);
}

void hook_disk_restore(const struct hook_disk *d, struct hook *h, uint64_t now)
{
    hook_record_restore(h, &d->record, now);
    for (size_t i = 0; i < d->row_count; i++) {
        struct delivery_record m = d->rows[i].delivery;

        m.key = str_c(d->rows[i].key);
        m.uid = str_c(d->rows[i].uid);
        assert_true(delivery_log_restore(&h->queue, d->rows[i].source, &m, now));
    }
    for (size_t i = 0; i < d->file_count; i++) {
        struct files_seen seen = d->files[i].seen;

        seen.path = str_c(d->files[i].path);
        seen.key = str_c(d->files[i].key);
        strays_restore(h, &seen);
    }
    for (size_t s = 0; s < h->source_count; s++)
        if (d->seen[s])
            delivery_log_restore_seen(&h->queue, s);
}

const struct delivery_record *hook_disk_delivery(struct hook_disk *d, const char *key,
                                                 const char *uid)
{
    const struct hook_disk_row *r = find_row(d, 0, str_c(key), str_c(uid));

    return r != NULL ? &r->delivery : NULL;
}

void hook_disk_clear(struct hook_disk *d)
{
    for (size_t i = 0; i < d->row_count; i++)
        object_unref(&d->rows[i].delivery.last);
    *d = (struct hook_disk){0};
}
