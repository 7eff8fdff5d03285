/* SPDX-License-Identifier: Apache-2.0 */
/* The input of FILES and SWEEP, as main writes it and as it never does. */
#include "base/wire.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/compiler.h"

static bool read_buf(void *arg, uint64_t at, void *out, size_t n)
{
    const struct buf *input = arg;

    assert_true(at + n <= input->len);
    memcpy(out, input->data + at, n);
    return true;
}

static void put_member(struct buf *out, struct wire_member head, const char *name,
                       const char *bytes)
{
    buf_append(out, (const char *)&head, sizeof(head));
    buf_append(out, name, head.length);
    buf_append(out, bytes, strlen(bytes));
}

/* How many files the first n bytes of the input have; -1: it is refused. */
static int count(struct buf *input, size_t n)
{
    char name[PATH_TEMPLATE_COMPONENT_MAX + 1];
    struct wire_members m = {.size = n};
    struct wire_member head;
    enum wire_next next;

    while ((next = wire_members_next(&m, read_buf, input, &head, name)) == WIRE_NEXT)
        continue;
    return next == WIRE_END ? (int)m.count : -1;
}

static void test_files_to_write_and_to_remove(void **state)
{
    char name[PATH_TEMPLATE_COMPONENT_MAX + 1];
    struct wire_members m = {0};
    struct wire_member head;
    struct buf in = {0};

    (void)state;
    put_member(&in, (struct wire_member){3, 1, 0}, "a", "xyz");
    put_member(&in, (struct wire_member){0, 2, 0}, "bb", "");
    put_member(&in, (struct wire_member){0, 1, 1}, "c", "");
    m.size = in.len;
    assert_int_equal(wire_members_next(&m, read_buf, &in, &head, name), WIRE_NEXT);
    assert_string_equal(name, "a");
    assert_memory_equal(in.data + m.at - head.size, "xyz", 3);
    assert_int_equal(wire_members_next(&m, read_buf, &in, &head, name), WIRE_NEXT);
    assert_string_equal(name, "bb");
    assert_int_equal(wire_members_next(&m, read_buf, &in, &head, name), WIRE_NEXT);
    assert_true(strcmp(name, "c") == 0 && head.goes == 1);
    assert_int_equal(wire_members_next(&m, read_buf, &in, &head, name), WIRE_END);
    assert_true(m.count == 3 && m.writes == 2);
    for (size_t n = 0; n < in.len; n++) {
        bool is_whole = n == 0 || n == 16 + 1 + 3 || n == 2 * 16 + 3 + 3;
        assert_int_equal(count(&in, n) >= 0, is_whole);
    }
    buf_free(&in);
}

static void test_files_that_main_never_asks_for(void **state)
{
    static const struct {
        struct wire_member head;
        const char *name;
        const char *bytes;
    } bad[] = {
        {{0, 1, 2},          "a", "" }, /* neither written nor removed */
        {{1, 1, 1},          "a", "x"}, /* removed, with bytes */
        {{2, 1, 0},          "a", "x"}, /* fewer bytes than it says */
        {{UINT64_MAX, 1, 0}, "a", "x"},
        {{0, UINT32_MAX, 0}, "",  "" },
        {{0, 2, 0},          "a", "" }, /* a NUL in its name */
    };
    struct buf in = {0};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct wire_member head = bad[i].head;

        buf_clear(&in);
        buf_append(&in, (const char *)&head, sizeof(head));
        buf_append(&in, bad[i].name, head.length <= 2 ? head.length : 0);
        buf_append(&in, bad[i].bytes, strlen(bad[i].bytes));
        assert_int_equal(count(&in, in.len), -1);
    }
    buf_clear(&in);
    put_member(&in, (struct wire_member){0, 1, 1}, "a", "");
    put_member(&in, (struct wire_member){0, 1, 0}, "b", "");
    assert_int_equal(count(&in, in.len), -1); /* written behind one that goes */
    buf_clear(&in);
    for (size_t i = 0; i < WIRE_FILES_MAX; i++)
        put_member(&in, (struct wire_member){0, 1, 0}, "a", "");
    assert_int_equal(count(&in, in.len), WIRE_FILES_MAX);
    put_member(&in, (struct wire_member){0, 1, 0}, "a", "");
    assert_int_equal(count(&in, in.len), -1);
    buf_free(&in);
}

static void put_stray(struct buf *out, const char *path, size_t length)
{
    const struct wire_stray head = {
        .digest = {1, 2},
          .length = length
    };

    buf_append(out, (const char *)&head, sizeof(head));
    buf_append(out, path, strlen(path));
}

static void test_stray_files(void **state)
{
    char path[PATH_TEMPLATE_PATH_MAX + 1];
    struct wire_stray head;
    struct buf in = {0};

    (void)state;
    put_stray(&in, "/a/b", 4);
    put_stray(&in, "/c", 2);
    struct str rest = buf_str(&in);
    assert_true(wire_strays_next(&rest, &head, path));
    assert_string_equal(path, "/a/b");
    assert_true(wire_strays_next(&rest, &head, path));
    assert_string_equal(path, "/c");
    assert_false(wire_strays_next(&rest, &head, path));
    assert_int_equal(rest.n, 0);
    for (size_t n = 0; n < sizeof(head) + 4; n++) {
        rest = str_of(in.data, n);
        assert_false(wire_strays_next(&rest, &head, path));
    }
    buf_clear(&in);
    put_stray(&in, "/a", PATH_TEMPLATE_PATH_MAX + 1);
    buf_append(&in, path, sizeof(path));
    rest = buf_str(&in);
    assert_false(wire_strays_next(&rest, &head, path)); /* no path is so long */
    buf_free(&in);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_files_to_write_and_to_remove),
        cmocka_unit_test(test_files_that_main_never_asks_for),
        cmocka_unit_test(test_stray_files),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
