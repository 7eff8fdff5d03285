/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nearest - the word that a user has probably meant; pure.
 */
#ifndef BASE_NEAREST_H
#define BASE_NEAREST_H

#include <stddef.h>

/* A search. Zero-initialise all but word. */
struct nearest {
    const char *word;  /* the word that the user wrote */
    const char *found; /* the best candidate so far, borrowed; NULL = none is near */
    size_t distance;   /* its letters that are wrong, missing, too many, or swapped */
};

/* Looks at one more candidate. It is near if at most two letters differ, and at most a third of them,
 * or if the word is its beginning. Of two that are equally near the first one counts. */
void nearest_try(struct nearest *n, const char *candidate);

#endif
