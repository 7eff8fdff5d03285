/* SPDX-License-Identifier: Apache-2.0 */
#include "base/panic.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void panic_at(const char *file, int line, const char *fmt, ...)
{
    va_list ap;

    /* Not by log_emit(): it needs memory, and a panic may be about having none. <2> is the priority
     * "critical" in the journal. */
    fprintf(stderr, "<2>bug at %s:%d: ", file, line);
    va_start(ap, fmt);
    vfprintf(stderr, fmt, ap);
    va_end(ap);
    fputc('\n', stderr);
    abort();
}
