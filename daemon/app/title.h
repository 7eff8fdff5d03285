/* SPDX-License-Identifier: Apache-2.0 */
/*
 * title - the memory in which the kernel looks for the command line of this process (ps, systemd's
 * tree), so that the helper can have another one than main.
 */
#ifndef APP_TITLE_H
#define APP_TITLE_H

#include <stddef.h>

/* The bytes from argv[0] on that argv and the environment fill; p NULL: there are none. */
struct title {
    char *p;
    size_t n;
};

/* Moves the strings of argv and of the environment to other memory, for the life of the process, so
 * that a forked process may overwrite the old ones. To be called first in main(). */
struct title title_take(int argc, char **argv);

#endif
