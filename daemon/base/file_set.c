/* SPDX-License-Identifier: Apache-2.0 */
#include "base/file_set.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/panic.h"

/* ---- Files */

static bool is_same(const struct file_set_key *a, const struct file_set_key *b)
{
    return strcmp(a->path, b->path) == 0 && a->trusted == b->trusted &&
           a->owners[0] == b->owners[0] && a->owners[1] == b->owners[1];
}

/* There are tens of files and patterns, so nothing is indexed. */
static struct file_set_file *find_file(const struct file_set *s, const struct file_set_key *key)
{
    for (size_t i = 0; i < s->file_count; i++)
        if (is_same(&s->files[i]->key, key))
            return s->files[i];
    return NULL;
}

/* Adds a file without a text, which the caller fills in. */
static struct file_set_file *add_file(struct file_set *s, const struct file_set_key *key)
{
    struct file_set_file *f = mem_zalloc(sizeof(*f));

    f->path = mem_strdup(key->path);
    f->key = *key;
    f->key.path = f->path;
    f->shown = mem_strdup(key->path);
    s->files = mem_grow(s->files, s->file_count, sizeof(void *));
    s->files[s->file_count++] = f;
    return f;
}

static void clear_text(struct file_set_file *f)
{
    if (f->text.data != NULL)
        mem_wipe(f->text.data, f->text.cap);
    buf_free(&f->text);
}

static void free_file(struct file_set_file *f)
{
    clear_text(f);
    free(f->path);
    free(f->shown);
    free(f->reason);
    free(f);
}

static void set_error(struct file_set_file *f, int error, const char *reason)
{
    clear_text(f);
    f->error = error != 0 ? error : EIO;
    f->reason = mem_strdup(reason);
}

const struct file_set_file *file_set_read(struct file_set *s, const struct file_set_key *key)
{
    struct file_set_file *f = find_file(s, key);
    struct err err = {0};

    if (f != NULL)
        return f;
    f = add_file(s, key);
    if (s->source == NULL) {
        char *reason = mem_printf("%s: not among the files that were read", key->path);

        set_error(f, ENOENT, reason);
        free(reason);
    } else if (s->source->read(key, &f->text, &f->owner, &err) != ERR_OK) {
        set_error(f, err.code, err.text);
    }
    return f;
}

void file_set_put(struct file_set *s, const char *path, const struct file_set_file *other,
                  const char *shown)
{
    const struct file_set_key key = {.path = path};
    struct file_set_file *f = find_file(s, &key);

    ensure(other->error == 0);
    if (f == other)
        return;
    if (f == NULL)
        f = add_file(s, &key);
    clear_text(f);
    free(f->reason);
    free(f->shown);
    f->reason = NULL;
    f->shown = mem_strdup(shown);
    f->stands_in = true;
    f->error = 0;
    f->owner = other->owner;
    buf_append_str(&f->text, buf_str(&other->text));
}

/* ---- Names */

static struct file_set_names *find_names(const struct file_set *s, const char *pattern)
{
    for (size_t i = 0; i < s->names_count; i++)
        if (strcmp(s->names[i]->pattern, pattern) == 0)
            return s->names[i];
    return NULL;
}

static struct file_set_names *add_names(struct file_set *s, const char *pattern)
{
    struct file_set_names *names = mem_zalloc(sizeof(*names));

    names->pattern = mem_strdup(pattern);
    s->names = mem_grow(s->names, s->names_count, sizeof(void *));
    s->names[s->names_count++] = names;
    return names;
}

static void free_names(struct file_set_names *names)
{
    mem_free_strs(names->v, names->n);
    free(names->pattern);
    free(names);
}

static void add_name(void *arg, const char *name)
{
    struct file_set_names *names = arg;

    names->v = mem_grow(names->v, names->n, sizeof(*names->v));
    names->v[names->n++] = mem_strdup(name);
}

static int by_bytes(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void sort(struct file_set_names *names)
{
    if (names->n > 0)
        qsort(names->v, names->n, sizeof(*names->v), by_bytes);
}

const struct file_set_names *file_set_match(struct file_set *s, const char *pattern)
{
    struct file_set_names *names = find_names(s, pattern);

    if (names != NULL)
        return names;
    names = add_names(s, pattern);
    if (s->source != NULL)
        names->error = s->source->match(pattern, add_name, names);
    else
        names->error = ENOENT;
    sort(names);
    return names;
}

void file_set_add_name(struct file_set *s, const char *pattern, const char *name)
{
    struct file_set_names *names = find_names(s, pattern);

    ensure(names != NULL);
    add_name(names, name);
    sort(names);
}

/* ---- As bytes: numbers of 8 bytes; texts with their length before them */

static void put_number(struct buf *out, uint64_t n)
{
    buf_append(out, &n, sizeof(n));
}

static void put_text(struct buf *out, struct str text)
{
    put_number(out, text.n);
    buf_append_str(out, text);
}

static void put_file(struct buf *out, const struct file_set_file *f)
{
    put_text(out, str_c(f->key.path));
    put_number(out, f->key.trusted);
    put_number(out, f->key.owners[0]);
    put_number(out, f->key.owners[1]);
    put_text(out, str_c(f->shown));
    put_number(out, f->stands_in);
    put_number(out, (uint64_t)f->error);
    put_text(out, str_c(f->reason));
    put_number(out, f->owner);
    put_text(out, buf_str(&f->text));
}

static void put_names(struct buf *out, const struct file_set_names *names)
{
    put_text(out, str_c(names->pattern));
    put_number(out, (uint64_t)names->error);
    put_number(out, names->n);
    for (size_t i = 0; i < names->n; i++)
        put_text(out, str_c(names->v[i]));
}

void file_set_encode(const struct file_set *s, struct buf *out)
{
    put_number(out, s->as_root);
    put_number(out, s->file_count);
    for (size_t i = 0; i < s->file_count; i++)
        put_file(out, s->files[i]);
    put_number(out, s->names_count);
    for (size_t i = 0; i < s->names_count; i++)
        put_names(out, s->names[i]);
}

/* Takes a number of at most max off *in; false if the bytes have none. */
static bool take_number(struct str *in, uint64_t max, uint64_t *out)
{
    if (in->n < sizeof(*out))
        return false;
    memcpy(out, in->p, sizeof(*out));
    *in = str_of(in->p + sizeof(*out), in->n - sizeof(*out));
    return *out <= max;
}

static bool take_text(struct str *in, struct str *out)
{
    uint64_t n;

    if (!take_number(in, in->n, &n) || n > in->n)
        return false;
    *out = str_of(in->p, (size_t)n);
    *in = str_of(in->p + n, in->n - (size_t)n);
    return true;
}

/* A text that becomes a C string; the caller frees it. NULL: the bytes have none. */
static char *take_string(struct str *in)
{
    struct str text;

    if (!take_text(in, &text) || memchr(text.p, '\0', text.n) != NULL)
        return NULL;
    return mem_strndup(text.p, text.n);
}

static bool take_key(struct str *in, char **path, struct file_set_key *key)
{
    uint64_t trusted;
    uint64_t owners[2];

    *path = take_string(in);
    if (*path == NULL || !take_number(in, 1, &trusted) || !take_number(in, (uid_t)-1, &owners[0]) ||
        !take_number(in, (uid_t)-1, &owners[1]))
        return false;
    *key = (struct file_set_key){
        .path = *path, .trusted = trusted == 1, .owners = {(uid_t)owners[0], (uid_t)owners[1]}
    };
    return true;
}

/* The rest of a file, behind its key. */
static bool take_rest(struct str *in, struct file_set_file *f)
{
    uint64_t stands_in;
    uint64_t error;
    uint64_t owner;
    struct str text;

    free(f->shown);
    f->shown = take_string(in);
    if (f->shown == NULL || !take_number(in, 1, &stands_in) || !take_number(in, INT32_MAX, &error))
        return false;
    f->reason = take_string(in);
    if (f->reason == NULL || !take_number(in, (uid_t)-1, &owner) || !take_text(in, &text))
        return false;
    if (error == 0) {
        free(f->reason);
        f->reason = NULL;
    }
    f->stands_in = stands_in == 1;
    f->error = (int)error;
    f->owner = (uid_t)owner;
    buf_append_str(&f->text, text);
    return error == 0 || text.n == 0;
}

static bool take_file(struct str *in, struct file_set *s)
{
    struct file_set_key key;
    char *path = NULL;
    bool ok =
        take_key(in, &path, &key) && find_file(s, &key) == NULL && take_rest(in, add_file(s, &key));

    free(path);
    return ok;
}

static bool take_names(struct str *in, struct file_set *s)
{
    char *pattern = take_string(in);
    bool ok = pattern != NULL && find_names(s, pattern) == NULL;
    uint64_t error = 0;
    uint64_t n = 0;

    if (ok && (ok = take_number(in, INT32_MAX, &error) && take_number(in, in->n, &n))) {
        struct file_set_names *names = add_names(s, pattern);

        names->error = (int)error;
        for (uint64_t i = 0; ok && i < n; i++) {
            char *name = take_string(in);

            if (name != NULL)
                add_name(names, name);
            ok = name != NULL;
            free(name);
        }
    }
    free(pattern);
    return ok;
}

/* Takes as many items as a number says. */
static bool take_each(struct str *in, struct file_set *s,
                      bool (*take)(struct str *, struct file_set *))
{
    uint64_t n;
    bool ok = take_number(in, in->n, &n);

    for (uint64_t i = 0; ok && i < n; i++)
        ok = take(in, s);
    return ok;
}

enum err_kind file_set_decode(struct str bytes, struct file_set *s, struct err *err)
{
    uint64_t as_root;

    *s = (struct file_set){0};
    if (take_number(&bytes, 1, &as_root) && take_each(&bytes, s, take_file) &&
        take_each(&bytes, s, take_names) && bytes.n == 0) {
        s->as_root = as_root == 1;
        return ERR_OK;
    }
    file_set_fini(s);
    return err_set(err, ERR_PROTOCOL, 0, "these bytes are no files of a configuration");
}

void file_set_fini(struct file_set *s)
{
    for (size_t i = 0; i < s->file_count; i++)
        free_file(s->files[i]);
    for (size_t i = 0; i < s->names_count; i++)
        free_names(s->names[i]);
    free(s->files);
    free(s->names);
    *s = (struct file_set){0};
}
