/* SPDX-License-Identifier: Apache-2.0 */
#include "app/programs.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The kernel reads so much of a first line (BINPRM_BUF_SIZE). */
enum { FIRST_LINE = 256 };

/* The part of the file with "#!INTERPRETER ..."; "" if there is none, or it may not be read. */
static void read_first_line(const char *path, char line[FIRST_LINE + 1])
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t n = fd >= 0 ? read(fd, line, FIRST_LINE) : 0;

    line[n > 0 ? n : 0] = '\0';
    line[strcspn(line, "\n")] = '\0';
    if (fd >= 0)
        close(fd);
}

static enum err_kind check_interpreter(const char *path, struct err *err)
{
    char line[FIRST_LINE + 1];
    struct stat st;

    read_first_line(path, line);
    if (strncmp(line, "#!", 2) != 0)
        return ERR_OK;
    if (line[strlen(line) - 1] == '\r')
        return err_set(err, ERR_CONFIG, 0,
                       "%s has the line ends of DOS, so its interpreter is not found: sed -i "
                       "'s/\\r$//' %s",
                       path, path);
    char *interpreter = line + 2 + strspn(line + 2, " \t");
    interpreter[strcspn(interpreter, " \t")] = '\0';
    if (stat(interpreter, &st) != 0 && (errno == ENOENT || errno == ENOTDIR))
        return err_set(err, ERR_CONFIG, errno, "%s: its interpreter %s is missing", path,
                       interpreter);
    return ERR_OK;
}

enum err_kind programs_check(const char *path, struct err *err)
{
    struct stat st;

    if (stat(path, &st) != 0)
        return err_set(err, errno == ENOENT || errno == ENOTDIR ? ERR_NOT_FOUND : ERR_IO, errno,
                       "%s: %s", path, strerror(errno));
    if (!S_ISREG(st.st_mode) || (st.st_mode & 0111) == 0)
        return err_set(err, ERR_CONFIG, 0, "%s is not an executable file: chmod +x", path);
    return check_interpreter(path, err);
}
