/* SPDX-License-Identifier: Apache-2.0 */
/*
 * start - from the command line to a running daemon: configuration, control socket, helper, and
 * the drop of privileges, in an order that matters.
 */
#ifndef APP_START_H
#define APP_START_H

#include "app/options.h"

/* Runs informerd; returns its exit code. */
int start_run(const struct options *o);

#endif
