/* SPDX-License-Identifier: Apache-2.0 */
/* The files of a hook, as the helper gets them: the digests on disk are made from these files, in
 * this order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "app/build.h"
#include "base/buf.h"
#include "base/mem.h"
#include "conf_files.h"

static void expect(const char *settings, const char *expected)
{
    char *text = mem_printf("user = \"root\"; clusters : { c : { kubeconfig = \"/k\"; }; };\n"
                            "watches : { w : { resource = \"nodes\"; }; };\n"
                            "hooks : { h : { sources = [ \"w\" ]; mode = \"batch\"; %s }; };",
                            settings);
    const struct cluster_access_list nothing = {0};
    struct helper_params p;
    struct buf files = {0};

    conf_files_write("main.conf", text);
    struct conf *c = conf_files_read("main.conf");
    assert_int_equal(build_helper(c, &nothing, "node", &p, NULL), ERR_OK);
    assert_non_null(p.hooks[0].files); /* else the helper takes the request for a bug of main */
    for (size_t i = 0; p.hooks[0].files[i] != NULL; i++)
        buf_printf(&files, "%s ", p.hooks[0].files[i]);
    assert_string_equal(buf_cstr(&files), expected);
    buf_free(&files);
    build_helper_fini(&p);
    conf_destroy(&c);
    free(text);
}

static void test_files_of_a_hook(void **state)
{
    (void)state;
    expect("shell = \"x\";", "");
    expect("shell = \"x\"; files = [ \"/b\", \"/a\" ];", "/b /a ");
    expect("command = [ \"/bin/x\", \"/y\" ]; files = [ \"/y\" ];", "/bin/x /y ");
    expect(
        "command = [ \"/bin/x\" ]; output = \"/o\"; check = [ \"/bin/c\", \"${file}\" ]; apply = "
        "[ \"/bin/p\" ]; files = [ \"/f\" ];",
        "/bin/x /bin/c /bin/p /f ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_files_of_a_hook, conf_files_enter, conf_files_leave),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
