/* SPDX-License-Identifier: Apache-2.0 */
/* helper/path_trust: which files root opens, and for whom. All but the first test need root. */
#include "helper/path_trust.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "temp_folder.h"

enum { SOMEBODY = 65534, ANOTHER = 65533, STRANGER = 65532 };

static const struct path_trust somebody = {.owners = {SOMEBODY}};
static const struct path_trust both = {
    .owners = {SOMEBODY, ANOTHER}
};

static int enter(void **state)
{
    umask(022);
    return temp_folder_enter(state);
}

static void own(const char *name, uid_t uid)
{
    assert_int_equal(lchown(name, uid, uid), 0);
}

static void make_folder(const char *name, uid_t uid, mode_t mode)
{
    assert_int_equal(mkdir(name, 0755), 0);
    assert_int_equal(chmod(name, mode), 0);
    own(name, uid);
}

/* Its contents are its name. */
static void make_file(const char *name, uid_t uid, mode_t mode)
{
    FILE *f = fopen(name, "we");

    assert_non_null(f);
    assert_true(fputs(name, f) >= 0);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(chmod(name, mode), 0);
    own(name, uid);
}

/* to: absolute within the folder when it begins with a slash. */
static void make_link(const char *name, const char *to, uid_t uid)
{
    char *target = to[0] == '/' ? mem_printf("%s%s", temp_folder_path(), to) : mem_strdup(to);

    assert_int_equal(symlink(target, name), 0);
    own(name, uid);
    free(target);
}

/* The check and the open must agree; content NULL: refused. */
static void expect(const char *name, const struct path_trust *path_trust, const char *content)
{
    char *path = mem_printf("%s/%s", temp_folder_path(), name);
    char text[64] = "";
    struct err err = {0};
    int fd;

    assert_int_equal(path_trust_check(path, path_trust, &err),
                     content != NULL ? ERR_OK : ERR_CONFIG);
    enum err_kind kind = path_trust_open(path, path_trust, &fd, &err);
    assert_int_equal(kind, content != NULL ? ERR_OK : ERR_CONFIG);
    if (content == NULL) {
        assert_int_equal(err.code, EPERM);
        assert_int_equal(fd, -1);
    } else {
        assert_true(read(fd, text, sizeof(text) - 1) > 0);
        assert_string_equal(text, content);
        close(fd);
    }
    free(path);
}

static void refused(const char *name, const struct path_trust *path_trust)
{
    expect(name, path_trust, NULL);
}

/* The error of the open, though the check has found nothing. */
static void expect_error(const char *name, int error)
{
    struct err err = {0};
    int fd;

    assert_int_equal(path_trust_open(name, NULL, &fd, &err), ERR_CONFIG);
    assert_int_equal(err.code, error);
    assert_int_equal(fd, -1);
    assert_non_null(strstr(err.text, name));
}

static void test_only_regular_files_are_opened(void **state)
{
    (void)state;
    expect_error("/no/such/file", ENOENT);
    expect_error("/dev/null", EINVAL);
    expect_error("/", EISDIR);
    assert_int_equal(mkfifo("fifo", 0600), 0);
    char *path = mem_printf("%s/fifo", temp_folder_path());
    expect_error(path, EINVAL);
    free(path);
}

static void test_the_file_is_roots_or_its_owners(void **state)
{
    (void)state;
    if (getuid() != 0)
        skip();
    make_file("roots", 0, 0600);
    make_file("theirs", SOMEBODY, 0600);
    make_file("strangers", STRANGER, 0600);
    make_file("open", 0, 0602);
    make_file("shared", SOMEBODY, 0620);
    expect("roots", NULL, "roots");
    expect("roots", &somebody, "roots");
    refused("theirs", NULL);
    expect("theirs", &somebody, "theirs");
    expect("theirs", &both, "theirs");
    refused("strangers", &both);
    refused("open", &somebody);
    refused("shared", &somebody);
}

static void test_the_folders_are_roots_or_their_owners(void **state)
{
    (void)state;
    if (getuid() != 0)
        skip();
    make_folder("theirs", SOMEBODY, 0755);
    make_file("theirs/roots", 0, 0600);
    make_file("theirs/own", SOMEBODY, 0600);
    make_folder("open", 0, 0777);
    make_file("open/roots", 0, 0600);
    refused("theirs/roots", NULL);
    expect("theirs/roots", &somebody, "theirs/roots");
    expect("theirs/own", &somebody, "theirs/own");
    refused("open/roots", &somebody);
    assert_int_equal(chmod("open", 01777), 0);
    expect("open/roots", &somebody, "open/roots");
    expect("theirs/../open/./roots", &somebody, "open/roots");
    assert_int_equal(chmod("theirs", 0777), 0);
    refused("theirs/own", &somebody);
}

static void test_root_does_not_follow_links_of_others(void **state)
{
    (void)state;
    if (getuid() != 0)
        skip();
    make_file("secret", 0, 0600);
    make_file("public", 0, 0644);
    make_file("others", ANOTHER, 0600);
    make_folder("theirs", SOMEBODY, 0755);
    make_file("theirs/own", SOMEBODY, 0600);
    make_link("theirs/to_secret", "/secret", SOMEBODY);
    make_link("theirs/moved", "../secret", 0); /* by a rename: it is their folder */
    make_link("theirs/to_others", "../others", SOMEBODY);
    make_link("theirs/to_own", "own", SOMEBODY);
    make_link("theirs/around", "/theirs/to_own", SOMEBODY);
    make_link("theirs/to_public", "/public", SOMEBODY);
    refused("theirs/to_secret", NULL);
    refused("theirs/to_secret", &somebody);
    refused("theirs/moved", &somebody);
    refused("theirs/to_others", &both);
    expect("theirs/to_own", &somebody, "theirs/own");
    expect("theirs/around", &somebody, "theirs/own");
    expect("theirs/to_public", &somebody, "public");
}

static void test_a_closed_folder_hides_a_readable_file(void **state)
{
    (void)state;
    if (getuid() != 0)
        skip();
    make_folder("hidden", 0, 0700);
    make_file("hidden/public", 0, 0644);
    make_folder("theirs", SOMEBODY, 0700);
    make_link("theirs/link", "../hidden/public", SOMEBODY);
    refused("theirs/link", &somebody);
    expect("hidden/public", &somebody, "hidden/public");
    assert_int_equal(chmod("hidden", 0711), 0);
    expect("theirs/link", &somebody, "hidden/public");
}

static void test_folders_are_not_linked_to_either(void **state)
{
    (void)state;
    if (getuid() != 0)
        skip();
    make_folder("secrets", 0, 0700);
    make_file("secrets/token", 0, 0600);
    make_folder("theirs", SOMEBODY, 0755);
    make_link("theirs/folder", "/secrets", SOMEBODY);
    refused("theirs/folder/token", &somebody);
    make_link("roots", "secrets", 0);
    expect("roots/token", &somebody, "secrets/token");
}

static void test_links_in_a_sticky_folder_are_their_owners(void **state)
{
    (void)state;
    if (getuid() != 0)
        skip();
    make_folder("sticky", 0, 01777);
    make_file("secret", 0, 0600);
    make_link("sticky/roots", "../secret", 0);
    make_link("sticky/theirs", "../secret", SOMEBODY);
    make_link("sticky/strangers", "../secret", STRANGER);
    expect("sticky/roots", &somebody, "secret");
    refused("sticky/theirs", &somebody);
    refused("sticky/strangers", &somebody);
}

static void test_two_users_do_not_lead_together(void **state)
{
    (void)state;
    if (getuid() != 0)
        skip();
    make_folder("one", SOMEBODY, 0755);
    make_folder("two", ANOTHER, 0755);
    make_file("one/file", SOMEBODY, 0600);
    make_link("two/link", "../one/file", ANOTHER);
    make_link("one/link", "../two/link", SOMEBODY);
    refused("two/link", &both);
    refused("one/link", &both);
}

static void test_a_second_name_of_roots_file_is_refused(void **state)
{
    (void)state;
    if (getuid() != 0)
        skip();
    make_folder("theirs", SOMEBODY, 0755);
    make_file("secret", 0, 0600);
    assert_int_equal(link("secret", "theirs/name"), 0);
    refused("theirs/name", &somebody);
    expect("secret", &somebody, "secret");
    unlink("secret");
    expect("theirs/name", &somebody, "secret");
}

static void test_naming_a_path_counts_like_making_a_link(void **state)
{
    const struct path_trust named = {.owners = {SOMEBODY}, .named_by = SOMEBODY};

    (void)state;
    if (getuid() != 0)
        skip();
    make_file("secret", 0, 0600);
    make_file("public", 0, 0644);
    make_file("own", SOMEBODY, 0600);
    refused("secret", &named);
    expect("own", &named, "own");
    expect("public", &named, "public");
}

/* As kubelet lays them out, and swaps them. */
static void test_projected_volumes(void **state)
{
    (void)state;
    if (getuid() != 0)
        skip();
    make_folder("volume", 0, 01777);
    make_folder("volume/..2024", 0, 0755);
    make_file("volume/..2024/token", 0, 0600);
    make_link("volume/..data", "..2024", 0);
    make_link("volume/token", "..data/token", 0);
    expect("volume/token", NULL, "volume/..2024/token");
    make_folder("volume/..2025", 0, 0755);
    make_file("volume/..2025/token", 0, 0600);
    make_link("volume/..data_tmp", "..2025", 0);
    assert_int_equal(rename("volume/..data_tmp", "volume/..data"), 0);
    expect("volume/token", NULL, "volume/..2025/token");
}

static void test_a_missing_file_may_come_from_its_owner_only(void **state)
{
    struct err err = {0};

    (void)state;
    if (getuid() != 0)
        skip();
    make_folder("theirs", SOMEBODY, 0755);
    make_folder("sticky", 0, 01777);
    assert_int_equal(path_trust_check("theirs/none", &somebody, &err), ERR_OK);
    assert_int_equal(path_trust_check("none/at/all", NULL, &err), ERR_OK);
    assert_int_equal(path_trust_check("sticky/none", &somebody, &err), ERR_CONFIG);
    expect_error("sticky/none", ENOENT);
}

static void test_links_in_a_circle(void **state)
{
    (void)state;
    if (getuid() != 0)
        skip();
    make_link("a", "b", 0);
    make_link("b", "a", 0);
    expect_error("a", ELOOP);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, enter, temp_folder_leave)
    const struct CMUnitTest tests[] = {
        TEST(test_only_regular_files_are_opened),
        TEST(test_the_file_is_roots_or_its_owners),
        TEST(test_the_folders_are_roots_or_their_owners),
        TEST(test_root_does_not_follow_links_of_others),
        TEST(test_a_closed_folder_hides_a_readable_file),
        TEST(test_folders_are_not_linked_to_either),
        TEST(test_links_in_a_sticky_folder_are_their_owners),
        TEST(test_two_users_do_not_lead_together),
        TEST(test_a_second_name_of_roots_file_is_refused),
        TEST(test_naming_a_path_counts_like_making_a_link),
        TEST(test_projected_volumes),
        TEST(test_a_missing_file_may_come_from_its_owner_only),
        TEST(test_links_in_a_circle),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
