/* SPDX-License-Identifier: Apache-2.0 */
#include "app/title.h"

#include <string.h>
#include <unistd.h>

#include "base/mem.h"

/* The environment for the life of the process. setenv() may replace environ by an array of its own, and
 * then nothing else points to this one. */
static char **moved;

/* The kernel puts the strings of argv and environ into one block, one behind the other. Strings that
 * are somewhere else, because somebody has changed the pointers, end the block. */
static void take_string(struct title *t, char **string)
{
    if (*string == t->p + t->n)
        t->n += strlen(*string) + 1;
    *string = mem_strdup(*string);
}

struct title title_take(int argc, char **argv)
{
    struct title t = {0};
    size_t n = 0;

    if (argc == 0 || environ == NULL)
        return t;
    t.p = argv[0];
    for (int i = 0; i < argc; i++)
        take_string(&t, &argv[i]);
    while (environ[n] != NULL)
        n++;
    moved = mem_array(n + 1, sizeof(*moved));
    for (size_t i = 0; i < n; i++) {
        moved[i] = environ[i];
        take_string(&t, &moved[i]);
    }
    environ = moved;
    return t;
}
