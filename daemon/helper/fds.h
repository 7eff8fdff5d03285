/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fds - closing descriptors in bulk; driver.
 */
#ifndef HELPER_FDS_H
#define HELPER_FDS_H

#include "base/compiler.h"

/* Closes every descriptor >= low: with close_range(), or before Linux 5.9 with the list in
 * /proc/self/fd. The process has one thread. Returns 0 or an errno. */
int fds_close_from(int low) MUST_CHECK;

#endif
