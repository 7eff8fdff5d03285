/* SPDX-License-Identifier: Apache-2.0 */
/* app/contents: the files of a hook, as the helper gets them. The digests on disk are made from these
 * files, in this order. */
#include "app/contents.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/compiler.h"
#include "base/mem.h"
#include "conf_files.h"

/* now, former: the files that count, and those that counted for the release before. */
static void expect(const char *settings, const char *now, const char *former)
{
    char *text = mem_printf("user = \"root\"; clusters : { c : { kubeconfig = \"/k\"; }; };\n"
                            "watches : { w : { resource = \"nodes\"; }; };\n"
                            "hooks : { h : { sources = [ \"w\" ]; mode = \"batch\"; %s }; };",
                            settings);
    struct buf counts = {0};
    struct buf counted = {0};

    conf_files_write("main.conf", text);
    struct conf *c = conf_files_read("main.conf");
    struct helper_content *contents = contents_of(&c->hooks[0]);
    for (const struct helper_content *content = contents; content->path != NULL; content++) {
        if (content->counts)
            buf_printf(&counts, "%s ", content->path);
        if (content->counted)
            buf_printf(&counted, "%s ", content->path);
    }
    assert_string_equal(buf_cstr(&counts), now);
    assert_string_equal(buf_cstr(&counted), former);
    buf_free(&counts);
    buf_free(&counted);
    free(contents);
    conf_destroy(&c);
    free(text);
}

static void test_files_of_a_hook(void **state)
{
    (void)state;
    expect("shell = \"x\";", "", "");
    expect("shell = \"x\"; files = [ \"/b\", \"/a\" ];", "/b /a ", "/b /a ");
    expect("command = [ \"/opt/x\", \"/y\" ]; files = [ \"/y\" ];", "/opt/x /y ", "/opt/x /y ");
    expect(
        "command = [ \"/opt/x\" ]; output = \"/o\"; check = [ \"/opt/c\", \"${file}\" ]; apply = "
        "[ \"/opt/p\" ]; files = [ \"/f\" ];",
        "/opt/x /opt/c /opt/p /f ", "/opt/x /opt/c /opt/p /f ");
}

/* An update of the distribution is no change of the hook. */
static void test_programs_of_the_system_count_by_their_path(void **state)
{
    static const char *const folders[] = {"/usr/bin", "/usr/sbin", "/bin", "/sbin",
                                          "/usr/bin/below"};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(folders); i++) {
        char *settings = mem_printf("command = [ \"%s/x\" ];", folders[i]);
        char *former = mem_printf("%s/x ", folders[i]);

        expect(settings, "", former);
        free(settings);
        free(former);
    }
    expect("command = [ \"/opt/x\" ]; output = \"/o\"; check = [ \"/usr/sbin/c\" ]; "
           "apply = [ \"/usr/bin/p\" ];",
           "/opt/x ", "/opt/x /usr/sbin/c /usr/bin/p ");
    expect("command = [ \"/usr/bin/x\" ]; files = [ \"/usr/bin/x\" ];", "/usr/bin/x ",
           "/usr/bin/x /usr/bin/x ");
}

static void test_other_folders_are_not_of_the_system(void **state)
{
    static const char *const paths[] = {"/usr/local/bin/x", "/usr/lib/x", "/usr/binary/x",
                                        "/opt/usr/bin/x", "/usr/bin/../../opt/x"};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
        char *settings = mem_printf("command = [ \"%s\" ];", paths[i]);
        char *expected = mem_printf("%s ", paths[i]);

        expect(settings, expected, expected);
        free(settings);
        free(expected);
    }
}

static void test_scripts_of_interpreters_count(void **state)
{
    (void)state;
    expect("command = [ \"/bin/sh\", \"/opt/x.sh\", \"/data\" ];", "/opt/x.sh ", "/bin/sh ");
    expect("command = [ \"/usr/bin/env\", \"python3\", \"-u\", \"/opt/x.py\", \"/data\" ]; "
           "output = \"/o\"; apply = [ \"/bin/bash\", \"/opt/a\" ];",
           "/opt/x.py /opt/a ", "/usr/bin/env /bin/bash ");
    expect("command = [ \"/bin/sh\", \"/usr/bin/x.sh\" ];", "", "/bin/sh ");
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, conf_files_enter, conf_files_leave)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(test_files_of_a_hook),
        IN_FOLDER(test_programs_of_the_system_count_by_their_path),
        IN_FOLDER(test_other_folders_are_not_of_the_system),
        IN_FOLDER(test_scripts_of_interpreters_count),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
