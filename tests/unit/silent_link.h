/* SPDX-License-Identifier: Apache-2.0 */
/*
 * silent_link - a link to a helper that never answers, for tests of io/runner.
 */
#ifndef UNIT_SILENT_LINK_H
#define UNIT_SILENT_LINK_H

#include "io/helper_link.h"
#include "io/loop.h"

/* *far is the helper's end: the caller closes it. Release with helper_link_dispose(). */
struct helper_link *silent_link_create(struct loop *loop, int *far);

#endif
