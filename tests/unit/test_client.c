/* SPDX-License-Identifier: Apache-2.0 */
/* ctl/client, ctl/follow: answers that go on, from a scripted daemon. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "ctl/args.h"
#include "ctl/client.h"
#include "ctl/follow.h"

#define ENDLESS "HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson\r\nConnection: close\r\n\r\n"

/* A scripted daemon, which answers one connection. */
struct fake {
    char folder[32];
    char path[64];
    int fd;
    pthread_t thread;
    const char *const *pieces; /* NULL-terminated; sent one by one */
    size_t filler;             /* then as many bytes without a newline */
    bool stays;                /* then waits until the peer has closed, does not close itself */
    int go[2];                 /* pipe: one byte for each piece but the first */
    char request[256];
};

static void send_filler(int fd, size_t n)
{
    static const char bytes[65536] = {'x'};

    while (n > 0) {
        size_t part = n < sizeof(bytes) ? n : sizeof(bytes);
        ssize_t sent = send(fd, bytes, part, MSG_NOSIGNAL);

        if (sent <= 0)
            return;
        n -= (size_t)sent;
    }
}

static void *serve(void *arg)
{
    struct fake *f = arg;
    int fd = accept(f->fd, NULL, NULL);
    char byte;
    ssize_t n = recv(fd, f->request, sizeof(f->request) - 1, 0);

    for (size_t i = 0; n > 0 && f->pieces[i] != NULL; i++) {
        if (i > 0 && read(f->go[0], &byte, 1) != 1)
            break;
        if (send(fd, f->pieces[i], strlen(f->pieces[i]), MSG_NOSIGNAL) < 0)
            break;
    }
    send_filler(fd, f->filler);
    while (f->stays && recv(fd, &byte, 1, 0) > 0)
        continue;
    close(fd);
    return NULL;
}

static void start(struct fake *f, const char *const *pieces)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};

    f->pieces = pieces;
    snprintf(f->folder, sizeof(f->folder), "/tmp/client-XXXXXX");
    assert_non_null(mkdtemp(f->folder));
    snprintf(f->path, sizeof(f->path), "%s/sock", f->folder);
    memcpy(at.sun_path, f->path, strlen(f->path) + 1);
    assert_int_equal(pipe(f->go), 0);
    f->fd = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_int_equal(bind(f->fd, (const struct sockaddr *)&at, sizeof(at)), 0);
    assert_int_equal(listen(f->fd, 8), 0);
    assert_int_equal(pthread_create(&f->thread, NULL, serve, f), 0);
}

static void stop(struct fake *f)
{
    close(f->go[1]);
    pthread_join(f->thread, NULL);
    close(f->go[0]);
    close(f->fd);
    unlink(f->path);
    rmdir(f->folder);
}

/* The result of a call. */
struct heard {
    struct fake *fake;
    struct buf text;
    size_t lines;
    size_t enough; /* stop after so many lines; 0 = never */
    struct client_reply reply;
    struct err err;
};

static bool on_line(void *arg, struct str line)
{
    struct heard *h = arg;

    assert_int_equal(line.p[line.n - 1], '\n');
    assert_null(memchr(line.p, '\n', line.n - 1));
    buf_append_str(&h->text, line);
    h->lines++;
    if (h->fake->go[1] >= 0) /* the next piece comes when this line was handed out */
        assert_int_equal(write(h->fake->go[1], "", 1), 1);
    return h->lines != h->enough;
}

static enum err_kind follow(struct heard *h, int out_fd)
{
    const struct client_lines lines = {.on_line = on_line, .arg = h, .out_fd = out_fd};

    return client_follow(h->fake->path, "/v1/x", &lines, &h->reply, &h->err);
}

static void forget(struct heard *h)
{
    buf_free(&h->text);
    buf_free(&h->reply.body);
}

static void test_lines_are_handed_out_as_they_come(void **state)
{
    struct fake f = {0};
    struct heard h = {.fake = &f};

    (void)state;
    start(&f, (const char *const[]){ENDLESS "{\"a\":1}\n", "{\"b\"", NULL});
    assert_int_equal(follow(&h, -1), ERR_CLOSED);
    assert_non_null(strstr(h.err.text, f.path));
    assert_string_equal(buf_cstr(&h.text),
                        "{\"a\":1}\n"); /* a line that is cut off does not count */
    stop(&f);
    assert_int_equal(strncmp(f.request, "GET /v1/x HTTP/1.1\r\n", 20), 0);
    forget(&h);
}

static void test_several_lines_and_parts_in_one_piece(void **state)
{
    struct fake f = {0};
    struct heard h = {.fake = &f};

    (void)state;
    start(&f, (const char *const[]){ENDLESS "1\n\n2\nth", "ree\n4\n", NULL});
    assert_int_equal(follow(&h, -1), ERR_CLOSED);
    assert_string_equal(buf_cstr(&h.text), "1\n\n2\nthree\n4\n");
    assert_int_equal(h.lines, 5);
    stop(&f);
    forget(&h);
}

static void test_the_callback_ends_the_stream(void **state)
{
    struct fake f = {.stays = true};
    struct heard h = {.fake = &f, .enough = 2};

    (void)state;
    start(&f, (const char *const[]){ENDLESS "1\n2\n3\n", NULL});
    assert_int_equal(follow(&h, -1), ERR_OK);
    assert_int_equal(h.reply.status, 200);
    assert_string_equal(buf_cstr(&h.text), "1\n2\n");
    stop(&f);
    forget(&h);
}

static void test_an_error_in_the_words_of_the_daemon(void **state)
{
    struct fake f = {.stays = true};
    struct heard h = {.fake = &f};

    (void)state;
    start(&f, (const char *const[]){
                  "HTTP/1.1 404 X\r\nContent-Length: 14\r\n\r\n{\"error\":\"x\"}\n", NULL});
    assert_int_equal(follow(&h, -1), ERR_OK);
    assert_int_equal(h.reply.status, 404);
    assert_string_equal(buf_cstr(&h.reply.body), "{\"error\":\"x\"}\n");
    assert_int_equal(h.lines, 0);
    stop(&f);
    forget(&h);
}

static void test_a_line_without_an_end(void **state)
{
    struct fake f = {.filler = CLIENT_LINE_BYTES + 65536};
    struct heard h = {.fake = &f};

    (void)state;
    start(&f, (const char *const[]){ENDLESS "1\n", NULL});
    assert_int_equal(follow(&h, -1), ERR_TOO_BIG);
    assert_non_null(strstr(h.err.text, "longer than 64 MiB"));
    assert_int_equal(h.lines, 1);
    stop(&f);
    forget(&h);
}

static void test_bytes_that_are_no_answer(void **state)
{
    struct fake f = {0};
    struct heard h = {.fake = &f};

    (void)state;
    start(&f, (const char *const[]){"hello\r\n\r\n", NULL});
    assert_int_equal(follow(&h, -1), ERR_PROTOCOL);
    stop(&f);
    assert_int_equal(follow(&h, -1), ERR_NOT_FOUND);
    forget(&h);
}

/* No more lines come, and the reader of the output has gone. */
static void test_the_reader_of_the_output_goes_away(void **state)
{
    struct fake f = {.stays = true};
    struct heard h = {.fake = &f};
    int out[2];

    (void)state;
    assert_int_equal(pipe(out), 0);
    close(out[0]);
    start(&f, (const char *const[]){ENDLESS, NULL});
    assert_int_equal(follow(&h, out[1]), ERR_OK);
    assert_int_equal(h.lines, 0);
    close(out[1]);
    stop(&f);
    forget(&h);
}

/* ---- To stdout */

/* fd becomes stdout for the call. */
static enum command_exit print_as(const struct fake *f, void (*put)(struct buf *, struct str),
                                  int fd, struct buf *complaint)
{
    const struct args a = {.socket = f->path};
    int kept = dup(STDOUT_FILENO);

    fflush(stdout);
    assert_int_equal(dup2(fd, STDOUT_FILENO), STDOUT_FILENO);
    enum command_exit code = follow_daemon(&a, "/v1/x", put, complaint);
    assert_int_equal(dup2(kept, STDOUT_FILENO), STDOUT_FILENO);
    close(kept);
    return code;
}

static enum command_exit print(const struct fake *f, int fd, struct buf *complaint)
{
    return print_as(f, NULL, fd, complaint);
}

static void put_length(struct buf *out, struct str line)
{
    buf_printf(out, "%zu;", line.n);
}

/* The printed lines of this answer, which ends like that of a daemon that has stopped. */
static void assert_printed(const char *answer, void (*put)(struct buf *, struct str),
                           const char *want)
{
    struct fake f = {0};
    struct buf complaint = {0};
    char text[64] = "";
    int out[2];

    assert_int_equal(pipe(out), 0);
    start(&f, (const char *const[]){answer, NULL});
    assert_int_equal(print_as(&f, put, out[1], &complaint), EXIT_UNREACHABLE);
    assert_non_null(strstr(buf_cstr(&complaint), "informerd has ended the stream\n"));
    assert_int_equal(read(out[0], text, sizeof(text) - 1), strlen(want));
    assert_string_equal(text, want);
    close(out[0]);
    close(out[1]);
    stop(&f);
    buf_free(&complaint);
}

static void test_lines_are_printed_for_people(void **state)
{
    (void)state;
    assert_printed(ENDLESS "1\n234\n", put_length, "2;4;");
}

static void test_lines_are_printed(void **state)
{
    (void)state;
    assert_printed(ENDLESS "{\"a\":1}\n{\"b\":2}\n", NULL, "{\"a\":1}\n{\"b\":2}\n");
}

static void test_a_closed_stdout_is_no_error(void **state)
{
    struct fake f = {.stays = true};
    struct buf complaint = {0};
    int out[2];

    (void)state;
    signal(SIGPIPE, SIG_IGN);
    assert_int_equal(pipe(out), 0);
    close(out[0]);
    start(&f, (const char *const[]){ENDLESS "1\n", NULL});
    assert_int_equal(print(&f, out[1], &complaint), EXIT_FINE);
    assert_int_equal(complaint.len, 0);
    close(out[1]);
    stop(&f);
}

static void test_errors_have_their_exit_codes(void **state)
{
    static const struct {
        const char *answer;
        enum command_exit code;
    } rows[] = {
        {"HTTP/1.1 404 X\r\nContent-Length: 13\r\n\r\n{\"error\":\"x\"}", EXIT_NO         },
        {"HTTP/1.1 403 X\r\nContent-Length: 13\r\n\r\n{\"error\":\"x\"}", EXIT_NOT_ALLOWED},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct fake f = {0};
        struct buf complaint = {0};

        start(&f, (const char *const[]){rows[i].answer, NULL});
        assert_int_equal(print(&f, STDOUT_FILENO, &complaint), rows[i].code);
        assert_string_equal(buf_cstr(&complaint), "x\n");
        stop(&f);
        buf_free(&complaint);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines_are_handed_out_as_they_come),
        cmocka_unit_test(test_several_lines_and_parts_in_one_piece),
        cmocka_unit_test(test_the_callback_ends_the_stream),
        cmocka_unit_test(test_an_error_in_the_words_of_the_daemon),
        cmocka_unit_test(test_a_line_without_an_end),
        cmocka_unit_test(test_bytes_that_are_no_answer),
        cmocka_unit_test(test_the_reader_of_the_output_goes_away),
        cmocka_unit_test(test_lines_are_printed),
        cmocka_unit_test(test_lines_are_printed_for_people),
        cmocka_unit_test(test_a_closed_stdout_is_no_error),
        cmocka_unit_test(test_errors_have_their_exit_codes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
