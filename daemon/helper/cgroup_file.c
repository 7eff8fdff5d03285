/* SPDX-License-Identifier: Apache-2.0 */
#include "helper/cgroup_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CHUNK = 4096, FILE_LIMIT = 1024 * 1024, DECIMAL = 10 };

int cgroup_file_folder(int parent, const char *name)
{
    return openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

int cgroup_file_read(int dir, const char *file, struct buf *text)
{
    int fd = openat(dir, file, O_RDONLY | O_CLOEXEC);
    ssize_t n = -1;

    buf_clear(text);
    buf_cstr(text);
    if (fd < 0)
        return errno;
    do {
        n = read(fd, buf_reserve(text, CHUNK), CHUNK);
        text->len += n > 0 ? (size_t)n : 0;
    } while (n > 0 && text->len < FILE_LIMIT);
    int error = n < 0 ? errno : 0;
    close(fd);
    buf_cstr(text);
    return error;
}

int cgroup_file_write(int dir, const char *file, const char *text)
{
    int fd = openat(dir, file, O_WRONLY | O_CLOEXEC);

    if (fd < 0)
        return errno;
    int error = write(fd, text, strlen(text)) < 0 ? errno : 0;
    close(fd);
    return error;
}

uint64_t cgroup_file_value(const char *text, const char *name)
{
    size_t n = strlen(name);

    for (const char *line = text; line != NULL; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, name, n) == 0 && line[n] == ' ')
            return strtoull(line + n, NULL, DECIMAL);
    }
    return 0;
}
