/* SPDX-License-Identifier: Apache-2.0 */
#include "objects.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "hook/output.h"

/* Each line in brackets. */
static struct buf lines;

static void on_line(void *arg, struct str line)
{
    assert_ptr_equal(arg, &lines);
    assert_true(line.n <= OUTPUT_LINE_BYTES);
    buf_putc(&lines, '[');
    buf_append_str(&lines, line);
    buf_putc(&lines, ']');
}

static void feed(struct output *o, const char *data, size_t n, size_t piece)
{
    for (size_t i = 0; i < n; i += piece) {
        size_t part = piece < n - i ? piece : n - i;
        char *copy = mem_dup(data + i, part);

        output_feed(o, copy, part, on_line, &lines);
        free(copy);
    }
}

/* The lines of text, fed in pieces; text may hold no NUL. */
static void check(const char *text, size_t piece, uint64_t limit, const char *want)
{
    struct output o = {.limit = limit};
    size_t n = strlen(text);

    feed(&o, text, n, piece);
    output_end(&o, on_line, &lines);
    output_free(&o);
    assert_string_equal(buf_cstr(&lines), want);
    assert_int_equal(o.taken, n < limit ? n : limit);
    assert_int_equal(o.dropped, n - o.taken);
    buf_free(&lines);
}

static void check_pieces(const char *text, uint64_t limit, const char *want)
{
    for (size_t piece = 1; piece <= strlen(text) + 1; piece++)
        check(text, piece, limit, want);
}

static void test_lines_are_cut_at_newlines(void **state)
{
    (void)state;
    check_pieces("", 100, "");
    check_pieces("a\nbc\n", 100, "[a][bc]");
    check_pieces("a\n\n\nb\n", 100, "[a][][][b]");
    check_pieces("\n", 100, "[]");
}

static void test_a_last_line_without_newline_counts(void **state)
{
    (void)state;
    check_pieces("a\nbc", 100, "[a][bc]");
    check_pieces("bc", 100, "[bc]");
}

static void test_bytes_over_the_limit_are_counted_only(void **state)
{
    (void)state;
    check_pieces("abc\ndef\n", 6, "[abc][de]");
    check_pieces("abc\ndef\n", 4, "[abc]");
    check_pieces("abc\ndef\n", 3, "[abc]");
    check_pieces("abc\ndef\n", 8, "[abc][def]");
    check_pieces("abc\n", 0, "");
}

static void test_zero_bytes_are_part_of_a_line(void **state)
{
    struct output o = {.limit = 100};

    (void)state;
    output_feed(&o, "a\0b\n", 4, on_line, &lines);
    output_end(&o, on_line, &lines);
    output_free(&o);
    assert_int_equal(lines.len, 5);
    assert_memory_equal(lines.data, "[a\0b]", 5);
    buf_free(&lines);
}

/* n letters, then tail. */
static char *letters(size_t n, const char *tail)
{
    size_t size = n + strlen(tail) + 1;
    char *s = mem_zalloc(size);

    memset(s, 'x', n);
    snprintf(s + n, size - n, "%s", tail);
    return s;
}

/* A line of n letters comes out in lines of at most OUTPUT_LINE_BYTES, and no other. */
static void check_long(size_t n, size_t piece)
{
    char *text = letters(n, "\nend\n");
    struct buf want = {0};

    for (size_t left = n; left > 0;) {
        size_t part = left < OUTPUT_LINE_BYTES ? left : OUTPUT_LINE_BYTES;
        char *line = letters(part, "");

        buf_printf(&want, "[%s]", line);
        free(line);
        left -= part;
    }
    buf_puts(&want, "[end]");
    check(text, piece, 1 << 20, buf_cstr(&want));
    buf_free(&want);
    free(text);
}

static void test_long_lines_are_cut_without_an_empty_one(void **state)
{
    static const size_t lengths[] = {OUTPUT_LINE_BYTES - 1, OUTPUT_LINE_BYTES,
                                     OUTPUT_LINE_BYTES + 1, (size_t)2 * OUTPUT_LINE_BYTES,
                                     (size_t)3 * OUTPUT_LINE_BYTES + 7};
    static const size_t pieces[] = {
        1, 7, OUTPUT_LINE_BYTES - 1, OUTPUT_LINE_BYTES, OUTPUT_LINE_BYTES + 1, 100000};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(lengths); i++)
        for (size_t k = 0; k < ARRAY_LEN(pieces); k++)
            check_long(lengths[i], pieces[k]);
}

static void test_a_full_line_at_the_end_comes_once(void **state)
{
    char *text = letters(OUTPUT_LINE_BYTES, "");
    struct output o = {.limit = 1 << 20};

    (void)state;
    output_feed(&o, text, OUTPUT_LINE_BYTES, on_line, &lines);
    output_end(&o, on_line, &lines);
    output_free(&o);
    assert_int_equal(lines.len, OUTPUT_LINE_BYTES + 2);
    buf_free(&lines);
    free(text);
}

/* The last bytes of a program are kept, whatever the limit is: they tell why it failed. */
static void test_the_tail_is_the_last_bytes_whatever_was_logged(void **state)
{
    static const size_t lengths[] = {0,
                                     1,
                                     OUTPUT_TAIL_BYTES - 1,
                                     OUTPUT_TAIL_BYTES,
                                     OUTPUT_TAIL_BYTES + 1,
                                     (size_t)5 * OUTPUT_TAIL_BYTES + 3};
    static const size_t pieces[] = {1, 13, OUTPUT_TAIL_BYTES, 100000};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(lengths) * ARRAY_LEN(pieces); i++) {
        size_t n = lengths[i / ARRAY_LEN(pieces)];
        size_t kept = n < OUTPUT_TAIL_BYTES ? n : OUTPUT_TAIL_BYTES;
        char *text = letters(n, "");
        struct output o = {.limit = i % 2 == 0 ? 10 : 1 << 20};

        feed(&o, text, n, pieces[i % ARRAY_LEN(pieces)]);
        assert_true(str_eq(output_tail(&o), str_of(text + n - kept, kept)));
        assert_true(o.tail.len <= (size_t)2 * OUTPUT_TAIL_BYTES);
        output_end(&o, on_line, &lines);
        output_free(&o);
        buf_free(&lines);
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines_are_cut_at_newlines),
        cmocka_unit_test(test_a_last_line_without_newline_counts),
        cmocka_unit_test(test_bytes_over_the_limit_are_counted_only),
        cmocka_unit_test(test_zero_bytes_are_part_of_a_line),
        cmocka_unit_test(test_long_lines_are_cut_without_an_empty_one),
        cmocka_unit_test(test_a_full_line_at_the_end_comes_once),
        cmocka_unit_test(test_the_tail_is_the_last_bytes_whatever_was_logged),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
