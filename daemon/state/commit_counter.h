/* SPDX-License-Identifier: Apache-2.0 */
/*
 * commit_counter - the number of commits that the database file must have, noted in the lock file
 * beside it; driver. A file with fewer commits has lost its end, or is an older copy. The number is
 * noted without a sync, and a power cut may take the last second of commits, so a number from
 * before this boot is ignored (docs/decisions.md "The lock file also holds the number of commits").
 */
#ifndef STATE_COMMIT_COUNTER_H
#define STATE_COMMIT_COUNTER_H

#include <stdint.h>

struct commit_counter;

/* Reads the number from the lock file. lock is the open lock file, perhaps open for reading only,
 * and dir the open folder of the state. Both stay the caller's and must outlive the counter. Never
 * NULL. */
struct commit_counter *commit_counter_create(int dir, int lock);

/* Frees the counter and sets *w to NULL. NULL is fine. The caller's descriptors stay open. */
void commit_counter_destroy(struct commit_counter **w);

/* The number of commits that the file must have at least. 0: nothing is known, and any file will
 * do. */
uint64_t commit_counter_commits(const struct commit_counter *w);

/* Notes that the file has this many commits now. A full or read-only disk is no error: the lock
 * file then has a number that is too small, and a lost end may go unnoticed. */
void commit_counter_set(struct commit_counter *w, uint64_t commits);

/* Another folder has taken the place of the one that the counter was created with: writes the number into
 * its lock file. */
void commit_counter_move(struct commit_counter *w, int dir, int lock);

#endif
