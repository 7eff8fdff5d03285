/* SPDX-License-Identifier: Apache-2.0 */
/*
 * outputs - brings the output file of a hook, its check and its apply from the configuration into
 * the parameters of the helper and of hook/.
 */
#ifndef APP_OUTPUTS_H
#define APP_OUTPUTS_H

#include "base/compiler.h"
#include "base/err.h"
#include "conf/conf.h"
#include "helper/helper.h"

/* The template of the path, with ${node_name} replaced; the caller frees it. NULL = the hook has no
 * output. */
char *outputs_template(const struct conf_hook *h, const char *node_name) MUST_CHECK;

/* The folder that must exist, which is the part of the path before the first variable; the caller
 * frees it. NULL = the hook has no output. */
char *outputs_folder(const struct conf_hook *h) MUST_CHECK;

/* The program `apply` and its arguments, as they are started, with NULL behind them; the caller frees
 * all of them and the array. NULL = the hook has none. */
char **outputs_apply(const struct conf_hook *h, const char *node_name) MUST_CHECK;

/* Fills in out->output, out->check and out->apply. Call outputs_fini() in any case. ERR_CONFIG: the
 * owner does not exist, or the name of the node cannot be part of a path. */
enum err_kind outputs_fill(const struct conf_hook *h, const char *node_name,
                           struct helper_hook *out, struct err *err) MUST_CHECK;

/* Frees what outputs_fill() allocated. */
void outputs_fini(const struct helper_hook *h);

#endif
