/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fds - closing descriptors in bulk; driver.
 */
#ifndef HELPER_FDS_H
#define HELPER_FDS_H

#include "base/compiler.h"

/* Closes every descriptor >= low, without close_range() (Linux 5.9) by way of /proc. Returns 0 or
 * an errno. */
int fds_close_from(int low) MUST_CHECK;

#endif
