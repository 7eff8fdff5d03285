/* SPDX-License-Identifier: Apache-2.0 */
#include "hook/files.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/panic.h"
#include "base/path_template.h"
#include "hook/hook.h"
#include "hook/members.h"

void files_init(struct files *f, const char *template, bool from_members)
{
    *f = (struct files){.template = mem_strdup(template), .from_members = from_members};
    list_init(&f->dirty);
    list_init(&f->gone);
}

/* ---- The objects of files_from: each one finds its files */

struct str files_object(const struct files *f, struct str key)
{
    const char *slash = f->from_members && key.n > 0 ? memchr(key.p, '/', key.n) : NULL;
    const char *second = NULL;

    if (slash != NULL)
        second = memchr(slash + 1, '/', key.n - (size_t)(slash + 1 - key.p));
    return second != NULL ? str_of(key.p, (size_t)(second - key.p)) : key;
}

/* The name of the member in the key of a file; empty if there is none. */
static struct str member_of(const struct files *f, struct str key)
{
    struct str object = files_object(f, key);

    return object.n < key.n ? str_of(key.p + object.n + 1, key.n - object.n - 1) : str_of("", 0);
}

static struct buf owner_id(size_t source, struct str object)
{
    struct buf id = {0};

    buf_printf(&id, "%zu:", source);
    buf_append_str(&id, object);
    return id;
}

static struct files_owner *find_owner(const struct files *f, size_t source, struct str object)
{
    struct buf id = owner_id(source, object);
    struct map_node *node = map_get(&f->by_owner, buf_str(&id));

    buf_free(&id);
    return node != NULL ? map_entry(node, struct files_owner, node) : NULL;
}

static struct files_owner *make_owner(struct files *f, size_t source, struct str object)
{
    struct buf id = owner_id(source, object);
    struct files_owner *owner = mem_zalloc(sizeof(*owner) + id.len + 1);

    memcpy(owner->id, id.data, id.len);
    list_init(&owner->files);
    map_put(&f->by_owner, &owner->node, str_of(owner->id, id.len));
    buf_free(&id);
    return owner;
}

/* The file belongs to the object in its key now. */
static void join(struct files *f, struct file *file)
{
    struct str object = files_object(f, str_c(file->key));

    if (!f->from_members)
        return;
    file->owner = find_owner(f, file->source, object);
    if (file->owner == NULL)
        file->owner = make_owner(f, file->source, object);
    list_append(&file->owner->files, &file->sibling);
}

static void leave(struct files *f, struct file *file)
{
    struct files_owner *owner = file->owner;

    file->owner = NULL;
    list_remove(&file->sibling);
    if (owner == NULL || !list_is_empty(&owner->files))
        return;
    map_remove(&f->by_owner, &owner->node);
    free(owner);
}

/* ---- All files */

static void free_file(struct file *file)
{
    list_remove(&file->dirty);
    free(file->key);
    free(file);
}

static void drop(struct files *f, struct file *file)
{
    leave(f, file);
    map_remove(&f->by_path, &file->node);
    free_file(file);
}

void files_fini(struct files *f)
{
    for (struct map_node *n = map_first(&f->by_path), *next; n != NULL; n = next) {
        next = map_next(n);
        drop(f, map_entry(n, struct file, node));
    }
    list_each (pos, tmp, &f->gone)
        free_file(list_entry(pos, struct file, dirty));
    free(f->template);
    *f = (struct files){0};
}

/* The run's one event in mode object, else NULL. */
static const struct run_event *event_of(const struct run *run)
{
    return run->hook->rules.mode == HOOK_OBJECT ? &run->events[0] : NULL;
}

static size_t source_of(const struct run *run)
{
    return event_of(run) != NULL ? event_of(run)->delivery->source : 0;
}

/* The path of the run's file, or with files_from of the file of a member, with the reason if there
 * can be none. files_path() does the same for a key without a run. */
static enum err_kind expand(const struct run *run, const char *member, struct buf *path,
                            struct err *err)
{
    const struct files *f = &run->hook->files;
    const struct run_event *re = event_of(run);
    struct path_template_values values = {0};

    if (re == NULL)
        return path_template_expand(f->template, &values, path, NULL, err);
    char *namespace = path_template_name(object_namespace(re->ev.object));
    char *name = path_template_name(object_name(re->ev.object));
    values.of[PATH_TEMPLATE_NAMESPACE] = namespace;
    values.of[PATH_TEMPLATE_NAME] = name;
    values.of[PATH_TEMPLATE_CLUSTER] = source_cluster(run->hook->sources[re->delivery->source].of);
    values.of[PATH_TEMPLATE_KEY] = member;
    enum err_kind kind = path_template_expand(f->template, &values, path, NULL, err);
    free(namespace);
    free(name);
    return kind;
}

bool files_path(const struct hook *h, size_t source, struct str key, struct buf *path)
{
    struct str object = files_object(&h->files, key);
    const char *slash = key.n > 0 ? memchr(object.p, '/', object.n) : NULL;
    size_t ns = slash != NULL ? (size_t)(slash - object.p) : 0;
    size_t at = slash != NULL ? ns + 1 : 0;
    struct path_template_values values = {0};

    if (key.n == 0)
        return path_template_expand(h->files.template, &values, path, NULL, NULL) == ERR_OK;
    char *namespace = path_template_name(str_of(key.p, ns));
    char *name = path_template_name(str_of(object.p + at, object.n - at));
    char *member = object.n < key.n ? path_template_name(member_of(&h->files, key)) : NULL;
    values.of[PATH_TEMPLATE_NAMESPACE] = namespace;
    values.of[PATH_TEMPLATE_NAME] = name;
    values.of[PATH_TEMPLATE_CLUSTER] = source_cluster(h->sources[source].of);
    values.of[PATH_TEMPLATE_KEY] = member;
    enum err_kind kind = path_template_expand(h->files.template, &values, path, NULL, NULL);
    free(namespace);
    free(name);
    free(member);
    return kind == ERR_OK;
}

static struct file *find(const struct files *f, struct str path)
{
    struct map_node *node = map_get(&f->by_path, path);

    return node != NULL ? map_entry(node, struct file, node) : NULL;
}

static struct file *add(struct files *f, struct str path, size_t source, struct str key)
{
    struct file *file = mem_zalloc(sizeof(*file) + path.n + 1);

    memcpy(file->path, path.p, path.n);
    file->source = source;
    file->key = mem_strndup(key.n > 0 ? key.p : "", key.n);
    list_init(&file->dirty);
    list_init(&file->sibling);
    map_put(&f->by_path, &file->node, str_of(file->path, path.n));
    join(f, file);
    return file;
}

static void touch(struct files *f, struct file *file)
{
    if (list_is_empty(&file->dirty))
        list_append(&f->dirty, &file->dirty);
}

/* Is this the key of the file? */
static bool has(const struct run *run, const struct file *file, const char *key)
{
    return file->source == source_of(run) && strcmp(file->key, key) == 0;
}

/* How the user can give the two keys different paths. */
static const char *advice(const struct run *run, const struct file *file)
{
    const struct hook_source *sources = run->hook->sources;
    const char *one = source_cluster(sources[file->source].of);
    const char *other = source_cluster(sources[source_of(run)].of);

    if (strcmp(one, other) != 0)
        return "put ${cluster} into output as a folder";
    if (run->members != NULL && strcmp(file->key, run_key(run)) != 0)
        return "put ${namespace} and ${name} into output as folders";
    if (strcmp(file->key, run_key(run)) != 0)
        return "put ${namespace} into output as a folder";
    return "make a hook for each source";
}

/* The path is taken. The flag tells files_let_go() later that a parked key may be waiting for
 * it. */
static enum err_kind refuse(const struct run *run, struct file *file, struct err *err)
{
    file->contested = true;
    return err_set(err, ERR_CONFIG, 0, "%s is the file of %s of source %s already: %s", file->path,
                   file->key, run->hook->sources[file->source].name, advice(run, file));
}

/* Will no run ever remove the file? The queue has forgotten its key when the source belongs to
 * another cluster now, or because of `persist`. */
static bool is_abandoned(const struct run *run, const struct file *file)
{
    struct str object = files_object(&run->hook->files, str_c(file->key));

    return delivery_queue_find(&run->hook->queue, file->source, object) == NULL;
}

/* The file passes from a key that nobody knows any more to the key of this run. */
static void take_over(const struct run *run, struct file *file, const char *key)
{
    struct files *f = &run->hook->files;

    leave(f, file);
    free(file->key);
    file->key = mem_strdup(key);
    file->source = source_of(run);
    join(f, file);
    touch(f, file);
}

/* May the key have the file with this path? */
static enum err_kind may_claim(const struct run *run, const char *key, struct str path,
                               struct err *err)
{
    struct file *file = find(&run->hook->files, path);

    if (file == NULL || has(run, file, key) || is_abandoned(run, file))
        return ERR_OK;
    return refuse(run, file, err);
}

/* digest: of the bytes that an earlier process has written; zero = unknown. */
static void know(struct file *file, struct digest digest)
{
    file->seen = digest.lo != 0 || digest.hi != 0;
    file->digest = digest;
}

/* The key has the file with this path from now on. True: the file is new. */
static bool give(const struct run *run, const char *key, struct str path)
{
    struct file *file = find(&run->hook->files, path);

    if (file != NULL) {
        if (!has(run, file, key))
            take_over(run, file, key);
        return false;
    }
    /* A stray with this path is the run's file now, and the record of the stray becomes that of the
     * file. */
    struct digest applied;
    bool is_kept = strays_claim(run->hook, path, &applied);

    file = add(&run->hook->files, path, source_of(run), str_c(key));
    file->kept = is_kept;
    know(file, applied);
    if (file->seen) /* its record may name another key */
        touch(&run->hook->files, file);
    return !file->seen;
}

static enum err_kind claim(struct run *run, struct str path, struct err *err)
{
    const struct file *file = find(&run->hook->files, path);

    /* The file is that of another key: the end of this one must not remove it. */
    if (run->kind == RUN_REMOVE && file != NULL && !has(run, file, run_key(run)))
        return ERR_OK;
    enum err_kind kind = may_claim(run, run_key(run), path, err);
    if (kind != ERR_OK)
        return kind;
    give(run, run_key(run), path);
    run->file = mem_strndup(path.p, path.n);
    return ERR_OK;
}

/* ---- The members of an object */

static char *member_key(const struct run *run, const struct member *x)
{
    return mem_printf("%s/%s", run_key(run), x->name);
}

/* Finds the path of a member that the object has, and whether its file may be written. */
static enum err_kind place_member(const struct run *run, struct member *x, struct err *err)
{
    struct buf path = {0};
    char *key = member_key(run, x);
    enum err_kind kind = expand(run, x->name, &path, err);

    if (kind == ERR_OK)
        kind = may_claim(run, key, buf_str(&path), err);
    if (kind == ERR_OK)
        x->path = mem_strndup(path.data, path.len);
    free(key);
    buf_free(&path);
    return kind;
}

/* A new file gets a record before the run starts: after a crash nothing else would say that it is
 * of this object, which may be gone by then. */
static void give_member(const struct run *run, struct member *x)
{
    struct files *f = &run->hook->files;
    char *key = member_key(run, x);

    x->is_new = give(run, key, str_c(x->path));
    struct file *file = find(f, str_c(x->path));
    file->wanted = true;
    if (x->is_new)
        touch(f, file);
    free(key);
}

/* Files that the object had, and has no member for now. If they are too many for one run, the next run
 * for the object takes the others: the helper would refuse a run with all of them again and again. */
static void add_gone(const struct run *run)
{
    const struct files *f = &run->hook->files;
    const struct files_owner *owner = find_owner(f, source_of(run), str_c(run_key(run)));
    bool has_room = true;

    if (owner == NULL)
        return;
    list_each (pos, tmp, &owner->files) {
        struct file *file = list_entry(pos, struct file, sibling);

        if (!file->wanted && has_room)
            has_room = members_add_gone(run->members, member_of(f, str_c(file->key)), file->path);
        file->wanted = false;
    }
}

/* The keys of files rely on it: kube/object_scan takes no name with a slash, and ConfigMaps and
 * Secrets have a namespace. */
static enum err_kind check_key(const struct run *run, struct err *err)
{
    if (strchr(run_key(run), '/') != NULL)
        return ERR_OK;
    return err_set(err, ERR_CONFIG, 0, "\"%.200s\" is no namespace/name", run_key(run));
}

/* The object gets all files, or it keeps those that it has. */
static enum err_kind claim_members(struct run *run, struct err *err)
{
    enum err_kind kind = check_key(run, err);

    run->members = members_create();
    if (kind == ERR_OK && run->kind == RUN_WRITE)
        kind = members_read(run->members, run->events[0].ev.object, err);
    for (size_t i = 0; i < run->members->n && kind == ERR_OK; i++)
        kind = place_member(run, &run->members->v[i], err);
    if (kind != ERR_OK)
        return run->kind == RUN_REMOVE ? ERR_OK : err_wrap(err, "files_from");
    for (size_t i = 0; i < run->members->n; i++)
        give_member(run, &run->members->v[i]);
    add_gone(run);
    return ERR_OK;
}

size_t files_count(const struct run *run)
{
    return run->members != NULL ? run->members->n : run->file != NULL;
}

enum err_kind files_claim(struct run *run, struct err *err)
{
    struct buf path = {0};

    if (run->hook->files.template == NULL || run->kind == RUN_APPLY)
        return ERR_OK;
    if (run->hook->files.from_members)
        return claim_members(run, err);
    enum err_kind kind = expand(run, NULL, &path, err);
    if (kind == ERR_OK)
        kind = claim(run, buf_str(&path), err);
    /* If there can be no such path, no file was ever written to it. */
    else if (run->kind == RUN_REMOVE)
        kind = ERR_OK;
    buf_free(&path);
    return kind == ERR_OK ? ERR_OK : err_wrap(err, "output");
}

/* The file of the run, or NULL. */
static struct file *file_of(const struct run *run)
{
    return run->file != NULL ? find(&run->hook->files, str_c(run->file)) : NULL;
}

static struct file *file_of_member(const struct run *run, size_t i)
{
    return find(&run->hook->files, str_c(run->members->v[i].path));
}

/* The members of the run are written and removed. True if there is anything to apply. */
static bool members_ended(const struct run *run, const struct run_end *end)
{
    bool is_changed = end->stage != RUN_STAGE_SAME;

    for (size_t i = 0; i < run->members->n; i++) {
        const struct member *x = &run->members->v[i];
        struct file *file = file_of_member(run, i);

        if (x->goes)
            is_changed = is_changed || file->seen;
        if (x->goes)
            continue;
        if (!file->seen || !digest_eq(file->digest, x->digest)) {
            is_changed = true;
            touch(&run->hook->files, file);
        }
        file->seen = true;
        file->digest = x->digest;
    }
    return is_changed;
}

bool files_ended(const struct run *run, const struct run_result *result)
{
    struct file *file = file_of(run);
    struct file was;

    if (run->members != NULL && run_end_file(&result->end) != NULL)
        return members_ended(run, &result->end);
    if (file == NULL || run_end_file(&result->end) == NULL)
        return false;
    was = *file;
    if (run->kind == RUN_REMOVE)
        return result->end.stage == RUN_STAGE_REMOVED || was.seen;
    file->seen = true;
    file->digest = result->digest;
    if (!was.seen || !digest_eq(was.digest, result->digest))
        touch(&run->hook->files, file);
    /* An equal file is applied, too, if no run is known that wrote or found these bytes
     * (docs/decisions.md "Whether a file was applied is known by its digest"). */
    return result->end.stage == RUN_STAGE_WRITTEN || !was.seen ||
           !digest_eq(was.digest, result->digest);
}

/* Takes the file from its key. True if another key was refused because of it. */
static bool forget(struct files *f, struct file *file)
{
    bool contested = file->contested;

    /* The record must be dropped before the file can be freed: files_put() does both. */
    if (file->kept) {
        leave(f, file);
        map_remove(&f->by_path, &file->node);
        list_remove(&file->dirty);
        list_append(&f->gone, &file->dirty);
        return contested;
    }
    drop(f, file);
    return contested;
}

/* A file that an earlier run claimed stays: that run may have written it, though it failed. */
static bool members_let_go(const struct run *run, bool wrote, bool ok)
{
    bool contested = false;

    for (size_t i = 0; i < run->members->n; i++) {
        const struct member *x = &run->members->v[i];
        struct file *file = file_of_member(run, i);

        if (file != NULL && (wrote ? ok && x->goes : x->is_new))
            contested = forget(&run->hook->files, file) || contested;
    }
    return contested;
}

bool files_let_go(const struct run *run, bool wrote, bool ok)
{
    struct file *file = file_of(run);

    if (run->members != NULL)
        return members_let_go(run, wrote, ok);
    if (file == NULL || !(wrote ? ok && run->kind == RUN_REMOVE : !file->seen))
        return false;
    return forget(&run->hook->files, file);
}

/* Has the file a record? With files_from it has one before it is written. */
static bool has_record(const struct file *file)
{
    return file->seen || file->owner != NULL;
}

static void put_file(struct file *file, const struct files_sink *sink, void *arg)
{
    static const struct digest unknown;
    const struct files_seen seen = {.path = str_c(file->path),
                                    .source = file->source,
                                    .key = str_c(file->key),
                                    .digest = file->seen ? file->digest : unknown};

    list_remove(&file->dirty);
    if (has_record(file))
        sink->put(arg, &seen);
    else if (file->kept)
        sink->drop(arg, seen.path);
    file->kept = has_record(file);
}

void files_touch_all(struct files *f)
{
    for (struct map_node *n = map_first(&f->by_path); n != NULL; n = map_next(n)) {
        struct file *file = map_entry(n, struct file, node);

        if (has_record(file))
            touch(f, file);
    }
}

void files_put(struct files *f, const struct files_sink *sink, void *arg)
{
    /* Drops come first: another key may have the same path by now, and its record must not be
     * dropped. */
    list_each (gone, tmp, &f->gone) {
        struct file *file = list_entry(gone, struct file, dirty);

        sink->drop(arg, str_c(file->path));
        free_file(file);
    }
    list_each (dirty, tmp, &f->dirty)
        put_file(list_entry(dirty, struct file, dirty), sink, arg);
}

bool files_has(const struct files *f, struct str path)
{
    return find(f, path) != NULL;
}

bool files_is_written(const struct files *f, struct str path)
{
    const struct file *file = find(f, path);

    return file != NULL && file->seen;
}

void files_touch(struct files *f, struct str path)
{
    struct file *file = find(f, path);

    ensure(file != NULL);
    touch(f, file);
}

void files_restore(struct files *f, const struct files_seen *seen)
{
    if (find(f, seen->path) != NULL)
        return;
    struct file *file = add(f, seen->path, seen->source, seen->key);

    file->kept = true;
    know(file, seen->digest);
}

void files_renew(struct files *f)
{
    for (struct map_node *n = map_first(&f->by_path); n != NULL; n = map_next(n)) {
        struct file *file = map_entry(n, struct file, node);

        file->seen = false;
        touch(f, file);
    }
}
