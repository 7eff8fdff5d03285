/* SPDX-License-Identifier: Apache-2.0 */
/*
 * commit_counter - how many commits the file of the state must have, noted in the lock file beside it: a
 * file that has fewer has lost its end, or is a copy from before; driver. What a power cut may take
 * is forgiven: what was noted before this boot counts for nothing.
 */
#ifndef STATE_COMMIT_COUNTER_H
#define STATE_COMMIT_COUNTER_H

#include <stdint.h>

struct commit_counter;

/* Reads what is noted. lock, which may be open for reading only, and the folder stay the caller's and
 * must outlive it. Never NULL. */
struct commit_counter *commit_counter_create(int dir, int lock);

/* Frees it and sets *w to NULL. NULL is fine. */
void commit_counter_destroy(struct commit_counter **w);

/* 0 = any file will do. */
uint64_t commit_counter_commits(const struct commit_counter *w);

/* There are so many now. That a full or read-only disk does not take it is no error: then fewer are
 * noted than there are. */
void commit_counter_set(struct commit_counter *w, uint64_t commits);

#endif
