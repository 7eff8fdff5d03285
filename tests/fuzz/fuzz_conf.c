/* SPDX-License-Identifier: Apache-2.0 */
/* Three texts: the main file, one that it may include, and one that stands in for the second. Either there is
 * a configuration, and its printed form is the same configuration again, or there are problems, each a
 * line. */
#include <errno.h>
#include <fnmatch.h>

#include "base/file_set.h"
#include "conf/conf.h"
#include "conf/conf_print.h"
#include "conf/stand_in.h"
#include "fuzz_input.h"

/* libconfig forgets some strings of a text that it cannot parse (1.5 and 1.7). A reload reads in a process that
 * ends. */
const char *__lsan_default_suppressions(void); /* NOLINT: LSan's name */
const char *__lsan_default_suppressions(void)  /* NOLINT: LSan's name */
{
    return "leak:libconfig";
}

enum { MAIN, INCLUDED, OTHER, FILES };
static const char *const paths[FILES] = {"/e/main.conf", "/e/conf.d/a.conf", "/tmp/b.conf"};
static struct str texts[FILES];

static enum err_kind read_text(const struct file_set_key *key, struct buf *text, uid_t *owner,
                               struct err *err)
{
    *owner = 0;
    for (size_t i = 0; i < FILES; i++)
        if (strcmp(key->path, paths[i]) == 0) {
            buf_append_str(text, texts[i]);
            return ERR_OK;
        }
    return err_set(err, ERR_CONFIG, ENOENT, "%s: no such file", key->path);
}

static int match(const char *pattern, void (*add)(void *arg, const char *name), void *arg)
{
    for (size_t i = 0; i < OTHER; i++)
        if (fnmatch(pattern, paths[i], FNM_PATHNAME) == 0)
            add(arg, paths[i]);
    return 0;
}

static const struct file_set_source source = {read_text, match};

/* The configuration of the main file, with the other file in the place of the included one; NULL after
 * problems. */
static struct conf *read_conf(bool stands_in)
{
    struct file_set files = {.source = &source};
    struct problems p = {0};
    struct buf told = {0};
    struct conf *c = stands_in ? stand_in_read(&files, paths[MAIN], "a.conf=/tmp/b.conf", &p)
                               : conf_read(&files, paths[MAIN], &p);

    problems_put(&p, &told);
    ensure((c == NULL) == (told.len > 0) && (c == NULL) == (problems_count(&p) > 0));
    problems_free(&p);
    buf_free(&told);
    file_set_fini(&files);
    return c;
}

static void check(struct conf *c)
{
    struct buf printed = {0};
    struct buf again = {0};

    if (c == NULL)
        return;
    conf_print(c, &printed);
    conf_destroy(&c);
    texts[MAIN] = buf_str(&printed);
    c = read_conf(false);
    ensure(c != NULL);
    conf_print(c, &again);
    ensure(str_eq(buf_str(&printed), buf_str(&again)));
    buf_free(&printed);
    buf_free(&again);
    conf_destroy(&c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct str in = str_of((const char *)data, n);
    struct str main_text = texts[MAIN] = fuzz_take_part(&in);

    texts[INCLUDED] = fuzz_take_part(&in);
    texts[OTHER] = in;
    check(read_conf(false));
    texts[MAIN] = main_text;
    check(read_conf(true));
    return 0;
}
