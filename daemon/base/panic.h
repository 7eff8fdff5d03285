/* SPDX-License-Identifier: Apache-2.0 */
/*
 * panic - ends the program when it finds a bug of its own, in every build.
 */
#ifndef BASE_PANIC_H
#define BASE_PANIC_H

#include "base/compiler.h"

/* Prints file, line and the formatted text to stderr, then aborts. Never used for bad input from
 * outside: that is an error, not a bug. */
NORETURN void panic_at(const char *file, int line, const char *fmt, ...) PRINTF_LIKE(3, 4);

#define panic(...) panic_at(__FILE__, __LINE__, __VA_ARGS__)

/* States a condition that holds unless this program has a bug. Checked in every build. */
#define ensure(cond)            \
    do {                        \
        if (!(cond))            \
            panic("%s", #cond); \
    } while (0)

#endif
