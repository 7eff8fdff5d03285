/* SPDX-License-Identifier: Apache-2.0 */
#include "cache/skips.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/meter.h"

/* The first byte of an id that is not a key; no key begins with these. */
#define BY_UID  "\x01"
#define BY_NAME "\x02"
#define NO_NAME "\x03"

/* About so long is a reason with its block. */
enum { WHY_BYTES = 96 };

/* A record, a skip that the list under way has staged, or both. */
struct entry {
    struct map_node node;
    size_t scope;
    uint64_t times; /* 0 = no record */
    uint64_t staged_times;
    enum { UNTOLD, THERE, USABLE } heard; /* of the key, since the list began */
    const char *staged_why;
    bool staged_missing;
    bool missing;
    char *why;
    size_t id_n;
    size_t name_n;
    size_t uid_n;
    char text[]; /* id, name, uid; without a uid if it is not known, as of a record from the disk */
};

static struct entry *entry_of(struct map_node *node)
{
    return map_entry(node, struct entry, node);
}

static struct entry *find(const struct skips *s, struct str id)
{
    struct map_node *node = map_get(&s->skipped, id);

    return node != NULL ? entry_of(node) : NULL;
}

static void put_id_by(struct buf *id, const char *what, struct str value)
{
    buf_puts(id, what);
    buf_append_str(id, value); /* printf would end at a NUL, which a server may send */
}

/* The id of an object: its key if it has one, or else the best that tells it from others. */
static void put_id(struct buf *id, const struct unusable *u)
{
    if (u->key.n > 0)
        buf_append_str(id, u->key);
    else if (u->uid.n > 0)
        put_id_by(id, BY_UID, u->uid);
    else if (u->name.n > 0)
        put_id_by(id, BY_NAME, u->name);
    else
        buf_puts(id, NO_NAME);
}

/* As the meter counts an entry whose texts are so long. */
static size_t bytes_of(size_t text_n)
{
    return sizeof(struct entry) + text_n + METER_BLOCK + METER_SLOT + WHY_BYTES;
}

static struct entry *add(struct skips *s, size_t scope, struct str id, struct str name,
                         struct str uid)
{
    struct entry *e = mem_zalloc(sizeof(*e) + id.n + name.n + uid.n);

    meter_add(bytes_of(id.n + name.n + uid.n));
    e->scope = scope;
    e->id_n = id.n;
    e->name_n = name.n;
    e->uid_n = uid.n;
    char *at = e->text;
    map_put(&s->skipped, &e->node, str_put(&at, id));
    str_put(&at, name);
    str_put(&at, uid);
    return e;
}

/* The entry of an object that cannot be used; a new one is neither record nor staged yet. */
static struct entry *find_or_add(struct skips *s, size_t scope, const struct unusable *u)
{
    struct buf id = {0};

    put_id(&id, u);
    struct entry *e = find(s, buf_str(&id));
    if (e == NULL)
        e = add(s, scope, buf_str(&id), u->name, u->uid);
    buf_free(&id);
    return e;
}

static void drop(struct skips *s, struct entry *e)
{
    map_remove(&s->skipped, &e->node);
    meter_sub(bytes_of(e->id_n + e->name_n + e->uid_n));
    free(e->why);
    free(e);
}

static struct skip skip_of(const struct entry *e)
{
    return (struct skip){.scope = e->scope,
                         .id = str_of(e->text, e->id_n),
                         .name = str_of(e->text + e->id_n, e->name_n),
                         .why = e->why != NULL ? str_c(e->why) : str_c(""),
                         .missing = e->missing,
                         .times = e->times};
}

static void tell(const struct skips *s, const struct entry *e, bool gone)
{
    const struct skip skip = skip_of(e);

    if (s->sink != NULL)
        s->sink(s->arg, &skip, gone);
}

/* Counts the record in; or out, before it changes or goes. */
static void count(struct skips *s, const struct entry *e, bool in)
{
    uint64_t missing = e->missing ? e->times : 0;

    s->count += in ? e->times : -e->times;
    s->missing += in ? missing : -missing;
}

/* Makes the entry a record. The sink hears only of changes, so that an object that stays skipped
 * does not fill the log and the disk. */
static void set(struct skips *s, struct entry *e, const char *why, bool missing, uint64_t times)
{
    if (e->times == times && e->why != NULL && strcmp(e->why, why) == 0)
        return;
    count(s, e, false);
    free(e->why);
    e->why = mem_strdup(why);
    e->missing = missing;
    e->times = times;
    count(s, e, true);
    tell(s, e, false);
}

/* The entry is no record any more. A skip that the list under way has staged is kept. */
static void clear(struct skips *s, struct entry *e)
{
    count(s, e, false);
    if (e->times > 0)
        tell(s, e, true);
    e->times = 0;
    if (e->staged_times == 0)
        drop(s, e);
}

/* The list under way shows nothing of the entry any more. */
static void unstage(struct skips *s, struct entry *e)
{
    e->staged_times = 0;
    e->heard = UNTOLD;
    if (e->times == 0)
        drop(s, e);
}

void skips_fini(struct skips *s)
{
    for (struct map_node *n = map_first(&s->skipped), *next; n != NULL; n = next) {
        next = map_next(n);
        drop(s, entry_of(n));
    }
}

/* The record of the object with this uid, whether it has a key or not; NULL = none. Only for events
 * without a name: they are rare, so no index is kept for them. */
static struct entry *find_uid(const struct skips *s, struct str uid)
{
    for (struct map_node *n = map_first(&s->skipped); n != NULL && uid.n > 0; n = map_next(n)) {
        struct entry *e = entry_of(n);

        if (e->times > 0 && str_eq(str_of(e->text + e->id_n + e->name_n, e->uid_n), uid))
            return e;
    }
    return NULL;
}

void skips_add(struct skips *s, size_t scope, const struct unusable *u)
{
    struct entry *e = u->key.n == 0 ? find_uid(s, u->uid) : NULL;

    if (e == NULL)
        e = find_or_add(s, scope, u);
    bool anybody = e->text[0] == NO_NAME[0];

    e->heard = THERE;
    /* Objects without key, uid and name cannot be told from each other: one record counts them. */
    set(s, e, u->why, false, anybody ? e->times + 1 : 1);
}

/* The entry of an object that is known by its uid because its name is not valid. */
static struct entry *find_odd(const struct skips *s, struct str uid)
{
    struct buf id = {0};

    if (uid.n == 0)
        return NULL;
    put_id(&id, &(struct unusable){.uid = uid});
    struct entry *e = find(s, buf_str(&id));
    buf_free(&id);
    return e;
}

bool skips_clear(struct skips *s, struct str key, struct str uid)
{
    uint64_t before = s->count;
    struct entry *e;

    /* Every event of a watch comes here, and there are hardly ever records. */
    if (map_count(&s->skipped) == 0)
        return false;
    e = find(s, key);
    if (e != NULL)
        clear(s, e);
    e = find_odd(s, uid);
    if (e != NULL)
        clear(s, e);
    while (key.n == 0 && (e = find_uid(s, uid)) != NULL)
        clear(s, e);
    return s->count < before;
}

void skips_stage(struct skips *s, size_t scope, const struct unusable *u)
{
    struct entry *e = find_or_add(s, scope, u);

    e->staged_times = e->text[0] == NO_NAME[0] ? e->staged_times + 1 : 1;
    e->staged_why = u->why;
    e->staged_missing = false;
}

void skips_stage_missing(struct skips *s, size_t scope, struct str key)
{
    struct entry *e = find_or_add(s, scope, &(struct unusable){.key = key, .name = key});

    e->staged_times = 1;
    e->staged_why = SKIPS_MISSING;
    e->staged_missing = true;
}

void skips_unstage(struct skips *s, struct str key)
{
    struct entry *e = map_count(&s->skipped) > 0 ? find(s, key) : NULL;

    if (e == NULL)
        return;
    unstage(s, e);
    /* unstage() has freed the entry if it was no record. */
    e = find(s, key);
    if (e != NULL)
        e->heard = USABLE;
}

bool skips_has_odd(const struct skips *s, struct str uid)
{
    const struct entry *e = map_count(&s->skipped) > 0 ? find_odd(s, uid) : NULL;

    return e != NULL && e->staged_times > 0;
}

void skips_stage_present(struct skips *s, struct str key)
{
    struct entry *e = map_count(&s->skipped) > 0 ? find(s, key) : NULL;

    if (e != NULL && e->heard == UNTOLD)
        e->heard = THERE;
}

/* The staged skips become the scope's records. The record of a key that the list shows in a usable
 * state, or does not show, is removed. A LIST beside a watch shows no states, so there a record
 * stays if its key is there (THERE), and so does the record of objects that cannot be told from
 * each other. */
void skips_commit(struct skips *s, size_t scope, bool beside)
{
    for (struct map_node *n = map_first(&s->skipped), *next; n != NULL; n = next) {
        struct entry *e = entry_of(n);
        uint64_t times = e->staged_times;

        next = map_next(n);
        if (e->scope != scope)
            continue;
        bool stays = beside && (e->heard == THERE || e->text[0] == NO_NAME[0]);
        e->staged_times = 0;
        e->heard = UNTOLD;
        if (times > 0)
            set(s, e, e->staged_why, e->staged_missing, times);
        else if (!stays)
            clear(s, e);
    }
}

void skips_abort(struct skips *s, size_t scope)
{
    for (struct map_node *n = map_first(&s->skipped), *next; n != NULL; n = next) {
        next = map_next(n);
        if (entry_of(n)->scope == scope)
            unstage(s, entry_of(n));
    }
}

/* The sink does not run: the record comes from the disk, to which the sink would write it. */
void skips_load(struct skips *s, const struct skip *skip)
{
    struct entry *e = find(s, skip->id);

    if (e == NULL && skip->id.n > 0 && skip->times > 0)
        e = add(s, skip->scope, skip->id, skip->name, str_c(""));
    if (e == NULL)
        return;
    count(s, e, false);
    free(e->why);
    e->why = mem_strndup(skip->why.n > 0 ? skip->why.p : "", skip->why.n);
    e->missing = skip->missing;
    e->times = skip->times;
    count(s, e, true);
}

void skips_unload(struct skips *s, size_t scope)
{
    for (struct map_node *n = map_first(&s->skipped), *next; n != NULL; n = next) {
        next = map_next(n);
        if (entry_of(n)->scope != scope)
            continue;
        count(s, entry_of(n), false);
        drop(s, entry_of(n));
    }
}

bool skips_has(const struct skips *s, struct str key)
{
    const struct entry *e = find(s, key);

    return e != NULL && e->times > 0;
}

uint64_t skips_count(const struct skips *s)
{
    return s->count;
}

void skips_each(const struct skips *s, void (*cb)(void *arg, const struct skip *skip), void *arg)
{
    for (struct map_node *n = map_first(&s->skipped); n != NULL; n = map_next(n)) {
        const struct skip skip = skip_of(entry_of(n));

        if (skip.times > 0)
            cb(arg, &skip);
    }
}
