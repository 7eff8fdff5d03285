/* SPDX-License-Identifier: Apache-2.0 */
#include "io/job_fds.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "io/memfile.h"
#include "io/runner.h"

#define OUTPUT_CAPTURE_BYTES ((size_t)RUNNER_OUTPUT_MIB * 1024 * 1024)

void job_fds_close(const int fds[WIRE_RUN_FDS])
{
    for (size_t i = 0; i < WIRE_RUN_FDS; i++)
        if (fds[i] >= 0)
            close(fds[i]);
}

/* Opens the capture as stdout. The second program writes to the same stderr pipe, so a copy of its
 * end is kept: else the pipe would end with the command. */
static enum err_kind open_capture(struct job_fds *f, const struct output_capture_events *events,
                                  void *arg, int fds[WIRE_RUN_FDS], struct err *err)
{
    if (output_capture_create(f->loop, OUTPUT_CAPTURE_BYTES, events, arg, &f->output_capture,
                              err) != ERR_OK)
        return err->kind;
    fds[STDOUT_FILENO] = output_capture_take_writer(f->output_capture);
    f->spare = fcntl(fds[STDERR_FILENO], F_DUPFD_CLOEXEC, 0);
    if (f->spare < 0)
        return err_set(err, ERR_IO, errno, "dup: %s", strerror(errno));
    return ERR_OK;
}

/* stderr comes first, because open_capture() copies it. */
enum err_kind job_fds_first(struct job_fds *f, bool takes,
                            const struct output_capture_events *events, void *arg,
                            int fds[WIRE_RUN_FDS], struct err *err)
{
    f->spare = -1;
    if (output_log_open(&f->output_log, f->loop, OUTPUT_LOG_STDERR, &fds[STDERR_FILENO], err) !=
        ERR_OK)
        return err->kind;
    if (takes)
        return open_capture(f, events, arg, fds, err);
    return output_log_open(&f->output_log, f->loop, OUTPUT_LOG_STDOUT, &fds[STDOUT_FILENO], err);
}

enum err_kind job_fds_second(struct job_fds *f, struct digest *digest, int fds[WIRE_RUN_FDS],
                             struct err *err)
{
    struct str bytes = output_capture_bytes(f->output_capture);

    /* Handed over to the second program: the caller closes it now. */
    fds[STDERR_FILENO] = f->spare;
    f->spare = -1;
    *digest = digest_of(bytes.p, bytes.n);
    enum err_kind kind =
        output_log_open(&f->output_log, f->loop, OUTPUT_LOG_STDOUT, &fds[STDOUT_FILENO], err);

    if (kind == ERR_OK)
        kind = memfile_create("informerd-output", bytes, &fds[STDIN_FILENO], err);
    /* The memory file is a copy: up to 64 MiB need not stay twice. */
    output_capture_dispose(&f->output_capture);
    return kind;
}

void job_fds_last(struct job_fds *f)
{
    output_capture_dispose(&f->output_capture);
    if (f->spare >= 0)
        close(f->spare);
    f->spare = -1;
}

void job_fds_watch(const struct job_fds *f)
{
    output_log_watch(&f->output_log);
    if (f->output_capture != NULL)
        output_capture_watch(f->output_capture);
}

void job_fds_fini(struct job_fds *f)
{
    job_fds_last(f);
    output_log_fini(&f->output_log);
}
