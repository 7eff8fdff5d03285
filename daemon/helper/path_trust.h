/* SPDX-License-Identifier: Apache-2.0 */
/*
 * path_trust - may root believe a file, and open it? Only if nobody can change or swap it but root and
 * those who own it by the configuration (docs/design.md "Trusted files"); driver.
 */
#ifndef HELPER_PATH_TRUST_H
#define HELPER_PATH_TRUST_H

#include <sys/types.h>

#include "base/compiler.h"
#include "base/err.h"

/* Who besides root may own a file and the folders and links on the way to it; 0 = nobody. Zeroed: root
 * alone. */
struct path_trust {
    uid_t owners[2];
    uid_t named_by; /* whose word the path is; 0 = root's. As if a link of theirs led to it */
};

/* Checks the file, every folder on the way to it and every link in between; a relative path is one
 * from the working folder. Of others, nobody may write to any of them. A sticky folder counts as not
 * writable for what is in it. Where a link of somebody else's leads, or one in a folder of theirs,
 * must be a file of their own, or one that everybody may read: root reads nothing for them. What does
 * not exist is fine unless others could make it. NULL = root alone. ERR_CONFIG names who else can
 * write what; its code is EPERM. */
enum err_kind path_trust_check(const char *path, const struct path_trust *path_trust,
                               struct err *err) MUST_CHECK;

/* Opens a regular file for reading, not blocked by a FIFO. As root only after that check, and exactly
 * what was checked; others have the system's. *fd is the caller's. The code of the error is its errno,
 * EPERM for what the check says. */
enum err_kind path_trust_open(const char *path, const struct path_trust *path_trust, int *fd,
                              struct err *err) MUST_CHECK;

#endif
