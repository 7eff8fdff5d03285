/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trust - may a daemon that was started as root believe a file? Only if nobody but root can change
 * it or swap it (DESIGN 2.1).
 */
#ifndef APP_TRUST_H
#define APP_TRUST_H

#include "base/err.h"

/* Checks the file, every folder on the way to it and every link in between; a relative path is one
 * from the working folder. A sticky folder of root's counts as not writable for what is in it and
 * root's; what does not exist is fine unless others could make it. ERR_CONFIG names who else can
 * write what. */
enum err_kind trust_check(const char *path, struct err *err) MUST_CHECK;

#endif
