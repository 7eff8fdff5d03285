/* SPDX-License-Identifier: Apache-2.0 */
#include "app/other_daemon.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "app/options.h"
#include "base/compiler.h"
#include "base/mem.h"

/* More of a file of /proc is not read; a command line that is longer is not understood. */
enum { FILE_BYTES = 8192 };

/* Reads /proc/PID/FILE, with a NUL behind it; returns the number of bytes, 0 if there are none or too
 * many. */
static size_t read_file(const char *pid, const char *file, char out[FILE_BYTES])
{
    char *path = mem_printf("/proc/%s/%s", pid, file);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, out, FILE_BYTES) : 0;

    if (fd >= 0)
        close(fd);
    free(path);
    if (n <= 0 || n == FILE_BYTES)
        n = 0;
    out[n] = '\0';
    return (size_t)n;
}

/* If arg is this option, whose value may stand behind a "=" in the same argument, returns the value:
 * that one, or the next argument. NULL = it is not this option. */
static const char *value_of(const char *arg, const char *option, const char *next)
{
    size_t n = strlen(option);

    if (strncmp(arg, option, n) != 0 || (arg[n] != '\0' && arg[n] != '='))
        return NULL;
    return arg[n] == '=' ? arg + n + 1 : next;
}

const char *other_daemon_config(const char *cmdline, size_t n)
{
    static const char *const options[] = {"-c", "--config", "--log-level", "--log-format"};
    const char *end = cmdline + n;
    const char *config = OPTIONS_CONFIG;

    if (n == 0 || end[-1] != '\0')
        return NULL;
    for (const char *at = cmdline + strlen(cmdline) + 1; at < end; at += strlen(at) + 1) {
        const char *next = at + strlen(at) + 1;
        const char *value = NULL;
        size_t i = 0;

        while (i < ARRAY_LEN(options) && value == NULL)
            value = value_of(at, options[i++], next < end ? next : NULL);
        if (value == NULL)
            return NULL;
        if (i <= 2)
            config = value;
        if (value == next)
            at = next;
    }
    return config[0] == '/' ? config : NULL;
}

/* The text behind this line break and name; NULL = the status has none. */
static const char *field_of(const char *status, const char *name)
{
    const char *at = strstr(status, name);

    return at != NULL ? at + strlen(name) : NULL;
}

/* Is it the helper of this process, which has not taken its name yet? */
static bool is_own_child(const char *status)
{
    const char *parent = field_of(status, "\nPPid:\t");

    return parent != NULL && strtol(parent, NULL, 10) == getpid();
}

/* A main of informerd, not of another container: its helper has another name, and a process of another
 * PID namespace has several pids. */
static bool is_main(const char *pid)
{
    char text[FILE_BYTES];

    if (read_file(pid, "comm", text) == 0 || strcmp(text, "informerd\n") != 0 ||
        read_file(pid, "status", text) == 0)
        return false;
    const char *pids = field_of(text, "\nNSpid:\t");
    return !is_own_child(text) && pids != NULL && strcspn(pids, "\t") > strcspn(pids, "\n");
}

/* Has the process the configuration file of this one? */
static bool has_config(const char *pid, const char *config)
{
    char cmdline[FILE_BYTES];
    const char *its = other_daemon_config(cmdline, read_file(pid, "cmdline", cmdline));

    return its != NULL && strcmp(its, config) == 0;
}

static pid_t look_for(DIR *proc, const char *config)
{
    for (const struct dirent *e; (e = readdir(proc)) != NULL;) {
        pid_t pid = (pid_t)strtol(e->d_name, NULL, 10);

        if (pid > 0 && pid != getpid() && is_main(e->d_name) && has_config(e->d_name, config))
            return pid;
    }
    return 0;
}

pid_t other_daemon_find(struct buf *config)
{
    char cmdline[FILE_BYTES];
    const char *own = other_daemon_config(cmdline, read_file("self", "cmdline", cmdline));
    DIR *proc = own != NULL ? opendir("/proc") : NULL;

    if (proc == NULL)
        return 0;
    pid_t pid = look_for(proc, own);
    closedir(proc);
    buf_puts(config, own);
    return pid;
}
