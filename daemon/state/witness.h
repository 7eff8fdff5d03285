/* SPDX-License-Identifier: Apache-2.0 */
/*
 * witness - how many commits the file of the state must have, noted in the lock file beside it: a
 * file that has fewer has lost its end, or is a copy from before; driver. What a power cut may take
 * is forgiven: what was noted before this boot counts for nothing.
 */
#ifndef STATE_WITNESS_H
#define STATE_WITNESS_H

#include <stdint.h>

struct witness;

/* Reads what is noted. lock, which may be open for reading only, and the folder stay the caller's and
 * must outlive it. Never NULL. */
struct witness *witness_create(int dir, int lock);

/* Frees it and sets *w to NULL. NULL is fine. */
void witness_destroy(struct witness **w);

/* 0 = any file will do. */
uint64_t witness_commits(const struct witness *w);

/* There are so many now. That a full or read-only disk does not take it is no error: then fewer are
 * noted than there are. */
void witness_set(struct witness *w, uint64_t commits);

#endif
