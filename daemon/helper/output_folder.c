/* SPDX-License-Identifier: Apache-2.0 */
#include "helper/output_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/mem.h"
#include "helper/output_base.h"

enum { FOLDER_MODE = 0755, FOLDER_FLAGS = O_RDONLY | O_DIRECTORY | O_CLOEXEC };

static void add(struct output_folder *f, int fd, char *name)
{
    f->fds = mem_realloc(f->fds, (f->count + 1) * sizeof(*f->fds));
    f->names = mem_realloc(f->names, (f->count + 1) * sizeof(*f->names));
    f->fds[f->count] = fd;
    f->names[f->count++] = name;
}

/* Opens a folder right inside another one, never by a link; -1 with errno set. */
static int open_inside(int parent, const char *name)
{
    const struct open_how how = {
        .flags = FOLDER_FLAGS,
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
    };
    long fd = syscall(SYS_openat2, parent, name, &how, sizeof(how));

    /* Linux before 5.6, or a sandbox that is older than the call. For a single name without a
     * slash, which is no "..", openat() does the same. */
    if (fd < 0 && (errno == ENOSYS || errno == EPERM))
        fd = openat(parent, name, FOLDER_FLAGS | O_NOFOLLOW);
    return (int)fd;
}

/* Returns 0 or an errno. EEXIST is no error: the run of another key may have made the folder at the
 * same time. */
static int make_inside(struct output_folder *f, int parent, const char *name)
{
    if (mkdirat(parent, name, FOLDER_MODE) < 0)
        return errno != EEXIST ? errno : 0;
    if (f->made == 0)
        f->made = f->count; /* the index that it gets when enter() adds it */
    return 0;
}

/* Some file systems cannot sync a folder, and say EINVAL. */
static int sync_one(int fd)
{
    return fsync(fd) < 0 && errno != EINVAL ? errno : 0;
}

/* Opens the folder `name` in the last one, and makes it before if need be; takes over name. */
static int enter(struct output_folder *f, char *name, bool make)
{
    int parent = output_folder_fd(f);
    int fd = open_inside(parent, name);
    int error = fd < 0 ? errno : 0;

    if (error == ENOENT && make) {
        error = make_inside(f, parent, name);
        fd = error == 0 ? open_inside(parent, name) : -1;
        if (error == 0 && fd < 0)
            error = errno;
    }
    if (error == 0)
        add(f, fd, name);
    else
        free(name);
    return error;
}

static int open_fixed(struct output_folder *f, const char *path, size_t fixed)
{
    char *name = mem_strndup(path, fixed);
    int fd;
    int error = output_base_open(name, &fd);

    free(name);
    if (error == 0)
        add(f, fd, NULL);
    return error;
}

int output_folder_open(struct output_folder *f, const char *path, size_t fixed, bool make)
{
    const char *at = path + fixed;
    int error = open_fixed(f, path, fixed);

    /* The fixed folder "/" ends with the slash that any other one lacks. */
    at += *at == '/';
    for (const char *end; error == 0 && (end = strchr(at, '/')) != NULL; at = end + 1)
        error = enter(f, mem_strndup(at, (size_t)(end - at)), make);
    return error;
}

int output_folder_fd(const struct output_folder *f)
{
    return f->fds[f->count - 1];
}

void output_folder_prune(const struct output_folder *f, bool only_made)
{
    size_t first = !only_made ? 1 : f->made > 0 ? f->made : f->count;
    size_t i = f->count;

    while (i > first && unlinkat(f->fds[i - 2], f->names[i - 1], AT_REMOVEDIR) == 0) {
        int error = sync_one(f->fds[i - 2]);

        (void)error; /* an empty folder that comes back after a power cut harms nobody */
        i--;
    }
}

/* From the inside to the outside: a folder is on disk before the entry that names it. */
int output_folder_sync(const struct output_folder *f)
{
    int error = 0;

    for (size_t i = f->count; error == 0 && i > 0; i--)
        error = sync_one(f->fds[i - 1]);
    return error;
}

void output_folder_close(struct output_folder *f)
{
    for (size_t i = 0; i < f->count; i++) {
        close(f->fds[i]);
        free(f->names[i]);
    }
    free(f->fds);
    free(f->names);
    *f = (struct output_folder){0};
}
