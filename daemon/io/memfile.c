/* SPDX-License-Identifier: Apache-2.0 */
#include "io/memfile.h"

#include <errno.h>
#include <fcntl.h>
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

/* A memory file that can be sealed. */
static int create(const char *name)
{
    char cut[NAME_MAX_BYTES];
    unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;

    snprintf(cut, sizeof(cut), "%s", name);
    /* With vm.memfd_noexec = 2 the kernel only makes files with this flag; kernels that do not know
     * it answer EINVAL. */
    int fd = memfd_create(cut, flags | MFD_NOEXEC_SEAL);
    return fd < 0 && errno == EINVAL ? memfd_create(cut, flags) : fd;
}

/* Writes the data and seals the file. pwrite() leaves the position at the start, where the reader
 * begins. Returns 0 or an errno. */
static int fill(int fd, struct str data)
{
    for (size_t at = 0; at < data.n;) {
        ssize_t n = pwrite(fd, data.p + at, data.n - at, (off_t)at);

        if (n < 0 && errno != EINTR)
            return errno;
        at += n > 0 ? (size_t)n : 0;
    }
    if (fchmod(fd, 0444) < 0 || fcntl(fd, F_ADD_SEALS, SEALS) < 0)
        return errno;
    return 0;
}

enum err_kind memfile_create(const char *name, struct str data, int *fd, struct err *err)
{
    int file = create(name);

    if (file < 0)
        return err_set(err, ERR_IO, errno, "memory file: %s", strerrordesc_np(errno));
    int error = fill(file, data);
    if (error == 0) {
        *fd = file;
        return ERR_OK;
    }
    close(file);
    return err_set(err, ERR_IO, error, "memory file of %zu bytes: %s", data.n,
                   strerrordesc_np(error));
}
