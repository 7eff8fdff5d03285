/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file_watch - tells when files may have changed, by inotify(7); driver.
 *
 * A file can change without an event that has its name: the kubelet swaps the link "..data" of a
 * projected volume, or the link kubelet-client-current.pem. So every event counts in the folder of
 * the file and in the folder of each symbolic link on the way to it. Where a part of the path does
 * not exist, the folder that would hold it is watched. The other folders on the way count when they
 * are moved or deleted. The folders are found anew before each reading of the file, so that no
 * change after that is missed; only file systems that report no changes (NFS, mounts that are made
 * later) need readings now and then.
 *
 * A burst of events is told once, 200 ms after its last event and at most 1 s after its first; a
 * file is told at most once a second. Events are read ten times a second at most. So a folder that
 * is written to all the time costs little.
 */
#ifndef HELPER_FILE_WATCH_H
#define HELPER_FILE_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "helper/helper.h"

struct file_watch;

/* Begins without a file that is watched; files is borrowed. Never NULL; release with
 * file_watch_destroy(). */
struct file_watch *file_watch_create(const struct helper_file *files, size_t count) MUST_CHECK;

/* The descriptor to wait for: call file_watch_read() when it is readable. -1 = there is none now.
 * now_ms is of CLOCK_MONOTONIC, here and below. */
int file_watch_fd(const struct file_watch *w, uint64_t now_ms) MUST_CHECK;

/* After how many milliseconds to call file_watch_take() and file_watch_fd() again; -1 = only after
 * events. */
int file_watch_wait_ms(const struct file_watch *w, uint64_t now_ms) MUST_CHECK;

/* Reads events, without blocking. */
void file_watch_read(struct file_watch *w, uint64_t now_ms);

/* True: the file of this number may have changed. The caller asks until the answer is false. */
bool file_watch_take(struct file_watch *w, uint64_t now_ms, uint32_t *number) MUST_CHECK;

/* Watches the file of this number from now on, on the way that leads to it now. To be called before
 * each reading of the file. If the system refuses, that is logged once, and the next call tries
 * again. */
void file_watch_add(struct file_watch *w, uint32_t number);

/* From now on the numbers are those of files, which is borrowed. A file that is watched, and whose
 * path stays, stays watched, without a gap, and counts as changed, because main drops a change
 * that was told with the old number. The others are forgotten. */
void file_watch_renew(struct file_watch *w, const struct helper_file *files, size_t count,
                      uint64_t now_ms);

/* Ends all watching; *w is NULL. NULL is fine. */
void file_watch_destroy(struct file_watch **w);

#endif
