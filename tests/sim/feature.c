/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/feature.h"

const char *feature_text(enum feature feature)
{
#define FEATURE_TEXT(id, text) text,
    static const char *const texts[] = {FEATURE_MAP(FEATURE_TEXT)};
#undef FEATURE_TEXT

    return texts[feature];
}
