/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/feature.h"

#include "base/compiler.h"

const char *feature_text(enum feature feature)
{
#define FEATURE_TEXT(id, text) text,
    static const char *const texts[] = {FEATURE_MAP(FEATURE_TEXT)};
#undef FEATURE_TEXT

    return texts[feature];
}

bool feature_is_rare(enum feature feature)
{
    static const enum feature rare[] = {
        FEATURE_ORDER_ALL,         FEATURE_ORDER_VOID,     FEATURE_SPLAY_RERUN,
        FEATURE_NOT_STARTED_ORDER, FEATURE_PARK_ATTEMPTS,  FEATURE_FORWARD,
        FEATURE_GAVE_WAY,          FEATURE_TWO_ENDS,       FEATURE_UNDONE,
        FEATURE_MORE_PATHS,        FEATURE_APPLY_ORDERED,  FEATURE_APPLY_PARKED,
        FEATURE_APPLY_NOT_STARTED, FEATURE_KEPT_AGAIN,     FEATURE_KEPT_BACK,
        FEATURE_KEPT_SNAPSHOT,     FEATURE_KEPT_PARKED,    FEATURE_KEPT_QUIET,
        FEATURE_ODD_MISSING,       FEATURE_BEGUN_RELOADED,
    };

    for (size_t i = 0; i < ARRAY_LEN(rare); i++)
        if (rare[i] == feature)
            return true;
    return false;
}
