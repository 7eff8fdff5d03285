/* SPDX-License-Identifier: Apache-2.0 */
#include "app/persist_watch.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/persist_row.h"
#include "base/mem.h"
#include "cache/watch_digest.h"

/* The age of a cache that is started stale is known as well as this. */
#define CONTACT_EVERY_MS ((uint64_t)60 * 1000)

static enum conf_persist persist_of(const struct persist_watch *mw)
{
    return (enum conf_persist)mw->conf->persist.v;
}

void persist_watch_init(struct persist_watch *mw, struct ids *ids, struct batch *b)
{
    size_t n = watch_scope_count(mw->watch);
    struct buf scope = {0};

    mw->item = ids_use(ids, b, ROW_KIND_WATCH, 0, str_c(mw->conf->name.v));
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

void persist_watch_fini(struct persist_watch *mw)
{
    for (size_t i = 0; mw->scopes != NULL && i < watch_scope_count(mw->watch); i++) {
        list_remove(&mw->scopes[i].dirty);
        free(mw->scopes[i].version);
        free(mw->scopes[i].contact);
    }
    free(mw->scopes);
    free(mw->was_of);
}

/* ---- Out. */

/* What is put from now on is this one's. */
static void put_cluster(struct persist_watch *mw, const char *name, struct batch *b)
{
    char *was_of = mem_strdup(name);

    batch_fact(b,
               &(struct row_fact){.item = mw->item, .what = ROW_CLUSTER, .value = str_c(was_of)});
    free(mw->was_of);
    mw->was_of = was_of;
}

void persist_watch_kept(struct persist_watch *mw, size_t scope, struct object *o, bool gone,
                        struct batch *b)
{
    struct persist_scope *s = &mw->scopes[scope];

    if (persist_of(mw) == CONF_PERSIST_NONE)
        return;
    if (gone)
        batch_drop_object(b, s->item, object_key(o));
    else
        persist_row_put(b, s->item, o, persist_of(mw));
}

void persist_watch_skipped(struct persist_watch *mw, const struct skip *s, bool gone,
                           struct batch *b)
{
    uint64_t item = mw->scopes[s->scope].item;
    struct buf text = {0};

    if (persist_of(mw) == CONF_PERSIST_NONE)
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

/* The value of the fact, or nothing: what is on disk stands as it is. */
static void version_text(struct persist_scope *s, struct buf *out)
{
    const struct persist_watch *mw = s->of;
    const char *rv;
    const char *delivery;

    if (persist_of(mw) == CONF_PERSIST_NONE || !watch_version(mw->watch, s->index, &rv, &delivery))
        return;
    persist_row_put_version(out, &(struct persist_version){.settings = mw->settings,
                                                           .rv = str_c(rv),
                                                           .delivery = str_c(delivery)});
}

static void put_text(struct persist_scope *s, struct str text, struct batch *b)
{
    batch_fact(b, &(struct row_fact){.item = s->item, .what = ROW_VERSION, .value = text});
    free(s->version);
    s->version = mem_strndup(text.p, text.n);
}

/* As long as nobody knows whose it is, it is whose it was. */
static bool is_of_another_name(const struct persist_watch *mw)
{
    return mw->was_of == NULL ||
           (mw->state != PERSIST_WATCH_LOADED && strcmp(mw->was_of, mw->conf->cluster.v) != 0);
}

static void put_version(struct persist_scope *s, struct batch *b)
{
    struct persist_watch *mw = s->of;
    struct buf text = {0};

    version_text(s, &text);
    if (text.len > 0 && (s->version == NULL || !str_is(buf_str(&text), s->version))) {
        if (is_of_another_name(mw))
            put_cluster(mw, mw->conf->cluster.v, b);
        put_text(s, buf_str(&text), b);
    }
    buf_free(&text);
}

static void put_contact_text(const struct persist_scope *s, struct str text, struct batch *b)
{
    batch_fact(b, &(struct row_fact){.item = s->item, .what = ROW_CONTACT, .value = text});
}

static struct contact contact_at(struct persist_now now, uint64_t ago_ms)
{
    return (struct contact){.wall_ns = now.wall_ns - ago_ms * 1000000,
                            .boot_ns = now.boot_ns - ago_ms * 1000000,
                            .boot_id = str_c(now.boot_id)};
}

static void put_contact(struct persist_scope *s, struct persist_now now, struct batch *b)
{
    uint64_t ms = list_watch_status(watch_list_watch(s->of->watch, s->index)).contact_ms;

    if (ms == 0 || ms == s->contact_ms)
        return;
    const struct contact contact = contact_at(now, now.ms - ms);
    struct buf text = {0};

    s->contact_ms = ms;
    contact_put(&text, &contact);
    put_contact_text(s, buf_str(&text), b);
    buf_free(&text);
}

void persist_watch_put_stream(struct persist_scope *s, struct persist_now now, struct batch *b)
{
    list_remove(&s->dirty);
    if (persist_of(s->of) == CONF_PERSIST_NONE)
        return;
    put_version(s, b);
    if (s->contact_ms == 0)
        put_contact(s, now, b);
}

void persist_watch_sweep(struct persist_watch *mw, struct persist_now now, bool all,
                         struct batch *b)
{
    if (persist_of(mw) == CONF_PERSIST_NONE || watch_list_watch_count(mw->watch) == 0)
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
    struct persist_watch *mw;
    struct batch *b;
    bool gone; /* of marks: they are to be forgotten */
};

static void put_object(void *arg, struct object *o)
{
    const struct putting *p = arg;

    persist_watch_kept(p->mw, watch_scope_of(p->mw->watch, o), o, false, p->b);
}

static void put_objects(struct persist_watch *mw, struct batch *b)
{
    struct putting p = {.mw = mw, .b = b};

    store_each(watch_store(mw->watch), put_object, &p);
}

static void put_skip(void *arg, const struct skip *s)
{
    const struct putting *p = arg;

    persist_watch_skipped(p->mw, s, p->gone, p->b);
}

static void put_skips(struct persist_watch *mw, bool gone, struct batch *b)
{
    struct putting p = {mw, b, gone};

    skips_each(store_skips(watch_store(mw->watch)), put_skip, &p);
}

/* What was known of it stays known as long as there is nothing newer. */
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
    if (persist_of(mw) == CONF_PERSIST_NONE)
        return;
    put_cluster(mw, mw->was_of != NULL ? mw->was_of : mw->conf->cluster.v, b);
    put_objects(mw, b);
    put_skips(mw, false, b);
    for (size_t i = 0; i < watch_scope_count(mw->watch); i++)
        put_again(&mw->scopes[i], now, b);
}

/* ---- In. */

/* What is found of the streams that the rows know, be they configured or not. */
struct found {
    const struct restore *r;
    bool any;
    bool edited;            /* with other settings, .. */
    bool reselected;        /* .. by which another object is selected, .. */
    struct digest settings; /* .. the last of which are these */
    bool some_bodies;
    bool some_bare; /* objects without their bytes */
    size_t objects;
};

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

/* Of the streams that there are: others are not followed. */
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

/* All streams of the watch that there are rows of. */
static void each_stream(const struct persist_watch *mw, struct found *f,
                        void (*fn)(const struct persist_watch *mw, uint64_t scope, struct found *f))
{
    size_t n;
    const struct restore_item *v = restore_parts(f->r, mw->item, &n);

    for (size_t i = 0; i < n; i++)
        if (v[i].kind == ROW_KIND_SCOPE)
            fn(mw, v[i].id, f);
}

/* Are there objects of streams that are not configured, though nothing says that it was edited? A
 * first list was cut off. */
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

static void clear(const struct persist_watch *mw, const struct restore *r, struct batch *b)
{
    size_t n;
    const struct restore_item *v = restore_parts(r, mw->item, &n);

    for (size_t i = 0; i < n; i++) {
        if (v[i].kind != ROW_KIND_SCOPE)
            continue;
        batch_clear_scope(b, v[i].id);
        batch_drop_fact(b, v[i].id, ROW_VERSION, (struct str){0});
        clear_skips(r, v[i].id, b);
    }
}

static void resume(struct persist_scope *s, const struct found *f, enum resume_kind kind)
{
    struct persist_version v = {0};
    bool known = persist_row_version(restore_value(f->r, s->item, ROW_VERSION), &v);
    struct str contact = restore_value(f->r, s->item, ROW_CONTACT);
    char *rv = mem_strndup(v.rv.n > 0 ? v.rv.p : "", v.rv.n);
    char *delivery = mem_strndup(v.delivery.n > 0 ? v.delivery.p : "", v.delivery.n);
    struct resume_point resume = {.kind = kind,
                                  .rv = rv,
                                  .collection_rv = delivery,
                                  .contact_ns = contact_read(contact).wall_ns};

    if (kind == RESUME_WHOLE && !known)
        resume.kind = RESUME_PARTIAL;
    if (contact.n > 0)
        s->contact = mem_strndup(contact.p, contact.n);
    watch_resume(s->of->watch, s->index, &resume);
    free(rv);
    free(delivery);
}

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

/* Rows go to the streams that there are now, as they are kept now. That they were read with other
 * settings stays known until a list has told what that means. */
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

void persist_watch_load(struct persist_watch *mw, const struct restore *r, struct batch *b)
{
    struct found f = {.r = r};
    struct str was_of = restore_value(r, mw->item, ROW_CLUSTER);

    if (was_of.p != NULL)
        mw->was_of = mem_strndup(was_of.p, was_of.n);
    if (persist_of(mw) == CONF_PERSIST_NONE) {
        clear(mw, r, b);
        return;
    }
    each_stream(mw, &f, look_at_version);
    each_stream(mw, &f, load_objects);
    load_skips(mw, r);
    if (!f.any)
        return;
    bool elsewhere = is_elsewhere(mw, &f);
    mw->state = PERSIST_WATCH_LOADED;
    resume_all(mw, &f, elsewhere);
    if (f.edited || elsewhere || (f.some_bodies && persist_of(mw) == CONF_PERSIST_DIGEST))
        rewrite(mw, &f, b);
}

void persist_watch_know(struct persist_watch *mw, struct str key, struct str uid)
{
    const struct row_object row = {.key = key, .uid = uid};

    if (key.n == 0 || persist_of(mw) == CONF_PERSIST_NONE ||
        store_get(watch_store(mw->watch), key) != NULL)
        return;
    struct object *o = persist_row_object(&row);
    size_t scope = watch_scope_of(mw->watch, o);
    enum resume_kind left = watch_resume_left(mw->watch, scope);

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
