/* SPDX-License-Identifier: Apache-2.0 */
#include "persist/hook.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/panic.h"
#include "persist/row.h"

/* Keys of ROW_OWED. They are on disk: never change them. */
static const char owed_snapshot[] = "snapshot";
static const char owed_renewal[] = "renewal";
static const char owed_apply[] = "apply";

/* Finds the rows of the hook and of its sources, and makes those that are missing. */
static void find_items(struct persist_hook *mh, const enum persist_bytes *bytes, struct ids *ids,
                       struct batch *b)
{
    const struct hook *h = mh->hook;

    mh->item = ids_use(ids, b, ROW_KIND_HOOK, 0, str_c(h->name));
    mh->sources = mem_array(h->source_count + 1, sizeof(*mh->sources));
    for (size_t i = 0; i < h->source_count; i++)
        mh->sources[i] = (struct persist_source){
            .item = ids_use(ids, b, ROW_KIND_SOURCE, mh->item, str_c(h->sources[i].name)),
            .bytes = bytes[i]};
}

void persist_hook_fini(struct persist_hook *mh)
{
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

/* Puts what the hook owes as a whole, as far as it has changed. Returns whether a pause has. */
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

static void put_digest(const struct persist_hook *mh, enum row_what what, struct digest d,
                       struct batch *b)
{
    struct buf text = {0};

    persist_row_put_digest(&text, d);
    batch_fact(b, &(struct row_fact){.item = mh->item, .what = what, .value = buf_str(&text)});
    buf_free(&text);
}

/* Puts the facts that do not change while informerd runs: settings, boot, programs. */
static void put_facts(const struct persist_hook *mh, struct batch *b)
{
    put_digest(mh, ROW_SETTINGS, mh->settings, b);
    if (mh->knows_program)
        put_digest(mh, ROW_PROGRAM, mh->program, b);
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

static void load_fact(struct persist_hook *mh, const struct restore_fact *fact,
                      struct hook_record *persist)
{
    struct files_seen seen = {.path = fact->key};
    struct str value = fact->value;
    struct str source;

    if (fact->what == ROW_OWED && str_is(fact->key, owed_snapshot))
        persist->owes_snapshot = true;
    if (fact->what == ROW_OWED && str_is(fact->key, owed_renewal))
        persist->owes_renewal = true;
    if (fact->what == ROW_OWED && str_is(fact->key, owed_apply))
        persist->owes_apply = true;
    if (fact->what == ROW_FORGOTTEN)
        str_take_u64(&value, &persist->forgotten);
    if (fact->what == ROW_PAUSED)
        persist->is_paused = true;
    if (fact->what != ROW_OUTPUT || !persist_row_file(fact->value, &seen, &source))
        return;
    /* A file without a source is one of modes batch and snapshot. In mode object it is a stray
     * then: source_named() finds no source without a name. */
    seen.source =
        source.n > 0 || mh->hook->rules.mode == HOOK_OBJECT ? source_named(mh->hook, source) : 0;
    seen.source_name = source;
    strays_restore(mh->hook, &seen);
}

/* Returns why the hook runs again for all objects, or NULL if it does not: its settings have
 * changed, or the effects of its runs may have ended with the boot or the process in which they
 * were made (docs/design.md "Renewal"). */
static const char *renewal(const struct persist_hook *mh, enum persist_effect effect,
                           const struct restore *r)
{
    if (!persist_row_is_digest(restore_value(r, mh->item, ROW_SETTINGS), mh->settings))
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

/* Gives the hook what an earlier process has left of it. */
static void load_rows(struct persist_hook *mh, const struct restore *r, struct persist_now now,
                      struct batch *b)
{
    struct hook_record persist = {0};
    size_t n;
    const struct restore_fact *facts = restore_facts(r, mh->item, &n);
    for (size_t i = 0; i < n; i++)
        load_fact(mh, &facts[i], &persist);
    load_sources(mh, r, now.wall_ns, b);
    hook_record_restore(mh->hook, &persist, now.ms);
    /* The records above are on disk as they are. */
    mh->put = persist;
    mh->knows_program = persist_row_digest(restore_value(r, mh->item, ROW_PROGRAM), &mh->program);
}

void persist_hook_load(struct persist_hook *mh, const struct persist_hook_params *params,
                       const enum persist_bytes *bytes, const struct restore *r,
                       struct persist_now now, struct batch *b)
{
    *mh = (struct persist_hook){
        .hook = params->hook, .settings = params->settings, .boot_id = now.boot_id};
    find_items(mh, bytes, r->ids, b);
    /* Without this fact no earlier process had the hook. */
    if (restore_value(r, mh->item, ROW_SETTINGS).p != NULL) {
        load_rows(mh, r, now, b);
        const char *why = renewal(mh, params->effect, r);
        if (why != NULL)
            renew(mh, why);
    }
    put_facts(mh, b);
}

void persist_hook_program(struct persist_hook *mh, struct digest now, struct batch *b)
{
    /* A digest that is known for the first time is only noted: nothing shows that the programs were
     * others before. */
    bool same = mh->knows_program && digest_eq(mh->program, now);
    bool other = mh->knows_program && !same;

    if (same)
        return;
    mh->program = now;
    mh->knows_program = true;
    put_digest(mh, ROW_PROGRAM, now, b);
    if (other)
        renew(mh, "its programs or files have changed");
}

void persist_hook_forget(struct persist_hook *mh, size_t source, struct batch *b)
{
    batch_drop_fact(b, mh->sources[source].item, ROW_SEEN, (struct str){0});
}
