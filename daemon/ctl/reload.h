/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reload - orders a reload, waits for its result, and prints the changes; driver.
 */
#ifndef CTL_RELOAD_H
#define CTL_RELOAD_H

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "ctl/command.h"

struct args;

/* `informerctl reload [--dry-run]`. EXIT_CONFIG: the configuration is not good; complaint has all its
 * problems. EXIT_NO: it could not be read. Parameters and result as for command_run(). */
enum command_exit reload_run(const struct args *a, struct buf *out, struct buf *complaint);

/* Prints the daemon's answer: the table to out, problems to complaint, and sets the exit code. width: as
 * for table_fit(), 0 = any. ERR_PROTOCOL: json is no JSON. Pure. */
enum err_kind reload_put(struct str json, size_t width, struct buf *out, struct buf *complaint,
                         enum command_exit *code, struct err *err) MUST_CHECK;

#endif
