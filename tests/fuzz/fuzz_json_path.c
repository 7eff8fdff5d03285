/* SPDX-License-Identifier: Apache-2.0 */
/* A path in the first line, a document behind it. Several paths at once select what each does
 * alone. */
#include <stdint.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/panic.h"
#include "proto/json_path.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void select_all(const struct json_path *path, struct str text)
{
    const struct json_path *const paths[] = {path, path};
    struct buf one = {0};
    struct buf two = {0};
    struct buf want = {0};
    struct err err;

    if (json_path_select(paths, 1, text, &one, &err) == ERR_OK) {
        ensure(json_path_select(paths, 2, text, &two, &err) == ERR_OK);
        buf_append_str(&want, buf_str(&one));
        buf_puts(&want, "1\n");
        buf_append(&want, one.data + 2, one.len - 2); /* without "0\n" */
        ensure(str_eq(buf_str(&two), buf_str(&want)));
    }
    buf_free(&one);
    buf_free(&two);
    buf_free(&want);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    const char *text = (const char *)data;
    const char *end = n > 0 ? memchr(data, '\n', n) : NULL;
    struct json_path *path = NULL;
    struct err err;

    if (end == NULL)
        return 0;
    char *line = mem_strndup(text, (size_t)(end - text));
    if (json_path_parse(line, &path, &err) == ERR_OK)
        select_all(path, str_of(end + 1, n - (size_t)(end + 1 - text)));
    else
        ensure(path == NULL && err.kind == ERR_CONFIG);
    json_path_destroy(&path);
    free(line);
    return 0;
}
