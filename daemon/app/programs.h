/* SPDX-License-Identifier: Apache-2.0 */
/*
 * programs - can the kernel start a program? Looks at the file and at its first line.
 */
#ifndef APP_PROGRAMS_H
#define APP_PROGRAMS_H

#include "base/compiler.h"
#include "base/err.h"

/* Only the execute bits are looked at: whether a certain user may execute the program shows when it is
 * started. ERR_CONFIG: it cannot be started: it is no executable file, its interpreter is missing, or
 * its first line ends like those of DOS. ERR_NOT_FOUND: it is not there. ERR_IO: this process may not
 * look. */
enum err_kind programs_check(const char *path, struct err *err) MUST_CHECK;

#endif
