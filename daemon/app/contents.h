/* SPDX-License-Identifier: Apache-2.0 */
/*
 * contents - finds the files of a hook whose content tells whether the hook has changed: programs,
 * scripts and `files` (docs/design.md "Renewal"); pure.
 */
#ifndef APP_CONTENTS_H
#define APP_CONTENTS_H

#include "conf/hook_conf.h"
#include "helper/helper.h"

/* Returns an array that ends with path NULL; the caller frees it, the paths are those of h. The order
 * is part of the digests on disk. A program of the distribution (below /usr/bin, /usr/sbin, /bin and
 * /sbin, as the path is written) counted for the release before, and counts now only if `files` names
 * it. A script that an interpreter runs counts only now. /bin/sh of a `shell` setting is left out: the
 * line is part of the settings. */
struct helper_content *contents_of(const struct conf_hook *h);

#endif
