/* SPDX-License-Identifier: Apache-2.0 */
#include "helper/fds.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

int fds_close_from(int low)
{
    const struct dirent *entry;

    if (close_range((unsigned)low, ~0U, 0) == 0)
        return 0;
    /* Linux before 5.9, or a sandbox that does not know the call. */
    DIR *dir = opendir("/proc/self/fd");
    if (dir == NULL)
        return errno;
    /* One process, one thread: nothing else changes the folder or the stream. */
    while ((entry = readdir(dir)) != NULL) { /* NOLINT(concurrency-mt-unsafe) */
        int fd = (int)strtol(entry->d_name, NULL, 10);

        if (fd >= low && fd != dirfd(dir)) /* closedir() closes that one */
            close(fd);
    }
    closedir(dir);
    return 0;
}
