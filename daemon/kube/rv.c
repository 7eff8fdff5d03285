/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/rv.h"

/* No leading zero also leaves "0" out, which means any version. */
static bool is_number(struct str s)
{
    if (s.n == 0 || s.p[0] == '0')
        return false;
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] < '0' || s.p[i] > '9')
            return false;
    return true;
}

enum rv_order rv_order(struct str a, struct str b)
{
    if (!is_number(a) || !is_number(b))
        return RV_UNKNOWN;
    /* Versions are compared as text, because an integer could overflow. Without leading zeros the
     * longer number is the larger one, and equally long ones compare byte by byte. */
    if (a.n != b.n)
        return a.n < b.n ? RV_OLDER : RV_NEWER;
    int d = str_cmp(a, b);
    return d < 0 ? RV_OLDER : d > 0 ? RV_NEWER : RV_SAME;
}
