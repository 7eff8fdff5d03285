/* SPDX-License-Identifier: Apache-2.0 */
#include "helper/process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"

enum {
    PATH_SIZE = 128,
    CHUNK = 16 * 1024,
    FILE_LIMIT = 4 * 1024 * 1024, /* bytes of an environment that are looked at */
    DECIMAL = 10
};

/* The fields of /proc/PID/stat behind the name, counted from 0; proc(5) counts the state as 3. */
enum {
    FIELD_STATE,
    FIELD_PARENT,
    FIELD_START = 19,
    FIELD_CODE = 23,
    FIELD_ENV = 47,
    FIELD_ENV_END
};

/* Does the file still give bytes? An open environ belongs to the program that the process ran then.
 * When an exec replaces the program, or the process ends, the file ends at once: a read that was
 * under way has only got a part. */
static bool is_whole(int fd)
{
    char c;

    return pread(fd, &c, 1, 0) == 1;
}

/* Appends a file of the process to out, which ends with a NUL. Returns 0 or an errno; ESRCH: the
 * process, or its old program, was gone before the end of the file. */
static int read_file(const char *proc, pid_t pid, const char *file, struct buf *out)
{
    char path[PATH_SIZE];
    ssize_t n = 0;
    int error = 0;

    snprintf(path, sizeof(path), "%s/%d/%s", proc, (int)pid, file);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return errno;
    do {
        n = read(fd, buf_reserve(out, CHUNK), CHUNK);
        out->len += n > 0 ? (size_t)n : 0;
    } while ((n > 0 && out->len < FILE_LIMIT) || (n < 0 && errno == EINTR));
    if (n < 0)
        error = errno;
    else if (out->len > 0 && !is_whole(fd))
        error = ESRCH;
    close(fd);
    buf_cstr(out);
    return error;
}

/* Errors that are about this process, and say nothing about the process that it looks at. */
static bool is_out_of_resources(int error)
{
    return error == EMFILE || error == ENFILE || error == ENOMEM;
}

/* The number in field n of a line with one blank between fields; 0 = there is no such field. */
static uint64_t field(const char *line, int n)
{
    for (; n > 0 && line != NULL; n--)
        line = strchr(line + 1, ' ');
    return line != NULL ? strtoull(line, NULL, DECIMAL) : 0;
}

static void copy_name(const char *from, const char *end, char out[RUN_END_COMM_SIZE])
{
    size_t n = 0;

    for (; from < end && n < RUN_END_COMM_SIZE - 1; from++) {
        out[n] = '?';
        if (*from >= ' ' && *from <= '~')
            out[n] = *from;
        n++;
    }
    out[n] = '\0';
}

/* The environment in the memory of a process. ABSENT: an exec is building the memory, or the
 * process ends; then the start of its code is 0. */
enum env { ENV_ABSENT, ENV_EMPTY, ENV_FULL };

static enum env judge_env(const char *fields)
{
    if (field(fields, FIELD_CODE) == 0)
        return ENV_ABSENT;
    return field(fields, FIELD_ENV_END) > field(fields, FIELD_ENV) ? ENV_FULL : ENV_EMPTY;
}

/* Parses /proc/PID/stat: "PID (NAME) S PARENT ...". A process can choose its name, with brackets
 * and blanks in it, so the last ')' ends the name. */
static enum process_state parse(const char *line, struct process *out, enum env *env)
{
    const char *open = strchr(line, '(');
    const char *close = strrchr(line, ')');

    if (open == NULL || close == NULL || close < open || close[1] != ' ' || close[2] == '\0')
        return PROCESS_GONE;
    const char *fields = close + 2;
    *out = (struct process){
        .pid = (pid_t)strtol(line, NULL, DECIMAL),
        .parent = (pid_t)field(fields, FIELD_PARENT),
        .start = field(fields, FIELD_START),
    };
    copy_name(open + 1, close, out->name);
    *env = judge_env(fields);
    return strchr("ZXx", fields[FIELD_STATE]) != NULL ? PROCESS_DEAD : PROCESS_ALIVE;
}

static enum process_state look(const char *proc, pid_t pid, struct process *out, enum env *env)
{
    struct buf line = {0};
    enum process_state state = PROCESS_GONE;
    int error = read_file(proc, pid, "stat", &line);

    if (error == 0)
        state = parse(buf_cstr(&line), out, env);
    else if (is_out_of_resources(error))
        state = PROCESS_HIDDEN;
    buf_free(&line);
    return state;
}

enum process_state process_look(const char *proc, pid_t pid, struct process *out)
{
    enum env env;

    return look(proc, pid, out, &env);
}

bool process_is_alive(const char *proc, const struct process *p)
{
    struct process now;

    return process_look(proc, p->pid, &now) == PROCESS_ALIVE && now.start == p->start;
}

static char *find_variable(const struct buf *env, const char *name)
{
    size_t n = strlen(name);

    for (size_t at = 0; at < env->len; at += strlen(env->data + at) + 1)
        if (strncmp(env->data + at, name, n) == 0 && env->data[at + n] == '=')
            return mem_strdup(env->data + at + n + 1);
    return NULL;
}

/* The environment gave no byte, or ended early. NONE: the process is gone, or runs with an empty
 * environment. LATER: its memory is not there (an exec or the end), or it has an environment by
 * now, so an exec came between the two looks. */
static enum process_variable judge_empty(const char *proc, pid_t pid)
{
    struct process p;
    enum env env;
    enum process_state state = look(proc, pid, &p, &env);

    if (state == PROCESS_GONE || (state == PROCESS_ALIVE && env == ENV_EMPTY))
        return PROCESS_VARIABLE_NONE;
    return PROCESS_VARIABLE_LATER;
}

enum process_variable process_variable(const char *proc, pid_t pid, const char *name, char **value)
{
    struct buf env = {0};
    int error = read_file(proc, pid, "environ", &env);
    enum process_variable result = PROCESS_VARIABLE_NONE;

    *value = error == 0 ? find_variable(&env, name) : NULL;
    if (*value != NULL)
        result = PROCESS_VARIABLE_SET;
    else if (is_out_of_resources(error))
        result = PROCESS_VARIABLE_LATER;
    else if (error == ESRCH || (error == 0 && env.len == 0))
        result = judge_empty(proc, pid);
    buf_free(&env);
    return result;
}

/* Signals through the pidfd. fd is -1 before Linux 5.3, or when this process is out of descriptors:
 * then by number, as in a sandbox that does not know the call. Returns 0 or an errno. */
static int send_signal(int fd, pid_t pid, int signal_number)
{
    if (fd >= 0 && syscall(SYS_pidfd_send_signal, fd, signal_number, NULL, 0) == 0)
        return 0;
    if (fd >= 0 && errno != ENOSYS)
        return errno;
    return kill(pid, signal_number) < 0 ? errno : 0;
}

enum process_sent process_signal(const char *proc, const struct process *p, int signal_number)
{
    /* The pidfd is opened first. If p is alive afterwards, the pidfd stands for p, because the
     * number can only pass to another process once p is gone. */
    int fd = (int)syscall(SYS_pidfd_open, p->pid, 0);
    enum process_sent sent = PROCESS_WAS_GONE;

    if (process_is_alive(proc, p)) {
        int error = send_signal(fd, p->pid, signal_number);

        if (error != ESRCH)
            sent = error == 0 ? PROCESS_SIGNALED : PROCESS_REFUSED;
    }
    if (fd >= 0)
        close(fd);
    return sent;
}
