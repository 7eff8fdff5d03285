/* SPDX-License-Identifier: Apache-2.0 */
/*
 * complete - the words that the shell offers when the user presses Tab: commands, options, and names
 * that the running daemon knows; driver. The scripts in packaging/completion call it.
 */
#ifndef CTL_COMPLETE_H
#define CTL_COMPLETE_H

#include "base/buf.h"

/* The hidden command of informerctl. */
#define COMPLETE_COMMAND "__complete"

/* Appends the candidates for the last of these words, one a line; the words before it are those of
 * the command line, without the name of the program. Silent when informerd does not answer within a
 * second. */
void complete_words(struct buf *out, int count, const char *const *words);

#endif
