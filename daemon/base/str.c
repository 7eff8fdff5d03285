/* SPDX-License-Identifier: Apache-2.0 */
#include "base/str.h"

bool str_take_u64(struct str *s, uint64_t *out)
{
    uint64_t n = 0;
    size_t i = 0;

    *out = 0;
    for (; i < s->n && s->p[i] >= '0' && s->p[i] <= '9'; i++) {
        uint64_t digit = (uint64_t)(s->p[i] - '0');

        if (n > (UINT64_MAX - digit) / 10)
            return false;
        n = n * 10 + digit;
    }
    if (i == 0)
        return false;
    *out = n;
    *s = str_of(s->p + i, s->n - i);
    return true;
}
