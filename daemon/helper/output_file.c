/* SPDX-License-Identifier: Apache-2.0 */
#include "helper/output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/digest.h"
#include "base/mem.h"
#include "base/path_template.h"

enum {
    CHUNK = 256 * 1024,
    EXTENSION_MAX = 16, /* bytes, with the dot */
    PRIVATE = 0600
};

static int result(int rc)
{
    return rc < 0 ? errno : 0;
}

/* The extension of a name with its dot; "" if it has none, or a long one. The new file has it, too,
 * because programs such as a check go by it. */
static const char *extension(const char *name)
{
    const char *dot = strrchr(name, '.');

    return dot != NULL && dot != name && strlen(dot) <= EXTENSION_MAX ? dot : "";
}

/* The NUL between the two keeps hook "a" with file "bc" apart from hook "ab" with file "c". */
static uint64_t hash(const char *hook, const char *name)
{
    struct buf b = {0};

    buf_append(&b, hook, strlen(hook) + 1);
    buf_puts(&b, name);
    struct digest d = digest_of(b.data, b.len);
    buf_free(&b);
    return d.lo;
}

void output_file_init(struct output_file *f, const struct helper_hook *hook, int folder,
                      const char *name)
{
    *f = (struct output_file){.output = hook->output, .folder = folder, .name = name, .fd = -1};
    snprintf(f->temp, sizeof(f->temp), "%s%016" PRIx64 "%s", PATH_TEMPLATE_RESERVED,
             hash(hook->name, name), extension(name));
}

int output_file_look(const struct output_file *f, bool *exists)
{
    struct stat st;
    int error = result(fstatat(f->folder, f->name, &st, AT_SYMLINK_NOFOLLOW));

    *exists = error == 0;
    if (error != 0)
        return error == ENOENT ? 0 : error;
    if (S_ISDIR(st.st_mode))
        return EISDIR;
    return S_ISREG(st.st_mode) || S_ISLNK(st.st_mode) ? 0 : EOPNOTSUPP;
}

/* Reads n bytes at an offset, fewer only at the end of the file; -1 with errno set. It does not
 * move the offset of stdin. */
static ssize_t read_at(int fd, char *out, size_t n, off_t at)
{
    size_t done = 0;

    while (done < n) {
        ssize_t got = pread(fd, out + done, n - done, at + (off_t)done);

        if (got < 0)
            return -1;
        if (got == 0)
            break;
        done += (size_t)got;
    }
    return (ssize_t)done;
}

/* A read error counts as a difference: the target is then replaced. */
static bool has_same_bytes(int a, int b, off_t size)
{
    char *chunks = mem_alloc((size_t)2 * CHUNK);
    bool is_same = true;

    for (off_t at = 0; is_same && at < size; at += CHUNK) {
        ssize_t n = read_at(a, chunks, CHUNK, at);
        ssize_t m = read_at(b, chunks + CHUNK, CHUNK, at);

        is_same = n > 0 && n == m && memcmp(chunks, chunks + CHUNK, (size_t)n) == 0;
    }
    free(chunks);
    return is_same;
}

static bool has_owner(const struct stat *st, const struct helper_output *o)
{
    return !o->set_owner || ((o->uid == (uid_t)-1 || o->uid == st->st_uid) &&
                             (o->gid == (gid_t)-1 || o->gid == st->st_gid));
}

/* Sets the mode if it is another one, and syncs that. False: the target has to be replaced. */
static bool set_mode_in_place(int fd, const struct stat *st, const struct helper_output *o)
{
    if ((st->st_mode & 07777) == o->mode)
        return true;
    return fchmod(fd, o->mode) == 0 && fsync(fd) == 0;
}

static int remove_temp(const struct output_file *f)
{
    int error = result(unlinkat(f->folder, f->temp, 0));

    return error == ENOENT ? 0 : error;
}

/* A file with a second name is replaced, not touched: the other name may be in somebody else's
 * folder, who would get the new mode. So is a file of another owner, who may still have it open for
 * writing. */
bool output_file_is_same(const struct output_file *f, int input, off_t size)
{
    struct stat st;
    int fd = openat(f->folder, f->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

    if (fd < 0)
        return false;
    bool is_same = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_nlink == 1 &&
                   has_owner(&st, f->output) && st.st_size == size &&
                   has_same_bytes(fd, input, size) && set_mode_in_place(fd, &st, f->output);
    close(fd);
    if (is_same)
        (void)remove_temp(f); /* a new file that stays harms nobody */
    return is_same;
}

int output_file_create(struct output_file *f)
{
    int error = remove_temp(f);

    if (error != 0)
        return error;
    f->fd =
        openat(f->folder, f->temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, PRIVATE);
    return result(f->fd);
}

static int write_all(int fd, const char *p, size_t n)
{
    while (n > 0) {
        ssize_t done = write(fd, p, n);

        if (done < 0)
            return errno;
        p += done;
        n -= (size_t)done;
    }
    return 0;
}

int output_file_fill(const struct output_file *f, int input, off_t size, bool (*is_told)(void *arg),
                     void *arg)
{
    char *chunk = mem_alloc(CHUNK);
    int error = 0;

    for (off_t at = 0; error == 0 && at < size; at += CHUNK) {
        ssize_t n = read_at(input, chunk, CHUNK, at);

        error = result((int)n);
        if (error == 0 && n == 0)
            error = EIO; /* the input has shrunk, which the seals forbid */
        if (error == 0)
            error = write_all(f->fd, chunk, (size_t)n);
        if (error == 0 && is_told(arg))
            error = EINTR;
    }
    free(chunk);
    return error;
}

int output_file_own(const struct output_file *f)
{
    const struct helper_output *o = f->output;

    return o->set_owner ? result(fchown(f->fd, o->uid, o->gid)) : 0;
}

int output_file_set_mode(const struct output_file *f)
{
    return result(fchmod(f->fd, f->output->mode));
}

/* Is the file of that name still the new file of this process? A process that hung on its disk was
 * given up, and another run may have made its own new file under the same name since: that one must
 * not be renamed or removed. */
static int check_ours(const struct output_file *f)
{
    struct stat ours;
    struct stat there;
    int error = result(fstat(f->fd, &ours));

    if (error == 0)
        error = result(fstatat(f->folder, f->temp, &there, AT_SYMLINK_NOFOLLOW));
    if (error != 0)
        return error == ENOENT ? ESTALE : error;
    return ours.st_dev == there.st_dev && ours.st_ino == there.st_ino ? 0 : ESTALE;
}

int output_file_commit(struct output_file *f)
{
    int error = check_ours(f);

    if (error == 0)
        error = result(renameat(f->folder, f->temp, f->folder, f->name));
    if (error != 0)
        return error;
    close(f->fd);
    f->fd = -1;
    return 0;
}

/* The new file of a crash goes first: once the target is gone, nobody looks for it any more. */
int output_file_remove(const struct output_file *f, bool *existed)
{
    int error = remove_temp(f);

    if (error == 0)
        error = result(unlinkat(f->folder, f->name, 0));
    *existed = error == 0;
    return error == ENOENT ? 0 : error;
}

void output_file_drop(struct output_file *f)
{
    if (f->fd < 0)
        return;
    if (check_ours(f) == 0)
        unlinkat(f->folder, f->temp, 0);
    close(f->fd);
    f->fd = -1;
}
