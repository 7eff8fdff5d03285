/* SPDX-License-Identifier: Apache-2.0 */
#include "app/unit_order.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/compiler.h"

/* Folders of systemd.unit(5) that a package, an administrator or a generator writes to. */
static const char *const folders[] = {"/etc/systemd/system", "/run/systemd/system",
                                      "/usr/local/lib/systemd/system", "/usr/lib/systemd/system",
                                      "/lib/systemd/system"};

static bool has_word(const char *list, const char *word)
{
    size_t n = strlen(word);

    for (const char *at = list; (at = strstr(at, word)) != NULL; at += n)
        if ((at == list || strchr(" \t=", at[-1]) != NULL) && strchr(" \t\n", at[n]) != NULL)
            return true;
    return false;
}

/* strchr() finds the end of a string, too, so a word at the end of the file counts. */
static bool file_is_after(const char *path)
{
    FILE *f = fopen(path, "re");
    char line[4096];
    bool found = false;

    while (f != NULL && !found && fgets(line, sizeof(line), f) != NULL)
        found = strncmp(line, "After=", 6) == 0 && has_word(line, "informerd.service");
    if (f != NULL)
        fclose(f);
    return found;
}

static bool drop_ins_are_after(const char *folder)
{
    DIR *d = opendir(folder);
    struct buf path = {0};
    bool found = false;

    if (d == NULL)
        return false;
    for (const struct dirent *e; !found && (e = readdir(d)) != NULL;) {
        if (e->d_name[0] == '.')
            continue;
        buf_clear(&path);
        buf_printf(&path, "%s/%s", folder, e->d_name);
        found = file_is_after(buf_cstr(&path));
    }
    closedir(d);
    buf_free(&path);
    return found;
}

static bool is_after_informerd(const char *unit, const char *root)
{
    struct buf path = {0};
    bool found = false;

    if (strchr(unit, '/') != NULL)
        return false;
    for (size_t i = 0; !found && i < ARRAY_LEN(folders); i++) {
        buf_clear(&path);
        buf_printf(&path, "%s%s/%s%s", root, folders[i], unit,
                   strchr(unit, '.') != NULL ? "" : ".service");
        found = file_is_after(buf_cstr(&path));
        buf_puts(&path, ".d");
        found = found || drop_ins_are_after(buf_cstr(&path));
    }
    buf_free(&path);
    return found;
}

/* The verbs that wait for the start of a unit that is about to start. try-restart and
 * try-reload-or-restart do nothing then, as the unit is not active yet (docs/haproxy.md "At boot"). */
static bool is_verb(const char *word)
{
    static const char *const verbs[] = {"start", "restart", "reload", "reload-or-restart"};

    for (size_t i = 0; i < ARRAY_LEN(verbs); i++)
        if (strcmp(word, verbs[i]) == 0)
            return true;
    return false;
}

/* The place of systemctl, which may stand behind sudo or timeout; n = it is not there. */
static size_t find_systemctl(const struct conf_list *command)
{
    size_t i = 0;

    for (; i < command->n; i++) {
        const char *slash = strrchr(command->v[i].v, '/');

        if (strcmp(slash != NULL ? slash + 1 : command->v[i].v, "systemctl") == 0)
            break;
    }
    return i;
}

const char *unit_order_waits(const struct conf_list *command, const char *root)
{
    size_t from = find_systemctl(command);
    bool waits = false;

    for (size_t i = from; i < command->n; i++)
        if (strcmp(command->v[i].v, "--no-block") == 0)
            return NULL;
    for (size_t i = from + 1; i < command->n; i++) {
        const char *word = command->v[i].v;

        if (waits && word[0] != '-' && is_after_informerd(word, root))
            return word;
        waits = waits || is_verb(word);
    }
    return NULL;
}
