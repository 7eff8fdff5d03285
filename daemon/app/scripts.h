/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scripts - which arguments of a command are programs, too: what a shell or an interpreter runs; pure.
 */
#ifndef APP_SCRIPTS_H
#define APP_SCRIPTS_H

#include "conf/where.h"

/* fn for each argument that may be one. The command's own name tells what it is. Of a shell or an
 * interpreter paths count up to the first that is no option's, unless the text of a program stands
 * there. Of a program that starts another one (env, timeout) the first path or known name is that
 * program. "${file}" is what a check looks at, and is none. */
void scripts_each(const struct conf_list *command,
                  void (*fn)(void *arg, const struct conf_str *script), void *arg);

#endif
