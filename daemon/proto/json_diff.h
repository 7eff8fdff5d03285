/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json_diff - the paths at which two JSON texts differ; pure. The paths can be read by
 * json_path_parse(): spec.ports[0].port, metadata.annotations['example.com/x'].
 */
#ifndef PROTO_JSON_DIFF_H
#define PROTO_JSON_DIFF_H

#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"

/* Appends to lines the paths at which a and b differ, sorted by their bytes, each once and followed
 * by '\n'; nothing if both are the same value.
 *
 * A path leads to the deepest value that shows the difference: a value of another type or text, or
 * a member or element that only one text has (null differs from absent, except for
 * json_value_is_void()). Elements are compared by index. White space, the order of members and
 * escapes make no difference; numbers are compared as they are written. A step that no path can
 * hold (json_path_put_member(), json_path_put_index(), too many steps) is left out: the path then
 * ends at the value around it.
 *
 * If there are more than limit (>= 1) paths, they are cut to their first N steps, with the greatest
 * N at which at most limit paths are left. A difference of the whole document is the one path "*".
 *
 * ERR_PROTOCOL, ERR_CLOSED or ERR_TOO_BIG as json_in_scan() if a or b is not one JSON value,
 * ERR_TOO_BIG also for more than a million values; lines is then unchanged. Of b only the object or
 * array in which it differs counts towards these limits. */
enum err_kind json_diff(struct str a, struct str b, size_t limit, struct buf *lines,
                        struct err *err) MUST_CHECK;

#endif
