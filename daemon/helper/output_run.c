/* SPDX-License-Identifier: Apache-2.0 */
/* The programs OUTPUT, REMOVE and FILES (helper/work.h): output files (the targets), each in its open
 * folder, and the new file beside it, which replaces the target once it is complete. Links are never
 * followed. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/compiler.h"
#include "base/digest.h"
#include "base/mem.h"
#include "base/path_template.h"
#include "helper/output_folder.h"
#include "helper/output_mark.h"
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

/* One file while it is written or removed. */
struct output_run {
    const struct child_spec *spec;
    const struct helper_output *output;
    const char *key; /* borrowed: the value of ${key}; NULL = the file is the whole input */
    struct buf path;
    size_t fixed; /* bytes of the path that are the fixed folder */
    struct output_folder folder;
    int at;               /* the folder of the file, borrowed from folder */
    const char *name;     /* of the target in it, borrowed from path */
    char temp[TEMP_SIZE]; /* name of the new file, the same in each run */
    int fd;               /* the new file; -1 = this process has made none */
    off_t from;           /* where its bytes begin in stdin */
    off_t size;           /* how many there are */
    bool is_late; /* another file of the run is renamed before: a signal comes too late then */
    bool is_removed;
    bool prunes_all;       /* removes all empty folders; else only those that it made */
    enum run_stage result; /* SAME, WRITTEN, REMOVED; NONE = the steps are not done yet */
    struct run_end *end;   /* filled by the check if that fails, else when a step fails */
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

/* Does file a have the bytes that stand in file b at an offset? A read error counts as a difference:
 * the target is then replaced. */
static bool has_same_bytes(int a, int b, off_t from, off_t size)
{
    char *chunks = mem_alloc((size_t)2 * CHUNK);
    bool is_same = true;

    for (off_t at = 0; is_same && at < size; at += CHUNK) {
        ssize_t n = read_at(a, chunks, CHUNK, at);
        ssize_t m = n > 0 ? read_at(b, chunks + CHUNK, (size_t)n, from + at) : 0;

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

/* If main has the rights of the helper, nobody asks for the mark. */
static void mark_file(const struct output_run *r, int fd)
{
    if (!r->spec->hook->main_is_alike)
        output_mark_set(fd, r->spec->hook->name);
}

/* Is the target a file with the wanted owner and the bytes of stdin? If so, it gets the wanted mode if
 * it has another one, and a new file that a crash left is removed. A file with a second name is
 * replaced, not touched: the other name may be in somebody else's folder, who would get the new mode. A
 * file of another owner is replaced, too, as the owner may still have it open for writing. */
static bool is_same(const struct output_run *r)
{
    struct stat st;
    int fd = openat(r->at, r->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

    if (fd < 0)
        return false;
    bool same = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_nlink == 1 &&
                has_owner(&st, r->output) && st.st_size == r->size &&
                has_same_bytes(fd, STDIN_FILENO, r->from, r->size) &&
                set_mode_in_place(fd, &st, r->output);
    if (same)
        mark_file(r, fd);
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

/* child_start() wants descriptors above 2; it moves them to 0, 1 and 2 in the child. */
static bool open_fds(int fds[WIRE_RUN_FDS])
{
    fds[0] = open("/dev/null", O_RDONLY | O_CLOEXEC);
    fds[1] = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    fds[2] = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    return fds[0] >= 0 && fds[1] >= 0 && fds[2] >= 0;
}

static void close_fds(const int fds[WIRE_RUN_FDS])
{
    for (size_t i = 0; i < WIRE_RUN_FDS; i++)
        if (fds[i] >= 0)
            close(fds[i]);
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
    bool is_started = false;

    if (!open_fds(check.fds)) {
        *r->end = run_end_refused(RUN_PROGRAM_CHECK, RUN_STAGE_FILES, errno);
    } else {
        is_started = child_start(&check, &child, r->end);
        if (!is_started)
            r->end->program = r->spec->program; /* this process has no room for a child */
    }
    close_fds(check.fds); /* the run may have thousands of files to check */
    if (!is_started)
        return false;
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
         [PATH_TEMPLATE_KEY] = r->key,
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
static int measure(off_t *size)
{
    struct stat st;
    int error = result(fstat(STDIN_FILENO, &st));
    int seals = fcntl(STDIN_FILENO, F_GET_SEALS);

    if (error == 0 && (seals < 0 || (seals & INPUT_SEALS) != INPUT_SEALS))
        error = EINVAL;
    if (error == 0 && st.st_size > WIRE_OUTPUT_MAX)
        error = EFBIG;
    *size = error == 0 ? st.st_size : 0;
    return error;
}

/* With ${key} the file is a part of the input, which is measured already. */
static int measure_input(struct output_run *r)
{
    return r->key == NULL ? measure(&r->size) : 0;
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
        off_t rest = r->size - at;
        ssize_t n = read_at(STDIN_FILENO, chunk, rest < CHUNK ? (size_t)rest : CHUNK, r->from + at);

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

static int mark(struct output_run *r)
{
    mark_file(r, r->fd);
    return 0;
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
    int error = !r->is_late && told_signal(r) != 0 ? EINTR : check_ours(r);

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

/* Steps that all files of a run take before one of them goes on to the next phase. */
struct phase {
    const struct step *steps;
    size_t count;
};

/* The owner comes before the mode, which chown() may change. */
static const struct step make_steps[] = {
    {RUN_STAGE_TEMPLATE, expand       },
    {RUN_STAGE_INPUT,    measure_input},
    {RUN_STAGE_FOLDER,   make_folder  },
    {RUN_STAGE_TARGET,   look         },
    {RUN_STAGE_NONE,     compare      }, /* cannot fail */
    {RUN_STAGE_CREATE,   create       },
    {RUN_STAGE_WRITE,    fill         },
    {RUN_STAGE_NONE,     mark         }, /* cannot fail */
    {RUN_STAGE_OWNER,    own          },
    {RUN_STAGE_MODE,     set_mode     },
};
static const struct step sync_steps[] = {
    {RUN_STAGE_FSYNC, sync_file},
};
static const struct step check_steps[] = {
    {RUN_STAGE_NONE, check}, /* says by itself how it failed */
};
static const struct step commit_steps[] = {
    {RUN_STAGE_RENAME, commit},
};
static const struct step sync_folder_steps[] = {
    {RUN_STAGE_FSYNC_FOLDER, sync_written},
};

/* Owner, mode and bytes are on disk before the check and the rename, so that after a power cut the
 * file has them. No file is renamed before all of them have passed their check. */
static const struct phase write_phases[] = {
    {make_steps,        ARRAY_LEN(make_steps)       },
    {sync_steps,        ARRAY_LEN(sync_steps)       },
    {check_steps,       ARRAY_LEN(check_steps)      },
    {commit_steps,      ARRAY_LEN(commit_steps)     },
    {sync_folder_steps, ARRAY_LEN(sync_folder_steps)},
};

static const struct step remove_steps[] = {
    {RUN_STAGE_TEMPLATE,     expand      },
    {RUN_STAGE_FOLDER,       find_folder },
    {RUN_STAGE_TARGET,       look        },
    {RUN_STAGE_REMOVE,       remove_file },
    {RUN_STAGE_FSYNC_FOLDER, sync_removed},
};
static const struct phase remove_phases[] = {
    {remove_steps, ARRAY_LEN(remove_steps)},
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

/* False: a step failed, and r->end says how. */
static bool run_phase(struct output_run *r, const struct phase *phase)
{
    int error = 0;

    for (size_t i = 0; i < phase->count && error == 0 && r->result == RUN_STAGE_NONE; i++) {
        error = phase->steps[i].run(r);
        if (error != 0)
            explain(r, &phase->steps[i], error);
    }
    return error == 0;
}

/* The new file goes before the folders, as only an empty folder can be removed. */
static void tidy_up(struct output_run *r)
{
    drop(r);
    output_folder_prune(&r->folder, !r->prunes_all);
    output_folder_close(&r->folder);
    buf_free(&r->path);
}

/* Returns the number of the file that failed, from 1; 0 = none did. A file that is done gives its
 * descriptors back at once. At the end the last file goes first: the folders that an earlier one
 * has made are empty then. */
static size_t walk(struct output_run *all, size_t n, const struct phase *phases, size_t count)
{
    size_t failed = 0;

    umask(0); /* files get exactly the mode that is set */
    for (size_t k = 0; k < count && failed == 0; k++)
        for (size_t i = 0; i < n && failed == 0; i++) {
            if (!run_phase(&all[i], &phases[k]))
                failed = i + 1;
            else if (all[i].result != RUN_STAGE_NONE)
                tidy_up(&all[i]);
        }
    for (size_t i = n; i-- > 0;)
        tidy_up(&all[i]);
    return failed;
}

/* Writes all files, or none if a step before the first rename fails. Returns 0, or the number of the
 * file that failed, from 1: its end says how. */
static size_t write_all_files(struct output_run *all, size_t n)
{
    return walk(all, n, write_phases, ARRAY_LEN(write_phases));
}

/* The same for files to remove, until one fails. */
static size_t remove_all_files(struct output_run *all, size_t n)
{
    for (size_t i = 0; i < n; i++)
        all[i].prunes_all = true;
    return walk(all, n, remove_phases, ARRAY_LEN(remove_phases));
}

/* A file that nothing is done for yet. */
static struct output_run new_file(const struct child_spec *spec, struct run_end *end)
{
    return (struct output_run){.spec = spec, .output = spec->hook->output, .fd = -1, .end = end};
}

/* The one file of a run that has no members. The check may have left its own good end. */
static void conclude(const struct output_run *r, size_t failed)
{
    if (failed == 0)
        *r->end = (struct run_end){.program = r->spec->program, .stage = r->result};
}

void output_run_write(const struct child_spec *spec, struct run_end *out)
{
    struct output_run r = new_file(spec, out);

    conclude(&r, write_all_files(&r, 1));
}

void output_run_remove(const struct child_spec *spec, struct run_end *out)
{
    struct output_run r = new_file(spec, out);

    conclude(&r, remove_all_files(&r, 1));
}

/* ---- FILES: the files of one object with files_from */

struct output_files {
    const struct child_spec *spec;
    struct run_end *end;
    struct output_run *all; /* those to write, then those to remove; keys are owned */
    char **keys;
    size_t count;
    size_t writes;
};

/* A wire_read_cb. */
static bool read_input(void *arg, uint64_t at, void *out, size_t n)
{
    (void)arg;
    return pread(STDIN_FILENO, out, n, (off_t)at) == (ssize_t)n;
}

/* Adds a file at the end; its bytes begin at `from`. */
static void add(struct output_files *f, const struct wire_member *head, const char *key, off_t from)
{
    f->all = mem_grow(f->all, f->count, sizeof(*f->all));
    f->keys = mem_grow(f->keys, f->count, sizeof(*f->keys));
    struct output_run *r = &f->all[f->count];

    *r = new_file(f->spec, f->end);
    r->key = f->keys[f->count] = mem_strdup(key);
    r->from = from;
    r->size = (off_t)head->size;
    r->is_late = f->count > 0;
    f->count++;
    f->writes += head->goes == 0;
}

static int take_all(struct output_files *f)
{
    char key[PATH_TEMPLATE_COMPONENT_MAX + 1];
    struct wire_members m = {0};
    struct wire_member head;
    enum wire_next next;
    off_t size;
    int error = measure(&size);

    if (error != 0)
        return error;
    m.size = (uint64_t)size;
    while ((next = wire_members_next(&m, read_input, NULL, &head, key)) == WIRE_NEXT)
        add(f, &head, key, (off_t)(m.at - head.size));
    return next == WIRE_END ? 0 : EINVAL;
}

/* Each new file stays open until it is renamed, with its folders: more than the soft limit of open
 * files may be needed. If the hard one is not enough, the run fails. */
static void raise_limit(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

/* Files that go are removed when all others are written: nothing is lost if a check fails. */
static void work_on(struct output_files *f)
{
    size_t failed = write_all_files(f->all, f->writes);
    uint32_t changed = 0;

    if (failed == 0) {
        failed = remove_all_files(f->all + f->writes, f->count - f->writes);
        failed += failed > 0 ? f->writes : 0;
    }
    if (failed > 0) {
        f->end->member = (uint32_t)failed;
        return;
    }
    for (size_t i = 0; i < f->count; i++)
        changed += f->all[i].result != RUN_STAGE_SAME;
    enum run_stage became = f->writes > 0 ? RUN_STAGE_WRITTEN : RUN_STAGE_REMOVED;
    *f->end = (struct run_end){.program = f->spec->program,
                               .stage = changed > 0 ? became : RUN_STAGE_SAME,
                               .changed = changed};
}

void output_files_work(const struct child_spec *spec, struct run_end *out)
{
    struct output_files f = {.spec = spec, .end = out};
    int error = take_all(&f);

    raise_limit();
    if (error == 0)
        work_on(&f);
    else
        *out = run_end_refused(spec->program, RUN_STAGE_INPUT, error);
    for (size_t i = 0; i < f.count; i++)
        free(f.keys[i]);
    free(f.keys);
    free(f.all);
}
