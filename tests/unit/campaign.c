/* SPDX-License-Identifier: Apache-2.0 */
#include "campaign.h"

#include <stdlib.h>
#include <string.h>

size_t campaign_size(size_t in_short, size_t in_long)
{
    const char *is_long = getenv("INFORMERD_LONG"); /* NOLINT(concurrency-mt-unsafe): never set */

    return is_long != NULL && strcmp(is_long, "1") == 0 ? in_long : in_short;
}
