/* SPDX-License-Identifier: Apache-2.0 */
#include "helper/output_check.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/path_template.h"

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

bool output_check_run(const struct child_spec *spec, const char *file, struct run_end *out)
{
    struct child_spec check = {
        .hook = spec->hook,
        .program = RUN_PROGRAM_CHECK,
        .argv = make_argv(spec->hook->check, file),
        .env = spec->env,
        .nofile_soft = spec->nofile_soft,
        .shares_group = true,
    };
    siginfo_t info = {0};
    struct child child;

    if (!open_fds(check.fds)) {
        *out = run_end_refused(RUN_PROGRAM_CHECK, RUN_STAGE_FILES, errno);
        return false;
    }
    if (!child_start(&check, &child, out)) {
        out->program = spec->program; /* this process has no room for a child */
        return false;
    }
    while (waitid(P_PID, (id_t)child.pid, &info, WEXITED) < 0 && errno == EINTR)
        continue;
    *out = child_end(&child, &info);
    return run_end_is_good(out);
}
