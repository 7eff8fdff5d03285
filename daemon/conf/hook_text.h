/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hook_text - all that the configuration says of a hook, as one canonical text: equal texts are
 * equal hooks, over restarts and releases; pure.
 */
#ifndef CONF_HOOK_TEXT_H
#define CONF_HOOK_TEXT_H

#include "base/buf.h"
#include "base/digest.h"
#include "conf/conf.h"

/* Appends it. In it are the settings that are not at their default, in a fixed order; the order of
 * NAME = value pairs does not count; the user is the one that the hook runs as; the node's name
 * counts where ${node_name} is used. Not in it: the hook's name, places in files, what its watches
 * and views are. Values of environment are shown. */
void hook_text_put(const struct conf *c, const struct conf_hook *h, const char *node_name,
                   struct buf *out);

/* The digest of that text. */
struct digest hook_text_digest(const struct conf *c, const struct conf_hook *h,
                               const char *node_name);

#endif
