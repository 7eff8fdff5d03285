/* SPDX-License-Identifier: Apache-2.0 */
/* A path in the first line, a document behind it. Several paths at once select what each does
 * alone; values for the environment hold no NUL. */
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
        buf_append(&want, one.data, one.len);
        buf_append(&want, one.data, one.len);
        ensure(str_eq(buf_str(&two), buf_str(&want)));
    }
    buf_free(&one);
    buf_free(&two);
    buf_free(&want);
}

static void read_values(const struct json_path *path, struct str text)
{
    const struct json_path *const paths[] = {path, path};
    struct buf found[2] = {0};
    struct err err;
    enum err_kind kind = json_path_values(paths, 2, text, found, &err);

    if (kind == ERR_OK) {
        ensure(str_eq(buf_str(&found[0]), buf_str(&found[1])));
        ensure(found[0].len == 0 || memchr(found[0].data, '\0', found[0].len) == NULL);
    }
    buf_free(&found[0]);
    buf_free(&found[1]);
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
    if (json_path_parse(line, &path, &err) == ERR_OK) {
        select_all(path, str_of(end + 1, n - (size_t)(end + 1 - text)));
        read_values(path, str_of(end + 1, n - (size_t)(end + 1 - text)));
    } else {
        ensure(path == NULL && err.kind == ERR_CONFIG);
    }
    json_path_destroy(&path);
    free(line);
    return 0;
}
