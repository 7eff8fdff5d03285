/* SPDX-License-Identifier: Apache-2.0 */
/*
 * other_daemon - is there another daemon on this machine with the configuration file of this one? It
 * reads /proc, so it sees only what this process may see there.
 */
#ifndef APP_OTHER_DAEMON_H
#define APP_OTHER_DAEMON_H

#include <sys/types.h>

#include "base/buf.h"

/* Returns the pid of a daemon that was started with the same absolute path, which is appended to
 * *config; 0 = none is seen. Processes of other containers do not count, nor do runs that may stand
 * beside a daemon (--once, --dry-run, --check and the like). */
pid_t other_daemon_find(struct buf *config);

/* The configuration file in a command line of /proc (n bytes, each argument with a NUL behind it). NULL:
 * it has an option that a daemon need not have, or the path is not absolute. */
const char *other_daemon_config(const char *cmdline, size_t n);

#endif
