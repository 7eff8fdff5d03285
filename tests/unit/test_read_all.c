/* SPDX-License-Identifier: Apache-2.0 */
#include "base/read_all.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/memfile.h"

enum { LONG = 10000 };

/* Returns read_all() of n letters behind "before". */
static int read_letters(size_t n, size_t most, struct buf *out)
{
    struct buf text = {0};
    int fd;

    memset(buf_reserve(&text, n + 1), 'x', n);
    text.len = n;
    assert_int_equal(memfile_create("letters", buf_str(&text), &fd, NULL), ERR_OK);
    buf_puts(out, "before");
    int error = read_all(fd, most, out);
    close(fd);
    buf_free(&text);
    return error;
}

static void test_a_file_is_appended_whole(void **state)
{
    (void)state;
    for (size_t n = 0; n <= LONG; n += LONG) {
        struct buf out = {0};

        assert_int_equal(read_letters(n, LONG, &out), 0);
        assert_int_equal(out.len, strlen("before") + n);
        assert_memory_equal(out.data, "before", strlen("before"));
        buf_free(&out);
    }
}

static void test_a_larger_file_is_an_error(void **state)
{
    struct buf out = {0};

    (void)state;
    assert_int_equal(read_letters(LONG, LONG - 1, &out), EFBIG);
    buf_free(&out);
}

static void test_a_descriptor_that_cannot_be_read_is_an_error(void **state)
{
    struct buf out = {0};
    int ends[2];

    (void)state;
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(read_all(ends[1], LONG, &out), EBADF); /* it is for writing */
    close(ends[0]);
    close(ends[1]);
    buf_free(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_file_is_appended_whole),
        cmocka_unit_test(test_a_larger_file_is_an_error),
        cmocka_unit_test(test_a_descriptor_that_cannot_be_read_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
