/* SPDX-License-Identifier: Apache-2.0 */
#include "conf/stand_in.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

struct stand_in {
    const char *file; /* FILE */
    char *name;       /* the base name or the path of the file that it stands for */
    bool named;       /* NAME= was written: FILE may be a temporary file that nobody knows */
};

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash != NULL ? slash + 1 : path;
}

static struct stand_in parse(const char *with)
{
    const char *equals = strchr(with, '=');

    if (equals == NULL)
        return (struct stand_in){with, mem_strdup(base_name(with)), false};
    return (struct stand_in){equals + 1, mem_strndup(with, (size_t)(equals - with)), true};
}

static bool stands_for(const struct stand_in *w, const char *path)
{
    return strcmp(path, w->name) == 0 || strcmp(base_name(path), w->name) == 0;
}

/* Reads the configuration as it is, only so that the set knows which files there are. */
static void learn_names(struct file_set *files, const char *main_file)
{
    struct problems ignored = {0};
    struct conf *c = conf_read(files, main_file, &ignored);

    conf_destroy(&c);
    problems_free(&ignored);
}

/* Finds the included file that w stands for. False after a report: there are two. *found is borrowed from
 * the set; NULL = there is none. */
static bool find_included(const struct file_set *files, const struct stand_in *w,
                          const char **found, struct problems *p)
{
    *found = NULL;
    for (size_t i = 0; i < files->names_count; i++)
        for (size_t k = 0; k < files->names[i]->n; k++) {
            const char *path = files->names[i]->v[k];

            if (!stands_for(w, path) || (*found != NULL && strcmp(*found, path) == 0))
                continue;
            if (*found != NULL) {
                problems_add(p, (struct where){w->file, 0},
                             "%s and %s are both called %s: write --with PATH=%s with the one that "
                             "is meant",
                             *found, path, w->name, w->file);
                return false;
            }
            *found = path;
        }
    return true;
}

/* The path that a file called name would have in the folder of the pattern, or NULL if the pattern does
 * not match that path. The caller frees it. */
static char *place_in(const char *pattern, const char *name)
{
    int folder = (int)(base_name(pattern) - pattern); /* length, with the slash */
    char *path =
        strchr(name, '/') != NULL ? mem_strdup(name) : mem_printf("%.*s%s", folder, pattern, name);
    bool one_folder = strcspn(pattern, "*?[") >= (size_t)folder || strchr(name, '/') != NULL;

    /* As glob() does it: a "*" matches neither a slash nor the dot of a hidden file. */
    if (one_folder && fnmatch(pattern, path, FNM_PATHNAME | FNM_PERIOD) == 0)
        return path;
    free(path);
    return NULL;
}

/* Adds the name to those of the first pattern that matches it. Returns its path, which the caller frees, or
 * NULL after a report. */
static char *add_included(struct file_set *files, const struct stand_in *w, struct problems *p)
{
    for (size_t i = 0; i < files->names_count; i++) {
        const char *pattern = files->names[i]->pattern;
        char *path = place_in(pattern, w->name);

        if (path != NULL) {
            file_set_add_name(files, pattern, path);
            return path;
        }
    }
    problems_add(
        p, (struct where){w->file, 0},
        "stands for no file of the configuration: none is called %s, and no pattern of "
        "include matches that name; write --with NAME=FILE with the name that it will have",
        w->name);
    return NULL;
}

/* The path of the file that w stands for, which the caller frees; NULL after a report. */
static char *find_place(struct file_set *files, const char *main_file, const struct stand_in *w,
                        struct problems *p)
{
    const char *found;

    if (stands_for(w, main_file))
        return mem_strdup(main_file);
    learn_names(files, main_file);
    if (!find_included(files, w, &found, p))
        return NULL;
    return found != NULL ? mem_strdup(found) : add_included(files, w, p);
}

/* Puts FILE into the set; false after a report. */
static bool put(struct file_set *files, const char *main_file, const struct stand_in *w,
                struct problems *p)
{
    const struct file_set_key key = {.path = w->file, .may_be_pipe = true};
    const struct file_set_file *file = file_set_read(files, &key);

    if (file->error != 0) {
        problems_add(p, (struct where){w->file, 0}, "cannot be read: %s",
                     strerror(file->error)); /* NOLINT(concurrency-mt-unsafe) */
        return false;
    }
    char *path = find_place(files, main_file, w, p);
    if (path == NULL)
        return false;
    file_set_put(files, path, file, w->named ? path : w->file);
    free(path);
    return true;
}

struct conf *stand_in_read(struct file_set *files, const char *main_file, const char *with,
                           struct problems *p)
{
    struct stand_in w = parse(with);
    struct conf *c = put(files, main_file, &w, p) ? conf_read(files, main_file, p) : NULL;

    free(w.name);
    return c;
}
