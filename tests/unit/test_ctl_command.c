/* SPDX-License-Identifier: Apache-2.0 */
/* What informerctl asks a daemon to do, what it makes of the answers, and its exit codes: against a
 * socket that answers from a script. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <pthread.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "ctl/args.h"
#include "ctl/command.h"

/* One request on a connection of its own, and its answer. */
struct exchange {
    const char *request; /* "POST /v1/watches/w/relist" */
    int status;
    const char *body;
};

struct fake {
    char folder[32];
    char path[64];
    int fd;
    pthread_t thread;
    const struct exchange *script; /* ends with one without a request */
    size_t served;
    char unexpected[256]; /* a request that does not stand in the script */
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

static void serve(struct fake *f, int fd, const struct exchange *e)
{
    char head[1024];
    char answer[4096];

    read_head(fd, head, sizeof(head));
    if (strncmp(head, e->request, strlen(e->request)) != 0 || head[strlen(e->request)] != ' ')
        snprintf(f->unexpected, sizeof(f->unexpected), "%.200s", head);
    int n = snprintf(answer, sizeof(answer), "HTTP/1.1 %d X\r\nContent-Length: %zu\r\n\r\n%s",
                     e->status, strlen(e->body), e->body);
    if (send(fd, answer, (size_t)n, MSG_NOSIGNAL) == n)
        f->served++;
    close(fd);
}

static void *run_server(void *arg)
{
    struct fake *f = arg;

    for (const struct exchange *e = f->script; e->request != NULL; e++) {
        int fd = accept(f->fd, NULL, NULL);

        if (fd < 0)
            return NULL;
        serve(f, fd, e);
    }
    return NULL;
}

static void start(struct fake *f, const struct exchange *script)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};

    *f = (struct fake){.script = script};
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
    unlink(f->path);
    rmdir(f->folder);
}

/* What informerctl must do. */
struct wanted {
    enum command_exit code;
    const char *out;       /* NULL = anything */
    const char *complaint; /* a part of it; "" = there is none */
};

static void check(const struct exchange *script, const char *const *words, struct wanted wanted)
{
    const char *argv[10] = {"informerctl"};
    struct fake f;
    struct args a;
    struct buf out = {0};
    struct buf complaint = {0};
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
    enum command_exit code = command_run(&a, &out, &complaint);
    stop(&f);
    assert_string_equal(f.unexpected, "");
    assert_int_equal(f.served, exchanges);
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

#define WORDS(...)  ((const char *const[]){__VA_ARGS__, NULL})
#define SCRIPT(...) ((const struct exchange[]){__VA_ARGS__, {0}})

#define STARTED "{\"started\":true}\n"
#define NOTHING "{\"error\":\"the guard holds no list of this watch\"}\n"
#define REFUSED "{\"error\":\"only root may\\u001b\"}\n"

static void test_relist_is_posted(void **state)
{
    (void)state;
    check(SCRIPT({"POST /v1/watches/a%2Fb/relist", 202, STARTED}), WORDS("relist", "a/b"),
          (struct wanted){EXIT_FINE, "a/b: is listed anew\n", ""});
    check(SCRIPT({"POST /v1/watches/w/relist", 202, STARTED}), WORDS("relist", "w", "-ojson"),
          (struct wanted){EXIT_FINE, STARTED, ""});
    check(SCRIPT({"POST /v1/watches/w/relist", 404, "{\"error\":\"there is no watch\"}"}),
          WORDS("relist", "w"), (struct wanted){EXIT_NO, "", "there is no watch\n"});
    check(SCRIPT({"POST /v1/watches/w/relist", 403, REFUSED}), WORDS("relist", "w"),
          (struct wanted){EXIT_NOT_ALLOWED, "", "only root may\\x1b\n"});
}

static void test_guard_is_accepted_or_rejected(void **state)
{
    (void)state;
    check(SCRIPT({"POST /v1/watches/w/guard/accept", 202, STARTED}), WORDS("guard", "accept", "w"),
          (struct wanted){EXIT_FINE, "w: the next list is applied, whatever it says\n", ""});
    check(SCRIPT({"POST /v1/watches/w/guard/reject", 202, STARTED}), WORDS("guard", "reject", "w"),
          (struct wanted){EXIT_FINE, "w: only a list is applied that the guard would not hold\n",
                          ""});
    check(SCRIPT({"POST /v1/watches/w/guard/accept", 202, STARTED}),
          WORDS("guard", "accept", "w", "-ojson"), (struct wanted){EXIT_FINE, STARTED, ""});
    check(SCRIPT({"POST /v1/watches/w/guard/reject", 409, NOTHING}), WORDS("guard", "reject", "w"),
          (struct wanted){EXIT_NO, "", "holds no list"});
    check(SCRIPT({"POST /v1/watches/w/guard/accept", 403, REFUSED}), WORDS("guard", "accept", "w"),
          (struct wanted){EXIT_NOT_ALLOWED, "", "only root may"});
}

#define VERIFY   "/v1/watches/w/verify"
#define NUMBER_3 "{\"started\":true,\"number\":3}\n"
#define AT(number, state, rest) \
    "{\"number\":" number ",\"state\":\"" state "\",\"done_age_s\":0.1,\"compared\":7," rest "}\n"
#define SAME "\"applied\":false,\"differences\":0,\"keys\":[],\"error\":null"
#define TWO                                          \
    "\"applied\":false,\"differences\":2,\"keys\":[" \
    "{\"key\":\"n/a\",\"what\":\"missing\"},"        \
    "{\"key\":\"n/b\\u0007\",\"what\":\"different\"}],\"error\":null"

static void test_verify_waits_for_its_own_result(void **state)
{
    (void)state;
    check(SCRIPT({"POST " VERIFY, 202, NUMBER_3}, {"GET " VERIFY, 200, AT("2", "listing", TWO)},
                 {"GET " VERIFY, 200, AT("2", "grace", TWO)},
                 {"GET " VERIFY, 200, AT("3", "idle", SAME)}),
          WORDS("verify", "w"),
          (struct wanted){EXIT_FINE, "no differences (7 objects compared)\n", ""});
    check(SCRIPT({"POST " VERIFY, 202, NUMBER_3}, {"GET " VERIFY, 200, AT("5", "listing", SAME)}),
          WORDS("verify", "w", "-ojson"), (struct wanted){EXIT_FINE, AT("5", "listing", SAME), ""});
}

static void test_verify_shows_what_differs(void **state)
{
    static const char many[] = AT("3", "idle",
                                  "\"applied\":true,\"differences\":101,\"keys\":["
                                  "{\"key\":\"n/a\",\"what\":\"extra\"}],\"error\":null");
    static const char one[] = AT("3", "idle",
                                 "\"applied\":false,\"differences\":1,\"keys\":["
                                 "{\"key\":\"n/a\",\"what\":\"extra\"}],\"error\":null");

    (void)state;
    check(SCRIPT({"POST " VERIFY, 202, NUMBER_3}, {"GET " VERIFY, 200, AT("3", "idle", TWO)}),
          WORDS("verify", "w"),
          (struct wanted){EXIT_NO,
                          "KEY      WHAT\n"
                          "n/a      missing\n"
                          "n/b\\x07  different\n"
                          "\n2 differences (7 objects compared)\n",
                          ""});
    check(SCRIPT({"POST " VERIFY, 202, NUMBER_3}, {"GET " VERIFY, 200, many}), WORDS("verify", "w"),
          (struct wanted){EXIT_NO,
                          "KEY  WHAT\n"
                          "n/a  extra\n"
                          "\n101 differences, 1 of them shown, which a relist repairs (7 objects "
                          "compared)\n",
                          ""});
    check(SCRIPT({"POST " VERIFY, 202, NUMBER_3}, {"GET " VERIFY, 200, one}), WORDS("verify", "w"),
          (struct wanted){EXIT_NO, "KEY  WHAT\nn/a  extra\n\n1 difference (7 objects compared)\n",
                          ""});
    check(SCRIPT({"POST " VERIFY, 202, NUMBER_3}, {"GET " VERIFY, 200, AT("3", "idle", TWO)}),
          WORDS("verify", "w", "-oname"), (struct wanted){EXIT_NO, "n/a\nn/b\\x07\n", ""});
    check(SCRIPT({"POST " VERIFY, 202, NUMBER_3}, {"GET " VERIFY, 200, AT("3", "idle", TWO)}),
          WORDS("verify", "w", "-ojson"), (struct wanted){EXIT_NO, AT("3", "idle", TWO), ""});
}

static void test_verify_that_cannot_be_done(void **state)
{
    static const char failed[] = AT("3", "idle",
                                    "\"applied\":false,\"differences\":0,\"keys\":[],"
                                    "\"error\":\"connection refused\"");

    (void)state;
    check(SCRIPT({"POST " VERIFY, 403, REFUSED}), WORDS("verify", "w"),
          (struct wanted){EXIT_NOT_ALLOWED, "", "only root may"});
    check(SCRIPT({"POST " VERIFY, 409, "{\"error\":\"not synced\"}"}), WORDS("verify", "w"),
          (struct wanted){EXIT_NO, "", "not synced"});
    check(SCRIPT({"POST " VERIFY, 202, NUMBER_3}, {"GET " VERIFY, 200, failed}),
          WORDS("verify", "w"),
          (struct wanted){EXIT_NO, "", "w cannot be compared: connection refused\n"});
    check(SCRIPT({"POST " VERIFY, 202, NUMBER_3}, {"GET " VERIFY, 200, failed}),
          WORDS("verify", "w", "-ojson"), (struct wanted){EXIT_NO, failed, ""});
    check(SCRIPT({"POST " VERIFY, 202, NUMBER_3}, {"GET " VERIFY, 200, AT("0", "idle", SAME)}),
          WORDS("verify", "w"), (struct wanted){EXIT_NO, "", "informerd was started anew"});
    check(SCRIPT({"POST " VERIFY, 202, NUMBER_3}, {"GET " VERIFY, 200, AT("2", "grace", TWO)}),
          WORDS("verify", "w", "--timeout", "0s"),
          (struct wanted){EXIT_NO, "", "has not ended yet"});
    check(SCRIPT({"POST " VERIFY, 202, "{}"}), WORDS("verify", "w"),
          (struct wanted){EXIT_UNREACHABLE, "", "is it informerd that answers there?"});
    check(SCRIPT({"POST " VERIFY, 202, "<html>"}), WORDS("verify", "w"),
          (struct wanted){EXIT_UNREACHABLE, "", "is it informerd that answers there?"});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_relist_is_posted),
        cmocka_unit_test(test_guard_is_accepted_or_rejected),
        cmocka_unit_test(test_verify_waits_for_its_own_result),
        cmocka_unit_test(test_verify_shows_what_differs),
        cmocka_unit_test(test_verify_that_cannot_be_done),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
