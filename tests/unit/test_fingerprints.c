/* SPDX-License-Identifier: Apache-2.0 */
/* io/fingerprints with a real helper: which changes of files change the digest of a hook, and that
 * neither end of the link blocks. */
#include "io/fingerprints.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "base/mem.h"
#include "base/panic.h"
#include "campaign.h"
#include "helper/helper.h"
#include "io/helper_link.h"
#include "io/loop.h"
#include "loop_until.h"
#include "silent_link.h"
#include "temp_folder.h"

enum { HOOKS = 40, PATHS = 4, PLENTY_MS = 3600000 };

#define CAP ((off_t)64 * 1024 * 1024)

/* One round of digests of the hooks. */
struct look {
    struct loop *loop;
    struct helper_link *link;
    struct fingerprints *prints;
    size_t left;
    size_t failed;
    bool dispose; /* in the first event */
    struct digest_forms digest[HOOKS];
    struct err err;
};

static int enter(void **state)
{
    alarm(PATIENCE_S);
    return temp_folder_enter(state);
}

static int leave(void **state)
{
    alarm(0);
    return temp_folder_leave(state);
}

static void put(const char *name, const char *text)
{
    FILE *f = fopen(name, "we");

    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

static void on_digest(void *arg, size_t hook, const struct digest_forms *digest,
                      const struct err *err)
{
    struct look *l = arg;

    assert_true(hook < HOOKS && l->left > 0 && l->prints != NULL);
    ensure((digest == NULL) == (err != NULL));
    l->left--;
    if (digest != NULL)
        l->digest[hook] = *digest;
    if (err != NULL)
        l->err = *err;
    l->failed += err != NULL;
    if (l->dispose) {
        fingerprints_dispose(&l->prints);
        loop_stop(l->loop);
    }
}

static void on_ready(void *arg)
{
    const struct look *l = arg;

    assert_int_equal(l->left, 0);
    loop_stop(l->loop);
}

static const struct fingerprints_events print_events = {on_digest, on_ready};

static void on_opened(void *arg, uint64_t tag, int fd, int error)
{
    (void)arg;
    (void)tag;
    (void)fd;
    (void)error;
    fail();
}

static void on_lost(void *arg, const struct err *err)
{
    struct look *l = arg;

    l->err = *err;
    loop_stop(l->loop);
}

static void run_look(struct look *l, const struct helper_hook *hooks, size_t n, uint64_t timeout_ms)
{
    static const struct helper_link_events events = {.on_opened = on_opened, .on_lost = on_lost};
    const struct helper_params params = {.hooks = hooks, .hook_count = n};
    int status;
    pid_t pid;
    int fd;

    assert_int_equal(helper_start(&params, NULL, &fd, &pid, NULL), ERR_OK);
    l->loop = loop_create();
    l->left = n;
    l->link = helper_link_create(l->loop, fd, &events, l);
    const struct fingerprints_params p = {l->loop, l->link, n, timeout_ms};
    l->prints = fingerprints_create(&p, &print_events, l);
    loop_run(l->loop);
    assert_int_equal(l->err.kind == ERR_CLOSED, 0);
    fingerprints_dispose(&l->prints);
    fingerprints_dispose(&l->prints);
    helper_link_dispose(&l->link);
    loop_destroy(&l->loop); /* panics if a handle is left */
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static struct helper_hook hook_of(const struct helper_content *contents)
{
    static const char *const argv[] = {"/bin/true", NULL};
    static const char *const env[] = {NULL};

    return (struct helper_hook){
        .name = "h", .argv = argv, .env = env, .contents = contents, .kill_signal = SIGTERM};
}

/* The digests of one hook with these files, which are relative to the folder. */
static struct digest_forms prints_of(const struct helper_content *relative)
{
    struct look l = {0};
    char *paths[PATHS + 1] = {0};
    struct helper_content contents[PATHS + 1] = {0};

    for (size_t i = 0; relative[i].path != NULL; i++) {
        contents[i] = relative[i];
        contents[i].path = paths[i] = mem_printf("%s/%s", temp_folder_path(), relative[i].path);
    }
    struct helper_hook hook = hook_of(contents);
    run_look(&l, &hook, 1, PLENTY_MS);
    assert_int_equal(l.failed, 0);
    for (size_t i = 0; i < PATHS; i++)
        free(paths[i]);
    return l.digest[0];
}

/* The digest of a hook for which all these files count. */
static struct digest print_of(const char *const *names)
{
    struct helper_content contents[PATHS + 1] = {0};

    for (size_t i = 0; names[i] != NULL; i++)
        contents[i] = (struct helper_content){names[i], .counts = true, .counted = true};
    struct digest_forms prints = prints_of(contents);
    assert_true(digest_eq(prints.now, prints.former));
    return prints.now;
}

#define PRINT(...) print_of((const char *const[]){__VA_ARGS__, NULL})

static bool same(struct digest a, struct digest b)
{
    return digest_eq(a, b);
}

static void test_content_counts(void **state)
{
    (void)state;
    put("a", "one");
    put("b", "");
    struct digest first = PRINT("a", "b");
    assert_true(same(PRINT("a", "b"), first));
    assert_false(same(PRINT("b", "a"), first));
    assert_false(same(PRINT("a"), first));
    put("a", "two"); /* the same number of bytes */
    assert_false(same(PRINT("a", "b"), first));
    put("a", "one");
    put("b", "x");
    assert_false(same(PRINT("a", "b"), first));
    put("b", "");
    assert_int_equal(chmod("a", 0755), 0); /* mode and time do not count */
    assert_true(same(PRINT("a", "b"), first));
    assert_int_equal(rename("a", "c"),
                     0); /* the name does not count either: it is in the digest of the settings */
    assert_true(same(PRINT("c", "b"), first));
    put("a", "on"); /* bytes that move from one file to the next count */
    put("b", "e");
    assert_false(same(PRINT("a", "b"), first));
}

static void test_each_digest_is_of_the_files_that_count_for_it(void **state)
{
    (void)state;
    put("a", "one");
    put("b", "two");
    put("c", "three");
    struct digest_forms prints = prints_of((const struct helper_content[]){
        {"a",             .counted = true},
        {"b",               .counts = true},
        {"c",.counts = true, .counted = true},
        {0            }
    });
    assert_true(digest_eq(prints.now, PRINT("b", "c")));
    assert_true(digest_eq(prints.former, PRINT("a", "c")));
    /* persist/hook knows a hook without any content by this digest. */
    prints = prints_of((const struct helper_content[]){
        {"a", .counted = true},
        {0  }
    });
    assert_true(digest_eq(prints.now, digest_of("", 0)));
}

static void test_paths_that_are_no_files(void **state)
{
    (void)state;
    put("x", "");
    struct digest none = PRINT("none");
    assert_false(same(PRINT("x"), none)); /* an empty file is no missing file */
    assert_true(same(PRINT("none"), none));
    assert_true(same(PRINT("x/below"), none));
    assert_int_equal(mkdir("folder", 0700), 0);
    assert_true(same(PRINT("folder"), none));
    assert_int_equal(mkfifo("fifo", 0600), 0); /* a FIFO that nobody writes to is not read */
    assert_true(same(PRINT("fifo"), none));
    assert_int_equal(symlink("loop", "loop"), 0);
    assert_true(same(PRINT("loop"), none));
    assert_int_equal(symlink("x", "link"), 0); /* like a projected volume */
    assert_true(same(PRINT("link"), PRINT("x")));
    put("new", "1");
    assert_int_equal(unlink("link"), 0);
    assert_int_equal(symlink("new", "link"), 0);
    assert_false(same(PRINT("link"), PRINT("x")));
}

/* The programs of a hook may be readable by others only: a file that the helper cannot read counts
 * as missing. */
static void test_unreadable(void **state)
{
    (void)state;
    put("a", "one");
    assert_int_equal(chmod("a", 0111), 0);
    bool is_root = geteuid() == 0;
    assert_int_equal(same(PRINT("a"), PRINT("none")), !is_root);
}

static void put_at(const char *name, off_t at, char c)
{
    int fd = open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, &c, 1, at), 1);
    close(fd);
}

static void test_large(void **state)
{
    (void)state;
    put_at("a", CAP - 1, 'x');
    struct digest first = PRINT("a");
    put_at("a", CAP / 2, 'y');
    struct digest second = PRINT("a");
    assert_false(same(first, second));
    put_at("a", CAP - 1, 'z');
    assert_false(same(PRINT("a"), second));
    put_at("a", CAP, 'x'); /* beyond the limit only the size counts */
    struct digest larger = PRINT("a");
    put_at("a", CAP + 1, 'x');
    assert_false(same(PRINT("a"), larger));
    assert_int_equal(truncate("a", CAP + 1), 0);
    assert_true(same(PRINT("a"), larger));
    put_at("a", CAP, 'q'); /* the bytes beyond the limit do not count */
    assert_true(same(PRINT("a"), larger));
}

/* More hooks than one request has: each gets its own digest. */
static void test_many_hooks(void **state)
{
    struct helper_hook hooks[HOOKS];
    struct helper_content files[HOOKS][2] = {0};
    char *paths[HOOKS];
    struct look l = {0};

    (void)state;
    for (size_t i = 0; i < HOOKS; i++) {
        char *name = mem_printf("%zu", i / 2);

        put(name, name);
        paths[i] = mem_printf("%s/%s", temp_folder_path(), name);
        files[i][0] = (struct helper_content){paths[i], .counts = true};
        hooks[i] = hook_of(files[i]);
        free(name);
    }
    run_look(&l, hooks, HOOKS, PLENTY_MS);
    assert_true(l.left == 0 && l.failed == 0);
    for (size_t i = 0; i < HOOKS; i++) {
        for (size_t k = 0; k < i; k++)
            assert_int_equal(same(l.digest[i].now, l.digest[k].now), i / 2 == k / 2);
        free(paths[i]);
    }
}

/* Asks for two hooks; the test is the helper. */
static void begin_silent(struct look *l, uint64_t timeout_ms, int *far)
{
    l->loop = loop_create();
    l->left = 2;
    l->link = silent_link_create(l->loop, far);
    const struct fingerprints_params p = {l->loop, l->link, 2, timeout_ms};
    l->prints = fingerprints_create(&p, &print_events, l);
}

static void end_silent(struct look *l, int far)
{
    fingerprints_dispose(&l->prints);
    helper_link_dispose(&l->link);
    loop_destroy(&l->loop);
    close(far);
}

static void test_no_answer_in_time(void **state)
{
    struct look l = {0};
    int far;

    (void)state;
    begin_silent(&l, 20, &far);
    loop_run(l.loop);
    assert_true(l.left == 0 && l.failed == 2);
    assert_string_equal(l.err.text,
                        "its program and files cannot be read: no answer in time: Connection timed "
                        "out");
    silent_link_end(far, 1, (struct run_end){0}); /* an answer that is too late is dropped */
    silent_link_end(far, 2, (struct run_end){0});
    loop_turns(l.loop, 2);
    assert_int_equal(l.failed, 2);
    end_silent(&l, far);
}

static void test_a_reader_that_is_killed_is_an_error(void **state)
{
    const struct digest_forms digest = {
        {1, 2},
        {3, 4}
    };
    struct look l = {0};
    int far;
    int out;

    (void)state;
    begin_silent(&l, PLENTY_MS, &far);
    loop_turns(l.loop, 1);
    silent_link_end(far, silent_link_take(far, &out),
                    (struct run_end){.kind = RUN_END_SIGNALED, .value = SIGKILL});
    close(out);
    loop_turns(l.loop, 2);
    assert_true(l.left == 1 && l.failed == 1);
    assert_string_equal(l.err.text, "its program and files cannot be read: killed: Interrupted "
                                    "system call");
    uint64_t second = silent_link_take(far, &out);
    assert_int_equal(write(out, &digest, sizeof(digest)), sizeof(digest));
    close(out);
    silent_link_end(far, second, (struct run_end){0});
    loop_run(l.loop);
    assert_true(l.left == 0 && l.failed == 1 && digest_eq(l.digest[1].now, digest.now));
    assert_true(digest_eq(l.digest[1].former, digest.former));
    end_silent(&l, far);
}

/* Two readings that reloads have killed have not ended yet. */
static void test_a_reading_that_comes_too_early_is_asked_for_again(void **state)
{
    const struct run_end early =
        run_end_refused(RUN_PROGRAM_FINGERPRINT, RUN_STAGE_CONCURRENCY, EBUSY);
    const struct digest_forms digest = {
        {1, 2},
        {3, 4}
    };
    struct look l = {0};
    int far;
    int out;

    (void)state;
    begin_silent(&l, PLENTY_MS, &far);
    loop_turns(l.loop, 1);
    for (int i = 0; i < 2; i++) { /* of each hook */
        silent_link_end(far, silent_link_take(far, &out), early);
        close(out);
    }
    loop_turns(l.loop, 3);
    assert_true(l.left == 2 && l.failed == 0);
    for (int i = 0; i < 2; i++) {
        loop_turns(l.loop, 1);
        struct pollfd asked = {.fd = far, .events = POLLIN};
        while (poll(&asked, 1, 0) == 0)
            loop_turns(l.loop, 1);
        uint64_t id = silent_link_take(far, &out);
        assert_int_equal(write(out, &digest, sizeof(digest)), sizeof(digest));
        close(out);
        silent_link_end(far, id, (struct run_end){0});
    }
    loop_run(l.loop);
    assert_true(l.left == 0 && l.failed == 0 && digest_eq(l.digest[1].now, digest.now));
    end_silent(&l, far);
}

static void test_disposed_in_its_callback(void **state)
{
    static const struct helper_content files[] = {
        {"/dev/null", .counts = true},
        {0          }
    };
    struct helper_hook hooks[HOOKS];
    struct look l = {.dispose = true};

    (void)state;
    for (size_t i = 0; i < HOOKS; i++)
        hooks[i] = hook_of(files);
    run_look(&l, hooks, HOOKS, PLENTY_MS);
    assert_int_equal(l.left, HOOKS - 1);
}

/* Without hooks, too, on_ready comes in a later turn. */
static void test_no_hooks(void **state)
{
    struct look l = {0};

    (void)state;
    run_look(&l, NULL, 0, PLENTY_MS);
    assert_int_equal(l.left + l.failed, 0);
}

/* A hook without files in the request is a bug of main: the helper ends. */
static void test_hook_without_files(void **state)
{
    static const struct helper_link_events events = {.on_opened = on_opened, .on_lost = on_lost};
    struct helper_hook hook = hook_of(NULL);
    const struct helper_params params = {.hooks = &hook, .hook_count = 1};
    struct look l = {.left = 1};
    int status;
    pid_t pid;
    int fd;

    (void)state;
    assert_int_equal(helper_start(&params, NULL, &fd, &pid, NULL), ERR_OK);
    l.loop = loop_create();
    l.link = helper_link_create(l.loop, fd, &events, &l);
    const struct fingerprints_params p = {l.loop, l.link, 1, PLENTY_MS};
    l.prints = fingerprints_create(&p, &print_events, &l);
    loop_run(l.loop);
    assert_int_equal(l.err.kind, ERR_CLOSED);
    fingerprints_dispose(&l.prints);
    helper_link_dispose(&l.link);
    loop_destroy(&l.loop);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 1);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, enter, leave)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(test_content_counts),
        IN_FOLDER(test_each_digest_is_of_the_files_that_count_for_it),
        IN_FOLDER(test_paths_that_are_no_files),
        IN_FOLDER(test_unreadable),
        IN_FOLDER(test_large),
        IN_FOLDER(test_many_hooks),
        IN_FOLDER(test_no_answer_in_time),
        IN_FOLDER(test_a_reader_that_is_killed_is_an_error),
        IN_FOLDER(test_a_reading_that_comes_too_early_is_asked_for_again),
        IN_FOLDER(test_disposed_in_its_callback),
        IN_FOLDER(test_hook_without_files),
        cmocka_unit_test(test_no_hooks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
