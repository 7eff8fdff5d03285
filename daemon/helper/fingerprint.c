/* SPDX-License-Identifier: Apache-2.0 */
#include "helper/work.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/digest.h"
#include "base/mem.h"
#include "helper/path_trust.h"

/* The state on disk has digests that former releases made. With other numbers, or other bytes in
 * the sum, every hook would look edited after an upgrade and be renewed. */
enum { CHUNK_BYTES = 256 * 1024, CHUNKS_MAX = 256 };

#define NO_FILE UINT64_MAX /* stands in the place of the size */

/* Does the error say something lasting about the file? Other errors (EIO, EMFILE) are a failure of
 * the system: they must not look like a file that was removed. */
static bool is_absence(int error)
{
    return error == ENOENT || error == ENOTDIR || error == EACCES || error == ELOOP ||
           error == ENAMETOOLONG || error == EISDIR || error == EINVAL;
}

/* Returns 0 and a descriptor (-1 = there is no file), or an errno. It opens no device. */
static int open_file(const struct path_trust *path_trust, const char *path, int *fd,
                     struct stat *st)
{
    struct err err;

    if (path_trust_open(path, path_trust, fd, &err) != ERR_OK) {
        *fd = -1;
        return is_absence(err.code) ? 0 : err.code;
    }
    if (fstat(*fd, st) == 0)
        return 0;
    int error = errno;
    close(*fd);
    *fd = -1;
    return error;
}

/* Reads until the chunk is full or the file ends; *n = bytes read. Returns 0 or an errno. */
static int read_chunk(int fd, char *chunk, size_t *n)
{
    *n = 0;
    while (*n < CHUNK_BYTES) {
        ssize_t got = read(fd, chunk + *n, CHUNK_BYTES - *n);

        if (got < 0 && errno != EINTR)
            return errno;
        if (got == 0)
            return 0;
        *n += got > 0 ? (size_t)got : 0;
    }
    return 0;
}

/* Adds the digest of each chunk to sums; a chunk that is not full is the last one. So the memory
 * does not grow with the file. */
static int add_chunks(int fd, struct buf *sums, uint64_t *size)
{
    char *chunk = mem_alloc(CHUNK_BYTES);
    size_t n = CHUNK_BYTES;
    int error = 0;

    *size = 0;
    for (int i = 0; i < CHUNKS_MAX && n == CHUNK_BYTES && error == 0; i++) {
        error = read_chunk(fd, chunk, &n);
        struct digest digest = digest_of(chunk, n);
        buf_append(sums, &digest, sizeof(digest));
        *size += n;
    }
    free(chunk);
    return error;
}

/* Adds the chunks and the size of one file. Of a file only the first 64 MiB are read. If it is longer,
 * its real size is added, so that a change of the length shows. */
static int add_file(const struct path_trust *path_trust, const char *path, struct buf *sums)
{
    uint64_t size = NO_FILE;
    struct stat st;
    int fd;
    int error = open_file(path_trust, path, &fd, &st);

    if (fd >= 0) {
        error = add_chunks(fd, sums, &size);
        if (size == (uint64_t)CHUNK_BYTES * CHUNKS_MAX && st.st_size > 0)
            size = (uint64_t)st.st_size;
        close(fd);
    }
    buf_append(sums, &size, sizeof(size));
    return error;
}

/* Adds a file to the digests that it counts for. */
static int add_content(const struct path_trust *path_trust, const struct helper_content *content,
                       struct buf *now, struct buf *former)
{
    struct buf sums = {0};
    int error = add_file(path_trust, content->path, &sums);

    if (content->counts)
        buf_append_str(now, buf_str(&sums));
    if (content->counted)
        buf_append_str(former, buf_str(&sums));
    buf_free(&sums);
    return error;
}

static int put_digests(const struct buf *now, const struct buf *former)
{
    struct digest_forms d = {.now = digest_of(now->data, now->len),
                             .former = digest_of(former->data, former->len)};
    ssize_t n = write(STDOUT_FILENO, &d, sizeof(d));

    if (n == (ssize_t)sizeof(d))
        return 0;
    return n < 0 ? errno : EIO;
}

void fingerprint_work(const struct child_spec *spec, struct run_end *out)
{
    const struct path_trust path_trust = {
        .owners = {spec->hook->change_user ? spec->hook->uid : 0}};
    struct buf now = {0};
    struct buf former = {0};
    int error = 0;
    sigset_t none;

    sigemptyset(&none);
    pthread_sigmask(SIG_SETMASK, &none, NULL); /* a read leaves nothing behind when it is ended */
    for (const struct helper_content *c = spec->hook->contents; c->path != NULL && error == 0; c++)
        error = add_content(&path_trust, c, &now, &former);
    if (error == 0)
        error = put_digests(&now, &former);
    buf_free(&now);
    buf_free(&former);
    if (error != 0)
        *out = run_end_refused(spec->program, RUN_STAGE_READ, error);
}
