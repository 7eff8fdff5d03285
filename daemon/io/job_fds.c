/* SPDX-License-Identifier: Apache-2.0 */
#include "io/job_fds.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "io/memfile.h"
#include "io/runner.h"

#define TAKEN_BYTES ((size_t)RUNNER_OUTPUT_MIB * 1024 * 1024)

void job_fds_close(const int fds[WIRE_RUN_FDS])
{
    for (size_t i = 0; i < WIRE_RUN_FDS; i++)
        if (fds[i] >= 0)
            close(fds[i]);
}

static enum err_kind open_taken(struct job_fds *f, const struct taken_events *events, void *arg,
                                int fds[WIRE_RUN_FDS], struct err *err)
{
    if (taken_create(f->loop, TAKEN_BYTES, events, arg, &f->taken, err) != ERR_OK)
        return err->kind;
    fds[STDOUT_FILENO] = taken_take_writer(f->taken);
    f->spare = fcntl(fds[STDERR_FILENO], F_DUPFD_CLOEXEC, 0);
    if (f->spare < 0)
        return err_set(err, ERR_IO, errno, "dup: %s", strerror(errno));
    return ERR_OK;
}

enum err_kind job_fds_first(struct job_fds *f, bool takes, const struct taken_events *events,
                            void *arg, int fds[WIRE_RUN_FDS], struct err *err)
{
    f->spare = -1;
    if (printed_open(&f->printed, f->loop, PRINTED_STDERR, &fds[STDERR_FILENO], err) != ERR_OK)
        return err->kind;
    if (takes)
        return open_taken(f, events, arg, fds, err);
    return printed_open(&f->printed, f->loop, PRINTED_STDOUT, &fds[STDOUT_FILENO], err);
}

enum err_kind job_fds_second(struct job_fds *f, struct digest *digest, int fds[WIRE_RUN_FDS],
                             struct err *err)
{
    struct str bytes = taken_bytes(f->taken);

    fds[STDERR_FILENO] = f->spare;
    f->spare = -1;
    *digest = digest_of(bytes.p, bytes.n);
    enum err_kind kind =
        printed_open(&f->printed, f->loop, PRINTED_STDOUT, &fds[STDOUT_FILENO], err);

    if (kind == ERR_OK)
        kind = memfile_create("informerd-output", bytes, &fds[STDIN_FILENO], err);
    taken_dispose(&f->taken);
    return kind;
}

void job_fds_last(struct job_fds *f)
{
    taken_dispose(&f->taken);
    if (f->spare >= 0)
        close(f->spare);
    f->spare = -1;
}

void job_fds_watch(const struct job_fds *f)
{
    printed_watch(&f->printed);
    if (f->taken != NULL)
        taken_watch(f->taken);
}

void job_fds_fini(struct job_fds *f)
{
    job_fds_last(f);
    printed_fini(&f->printed);
}
