/* SPDX-License-Identifier: Apache-2.0 */
/*
 * findings - shows the findings of informerctl doctor; pure.
 */
#ifndef CTL_FINDINGS_H
#define CTL_FINDINGS_H

#include <stddef.h>

#include "base/buf.h"
#include "base/compiler.h"
#include "base/err.h"
#include "base/str.h"

/* Appends a line "WHERE: WHAT -> ADVICE" for each finding of the daemon's answer, or one line that
 * there is none; *n = how many there are. Lines longer than width columns go on in the next line,
 * indented; width 0 = they do not. */
enum err_kind findings_put(struct buf *out, struct str json, size_t width, size_t *n,
                           struct err *err) MUST_CHECK;

#endif
