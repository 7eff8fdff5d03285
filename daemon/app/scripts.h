/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scripts - finds the arguments of a command that are programs, too, because a shell or an
 * interpreter runs them; pure.
 */
#ifndef APP_SCRIPTS_H
#define APP_SCRIPTS_H

#include "conf/where.h"

/* Which arguments are wanted. */
enum scripts_which {
    SCRIPTS_POSSIBLE, /* all that may be a script: none must be left out, data may be among them */
    /* The first path that each interpreter gets, which nearly always is its script; none of awk and
     * sed, which get data at that place. Data must not be among them: a hook may change them. */
    SCRIPTS_THAT_RUN,
};

/* Calls fn for each argument of a command that may be a script. The name of the command tells what
 * kind of program it is. For a shell or an interpreter, paths count up to the first one that does
 * not belong to an option; when an option brings the text of a program (-c), nothing after it
 * counts. For a program that starts another one (env, timeout), the first path or known name is
 * that program. "${file}" is the file that a check looks at, and never counts. */
void scripts_each(const struct conf_list *command, enum scripts_which which,
                  void (*fn)(void *arg, const struct conf_str *script), void *arg);

#endif
