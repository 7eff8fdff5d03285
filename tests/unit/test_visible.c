/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "base/visible.h"

/* The UTF-8 of a code point; the caller has room for 5 bytes. */
static struct str encode(uint32_t c, char *out)
{
    size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    static const unsigned char lead[] = {0, 0, 0xc0, 0xe0, 0xf0};

    for (size_t i = n - 1; i > 0; i--, c >>= 6)
        out[i] = (char)(0x80 | (c & 0x3f));
    out[0] = (char)(lead[n] | c);
    out[n] = '\0';
    return str_of(out, n);
}

static void shows(struct str text, const char *want)
{
    struct buf out = {0};

    visible_put(&out, text);
    assert_string_equal(buf_cstr(&out), want);
    buf_free(&out);
}

static void test_each_code_point_that_deceives_is_escaped(void **state)
{
    static const struct {
        uint32_t from;
        uint32_t to;
    } hidden[] = {
        {0x00,    0x1f   }, /* C0: escape sequences, ends of lines */
        {0x7f,    0x9f   }, /* DEL, C1 */
        {0xad,    0xad   }, /* soft hyphen */
        {0x61c,   0x61c  }, /* marks and overrides of direction */
        {0x200e,  0x200f },
        {0x202a,  0x202e },
        {0x2066,  0x2069 },
        {0x200b,  0x200d }, /* zero width */
        {0x2060,  0x2060 },
        {0xfeff,  0xfeff },
        {0x2028,  0x2029 }, /* ends of lines and paragraphs */
        {0x115f,  0x1160 }, /* fillers */
        {0x3164,  0x3164 },
        {0xffa0,  0xffa0 },
        {0xfe00,  0xfe0f }, /* variation selectors */
        {0xe0000, 0xe007f}, /* tags */
        {0xe0100, 0xe01ef},
    };
    char text[8];
    char want[16];

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(hidden); i++)
        for (uint32_t c = hidden[i].from; c <= hidden[i].to; c++) {
            if (c > 0xffff)
                snprintf(want, sizeof(want), "\\u%04x\\u%04x", 0xd7c0 + (c >> 10),
                         0xdc00 + (c & 0x3ff));
            else
                snprintf(want, sizeof(want), c == '\n' ? "\\n" : "\\u%04x", c);
            shows(encode(c, text), want);
        }
}

static void test_letters_of_all_scripts_stay(void **state)
{
    static const uint32_t seen[] = {
        ' ',    '~',     '"',     '\\',    0xa0,    0xac,     0xae,   0xe9,   0x34e,
        0x61b,  0x61d,   0x5d0,   0x627,   0x915,   0x200a,   0x2010, 0x2027, 0x202f,
        0x205f, 0x2070,  0x20ac,  0x4e2d,  0xd55c,  0xd7ff,   0xe000, 0xfdff, 0xfe10,
        0xfffd, 0x10000, 0x1f600, 0xdffff, 0xe1000, 0x10ffff,
    };
    char text[8];

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(seen); i++)
        shows(encode(seen[i], text), text);
}

static void test_bytes_that_are_no_utf8_are_escaped(void **state)
{
    (void)state;
    shows(str_c("\xff\xc3"), "\\u00ff\\u00c3");
    shows(str_c("\xc0\xaf"), "\\u00c0\\u00af");            /* too long */
    shows(str_c("\xed\xa0\x80"), "\\u00ed\\u00a0\\u0080"); /* a surrogate */
    shows(str_c("\xf4\x90\x80\x80"), "\\u00f4\\u0090\\u0080\\u0080");
    shows(str_c("a\xe2\x82"), "a\\u00e2\\u0082"); /* cut off */
    shows(str_of("a\0b", 3), "a\\u0000b");
    shows(str_c("a\x1b[2J\x80z"), "a\\u001b[2J\\u0080z");
}

static void test_lines_stay_lines(void **state)
{
    struct buf out = {0};

    (void)state;
    visible_put_lines(&out, str_c("a\x1b\n\nb\r\nc"));
    assert_string_equal(buf_cstr(&out), "a\\u001b\n\nb\\u000d\nc");
    buf_free(&out);
}

static void test_json_means_the_same(void **state)
{
    struct buf out = {0};

    (void)state;
    visible_put_json(&out, str_c("{\"a\":\t\"\xe2\x80\x8b\x7f\\n\",\r\n\"\xf3\xa0\x81\x81\":1}\n"));
    assert_string_equal(buf_cstr(&out), "{\"a\": \"\\u200b\\u007f\\n\", \n\"\\udb40\\udc41\":1}\n");
    buf_clear(&out);
    visible_put_json(&out, str_of("a\0b", 3));
    assert_string_equal(buf_cstr(&out), "a\\u0000b");
    buf_free(&out);
}

static void test_wide_characters_take_two_columns(void **state)
{
    (void)state;
    assert_int_equal(visible_width(str_c("")), 0);
    assert_int_equal(visible_width(str_c("web")), 3);
    assert_int_equal(visible_width(str_c("gr\xc3\xbc\xc3\x9f")), 4);
    assert_int_equal(visible_width(str_c("\xe4\xb8\xad\xe6\x96\x87")), 4);
    assert_int_equal(visible_width(str_c("\xf0\x9f\x98\x80")), 2);
    assert_int_equal(visible_width(str_c("e\xcc\x81")), 1); /* e and an acute accent */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_code_point_that_deceives_is_escaped),
        cmocka_unit_test(test_letters_of_all_scripts_stay),
        cmocka_unit_test(test_bytes_that_are_no_utf8_are_escaped),
        cmocka_unit_test(test_lines_stay_lines),
        cmocka_unit_test(test_json_means_the_same),
        cmocka_unit_test(test_wide_characters_take_two_columns),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
