/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hook_output - what must hold for a hook's output file, its check and its apply
 * (docs/design.md "Output files"); pure.
 */
#ifndef CONF_HOOK_OUTPUT_H
#define CONF_HOOK_OUTPUT_H

#include "conf/conf.h"

/* NULL if a text is "USER", "USER:GROUP" or ":GROUP", else what follows `KEY: "TEXT" `. */
const char *hook_output_owner_fault(const char *text);

/* Reports what is wrong with the settings of one hook, and with those before it in c. */
void hook_output_check(const struct conf *c, const struct conf_hook *h, struct problems *p);

#endif
