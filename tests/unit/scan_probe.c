/* SPDX-License-Identifier: Apache-2.0 */
#include "scan_probe.h"

struct object_scan *scan;
static bool begun;
static unsigned deepest; /* tokens up to this depth matter; 0 = outside of the object */

int scan_set_up(void **state)
{
    (void)state;
    scan = object_scan_create(&(struct object_rules){.object_size = 1 << 20});
    return 0;
}

int scan_clean_up(void **state)
{
    (void)state;
    object_scan_destroy(&scan);
    assert_null(scan);
    object_scan_destroy(&scan);
    return 0;
}

static bool on_token(void *arg, const struct json_token *t)
{
    (void)arg;
    if (!begun) {
        deepest = object_scan_begin(scan, t->end, t->depth);
        begun = true;
    } else {
        assert_true(deepest > 0);
        if (t->depth <= deepest)
            deepest = object_scan_token(scan, t);
    }
    return true;
}

void scan_feed(struct str text, size_t first, size_t piece)
{
    struct json_in *j = json_in_create(JSON_IN_MAX_DEPTH, on_token, NULL);

    begun = false;
    for (size_t i = 0, n = first; i < text.n; i += n, n = piece) {
        if (n > text.n - i)
            n = text.n - i;
        char *copy = mem_dup(text.p + i, n);
        object_scan_lend(scan, i, copy, n);
        assert_int_equal(json_in_feed(j, copy, n, NULL), ERR_OK);
        object_scan_save(scan);
        free(copy);
    }
    assert_true(begun && deepest == 0);
    json_in_destroy(&j);
}

void scan_assert_json(const struct object *o, const char *want)
{
    struct buf out = {0};

    object_put_json(&out, o);
    assert_string_equal(buf_cstr(&out), want);
    buf_free(&out);
}
