/* SPDX-License-Identifier: Apache-2.0 */
#include "persist/watch.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cache/watch_digest.h"

/* How often the time of the last contact is put. The age of a cache that begins stale is known this
 * well. */
#define CONTACT_EVERY_MS ((uint64_t)60 * 1000)

/* Finds the rows of the watch and of its scopes, and makes those that are missing. */
static void find_items(struct persist_watch *mw, struct ids *ids, struct batch *b)
{
    size_t n = watch_scope_count(mw->watch);
    struct buf scope = {0};

    mw->item = ids_use(ids, b, ROW_KIND_WATCH, 0, str_c(mw->name));
    mw->scopes = mem_array(n, sizeof(*mw->scopes));
    for (size_t i = 0; i < n; i++) {
        struct persist_scope *s = &mw->scopes[i];

        buf_clear(&scope);
        watch_put_scope_name(mw->watch, i, &scope);
        *s = (struct persist_scope){.of = mw, .index = i};
        list_init(&s->dirty);
        s->item = ids_use(ids, b, ROW_KIND_SCOPE, mw->item, buf_str(&scope));
    }
    buf_free(&scope);
}

static void free_scopes(struct persist_scope *scopes, size_t n)
{
    for (size_t i = 0; scopes != NULL && i < n; i++) {
        list_remove(&scopes[i].dirty);
        free(scopes[i].version);
        free(scopes[i].contact);
    }
    free(scopes);
}

void persist_watch_fini(struct persist_watch *mw)
{
    free_scopes(mw->scopes, watch_scope_count(mw->watch));
    free(mw->was_of);
    free(mw->name);
}

/* ---- From the watch to the state. */

/* The rows of the watch are from the cluster of this name from now on. */
static void put_cluster(struct persist_watch *mw, const char *name, struct batch *b)
{
    char *was_of = mem_strdup(name);

    batch_fact(b,
               &(struct row_fact){.item = mw->item, .what = ROW_CLUSTER, .value = str_c(was_of)});
    free(mw->was_of);
    mw->was_of = was_of;
}

/* The version of the scope is put before the batch is written (persist_put_versions()). */
static void version_follows(struct persist_scope *s)
{
    if (list_is_empty(&s->dirty))
        list_append(s->of->dirty, &s->dirty);
}

void persist_watch_delta(struct persist_watch *mw, const struct delta *d, struct batch *b)
{
    struct persist_scope *s = &mw->scopes[watch_scope_of(mw->watch, d->object)];

    if (mw->bytes == PERSIST_NONE)
        return;
    if (d->type == DELTA_DELETED || d->type == DELTA_LEFT)
        batch_drop_object(b, s->item, object_key(d->object));
    else
        persist_row_put(b, s->item, d->object, mw->bytes);
    version_follows(s);
}

/* gone: drops the row. */
static void put_skip(const struct persist_watch *mw, const struct skip *s, bool gone,
                     struct batch *b)
{
    uint64_t item = mw->scopes[s->scope].item;
    struct buf text = {0};

    if (mw->bytes == PERSIST_NONE)
        return;
    persist_row_put_skip(&text, s);
    if (gone)
        batch_drop_fact(b, item, ROW_SKIPPED, s->id);
    else
        batch_fact(b,
                   &(struct row_fact){
                       .item = item, .what = ROW_SKIPPED, .key = s->id, .value = buf_str(&text)});
    buf_free(&text);
}

void persist_watch_skipped(struct persist_watch *mw, const struct skip *s, bool gone,
                           struct batch *b)
{
    put_skip(mw, s, gone, b);
    version_follows(&mw->scopes[s->scope]);
}

/* Appends the version of a scope as text; nothing if nothing is kept, or as long as the version
 * does not stand for all objects (watch_version()). */
static void version_text(struct persist_scope *s, struct buf *out)
{
    const struct persist_watch *mw = s->of;
    const char *rv;
    const char *collection_rv;

    if (mw->bytes == PERSIST_NONE || !watch_version(mw->watch, s->index, &rv, &collection_rv))
        return;
    persist_row_put_version(out, &(struct persist_version){.settings = mw->settings,
                                                           .rv = str_c(rv),
                                                           .collection_rv = str_c(collection_rv)});
}

static void put_text(struct persist_scope *s, struct str text, struct batch *b)
{
    batch_fact(b, &(struct row_fact){.item = s->item, .what = ROW_VERSION, .value = text});
    free(s->version);
    s->version = mem_strndup(text.p, text.n);
}

/* Must the name of the cluster be put? Loaded objects that wait for their cluster to answer
 * (LOADED) may still be from the cluster that they were kept under, so its name stays until
 * then. */
static bool is_of_another_name(const struct persist_watch *mw)
{
    return mw->was_of == NULL ||
           (mw->state != PERSIST_WATCH_LOADED && strcmp(mw->was_of, watch_cluster(mw->watch)) != 0);
}

static void put_version(struct persist_scope *s, struct batch *b)
{
    struct persist_watch *mw = s->of;
    struct buf text = {0};

    version_text(s, &text);
    if (text.len > 0 && (s->version == NULL || !str_is(buf_str(&text), s->version))) {
        if (is_of_another_name(mw))
            put_cluster(mw, watch_cluster(mw->watch), b);
        put_text(s, buf_str(&text), b);
    }
    buf_free(&text);
}

static void put_contact_text(const struct persist_scope *s, struct str text, struct batch *b)
{
    batch_fact(b, &(struct row_fact){.item = s->item, .what = ROW_CONTACT, .value = text});
}

/* The moment ago_ms before now, on both clocks. */
static struct contact contact_at(struct persist_now now, uint64_t ago_ms)
{
    return (struct contact){.wall_ns = now.wall_ns - ago_ms * 1000000,
                            .boot_ns = now.boot_ns - ago_ms * 1000000,
                            .boot_id = str_c(now.boot_id)};
}

static void put_contact(struct persist_scope *s, struct persist_now now, struct batch *b)
{
    uint64_t ms = list_watch_contact_ms(watch_list_watch(s->of->watch, s->index));

    /* No contact yet, or none since the last one was put. */
    if (ms == 0 || ms == s->contact_ms)
        return;
    const struct contact contact = contact_at(now, now.ms - ms);
    struct buf text = {0};

    s->contact_ms = ms;
    contact_put(&text, &contact);
    put_contact_text(s, buf_str(&text), b);
    buf_free(&text);
}

void persist_watch_put_scope(struct persist_scope *s, struct persist_now now, struct batch *b)
{
    list_remove(&s->dirty);
    if (s->of->bytes == PERSIST_NONE)
        return;
    put_version(s, b);
    /* The first contact is put at once, later ones by the sweep: each write costs a row. */
    if (s->contact_ms == 0)
        put_contact(s, now, b);
}

void persist_watch_sweep(struct persist_watch *mw, struct persist_now now, bool all,
                         struct batch *b)
{
    /* Without list_watches the resource is not known yet, and there is no contact. */
    if (mw->bytes == PERSIST_NONE || watch_list_watch_count(mw->watch) == 0)
        return;
    for (size_t i = 0; i < watch_scope_count(mw->watch); i++) {
        struct persist_scope *s = &mw->scopes[i];

        list_remove(&s->dirty);
        put_version(s, b);
        if (all || now.ms - s->contact_ms >= CONTACT_EVERY_MS)
            put_contact(s, now, b);
    }
}

struct putting {
    const struct persist_watch *mw;
    struct batch *b;
    bool gone; /* of skips: drop their rows */
};

static void put_object(void *arg, struct object *o)
{
    const struct putting *p = arg;

    persist_row_put(p->b, p->mw->scopes[watch_scope_of(p->mw->watch, o)].item, o, p->mw->bytes);
}

static void put_objects(const struct persist_watch *mw, struct batch *b)
{
    struct putting p = {.mw = mw, .b = b};

    store_each(watch_store(mw->watch), put_object, &p);
}

static void put_each_skip(void *arg, const struct skip *s)
{
    const struct putting *p = arg;

    put_skip(p->mw, s, p->gone, p->b);
}

static void put_skips(const struct persist_watch *mw, bool gone, struct batch *b)
{
    struct putting p = {mw, b, gone};

    skips_each(store_skips(watch_store(mw->watch)), put_each_skip, &p);
}

/* Puts the version and the contact of a scope again. If this process has no newer ones yet, it puts
 * the texts of the earlier process. */
static void put_again(struct persist_scope *s, struct persist_now now, struct batch *b)
{
    char *was = s->version;

    s->version = NULL;
    s->contact_ms = 0;
    put_version(s, b);
    if (s->version == NULL && was != NULL)
        put_text(s, str_c(was), b);
    if (watch_list_watch_count(s->of->watch) > 0)
        put_contact(s, now, b);
    if (s->contact_ms == 0 && s->contact != NULL)
        put_contact_text(s, str_c(s->contact), b);
    free(was);
}

void persist_watch_put_all(struct persist_watch *mw, struct persist_now now, struct batch *b)
{
    if (mw->bytes == PERSIST_NONE)
        return;
    put_cluster(mw, mw->was_of != NULL ? mw->was_of : watch_cluster(mw->watch), b);
    put_objects(mw, b);
    put_skips(mw, false, b);
    for (size_t i = 0; i < watch_scope_count(mw->watch); i++)
        put_again(&mw->scopes[i], now, b);
}

/* ---- From the state to the watch. */

/* The findings in the rows of all scopes, whether these are configured now or not. */
struct found {
    const struct restore *r;
    bool any;               /* there is a version or an object */
    bool edited;            /* a version was put with other settings */
    bool reselected;        /* the other settings select other objects */
    struct digest settings; /* the last such settings */
    bool some_bodies;       /* objects with their bytes */
    bool some_bare;         /* objects without their bytes */
    size_t objects;
};

/* Notes whether a scope was kept with other settings. Of several such settings those count that
 * select other objects: for a list that means more than a change of keep or drop
 * does. */
static void look_at_version(const struct persist_watch *mw, uint64_t scope, struct found *f)
{
    struct persist_version v;
    struct str text = restore_value(f->r, scope, ROW_VERSION);

    if (!persist_row_version(text, &v))
        return;
    f->any = true;
    if (digest_eq(v.settings, mw->settings))
        return;
    if (f->reselected && watch_digest_selects_same(v.settings, mw->settings))
        return;
    f->edited = true;
    f->reselected = !watch_digest_selects_same(v.settings, mw->settings);
    f->settings = v.settings;
}

/* Loads the objects of a scope, also of one that is not configured any more: objects of a namespace
 * that was removed from the configuration are then found to have LEFT. */
static void load_objects(const struct persist_watch *mw, uint64_t scope, struct found *f)
{
    size_t n;
    const struct restore_object *v = restore_objects(f->r, scope, &n);

    for (size_t i = 0; i < n; i++) {
        bool bare = object_is_bare(v[i].object);

        f->some_bodies = f->some_bodies || !bare;
        f->some_bare = f->some_bare || bare;
        watch_load(mw->watch, v[i].object);
    }
    f->any = f->any || n > 0;
    f->objects += n;
}

/* Loads the skipped objects of the scopes that are configured: other scopes are not followed, so
 * nothing would ever clear such a skip. */
static void load_skips(const struct persist_watch *mw, const struct restore *r)
{
    for (size_t i = 0; i < watch_scope_count(mw->watch); i++) {
        size_t n;
        const struct restore_fact *v = restore_facts(r, mw->scopes[i].item, &n);

        for (size_t k = 0; k < n; k++) {
            struct skip s = {.scope = i, .id = v[k].key};

            if (v[k].what == ROW_SKIPPED && persist_row_skip(v[k].value, &s))
                watch_load_skip(mw->watch, &s);
        }
    }
}

/* Calls fn for each scope of the watch that there are rows of. */
static void each_scope(const struct persist_watch *mw, struct found *f,
                       void (*fn)(const struct persist_watch *mw, uint64_t scope, struct found *f))
{
    size_t n;
    const struct restore_item *v = restore_children(f->r, mw->item, &n);

    for (size_t i = 0; i < n; i++)
        if (v[i].kind == ROW_KIND_SCOPE)
            fn(mw, v[i].id, f);
}

/* Are there objects of scopes that are not configured, although no version says that the settings
 * were others? That is so if a process with other settings ended during its first list, before it
 * put a version. */
static bool is_elsewhere(const struct persist_watch *mw, const struct found *f)
{
    size_t here = 0;

    for (size_t i = 0; i < watch_scope_count(mw->watch); i++) {
        size_t n;

        (void)restore_objects(f->r, mw->scopes[i].item, &n);
        here += n;
    }
    return here < f->objects;
}

/* Does the watch have the one scope of all namespaces and names? Its name is empty. */
static bool asks_for_all(const struct persist_watch *mw)
{
    struct buf scope = {0};

    watch_put_scope_name(mw->watch, 0, &scope);
    bool all = scope.len == 0;
    buf_free(&scope);
    return all;
}

static void clear_skips(const struct restore *r, uint64_t scope, struct batch *b)
{
    size_t n;
    const struct restore_fact *v = restore_facts(r, scope, &n);

    for (size_t i = 0; i < n; i++)
        if (v[i].what == ROW_SKIPPED)
            batch_drop_fact(b, scope, ROW_SKIPPED, v[i].key);
}

/* Drops the rows of all scopes, also of those that are not configured. */
static void clear(const struct persist_watch *mw, const struct restore *r, struct batch *b)
{
    size_t n;
    const struct restore_item *v = restore_children(r, mw->item, &n);

    for (size_t i = 0; i < n; i++) {
        if (v[i].kind != ROW_KIND_SCOPE)
            continue;
        batch_clear_scope(b, v[i].id);
        batch_drop_fact(b, v[i].id, ROW_VERSION, (struct str){0});
        clear_skips(r, v[i].id, b);
    }
}

/* Gives a scope its resume point. A version that is missing makes the objects PARTIAL: they may not
 * be all. */
static void resume(struct persist_scope *s, const struct found *f, enum resume_kind kind)
{
    struct persist_version v = {0};
    bool known = persist_row_version(restore_value(f->r, s->item, ROW_VERSION), &v);
    struct str contact = restore_value(f->r, s->item, ROW_CONTACT);
    char *rv = mem_strndup(v.rv.n > 0 ? v.rv.p : "", v.rv.n);
    char *collection_rv =
        mem_strndup(v.collection_rv.n > 0 ? v.collection_rv.p : "", v.collection_rv.n);
    struct resume_point resume = {.kind = kind,
                                  .rv = rv,
                                  .collection_rv = collection_rv,
                                  .contact_ns = contact_read(contact).wall_ns};

    if (kind == RESUME_WHOLE && !known)
        resume.kind = RESUME_PARTIAL;
    if (contact.n > 0)
        s->contact = mem_strndup(contact.p, contact.n);
    watch_resume(s->of->watch, s->index, &resume);
    free(rv);
    free(collection_rv);
}

/* Gives each scope the kind of its resume point. With edited settings: if others are selected,
 * or there are objects outside of the configured scopes, a list may lack objects that still exist
 * (EDITED); else a list says everything (RESHAPED). */
static void resume_all(struct persist_watch *mw, const struct found *f, bool elsewhere)
{
    enum resume_kind kind = f->some_bare || elsewhere ? RESUME_PARTIAL : RESUME_WHOLE;

    bool beyond = elsewhere && !asks_for_all(mw);
    if (f->edited)
        kind = f->reselected || beyond ? RESUME_EDITED : RESUME_RESHAPED;
    for (size_t i = 0; i < watch_scope_count(mw->watch); i++) {
        struct persist_scope *s = &mw->scopes[i];
        struct str text = restore_value(f->r, s->item, ROW_VERSION);

        if (text.p != NULL)
            s->version = mem_strndup(text.p, text.n);
        resume(s, f, kind);
    }
}

/* Writes the rows anew, for the scopes that there are now and as `persist` wants them now. If the
 * settings were others, the version says so until a list has shown which objects that changes; it has no
 * resourceVersion, so that no watch goes on from it. */
static void rewrite(struct persist_watch *mw, const struct found *f, struct batch *b)
{
    struct buf text = {0};

    clear(mw, f->r, b);
    put_objects(mw, b);
    put_skips(mw, false, b);
    persist_row_put_version(
        &text, &(struct persist_version){.settings = f->edited ? f->settings : mw->settings});
    for (size_t i = 0; i < watch_scope_count(mw->watch); i++)
        if (f->edited || mw->scopes[i].version != NULL)
            put_text(&mw->scopes[i], buf_str(&text), b);
    buf_free(&text);
}

void persist_watch_load(struct persist_watch *mw, const struct persist_watch_params *params,
                        struct list *dirty, const struct restore *r, struct batch *b)
{
    struct found f = {.r = r};

    *mw = (struct persist_watch){.watch = params->watch,
                                 .state = PERSIST_WATCH_EMPTY,
                                 .name = mem_strdup(params->name),
                                 .settings = params->settings,
                                 .bytes = params->bytes,
                                 .cluster = params->cluster,
                                 .dirty = dirty};
    find_items(mw, r->ids, b);
    struct str was_of = restore_value(r, mw->item, ROW_CLUSTER);
    if (was_of.p != NULL)
        mw->was_of = mem_strndup(was_of.p, was_of.n);
    if (mw->bytes == PERSIST_NONE) {
        clear(mw, r, b);
        return;
    }
    each_scope(mw, &f, look_at_version);
    each_scope(mw, &f, load_objects);
    load_skips(mw, r);
    if (!f.any)
        return;
    bool elsewhere = is_elsewhere(mw, &f);
    mw->state = PERSIST_WATCH_LOADED;
    resume_all(mw, &f, elsewhere);
    /* Bodies that must not be kept any more, perhaps of Secrets, leave the disk at once. */
    if (f.edited || elsewhere || (f.some_bodies && mw->bytes == PERSIST_DIGEST))
        rewrite(mw, &f, b);
}

void persist_watch_know(struct persist_watch *mw, struct str key, struct str uid)
{
    const struct row_object row = {.key = key, .uid = uid};

    if (key.n == 0 || mw->bytes == PERSIST_NONE || store_get(watch_store(mw->watch), key) != NULL)
        return;
    struct object *o = persist_row_object(&row);
    size_t scope = watch_scope_of(mw->watch, o);
    enum resume_kind left = watch_resume_left(mw->watch, scope);

    /* With RESUME_WHOLE the objects are all there were, so an object that is missing has ended, and
     * the hook hears of that. Otherwise only a list can tell. */
    if (left != RESUME_WHOLE || skips_has(store_skips(watch_store(mw->watch)), key)) {
        watch_load(mw->watch, o);
        if (left == RESUME_NONE)
            watch_resume(mw->watch, scope, &(struct resume_point){.kind = RESUME_PARTIAL});
        mw->state = PERSIST_WATCH_LOADED;
    }
    object_unref(&o);
}

void persist_watch_forget(struct persist_watch *mw, struct batch *b)
{
    mw->state = PERSIST_WATCH_EMPTY;
    /* Before watch_forget(), which forgets the skips. */
    put_skips(mw, true, b);
    watch_forget(mw->watch);
    for (size_t i = 0; i < watch_scope_count(mw->watch); i++) {
        struct persist_scope *s = &mw->scopes[i];

        batch_clear_scope(b, s->item);
        batch_drop_fact(b, s->item, ROW_VERSION, (struct str){0});
        batch_drop_fact(b, s->item, ROW_CONTACT, (struct str){0});
        free(s->version);
        free(s->contact);
        s->version = s->contact = NULL;
    }
}

/* One scope of unknown age makes the age of the whole watch unknown. */
enum contact_age persist_watch_age(const struct persist_watch *mw, struct persist_now now,
                                   uint64_t *age_ms)
{
    const struct contact this = contact_at(now, 0);
    uint64_t oldest_ms = 0;

    for (size_t i = 0; i < watch_scope_count(mw->watch); i++) {
        const struct contact then = contact_read(str_c(mw->scopes[i].contact));
        uint64_t ms;
        enum contact_age age = contact_age(&then, &this, &ms);

        if (age != CONTACT_KNOWN)
            return age;
        oldest_ms = ms > oldest_ms ? ms : oldest_ms;
    }
    *age_ms = oldest_ms;
    return CONTACT_KNOWN;
}

/* ---- A reload. */

/* The settings to which the objects on disk belong: of several edits in a row, whose lists have not
 * come, those that select other objects than the new ones (look_at_version()). */
static struct digest settings_on_disk(const struct persist_watch *was, size_t n, struct digest now)
{
    for (size_t i = 0; i < n; i++) {
        struct persist_version v;

        if (was->scopes[i].version != NULL &&
            persist_row_version(str_c(was->scopes[i].version), &v) &&
            !digest_eq(v.settings, was->settings) && !watch_digest_selects_same(v.settings, now))
            return v.settings;
    }
    return was->settings;
}

/* Nothing changes on disk: the scopes, whose order may be another one, go on with their texts. */
static void take_scopes(struct persist_watch *mw, struct persist_scope *was, size_t n)
{
    for (size_t i = 0; i < watch_scope_count(mw->watch); i++)
        for (size_t k = 0; k < n; k++) {
            if (was[k].item != mw->scopes[i].item)
                continue;
            mw->scopes[i].version = was[k].version;
            mw->scopes[i].contact = was[k].contact;
            was[k].version = was[k].contact = NULL;
            version_follows(&mw->scopes[i]);
        }
}

static void drop_rows(const struct persist_watch *was, size_t n, struct batch *b)
{
    put_skips(was, true, b);
    for (size_t i = 0; i < n; i++) {
        batch_clear_scope(b, was->scopes[i].item);
        batch_drop_fact(b, was->scopes[i].item, ROW_VERSION, (struct str){0});
    }
}

/* Puts the rows of a watch that has inherited from `was`, which has n scopes. */
static void put_rows(struct persist_watch *mw, const struct persist_watch *was, size_t n,
                     struct batch *b)
{
    struct digest from = settings_on_disk(was, n, mw->settings);
    bool edited = !digest_eq(from, mw->settings);
    struct buf text = {0};

    if (mw->bytes == PERSIST_NONE)
        return;
    put_objects(mw, b);
    put_skips(mw, false, b);
    persist_row_put_version(&text, &(struct persist_version){.settings = from});
    for (size_t i = 0; i < watch_scope_count(mw->watch); i++) {
        if (edited && watch_resume_left(mw->watch, i) != RESUME_NONE)
            put_text(&mw->scopes[i], buf_str(&text), b);
        version_follows(&mw->scopes[i]);
    }
    buf_free(&text);
}

static void take_params(struct persist_watch *mw, const struct persist_watch_params *params,
                        struct ids *ids, struct batch *b)
{
    mw->watch = params->watch;
    mw->name = mem_strdup(params->name);
    mw->settings = params->settings;
    mw->bytes = params->bytes;
    mw->cluster = params->cluster;
    find_items(mw, ids, b);
}

void persist_watch_replaced(struct persist_watch *mw, const struct persist_watch_params *params,
                            struct ids *ids, struct batch *b)
{
    struct persist_watch was = *mw;
    size_t n = watch_scope_count(was.watch);

    take_params(mw, params, ids, b);
    if (digest_eq(was.settings, mw->settings) && was.bytes == mw->bytes && was.item == mw->item) {
        take_scopes(mw, was.scopes, n);
    } else {
        if (was.item == mw->item)
            drop_rows(&was, n, b);
        else
            ids_forget(ids, b, was.item);
        if (was.item != mw->item && was.was_of != NULL)
            put_cluster(mw, was.was_of, b);
        put_rows(mw, &was, n, b);
    }
    free_scopes(was.scopes, n);
    free(was.name);
}

void persist_watch_split(struct persist_watch *mw, const struct persist_watch *from,
                         const struct persist_watch_params *params, struct ids *ids,
                         struct batch *b)
{
    *mw = *from;
    mw->was_of = NULL;
    take_params(mw, params, ids, b);
    if (from->was_of != NULL)
        put_cluster(mw, from->was_of, b);
    put_rows(mw, from, watch_scope_count(from->watch), b);
}
