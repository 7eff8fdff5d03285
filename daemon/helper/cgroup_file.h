/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cgroup_file - the files of a cgroup (cgroups(7), version 2): each call opens, reads or writes one of
 * them as a whole; driver. dir is a descriptor of the folder of the cgroup.
 */
#ifndef HELPER_CGROUP_FILE_H
#define HELPER_CGROUP_FILE_H

#include <stdint.h>

#include "base/buf.h"
#include "base/compiler.h"

/* Opens the folder of a cgroup below parent; it may not be a link. Returns a descriptor (close-on-exec), or
 * -1 with errno set. */
int cgroup_file_folder(int parent, const char *name) MUST_CHECK;

/* Replaces text by the bytes of a file, 1 MiB at most, with a NUL behind them. Returns 0 or an errno;
 * ENOENT: there is no such file, for example without its controller. */
int cgroup_file_read(int dir, const char *file, struct buf *text);

/* Writes a text in one write(), as the kernel wants it. Returns 0 or an errno. */
int cgroup_file_write(int dir, const char *file, const char *text);

/* The number behind a name in a file of lines "NAME NUMBER", such as cgroup.events and cpu.stat; 0 if
 * the name is not there. Pure. */
uint64_t cgroup_file_value(const char *text, const char *name) MUST_CHECK;

#endif
