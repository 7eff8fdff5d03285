/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watch_digest - one number for the settings of a watch that determine its cache: objects that were
 * kept with another number were read by other settings; pure.
 */
#ifndef CACHE_WATCH_DIGEST_H
#define CACHE_WATCH_DIGEST_H

#include <stdbool.h>

#include "base/digest.h"
#include "cache/watch_params.h"

/* Of resource, namespaces, names, selectors, keep, drop, match and object_size. The order of lists
 * does not count, nor do settings that only say how to ask the cluster. */
struct digest watch_digest(const struct watch_params *p);

/* Do two watches with these digests select the same objects where they ask for the same namespaces
 * and names, whatever they keep of each object? */
bool watch_digest_selects_same(struct digest a, struct digest b);

#endif
