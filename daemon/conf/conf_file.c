/* SPDX-License-Identifier: Apache-2.0 */
#include "conf/conf_file.h"

#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <libconfig.h>

#include "base/mem.h"
#include "conf/main_conf.h"
#include "conf/scan.h"
#include "conf/setting.h"

/* An include that matches a log or a device by mistake must not fill the memory. */
enum { FILE_MAX = 4 * 1024 * 1024 };

/* Appends the bytes of a file; false after a report. */
static bool read_text(const char *path, struct buf *text, struct problems *p)
{
    struct where at = {path, 0};
    FILE *f = fopen(path, "re");

    if (f == NULL) {
        problems_add(p, at, "cannot be read: %s",
                     strerror(errno)); /* NOLINT(concurrency-mt-unsafe) */
        return false;
    }
    while (text->len <= FILE_MAX && !feof(f) && !ferror(f))
        text->len += fread(buf_reserve(text, BUFSIZ), 1, BUFSIZ, f);
    bool failed = ferror(f) != 0;
    int error = errno; /* fclose() may change it */
    fclose(f);
    if (failed)
        problems_add(p, at, "cannot be read: %s",
                     strerror(error)); /* NOLINT(concurrency-mt-unsafe) */
    else if (text->len > FILE_MAX)
        problems_add(p, at, "is larger than 4MiB: that is no configuration");
    return !failed && text->len <= FILE_MAX;
}

/* libconfig stops at its first error. For a parse error it says no more than "syntax error", and it
 * names the line where the parser noticed, which is often one line too late. */
static void report_syntax(const config_t *config, const char *path, struct problems *p)
{
    const char *text = config_error_text(config);
    struct where at = {path, config_error_line(config)};

    if (text != NULL && strcmp(text, "syntax error") != 0)
        problems_add(p, at, "%s", text);
    else
        problems_add(
            p, at,
            "syntax error here or shortly before (a missing quote, semicolon or bracket?); "
            "what follows in this file was not checked");
}

/* Reads one file into c; main_file is NULL if path is the main file. path must live as long as c,
 * as the places of values point to it. A file with a syntax error gives no settings at all: the
 * last group before the error may be half a hook. */
static bool read_file(struct conf *c, const char *path, const char *main_file, struct problems *p)
{
    struct setting_reader r = {path, main_file, p};
    struct buf text = {0};
    config_t config;
    bool parsed = false;

    config_init(&config);
    if (read_text(path, &text, p)) {
        buf_cstr(&text);
        scan_text(text.data, text.len, path, p);
        parsed = config_read_string(&config, text.data) == CONFIG_TRUE;
        if (parsed)
            setting_read(&r, main_conf_settings, c, config_root_setting(&config));
        else
            report_syntax(&config, path, p);
    }
    config_destroy(&config);
    buf_free(&text);
    return parsed;
}

/* A file that two patterns match, or that the main file includes as itself, is read once. Otherwise
 * each of its names would be reported as given twice. */
static bool was_read(const struct conf *c, const char *path)
{
    for (size_t i = 0; i < c->n_files; i++)
        if (strcmp(c->files[i], path) == 0)
            return true;
    return false;
}

/* Keeps the name for as long as c lives. */
static const char *add_file(struct conf *c, const char *path)
{
    c->files = mem_realloc(c->files, (c->n_files + 1) * sizeof(*c->files));
    c->files[c->n_files] = mem_strndup(path, strlen(path));
    return c->files[c->n_files++];
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* A folder that does not exist holds no file that a pattern could match: the default of include is
 * conf.d, which need not exist. A folder that cannot be read is an error, as its files would be
 * missing without a word. */
static int on_glob_error(const char *path, int error)
{
    (void)path;
    return error != ENOENT && error != ENOTDIR;
}

/* Reads the files that one element of include matches; false if a problem was reported. */
static bool read_matches(struct conf *c, const struct conf_str *item, const char *pattern,
                         struct problems *p)
{
    glob_t found = {0};
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): one thread reads configurations */
    int result = glob(pattern, GLOB_NOSORT, on_glob_error, &found);
    bool ok = result == 0 || result == GLOB_NOMATCH;

    if (!ok)
        problems_add(p, item->at, "include: cannot search %s", pattern);
    /* In the order of their bytes: glob() would sort by the locale, and the order of hooks and
     * watches must be the same on all machines. */
    if (found.gl_pathc > 0)
        qsort(found.gl_pathv, found.gl_pathc, sizeof(*found.gl_pathv), by_name);
    for (size_t i = 0; i < found.gl_pathc; i++)
        if (!was_read(c, found.gl_pathv[i]))
            ok = read_file(c, add_file(c, found.gl_pathv[i]), c->files[0], p) && ok;
    globfree(&found);
    return ok;
}

bool conf_file_read(struct conf *c, const char *path, struct problems *p)
{
    const char *slash = strrchr(path, '/');
    int folder = slash != NULL ? (int)(slash + 1 - path) : 0; /* length, with the slash */

    setting_defaults(main_conf_settings, c);
    bool ok = read_file(c, add_file(c, path), NULL, p);
    /* Only the main file may have include (read_one() in conf/setting.c), so this list does not
     * grow while files are read. */
    for (size_t i = 0; i < c->include.n; i++) {
        const char *name = c->include.v[i].v;
        char *pattern = mem_printf("%.*s%s", name[0] == '/' ? 0 : folder, path, name);

        ok = read_matches(c, &c->include.v[i], pattern, p) && ok;
        free(pattern);
    }
    return ok;
}
