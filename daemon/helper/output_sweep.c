/* SPDX-License-Identifier: Apache-2.0 */
#include "helper/work.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/digest.h"
#include "base/mem.h"
#include "base/path_template.h"
#include "helper/output_folder.h"
#include "helper/output_mark.h"

/* One stray file; used for one after the other. */
struct sweep {
    const struct helper_hook *hook;
    struct digest digest; /* of the bytes that informerd wrote */
    char path[PATH_TEMPLATE_PATH_MAX + 1];
    size_t fixed;  /* bytes of the path that are the fixed folder; folders below may be removed */
    bool is_below; /* the fixed folder is that of the output which the hook has now */
    struct output_folder folder;
};

/* Appends a path that the hook's output makes now, with any names, and returns the length of its
 * fixed folder; 0 = the template makes no path. */
static size_t fixed_folder(const struct helper_output *o, struct buf *path)
{
    static const struct path_template_values any = {
        {"a", "a", "a", "a", "a"}
    };
    size_t fixed = 0;

    return path_template_expand(o->path, &any, path, &fixed, NULL) == ERR_OK ? fixed : 0;
}

/* Is it a file of a hook that is not configured any more? Then the file itself has to show that
 * informerd wrote it. */
static bool is_gone(const struct sweep *s)
{
    return s->hook->kind == HELPER_GONE;
}

/* Finds the fixed folder of the stray file. False: the file may not be touched, because the path is
 * not clean (".."), or because it is outside of the folder of the hook's output and main has fewer
 * rights than the helper. Outside, the whole folder of the file counts as fixed: informerd does not
 * know which of its folders it made. */
static bool find_fixed(struct sweep *s)
{
    struct buf now = {0};
    size_t n = is_gone(s) ? 0 : fixed_folder(s->hook->output, &now);
    unsigned used;

    s->is_below = n > 0 && strncmp(s->path, buf_cstr(&now), n) == 0 &&
                  (s->path[n] == '/' || s->path[n - 1] == '/');
    s->fixed = s->is_below ? n : (size_t)(strrchr(s->path, '/') - s->path);
    if (s->fixed == 0)
        s->fixed = 1;
    buf_free(&now);
    return path_template_check(s->path, &used, NULL) == ERR_OK && used == 0 &&
           (s->is_below || s->hook->main_is_alike || is_gone(s));
}

static const char *name_of(const struct sweep *s)
{
    return strrchr(s->path, '/') + 1;
}

/* Appends up to size bytes from fd, fewer at the end of the file. Returns 0 or an errno. */
static int read_all(int fd, struct buf *out, size_t size)
{
    while (out->len < size) {
        ssize_t n = read(fd, buf_reserve(out, size - out->len), size - out->len);

        if (n < 0 && errno != EINTR)
            return errno;
        if (n == 0)
            break;
        out->len += n > 0 ? (size_t)n : 0;
    }
    return 0;
}

/* Could the hook's output be this file? A file with a second name could be somebody else's file,
 * and so could one of another owner: without `owner` the output belongs to the helper's user. The
 * helper's own user counts in any case, as `owner` may have been set since the file was written. Of a
 * hook that is gone nobody knows the owner. */
static bool is_ours(const struct sweep *s, int fd, const struct stat *st)
{
    const struct helper_output *o = s->hook->output;

    if (!S_ISREG(st->st_mode) || st->st_nlink != 1)
        return false;
    if (s->hook->main_is_alike || is_gone(s))
        return s->hook->main_is_alike || output_mark_is(fd);
    uid_t uid = o->set_owner && o->uid != (uid_t)-1 ? o->uid : geteuid();
    return st->st_uid == uid || st->st_uid == geteuid();
}

/* REMOVED if the file has the bytes that informerd wrote. A file that somebody has changed
 * stays. */
static enum wire_swept compare(const struct sweep *s, int fd, const struct stat *st)
{
    struct buf bytes = {0};
    enum wire_swept swept = WIRE_SWEPT_CHANGED;

    if (!is_ours(s, fd, st))
        return WIRE_SWEPT_FOREIGN;
    if (st->st_size > WIRE_OUTPUT_MAX)
        return WIRE_SWEPT_CHANGED;
    if (read_all(fd, &bytes, (size_t)st->st_size) != 0)
        swept = WIRE_SWEPT_FAILED;
    else if (digest_eq(digest_of(bytes.data, bytes.len), s->digest))
        swept = WIRE_SWEPT_REMOVED;
    buf_free(&bytes);
    return swept;
}

/* Looks at the file of that name. REMOVED: it is the stray file, and is to be removed now. */
static enum wire_swept judge(const struct sweep *s)
{
    struct stat st;
    int fd = openat(output_folder_fd(&s->folder), name_of(s),
                    O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

    if (fd < 0 && errno == ENOENT)
        return WIRE_SWEPT_GONE;
    if (fd < 0)
        /* ELOOP: somebody has put a link in its place. */
        return errno == ELOOP ? WIRE_SWEPT_CHANGED : WIRE_SWEPT_FAILED;
    enum wire_swept swept = fstat(fd, &st) == 0 ? compare(s, fd, &st) : WIRE_SWEPT_FAILED;
    close(fd);
    return swept;
}

/* Removes the file if it is the stray one. REMOVED is only answered once that is on disk: main then
 * forgets the file. */
static enum wire_swept sweep_in(const struct sweep *s)
{
    enum wire_swept swept = judge(s);

    if (swept == WIRE_SWEPT_REMOVED && unlinkat(output_folder_fd(&s->folder), name_of(s), 0) < 0)
        swept = WIRE_SWEPT_FAILED;
    if (swept == WIRE_SWEPT_REMOVED && output_folder_sync(&s->folder) != 0)
        swept = WIRE_SWEPT_FAILED;
    if (swept == WIRE_SWEPT_REMOVED && s->is_below)
        output_folder_prune(&s->folder, false);
    return swept;
}

/* No folder is made on the way. A folder that is gone, or is no folder any more, has no stray file
 * in it. */
static enum wire_swept sweep(struct sweep *s)
{
    enum wire_swept swept = WIRE_SWEPT_FOREIGN;

    if (s->path[0] != '/' || !find_fixed(s))
        return swept;
    int error = output_folder_open(&s->folder, s->path, s->fixed, false);
    if (error == 0)
        swept = sweep_in(s);
    else
        swept = error == ENOENT || error == ENOTDIR ? WIRE_SWEPT_GONE : WIRE_SWEPT_FAILED;
    output_folder_close(&s->folder);
    return swept;
}

static int answer(enum wire_swept swept)
{
    char byte = (char)swept;

    return write(STDOUT_FILENO, &byte, 1) == 1 ? 0 : EIO;
}

void output_sweep_work(const struct child_spec *spec, struct run_end *out)
{
    struct sweep *s = MEM_NEW(struct sweep, .hook = spec->hook);
    struct buf input = {0};
    struct wire_stray head;
    struct stat st;
    sigset_t none;
    int error = fstat(STDIN_FILENO, &st) < 0 ? errno : 0;

    sigemptyset(&none);
    /* Signals may end the process: each file is whole or gone at any moment. A file that was
     * removed without an answer is GONE the next time. */
    pthread_sigmask(SIG_SETMASK, &none, NULL);
    if (error == 0 && S_ISREG(st.st_mode))
        error = read_all(STDIN_FILENO, &input, (size_t)st.st_size);
    struct str rest = buf_str(&input);
    for (int n = 0; error == 0 && n < WIRE_SWEEP_MAX && wire_strays_next(&rest, &head, s->path);
         n++) {
        s->digest = (struct digest){.lo = head.digest[0], .hi = head.digest[1]};
        error = answer(sweep(s));
    }
    buf_free(&input);
    free(s);
    if (error != 0)
        *out = run_end_refused(spec->program, RUN_STAGE_SWEEP, error);
}
