/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fake_proc - a folder that looks like /proc, for tests; one folder at a time.
 */
#ifndef UNIT_FAKE_PROC_H
#define UNIT_FAKE_PROC_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* The path of the folder, which is made if there is none. */
const char *fake_proc_create(void);

/* Removes the folder and everything in it. */
void fake_proc_remove(void);

/* Writes the file PID/file anew, with its folders. */
void fake_proc_put(pid_t pid, const char *file, const char *bytes, size_t n);

/* A sleeping process named sh, with an empty environment in memory; no file but stat. */
void fake_proc_process(pid_t pid, pid_t parent, uint64_t start);

/* Sets the environment of a process in memory; NULL = it is cleared. */
void fake_proc_environ(pid_t pid, const char *variable);

/* The children of a process with one thread, as text: "12 13 ". */
void fake_proc_children(pid_t pid, const char *list);

/* The process is gone. */
void fake_proc_end(pid_t pid);

#endif
