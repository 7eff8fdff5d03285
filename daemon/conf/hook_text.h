/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hook_text - all that the configuration says of a hook, as one canonical text: hooks with equal
 * texts are equal, over restarts and releases; pure. A hook whose text has changed is renewed
 * (docs/design.md "Renewal").
 */
#ifndef CONF_HOOK_TEXT_H
#define CONF_HOOK_TEXT_H

#include "base/buf.h"
#include "base/digest.h"
#include "conf/conf.h"

/* Appends the text of the hook. It has the settings that are not at their default, in a fixed
 * order; the order of NAME = value pairs does not count. It has the user that the hook runs as,
 * which may be the daemon's, and the node's name if ${node_name} is used. It does not have the
 * hook's name, the places in files, nor the settings of its watches and views. The values of
 * environment are shown in plain text. Only tests call it, to see why two digests differ. */
void hook_text_put(const struct conf *c, const struct conf_hook *h, const char *node_name,
                   struct buf *out);

/* The digest of that text. */
struct digest hook_text_digest(const struct conf *c, const struct conf_hook *h,
                               const char *node_name);

#endif
