/* SPDX-License-Identifier: Apache-2.0 */
#include "hook/files.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/panic.h"
#include "base/path_template.h"
#include "hook/hook.h"

void files_init(struct files *f, const char *template)
{
    *f = (struct files){.template = mem_strdup(template)};
    list_init(&f->dirty);
    list_init(&f->gone);
}

static void free_file(struct file *file)
{
    list_remove(&file->dirty);
    free(file->key);
    free(file);
}

static void drop(struct files *f, struct file *file)
{
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

/* The name as a string; "" if it has a NUL: path_template_expand() refuses both as file names. */
static char *name_of(struct str name)
{
    bool whole = name.n > 0 && memchr(name.p, '\0', name.n) == NULL;

    return whole ? mem_strndup(name.p, name.n) : mem_strdup("");
}

/* The path of the run's file, with the reason if there can be none. files_path() does the same for
 * a key without a run. */
static enum err_kind expand(const struct run *run, struct buf *path, struct err *err)
{
    const struct files *f = &run->hook->files;
    const struct run_event *re = event_of(run);
    struct path_template_values values = {0};

    if (re == NULL)
        return path_template_expand(f->template, &values, path, NULL, err);
    char *namespace = name_of(object_namespace(re->ev.object));
    char *name = name_of(object_name(re->ev.object));
    values.of[PATH_TEMPLATE_NAMESPACE] = namespace;
    values.of[PATH_TEMPLATE_NAME] = name;
    values.of[PATH_TEMPLATE_CLUSTER] = source_cluster(run->hook->sources[re->delivery->source].of);
    enum err_kind kind = path_template_expand(f->template, &values, path, NULL, err);
    free(namespace);
    free(name);
    return kind;
}

bool files_path(const struct hook *h, size_t source, struct str key, struct buf *path)
{
    const char *slash = key.n > 0 ? memchr(key.p, '/', key.n) : NULL;
    size_t ns = slash != NULL ? (size_t)(slash - key.p) : 0;
    size_t at = slash != NULL ? ns + 1 : 0;
    struct path_template_values values = {0};

    if (key.n == 0)
        return path_template_expand(h->files.template, &values, path, NULL, NULL) == ERR_OK;
    char *namespace = name_of(str_of(key.p, ns));
    char *name = name_of(str_of(key.p + at, key.n - at));
    values.of[PATH_TEMPLATE_NAMESPACE] = namespace;
    values.of[PATH_TEMPLATE_NAME] = name;
    values.of[PATH_TEMPLATE_CLUSTER] = source_cluster(h->sources[source].of);
    enum err_kind kind = path_template_expand(h->files.template, &values, path, NULL, NULL);
    free(namespace);
    free(name);
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
    map_put(&f->by_path, &file->node, str_of(file->path, path.n));
    return file;
}

static void touch(struct files *f, struct file *file)
{
    if (list_is_empty(&file->dirty))
        list_append(&f->dirty, &file->dirty);
}

/* Does the key of this run have the file? */
static bool has(const struct run *run, const struct file *file)
{
    return file->source == source_of(run) && strcmp(file->key, run_key(run)) == 0;
}

/* How the user can give the two keys different paths. */
static const char *advice(const struct run *run, const struct file *file)
{
    const struct hook_source *sources = run->hook->sources;
    const char *one = source_cluster(sources[file->source].of);
    const char *other = source_cluster(sources[source_of(run)].of);

    if (strcmp(one, other) != 0)
        return "put ${cluster} into output as a folder";
    if (strcmp(file->key, run_key(run)) != 0)
        return "put ${namespace} into output as a folder";
    return "make a hook for each source";
}

/* The path is taken. The flag tells files_forget() later that a parked key may be waiting for
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
    return delivery_queue_find(&run->hook->queue, file->source, str_c(file->key)) == NULL;
}

/* The file passes from a key that nobody knows any more to the key of this run. */
static void take_over(const struct run *run, struct file *file)
{
    free(file->key);
    file->key = mem_strdup(run_key(run));
    file->source = source_of(run);
    touch(&run->hook->files, file);
}

static enum err_kind claim(struct run *run, struct str path, struct err *err)
{
    struct file *file = find(&run->hook->files, path);

    if (file == NULL) {
        /* A stray with this path is the run's file now, and the record of the stray becomes that of
         * the file. */
        bool is_kept = strays_claim(run->hook, path);

        file = add(&run->hook->files, path, source_of(run), str_c(run_key(run)));
        file->kept = is_kept;
    } else if (!has(run, file)) {
        /* The file is that of another key: the end of this one must not remove it. */
        if (run->kind == RUN_REMOVE)
            return ERR_OK;
        if (!is_abandoned(run, file))
            return refuse(run, file, err);
        take_over(run, file);
    }
    run->file = mem_strndup(path.p, path.n);
    return ERR_OK;
}

enum err_kind files_claim(struct run *run, struct err *err)
{
    struct buf path = {0};

    if (run->hook->files.template == NULL || run->kind == RUN_APPLY)
        return ERR_OK;
    enum err_kind kind = expand(run, &path, err);
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

bool files_is_seen(const struct run *run)
{
    return file_of(run) != NULL && file_of(run)->seen;
}

bool files_ended(const struct run *run, const struct run_result *result)
{
    struct file *file = file_of(run);
    struct file was;

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

bool files_forget(const struct run *run)
{
    struct file *file = file_of(run);

    if (file == NULL)
        return false;
    /* The record must be dropped before the file can be freed: files_put() does both. */
    if (file->kept) {
        map_remove(&run->hook->files.by_path, &file->node);
        list_remove(&file->dirty);
        list_append(&run->hook->files.gone, &file->dirty);
        return file->contested;
    }
    bool contested = file->contested;
    drop(&run->hook->files, file);
    return contested;
}

static void put_file(struct file *file, const struct files_sink *sink, void *arg)
{
    const struct files_seen seen = {.path = str_c(file->path),
                                    .source = file->source,
                                    .key = str_c(file->key),
                                    .digest = file->digest};

    list_remove(&file->dirty);
    if (file->seen)
        sink->put(arg, &seen);
    else if (file->kept)
        sink->drop(arg, seen.path);
    file->kept = file->seen;
}

void files_touch_all(struct files *f)
{
    for (struct map_node *n = map_first(&f->by_path); n != NULL; n = map_next(n)) {
        struct file *file = map_entry(n, struct file, node);

        if (file->seen)
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

    file->seen = file->kept = true;
    file->digest = seen->digest;
}

void files_renew(struct files *f)
{
    for (struct map_node *n = map_first(&f->by_path); n != NULL; n = map_next(n)) {
        struct file *file = map_entry(n, struct file, node);

        file->seen = false;
        touch(f, file);
    }
}
