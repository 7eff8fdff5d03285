/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/json_out.h"

#include "json_ref.h"

static struct buf out;

static int clear(void **state)
{
    (void)state;
    buf_free(&out);
    return 0;
}

static void test_commas(void **state)
{
    struct json_out j = json_out_to(&out);

    (void)state;
    json_out_open(&j, '{');
    json_out_key(&j, "a");
    json_out_open(&j, '[');
    json_out_close(&j, ']');
    json_out_key(&j, "bc");
    json_out_open(&j, '[');
    json_out_u64(&j, UINT64_MAX);
    json_out_bool(&j, true);
    json_out_bool(&j, false);
    json_out_null(&j);
    json_out_cstr(&j, NULL);
    json_out_cstr(&j, "x");
    json_out_open(&j, '{');
    json_out_close(&j, '}');
    buf_puts(json_out_raw(&j), "{\"raw\":1}");
    json_out_str(&j, (struct str){0});
    json_out_close(&j, ']');
    json_out_close(&j, '}');
    assert_string_equal(buf_cstr(&out), "{\"a\":[],\"bc\":[18446744073709551615,true,false,null,"
                                        "null,\"x\",{},{\"raw\":1},\"\"]}");
}

static void test_seconds(void **state)
{
    static const uint64_t ms[] = {0, 1, 10, 200, 1500, 2000, 61234, 100100};
    struct json_out j = json_out_to(&out);

    (void)state;
    json_out_open(&j, '[');
    for (size_t i = 0; i < ARRAY_LEN(ms); i++)
        json_out_ms_as_s(&j, ms[i]);
    json_out_close(&j, ']');
    assert_string_equal(buf_cstr(&out), "[0,0.001,0.01,0.2,1.5,2,61.234,100.1]");
}

static void test_escapes(void **state)
{
    (void)state;
    json_out_quote(&out, str_of("a\"\\\n\r\t\x01\x00\x1f\x7f/\xc3\xa9", 13));
    assert_string_equal(buf_cstr(&out),
                        "\"a\\\"\\\\\\n\\r\\t\\u0001\\u0000\\u001f\\u007f/\xc3\xa9\"");
}

#define FFFD "\xef\xbf\xbd"

static void test_invalid_utf8_is_replaced(void **state)
{
    static const char *const cases[][2] = {
        {"\xff",                                     FFFD                                      },
        {"a\xc3",                                    "a" FFFD                                  },
        {"\xc0\x80",                                 FFFD FFFD                                 },
        {"\xe0\x9f\xbfz",                            FFFD FFFD FFFD "z"                        },
        {"\xed\xa0\x80",                             FFFD FFFD FFFD                            },
        {"\xf4\x90\x80\x80",                         FFFD FFFD FFFD FFFD                       },
        {"\xf0\x8f\xbf\xbf",                         FFFD FFFD FFFD FFFD                       },
        {"\xe2\x82",                                 FFFD FFFD                                 },
        {"\xe2\x82\xac\xf0\x9f\x98\x80\xef\xbf\xbf", "\xe2\x82\xac\xf0\x9f\x98\x80\xef\xbf\xbf"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct buf want = {0};

        buf_printf(&want, "\"%s\"", cases[i][1]);
        buf_clear(&out);
        json_out_quote(&out, str_c(cases[i][0]));
        assert_string_equal(buf_cstr(&out), buf_cstr(&want));
        buf_free(&want);
    }
}

/* The result for any bytes is one JSON string; well-formed text can be read back. */
static void test_random_bytes_give_valid_json(void **state)
{
    struct ref_tokens seen = {0};
    struct rng rng;
    struct err err;

    (void)state;
    rng_seed(&rng, 3);
    for (int round = 0; round < 2000; round++) {
        char raw[64];
        size_t n = (size_t)rng_between(&rng, 0, sizeof(raw));
        bool ascii = round % 2 == 0;

        for (size_t i = 0; i < n; i++)
            raw[i] = (char)rng_between(&rng, 0, ascii ? 0x7f : 0xff);
        buf_clear(&out);
        json_out_quote(&out, str_of(raw, n));
        ref_clear(&seen);
        assert_int_equal(json_in_scan(buf_str(&out), ref_add, &seen, &err), ERR_OK);
        if (ascii)
            assert_true(str_eq(buf_str(&seen.texts), str_of(raw, n)));
    }
    buf_free(&seen.texts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_commas, clear),
        cmocka_unit_test_teardown(test_seconds, clear),
        cmocka_unit_test_teardown(test_escapes, clear),
        cmocka_unit_test_teardown(test_invalid_utf8_is_replaced, clear),
        cmocka_unit_test_teardown(test_random_bytes_give_valid_json, clear),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
