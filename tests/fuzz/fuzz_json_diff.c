/* SPDX-License-Identifier: Apache-2.0 */
/* A limit in the first byte, then two documents with a NUL between them. The differences are a set
 * of paths, the same set both ways, and within the limit; without differences both documents have
 * the same digest. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/panic.h"
#include "proto/json_diff.h"
#include "proto/json_path.h"
#include "proto/json_value.h"
#include "proto/path_list.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void check_paths(const struct buf *lines)
{
    for (size_t at = 0; at < lines->len;) {
        const char *from = lines->data + at;
        size_t length = (size_t)((const char *)memchr(from, '\n', lines->len - at) - from);
        char *line = mem_strndup(from, length);
        struct json_path *path = NULL;

        ensure(json_path_parse(line, &path, NULL) == ERR_OK);
        json_path_destroy(&path);
        free(line);
        at += length + 1;
    }
}

static void same(const struct buf *a, const struct buf *b)
{
    ensure(str_eq(buf_str(a), buf_str(b)));
}

static void check_set(const struct buf *lines, size_t limit)
{
    struct buf copy = {0};

    buf_append_str(&copy, buf_str(lines));
    path_list_limit(&copy, limit);
    same(lines, &copy);
    buf_free(&copy);
}

static void check_diff(struct str a, struct str b, size_t limit)
{
    struct buf there = {0};
    struct buf back = {0};
    struct buf none = {0};
    struct err err;

    if (json_diff(a, b, limit, &there, &err) == ERR_OK) {
        if (json_diff(b, a, limit, &back, &err) != ERR_OK) {
            ensure(err.kind == ERR_TOO_BIG); /* the part of b that the diff has not read */
            buf_append_str(&back, buf_str(&there));
        }
        ensure(json_diff(a, a, limit, &none, &err) == ERR_OK);
        ensure(there.len > 0 || json_value_digest(a) == json_value_digest(b));
    }
    same(&there, &back);
    check_paths(&there);
    check_set(&there, limit);
    ensure(none.len == 0);
    buf_free(&there);
    buf_free(&back);
    buf_free(&none);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    const char *text = (const char *)data + 1;
    const char *end = n > 1 ? memchr(text, '\0', n - 1) : NULL;

    if (end == NULL)
        return 0;
    size_t rest = n - 2 - (size_t)(end - text);
    check_diff(str_of(text, (size_t)(end - text)), str_of(end + 1, rest), data[0] % 20 + 1);
    return 0;
}
