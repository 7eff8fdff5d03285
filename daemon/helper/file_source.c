/* SPDX-License-Identifier: Apache-2.0 */
#include "helper/file_source.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/read_all.h"
#include "helper/path_trust.h"

static enum err_kind open_file(const struct file_set_key *key, int *fd, struct err *err)
{
    const struct path_trust trust = {
        .owners = {key->owners[0], key->owners[1]}
    };
    struct stat st;

    if (key->trusted)
        return path_trust_open(key->path, &trust, fd, err);
    /* A device is not even opened, because that may have effects. */
    if (!key->may_be_pipe && stat(key->path, &st) == 0 && !S_ISREG(st.st_mode) &&
        !S_ISDIR(st.st_mode))
        return err_set(err, ERR_CONFIG, EINVAL, "%s: is no regular file", key->path);
    /* A FIFO that takes the place of the file just now does not keep the open waiting. */
    *fd = open(key->path, O_RDONLY | O_CLOEXEC | O_NOCTTY | (key->may_be_pipe ? 0 : O_NONBLOCK));
    if (*fd < 0)
        return err_set(err, ERR_CONFIG, errno, "%s: %s", key->path, strerror(errno));
    return ERR_OK;
}

static enum err_kind read_file(const struct file_set_key *key, struct buf *text, uid_t *owner,
                               struct err *err)
{
    struct stat st = {0};
    int fd = -1;

    if (open_file(key, &fd, err) != ERR_OK)
        return err->kind;
    int error = fstat(fd, &st) == 0 ? read_all(fd, FILE_SET_TEXT_MAX, text) : errno;
    close(fd);
    *owner = st.st_uid;
    if (error != 0)
        return err_set(err, ERR_CONFIG, error, "%s: %s", key->path, strerror(error));
    return ERR_OK;
}

/* A folder that does not exist holds no file that a pattern could match: the default of include is
 * conf.d, which need not exist. A folder that cannot be read is an error, as its files would be
 * missing without a word. */
static int on_glob_error(const char *path, int error)
{
    (void)path;
    return error != ENOENT && error != ENOTDIR;
}

static int match(const char *pattern, void (*add)(void *arg, const char *name), void *arg)
{
    glob_t found = {0};
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): one thread reads configurations */
    int result = glob(pattern, GLOB_NOSORT, on_glob_error, &found);

    for (size_t i = 0; i < found.gl_pathc; i++)
        add(arg, found.gl_pathv[i]);
    globfree(&found);
    return result == 0 || result == GLOB_NOMATCH ? 0 : EIO; /* glob() does not say which error */
}

const struct file_set_source file_source_disk = {.read = read_file, .match = match};
