/* SPDX-License-Identifier: Apache-2.0 */
/* The files of a configuration as bytes: read once, given from one process to another. */
#include "base/file_set.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/compiler.h"

/* A disk that has other contents each time it is asked. */
static unsigned reads;
static unsigned matches;

static enum err_kind read_file(const struct file_set_key *key, struct buf *text, uid_t *owner,
                               struct err *err)
{
    reads++;
    if (strcmp(key->path, "gone") == 0)
        return err_set(err, ERR_CONFIG, ENOENT, "gone: there is no such file");
    buf_printf(text, "%s, reading %u", key->path, reads);
    if (strcmp(key->path, "half") == 0)
        return err_set(err, ERR_CONFIG, EIO, "half: the disk failed");
    *owner = key->trusted ? key->owners[0] : 7;
    return ERR_OK;
}

static int match(const char *pattern, void (*add)(void *arg, const char *name), void *arg)
{
    matches++;
    if (strcmp(pattern, "none/*") == 0)
        return 0;
    add(arg, "b");
    add(arg, "B");
    add(arg, "a");
    return strcmp(pattern, "closed/*") == 0 ? EACCES : 0;
}

static const struct file_set_source disk = {.read = read_file, .match = match};

static const struct file_set_file *get(struct file_set *s, const char *path)
{
    const struct file_set_key key = {.path = path};

    return file_set_read(s, &key);
}

static void expect_text(const struct file_set_file *f, const char *text)
{
    assert_int_equal(f->error, 0);
    assert_null(f->reason);
    assert_true(str_is(buf_str(&f->text), text));
}

static void test_each_file_is_read_once(void **state)
{
    struct file_set s = {.source = &disk};

    (void)state;
    reads = 0;
    const struct file_set_file *first = get(&s, "x");
    expect_text(first, "x, reading 1");
    expect_text(get(&s, "y"), "y, reading 2");
    assert_ptr_equal(get(&s, "x"), first);
    assert_string_equal(first->shown, "x");
    assert_int_equal(first->owner, 7);
    assert_int_equal(reads, 2);
    file_set_fini(&s);
}

static void test_errors_are_kept_too(void **state)
{
    struct file_set s = {.source = &disk};

    (void)state;
    reads = 0;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(get(&s, "gone")->error, ENOENT);
        assert_string_equal(get(&s, "gone")->reason, "gone: there is no such file");
        assert_int_equal(get(&s, "half")->error, EIO);
        assert_int_equal(get(&s, "half")->text.len, 0);
    }
    assert_int_equal(reads, 2);
    file_set_fini(&s);
}

/* The answer for one owner must not be that for another one. */
static void test_a_path_is_another_file_for_other_owners(void **state)
{
    const struct file_set_key keys[] = {
        {.path = "x"},
        { .path = "x",                .trusted = true},
        { .path = "x", .trusted = true, .owners = {5, 0}},
        { .path = "x", .trusted = true, .owners = {5, 6}},
    };
    struct file_set s = {.source = &disk};

    (void)state;
    reads = 0;
    for (size_t i = 0; i < ARRAY_LEN(keys); i++)
        for (size_t k = 0; k < ARRAY_LEN(keys); k++)
            assert_int_equal(file_set_read(&s, &keys[i]) == file_set_read(&s, &keys[k]), i == k);
    assert_int_equal(reads, ARRAY_LEN(keys));
    file_set_fini(&s);
}

static void test_names_are_sorted_by_bytes_and_looked_for_once(void **state)
{
    struct file_set s = {.source = &disk};

    (void)state;
    matches = 0;
    const struct file_set_names *names = file_set_match(&s, "*");
    assert_int_equal(names->error, 0);
    assert_int_equal(names->n, 3);
    assert_string_equal(names->v[0], "B");
    assert_string_equal(names->v[1], "a");
    assert_string_equal(names->v[2], "b");
    assert_ptr_equal(file_set_match(&s, "*"), names);
    assert_int_equal(file_set_match(&s, "none/*")->n, 0);
    assert_int_equal(file_set_match(&s, "closed/*")->error, EACCES);
    assert_int_equal(matches, 3);
    file_set_add_name(&s, "*", "aa");
    assert_int_equal(names->n, 4);
    assert_string_equal(names->v[2], "aa");
    file_set_fini(&s);
}

static void test_a_file_in_the_place_of_another_one(void **state)
{
    struct file_set s = {.source = &disk};

    (void)state;
    reads = 0;
    const struct file_set_file *old = get(&s, "x");
    file_set_put(&s, "x", get(&s, "new"), "new");
    file_set_put(&s, "gone", get(&s, "new"), "gone");
    get(&s, "gone");
    assert_ptr_equal(get(&s, "x"), old);
    expect_text(old, "new, reading 2");
    assert_string_equal(old->shown, "new");
    assert_true(old->stands_in);
    assert_false(get(&s, "new")->stands_in);
    expect_text(get(&s, "gone"), "new, reading 2");
    assert_string_equal(get(&s, "gone")->shown, "gone");
    file_set_put(&s, "new", get(&s, "new"), "other");
    expect_text(get(&s, "new"), "new, reading 2");
    assert_string_equal(get(&s, "new")->shown, "new");
    assert_int_equal(reads, 2);
    file_set_fini(&s);
}

/* ---- As bytes */

static void fill(struct file_set *s)
{
    const struct file_set_key trusted = {
        .path = "k", .trusted = true, .owners = {5, 6}
    };

    *s = (struct file_set){.source = &disk, .as_root = true};
    reads = 0;
    get(s, "x");
    get(s, "gone");
    file_set_read(s, &trusted);
    file_set_match(s, "*");
    file_set_match(s, "none/*");
    file_set_match(s, "closed/*");
    file_set_put(s, "y", get(s, "x"), "x");
}

static void test_another_process_gets_the_same(void **state)
{
    const struct file_set_key trusted = {
        .path = "k", .trusted = true, .owners = {5, 6}
    };
    struct file_set s;
    struct file_set copy;
    struct buf bytes = {0};
    struct buf again = {0};
    struct err err;

    (void)state;
    fill(&s);
    file_set_encode(&s, &bytes);
    file_set_fini(&s);
    assert_int_equal(file_set_decode(buf_str(&bytes), &copy, &err), ERR_OK);
    file_set_encode(&copy, &again);
    assert_true(str_eq(buf_str(&bytes), buf_str(&again)));
    assert_true(copy.as_root);
    expect_text(get(&copy, "x"), "x, reading 1");
    assert_string_equal(get(&copy, "gone")->reason, "gone: there is no such file");
    assert_int_equal(get(&copy, "gone")->error, ENOENT);
    assert_int_equal(file_set_read(&copy, &trusted)->owner, 5);
    assert_true(get(&copy, "y")->stands_in);
    assert_string_equal(file_set_match(&copy, "*")->v[2], "b");
    assert_int_equal(file_set_match(&copy, "closed/*")->error, EACCES);
    file_set_fini(&copy);
    buf_free(&bytes);
    buf_free(&again);
}

static void test_without_a_source_what_is_missing_is_an_error(void **state)
{
    const struct file_set_key trusted = {.path = "x", .trusted = true};
    struct file_set s;
    struct file_set copy;
    struct buf bytes = {0};
    struct err err;

    (void)state;
    fill(&s);
    file_set_encode(&s, &bytes);
    assert_int_equal(file_set_decode(buf_str(&bytes), &copy, &err), ERR_OK);
    reads = matches = 0;
    assert_int_equal(get(&copy, "other")->error, ENOENT);
    assert_string_equal(get(&copy, "other")->reason, "other: not among the files that were read");
    assert_int_equal(file_set_read(&copy, &trusted)->error, ENOENT);
    assert_int_equal(file_set_match(&copy, "other/*")->error, ENOENT);
    assert_int_equal(reads + matches, 0);
    file_set_fini(&copy);
    file_set_fini(&s);
    buf_free(&bytes);
}

/* However the bytes are cut or changed, reading them ends without harm. */
static void test_other_bytes_are_refused(void **state)
{
    struct file_set s;
    struct buf bytes = {0};
    struct err err;

    (void)state;
    fill(&s);
    file_set_encode(&s, &bytes);
    file_set_fini(&s);
    for (size_t n = 0; n < bytes.len; n++) {
        assert_int_equal(file_set_decode(str_of(bytes.data, n), &s, &err), ERR_PROTOCOL);
        assert_int_equal(s.file_count + s.names_count, 0);
    }
    for (size_t n = 0; n < bytes.len; n++) {
        char before = bytes.data[n];

        bytes.data[n] = (char)(before + 1);
        if (file_set_decode(buf_str(&bytes), &s, &err) == ERR_OK)
            file_set_fini(&s);
        bytes.data[n] = before;
    }
    buf_putc(&bytes, '\0');
    assert_int_equal(file_set_decode(buf_str(&bytes), &s, &err), ERR_PROTOCOL);
    buf_free(&bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_file_is_read_once),
        cmocka_unit_test(test_errors_are_kept_too),
        cmocka_unit_test(test_a_path_is_another_file_for_other_owners),
        cmocka_unit_test(test_names_are_sorted_by_bytes_and_looked_for_once),
        cmocka_unit_test(test_a_file_in_the_place_of_another_one),
        cmocka_unit_test(test_another_process_gets_the_same),
        cmocka_unit_test(test_without_a_source_what_is_missing_is_an_error),
        cmocka_unit_test(test_other_bytes_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
