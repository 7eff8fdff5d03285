/* SPDX-License-Identifier: Apache-2.0 */
/*
 * outputs - the output file of a hook, its check and its apply, from the configuration to what the
 * helper and the schedule take.
 */
#ifndef APP_OUTPUTS_H
#define APP_OUTPUTS_H

#include "base/compiler.h"
#include "base/err.h"
#include "conf/conf.h"
#include "helper/helper.h"

/* The template of the path with ${node_name} replaced; the caller frees it. NULL = none. */
char *outputs_template(const struct conf_hook *h, const char *node_name) MUST_CHECK;

/* The folder that must exist: what stands before the first variable; the caller frees it. NULL =
 * there is no output. */
char *outputs_folder(const struct conf_hook *h) MUST_CHECK;

/* Fills in output, check and apply, which outputs_fini() frees, in any case. ERR_CONFIG: the owner
 * does not exist, or the node's name is not fit for a path. */
enum err_kind outputs_fill(const struct conf_hook *h, const char *node_name,
                           struct helper_hook *out, struct err *err) MUST_CHECK;

/* Frees them. */
void outputs_fini(const struct helper_hook *h);

#endif
