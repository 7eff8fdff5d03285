/* SPDX-License-Identifier: Apache-2.0 */
#include "outbox.h"

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
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

void outbox_init(struct outbox *o, const char *template)
{
    static const char *const argv[] = {"/bin/true", NULL};
    static const char *const env[] = {"PATH=/usr/bin:/bin", NULL};

    *o = (struct outbox){.folder = "/tmp/informerd-test-XXXXXX", .out = -1};
    assert_non_null(mkdtemp(o->folder));
    assert_int_equal(chmod(o->folder, 0755), 0);
    o->template = mem_printf("%s%s", o->folder, template);
    o->output = (struct helper_output){.path = o->template, .mode = 0644};
    o->hook = (struct helper_hook){.name = "h", .argv = argv, .env = env};
    o->hook.kill_signal = SIGTERM;
    o->hook.umask = 077; /* must not count */
}

void outbox_start(struct outbox *o)
{
    struct helper_hook hooks[] = {o->hook, o->hook};

    hooks[OUTBOX_HOOK].output = &o->output;
    helped_open_with(&o->w, hooks, ARRAY_LEN(hooks));
}

void outbox_open(struct outbox *o, const char *template)
{
    outbox_init(o, template);
    outbox_start(o);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

void outbox_close(struct outbox *o)
{
    if (o->out >= 0)
        close(o->out);
    helped_close(&o->w);
    assert_int_equal(nftw(o->folder, remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
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

void outbox_begin(struct outbox *o, enum wire_program program, const char *namespace,
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
    helper_link_run(o->w.link, o->id, OUTBOX_HOOK, program, buf_str(&env),
                    (int[]){memory_file(bytes), out[1], fcntl(out[1], F_DUPFD_CLOEXEC, 3)});
    buf_free(&env);
}

void outbox_await(struct outbox *o)
{
    HELPED_AWAIT(&o->w, o->w.exited == o->id);
}

void outbox_expect(const struct outbox *o, enum helper_link_how how, int value, const char *stage)
{
    assert_string_equal(o->w.end.stage, stage);
    assert_int_equal(o->w.end.how, how);
    assert_int_equal(o->w.end.value, value);
}

void outbox_write(struct outbox *o, const char *bytes, const char *stage)
{
    outbox_begin(o, WIRE_PROGRAM_OUTPUT, "shop", "web", bytes);
    outbox_await(o);
    outbox_expect(o, HELPER_LINK_EXITED, 0, stage);
}

void outbox_refuse(struct outbox *o, const char *bytes, const char *stage, int error)
{
    outbox_begin(o, WIRE_PROGRAM_OUTPUT, "shop", "web", bytes);
    outbox_await(o);
    outbox_expect(o, HELPER_LINK_NOT_STARTED, error, stage);
}

void outbox_remove(struct outbox *o, const char *stage)
{
    outbox_begin(o, WIRE_PROGRAM_REMOVE, "shop", "web", "");
    outbox_await(o);
    outbox_expect(o, HELPER_LINK_EXITED, 0, stage);
}

const char *outbox_path(const struct outbox *o, const char *name)
{
    static char paths[PATHS][512];
    static size_t next;
    char *path = paths[next++ % PATHS];

    snprintf(path, sizeof(paths[0]), "%s%s%s", o->folder, name[0] != '\0' ? "/" : "", name);
    return path;
}

void outbox_expect_file(const struct outbox *o, const char *name, const char *bytes)
{
    int fd = open(outbox_path(o, name), O_RDONLY | O_CLOEXEC);

    assert_int_equal(fd >= 0, bytes != NULL);
    if (fd < 0)
        return;
    assert_string_equal(helped_read(fd, false), bytes);
    close(fd);
}

void outbox_put(const struct outbox *o, const char *name, const char *bytes)
{
    int fd = open(outbox_path(o, name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, strlen(bytes)), strlen(bytes));
    assert_int_equal(fchmod(fd, 0644), 0);
    close(fd);
}

struct stat outbox_stat(const struct outbox *o, const char *name)
{
    struct stat st;

    assert_int_equal(lstat(outbox_path(o, name), &st), 0);
    return st;
}

size_t outbox_count(const struct outbox *o, const char *name)
{
    DIR *dir = opendir(outbox_path(o, name));
    size_t n = 0;

    assert_non_null(dir);
    while (readdir(dir) != NULL) /* NOLINT(concurrency-mt-unsafe) */
        n++;
    closedir(dir);
    return n - 2; /* "." and ".." */
}
