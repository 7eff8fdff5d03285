/* SPDX-License-Identifier: Apache-2.0 */
/* app/scripts: the arguments of a command that are programs, too. */
#include "app/scripts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/mem.h"

static void add(void *arg, const struct conf_str *script)
{
    buf_printf(arg, "%s ", script->v);
}

/* words: separated by spaces. */
static void expect_which(enum scripts_which which, const char *words, const char *scripts)
{
    char *copy = mem_strdup(words);
    struct conf_str v[16];
    struct conf_list list = {.v = v};
    struct buf out = {0};
    char *rest = copy;

    memset(v, 0, sizeof(v));
    for (char *word; (word = strsep(&rest, " ")) != NULL;)
        v[list.n++].v = word;
    scripts_each(&list, which, add, &out);
    assert_string_equal(buf_cstr(&out), scripts);
    buf_free(&out);
    free(copy);
}

static void expect(const char *words, const char *scripts)
{
    expect_which(SCRIPTS_POSSIBLE, words, scripts);
}

static void expect_that_run(const char *words, const char *scripts)
{
    expect_which(SCRIPTS_THAT_RUN, words, scripts);
}

static void test_the_script_of_a_shell_or_interpreter(void **state)
{
    (void)state;
    expect("/bin/sh /x.sh", "/x.sh ");
    expect("/bin/sh -e /x.sh /data", "/x.sh /data "); /* -e may have a value */
    expect("/bin/sh -eu -- /x.sh /data", "/x.sh ");
    expect("/bin/bash /x.sh /data -c /more", "/x.sh ");
    expect("/usr/bin/python3.11 -u -W ignore /x.py /data", "/x.py ");
    expect("/usr/bin/perl5.36 -w /x.pl", "/x.pl ");
    expect("/usr/bin/awk -f /x.awk /data", "/x.awk /data ");
    expect("/bin/bash --rcfile /rc /x.sh", "/rc /x.sh ");
    expect("/bin/sh opt/x.sh", "opt/x.sh "); /* from the root folder */
}

static void test_the_text_of_a_program_is_no_file(void **state)
{
    (void)state;
    expect("/bin/sh -c /x.sh /data", "");
    expect("/bin/bash -ec /x.sh", "");
    expect("/usr/bin/python3 -c pass /data", "");
    expect("/usr/bin/python3 -m module /data", "");
    expect("/usr/bin/perl -e 1 /data", "");
}

static void test_programs_that_start_others(void **state)
{
    (void)state;
    expect("/usr/bin/env python3 /x.py /data", "/x.py ");
    expect("/usr/bin/env A=1 /usr/bin/python3 -u /x.py", "/usr/bin/python3 /x.py ");
    expect("/usr/bin/timeout 5 /opt/x", "/opt/x ");
    expect("/usr/bin/timeout 5 /opt/x /data", "/opt/x ");
    expect("/usr/bin/env A=/b timeout 5 sh /x.sh", "/x.sh ");
    expect("/bin/busybox sh /x.sh /data", "/x.sh ");
    expect("/usr/bin/nice -n 5 /bin/sh -c /x", "/bin/sh ");
}

static void test_the_rest_is_data(void **state)
{
    (void)state;
    expect("/opt/x /data", "");
    expect("/opt/x.sh /data", "");
    expect("/usr/sbin/nginx -c /etc/nginx.conf", "");
    expect("/bin/sh -n ${file}", "");
    expect("/bin/sh", "");
}

/* Data among them would renew a hook that changes its own data, at each start. */
static void test_scripts_that_run_are_no_data(void **state)
{
    (void)state;
    expect_that_run("/bin/sh /x.sh", "/x.sh ");
    expect_that_run("/bin/sh -e /x.sh /data", "/x.sh ");
    expect_that_run("/usr/bin/python3 -u /x.py /data", "/x.py ");
    expect_that_run("/usr/bin/sed -i /a/d /data", "");
    expect_that_run("/usr/bin/awk -f /x.awk /data", "");
    expect_that_run("/usr/bin/env A=1 /usr/bin/python3 -u /x.py /data", "/usr/bin/python3 /x.py ");
    expect_that_run("/usr/bin/timeout 5 /opt/x /data", "/opt/x ");
    expect_that_run("/bin/sh -c /x", "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_script_of_a_shell_or_interpreter),
        cmocka_unit_test(test_the_text_of_a_program_is_no_file),
        cmocka_unit_test(test_programs_that_start_others),
        cmocka_unit_test(test_the_rest_is_data),
        cmocka_unit_test(test_scripts_that_run_are_no_data),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
