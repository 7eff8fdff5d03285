/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hook_text - the settings of a hook's program, identity, input and output, as one canonical text; pure.
 * A hook whose text is another one than in the process before, or in the release before, is renewed
 * (docs/design.md "Renewal").
 */
#ifndef CONF_HOOK_TEXT_H
#define CONF_HOOK_TEXT_H

#include "base/buf.h"
#include "base/digest.h"
#include "conf/conf.h"

/* Which settings the text has. */
enum hook_text_form {
    HOOK_TEXT_RENEWING, /* those whose change renews the hook: SETTING_RENEWS */
    /* all, as in the texts of releases up to 0.1.0: their digests are on disk */
    HOOK_TEXT_FORMER,
};

/* Appends the text of the hook. It has the settings that are not at their default, in a fixed
 * order; the order of NAME = value pairs does not count. It has the user that the hook runs as,
 * which may be the daemon's, and the node's name if ${node_name} is used. It does not have the
 * hook's name, the places in files, nor the settings of its watches and views. The values of
 * environment are shown in plain text. Only tests call it, to see why two digests differ. */
void hook_text_put(const struct conf *c, const struct conf_hook *h, const char *node_name,
                   enum hook_text_form form, struct buf *out);

/* The digests of both texts. */
struct digest_forms hook_text_digests(const struct conf *c, const struct conf_hook *h,
                                      const char *node_name);

#endif
