/* SPDX-License-Identifier: Apache-2.0 */
#include "helper/output_run.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/compiler.h"
#include "base/path_template.h"
#include "helper/output_check.h"
#include "helper/output_file.h"
#include "helper/output_folder.h"

/* FOLDER_TRIES: the removal of another object's file may remove the folder again, while it is
 * empty, as often as it was made. */
enum { FOLDER_TRIES = 100, INPUT_SEALS = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE };

struct output_run {
    const struct child_spec *spec;
    struct buf path;
    size_t fixed; /* bytes of the path that are the fixed folder */
    struct output_folder folder;
    struct output_file file;
    off_t size;            /* bytes of stdin */
    enum run_stage result; /* SAME, WRITTEN, REMOVED; NONE = the steps are not done yet */
    bool is_removed;
    bool prunes_all;     /* removes all empty folders; else only those that it made */
    struct run_end *end; /* filled by the check if that fails, else by walk() */
};

static int result(int rc)
{
    return rc < 0 ? errno : 0;
}

static const char *file_name(struct output_run *r)
{
    return strrchr(buf_cstr(&r->path), '/') + 1;
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

static bool is_told(void *arg)
{
    return told_signal(arg) != 0;
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
    if (error == 0)
        output_file_init(&r->file, r->spec->hook, output_folder_fd(&r->folder), file_name(r));
    return error;
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

static int look(struct output_run *r)
{
    bool exists;

    return output_file_look(&r->file, &exists);
}

/* Equal bytes end the steps here: no check, no write, no new inode (docs/design.md "Output
 * files"). */
static int compare(struct output_run *r)
{
    if (output_file_is_same(&r->file, STDIN_FILENO, r->size))
        r->result = RUN_STAGE_SAME;
    return 0;
}

/* The folder may vanish between its open and the create, as in make_folder(). */
static int create(struct output_run *r)
{
    int error = output_file_create(&r->file);

    for (int n = 0; error == ENOENT && n < FOLDER_TRIES; n++) {
        error = make_folder(r);
        if (error == 0)
            error = output_file_create(&r->file);
    }
    return error;
}

static int fill(struct output_run *r)
{
    return output_file_fill(&r->file, STDIN_FILENO, r->size, is_told, r);
}

static int own(struct output_run *r)
{
    return output_file_own(&r->file);
}

static int set_mode(struct output_run *r)
{
    return output_file_set_mode(&r->file);
}

static int sync_file(struct output_run *r)
{
    return result(fsync(r->file.fd));
}

/* The check sees the new file under its hidden name. output_check_run() has filled r->end when the
 * check fails. */
static int check(struct output_run *r)
{
    struct buf file = {0};

    if (r->spec->hook->check == NULL)
        return 0;
    buf_append(&file, r->path.data, (size_t)(file_name(r) - r->path.data));
    buf_puts(&file, r->file.temp);
    bool is_good = output_check_run(r->spec, buf_cstr(&file), r->end);
    buf_free(&file);
    return is_good ? 0 : ECANCELED;
}

/* The last moment at which a signal leaves the old file. */
static int commit(struct output_run *r)
{
    return is_told(r) ? EINTR : output_file_commit(&r->file);
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

static int remove_file(struct output_run *r)
{
    return output_file_remove(&r->file, &r->is_removed);
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
    output_file_drop(&r->file);
    output_folder_prune(&r->folder, !r->prunes_all);
    output_folder_close(&r->folder);
    buf_free(&r->path);
    /* The check may have left its own good end. */
    if (error == 0)
        *r->end = (struct run_end){.program = r->spec->program, .stage = r->result};
}

void output_run_write(const struct child_spec *spec, struct run_end *out)
{
    struct output_run r = {.spec = spec, .file.fd = -1, .end = out};

    walk(&r, write_steps, ARRAY_LEN(write_steps));
}

void output_run_remove(const struct child_spec *spec, struct run_end *out)
{
    struct output_run r = {.spec = spec, .file.fd = -1, .prunes_all = true, .end = out};

    walk(&r, remove_steps, ARRAY_LEN(remove_steps));
}
