/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hook_output - the rules for the settings output, check and apply of a hook, and those that go
 * with them (docs/design.md "Output files"); pure.
 */
#ifndef CONF_HOOK_OUTPUT_H
#define CONF_HOOK_OUTPUT_H

#include "conf/conf.h"

/* The rule for output_owner: NULL if the text is "USER", "USER:GROUP" or ":GROUP", otherwise the
 * words that a message puts behind `KEY: "TEXT" `. */
const char *hook_output_owner_fault(const char *text);

/* Reports problems of these settings of one hook, and whether a hook before it in c writes the same
 * file. */
void hook_output_check(const struct conf *c, const struct conf_hook *h, struct problems *p);

#endif
