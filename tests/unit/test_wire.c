/* SPDX-License-Identifier: Apache-2.0 */
#include "base/wire.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/rng.h"
#include "helper/helper.h"
#include "io/helper_link.h"
#include "io/loop.h"

static void put_u32(char *out, size_t at, uint32_t value)
{
    memcpy(out + at, &value, sizeof(value));
}

static size_t request(char *out, uint32_t type, uint32_t number, uint64_t id)
{
    put_u32(out, 0, type);
    put_u32(out, 4, number);
    memcpy(out + 8, &id, sizeof(id));
    put_u32(out, 16, 0);
    put_u32(out, 20, 0);
    return WIRE_HEAD_SIZE;
}

/* A copy of exactly n bytes, so that a sanitizer sees the first one too many. */
static enum err_kind decode(const char *bytes, size_t n, size_t fd_count, struct wire_request *req)
{
    static char *copy; /* the request borrows from it until the next call */

    free(copy);
    copy = malloc(n > 0 ? n : 1);
    assert_non_null(copy);
    if (n > 0)
        memcpy(copy, bytes, n);
    struct err err = {0};
    enum err_kind kind = wire_request_decode(str_of(copy, n), fd_count, req, &err);
    assert_true(kind == ERR_OK || (kind == ERR_PROTOCOL && err.text[0] != '\0'));
    if (kind != ERR_OK || n == 0) {
        free(copy);
        copy = NULL;
    }
    return kind;
}

static void test_requests(void **state)
{
    char bytes[64];
    struct wire_request req;

    (void)state;
    size_t n = request(bytes, WIRE_KILL, 15, UINT64_MAX);
    assert_int_equal(decode(bytes, n, 0, &req), ERR_OK);
    assert_true(req.type == WIRE_KILL && req.number == 15 && req.id == UINT64_MAX);
    n = request(bytes, WIRE_OPEN, 3, 7);
    assert_int_equal(decode(bytes, n, 0, &req), ERR_OK);
    assert_true(req.type == WIRE_OPEN && req.number == 3 && req.id == 7);
    n = request(bytes, WIRE_RUN, 1, 2);
    assert_int_equal(decode(bytes, n, 3, &req), ERR_OK);
    assert_true(req.type == WIRE_RUN && req.env.n == 0);
    memcpy(bytes + n, "INFORMERD_A=b", 14);
    assert_int_equal(decode(bytes, n + 14, 3, &req), ERR_OK);
    assert_true(str_eq(req.env, str_of("INFORMERD_A=b", 14)));
    n = request(bytes, WIRE_COMMIT, 0, 8);
    assert_int_equal(decode(bytes, n, 0, &req), ERR_OK);
    assert_true(req.type == WIRE_COMMIT && req.id == 8);
    n = request(bytes, WIRE_CLEAR, 0, 9);
    memcpy(bytes + n, "INFORMERD_A=b", 14);
    assert_int_equal(decode(bytes, n + 14, 0, &req), ERR_OK);
    assert_true(req.type == WIRE_CLEAR && req.id == 9);
    assert_true(str_eq(req.env, str_of("INFORMERD_A=b", 14)));
    assert_int_equal(decode("", 0, 0, &req), ERR_PROTOCOL); /* frees the copy */
}

static void test_every_truncation(void **state)
{
    char bytes[64];
    struct wire_request req;

    (void)state;
    for (uint32_t type = WIRE_RUN; type <= WIRE_LOG_LEVEL; type++) {
        size_t n = request(bytes, type, 0, 1);

        for (size_t cut = 0; cut < n; cut++)
            assert_int_equal(decode(bytes, cut, type == WIRE_RUN ? 3 : 0, &req), ERR_PROTOCOL);
    }
}

static void test_a_reload_has_no_number(void **state)
{
    char bytes[64];
    struct wire_request req;

    (void)state;
    for (uint32_t type = WIRE_RUN; type <= WIRE_LOG_LEVEL; type++) {
        bool good = type < WIRE_RELOAD || type > WIRE_DROP;
        size_t n = request(bytes, type, 1, 1);

        assert_int_equal(decode(bytes, n, type == WIRE_RUN ? 3 : 0, &req),
                         good ? ERR_OK : ERR_PROTOCOL);
    }
}

static void test_messages_that_main_never_sends(void **state)
{
    char *big = calloc(1, WIRE_REQUEST_MAX + 1);
    struct wire_request req;

    (void)state;
    assert_non_null(big);
    for (uint32_t type = 0; type < 10; type++)
        for (size_t fds = 0; fds < 5; fds++) {
            size_t n = request(big, type, 0, 1);
            bool has_env = type == WIRE_RUN || type == WIRE_CLEAR;
            bool good =
                type >= WIRE_RUN && type <= WIRE_LOG_LEVEL && fds == (type == WIRE_RUN ? 3 : 0);

            assert_int_equal(decode(big, n, fds, &req), good ? ERR_OK : ERR_PROTOCOL);
            good = good && has_env;
            assert_int_equal(decode(big, n + 1, fds, &req), good ? ERR_OK : ERR_PROTOCOL);
        }
    request(big, WIRE_RUN, 0, 0);
    assert_int_equal(decode(big, WIRE_REQUEST_MAX, 3, &req), ERR_OK);
    assert_int_equal(decode(big, WIRE_REQUEST_MAX + 1, 3, &req), ERR_PROTOCOL);
    free(big);
}

static void test_programs(void **state)
{
    char bytes[64];
    struct wire_request req;

    (void)state;
    for (uint32_t type = WIRE_RUN; type <= WIRE_LOG_LEVEL; type++)
        for (uint32_t program = 0; program <= RUN_PROGRAM_CHECK; program++) {
            size_t n = request(bytes, type, 0, 1);
            bool is_run = type == WIRE_RUN;
            bool good = is_run ? program < RUN_PROGRAM_CHECK : program == 0;

            put_u32(bytes, 16, program);
            assert_int_equal(decode(bytes, n, is_run ? 3 : 0, &req), good ? ERR_OK : ERR_PROTOCOL);
            assert_true(!good || req.program == (enum run_program)program);
            put_u32(bytes, 20, 1); /* unused: must be 0 */
            assert_int_equal(decode(bytes, n, is_run ? 3 : 0, &req), ERR_PROTOCOL);
        }
    assert_int_equal(decode("", 0, 0, &req), ERR_PROTOCOL); /* frees the copy */
}

static void test_random_bytes(void **state)
{
    struct rng rng;
    char bytes[48];
    struct wire_request req;

    (void)state;
    rng_seed(&rng, 1);
    for (int i = 0; i < 20000; i++) {
        uint64_t r = rng_next(&rng);

        for (size_t at = 0; at < sizeof(bytes); at += sizeof(r)) {
            uint64_t word = rng_next(&rng);
            memcpy(bytes + at, &word, sizeof(word));
        }
        if (i % 2 == 0) {
            bytes[0] = (char)(r >> 32 & 7);
            bytes[1] = bytes[2] = bytes[3] = 0;
            put_u32(bytes, 16, (uint32_t)(r >> 40 & 3));
            put_u32(bytes, 20, 0);
        }
        size_t count = 0;
        if (decode(bytes, r % (sizeof(bytes) + 1), r >> 16 & 3, &req) == ERR_OK)
            assert_true(!wire_env_check(req.env, &count) || count == 0);
    }
    assert_int_equal(decode("", 0, 0, &req), ERR_PROTOCOL);
}

#define ENV(literal) str_of(literal, sizeof(literal) - 1)

static void test_environment(void **state)
{
    size_t n;

    (void)state;
    assert_true(wire_env_check(str_c(""), &n) && n == 0);
    assert_true(wire_env_check(ENV("INFORMERD_A=\0"), &n) && n == 1);
    assert_true(wire_env_check(ENV("INFORMERD_A=b\0INFORMERD_C==d=\0"), &n) && n == 2);
    assert_false(wire_env_check(ENV("INFORMERD_A=b"), &n));          /* no NUL */
    assert_false(wire_env_check(ENV("INFORMERD_A=b\0\0"), &n));      /* an empty string */
    assert_false(wire_env_check(ENV("INFORMERD_A\0"), &n));          /* no value */
    assert_false(wire_env_check(ENV("INFORMERD_=b\0"), &n));         /* no name */
    assert_false(wire_env_check(ENV("LD_PRELOAD=/tmp/x.so\0"), &n)); /* main may not set this one */
    assert_false(wire_env_check(ENV("INFORMERD_A=b\0PATH=/x\0"), &n));
    assert_false(wire_env_check(ENV("INFORMER"), &n));
    assert_false(wire_env_check(ENV("\0"), &n));
}

/* ---- A helper whose main is broken: the helper answers nothing, ends, and does not crash */

/* Sends one message to a fresh helper with one hook and one file. Returns the exit code; *answered
 * = the number of bytes that the helper answered. */
static int exit_after(const void *bytes, size_t n, size_t fd_count, size_t *answered)
{
    static const char *const argv[] = {"/bin/true", NULL};
    static const char *const env[] = {NULL};
    static const struct helper_file file = {.path = "/proc/no-such-file"};
    const struct helper_hook hook = {.argv = argv, .env = env, .concurrency = 1, .kill_signal = 15};
    const struct helper_params params = {
        .hooks = &hook, .hook_count = 1, .files = &file, .file_count = 1};
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(4 * sizeof(int))];
    } control = {
        .head = {CMSG_LEN(fd_count * sizeof(int)), SOL_SOCKET, SCM_RIGHTS}
    };
    struct iovec iov = {mem_dup(bytes, n), n};
    struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
    char answer[4 * sizeof(struct wire_reply)];
    int status;
    pid_t pid;
    int fd;

    memset(CMSG_DATA(&control.head), 0, 4 * sizeof(int)); /* stdin, again and again */
    if (fd_count > 0) {
        msg.msg_control = control.bytes;
        msg.msg_controllen = CMSG_SPACE(fd_count * sizeof(int));
    }
    assert_int_equal(helper_start(&params, NULL, &fd, &pid, NULL), ERR_OK);
    assert_int_equal(sendmsg(fd, &msg, 0), n);
    free(iov.iov_base);
    *answered = 0;
    for (ssize_t got; (got = recv(fd, answer, sizeof(answer), 0)) > 0;) {
        *answered += (size_t)got;
        shutdown(fd, SHUT_WR); /* then the good runs end, too */
    }
    close(fd);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void test_broken_main(void **state)
{
    static const struct {
        uint32_t type, number;
        size_t size, fd_count;
    } bad[] = {
        {0,              0,                 0,                    0}, /* an empty message is not the end */
        {WIRE_KILL,      15,                WIRE_HEAD_SIZE - 1,   0},
        {WIRE_KILL,      15,                WIRE_HEAD_SIZE + 1,   0},
        {WIRE_KILL,      15,                WIRE_HEAD_SIZE,       1},
        {WIRE_KILL,      0,                 WIRE_HEAD_SIZE,       0},
        {WIRE_KILL,      65,                WIRE_HEAD_SIZE,       0},
        {WIRE_OPEN,      1,                 WIRE_HEAD_SIZE,       0},
        {WIRE_LOG_LEVEL, LOG_LVL_TRACE + 1, WIRE_HEAD_SIZE,       0},
        {WIRE_RUN,       1,                 WIRE_HEAD_SIZE,       3},
        {WIRE_RUN,       0,                 WIRE_HEAD_SIZE,       0},
        {WIRE_RUN,       0,                 WIRE_HEAD_SIZE,       2},
        {WIRE_RUN,       0,                 WIRE_HEAD_SIZE,       4},
        {WIRE_RUN,       0,                 WIRE_REQUEST_MAX + 1, 3},
        {9,              0,                 WIRE_HEAD_SIZE,       0},
        {WIRE_RELOAD,    1,                 WIRE_HEAD_SIZE,       0},
        {WIRE_COMMIT,    0,                 WIRE_HEAD_SIZE,       0}, /* of nothing */
    };
    char *bytes = mem_zalloc(WIRE_REQUEST_MAX + 1);
    size_t answered;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        request(bytes, bad[i].type, bad[i].number, 1);
        assert_int_equal(exit_after(bytes, bad[i].size, bad[i].fd_count, &answered), 1);
        assert_int_equal(answered, 0);
    }
    size_t n = request(bytes, WIRE_OPEN, 0, 1); /* the helper answers a good request */
    assert_int_equal(exit_after(bytes, n, 0, &answered), 0);
    assert_int_equal(answered, sizeof(struct wire_reply));
    free(bytes);
}

static void test_garbage_to_a_helper(void **state)
{
    struct rng rng;
    uint64_t words[8];
    size_t answered;

    (void)state;
    rng_seed(&rng, 2);
    for (int i = 0; i < 100; i++) {
        for (size_t n = 0; n < ARRAY_LEN(words); n++)
            words[n] = rng_next(&rng);
        assert_int_equal(exit_after(words, rng_between(&rng, 1, sizeof(words)),
                                    rng_between(&rng, 0, 4), &answered),
                         1);
    }
}

/* ---- Main whose helper is broken: the link is lost, once */

struct world {
    struct loop *loop;
    struct helper_link *link;
    struct helper_run run;
    struct err lost;
    int events; /* any other events */
};

static void on_exited(struct helper_run *run, const struct run_end *end)
{
    (void)end;
    container_of(run, struct world, run)->events++;
}

static void on_opened(void *arg, uint64_t tag, int fd, int error)
{
    struct world *w = arg;

    (void)tag;
    assert_int_equal(fd, -1);
    assert_int_equal(error, EMFILE);
    w->events++;
}

static void on_changed(void *arg, uint32_t file)
{
    struct world *w = arg;

    assert_int_equal(file, 1);
    w->events++;
}

static void on_lost(void *arg, const struct err *err)
{
    struct world *w = arg;

    assert_int_equal(w->lost.kind, ERR_OK);
    w->lost = *err;
    loop_stop(w->loop);
}

/* Sends one message to a link, which must be lost for that reason; events = those that came
 * before. */
static int lost_after(const void *bytes, size_t n, int fd, enum err_kind kind)
{
    static const struct helper_link_events events = {
        .on_opened = on_opened, .on_changed = on_changed, .on_lost = on_lost};
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = {
        .head = {CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS}
    };
    struct iovec iov = {mem_dup(bytes, n), n};
    struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
    struct world w = {.loop = loop_create(), .run.on_exited = on_exited};
    int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    int ends[2];

    if (fd >= 0) {
        memcpy(CMSG_DATA(&control.head), &fd, sizeof(fd));
        msg.msg_control = control.bytes;
        msg.msg_controllen = sizeof(control.bytes);
    }
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    w.link = helper_link_create(w.loop, ends[0], &events, &w);
    helper_link_run(w.link, &w.run, 0, RUN_PROGRAM_COMMAND, str_c(NULL),
                    (int[]){null_fd, dup(null_fd), dup(null_fd)});
    assert_int_equal(sendmsg(ends[1], &msg, 0), n);
    char request[WIRE_HEAD_SIZE]; /* with an unread request main would see a reset at once */
    assert_int_equal(recv(ends[1], request, sizeof(request), 0), sizeof(request));
    close(ends[1]);
    free(iov.iov_base);
    loop_run(w.loop);
    assert_int_equal(w.lost.kind, kind);
    helper_link_dispose(&w.link);
    loop_destroy(&w.loop);
    return w.events;
}

static void test_broken_helper(void **state)
{
    const struct wire_reply reply = {.type = WIRE_EXITED, .id = 1};
    char good[sizeof(reply) + 1] = "";
    struct wire_reply bad = reply;
    int pipe_fds[2];

    (void)state;
    memcpy(good, &reply, sizeof(reply));
    assert_int_equal(lost_after(good, sizeof(reply), -1, ERR_CLOSED), 1);
    for (size_t cut = 1; cut < sizeof(reply); cut++)
        assert_int_equal(lost_after(good, cut, -1, ERR_PROTOCOL), 0);
    assert_int_equal(lost_after(good, 0, -1, ERR_CLOSED), 0);
    assert_int_equal(lost_after(good, sizeof(reply) + 1, -1, ERR_PROTOCOL), 0);
    for (unsigned type = 0; type < 6; type++) {
        bad.type = type;
        bool is_known = type >= WIRE_EXITED && type <= WIRE_RELOADED; /* OPENED: no descriptor */
        assert_int_equal(lost_after(&bad, sizeof(bad), -1, is_known ? ERR_CLOSED : ERR_PROTOCOL),
                         is_known && type != WIRE_RELOADED); /* nobody waits for it */
    }
    bad = reply;
    bad.id = 2; /* no such run: main has given it up */
    assert_int_equal(lost_after(&bad, sizeof(bad), -1, ERR_CLOSED), 0);
    bad = reply;
    bad.end.kind = RUN_END_REFUSED + 1;
    assert_int_equal(lost_after(&bad, sizeof(bad), -1, ERR_PROTOCOL), 0);
    assert_int_equal(pipe(pipe_fds), 0);
    assert_int_equal(lost_after(good, sizeof(reply), pipe_fds[1], ERR_PROTOCOL), 0);
    close(pipe_fds[1]); /* the link has closed its copy */
    assert_int_equal(read(pipe_fds[0], good, 1), 0);
    close(pipe_fds[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_requests),
        cmocka_unit_test(test_every_truncation),
        cmocka_unit_test(test_a_reload_has_no_number),
        cmocka_unit_test(test_programs),
        cmocka_unit_test(test_messages_that_main_never_sends),
        cmocka_unit_test(test_random_bytes),
        cmocka_unit_test(test_environment),
        cmocka_unit_test(test_broken_main),
        cmocka_unit_test(test_garbage_to_a_helper),
        cmocka_unit_test(test_broken_helper),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
