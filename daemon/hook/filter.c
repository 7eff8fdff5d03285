/* SPDX-License-Identifier: Apache-2.0 */
#include "hook/filter.h"

#include <stdlib.h>

#include "base/mem.h"
#include "proto/json_value.h"

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

/* Appends the values at the paths of changes_in as JSON, found in one pass over the object's
 * bytes. */
static enum err_kind put_selected(const struct filter *f, const struct object *o, struct buf *out)
{
    struct buf json = {0};

    object_put_json(&json, o);
    enum err_kind kind = json_path_select((const struct json_path *const *)f->paths, f->path_count,
                                          buf_str(&json), out, NULL);
    buf_free(&json);
    return kind;
}

/* Do both states have the same values at all paths? Equal bytes are the usual case and cost
 * least. False also if the bytes cannot be scanned, which the parser of lists and watches has
 * ruled out. */
static bool all_select_same(const struct filter *f, const struct object *a, const struct object *b)
{
    struct buf was = {0};
    struct buf is = {0};
    bool same = put_selected(f, a, &was) == ERR_OK && put_selected(f, b, &is) == ERR_OK &&
                (str_eq(buf_str(&was), buf_str(&is)) ||
                 json_value_digest(buf_str(&was)) == json_value_digest(buf_str(&is)));

    buf_free(&was);
    buf_free(&is);
    return same;
}

/* Without changes_in every difference that object_same() sees counts. */
bool filter_changed(const struct filter *f, const struct object *a, const struct object *b)
{
    if (a == b || object_same(a, b))
        return false;
    return f->path_count == 0 || !all_select_same(f, a, b);
}

/* The digest of a state as the filter sees it: filter_known_digest(). */
static struct digest digest_seen(const struct filter *f, const struct object *o)
{
    struct buf selected = {0};
    struct digest d;

    if (f->path_count > 0 && put_selected(f, o, &selected) == ERR_OK)
        d = (struct digest){.hi = digest_of(selected.data, selected.len).hi,
                            .lo = json_value_digest(buf_str(&selected))};
    else
        d = object_digest(o);
    buf_free(&selected);
    return d;
}

struct digest filter_known_digest(const struct filter *f, const struct known *l)
{
    return l->object != NULL ? digest_seen(f, l->object) : known_digest(l);
}

bool filter_known_changed(const struct filter *f, const struct known *l, const struct object *o)
{
    if (l->object != NULL)
        return filter_changed(f, l->object, o);
    struct digest was = known_digest(l);
    /* The digest of the bytes costs less than that of the value, and after a restart most
     * objects are the same
     * (docs/decisions.md "A delivery record has a digest of bytes and one of value"). */
    if (f->path_count == 0 && was.hi == object_digest_of_bytes(o))
        return false;
    return !digest_either(was, digest_seen(f, o));
}
