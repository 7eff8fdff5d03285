/* SPDX-License-Identifier: Apache-2.0 */
#include "base/nearest.h"

#include <string.h>

/* Longer words are typed by no one. */
enum { LONGEST = 32, TOO_FAR = 3 };

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* The optimal string alignment distance: how many letters have to be replaced, added, removed, or
 * swapped with their neighbour. row[0] is the row that is being filled, row[1] and row[2] are those
 * before it. */
static size_t distance(const char *a, size_t a_n, const char *b, size_t b_n)
{
    size_t row[3][LONGEST + 1] = {0};

    for (size_t k = 0; k <= b_n; k++)
        row[0][k] = k;
    for (size_t i = 1; i <= a_n; i++) {
        memmove(row[1], row[0], 2 * sizeof(row[0]));
        row[0][0] = i;
        for (size_t k = 1; k <= b_n; k++) {
            size_t replaced = row[1][k - 1] + (a[i - 1] != b[k - 1]);

            row[0][k] = least(replaced, least(row[1][k], row[0][k - 1]) + 1);
            if (i > 1 && k > 1 && a[i - 1] == b[k - 2] && a[i - 2] == b[k - 1])
                row[0][k] = least(row[0][k], row[2][k - 2] + 1);
        }
    }
    return row[0][b_n];
}

static size_t distance_of(const char *word, const char *candidate)
{
    size_t n = strlen(word);
    size_t candidate_n = strlen(candidate);
    size_t longer = n > candidate_n ? n : candidate_n;

    if (n > 1 && strncmp(word, candidate, n) == 0)
        return 1;
    if (longer > LONGEST)
        return TOO_FAR;
    size_t d = distance(word, n, candidate, candidate_n);
    return d * 3 <= longer ? d : TOO_FAR;
}

void nearest_try(struct nearest *n, const char *candidate)
{
    size_t d = distance_of(n->word, candidate);

    if (d >= TOO_FAR || (n->found != NULL && d >= n->distance))
        return;
    n->found = candidate;
    n->distance = d;
}
