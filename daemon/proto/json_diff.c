/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/json_diff.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/panic.h"
#include "proto/json_path.h"
#include "proto/json_tree.h"
#include "proto/json_value.h"
#include "proto/path_list.h"

/* The outcome for a pair of values, one of each text. worse() relies on the order. */
enum outcome {
    SAME,
    TOLD,   /* they differ, and paths of values inside say where */
    UNTOLD, /* they differ, and their own path has to be told */
};

/* STRIDE: bytes that find_gap() compares at once. */
enum { ABSENT = -1, STRIDE = 16 };

/* The values at one path, as indices in the two trees; ABSENT = this text has no value there. */
struct pair {
    long a;
    long b;
};

struct diff {
    struct json_tree a;
    struct json_tree b;
    long start; /* the value of a that d->b stands for: 0, or read_b() read only a part of b */
    size_t limit;
    unsigned max_steps;
    struct buf path; /* of the pair that is being compared */
    unsigned steps;  /* number of steps in path */
    bool nameless;   /* the pair lies deeper than path: no path can lead there */
    struct buf found;
    size_t found_n;
    /* By number of steps: how many values with that many steps differ in any way, and how many
     * paths end there. steps_that_fit() computes from them how many paths a cut would leave. */
    size_t places[JSON_PATH_MAX_STEPS + 1];
    size_t ends[JSON_PATH_MAX_STEPS + 1];
};

static enum outcome compare(struct diff *d, struct pair p);

/* Notes the path of the current pair. Paths over the limit are only counted: compare_all() then
 * runs again with fewer steps. */
static void tell(struct diff *d)
{
    d->ends[d->steps]++;
    if (d->found_n++ >= d->limit)
        return;
    buf_append_str(&d->found, d->steps > 0 ? buf_str(&d->path) : str_c("*"));
    buf_putc(&d->found, '\n');
}

/* Compares a member of two objects (name), or an element of two arrays (name NULL, index). */
static enum outcome compare_child(struct diff *d, struct pair p, const struct str *name,
                                  size_t index)
{
    size_t length = d->path.len;
    bool nameless = d->nameless;

    if (!nameless)
        d->nameless =
            d->steps == d->max_steps || !(name != NULL ? json_path_put_member(&d->path, *name)
                                                       : json_path_put_index(&d->path, index));
    if (d->nameless) {
        enum outcome o = compare(d, p);

        d->nameless = nameless;
        return o; /* UNTOLD stays: the value around it tells its own path */
    }
    d->steps++;
    enum outcome o = compare(d, p);
    if (o == UNTOLD)
        tell(d);
    if (o != SAME)
        d->places[d->steps]++;
    d->steps--;
    /* The step is taken off the path again, for the next member or element. */
    d->path.len = length;
    return o == SAME ? SAME : TOLD;
}

static enum outcome worse(enum outcome a, enum outcome b)
{
    return a > b ? a : b;
}

/* Elements are compared by index: an element that was inserted in front changes the paths of all
 * behind it. The longer array's last elements have no partner. */
static enum outcome compare_elements(struct diff *d, struct pair p)
{
    const struct json_value *a = d->a.v;
    const struct json_value *b = d->b.v;
    long end_a = a[p.a].next;
    long end_b = b[p.b].next;
    struct pair at = {p.a + 1, p.b + 1};
    enum outcome o = SAME;

    for (size_t i = 0; at.a < end_a || at.b < end_b; i++) {
        struct pair child = {at.a < end_a ? at.a : ABSENT, at.b < end_b ? at.b : ABSENT};

        o = worse(o, compare_child(d, child, NULL, i));
        at.a = child.a != ABSENT ? a[at.a].next : at.a;
        at.b = child.b != ABSENT ? b[at.b].next : at.b;
    }
    return o;
}

/* Sorts by name. Members of the same name stay in their order in the text. */
static int by_name(const void *x, const void *y)
{
    const struct json_value *a = *(const struct json_value *const *)x;
    const struct json_value *b = *(const struct json_value *const *)y;
    int order = str_cmp(a->name, b->name);

    return order != 0 ? order : (a > b) - (a < b);
}

struct members {
    const struct json_value **v;
    size_t n;
};

/* The members from index at up to end, sorted by name. The caller frees v. */
static struct members sorted_members(const struct json_tree *t, long at, long end)
{
    struct members m = {0};
    size_t n = 0;

    for (long i = at; i < end; i = t->v[i].next)
        n++;
    m.v = mem_array(n, sizeof(struct json_value *));
    for (; at < end; at = t->v[at].next)
        m.v[m.n++] = &t->v[at];
    qsort(m.v, m.n, sizeof(struct json_value *), by_name);
    return m;
}

/* Compares the members from `at` on that do not have the same names in the same order: merges two
 * sorted lists. */
static enum outcome compare_sorted(struct diff *d, struct pair at, struct pair end)
{
    struct members a = sorted_members(&d->a, at.a, end.a);
    struct members b = sorted_members(&d->b, at.b, end.b);
    enum outcome o = SAME;

    for (size_t i = 0, k = 0; i < a.n || k < b.n;) {
        int order = i == a.n ? 1 : k == b.n ? -1 : str_cmp(a.v[i]->name, b.v[k]->name);
        struct pair child = {order <= 0 ? a.v[i] - d->a.v : ABSENT,
                             order >= 0 ? b.v[k] - d->b.v : ABSENT};

        o = worse(o, compare_child(d, child, order <= 0 ? &a.v[i]->name : &b.v[k]->name, 0));
        i += order <= 0;
        k += order >= 0;
    }
    free(a.v);
    free(b.v);
    return o;
}

/* Servers nearly always write members in the same order. As long as the names are equal nothing is
 * sorted. */
static enum outcome compare_members(struct diff *d, struct pair p)
{
    const struct json_value *a = d->a.v;
    const struct json_value *b = d->b.v;
    struct pair end = {a[p.a].next, b[p.b].next};
    struct pair at = {p.a + 1, p.b + 1};
    enum outcome o = SAME;

    while (at.a < end.a && at.b < end.b && str_eq(a[at.a].name, b[at.b].name)) {
        o = worse(o, compare_child(d, at, &a[at.a].name, 0));
        at = (struct pair){a[at.a].next, b[at.b].next};
    }
    if (at.a < end.a || at.b < end.b)
        o = worse(o, compare_sorted(d, at, end));
    return o;
}

/* A value that only one text has is a difference, unless it means the same as no value. */
static enum outcome compare_lone(const struct json_value *v)
{
    return json_value_is_void(v->name, v->type) ? SAME : UNTOLD;
}

static enum outcome compare(struct diff *d, struct pair p)
{
    if (p.a == ABSENT || p.b == ABSENT)
        return compare_lone(p.a == ABSENT ? &d->b.v[p.b] : &d->a.v[p.a]);
    const struct json_value *a = &d->a.v[p.a];
    const struct json_value *b = &d->b.v[p.b];
    if (a->type != b->type)
        return UNTOLD;
    /* Equal bytes are equal values. Most of an object is skipped here. */
    if (str_eq(a->bytes, b->bytes))
        return SAME;
    if (a->type == JSON_OBJECT)
        return compare_members(d, p);
    return a->type == JSON_ARRAY ? compare_elements(d, p) : UNTOLD;
}

/* Compares both texts and notes paths of at most max_steps steps. */
static void compare_all(struct diff *d, unsigned max_steps)
{
    buf_clear(&d->found);
    d->found_n = 0;
    d->max_steps = max_steps;
    if (compare(d, (struct pair){d->start, 0}) == UNTOLD)
        tell(d);
}

/* The greatest number of steps at which at most limit paths are left. With i steps these are the
 * paths that end earlier, and one for each value with i steps that differs in any way. */
static unsigned steps_that_fit(const struct diff *d)
{
    unsigned fit = 0;
    size_t shorter = d->ends[0];

    for (unsigned i = 1; i <= JSON_PATH_MAX_STEPS; i++) {
        if (shorter + d->places[i] <= d->limit)
            fit = i;
        shorter += d->ends[i];
    }
    return fit;
}

static bool is_container(const struct json_value *v)
{
    return v->type == JSON_OBJECT || v->type == JSON_ARRAY;
}

static const char *behind(const struct json_value *v)
{
    return v->bytes.p + v->bytes.n;
}

/* The bytes of a, from..to, that b replaces by others. In front of the gap and behind it both texts
 * are equal. */
struct gap {
    size_t from;
    size_t to;
};

/* Finds the gap from both ends. Most bytes of two versions of an object are equal, so whole strides
 * are compared first. */
static struct gap find_gap(struct str a, struct str b)
{
    size_t n = a.n < b.n ? a.n : b.n;
    const char *end_a = a.p + a.n;
    const char *end_b = b.p + b.n;
    size_t front = 0;
    size_t back = 0;

    while (n - front >= STRIDE && memcmp(a.p + front, b.p + front, STRIDE) == 0)
        front += STRIDE;
    while (front < n && a.p[front] == b.p[front])
        front++;
    n -= front;
    while (n - back >= STRIDE && memcmp(end_a - back - STRIDE, end_b - back - STRIDE, STRIDE) == 0)
        back += STRIDE;
    while (back < n && end_a[-1 - (ptrdiff_t)back] == end_b[-1 - (ptrdiff_t)back])
        back++;
    return (struct gap){front, a.n - back};
}

/* Moves start into the child whose brackets enclose the gap. False if there is no such object or
 * array, or no path can lead there. */
static bool step_in(struct diff *d, struct gap gap)
{
    const struct json_value *v = d->a.v;
    const char *text = d->a.text.p;
    size_t index = 0;
    long i = d->start + 1;

    while (i < v[d->start].next && !(is_container(&v[i]) && behind(&v[i]) > text + gap.to)) {
        i = v[i].next;
        index++;
    }
    if (i >= v[d->start].next || v[i].bytes.p >= text + gap.from || d->steps == JSON_PATH_MAX_STEPS)
        return false;
    if (!(v[d->start].type == JSON_OBJECT ? json_path_put_member(&d->path, v[i].name)
                                          : json_path_put_index(&d->path, index)))
        return false;
    d->steps++;
    d->start = i;
    return true;
}

/* Reads b, if possible only the part of it that differs: when a value in brackets is replaced by
 * another one in brackets, the text around it stays the same. Often the gap does not end in the
 * value that it begins in; then the part of b is no JSON, and the whole of b is read. */
static enum err_kind read_b(struct diff *d, struct str b, struct err *err)
{
    struct str a = d->a.text;
    struct gap gap = find_gap(a, b);

    while (step_in(d, gap))
        continue;
    if (d->start > 0) {
        struct str part = d->a.v[d->start].bytes;

        /* Both texts are equal up to the part, and behind it, so all of the difference in length is
         * in the part. */
        d->b.text = str_of(b.p + (part.p - a.p), part.n + b.n - a.n);
        if (json_tree_read(&d->b, NULL) == ERR_OK)
            return ERR_OK;
        json_tree_free(&d->b);
        buf_clear(&d->path);
        d->steps = 0;
        d->start = 0;
    }
    d->b.text = b;
    return json_tree_read(&d->b, err);
}

enum err_kind json_diff(struct str a, struct str b, size_t limit, struct buf *lines,
                        struct err *err)
{
    struct diff d = {.a = {.text = a}, .limit = limit};

    ensure(limit > 0);
    enum err_kind kind = json_tree_read(&d.a, err);
    if (kind == ERR_OK)
        kind = read_b(&d, b, err);
    if (kind == ERR_OK) {
        compare_all(&d, JSON_PATH_MAX_STEPS);
        if (d.found_n > limit)
            compare_all(&d, steps_that_fit(&d));
        path_list_sort(&d.found);
        buf_append_str(lines, buf_str(&d.found));
    }
    json_tree_free(&d.a);
    json_tree_free(&d.b);
    buf_free(&d.path);
    buf_free(&d.found);
    return kind;
}
