/* SPDX-License-Identifier: Apache-2.0 */
/* The control socket as a file: who may connect, which files it replaces, and which it removes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "listener_rig.h"

static void test_connections_before_the_loop_are_answered(void **state)
{
    struct rig *t = *state;
    struct listener_params p = {
        .path = t->path, .started_uid = getuid(), .handle = rig_handle, .arg = t};

    assert_int_equal(listener_bind(t->path, (gid_t)-1, &p.fd, NULL), ERR_OK);
    rig_say(rig_connect(t), "GET /a HTTP/1.1\r\n\r\n");
    t->listener = listener_create(t->loop, &p);
    rig_run_until(t, rig_first_answered);
    assert_true(t->privileged); /* root, or the uid given as started_uid */
}

/* Root in a child becomes another user and asks; skipped without root. */
static void test_others_are_not_privileged(void **state)
{
    struct rig *t = *state;
    pid_t child;

    if (getuid() != 0)
        skip();
    rig_start(t);
    assert_int_equal(chmod(t->dir, 0755), 0);
    assert_int_equal(chmod(t->path, 0666), 0);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct sockaddr_un at = {.sun_family = AF_UNIX};
        int fd = socket(AF_UNIX, SOCK_STREAM, 0);

        memcpy(at.sun_path, t->path, sizeof(t->path));
        if (setgid(65534) != 0 || setuid(65534) != 0 ||
            connect(fd, (const struct sockaddr *)&at, sizeof(at)) != 0 ||
            write(fd, "GET /a HTTP/1.1\r\n\r\n", 19) != 19)
            _exit(1);
        _exit(0);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    t->privileged = true;
    rig_run_until(t, rig_asked);
    assert_false(t->privileged);
}

static void test_the_socket_file(void **state)
{
    struct rig *t = *state;
    struct stat st;
    mode_t mask = umask(0);

    rig_start(t);
    assert_int_equal(umask(mask), 0); /* the umask was put back */
    assert_int_equal(stat(t->path, &st), 0);
    assert_true(S_ISSOCK(st.st_mode));
    assert_int_equal(st.st_mode & 07777, 0660);
    listener_dispose(&t->listener);
    assert_int_equal(access(t->path, F_OK), -1);

    int fd = -1;
    if (getuid() == 0) {
        assert_int_equal(listener_bind(t->path, 4242, &fd, NULL), ERR_OK);
        assert_int_equal(stat(t->path, &st), 0);
        assert_int_equal(st.st_gid, 4242);
        assert_int_equal(st.st_uid, 0);
        close(fd);
        assert_int_equal(unlink(t->path), 0);
    }
}

static void expect_bind_error(const char *path, enum err_kind kind, const char *text)
{
    struct err err = {0};
    int fd = -1;

    assert_int_equal(listener_bind(path, (gid_t)-1, &fd, &err), kind);
    assert_int_equal(fd, -1);
    if (strstr(err.text, text) == NULL || (strlen(path) < 100 && strstr(err.text, path) == NULL))
        fail_msg("%s", err.text);
}

static void test_a_stale_socket_is_replaced_and_a_live_one_is_not(void **state)
{
    struct rig *t = *state;
    int fd = -1;

    assert_int_equal(listener_bind(t->path, (gid_t)-1, &fd, NULL), ERR_OK);
    expect_bind_error(t->path, ERR_IO, "another informerd is running");
    close(fd); /* as if killed: the file stays */
    assert_int_equal(access(t->path, F_OK), 0);
    rig_start(t);
    expect_bind_error(t->path, ERR_IO, "another informerd is running");
    rig_say(rig_connect(t), "GET /a HTTP/1.1\r\n\r\n");
    rig_run_until(t, rig_first_answered);
}

/* A file that another process has put there in between is not removed. */
static void test_dispose_leaves_the_file_of_another(void **state)
{
    struct rig *t = *state;
    int fd = -1;

    rig_start(t);
    assert_int_equal(unlink(t->path), 0);
    /* A new file may get the inode number of the old one: the test keeps that in use. */
    char keep[128];
    snprintf(keep, sizeof(keep), "%s/keep", t->dir);
    int spare = open(keep, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
    assert_int_equal(listener_bind(t->path, (gid_t)-1, &fd, NULL), ERR_OK);
    listener_dispose(&t->listener);
    assert_int_equal(access(t->path, F_OK), 0);
    close(fd);
    close(spare);
    unlink(keep);
    unlink(t->path);
}

static void test_paths_that_cannot_be(void **state)
{
    struct rig *t = *state;
    char file[128];
    char longest[200];

    snprintf(file, sizeof(file), "%s/file", t->dir);
    int fd = open(file, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    close(fd);
    memset(longest, 'x', sizeof(longest));
    longest[0] = '/';
    longest[sizeof(longest) - 1] = '\0';
    expect_bind_error(file, ERR_CONFIG, "something else has this name");
    expect_bind_error("/nowhere/at/all", ERR_CONFIG, "make its folder");
    expect_bind_error(longest, ERR_CONFIG, "longer than 107 bytes");
    unlink(file);
}

#define RIGGED(test) cmocka_unit_test_setup_teardown(test, rig_set_up, rig_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        RIGGED(test_connections_before_the_loop_are_answered),
        RIGGED(test_others_are_not_privileged),
        RIGGED(test_the_socket_file),
        RIGGED(test_a_stale_socket_is_replaced_and_a_live_one_is_not),
        RIGGED(test_dispose_leaves_the_file_of_another),
        RIGGED(test_paths_that_cannot_be),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
