/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watch_digest - the settings of a watch that say what its cache holds, as one number: what was kept
 * of a watch with another one is of other settings; pure.
 */
#ifndef CACHE_WATCH_DIGEST_H
#define CACHE_WATCH_DIGEST_H

#include <stdbool.h>

#include "base/digest.h"
#include "cache/watch_params.h"

/* Of resource, namespaces, names, selectors, keep, drop, match and object_size; the order of lists
 * does not count, and nothing does that only says how the cluster is asked. */
struct digest watch_digest(const struct watch_params *p);

/* Do two watches with these select the same objects where they ask for the same namespaces and
 * names, whatever they keep of each? */
bool watch_digest_selects_same(struct digest a, struct digest b);

#endif
