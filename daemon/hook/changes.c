/* SPDX-License-Identifier: Apache-2.0 */
#include "hook/changes.h"

#include "proto/json_diff.h"
#include "proto/path_list.h"

struct buf changes_between(const struct object *was, const struct object *is)
{
    struct buf lines = {0};
    struct buf a = {0};
    struct buf b = {0};

    /* object_same() is cheap for equal bytes, so the two copies are made for real differences
     * only. */
    if (was == NULL || is == NULL || object_same(was, is))
        return lines;
    object_put_unversioned(&a, was);
    object_put_unversioned(&b, is);
    if (json_diff(buf_str(&a), buf_str(&b), CHANGES_MAX, &lines, NULL) != ERR_OK)
        buf_puts(&lines, PATH_LIST_ALL); /* too many values to compare */
    buf_free(&a);
    buf_free(&b);
    return lines;
}

void changes_unite(struct buf *lines, struct str more)
{
    buf_append_str(lines, more);
    /* This also sorts, and drops paths that stand there twice. */
    path_list_limit(lines, CHANGES_MAX);
}
