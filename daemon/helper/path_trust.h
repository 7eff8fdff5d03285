/* SPDX-License-Identifier: Apache-2.0 */
/*
 * path_trust - checks whether root may trust a file, and opens it: nobody may be able to change or
 * swap the file except root and the users whom the configuration names as owners
 * (docs/design.md "Trusted files"); driver.
 */
#ifndef HELPER_PATH_TRUST_H
#define HELPER_PATH_TRUST_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/compiler.h"
#include "base/err.h"

/* Users besides root who may own a file, and the folders and links on the way to it. Zeroed: nobody
 * besides root. */
struct path_trust {
    uid_t owners[2]; /* 0 = the place is free */
    /* The owner of the file that named this path (a kubeconfig); 0 = root. The path is then treated
     * as if a link of that user led to it. */
    uid_t named_by;
};

/* Do both trust the same users? */
bool path_trust_equal(const struct path_trust *a, const struct path_trust *b) MUST_CHECK;

/* Checks the file, every folder on the way to it and every link in between; a relative path begins
 * in the working folder. Nobody except root and the owners in path_trust (NULL = root alone) may be
 * able to write to any of them. A sticky folder counts as not writable for the files in it. If a
 * link that belongs to another user than root, or is in a folder of such a user, leads to the file,
 * then the file must belong to that user or be readable for everybody: root reads no file for a
 * user who could not read it. A path that does not exist is fine unless others could create it.
 * ERR_CONFIG names the path and who else can write to it, with the code EPERM; or the path cannot
 * be walked, with the code of the system. */
enum err_kind path_trust_check(const char *path, const struct path_trust *path_trust,
                               struct err *err) MUST_CHECK;

/* Opens a regular file for reading; a FIFO does not block it. Root opens only a file that passes
 * path_trust_check(), and exactly the file that was checked; for other users the kernel's own
 * permissions are enough. *fd is the caller's to close, -1 on errors. ERR_CONFIG: its code is an
 * errno, EPERM if the check has refused the file. */
enum err_kind path_trust_open(const char *path, const struct path_trust *path_trust, int *fd,
                              struct err *err) MUST_CHECK;

#endif
