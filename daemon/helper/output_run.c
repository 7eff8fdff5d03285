/* SPDX-License-Identifier: Apache-2.0 */
/* The programs OUTPUT and REMOVE (helper/work.h): one output file (the target) in its open folder, and
 * the new file beside it, which replaces the target once it is complete. Links are never followed. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/compiler.h"
#include "base/digest.h"
#include "base/mem.h"
#include "base/path_template.h"
#include "helper/output_folder.h"
#include "helper/work.h"

/* FOLDER_TRIES: the removal of another object's file may remove the folder again, while it is
 * empty, as often as it was made. */
enum {
    FOLDER_TRIES = 100,
    INPUT_SEALS = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE,
    CHUNK = 256 * 1024,
    TEMP_SIZE = 48,
    EXTENSION_MAX = 16, /* bytes, with the dot */
    PRIVATE = 0600
};

struct output_run {
    const struct child_spec *spec;
    const struct helper_output *output;
    struct buf path;
    size_t fixed; /* bytes of the path that are the fixed folder */
    struct output_folder folder;
    int at;               /* the folder of the file, borrowed from folder */
    const char *name;     /* of the target in it, borrowed from path */
    char temp[TEMP_SIZE]; /* name of the new file, the same in each run */
    int fd;               /* the new file; -1 = this process has made none */
    off_t size;           /* bytes of stdin */
    bool is_removed;
    bool prunes_all;       /* removes all empty folders; else only those that it made */
    enum run_stage result; /* SAME, WRITTEN, REMOVED; NONE = the steps are not done yet */
    struct run_end *end;   /* filled by the check if that fails, else by walk() */
};

static int result(int rc)
{
    return rc < 0 ? errno : 0;
}

/* The signal to end that waits, blocked, or 0. The hook's kill_signal comes from runs_kill(); the
 * others may come from people. SIGKILL does not wait for anything. */
static int told_signal(const struct output_run *r)
{
    const int deadly[] = {r->spec->hook->kill_signal, SIGTERM, SIGINT, SIGHUP, SIGQUIT};
    sigset_t pending;

    sigemptyset(&pending);
    sigpending(&pending);
    for (size_t i = 0; i < ARRAY_LEN(deadly); i++)
        if (deadly[i] > 0 && sigismember(&pending, deadly[i]) == 1)
            return deadly[i];
    return 0;
}

/* ---- The new file */

/* The extension of a name with its dot; "" if it has none, or a long one. The new file has it, too,
 * because programs such as a check go by it. */
static const char *extension(const char *name)
{
    const char *dot = strrchr(name, '.');

    return dot != NULL && dot != name && strlen(dot) <= EXTENSION_MAX ? dot : "";
}

/* The NUL between the two keeps hook "a" with file "bc" apart from hook "ab" with file "c". */
static uint64_t hash(const char *hook, const char *name)
{
    struct buf b = {0};

    buf_append(&b, hook, strlen(hook) + 1);
    buf_puts(&b, name);
    struct digest d = digest_of(b.data, b.len);
    buf_free(&b);
    return d.lo;
}

static int remove_temp(const struct output_run *r)
{
    int error = result(unlinkat(r->at, r->temp, 0));

    return error == ENOENT ? 0 : error;
}

/* Is the file of that name still the new file of this process? A process that hung on its disk was
 * given up, and another run may have made its own new file under the same name since: that one must
 * not be renamed or removed. */
static int check_ours(const struct output_run *r)
{
    struct stat ours;
    struct stat there;
    int error = result(fstat(r->fd, &ours));

    if (error == 0)
        error = result(fstatat(r->at, r->temp, &there, AT_SYMLINK_NOFOLLOW));
    if (error != 0)
        return error == ENOENT ? ESTALE : error;
    return ours.st_dev == there.st_dev && ours.st_ino == there.st_ino ? 0 : ESTALE;
}

/* Removes the new file, unless it has replaced the target, and closes it. */
static void drop(struct output_run *r)
{
    if (r->fd < 0)
        return;
    if (check_ours(r) == 0)
        unlinkat(r->at, r->temp, 0);
    close(r->fd);
    r->fd = -1;
}

/* ---- Is the target as it should be? */

/* Reads n bytes at an offset, fewer only at the end of the file; -1 with errno set. It does not
 * move the offset of stdin. */
static ssize_t read_at(int fd, char *out, size_t n, off_t at)
{
    size_t done = 0;

    while (done < n) {
        ssize_t got = pread(fd, out + done, n - done, at + (off_t)done);

        if (got < 0)
            return -1;
        if (got == 0)
            break;
        done += (size_t)got;
    }
    return (ssize_t)done;
}

/* A read error counts as a difference: the target is then replaced. */
static bool has_same_bytes(int a, int b, off_t size)
{
    char *chunks = mem_alloc((size_t)2 * CHUNK);
    bool is_same = true;

    for (off_t at = 0; is_same && at < size; at += CHUNK) {
        ssize_t n = read_at(a, chunks, CHUNK, at);
        ssize_t m = read_at(b, chunks + CHUNK, CHUNK, at);

        is_same = n > 0 && n == m && memcmp(chunks, chunks + CHUNK, (size_t)n) == 0;
    }
    free(chunks);
    return is_same;
}

static bool has_owner(const struct stat *st, const struct helper_output *o)
{
    return !o->set_owner || ((o->uid == (uid_t)-1 || o->uid == st->st_uid) &&
                             (o->gid == (gid_t)-1 || o->gid == st->st_gid));
}

/* Sets the mode if it is another one, and syncs that. False: the target has to be replaced. */
static bool set_mode_in_place(int fd, const struct stat *st, const struct helper_output *o)
{
    if ((st->st_mode & 07777) == o->mode)
        return true;
    return fchmod(fd, o->mode) == 0 && fsync(fd) == 0;
}

/* Is the target a file with the wanted owner and the bytes of stdin? If so, it gets the wanted mode
 * if it has another one, and a new file that a crash left is removed. A file with a second name is
 * replaced, not touched: the other name may be in somebody else's folder, who would get the new
 * mode. So is a file of another owner, who may still have it open for writing. */
static bool is_same(const struct output_run *r)
{
    struct stat st;
    int fd = openat(r->at, r->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

    if (fd < 0)
        return false;
    bool same = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_nlink == 1 &&
                has_owner(&st, r->output) && st.st_size == r->size &&
                has_same_bytes(fd, STDIN_FILENO, r->size) && set_mode_in_place(fd, &st, r->output);
    close(fd);
    if (same)
        (void)remove_temp(r); /* a new file that stays harms nobody */
    return same;
}

/* ---- The check */

/* The arguments with ${file} replaced; argv[0] is the path of the program and has no variable. The
 * memory is never freed, because this process ends soon. */
static const char *const *make_argv(const char *const *check, const char *file)
{
    size_t n = 0;

    while (check[n] != NULL)
        n++;
    const char **argv = mem_array(n + 1, sizeof(*argv));
    argv[0] = check[0];
    for (size_t i = 1; i < n; i++)
        argv[i] = path_template_put_file(check[i], file);
    return argv;
}

/* child_start() wants descriptors above 2; it moves them to 0, 1 and 2 in the child. They are not
 * closed here, as the process ends soon. */
static bool open_fds(int fds[WIRE_RUN_FDS])
{
    fds[0] = open("/dev/null", O_RDONLY | O_CLOEXEC);
    fds[1] = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    fds[2] = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    return fds[0] >= 0 && fds[1] >= 0 && fds[2] >= 0;
}

/* Runs the check for the new file as the hook's user, in the process group of this process so that a
 * kill of the run kills it too, with the stdout and stderr of this process and /dev/null as stdin.
 * Blocks until the check ends. True: it has exited with 0. False: r->end is its end. */
static bool passes_check(const struct output_run *r, const char *file)
{
    struct child_spec check = {
        .hook = r->spec->hook,
        .program = RUN_PROGRAM_CHECK,
        .argv = make_argv(r->spec->hook->check, file),
        .env = r->spec->env,
        .nofile_soft = r->spec->nofile_soft,
        .shares_group = true,
    };
    siginfo_t info = {0};
    struct child child;

    if (!open_fds(check.fds)) {
        *r->end = run_end_refused(RUN_PROGRAM_CHECK, RUN_STAGE_FILES, errno);
        return false;
    }
    if (!child_start(&check, &child, r->end)) {
        r->end->program = r->spec->program; /* this process has no room for a child */
        return false;
    }
    while (waitid(P_PID, (id_t)child.pid, &info, WEXITED) < 0 && errno == EINTR)
        continue;
    *r->end = child_end(&child, &info);
    return run_end_is_good(r->end);
}

/* ---- Steps: each returns 0 or an errno */

static const char *value_of(const char *const *env, const char *name)
{
    size_t n = strlen(name);

    for (; *env != NULL; env++)
        if (strncmp(*env, name, n) == 0 && (*env)[n] == '=')
            return *env + n + 1;
    return NULL;
}

/* A path that the names cannot make stays impossible: main parks the key for the stage
 * TEMPLATE. */
static int expand(struct output_run *r)
{
    const char *const *env = r->spec->env;
    struct path_template_values values = {
        {
         [PATH_TEMPLATE_NAMESPACE] = value_of(env, "INFORMERD_NAMESPACE"),
         [PATH_TEMPLATE_NAME] = value_of(env, "INFORMERD_NAME"),
         [PATH_TEMPLATE_CLUSTER] = value_of(env, "INFORMERD_CLUSTER"),
         }
    };
    enum err_kind kind =
        path_template_expand(r->spec->hook->output->path, &values, &r->path, &r->fixed, NULL);

    if (kind == ERR_OK)
        return 0;
    return kind == ERR_TOO_BIG ? ENAMETOOLONG : EINVAL;
}

/* A file with seals is memory, so main cannot have the helper read a file that main itself may not
 * read. And its bytes stay as they are while they are compared, written and checked. */
static int measure_input(struct output_run *r)
{
    struct stat st;
    int error = result(fstat(STDIN_FILENO, &st));
    int seals = fcntl(STDIN_FILENO, F_GET_SEALS);

    if (error == 0 && (seals < 0 || (seals & INPUT_SEALS) != INPUT_SEALS))
        error = EINVAL;
    if (error == 0 && st.st_size > WIRE_OUTPUT_MAX)
        error = EFBIG;
    r->size = error == 0 ? st.st_size : 0;
    return error;
}

static int open_folder(struct output_run *r, bool make)
{
    int error;

    output_folder_close(&r->folder);
    error = output_folder_open(&r->folder, buf_cstr(&r->path), r->fixed, make);
    if (error != 0)
        return error;
    r->at = output_folder_fd(&r->folder);
    r->name = strrchr(buf_cstr(&r->path), '/') + 1;
    snprintf(r->temp, sizeof(r->temp), "%s%016" PRIx64 "%s", PATH_TEMPLATE_RESERVED,
             hash(r->spec->hook->name, r->name), extension(r->name));
    return 0;
}

/* ENOENT although the fixed folder was opened: the removal of another object's file has just taken
 * a folder away. */
static int make_folder(struct output_run *r)
{
    int error = open_folder(r, true);

    for (int n = 0; error == ENOENT && r->folder.count > 0 && n < FOLDER_TRIES; n++)
        error = open_folder(r, true);
    return error;
}

/* A target that is no file or link is neither replaced nor removed. */
static int look(struct output_run *r)
{
    struct stat st;
    int error = result(fstatat(r->at, r->name, &st, AT_SYMLINK_NOFOLLOW));

    if (error != 0)
        return error == ENOENT ? 0 : error;
    if (S_ISDIR(st.st_mode))
        return EISDIR;
    return S_ISREG(st.st_mode) || S_ISLNK(st.st_mode) ? 0 : EOPNOTSUPP;
}

/* Equal bytes end the steps here: no check, no write, no new inode (docs/design.md "Output
 * files"). */
static int compare(struct output_run *r)
{
    if (is_same(r))
        r->result = RUN_STAGE_SAME;
    return 0;
}

/* Creates the new file, empty; one that a crash left is removed first. */
static int create_once(struct output_run *r)
{
    int error = remove_temp(r);

    if (error != 0)
        return error;
    r->fd = openat(r->at, r->temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, PRIVATE);
    return result(r->fd);
}

/* The folder may vanish between its open and the create, as in make_folder(). */
static int create(struct output_run *r)
{
    int error = create_once(r);

    for (int n = 0; error == ENOENT && n < FOLDER_TRIES; n++) {
        error = make_folder(r);
        if (error == 0)
            error = create_once(r);
    }
    return error;
}

static int write_all(int fd, const char *p, size_t n)
{
    while (n > 0) {
        ssize_t done = write(fd, p, n);

        if (done < 0)
            return errno;
        p += done;
        n -= (size_t)done;
    }
    return 0;
}

/* Copies stdin; between the chunks it looks whether the run was told to end. */
static int fill(struct output_run *r)
{
    char *chunk = mem_alloc(CHUNK);
    int error = 0;

    for (off_t at = 0; error == 0 && at < r->size; at += CHUNK) {
        ssize_t n = read_at(STDIN_FILENO, chunk, CHUNK, at);

        error = result((int)n);
        if (error == 0 && n == 0)
            error = EIO; /* the input has shrunk, which the seals forbid */
        if (error == 0)
            error = write_all(r->fd, chunk, (size_t)n);
        if (error == 0 && told_signal(r) != 0)
            error = EINTR;
    }
    free(chunk);
    return error;
}

static int own(struct output_run *r)
{
    const struct helper_output *o = r->output;

    return o->set_owner ? result(fchown(r->fd, o->uid, o->gid)) : 0;
}

static int set_mode(struct output_run *r)
{
    return result(fchmod(r->fd, r->output->mode));
}

static int sync_file(struct output_run *r)
{
    return result(fsync(r->fd));
}

/* The check sees the new file under its hidden name. */
static int check(struct output_run *r)
{
    struct buf file = {0};

    if (r->spec->hook->check == NULL)
        return 0;
    buf_append(&file, r->path.data, (size_t)(r->name - r->path.data));
    buf_puts(&file, r->temp);
    bool is_good = passes_check(r, buf_cstr(&file));
    buf_free(&file);
    return is_good ? 0 : ECANCELED;
}

/* The last moment at which a signal leaves the old file. */
static int commit(struct output_run *r)
{
    int error = told_signal(r) != 0 ? EINTR : check_ours(r);

    if (error == 0)
        error = result(renameat(r->at, r->temp, r->at, r->name));
    if (error != 0)
        return error;
    close(r->fd);
    r->fd = -1;
    return 0;
}

static int sync_written(struct output_run *r)
{
    r->result = RUN_STAGE_WRITTEN;
    return output_folder_sync(&r->folder);
}

/* If its folder does not exist, there is no file to remove. */
static int find_folder(struct output_run *r)
{
    int error = open_folder(r, false);

    if (error == ENOENT)
        r->result = RUN_STAGE_SAME;
    return error == ENOENT ? 0 : error;
}

/* The new file of a crash goes first: once the target is gone, nobody looks for it any more. */
static int remove_file(struct output_run *r)
{
    int error = remove_temp(r);

    if (error == 0)
        error = result(unlinkat(r->at, r->name, 0));
    r->is_removed = error == 0;
    return error == ENOENT ? 0 : error;
}

static int sync_removed(struct output_run *r)
{
    r->result = r->is_removed ? RUN_STAGE_REMOVED : RUN_STAGE_SAME;
    return output_folder_sync(&r->folder);
}

/* ---- Sequences */

struct step {
    enum run_stage stage;
    int (*run)(struct output_run *r);
};

/* The owner comes before the mode, which chown() may change; both and the bytes are on disk before
 * the check and the rename, so that after a power cut the file has them. */
static const struct step write_steps[] = {
    {RUN_STAGE_TEMPLATE,     expand       },
    {RUN_STAGE_INPUT,        measure_input},
    {RUN_STAGE_FOLDER,       make_folder  },
    {RUN_STAGE_TARGET,       look         },
    {RUN_STAGE_NONE,         compare      }, /* cannot fail */
    {RUN_STAGE_CREATE,       create       },
    {RUN_STAGE_WRITE,        fill         },
    {RUN_STAGE_OWNER,        own          },
    {RUN_STAGE_MODE,         set_mode     },
    {RUN_STAGE_FSYNC,        sync_file    },
    {RUN_STAGE_NONE,         check        }, /* says by itself how it failed */
    {RUN_STAGE_RENAME,       commit       },
    {RUN_STAGE_FSYNC_FOLDER, sync_written },
};

static const struct step remove_steps[] = {
    {RUN_STAGE_TEMPLATE,     expand      },
    {RUN_STAGE_FOLDER,       find_folder },
    {RUN_STAGE_TARGET,       look        },
    {RUN_STAGE_REMOVE,       remove_file },
    {RUN_STAGE_FSYNC_FOLDER, sync_removed},
};

/* Fills the end for a step that failed. */
static void explain(const struct output_run *r, const struct step *step, int error)
{
    int signal_number = told_signal(r);

    if (step->run == check)
        return;
    if (error == EINTR && signal_number != 0)
        *r->end = (struct run_end){
            .program = r->spec->program, .kind = RUN_END_SIGNALED, .value = signal_number};
    else
        *r->end = run_end_refused(r->spec->program, step->stage, error);
}

/* Runs the steps until one fails or one sets the result; then tidies up. The new file goes before
 * the folders, as only an empty folder can be removed. */
static void walk(struct output_run *r, const struct step *steps, size_t count)
{
    int error = 0;

    umask(0); /* modes are what they are set to */
    for (size_t i = 0; i < count && error == 0 && r->result == RUN_STAGE_NONE; i++) {
        error = steps[i].run(r);
        if (error != 0)
            explain(r, &steps[i], error);
    }
    drop(r);
    output_folder_prune(&r->folder, !r->prunes_all);
    output_folder_close(&r->folder);
    buf_free(&r->path);
    /* The check may have left its own good end. */
    if (error == 0)
        *r->end = (struct run_end){.program = r->spec->program, .stage = r->result};
}

void output_run_write(const struct child_spec *spec, struct run_end *out)
{
    struct output_run r = {.spec = spec, .output = spec->hook->output, .fd = -1, .end = out};

    walk(&r, write_steps, ARRAY_LEN(write_steps));
}

void output_run_remove(const struct child_spec *spec, struct run_end *out)
{
    struct output_run r = {
        .spec = spec, .output = spec->hook->output, .fd = -1, .prunes_all = true, .end = out};

    walk(&r, remove_steps, ARRAY_LEN(remove_steps));
}
