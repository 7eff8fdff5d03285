/* SPDX-License-Identifier: Apache-2.0 */
/* The limits of resources of a hook, as they are written. */
#include "conf/rlimits_conf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include <cmocka.h>

#include "base/mem.h"

static struct conf_rlimits unset(void)
{
    static char empty[] = "";
    const struct conf_str none = {.v = empty};

    return (struct conf_rlimits){none, none, none, none, none, none, none, none};
}

static const struct setting *row(const char *key)
{
    const struct setting *s = rlimits_conf_settings;

    while (strcmp(s->key, key) != 0)
        s++;
    return s;
}

/* The only limit of a hook whose setting at this offset is text. */
static struct conf_rlimit read_one(const char *key, char *text)
{
    struct conf_rlimits r = unset();
    struct conf_rlimit out[CONF_RLIMITS];

    assert_null(row(key)->check(text));
    ((struct conf_str *)(void *)((char *)&r + row(key)->offset))->v = text;
    assert_int_equal(rlimits_conf_list(&r, out), 1);
    assert_string_equal(out[0].key, key);
    return out[0];
}

static void expect(const char *key, const char *written, int resource, uint64_t soft, uint64_t hard)
{
    char *text = mem_strdup(written);
    struct conf_rlimit l = read_one(key, text);

    assert_int_equal(l.resource, resource);
    assert_true(l.soft == soft && l.hard == hard);
    free(text);
}

static void test_each_limit_is_read(void **state)
{
    struct conf_rlimit out[CONF_RLIMITS];
    struct conf_rlimits none = unset();

    (void)state;
    expect("as", "1GiB", RLIMIT_AS, 1 << 30, 1 << 30);
    expect("core", "0B", RLIMIT_CORE, 0, 0);
    expect("cpu", "1min:2min", RLIMIT_CPU, 60, 120);
    expect("fsize", "1MiB:infinity", RLIMIT_FSIZE, 1 << 20, CONF_RLIMIT_INFINITY);
    expect("memlock", "infinity", RLIMIT_MEMLOCK, CONF_RLIMIT_INFINITY, CONF_RLIMIT_INFINITY);
    expect("nofile", "1024:4096", RLIMIT_NOFILE, 1024, 4096);
    expect("nproc", "64", RLIMIT_NPROC, 64, 64);
    expect("stack", "8MiB:8MiB", RLIMIT_STACK, 8 << 20, 8 << 20);
    assert_int_equal(rlimits_conf_list(&none, out), 0);
    assert_true(CONF_RLIMIT_INFINITY == RLIM_INFINITY);
}

static void test_what_is_no_limit_is_refused(void **state)
{
    static const struct {
        const char *key;
        const char *text;
        const char *wrong;
    } bad[] = {
        {"as",     "1024",           "a size"       },
        {"as",     ":1GiB",          "a size"       },
        {"as",     "1GiB:",          "a size"       },
        {"as",     "1MiB:2MiB:3MiB", "a size"       },
        {"cpu",    "0s",             "whole seconds"},
        {"cpu",    "1500ms",         "whole seconds"},
        {"cpu",    "30",             "whole seconds"},
        {"nofile", "-1",             "a number"     },
        {"nofile", "1k",             "a number"     },
        {"nofile", "Infinity",       "a number"     },
        {"nofile", "2:1",            "above"        },
        {"nproc",  "infinity:1",     "above"        },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        const char *wrong = row(bad[i].key)->check(bad[i].text);

        assert_non_null(wrong);
        assert_non_null(strstr(wrong, bad[i].wrong));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_limit_is_read),
        cmocka_unit_test(test_what_is_no_limit_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
