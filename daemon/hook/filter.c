/* SPDX-License-Identifier: Apache-2.0 */
#include "hook/filter.h"

#include <stdlib.h>

#include "base/mem.h"

enum err_kind filter_init(struct filter *f, unsigned events, const char *const *paths, size_t n,
                          struct err *err)
{
    *f = (struct filter){.events = events, .paths = mem_array(n + 1, sizeof(struct json_path *))};
    for (size_t i = 0; i < n; i++) {
        if (json_path_parse(paths[i], &f->paths[i], err) != ERR_OK) {
            filter_fini(f);
            return err_wrap(err, "changes_in: %s", paths[i]);
        }
        f->path_count++;
    }
    return ERR_OK;
}

void filter_fini(struct filter *f)
{
    for (size_t i = 0; i < f->path_count; i++)
        json_path_destroy(&f->paths[i]);
    free(f->paths);
    *f = (struct filter){0};
}

bool filter_takes(const struct filter *f, enum delta_type type)
{
    return (f->events & 1U << type) != 0;
}

/* One path at a time: what several select stands one behind the other, and a number that moves from
 * one path to the next would not show. False too when the bytes cannot be scanned, which the reader
 * of the stream has ruled out. */
static bool selects_same(const struct json_path *path, struct str a, struct str b)
{
    struct buf was = {0};
    struct buf is = {0};
    bool same = json_path_select(&path, 1, a, &was, NULL) == ERR_OK &&
                json_path_select(&path, 1, b, &is, NULL) == ERR_OK &&
                str_eq(buf_str(&was), buf_str(&is));

    buf_free(&was);
    buf_free(&is);
    return same;
}

static bool all_select_same(const struct filter *f, const struct object *a, const struct object *b)
{
    struct buf was = {0};
    struct buf is = {0};
    bool same = true;

    object_put_json(&was, a);
    object_put_json(&is, b);
    for (size_t i = 0; same && i < f->path_count; i++)
        same = selects_same(f->paths[i], buf_str(&was), buf_str(&is));
    buf_free(&was);
    buf_free(&is);
    return same;
}

bool filter_changed(const struct filter *f, const struct object *a, const struct object *b)
{
    if (a == b || object_same(a, b))
        return false;
    return f->path_count == 0 || !all_select_same(f, a, b);
}
