/* SPDX-License-Identifier: Apache-2.0 */
#include "persist/hook.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/panic.h"
#include "persist/row.h"

/* Keys of ROW_OWED; the last one says that no run is due before a change. They are on disk: never
 * change them. */
static const char owed_snapshot[] = "snapshot";
static const char owed_renewal[] = "renewal";
static const char owed_apply[] = "apply";
static const char owed_at_change[] = "parked";

static void put_cluster(const struct persist_source *s, struct batch *b)
{
    batch_fact(
        b, &(struct row_fact){.item = s->item, .what = ROW_CLUSTER, .value = str_c(s->cluster)});
}

/* The source of the hook with these rows; NULL = it has no such source. */
static const struct persist_source *find_source(const struct persist_hook *mh, uint64_t item)
{
    for (size_t i = 0; i < mh->source_count; i++)
        if (mh->sources[i].item == item)
            return &mh->sources[i];
    return NULL;
}

/* The name of the cluster that the rows of a source are from, as the hook before knows it (NULL: there
 * is none), or the state; a copy, or NULL. */
static char *cluster_of(uint64_t item, const struct persist_hook *before, const struct restore *r)
{
    const struct persist_source *was = before != NULL ? find_source(before, item) : NULL;
    struct str name = restore_value(r, item, ROW_CLUSTER);

    if (was != NULL)
        name = str_c(was->cluster);
    return name.p != NULL ? mem_strndup(name.p, name.n) : NULL;
}

/* Finds the rows of the hook and of its sources, and makes those that are missing. A source whose cluster
 * is not known has no rows, or has them from a release that did not note it: as those of its watch. */
static void find_items(struct persist_hook *mh, const struct persist_source_params *sources,
                       const struct persist_hook *before, const struct restore *r, struct batch *b)
{
    const struct hook *h = mh->hook;

    mh->item = ids_use(r->ids, b, ROW_KIND_HOOK, 0, str_c(h->name));
    mh->sources = mem_array(h->source_count + 1, sizeof(*mh->sources));
    mh->source_count = h->source_count;
    for (size_t i = 0; i < h->source_count; i++) {
        struct persist_source *s = &mh->sources[i];

        s->item = ids_use(r->ids, b, ROW_KIND_SOURCE, mh->item, str_c(h->sources[i].name));
        s->bytes = sources[i].bytes;
        s->cluster = cluster_of(s->item, before, r);
        if (s->cluster == NULL)
            persist_hook_is_of(mh, i, sources[i].cluster, b);
    }
}

void persist_hook_fini(struct persist_hook *mh)
{
    for (size_t i = 0; i < mh->source_count; i++)
        free(mh->sources[i].cluster);
    free(mh->sources);
}

/* ---- From the hook to the state. */

struct putting {
    struct persist_hook *mh;
    struct batch *b;
};

static void put_delivery(void *arg, size_t source, const struct delivery_record *m)
{
    const struct putting *p = arg;
    const struct persist_source *s = &p->mh->sources[source];

    if (s->bytes == PERSIST_NONE)
        return;
    persist_row_put_delivery(p->b, s->item, m, s->bytes);
}

static void drop_delivery(void *arg, size_t source, struct str key, struct str uid)
{
    const struct putting *p = arg;

    batch_drop_delivery(p->b, p->mh->sources[source].item, key, uid);
}

static void put_seen(void *arg, size_t source)
{
    const struct putting *p = arg;
    const struct persist_source *s = &p->mh->sources[source];

    if (s->bytes != PERSIST_NONE)
        batch_fact(p->b, &(struct row_fact){.item = s->item, .what = ROW_SEEN});
}

/* A file whose source is not configured any more keeps the name of that source: the source may come
 * back. The one file of modes batch and snapshot has no source. */
static void put_file(void *arg, const struct files_seen *seen)
{
    const struct putting *p = arg;
    const struct hook *h = p->mh->hook;
    struct str source =
        seen->source < h->source_count ? str_c(h->sources[seen->source].name) : seen->source_name;

    if (seen->source < h->source_count && seen->key.n == 0)
        source = str_c("");
    struct buf text = {0};

    persist_row_put_file(&text, seen, source);
    batch_fact(p->b, &(struct row_fact){.item = p->mh->item,
                                        .what = ROW_OUTPUT,
                                        .key = seen->path,
                                        .value = buf_str(&text)});
    buf_free(&text);
}

static void drop_file(void *arg, struct str path)
{
    const struct putting *p = arg;

    batch_drop_fact(p->b, p->mh->item, ROW_OUTPUT, path);
}

/* A flag is a fact that is there or not; it has no value. */
static void put_flag(const struct putting *p, enum row_what what, const char *key, bool is)
{
    if (is)
        batch_fact(p->b, &(struct row_fact){.item = p->mh->item, .what = what, .key = str_c(key)});
    else
        batch_drop_fact(p->b, p->mh->item, what, str_c(key));
}

static void put_forgotten(const struct putting *p, uint64_t n)
{
    struct buf text = {0};

    buf_printf(&text, "%" PRIu64, n);
    batch_fact(p->b, &(struct row_fact){
                         .item = p->mh->item, .what = ROW_FORGOTTEN, .value = buf_str(&text)});
    buf_free(&text);
}

/* Puts the record of the hook as a whole, as far as it has changed. Returns whether a pause has changed. */
static bool put_record(const struct putting *p)
{
    struct hook_record now = hook_record_of(p->mh->hook);
    struct hook_record was = p->mh->put;

    p->mh->put = now;
    if (now.owes_snapshot != was.owes_snapshot)
        put_flag(p, ROW_OWED, owed_snapshot, now.owes_snapshot);
    if (now.owes_renewal != was.owes_renewal)
        put_flag(p, ROW_OWED, owed_renewal, now.owes_renewal);
    if (now.owes_apply != was.owes_apply)
        put_flag(p, ROW_OWED, owed_apply, now.owes_apply);
    if (now.is_parked != was.is_parked)
        put_flag(p, ROW_OWED, owed_at_change, now.is_parked);
    if (now.forgotten != was.forgotten)
        put_forgotten(p, now.forgotten);
    if (now.is_paused != was.is_paused)
        put_flag(p, ROW_PAUSED, "", now.is_paused);
    return now.is_paused != was.is_paused;
}

bool persist_hook_put(struct persist_hook *mh, struct batch *b)
{
    static const struct delivery_log_sink deliveries = {put_delivery, drop_delivery, put_seen};
    static const struct files_sink files = {put_file, drop_file};
    struct putting p = {mh, b};

    delivery_log_put(&mh->hook->queue, &deliveries, &p);
    /* Before files_put(): the path of a stray may be the file of another key now. */
    strays_put(&mh->hook->strays, &files, &p);
    files_put(&mh->hook->files, &files, &p);
    return put_record(&p);
}

/* A digest that the release before looks at, or may have written. */
static void put_former(const struct persist_hook *mh, enum row_what what, struct digest d,
                       struct batch *b)
{
    struct buf text = {0};

    persist_row_put_digest(&text, d);
    batch_fact(b, &(struct row_fact){.item = mh->item, .what = what, .value = buf_str(&text)});
    buf_free(&text);
}

/* Puts the digest of this release as the fact `now`, and the former one as the fact `former`. */
static void put_digests(const struct persist_hook *mh, enum row_what now, enum row_what former,
                        const struct digest_forms *d, struct batch *b)
{
    struct buf text = {0};

    put_former(mh, former, d->former, b);
    persist_row_put_digest_beside(&text, d);
    batch_fact(b, &(struct row_fact){.item = mh->item, .what = now, .value = buf_str(&text)});
    buf_free(&text);
}

/* Reads the rows that put_digests() has put. Without `former` nothing is known. A digest of this release
 * counts only with the former one beside which it was written: else the release before has run since. */
static enum persist_knows take_digests(const struct restore *r, uint64_t item, enum row_what now,
                                       enum row_what former, struct digest_forms *d)
{
    if (!persist_row_digest(restore_value(r, item, former), &d->former))
        return PERSIST_KNOWS_NOTHING;
    if (!persist_row_digest_beside(restore_value(r, item, now), d->former, &d->now))
        return PERSIST_KNOWS_FORMER;
    return PERSIST_KNOWS_BOTH;
}

/* Is the thing unchanged? Both releases' digests were made of the same thing at the same time, so each
 * of them can tell. */
static bool is_same(enum persist_knows knows, const struct digest_forms *was,
                    const struct digest_forms *now)
{
    return knows == PERSIST_KNOWS_BOTH ? digest_eq(was->now, now->now)
                                       : digest_eq(was->former, now->former);
}

/* Puts the facts that do not change while informerd runs: settings, boot, programs. */
static void put_facts(const struct persist_hook *mh, struct batch *b)
{
    put_digests(mh, ROW_RENEWING, ROW_SETTINGS, &mh->settings, b);
    if (mh->knows_program == PERSIST_KNOWS_BOTH)
        put_digests(mh, ROW_CONTENT, ROW_PROGRAM, &mh->program, b);
    if (mh->knows_program == PERSIST_KNOWS_FORMER)
        put_former(mh, ROW_PROGRAM, mh->program.former, b);
    batch_fact(b,
               &(struct row_fact){.item = mh->item, .what = ROW_BOOT, .value = str_c(mh->boot_id)});
}

/* mh->put is cleared, so that put_record() finds everything changed that is set. */
void persist_hook_lost(struct persist_hook *mh, struct batch *b)
{
    delivery_log_touch_all(&mh->hook->queue);
    files_touch_all(&mh->hook->files);
    strays_touch_all(&mh->hook->strays);
    mh->put = (struct hook_record){0};
    put_facts(mh, b);
    for (size_t i = 0; i < mh->source_count; i++)
        if (mh->sources[i].cluster != NULL)
            put_cluster(&mh->sources[i], b);
}

/* ---- From the state to the hook. */

/* Is the body of a last state on disk that `persist` does not allow any more? */
static bool tells_too_much(const struct persist_source *s, const struct delivery_record *m)
{
    return s->bytes != PERSIST_FULL && m->last != NULL && !object_is_bare(m->last);
}

static void load_deliveries(struct persist_hook *mh, size_t source, const struct restore *r,
                            uint64_t wall_ns, struct batch *b)
{
    const struct persist_source *s = &mh->sources[source];
    uint64_t item = s->item;
    size_t n;
    const struct restore_delivery *deliveries = restore_deliveries(r, item, &n);

    for (size_t i = 0; i < n; i++) {
        if (tells_too_much(s, &deliveries[i].delivery))
            persist_row_put_delivery(b, item, &deliveries[i].delivery, s->bytes);
        if (!delivery_log_restore(&mh->hook->queue, source, &deliveries[i].delivery, wall_ns))
            log_debug("delivery record ignored: it cannot be used", KV_STR("hook", mh->hook->name),
                      KV_VIEW("key", deliveries[i].delivery.key));
    }
    if (restore_value(r, item, ROW_SEEN).p != NULL)
        delivery_log_restore_seen(&mh->hook->queue, source);
}

/* With persist = "none" nothing is known over restarts, and all objects are new. Records that an
 * earlier process put with another setting are dropped. */
static void drop_deliveries(const struct persist_hook *mh, size_t source, const struct restore *r,
                            struct batch *b)
{
    uint64_t item = mh->sources[source].item;
    size_t n;
    const struct restore_delivery *deliveries = restore_deliveries(r, item, &n);

    for (size_t i = 0; i < n; i++)
        batch_drop_delivery(b, item, deliveries[i].delivery.key, deliveries[i].delivery.uid);
    batch_drop_fact(b, item, ROW_SEEN, (struct str){0});
}

static void load_sources(struct persist_hook *mh, const struct restore *r, uint64_t wall_ns,
                         struct batch *b)
{
    for (size_t i = 0; i < mh->hook->source_count; i++)
        if (mh->sources[i].bytes == PERSIST_NONE)
            drop_deliveries(mh, i, r, b);
        else
            load_deliveries(mh, i, r, wall_ns, b);
}

static size_t source_named(const struct hook *h, struct str name)
{
    size_t i = 0;

    while (i < h->source_count && !str_is(name, h->sources[i].name))
        i++;
    return i < h->source_count ? i : SIZE_MAX;
}

/* Does the state say which events of the source the hook got, or is that no source of the hook any more? */
static bool has_deliveries(const struct persist_hook *mh, const struct restore *r, size_t source)
{
    size_t n;

    if (source == SIZE_MAX)
        return true;
    (void)restore_deliveries(r, mh->sources[source].item, &n);
    return n > 0 || restore_value(r, mh->sources[source].item, ROW_SEEN).p != NULL;
}

void persist_hook_load_file(struct persist_hook *mh, const struct restore *r,
                            const struct files_seen *seen)
{
    struct files_seen own = *seen;

    /* A file without a source is one of modes batch and snapshot. In mode object it is a stray
     * then: source_named() finds no source without a name. */
    own.source = seen->source_name.n > 0 || mh->hook->rules.mode == HOOK_OBJECT
                     ? source_named(mh->hook, seen->source_name)
                     : 0;
    /* Whether the object of the file still exists is found out by its deliveries. If the state has none
     * (persist = "none") or has forgotten them (GRACE_S of persist), as a stray. */
    if (own.source != SIZE_MAX && mh->sources[own.source].bytes == PERSIST_NONE &&
        strays_restore_unknown(mh->hook, &own))
        return;
    if (has_deliveries(mh, r, own.source) || !strays_restore_alone(mh->hook, &own))
        strays_restore(mh->hook, &own);
}

static void load_fact(struct persist_hook *mh, const struct restore *r,
                      const struct restore_fact *fact, struct hook_record *persist)
{
    struct files_seen seen = {.path = fact->key};
    struct str value = fact->value;

    if (fact->what == ROW_OWED && str_is(fact->key, owed_snapshot))
        persist->owes_snapshot = true;
    if (fact->what == ROW_OWED && str_is(fact->key, owed_renewal))
        persist->owes_renewal = true;
    if (fact->what == ROW_OWED && str_is(fact->key, owed_apply))
        persist->owes_apply = true;
    if (fact->what == ROW_OWED && str_is(fact->key, owed_at_change))
        persist->is_parked = true;
    if (fact->what == ROW_FORGOTTEN)
        str_take_u64(&value, &persist->forgotten);
    if (fact->what == ROW_PAUSED)
        persist->is_paused = true;
    if (fact->what == ROW_OUTPUT && persist_row_file(fact->value, &seen, &seen.source_name))
        persist_hook_load_file(mh, r, &seen);
}

/* Returns why the hook runs again for all objects, or NULL if it does not: its settings have
 * changed, or the effects of its runs may have ended with the boot or the process in which they
 * were made (docs/design.md "Renewal"). */
static const char *renewal(const struct persist_hook *mh, enum persist_effect effect,
                           const struct restore *r)
{
    struct digest_forms was;
    enum persist_knows knows = take_digests(r, mh->item, ROW_RENEWING, ROW_SETTINGS, &was);

    if (knows == PERSIST_KNOWS_NOTHING || !is_same(knows, &was, &mh->settings))
        return "its settings have changed";
    switch (effect) {
    case PERSIST_EFFECT_PROCESS:
        return "informerd was started (effect)";
    case PERSIST_EFFECT_BOOT:
        if (mh->boot_id[0] == '\0' || !str_is(restore_value(r, mh->item, ROW_BOOT), mh->boot_id))
            return "the machine was booted (effect)";
        break;
    case PERSIST_EFFECT_DISK:
        break;
    }
    return NULL;
}

static void renew(struct persist_hook *mh, const char *why)
{
    log_info("hook runs again for all objects", KV_STR("hook", mh->hook->name),
             KV_STR("reason", "renew"), KV_STR("because", why));
    hook_record_renew(mh->hook);
    hook_record_renew_why(mh->hook, why);
}

/* Gives the hook the rows that an earlier process has left of it. Of a hook that is not known there are
 * files at most. */
static void load_rows(struct persist_hook *mh, bool is_known, const struct restore *r,
                      struct persist_now now, struct batch *b)
{
    struct hook_record persist = {0};
    size_t n;
    const struct restore_fact *facts = restore_facts(r, mh->item, &n);
    for (size_t i = 0; i < n; i++)
        load_fact(mh, r, &facts[i], &persist);
    if (!is_known)
        return;
    load_sources(mh, r, now.wall_ns, b);
    hook_record_restore(mh->hook, &persist, now.ms);
    /* The records above are on disk as they are. */
    mh->put = persist;
    mh->knows_program = take_digests(r, mh->item, ROW_CONTENT, ROW_PROGRAM, &mh->program);
}

void persist_hook_load(struct persist_hook *mh, const struct persist_hook_params *params,
                       const struct persist_source_params *sources, const struct restore *r,
                       struct persist_now now, struct batch *b)
{
    *mh = (struct persist_hook){
        .hook = params->hook, .settings = params->settings, .boot_id = now.boot_id};
    find_items(mh, sources, NULL, r, b);
    /* Without this fact no earlier process had the hook, or a person had it forgotten: then some of its
     * files may be left. */
    bool is_known = restore_value(r, mh->item, ROW_SETTINGS).p != NULL;
    load_rows(mh, is_known, r, now, b);
    if (is_known) {
        const char *why = renewal(mh, params->effect, r);
        if (why != NULL)
            renew(mh, why);
    }
    put_facts(mh, b);
}

/* A hook none of whose programs and files counts by its content any more cannot have changed, whatever
 * the release before has compared. */
static bool has_no_content(const struct digest_forms *d)
{
    return digest_eq(d->now, digest_of("", 0));
}

/* Digests that are known for the first time are only noted: nothing shows that the programs were
 * others before. */
bool persist_hook_has_changed(const struct persist_hook *mh, const struct digest_forms *now)
{
    return mh->knows_program != PERSIST_KNOWS_NOTHING &&
           !is_same(mh->knows_program, &mh->program, now) && !has_no_content(now);
}

void persist_hook_program(struct persist_hook *mh, const struct digest_forms *now, struct batch *b)
{
    bool has_changed = persist_hook_has_changed(mh, now);

    if (mh->knows_program == PERSIST_KNOWS_BOTH && is_same(PERSIST_KNOWS_BOTH, &mh->program, now) &&
        digest_eq(mh->program.former, now->former))
        return;
    mh->program = *now;
    mh->knows_program = PERSIST_KNOWS_BOTH;
    put_digests(mh, ROW_CONTENT, ROW_PROGRAM, now, b);
    if (has_changed)
        renew(mh, "its programs or files have changed");
}

void persist_hook_forget(struct persist_hook *mh, size_t source, struct batch *b)
{
    struct persist_source *s = &mh->sources[source];

    batch_drop_fact(b, s->item, ROW_SEEN, (struct str){0});
    batch_drop_fact(b, s->item, ROW_CLUSTER, (struct str){0});
    free(s->cluster);
    s->cluster = NULL;
}

void persist_hook_is_of(struct persist_hook *mh, size_t source, const char *cluster,
                        struct batch *b)
{
    struct persist_source *s = &mh->sources[source];

    if (str_same(s->cluster, cluster))
        return;
    free(s->cluster);
    s->cluster = mem_strdup(cluster);
    put_cluster(s, b);
}

/* ---- A reload. */

void persist_hook_put_all(struct persist_hook *mh, struct batch *b)
{
    persist_hook_lost(mh, b);
    (void)persist_hook_put(mh, b);
}

static void drop_row(void *arg, size_t source, const struct delivery_record *m)
{
    drop_delivery(arg, source, m->key, m->uid);
}

static void see_nothing(void *arg, size_t source)
{
    (void)arg;
    (void)source;
}

/* Other watches may allow other bodies in the rows: all of them are put again, and those of a source
 * of which nothing is to be kept any more are dropped. */
static void put_bytes(struct persist_hook *mh, struct batch *b)
{
    static const struct delivery_log_sink drops = {drop_row, drop_delivery, see_nothing};
    struct putting p = {mh, b};

    delivery_log_touch_all(&mh->hook->queue);
    delivery_log_put(&mh->hook->queue, &drops, &p);
    for (size_t i = 0; i < mh->source_count; i++)
        if (mh->sources[i].bytes == PERSIST_NONE)
            persist_hook_forget(mh, i, b);
    delivery_log_touch_all(&mh->hook->queue);
}

static uint64_t seconds(struct persist_now now)
{
    return now.wall_ns / 1000000000;
}

void persist_hook_leave(const struct persist_hook *mh, struct ids *ids, struct persist_now now,
                        struct batch *b)
{
    ids_leave(ids, b, mh->item, seconds(now));
    for (size_t i = 0; i < mh->source_count; i++)
        ids_leave(ids, b, mh->sources[i].item, seconds(now));
}

/* The rows of a source that the hook has lost stay for a while: it may come back. */
static void leave_sources(const struct persist_hook *mh, const struct persist_hook *before,
                          struct ids *ids, struct persist_now now, struct batch *b)
{
    for (size_t i = 0; i < before->source_count; i++)
        if (find_source(mh, before->sources[i].item) == NULL)
            ids_leave(ids, b, before->sources[i].item, seconds(now));
}

/* Gives the hook the rows of sources that the hook before did not have. Returns whether a source
 * that it had keeps other bodies now. */
static bool load_new_sources(struct persist_hook *mh, const struct persist_hook *before,
                             const struct restore *r, uint64_t wall_ns, struct batch *b)
{
    bool differs = false;

    for (size_t i = 0; i < mh->source_count; i++) {
        const struct persist_source *s = &mh->sources[i];
        const struct persist_source *was = find_source(before, s->item);

        if (was != NULL)
            differs = differs || was->bytes != s->bytes;
        else if (s->bytes == PERSIST_NONE)
            drop_deliveries(mh, i, r, b);
        else
            load_deliveries(mh, i, r, wall_ns, b);
    }
    return differs;
}

void persist_hook_replaced(struct persist_hook *mh, const struct persist_hook_params *params,
                           const struct persist_source_params *sources, const struct restore *r,
                           struct persist_now now, struct batch *b)
{
    struct persist_hook before = *mh;

    mh->hook = params->hook;
    mh->settings = params->settings;
    find_items(mh, sources, &before, r, b);
    leave_sources(mh, &before, r->ids, now, b);
    if (load_new_sources(mh, &before, r, now.wall_ns, b))
        put_bytes(mh, b);
    if (!digest_eq(before.settings.now, mh->settings.now))
        renew(mh, "its settings have changed");
    put_facts(mh, b);
    persist_hook_fini(&before);
}
