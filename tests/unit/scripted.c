/* SPDX-License-Identifier: Apache-2.0 */
#include "scripted.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "ctl/args.h"

struct fake {
    char folder[32];
    char path[64];
    int fd;
    pthread_t thread;
    const struct scripted_exchange *script; /* ends with one without a request */
    size_t served;
    int silent_fd;        /* of an answer that does not come; -1 = none */
    char unexpected[256]; /* a request that is not in the script */
};

static void read_head(int fd, char *head, size_t size)
{
    size_t n = 0;

    head[0] = '\0';
    while (strstr(head, "\r\n\r\n") == NULL && n + 1 < size) {
        ssize_t got = recv(fd, head + n, size - n - 1, 0);

        if (got <= 0)
            return;
        n += (size_t)got;
        head[n] = '\0';
    }
}

static void serve(struct fake *f, int fd, const struct scripted_exchange *e)
{
    char head[1024];
    char answer[4096];

    read_head(fd, head, sizeof(head));
    if (strncmp(head, e->request, strlen(e->request)) != 0 || head[strlen(e->request)] != ' ')
        snprintf(f->unexpected, sizeof(f->unexpected), "%.200s", head);
    if (e->body == SCRIPTED_SILENT) {
        int head_n = snprintf(answer, sizeof(answer), "HTTP/1.1 %d X\r\n\r\n", e->status);

        f->served += send(fd, answer, (size_t)head_n, MSG_NOSIGNAL) == head_n;
        f->silent_fd = fd;
        return;
    }
    int n = snprintf(answer, sizeof(answer), "HTTP/1.1 %d X\r\nContent-Length: %zu\r\n\r\n%s",
                     e->status, strlen(e->body), e->body);
    if (send(fd, answer, (size_t)n, MSG_NOSIGNAL) == n)
        f->served++;
    close(fd);
}

static void *run_server(void *arg)
{
    struct fake *f = arg;

    for (const struct scripted_exchange *e = f->script; e->request != NULL; e++) {
        int fd = accept(f->fd, NULL, NULL);

        if (fd < 0)
            return NULL;
        serve(f, fd, e);
    }
    return NULL;
}

static void start(struct fake *f, const struct scripted_exchange *script)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};

    *f = (struct fake){.script = script, .silent_fd = -1};
    snprintf(f->folder, sizeof(f->folder), "/tmp/ctl-XXXXXX");
    assert_non_null(mkdtemp(f->folder));
    snprintf(f->path, sizeof(f->path), "%s/sock", f->folder);
    memcpy(at.sun_path, f->path, strlen(f->path) + 1);
    f->fd = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_int_equal(bind(f->fd, (const struct sockaddr *)&at, sizeof(at)), 0);
    assert_int_equal(listen(f->fd, 8), 0);
    assert_int_equal(pthread_create(&f->thread, NULL, run_server, f), 0);
}

static void stop(struct fake *f)
{
    shutdown(f->fd, SHUT_RDWR);
    pthread_join(f->thread, NULL);
    close(f->fd);
    if (f->silent_fd >= 0)
        close(f->silent_fd);
    unlink(f->path);
    rmdir(f->folder);
}

/* Runs the command; *out and *complaint are to be freed. */
static enum command_exit run(const struct scripted_exchange *script, const char *const *words,
                             struct buf *out, struct buf *complaint)
{
    const char *argv[10] = {"informerctl"};
    struct fake f;
    struct args a;
    struct err err = {0};
    size_t exchanges = 0;
    int argc = 1;

    for (; words[argc - 1] != NULL; argc++)
        argv[argc] = words[argc - 1];
    while (script[exchanges].request != NULL)
        exchanges++;
    start(&f, script);
    assert_int_equal(args_parse(&a, argc, argv, &err), ERR_OK);
    a.socket = f.path;
    enum command_exit code = command_run(&a, out, complaint);
    stop(&f);
    assert_string_equal(f.unexpected, "");
    assert_int_equal(f.served, exchanges);
    return code;
}

void scripted_check_end(const struct scripted_exchange *script, const char *const *words,
                        const char *end)
{
    struct buf out = {0};
    struct buf complaint = {0};
    enum command_exit code = run(script, words, &out, &complaint);
    size_t n = strlen(end);

    assert_string_equal(buf_cstr(&complaint), "");
    assert_int_equal(code, EXIT_FINE);
    assert_true(out.len >= n);
    assert_string_equal(buf_cstr(&out) + out.len - n, end);
    buf_free(&out);
    buf_free(&complaint);
}

void scripted_check(const struct scripted_exchange *script, const char *const *words,
                    struct scripted_wanted wanted)
{
    struct buf out = {0};
    struct buf complaint = {0};
    enum command_exit code = run(script, words, &out, &complaint);

    if (wanted.out != NULL)
        assert_string_equal(buf_cstr(&out), wanted.out);
    if (wanted.complaint[0] == '\0')
        assert_string_equal(buf_cstr(&complaint), "");
    else if (strstr(buf_cstr(&complaint), wanted.complaint) == NULL)
        fail_msg("complaint: %s, wanted %s", buf_cstr(&complaint), wanted.complaint);
    assert_int_equal(code, wanted.code);
    buf_free(&out);
    buf_free(&complaint);
}
