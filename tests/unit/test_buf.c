/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/rng.h"

static void test_appends(void **state)
{
    struct buf b = {0};

    (void)state;
    buf_append(&b, NULL, 0);
    buf_append_str(&b, (struct str){0});
    assert_null(b.data);
    buf_puts(&b, "ab");
    buf_putc(&b, '\0');
    buf_append_str(&b, str_of("cdef", 2));
    buf_printf(&b, "%s-%03d", "x", 7);
    assert_int_equal(b.len, 10);
    assert_memory_equal(b.data, "ab\0cdx-007", 10);
    assert_string_equal(buf_cstr(&b) + 3, "cdx-007");
    assert_int_equal(b.len, 10);
    assert_true(str_eq(buf_str(&b), str_of("ab\0cdx-007", 10)));
    buf_free(&b);
    assert_int_equal(b.len, 0);
    assert_string_equal(buf_cstr(&b), "");
    buf_free(&b);
}

static void test_consume(void **state)
{
    struct buf b = {0};

    (void)state;
    buf_consume(&b, 0);
    buf_puts(&b, "abcdef");
    buf_consume(&b, 2);
    assert_string_equal(buf_cstr(&b), "cdef");
    buf_consume(&b, 4);
    assert_int_equal(b.len, 0);
    buf_puts(&b, "x");
    buf_clear(&b);
    assert_string_equal(buf_cstr(&b), "");
    buf_free(&b);
}

static void test_long_formats(void **state)
{
    struct buf b = {0};

    (void)state;
    for (int n = 1; n < 3000; n += 37) {
        buf_clear(&b);
        buf_printf(&b, "%0*d|", n, 0);
        assert_int_equal(b.len, n + 1);
        assert_int_equal(b.data[n], '|');
        assert_int_equal(strspn(buf_cstr(&b), "0"), n);
    }
    buf_free(&b);
}

static void test_numbers(void **state)
{
    static const uint64_t numbers[] = {0, 9, 10, 4096, UINT32_MAX, UINT64_MAX};
    struct buf b = {0};
    struct buf want = {0};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
        buf_put_u64(&b, numbers[i]);
        buf_printf(&want, "%" PRIu64, numbers[i]);
        assert_string_equal(buf_cstr(&b), buf_cstr(&want));
    }
    buf_free(&b);
    buf_free(&want);
}

static void test_room_is_kept(void **state)
{
    struct buf b = {0};

    (void)state;
    buf_puts(&b, "ab");
    buf_make_room(&b, 5000);
    const char *at = b.data;
    for (int i = 0; i < 5000; i++)
        buf_putc(&b, 'x');
    assert_ptr_equal(b.data, at);
    assert_int_equal(b.len, 5002);
    assert_memory_equal(b.data, "abx", 3);
    buf_free(&b);
}

/* A random program of appends and consumes leaves the bytes that it should. */
static void test_random_program(void **state)
{
    struct buf b = {0};
    struct rng rng;
    size_t put = 0;
    size_t taken = 0;

    (void)state;
    rng_seed(&rng, 1);
    for (int step = 0; step < 20000; step++) {
        size_t n = (size_t)rng_between(&rng, 0, 300);

        if (rng_between(&rng, 0, 1) == 0) {
            char *at = buf_reserve(&b, n);

            for (size_t i = 0; i < n; i++)
                at[i] = (char)((put + i) * 31);
            b.len += n;
            put += n;
        } else {
            n = n < b.len ? n : b.len;
            buf_consume(&b, n);
            taken += n;
        }
        assert_int_equal(b.len, put - taken);
        for (size_t i = 0; i < b.len; i += 97)
            assert_int_equal(b.data[i], (char)((taken + i) * 31));
    }
    buf_free(&b);
}

static void test_views(void **state)
{
    (void)state;
    assert_true(str_eq(str_c(NULL), (struct str){0}));
    assert_true(str_is(str_of("abc", 2), "ab"));
    assert_false(str_is(str_of("abc", 2), "abc"));
    assert_false(str_eq(str_c("a"), str_c("b")));
    assert_true(str_cmp(str_c("a"), str_c("b")) < 0);
    assert_true(str_cmp(str_c("ab"), str_c("a")) > 0);
    assert_true(str_cmp(str_c(""), str_c("a")) < 0);
    assert_int_equal(str_cmp((struct str){0}, str_c("")), 0);
    assert_true(str_cmp(str_c("\xc3"), str_c("a")) > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_appends),      cmocka_unit_test(test_consume),
        cmocka_unit_test(test_numbers),      cmocka_unit_test(test_room_is_kept),
        cmocka_unit_test(test_long_formats), cmocka_unit_test(test_random_program),
        cmocka_unit_test(test_views),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
