/* SPDX-License-Identifier: Apache-2.0 */
/*
 * command_hooks - the commands about hooks, and the two whose answer has no end; driver.
 */
#ifndef CTL_COMMAND_HOOKS_H
#define CTL_COMMAND_HOOKS_H

#include "ctl/verb.h"

extern const struct verb command_hooks_list;
extern const struct verb command_hooks_runs;
extern const struct verb command_hooks_why;
extern const struct verb command_hooks_input;
extern const struct verb command_hooks_run;
extern const struct verb command_hooks_pause;
extern const struct verb command_hooks_resume;
extern const struct verb command_hooks_events;
extern const struct verb command_hooks_stream;

#endif
