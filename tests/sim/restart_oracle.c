/* SPDX-License-Identifier: Apache-2.0 */
/* Changes, and the begin and end of processes. sim/restart_oracle_run.c has the runs. */
#include "sim/restart_oracle.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/panic.h"
#include "sim/answer.h"

static const struct api_object none;

void restart_oracle_init(struct restart_oracle *w, struct clock *clock, const struct api *api,
                         const struct rules *rules, struct disk *disk, uint64_t *features)
{
    w->clock = clock;
    w->api = api;
    w->disk = disk;
    w->features = features;
    for (size_t i = 0; i < HOOKS; i++) {
        struct restart_oracle_hook *h = &w->hooks[i];

        h->rules = &rules[i];
        for (size_t s = 0; s < RULES_SOURCES; s++)
            h->lives[s] = mem_zalloc(api->lives * sizeof(*h->lives[s]));
    }
}

void restart_oracle_fini(struct restart_oracle *w)
{
    for (size_t i = 0; i < HOOKS; i++)
        for (size_t s = 0; s < RULES_SOURCES; s++)
            free(w->hooks[i].lives[s]);
}

/* ---- Flags that are on disk, in the same batches as the rows of the daemon. */

struct op {
    struct disk_op base;
    bool *flag;
    bool value;
};

static void write_op(struct disk_op *base)
{
    struct op *op = container_of(base, struct op, base);

    *op->flag = op->value;
}

static void free_op(struct disk_op *base)
{
    free(container_of(base, struct op, base));
}

void restart_oracle_put(struct restart_oracle *w, bool *flag, bool value)
{
    struct op *op = MEM_NEW(struct op, .flag = flag, .value = value);

    op->base = (struct disk_op){.write = write_op, .free = free_op};
    disk_put(w->disk, &op->base);
}

void restart_oracle_set_parked(struct restart_oracle *w, struct restart_oracle_key *k, bool parked)
{
    restart_oracle_put(w, &k->was_parked, parked);
    k->parked = parked;
    k->moved = false;
}

void restart_oracle_park_whole(struct restart_oracle *w, struct restart_oracle_hook *h, bool parked)
{
    restart_oracle_put(w, &h->was_parked, parked);
    h->parked = parked;
}

/* ---- Processes begin. */

/* A renewal delivers a key again only if the hook takes the event that begins an incarnation, and
 * if the key was not skipped. */
static void renew_key(struct restart_oracle_hook *h, size_t source, size_t key)
{
    struct restart_oracle_key *k = &h->keys[source][key];
    bool skipped = k->skipped.uid > k->told.uid; /* uids grow */

    k->parked = k->was_parked = false;
    if (skipped && !k->excused)
        return;
    k->renewed = rules_take(h->rules, key == RULES_OUTAGE ? DELTA_STALE : DELTA_ADDED);
    k->renewed_uid = k->renewed && !k->excused && !k->told_end ? k->told.uid : 0;
}

void restart_oracle_renew(struct restart_oracle *w, size_t hook)
{
    struct restart_oracle_hook *h = &w->hooks[hook];

    h->owed = h->renewed = h->renewing = true;
    h->parked = h->was_parked = false;
    h->begun = 0;
    for (size_t s = 0; s < RULES_SOURCES; s++)
        for (size_t key = 0; key < RULES_KEYS; key++)
            renew_key(h, s, key);
}

/* The hook has nothing but its records. */
static void begin_records(struct restart_oracle_hook *h)
{
    h->begun++;
    memset(h->open, 0, sizeof(h->open));
    for (size_t s = 0; s < RULES_SOURCES; s++)
        for (size_t key = 0; key < RULES_KEYS; key++) {
            h->keys[s][key].now = none;
            h->keys[s][key].whole = false;
        }
}

static void begin_hook(struct restart_oracle *w, struct restart_oracle_hook *h,
                       const struct hook *is)
{
    if (is->paused != h->was_paused)
        panic("%s: is %spaused, and was %spaused", h->rules->name, is->paused ? "" : "not ",
              h->was_paused ? "" : "not ");
    if (is->paused)
        w->features[FEATURE_KEPT_PAUSE]++;
    h->paused = is->paused;
    begin_records(h);
    h->parked = h->was_parked;
    memcpy(h->was_seen, h->seen, sizeof(h->seen));
    for (size_t s = 0; s < RULES_SOURCES; s++)
        for (size_t key = 0; key < RULES_KEYS; key++)
            h->keys[s][key].parked = h->keys[s][key].was_parked;
}

void restart_oracle_begin(struct restart_oracle *w, const struct hooks *hooks)
{
    for (size_t i = 0; i < HOOKS; i++) {
        w->hooks[i].absent = rules_find(hooks, i) == NULL;
        if (!w->hooks[i].absent)
            begin_hook(w, &w->hooks[i], rules_find(hooks, i));
    }
    w->loading = true;
}

void restart_oracle_loaded(struct restart_oracle *w)
{
    w->loading = false;
}

/* ---- Changes. */

static bool differs(const struct rules *r, const struct api_object *a, const struct api_object *b)
{
    unsigned paths = api_differences(a, b);

    return a->uid != b->uid || (r->narrow ? (paths & API_PATH_VALUE) != 0 : paths != 0);
}

/* The end of this incarnation, which the hook does not take: if the object comes back, it may be delivered
 * as new. Another one that was skipped before stays skipped: its own end may still be due when it is
 * back. */
static void forget(struct restart_oracle_key *k, uint64_t uid)
{
    k->handled = none;
    if (k->skipped.uid == uid)
        k->skipped = none;
    k->renewed_uid = 0;
    k->excused = true;
}

static void note_end(struct restart_oracle_hook *h, struct restart_oracle_key *k,
                     enum delta_type type)
{
    uint64_t uid = k->now.uid;

    k->now = none;
    if (!rules_take(h->rules, type))
        forget(k, uid);
}

struct change {
    size_t key;
    enum delta_type type;
    struct api_object is; /* only the uid is set if the object is bare, or gone */
    bool bare;
};

/* The state of the object that counts as delivered: the told one; or the one that the hook has skipped;
 * or, for a hook that takes no ADDED, whatever the object was before, as it needs no run. */
static const struct api_object *delivered(const struct restart_oracle_hook *h,
                                          const struct restart_oracle_key *k,
                                          const struct api_object *was)
{
    bool accepts = !rules_take(h->rules, DELTA_ADDED) && was->uid == k->now.uid;

    if (k->now.uid == 0 || k->told.uid == k->now.uid)
        return &k->told;
    if (k->skipped.uid == k->now.uid)
        return &k->skipped;
    return accepts ? was : &k->told;
}

/* Does the change un-park the key: is the event of its last run no longer due, or another event
 * due? */
static bool is_unparked(const struct restart_oracle_hook *h, const struct restart_oracle_key *k,
                        const struct api_object *was)
{
    bool hears = rules_take(h->rules, DELTA_ADDED) || rules_take(h->rules, DELTA_MODIFIED);

    if (k->told_end)
        return k->now.uid != 0 && (hears || k->now.uid == k->told.uid);
    return differs(h->rules, &k->now, delivered(h, k, was));
}

/* The events that begin and end an incarnation of a key. */
struct life {
    enum delta_type begin, end;
};

/* Is an event due for the key, as it differs from what was delivered? If the hook takes none, a batch or
 * snapshot stays parked because of other keys. */
static bool is_due(const struct restart_oracle_hook *h, const struct restart_oracle_key *k,
                   const struct life *l, const struct api_object *was)
{
    bool again = k->told.uid == k->now.uid && !k->done;

    if (k->now.uid == 0)
        return rules_take(h->rules, l->end);
    if (k->told_end || delivered(h, k, was)->uid != k->now.uid)
        return rules_take(h->rules, l->begin);
    return rules_take(h->rules, DELTA_MODIFIED) || (again && rules_take(h->rules, l->begin));
}

static void note_change(struct restart_oracle *w, struct restart_oracle_hook *h, size_t source,
                        const struct change *c)
{
    struct restart_oracle_key *k = &h->keys[source][c->key];
    /* The view of an earlier process may not have shown the object. */
    bool anew = !w->loading || h->rules->sources[source] == VIEW_ORACLE;

    const struct life l = {c->key == RULES_OUTAGE ? DELTA_STALE : DELTA_ADDED, c->type};
    const struct api_object was = k->now;

    k->whole = k->whole || (w->loading && !c->bare && !differs(h->rules, &c->is, &k->handled));
    k->moved = k->moved || rules_is_end(c->type) || differs(h->rules, &c->is, &k->told);
    if (rules_is_end(c->type)) {
        note_end(h, k, c->type);
    } else {
        k->now = c->is;
        h->lives[source][c->is.uid].ended = !anew && h->lives[source][c->is.uid].ended;
    }
    if (!h->open[source] || h->replaced || !is_unparked(h, k, &was))
        return;
    k->parked = false;
    h->parked = h->parked && !is_due(h, k, &l, &was);
}

static void note_from(struct restart_oracle *w, struct restart_oracle_hook *h, size_t number,
                      const struct change *c)
{
    for (size_t s = 0; s < RULES_SOURCES && !h->absent; s++)
        if (h->rules->sources[s] == number)
            note_change(w, h, s, c);
}

void restart_oracle_delta(struct restart_oracle *w, size_t number, const struct delta *d)
{
    struct change c = {
        .key = api_find(object_key(d->object)), .type = d->type, .is.uid = answer_uid(d->object)};

    c.bare = object_is_bare(d->object);
    if (!c.bare)
        c.is = answer_read(d->object);
    else if (w->loading)
        w->features[FEATURE_BARE]++;
    for (size_t i = 0; i < HOOKS; i++)
        note_from(w, &w->hooks[i], number, &c);
}

void restart_oracle_stale(struct restart_oracle *w, size_t number, bool stale)
{
    const struct change c = {
        .key = RULES_OUTAGE, .type = stale ? DELTA_STALE : DELTA_FRESH, .is = {.uid = 1}};

    for (size_t i = 0; i < HOOKS; i++)
        if (rules_take_outages(w->hooks[i].rules))
            note_from(w, &w->hooks[i], number, &c);
}

void restart_oracle_order(struct restart_oracle *w, size_t hook, size_t key)
{
    for (size_t s = 0; s < RULES_SOURCES; s++)
        for (size_t i = 0; i < RULES_KEYS; i++)
            if (i == key || key == RULES_KEYS)
                w->hooks[hook].keys[s][i].moved = true;
}

void restart_oracle_pause(struct restart_oracle *w, size_t hook, bool paused)
{
    w->hooks[hook].paused = paused;
    restart_oracle_put(w, &w->hooks[hook].was_paused, paused);
}

/* Only objects that exist when a source is seen for the first time may be skipped. */
static void skip(struct restart_oracle *w, struct restart_oracle_hook *h, size_t source)
{
    for (size_t key = 0; key < API_KEYS; key++)
        h->keys[source][key].skipped = h->keys[source][key].now;
    if (h->was_seen[source])
        panic("%s: skips what is there once more", h->rules->name);
    w->features[FEATURE_KEPT_SKIP]++;
}

static void see_key(struct restart_oracle_hook *h, struct restart_oracle_key *k,
                    const struct life *l)
{
    if (is_unparked(h, k, &k->now)) {
        k->parked = false;
        h->parked = h->parked && !is_due(h, k, l, &k->now);
    }
    if (k->now.uid == 0 && !rules_take(h->rules, l->end))
        forget(k, k->skipped.uid);
}

static void see(struct restart_oracle *w, struct restart_oracle_hook *h, size_t source)
{
    static const struct life object = {DELTA_ADDED, DELTA_DELETED};
    static const struct life outage = {DELTA_STALE, DELTA_FRESH};

    h->open[source] = true;
    for (size_t key = 0; key < RULES_KEYS; key++)
        see_key(h, &h->keys[source][key], key == RULES_OUTAGE ? &outage : &object);
    h->owed = h->owed || h->lacks;
    if (h->was_seen[source])
        return;
    restart_oracle_put(w, &h->seen[source], true);
    if (h->rules->existing == HOOK_EXISTING_SKIP)
        skip(w, h, source);
    else
        h->owed = true;
}

void restart_oracle_look(struct restart_oracle *w, const struct hooks *hooks)
{
    for (size_t i = 0; i < hooks->n; i++) {
        const struct hook *is = hooks->v[i];

        for (size_t s = 0; s < RULES_SOURCES; s++)
            if (is->queue.sources[s].is_open && !w->hooks[is->index].open[s])
                see(w, &w->hooks[is->index], s);
    }
}

/* ---- A reload. */

void restart_oracle_drop(struct restart_oracle *w, size_t hook)
{
    w->hooks[hook].absent = w->hooks[hook].was_absent = true;
}

void restart_oracle_replace(struct restart_oracle *w, size_t hook)
{
    w->hooks[hook].replaced = true;
}

void restart_oracle_begin_hook(struct restart_oracle *w, const struct hook *is)
{
    struct restart_oracle_hook *h = &w->hooks[is->index];

    if (is->paused != h->paused)
        panic("%s: is %spaused after a reload", h->rules->name, is->paused ? "" : "not ");
    h->absent = h->replaced = false;
    h->owed = h->owed || h->lacks;
    for (size_t s = 0; s < RULES_SOURCES; s++)
        h->was_seen[s] = h->seen[s] || h->open[s];
    begin_records(h);
}

void restart_oracle_unpark(struct restart_oracle *w, size_t hook)
{
    restart_oracle_park_whole(w, &w->hooks[hook], false);
    for (size_t s = 0; s < RULES_SOURCES; s++)
        for (size_t key = 0; key < RULES_KEYS; key++)
            restart_oracle_set_parked(w, &w->hooks[hook].keys[s][key], false);
}

void restart_oracle_show(struct restart_oracle *w, size_t hook, size_t source,
                         const struct object *o)
{
    struct change c = {.key = RULES_OUTAGE, .type = DELTA_STALE, .is = {.uid = 1}};

    if (o != NULL)
        c = (struct change){.key = api_find(object_key(o)),
                            .type = DELTA_ADDED,
                            .is = {.uid = answer_uid(o)},
                            .bare = object_is_bare(o)};
    if (o != NULL && !c.bare)
        c.is = answer_read(o);
    if (o == NULL && !rules_take_outages(w->hooks[hook].rules))
        return;
    w->loading = true;
    note_change(w, &w->hooks[hook], source, &c);
    w->loading = false;
    w->hooks[hook].lives[source][c.is.uid].ended = false; /* it is there */
}

/* ---- A process dies. */

static void lose(struct restart_oracle *w, struct restart_oracle_key *k)
{
    if (k->number > w->disk->written) {
        k->excused = true;
        k->renewed_uid = 0;
        w->features[FEATURE_KEPT_LATE]++;
    }
    k->number = 0;
}

void restart_oracle_crash(struct restart_oracle *w)
{
    for (size_t i = 0; i < HOOKS; i++) {
        struct restart_oracle_hook *h = &w->hooks[i];

        h->owed = h->owed || h->lacks || h->number > w->disk->written;
        h->number = 0;
        for (size_t s = 0; s < RULES_SOURCES; s++)
            for (size_t key = 0; key < RULES_KEYS; key++)
                lose(w, &h->keys[s][key]);
    }
}

/* ---- All is quiet. */

void restart_oracle_check_quiet(const struct restart_oracle *w, size_t hook)
{
    if (w->hooks[hook].cut_off)
        panic("%s: a snapshot was cut off, and there is no other", w->hooks[hook].rules->name);
}

bool restart_oracle_may_park(const struct restart_oracle *w, size_t hook, size_t source, size_t key)
{
    const struct restart_oracle_hook *h = &w->hooks[hook];

    return h->rules->mode == HOOK_OBJECT ? h->keys[source][key].parked : h->parked;
}

bool restart_oracle_skips(const struct restart_oracle *w, size_t hook, size_t source, size_t key,
                          const struct api_object *now)
{
    const struct restart_oracle_hook *h = &w->hooks[hook];
    const struct api_object *skipped = &h->keys[source][key].skipped;

    return skipped->uid == now->uid &&
           (!rules_take(h->rules, DELTA_MODIFIED) || !differs(h->rules, skipped, now));
}
