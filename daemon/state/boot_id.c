/* SPDX-License-Identifier: Apache-2.0 */
#include "state/boot_id.h"

#include <fcntl.h>
#include <unistd.h>

void boot_id_read(char *id)
{
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, id, BOOT_ID_LEN) : 0;

    /* A short read leaves no half of an id: two boots would look the same by it. */
    id[n == BOOT_ID_LEN ? BOOT_ID_LEN : 0] = '\0';
    if (fd >= 0)
        close(fd);
}
