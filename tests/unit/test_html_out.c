/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "admin/html_out.h"
#include "base/compiler.h"

static void expect(struct str text, const char *want)
{
    struct buf out = {0};

    html_out_text(&out, text);
    assert_string_equal(buf_cstr(&out), want);
    buf_free(&out);
}

static void test_no_text_becomes_markup(void **state)
{
    (void)state;
    expect(str_c(""), "");
    expect(str_c("plain \xc3\xa9"), "plain \xc3\xa9");
    expect(str_c("<script>&\"'</script>"), "&lt;script&gt;&amp;&quot;&#39;&lt;/script&gt;");
    expect(str_c("<"), "&lt;");
    expect(str_c("a\x1b[2Jb\r\tc\nd"), "a\\u001b[2Jb\\u000d\\u0009c\\nd");
    expect(str_of("a\0b", 3), "a\\u0000b");
}

static void test_elements(void **state)
{
    struct buf out = {0};

    (void)state;
    html_out_element(&out, "td", "num", str_c("<1"));
    html_out_element(&out, "b", NULL, str_c(""));
    assert_string_equal(buf_cstr(&out), "<td class=\"num\">&lt;1</td><b></b>");
    buf_free(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_text_becomes_markup),
        cmocka_unit_test(test_elements),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
