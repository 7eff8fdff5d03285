/* SPDX-License-Identifier: Apache-2.0 */
#include "app/replay_file.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/log.h"
#include "base/mem.h"

/* A file of objects is read whole, so that it must have an end. */
#define OBJECTS_BYTES ((size_t)1 << 30)

/* One object of a folder. */
struct found {
    struct object *object;
    char *file;
};

struct replay_file {
    char *path;
    FILE *in; /* a recording; NULL = a folder */
    char *line;
    size_t room; /* bytes of line */
    size_t number;
    bool told_cut; /* the warning about the last line was given */
    struct buf place;
    struct found *found; /* of a folder */
    size_t found_count;
};

static const char *reason(int error)
{
    return strerror(error); /* NOLINT(concurrency-mt-unsafe): there is no other thread yet */
}

/* ---- A folder */

/* Argument of take_object(). */
struct taking {
    struct replay_file *to;
    const char *file;
};

static void take_object(void *arg, struct object *o)
{
    const struct taking *t = arg;
    struct replay_file *f = t->to;

    f->found = mem_grow(f->found, f->found_count, sizeof(*f->found));
    f->found[f->found_count++] = (struct found){object_ref(o), mem_strdup(t->file)};
}

static enum err_kind read_whole(const char *path, struct buf *out, struct err *err)
{
    FILE *in = fopen(path, "re");
    size_t n = 1;

    if (in == NULL)
        return err_set(err, ERR_CONFIG, errno, "%s: %s", path, reason(errno));
    while (n > 0 && out->len < OBJECTS_BYTES) {
        char *room = buf_reserve(out, 65536);

        n = fread(room, 1, 65536, in);
        out->len += n;
    }
    bool failed = ferror(in) != 0;
    fclose(in);
    if (failed || n > 0)
        return err_set(err, ERR_CONFIG, 0, "%s: %s", path,
                       failed ? "it cannot be read" : "it is too large");
    return ERR_OK;
}

static enum err_kind read_file(struct replay_file *f, const char *name, struct err *err)
{
    char *path = mem_printf("%s/%s", f->path, name);
    struct taking taking = {f, path};
    struct buf text = {0};
    enum err_kind kind = read_whole(path, &text, err);

    if (kind == ERR_OK &&
        recording_read_objects(buf_str(&text), take_object, &taking, err) != ERR_OK) {
        err_wrap(err, "%s", path);
        kind = err->kind = ERR_CONFIG;
    }
    buf_free(&text);
    free(path);
    return kind;
}

static bool ends_with(const char *name, const char *end)
{
    size_t n = strlen(name);

    return n > strlen(end) && strcmp(name + n - strlen(end), end) == 0;
}

static int is_json(const struct dirent *e)
{
    if (ends_with(e->d_name, ".yaml") || ends_with(e->d_name, ".yml"))
        log_warn("replay: a YAML file is left out: kubectl get -o json writes JSON",
                 KV_STR("file", e->d_name));
    return e->d_name[0] != '.' && ends_with(e->d_name, ".json");
}

static enum err_kind read_folder(struct replay_file *f, struct err *err)
{
    struct dirent **names = NULL;
    int n = scandir(f->path, &names, is_json, alphasort);
    enum err_kind kind = ERR_OK;

    if (n < 0)
        return err_set(err, ERR_CONFIG, errno, "%s: %s", f->path, reason(errno));
    for (int i = 0; i < n; i++) {
        if (kind == ERR_OK)
            kind = read_file(f, names[i]->d_name, err);
        free(names[i]);
    }
    free(names);
    if (n == 0)
        kind = err_set(err, ERR_CONFIG, 0, "%s: no file in this folder is named *.json", f->path);
    return kind;
}

/* ---- Both */

static enum err_kind open_any(struct replay_file *f, struct err *err)
{
    struct stat st;

    if (stat(f->path, &st) != 0)
        return err_set(err, ERR_CONFIG, errno, "%s: %s", f->path, reason(errno));
    if (S_ISDIR(st.st_mode))
        return read_folder(f, err);
    if (!S_ISREG(st.st_mode)) /* it is read twice */
        return err_set(err, ERR_CONFIG, 0, "%s: neither a file nor a folder", f->path);
    f->in = fopen(f->path, "re");
    if (f->in == NULL)
        return err_set(err, ERR_CONFIG, errno, "%s: %s", f->path, reason(errno));
    return ERR_OK;
}

enum err_kind replay_file_open(const char *path, struct replay_file **out, struct err *err)
{
    struct replay_file *f = MEM_NEW(struct replay_file, .path = mem_strdup(path));
    enum err_kind kind = open_any(f, err);

    if (kind != ERR_OK)
        replay_file_close(&f);
    *out = f;
    return kind;
}

void replay_file_close(struct replay_file **fp)
{
    struct replay_file *f = *fp;

    if (f == NULL)
        return;
    *fp = NULL;
    for (size_t i = 0; i < f->found_count; i++) {
        object_unref(&f->found[i].object);
        free(f->found[i].file);
    }
    free(f->found);
    if (f->in != NULL)
        fclose(f->in);
    buf_free(&f->place);
    free(f->line);
    free(f->path);
    free(f);
}

bool replay_file_is_folder(const struct replay_file *f)
{
    return f->in == NULL;
}

const char *replay_file_path(const struct replay_file *f)
{
    return f->path;
}

void replay_file_rewind(struct replay_file *f)
{
    f->number = 0;
    if (f->in != NULL)
        rewind(f->in);
}

const char *replay_file_place(struct replay_file *f)
{
    buf_clear(&f->place);
    if (f->in == NULL)
        return f->number > 0 ? f->found[f->number - 1].file : f->path;
    buf_printf(&f->place, "%s:%zu", f->path, f->number);
    return buf_cstr(&f->place);
}

static void next_object(struct replay_file *f, struct recording_line *out, bool *end)
{
    *end = f->number == f->found_count;
    if (!*end)
        *out = (struct recording_line){.what = RECORDING_CHANGE,
                                       .type = DELTA_ADDED,
                                       .cause = CAUSE_RELIST,
                                       .object = object_ref(f->found[f->number++].object)};
}

static void tell_cut(struct replay_file *f)
{
    if (!f->told_cut)
        log_warn("replay: the last line is cut short and left out",
                 KV_STR("line", replay_file_place(f)));
    f->told_cut = true;
}

enum err_kind replay_file_next(struct replay_file *f, struct recording_line *out, bool *end,
                               struct err *err)
{
    *out = (struct recording_line){0};
    if (f->in == NULL) {
        next_object(f, out, end);
        return ERR_OK;
    }
    ssize_t n = getline(&f->line, &f->room, f->in);
    *end = n <= 0;
    if (*end) {
        if (ferror(f->in) != 0)
            return err_set(err, ERR_CONFIG, errno, "%s: %s", f->path, reason(errno));
        return ERR_OK;
    }
    f->number++;
    if (f->line[n - 1] != '\n') {
        tell_cut(f);
        *end = true;
        return ERR_OK;
    }
    if (recording_read(str_of(f->line, (size_t)n - 1), out, err) == ERR_OK)
        return ERR_OK;
    err_wrap(err, "%s", replay_file_place(f));
    return err->kind = ERR_CONFIG;
}
