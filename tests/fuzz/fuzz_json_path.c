/* SPDX-License-Identifier: Apache-2.0 */
/* A path in the first line, a document behind it. Several paths at once select what each does alone. Values
 * for the environment hold no NUL, and are those that a naive walk through a tree of the document finds. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/panic.h"
#include "proto/json_path.h"
#include "proto/json_tree.h"

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

static void put_value(struct buf *out, size_t *count, const struct json_value *v)
{
    if (v->type == JSON_NULL)
        return;
    if ((*count)++ > 0)
        buf_putc(out, ' ');
    if (v->type == JSON_TRUE || v->type == JSON_FALSE)
        buf_puts(out, v->type == JSON_TRUE ? "true" : "false");
    else
        buf_append_str(out, v->bytes);
}

/* Appends what the path selects from step `at` on inside of value i. */
static void walk(const struct json_tree *t, const struct json_path *path, unsigned i, size_t at,
                 struct buf *out, size_t *count)
{
    const struct json_value *v = &t->v[i];
    bool is_object = v->type == JSON_OBJECT;
    size_t index = 0;

    if (at == json_path_length(path)) {
        put_value(out, count, v);
        return;
    }
    if (!is_object && v->type != JSON_ARRAY)
        return;
    const struct json_path_step step = json_path_step(path, at);
    for (unsigned child = i + 1; child < v->next; child = t->v[child].next, index++)
        if (json_path_fulfils(&step, is_object ? &t->v[child].name : NULL, index))
            walk(t, path, child, at + 1, out, count);
}

static void read_naively(const struct json_path *path, struct str text, struct str found)
{
    struct json_tree t = {.text = text};
    struct buf want = {0};
    size_t count = 0;

    if (json_tree_read(&t, NULL) == ERR_OK) {
        walk(&t, path, 0, 0, &want, &count);
        ensure(str_eq(found, buf_str(&want)));
    }
    json_tree_free(&t);
    buf_free(&want);
}

static void read_values(const struct json_path *path, struct str text)
{
    const struct json_path *const paths[] = {path, path};
    struct buf found[2] = {0};
    struct err err;

    if (json_path_values(paths, 2, text, found, &err) == ERR_OK) {
        ensure(str_eq(buf_str(&found[0]), buf_str(&found[1])));
        ensure(found[0].len == 0 || memchr(found[0].data, '\0', found[0].len) == NULL);
        read_naively(path, text, buf_str(&found[0]));
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
