/* SPDX-License-Identifier: Apache-2.0 */
#include "cache/delta.h"

const char *delta_type_name(enum delta_type type)
{
    static const char *const names[] = {"ADDED", "MODIFIED", "DELETED", "LEFT", "STALE", "FRESH"};

    return names[type];
}

const char *delta_cause_name(enum delta_cause cause)
{
    static const char *const names[] = {"watch", "relist", "audit", "restart", "config"};

    return names[cause];
}
