/* SPDX-License-Identifier: Apache-2.0 */
#include "admin/line.h"

#include <string.h>

void line_flatten(char *json, size_t n)
{
    /* memchr() for each of the two: most values have no line break at all */
    for (size_t i = 0; i < 2; i++) {
        char *at = json;

        while ((at = memchr(at, "\n\r"[i], (size_t)(json + n - at))) != NULL)
            *at++ = ' ';
    }
}
