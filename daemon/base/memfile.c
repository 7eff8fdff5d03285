/* SPDX-License-Identifier: Apache-2.0 */
#include "base/memfile.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U /* Linux 6.3 */
#endif

/* All seals: neither the hook nor main can change the file any more. NAME_MAX_BYTES is well below
 * the 249 bytes that the system takes. */
enum { SEALS = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE, NAME_MAX_BYTES = 64 };

int memfile_open(const char *name)
{
    char cut[NAME_MAX_BYTES];
    unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;

    snprintf(cut, sizeof(cut), "%s", name);
    /* With vm.memfd_noexec = 2 the kernel only makes files with this flag; kernels that do not know
     * it answer EINVAL. */
    int fd = memfd_create(cut, flags | MFD_NOEXEC_SEAL);
    return fd < 0 && errno == EINVAL ? memfd_create(cut, flags) : fd;
}

/* pwrite() leaves the position at the start, where the reader begins. Returns 0 or an errno. */
static int write_at(int fd, struct str data, uint64_t to)
{
    for (size_t at = 0; at < data.n;) {
        ssize_t n = pwrite(fd, data.p + at, data.n - at, (off_t)(to + at));

        if (n < 0 && errno != EINTR)
            return errno;
        at += n > 0 ? (size_t)n : 0;
    }
    return 0;
}

/* Returns 0 or an errno. */
static int seal(int fd)
{
    return fchmod(fd, 0444) < 0 || fcntl(fd, F_ADD_SEALS, SEALS) < 0 ? errno : 0;
}

int memfile_fill(int fd, struct str data)
{
    int error = write_at(fd, data, 0);

    return error != 0 ? error : seal(fd);
}

enum err_kind memfile_begin(struct memfile *m, const char *name, struct err *err)
{
    *m = (struct memfile){.fd = memfile_open(name)};
    return m->fd >= 0 ? ERR_OK
                      : err_set(err, ERR_IO, errno, "memory file: %s", strerrordesc_np(errno));
}

void memfile_append(struct memfile *m, struct str piece)
{
    if (m->error == 0)
        m->error = write_at(m->fd, piece, m->size);
    m->size += piece.n;
}

enum err_kind memfile_end(struct memfile *m, int *fd, struct err *err)
{
    int file = m->fd;
    int error = m->error != 0 ? m->error : seal(file);

    m->fd = -1;
    if (error == 0) {
        *fd = file;
        return ERR_OK;
    }
    close(file);
    return err_set(err, ERR_IO, error, "memory file of %" PRIu64 " bytes: %s", m->size,
                   strerrordesc_np(error));
}

enum err_kind memfile_create(const char *name, struct str data, int *fd, struct err *err)
{
    struct memfile m;

    if (memfile_begin(&m, name, err) != ERR_OK)
        return ERR_IO;
    memfile_append(&m, data);
    return memfile_end(&m, fd, err);
}
