/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json_diff - at which paths two JSON texts differ; pure. The paths are such as json_path_parse()
 * reads: spec.ports[0].port, metadata.annotations['example.com/x'].
 */
#ifndef PROTO_JSON_DIFF_H
#define PROTO_JSON_DIFF_H

#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"

/* Appends to lines the paths at which a and b differ, each followed by '\n', sorted by their bytes,
 * each once; nothing if they are the same value. A path leads to the deepest value that tells the
 * difference: one of another type or text, or a member or element that only one text has (null is
 * not absent here, but for json_value_is_void()). Elements are compared by index. White space, the order of members and escapes
 * make no difference; numbers are compared as they are written. A step that no path can hold
 * (json_path_put_member(), json_path_put_index(), too many steps) is left out, and the path of the
 * value around it stands there.
 * Of more than limit (>= 1) paths none has more than N steps, with the greatest N at which they are
 * at most limit. The whole document, when it comes to that, is the one path "*".
 * ERR_PROTOCOL, ERR_CLOSED or ERR_TOO_BIG as json_in_scan() if a or b is not one JSON value,
 * ERR_TOO_BIG also for more than a million values; lines is then as it was. Of b only the object or
 * array in which it differs counts towards what is too big. */
enum err_kind json_diff(struct str a, struct str b, size_t limit, struct buf *lines,
                        struct err *err) MUST_CHECK;

#endif
