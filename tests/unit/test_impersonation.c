/* SPDX-License-Identifier: Apache-2.0 */
/* The header lines of a request in the name of another user, byte for byte. */
#include "kube/impersonation.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/mem.h"

static struct impersonation of_user(const char *user)
{
    return (struct impersonation){.user = mem_strdup(user)};
}

static void add_group(struct impersonation *i, const char *group)
{
    i->groups = mem_realloc(i->groups, (i->group_count + 1) * sizeof(*i->groups));
    i->groups[i->group_count++] = mem_strdup(group);
}

/* Adds a key with two values; the second may be NULL. */
static void add_extra(struct impersonation *i, const char *key, const char *one, const char *two)
{
    struct impersonation_extra extra = {.key = mem_strdup(key),
                                        .values = mem_array(2, sizeof(*extra.values)),
                                        .value_count = two != NULL ? 2 : 1};

    extra.values[0] = mem_strdup(one);
    extra.values[1] = mem_strdup(two);
    i->extra = mem_realloc(i->extra, (i->extra_count + 1) * sizeof(*i->extra));
    i->extra[i->extra_count++] = extra;
}

static void expect(struct impersonation *i, const char *lines)
{
    struct buf out = {0};
    struct err err = {0};

    assert_int_equal(impersonation_put(i, &out, &err), ERR_OK);
    assert_string_equal(buf_cstr(&out), lines);
    buf_free(&out);
    impersonation_fini(i);
    assert_null(i->user);
}

static void refuse(struct impersonation *i, const char *text)
{
    struct buf out = {0};
    struct err err = {0};

    assert_int_equal(impersonation_put(i, &out, &err), ERR_CONFIG);
    assert_string_equal(err.text, text);
    buf_free(&out);
    impersonation_fini(i);
}

static void test_nobody(void **state)
{
    struct impersonation nobody = {0};

    (void)state;
    expect(&nobody, "");
}

static void test_every_line(void **state)
{
    struct impersonation i = of_user("jane doe@example.com");

    (void)state;
    i.uid = mem_strdup("u-1");
    add_group(&i, "developers");
    add_group(&i, "system:masters");
    add_extra(&i, "scopes", "view", "development");
    add_extra(&i, "acme.com/Project", "some-project", NULL);
    expect(&i, "Impersonate-User: jane doe@example.com\r\n"
               "Impersonate-Uid: u-1\r\n"
               "Impersonate-Group: developers\r\n"
               "Impersonate-Group: system:masters\r\n"
               "Impersonate-Extra-scopes: view\r\n"
               "Impersonate-Extra-scopes: development\r\n"
               "Impersonate-Extra-acme.com%2Fproject: some-project\r\n");
}

/* A key can hold any byte; servers undo the escapes. */
static void test_keys_are_escaped(void **state)
{
    struct impersonation i = of_user("a");

    (void)state;
    add_extra(&i, "a%b: c\r\n\xc3\xa9", "v", NULL);
    expect(&i, "Impersonate-User: a\r\nImpersonate-Extra-a%25b%3A%20c%0D%0A%C3%A9: v\r\n");
}

static void test_values_keep_bytes_beyond_ascii(void **state)
{
    struct impersonation i = of_user("j\xc3\xb6rg");

    (void)state;
    expect(&i, "Impersonate-User: j\xc3\xb6rg\r\n");
}

static void test_each_control_byte_is_refused(void **state)
{
    (void)state;
    for (int c = 1; c <= 0x7f; c++) {
        const char user[] = {'a', (char)c, 'b', '\0'};
        struct impersonation i = of_user(user);

        if (c >= ' ' && c != 0x7f)
            impersonation_fini(&i);
        else
            refuse(&i, "as holds a control byte");
    }
}

static void test_every_field_is_checked(void **state)
{
    struct impersonation i = of_user("a");

    (void)state;
    i.uid = mem_strdup("x\r\nX: y");
    refuse(&i, "as-uid holds a control byte");
    i = of_user("a");
    add_group(&i, "x");
    add_group(&i, "x\ny");
    refuse(&i, "as-groups holds a control byte");
    i = of_user("a");
    add_extra(&i, "k", "v", "v\n");
    refuse(&i, "as-user-extra holds a control byte");
    i = of_user("a");
    add_extra(&i, "", "v", NULL);
    refuse(&i, "as-user-extra has an empty key");
    i = of_user(" a");
    refuse(&i, "as begins or ends with a blank");
    i = of_user("a");
    add_group(&i, "b ");
    refuse(&i, "as-groups begins or ends with a blank");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nobody),
        cmocka_unit_test(test_every_line),
        cmocka_unit_test(test_keys_are_escaped),
        cmocka_unit_test(test_values_keep_bytes_beyond_ascii),
        cmocka_unit_test(test_each_control_byte_is_refused),
        cmocka_unit_test(test_every_field_is_checked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
