/* SPDX-License-Identifier: Apache-2.0 */
#include "hook/strays.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "hook/gate.h"
#include "hook/hook.h"

void strays_init(struct strays *s)
{
    *s = (struct strays){0};
    list_init(&s->all);
    list_init(&s->gone);
}

static void free_stray(struct stray *x)
{
    list_remove(&x->link);
    free(x->source_name);
    free(x->key);
    free(x);
}

/* The counter for the strays in this state. */
static size_t *count_of(struct strays *s, enum stray_state state)
{
    switch (state) {
    case STRAY_WAITING:
        return &s->waiting;
    case STRAY_DUE:
        return &s->due;
    case STRAY_LEFT:
        break;
    }
    return &s->left;
}

/* The only change of a state after add(). */
static void enter(struct strays *s, struct stray *x, enum stray_state state)
{
    --*count_of(s, x->state);
    ++*count_of(s, state);
    x->state = state;
}

static void take_out(struct strays *s, struct stray *x)
{
    map_remove(&s->by_path, &x->node);
    list_remove(&x->link);
    --*count_of(s, x->state);
}

void strays_fini(struct strays *s)
{
    list_each (pos, tmp, &s->all) {
        struct stray *x = list_entry(pos, struct stray, link);

        take_out(s, x);
        free_stray(x);
    }
    list_each (pos, tmp, &s->gone)
        free_stray(list_entry(pos, struct stray, link));
}

/* The file stays where it is; the log and the status name it. */
static void leave(struct strays *s, struct stray *x, const char *why)
{
    enter(s, x, STRAY_LEFT);
    x->why = why;
}

static struct stray *new_stray(struct strays *s, const struct files_seen *seen)
{
    struct stray *x = mem_zalloc(sizeof(*x) + seen->path.n + 1);

    memcpy(x->path, seen->path.p, seen->path.n);
    x->digest = seen->digest;
    x->source = seen->source;
    x->source_name =
        mem_strndup(seen->source_name.n > 0 ? seen->source_name.p : "", seen->source_name.n);
    x->key = mem_strndup(seen->key.n > 0 ? seen->key.p : "", seen->key.n);
    list_init(&x->link);
    map_put(&s->by_path, &x->node, str_of(x->path, seen->path.n));
    list_append(&s->all, &x->link);
    s->waiting++;
    return x;
}

static void add(struct hook *h, const struct files_seen *seen)
{
    struct stray *x = new_stray(&h->strays, seen);

    /* The files of a hook that has lost its output stay (docs/design.md "Stray files"). */
    if (h->files.template == NULL)
        leave(&h->strays, x, "the hook has no output any more");
}

void strays_add_left(struct strays *s, const struct files_seen *seen, const char *why)
{
    leave(s, new_stray(s, seen), why);
}

/* Is this the path of the key by the present template? Keys of mode object are not empty, those of the
 * other modes are: after a change of the mode a record fits no key. */
static bool is_named(const struct hook *h, size_t source, struct str key, struct str path)
{
    struct buf now = {0};
    bool is = h->files.template != NULL && source < h->source_count &&
              (h->rules.mode == HOOK_OBJECT) == (key.n > 0) && files_path(h, source, key, &now) &&
              str_eq(buf_str(&now), path);

    buf_free(&now);
    return is;
}

void strays_restore(struct hook *h, const struct files_seen *seen)
{
    if (is_named(h, seen->source, seen->key, seen->path))
        files_restore(&h->files, seen);
    else if (map_get(&h->strays.by_path, seen->path) == NULL)
        add(h, seen);
}

bool strays_restore_alone(struct hook *h, const struct files_seen *seen)
{
    if (h->rules.mode != HOOK_OBJECT || seen->key.n == 0)
        return false;
    if (map_get(&h->strays.by_path, seen->path) == NULL)
        add(h, seen);
    return true;
}

bool strays_restore_unknown(struct hook *h, const struct files_seen *seen)
{
    if (!strays_restore_alone(h, seen))
        return false;
    struct map_node *node = map_get(&h->strays.by_path, seen->path);

    map_entry(node, struct stray, node)->is_applied =
        is_named(h, seen->source, seen->key, seen->path);
    return true;
}

void strays_renew(struct strays *s)
{
    list_each (pos, tmp, &s->all)
        list_entry(pos, struct stray, link)->is_applied = false;
}

bool strays_is_named(const struct hook *h, struct str key, struct str path)
{
    bool is = false;

    if (h->rules.mode != HOOK_OBJECT)
        return is_named(h, 0, str_of(NULL, 0), path);
    for (size_t i = 0; i < h->source_count && !is; i++)
        is = is_named(h, i, key, path);
    return is;
}

bool strays_claim(struct hook *h, struct str path, struct digest *applied)
{
    struct map_node *node = map_get(&h->strays.by_path, path);

    *applied = (struct digest){0};
    if (node == NULL)
        return false;
    struct stray *x = map_entry(node, struct stray, node);
    if (x->is_applied)
        *applied = x->digest;
    take_out(&h->strays, x);
    free_stray(x);
    return true;
}

/* ---- Deciding which strays are removed. */

/* With files_from: has a run written the files of the object as it is now? Then each member that
 * the object has was given its file, and a stray is of none of them. */
static bool is_handled(const struct hook *h, size_t source, struct str key)
{
    const struct delivery *dl =
        delivery_queue_find(&h->queue, source, files_object(&h->files, key));

    return dl != NULL && dl->state == DELIVERED_HANDLED && !delivery_is_due(dl);
}

/* Has the file been written that the key has by the present template? */
static bool is_written(const struct hook *h, size_t source, struct str key)
{
    struct buf path = {0};

    if (h->files.from_members)
        return is_handled(h, source, key);
    bool is = files_path(h, source, key, &path) && files_is_written(&h->files, buf_str(&path));

    buf_free(&path);
    return is;
}

static bool has_object(const struct hook *h, size_t source, const char *key)
{
    struct str object = files_object(&h->files, str_c(key));
    const struct delivery *dl = delivery_queue_find(&h->queue, source, object);

    return dl != NULL && dl->newest.object != NULL;
}

/* Mode object: may the stray be removed? For each source that may have had its key, either the
 * object is gone or the file that it has today is written. If the watch of the stray was renamed or
 * removed, each source may have. *named: a key does have this path today. */
static bool is_replaced(struct hook *h, const struct stray *x, bool *named)
{
    *named = false;
    for (size_t i = 0; i < h->source_count; i++) {
        if (x->source != SIZE_MAX && x->source != i)
            continue;
        /* Whether the object exists is not known before the hook sees the source. */
        if (!h->queue.sources[i].is_open)
            return false;
        if (x->key[0] == '\0' || !has_object(h, i, x->key))
            continue;
        bool is = is_written(h, i, str_c(x->key));
        *named = is_named(h, i, str_c(x->key), str_c(x->path)) && !(is && h->files.from_members);
        if (*named || !is)
            return false;
    }
    return true;
}

/* Does another hook write a file with this path? */
static bool is_of_another(const struct hooks *hs, const struct hook *h, const char *path)
{
    for (size_t i = 0; i < hs->n; i++)
        if (hs->v[i] != h && files_has(&hs->v[i]->files, str_c(path)))
            return true;
    return false;
}

void strays_drop(struct strays *s, struct stray *x)
{
    take_out(s, x);
    list_append(&s->gone, &x->link);
}

/* Gives the file back to the key that has its path today. A run may never claim it: with existing =
 * "skip" the object may never have one. */
static void give_back(struct hook *h, struct stray *x)
{
    struct files_seen seen = {.path = str_c(x->path), .key = str_c(x->key), .digest = x->digest};

    while (!has_object(h, seen.source, x->key) || !is_named(h, seen.source, seen.key, seen.path))
        seen.source++;
    files_restore(&h->files, &seen);
    files_touch(&h->files, seen.path);
    take_out(&h->strays, x);
    free_stray(x);
}

/* Decides about one stray: a file that a key names today is no stray; one that another hook writes
 * is left to that hook; the rest are removed once they are replaced, and wait until then. */
static void look_at(const struct hooks *hs, struct hook *h, struct stray *x)
{
    bool named = false;

    if (h->rules.mode == HOOK_OBJECT ? !is_replaced(h, x, &named)
                                     : !is_written(h, 0, str_of(NULL, 0))) {
        if (named)
            give_back(h, x);
    } else if (is_of_another(hs, h, x->path)) {
        strays_drop(&h->strays, x);
    } else {
        enter(&h->strays, x, STRAY_DUE);
        /* To the end: the helper may be removing files that were due before, and its answers belong
         * to the first of the list that are due (io/strays_driver). */
        list_remove(&x->link);
        list_append(&h->strays.all, &x->link);
    }
}

bool strays_are_busy(const struct hook *h)
{
    const struct strays *s = &h->strays;

    return s->due > 0 || (s->look && s->waiting > 0 && h->gate >= GATE_APPLY);
}

void strays_look(const struct hooks *hs, struct hook *h)
{
    struct strays *s = &h->strays;

    if (!s->look || s->waiting == 0 || h->gate < GATE_APPLY)
        return; /* Nothing has changed, or the first runs have not ended. */
    s->look = false;
    list_each (pos, tmp, &s->all) {
        struct stray *x = list_entry(pos, struct stray, link);

        if (x->state == STRAY_WAITING)
            look_at(hs, h, x);
    }
    gate_block(h);
}

void strays_order(struct strays *s, struct stray *x)
{
    enter(s, x, STRAY_DUE);
}

void strays_swept(struct strays *s, struct stray *x, enum stray_end end)
{
    static const char *const why[] = {
        [STRAY_END_CHANGED] = "its bytes are not those that informerd wrote",
        [STRAY_END_FOREIGN] = "it is not in a folder that output names now, or not the hook's",
        [STRAY_END_FAILED] = "it could not be removed",
    };

    if (end == STRAY_END_REMOVED || end == STRAY_END_GONE)
        strays_drop(s, x); /* strays_put() frees it */
    else
        leave(s, x, why[end]);
}

void strays_ended(struct hook *h, struct stray *x, enum stray_end end, uint64_t now_ms)
{
    if (end == STRAY_END_REMOVED)
        apply_touch(&h->apply, now_ms);
    strays_swept(&h->strays, x, end);
    gate_block(h);
}

/* ---- Records go out. */

void strays_put(struct strays *s, const struct files_sink *sink, void *arg)
{
    list_each (pos, tmp, &s->gone) {
        struct stray *x = list_entry(pos, struct stray, link);

        sink->drop(arg, str_c(x->path));
        free_stray(x);
    }
    if (!s->is_dirty)
        return;
    s->is_dirty = false;
    list_each (pos, tmp, &s->all) {
        struct stray *x = list_entry(pos, struct stray, link);
        const struct files_seen seen = {.path = str_c(x->path),
                                        .source = SIZE_MAX,
                                        .source_name = str_c(x->source_name),
                                        .key = str_c(x->key),
                                        .digest = x->digest};

        if (x->dirty)
            sink->put(arg, &seen);
        x->dirty = false;
    }
}

void strays_touch_all(struct strays *s)
{
    s->is_dirty = true;
    list_each (pos, tmp, &s->all)
        list_entry(pos, struct stray, link)->dirty = true;
}
