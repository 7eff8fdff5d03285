/* SPDX-License-Identifier: Apache-2.0 */
/*
 * start - the way from the command line to a running daemon: configuration, control socket, helper,
 * and the drop of privileges, in an order that matters.
 */
#ifndef APP_START_H
#define APP_START_H

#include "app/options.h"

/* Runs informerd with these options; returns its exit code (docs/design.md "Exit codes"). */
int start_run(const struct options *o);

#endif
