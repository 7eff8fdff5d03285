/* SPDX-License-Identifier: Apache-2.0 */
#include "app/name_modules.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/read_all.h"

enum { FILE_BYTES = 64 * 1024 };

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

/* A word in brackets is an action: "[NOTFOUND=return]", also with spaces inside. */
static void find_in_line(struct str line, name_modules_cb *cb, void *arg)
{
    for (size_t i = 0; i < line.n;) {
        size_t from = i;

        if (line.p[i] == '[')
            while (i < line.n && line.p[i++] != ']') {
            }
        else if (is_space(line.p[i]))
            i++;
        else {
            while (i < line.n && !is_space(line.p[i]) && line.p[i] != '[')
                i++;
            cb(arg, (struct str){line.p + from, i - from});
        }
    }
}

/* The rest of the line behind "hosts:", without a comment; empty for other lines. */
static struct str services(struct str line)
{
    static const char key[] = "hosts:";
    size_t n = 0;

    while (n < line.n && line.p[n] != '#')
        n++;
    line.n = n;
    while (line.n > 0 && is_space(line.p[0]))
        line = (struct str){line.p + 1, line.n - 1};
    if (line.n < sizeof(key) - 1 || memcmp(line.p, key, sizeof(key) - 1) != 0)
        return (struct str){0};
    return (struct str){line.p + sizeof(key) - 1, line.n - (sizeof(key) - 1)};
}

void name_modules_find(struct str text, name_modules_cb *cb, void *arg)
{
    for (size_t at = 0; at < text.n;) {
        const char *end = memchr(text.p + at, '\n', text.n - at);
        size_t n = end != NULL ? (size_t)(end - text.p) - at : text.n - at;

        find_in_line(services((struct str){text.p + at, n}), cb, arg);
        at += n + 1;
    }
}

/* glibc finds a library that is there already by this name. "files" and "dns" are a part of glibc. */
static void load(void *arg, struct str name)
{
    char *library = mem_printf("libnss_%.*s.so.2", STR_ARG(name));

    (void)arg;
    if (!str_is(name, "files") && !str_is(name, "dns") &&
        dlopen(library, RTLD_NOW | RTLD_LOCAL) == NULL)
        log_debug("a module of the name service was not loaded", KV_STR("err", dlerror()));
    free(library);
}

void name_modules_load(void)
{
    int fd = open("/etc/nsswitch.conf", O_RDONLY | O_CLOEXEC);
    struct buf text = {0};

    if (fd < 0)
        return;
    if (read_all(fd, FILE_BYTES, &text) == 0)
        name_modules_find(buf_str(&text), load, NULL);
    buf_free(&text);
    close(fd);
}
