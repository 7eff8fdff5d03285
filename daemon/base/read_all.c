/* SPDX-License-Identifier: Apache-2.0 */
#include "base/read_all.h"

#include <errno.h>
#include <unistd.h>

enum { READ_BYTES = 4096 };

int read_all(int fd, size_t most, struct buf *out)
{
    size_t before = out->len;

    while (out->len - before <= most) {
        ssize_t n = read(fd, buf_reserve(out, READ_BYTES), READ_BYTES);

        if (n < 0 && errno != EINTR)
            return errno;
        if (n == 0)
            return 0;
        out->len += n > 0 ? (size_t)n : 0;
    }
    return EFBIG;
}
