/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/write_out.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

int write_out(struct str bytes)
{
    while (bytes.n > 0) {
        ssize_t n = write(STDOUT_FILENO, bytes.p, bytes.n);

        if (n < 0 && errno != EINTR)
            return errno;
        if (n > 0)
            bytes = str_of(bytes.p + n, bytes.n - (size_t)n);
    }
    return 0;
}

enum command_exit write_out_judge(int error, struct buf *complaint)
{
    if (error == 0 || error == EPIPE)
        return EXIT_FINE;
    buf_printf(complaint, "stdout: %s\n", strerror(error)); /* NOLINT(concurrency-mt-unsafe) */
    return EXIT_NO;
}
