/* SPDX-License-Identifier: Apache-2.0 */
#include "output_rig.h"
#include "temp_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/compiler.h"
#include "base/mem.h"

enum { PATHS = 4 };

void output_rig_init_in(struct output_rig *o, const char *parent, const char *template)
{
    static const char *const argv[] = {"/bin/true", NULL};
    static const char *const env[] = {"PATH=/usr/bin:/bin", NULL};
    static const struct helper_content contents[] = {{.path = "/bin/true"}, {0}};

    *o = (struct output_rig){.out = -1};
    assert_in_range(snprintf(o->folder, sizeof(o->folder), "%s/informerd-test-XXXXXX", parent), 1,
                    sizeof(o->folder) - 1);
    assert_non_null(mkdtemp(o->folder));
    assert_int_equal(chmod(o->folder, 0755), 0);
    o->template = mem_printf("%s%s", o->folder, template);
    o->output = (struct helper_output){.path = o->template, .mode = 0644};
    o->hook = (struct helper_hook){.name = "h", .argv = argv, .env = env, .contents = contents};
    o->hook.kill_signal = SIGTERM;
    o->hook.umask = 077; /* must not count */
}

void output_rig_init(struct output_rig *o, const char *template)
{
    output_rig_init_in(o, "/tmp", template);
}

void output_rig_start(struct output_rig *o)
{
    struct helper_hook hooks[] = {o->hook, o->hook};

    hooks[OUTPUT_RIG_HOOK].output = o->hook.kind != HELPER_GONE ? &o->output : NULL;
    helper_rig_open_with(&o->w, hooks, ARRAY_LEN(hooks));
}

void output_rig_open(struct output_rig *o, const char *template)
{
    output_rig_init(o, template);
    output_rig_start(o);
}

void output_rig_open_owned(struct output_rig *o, uid_t uid, gid_t gid, mode_t mode)
{
    output_rig_init(o, "/f");
    o->output.set_owner = true;
    o->output.uid = uid;
    o->output.gid = gid;
    o->output.mode = mode;
    output_rig_start(o);
}

void output_rig_close(struct output_rig *o)
{
    if (o->out >= 0)
        close(o->out);
    helper_rig_close(&o->w);
    temp_folder_remove(o->folder);
    free(o->template);
}

static int memory_file(const char *bytes)
{
    size_t n = strlen(bytes);
    int fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);

    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, bytes, n, 0), n);
    assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE), 0);
    return fd;
}

void output_rig_begin(struct output_rig *o, enum run_program program, const char *namespace,
                      const char *name, const char *bytes)
{
    struct buf env = {0};
    int out[2];

    buf_printf(&env, "INFORMERD_NAMESPACE=%s%c", namespace, '\0');
    buf_printf(&env, "INFORMERD_NAME=%s%c", name, '\0');
    buf_printf(&env, "INFORMERD_CLUSTER=prod%cINFORMERD_RUN=%llu%c", '\0',
               (unsigned long long)++o->id, '\0');
    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    if (o->out >= 0)
        close(o->out);
    o->out = out[0];
    helper_link_run(o->w.link, helper_rig_asked(&o->w, o->id), OUTPUT_RIG_HOOK, program,
                    buf_str(&env),
                    (int[]){memory_file(bytes), out[1], fcntl(out[1], F_DUPFD_CLOEXEC, 3)});
    buf_free(&env);
}

void output_rig_await(struct output_rig *o)
{
    HELPER_RIG_AWAIT(&o->w, o->w.exited == o->id);
}

void output_rig_expect(const struct output_rig *o, enum run_end_kind how, int value,
                       const char *stage)
{
    const struct run_end *end = &o->w.end;
    char text[32];

    snprintf(text, sizeof(text), "%s%s%s", run_stage_name(end->stage),
             end->kind == RUN_END_REFUSED && end->program == RUN_PROGRAM_CHECK ? " " : "",
             end->program == RUN_PROGRAM_CHECK ? "check" : "");
    assert_string_equal(text, stage);
    assert_int_equal(o->w.end.kind, how);
    assert_int_equal(o->w.end.value, value);
}

void output_rig_write(struct output_rig *o, const char *bytes, const char *stage)
{
    output_rig_begin(o, RUN_PROGRAM_OUTPUT, "shop", "web", bytes);
    output_rig_await(o);
    output_rig_expect(o, RUN_END_EXITED, 0, stage);
}

void output_rig_refuse(struct output_rig *o, const char *bytes, const char *stage, int error)
{
    output_rig_begin(o, RUN_PROGRAM_OUTPUT, "shop", "web", bytes);
    output_rig_await(o);
    output_rig_expect(o, RUN_END_REFUSED, error, stage);
}

void output_rig_remove(struct output_rig *o, const char *stage)
{
    output_rig_begin(o, RUN_PROGRAM_REMOVE, "shop", "web", "");
    output_rig_await(o);
    output_rig_expect(o, RUN_END_EXITED, 0, stage);
}

const char *output_rig_path(const struct output_rig *o, const char *name)
{
    static char paths[PATHS][512];
    static size_t next;
    char *path = paths[next++ % PATHS];

    snprintf(path, sizeof(paths[0]), "%s%s%s", o->folder, name[0] != '\0' ? "/" : "", name);
    return path;
}

void output_rig_expect_file(const struct output_rig *o, const char *name, const char *bytes)
{
    int fd = open(output_rig_path(o, name), O_RDONLY | O_CLOEXEC);

    assert_int_equal(fd >= 0, bytes != NULL);
    if (fd < 0)
        return;
    assert_string_equal(helper_rig_read(fd, false), bytes);
    close(fd);
}

void output_rig_put(const struct output_rig *o, const char *name, const char *bytes)
{
    int fd = open(output_rig_path(o, name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, strlen(bytes)), strlen(bytes));
    assert_int_equal(fchmod(fd, 0644), 0);
    close(fd);
}

struct stat output_rig_stat(const struct output_rig *o, const char *name)
{
    struct stat st;

    assert_int_equal(lstat(output_rig_path(o, name), &st), 0);
    return st;
}

size_t output_rig_count(const struct output_rig *o, const char *name)
{
    DIR *dir = opendir(output_rig_path(o, name));
    size_t n = 0;

    assert_non_null(dir);
    while (readdir(dir) != NULL) /* NOLINT(concurrency-mt-unsafe) */
        n++;
    closedir(dir);
    return n - 2; /* "." and ".." */
}
