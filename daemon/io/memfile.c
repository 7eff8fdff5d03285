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

enum { SEALS = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE, NAME_MAX_BYTES = 64 };

static int create(const char *name)
{
    char cut[NAME_MAX_BYTES];
    unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;

    snprintf(cut, sizeof(cut), "%s", name);
    /* Where vm.memfd_noexec is 2 there are no others; kernels that do not know it say EINVAL. */
    int fd = memfd_create(cut, flags | MFD_NOEXEC_SEAL);
    return fd < 0 && errno == EINVAL ? memfd_create(cut, flags) : fd;
}

/* 0 or an errno. */
static int fill(int fd, struct str data)
{
    for (size_t at = 0; at < data.n;) {
        ssize_t n = write(fd, data.p + at, data.n - at);

        if (n < 0 && errno != EINTR)
            return errno;
        at += n > 0 ? (size_t)n : 0;
    }
    if (fchmod(fd, 0444) < 0 || fcntl(fd, F_ADD_SEALS, SEALS) < 0)
        return errno;
    return 0;
}

/* A second descriptor of the file with a position of its own, for reading only. */
static int open_again(int fd)
{
    char path[sizeof("/proc/self/fd/") + 3 * sizeof(fd)];

    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    return open(path, O_RDONLY | O_CLOEXEC);
}

enum err_kind memfile_create(const char *name, struct str data, int *fd, struct err *err)
{
    int file = create(name);

    if (file < 0)
        return err_set(err, ERR_IO, errno, "memory file: %s", strerrordesc_np(errno));
    int error = fill(file, data);
    *fd = error == 0 ? open_again(file) : -1;
    if (error == 0 && *fd < 0)
        error = errno;
    close(file);
    if (error != 0)
        return err_set(err, ERR_IO, error, "memory file of %zu bytes: %s", data.n,
                       strerrordesc_np(error));
    return ERR_OK;
}
