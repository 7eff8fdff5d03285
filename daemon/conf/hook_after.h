/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hook_after - whether the first runs of all hooks can be put in the order that `after` asks for;
 * pure.
 */
#ifndef CONF_HOOK_AFTER_H
#define CONF_HOOK_AFTER_H

#include "conf/conf.h"

/* Reports each cycle at the element of `after` that closes it. Names without a hook, and hooks that
 * name themselves, are passed over here: hook_conf_check() reports them. */
void hook_after_check(const struct conf *c, struct problems *p);

#endif
