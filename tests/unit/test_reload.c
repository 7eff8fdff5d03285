/* SPDX-License-Identifier: Apache-2.0 */
/* A helper that reads its configuration again: real programs of the old and the new one, a reader that
 * fails in all ways, and a main that is broken. The configuration is a file of one word per line. */
#include "helper/reload.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "base/mem.h"
#include "helper_rig.h"
#include "play_clock.h"
#include "temp_folder.h"

enum { MOST = 8, FLOOD = 200 };

static char the_arg; /* of build() */

/* The memory of the tables that build() makes; the helper keeps its copy. */
static void *kept[8 * MOST];
static size_t kept_count;

static void *keep(void *p)
{
    assert_true(kept_count < ARRAY_LEN(kept));
    return kept[kept_count++] = p;
}

static void free_kept(void)
{
    while (kept_count > 0)
        free(kept[--kept_count]);
}

/* ---- The configuration: "hook NAME", "file NAME", "problem TEXT"; or "crash", "exit", "hang" */

static char *path_of(const char *name)
{
    return mem_printf("%s/%s", temp_folder_path(), name);
}

static void put(const char *name, const char *text)
{
    char *path = path_of(name);
    FILE *f = fopen(path, "we");

    assert_non_null(f);
    fputs(text, f);
    fclose(f);
    free(path);
}

/* The test learns that the reader is at work when it has opened the FIFO, too, if it made one. */
static void hang(void)
{
    char *path = path_of("hangs");
    int fd = open(path, O_WRONLY | O_CLOEXEC);

    free(path);
    for (ssize_t n = 0; n >= -1; n = read(fd, &the_arg, 1)) /* for ever, also without a FIFO */
        pause();
}

/* Prints its name, then runs its script. */
static struct helper_hook hook_of(const char *name)
{
    static const char *const env[] = {"PATH=/usr/bin:/bin", NULL};
    const char **argv = keep(mem_array(4, sizeof(*argv)));

    argv[0] = "/bin/sh";
    argv[1] = "-c";
    argv[2] = keep(mem_printf("echo %s; eval \"$INFORMERD_SCRIPT\"", name));
    return (struct helper_hook){.name = name,
                                .argv = argv,
                                .env = env,
                                .concurrency = 1,
                                .kill_signal = SIGTERM,
                                .kill_grace_ms = 3600000};
}

struct made {
    struct helper_hook hooks[MOST];
    struct helper_file files[MOST];
};

/* Returns false at a problem. The line lives as long as the tables that are made of it. */
static bool read_line(char *line, struct made *m, struct helper_params *p, struct buf *problems)
{
    char *word = strchr(line, ' ');

    if (word != NULL)
        *word++ = '\0';
    if (strcmp(line, "hook") == 0)
        m->hooks[p->hook_count++] = hook_of(word);
    else if (strcmp(line, "file") == 0)
        m->files[p->file_count++].path = keep(path_of(word));
    else if (strcmp(line, "crash") == 0)
        abort();
    else if (strcmp(line, "exit") == 0)
        _exit(1);
    else if (strcmp(line, "hang") == 0)
        hang();
    else
        buf_puts(problems, word);
    return problems->len == 0;
}

/* A helper_build_cb. The bundle is the file. */
static bool build(void *arg, struct helper_params *p, struct buf *bundle, struct buf *problems)
{
    struct made *m = keep(MEM_NEW(struct made, .hooks = {{0}}));
    char *path = path_of("conf");
    FILE *f = fopen(path, "re");
    char line[256];
    bool good = true;

    assert_ptr_equal(arg, &the_arg);
    assert_non_null(f);
    *p = (struct helper_params){.hooks = m->hooks, .files = m->files, .shared_runs = 2};
    while (good && fgets(line, sizeof(line), f) != NULL) {
        buf_puts(bundle, line);
        line[strcspn(line, "\n")] = '\0';
        good = read_line(keep(mem_strdup(line)), m, p, problems);
    }
    m->files[p->file_count++].path = keep(path_of("last")); /* so that the helper has inotify */
    fclose(f);
    free(path);
    return good;
}

static void open_rig(struct helper_rig *w, const char *conf)
{
    static const struct helper_reload reload = {build, &the_arg};
    struct buf bundle = {0};
    struct buf problems = {0};
    struct helper_params params;

    put("conf", conf);
    assert_true(build(&the_arg, &params, &bundle, &problems));
    helper_rig_open_params(w, &params, &reload);
    buf_free(&bundle);
    free_kept();
}

static void reload(struct helper_rig *w, const char *conf)
{
    size_t before = w->reloaded;

    put("conf", conf);
    helper_link_reload(w->link);
    HELPER_RIG_AWAIT(w, w->reloaded == before + 1);
}

static void reload_and_commit(struct helper_rig *w, const char *conf)
{
    reload(w, conf);
    assert_true(w->reload_ok);
    assert_string_equal(w->reload_text, conf);
    helper_link_commit(w->link);
}

/* The hook of this number prints this name, and its run ends well. */
static void expect_hook(struct helper_rig *w, uint32_t number, const char *name)
{
    size_t before = w->exited;
    char *line = mem_printf("%s\n", name);
    int out = helper_rig_run(w, 1000 + before, number, "true");

    helper_rig_expect_line(out, line);
    helper_rig_expect_eof(out);
    HELPER_RIG_AWAIT(w, w->exited > before && w->end_of == 1000 + before);
    assert_int_equal(w->end.kind, RUN_END_EXITED);
    assert_int_equal(w->end.value, 0);
    free(line);
}

/* Asks for a reload that hangs, and returns when its reader is at work. */
static void begin_to_hang(struct helper_rig *w)
{
    char *path = path_of("hangs");

    put("conf", "hang\n");
    assert_true(mkfifo(path, 0644) == 0 || errno == EEXIST);
    helper_link_reload(w->link);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    close(fd);
    free(path);
}

/* ---- The steps of a reload */

static void test_a_commit_changes_the_numbers(void **state)
{
    struct helper_rig w;

    (void)state;
    open_rig(&w, "hook a\nhook b\n");
    expect_hook(&w, 0, "a");
    reload(&w, "hook b\nhook c\nhook a\n");
    assert_true(w.reload_ok);
    assert_string_equal(w.reload_text, "hook b\nhook c\nhook a\n");
    expect_hook(&w, 0, "a");
    helper_link_commit(w.link);
    expect_hook(&w, 0, "b");
    expect_hook(&w, 1, "c");
    expect_hook(&w, 2, "a");
    reload_and_commit(&w, "hook d\n");
    expect_hook(&w, 0, "d");
    helper_rig_expect_clean(&w);
    helper_rig_close(&w);
}

static void test_what_is_dropped_changes_nothing(void **state)
{
    struct helper_rig w;

    (void)state;
    open_rig(&w, "hook a\n");
    reload(&w, "hook b\n");
    helper_link_drop(w.link);
    helper_link_drop(w.link);
    expect_hook(&w, 0, "a");
    reload(&w, "hook c\n"); /* waits, and is dropped by the next one */
    reload_and_commit(&w, "hook d\n");
    expect_hook(&w, 0, "d");
    assert_int_equal(w.reloaded, 3);
    helper_rig_expect_clean(&w);
    helper_rig_close(&w);
}

static void test_problems_are_told_and_nothing_changes(void **state)
{
    struct helper_rig w;

    (void)state;
    open_rig(&w, "hook a\n");
    reload(&w, "hook b\nproblem conf:2: what is this?\n");
    assert_false(w.reload_ok);
    assert_string_equal(w.reload_text, "conf:2: what is this?");
    expect_hook(&w, 0, "a");
    reload_and_commit(&w, "hook b\n");
    expect_hook(&w, 0, "b");
    helper_rig_expect_clean(&w);
    helper_rig_close(&w);
}

static void expect_text(const struct helper_rig *w, const char *part)
{
    assert_false(w->reload_ok);
    assert_non_null(strstr(w->reload_text, part));
}

static void test_a_reader_that_fails_ends_only_itself(void **state)
{
    struct helper_rig w;

    (void)state;
    open_rig(&w, "hook a\n");
    reload(&w, "crash\n");
    expect_text(&w, "signal 6 (Aborted) ended the process that read it");
    reload(&w, "exit\n"); /* as a library may do */
    expect_text(&w, "ended with exit code 1");
    expect_hook(&w, 0, "a");
    helper_rig_expect_clean(&w);
    helper_rig_close(&w);
}

static void test_a_helper_without_a_reader_refuses(void **state)
{
    const struct helper_params params = {0};
    struct helper_rig w;

    (void)state;
    helper_rig_open_params(&w, &params, NULL);
    helper_link_reload(w.link);
    HELPER_RIG_AWAIT(&w, w.reloaded == 1);
    expect_text(&w, "cannot reload");
    helper_rig_close(&w);
}

static void test_no_descriptors_for_a_reader(void **state)
{
    const struct rlimit few = {HELPER_RIG_FDS, 4096};
    const struct rlimit many = {1024, 4096};
    struct helper_rig w;

    (void)state;
    open_rig(&w, "hook a\n");
    expect_hook(&w, 0, "a");
    assert_int_equal(prlimit(w.helper, RLIMIT_NOFILE, &few, NULL), 0);
    reload(&w, "hook b\n");
    assert_false(w.reload_ok);
    assert_string_equal(w.reload_text, "");
    assert_int_equal(prlimit(w.helper, RLIMIT_NOFILE, &many, NULL), 0);
    helper_rig_expect_clean(&w);
    reload_and_commit(&w, "hook b\n");
    expect_hook(&w, 0, "b");
    helper_rig_close(&w);
}

/* Programs start and end meanwhile. */
static void test_a_reader_that_hangs_holds_up_nobody(void **state)
{
    struct helper_rig w;

    (void)state;
    open_rig(&w, "hook a\n");
    begin_to_hang(&w);
    expect_hook(&w, 0, "a");
    helper_link_drop(w.link);
    expect_hook(&w, 0, "a");
    helper_rig_expect_clean(&w);
    begin_to_hang(&w);
    reload_and_commit(&w, "hook b\n"); /* takes its place */
    expect_hook(&w, 0, "b");
    assert_int_equal(w.reloaded, 1);
    helper_rig_expect_clean(&w);
    begin_to_hang(&w);
    helper_rig_close(&w); /* no grace for a reader */
}

static void test_dispose_from_the_event(void **state)
{
    struct helper_rig w;

    (void)state;
    open_rig(&w, "hook a\n");
    put("conf", "hook b\n");
    w.dispose = true;
    helper_link_reload(w.link);
    HELPER_RIG_AWAIT(&w, w.link == NULL);
    assert_int_equal(w.reloaded, 1);
    helper_rig_close(&w);
}

/* ---- Runs of the old configuration */

static void test_runs_go_on_over_a_commit(void **state)
{
    struct helper_rig w;

    (void)state;
    open_rig(&w, "hook a\nhook b\n");
    int killed =
        helper_rig_run(&w, 1, 0, "trap 'echo bye; exit 3' TERM; echo set; sleep 1000 & wait");
    int stopped =
        helper_rig_run(&w, 2, 1, "trap 'echo bye; exit 4' TERM; echo set; sleep 1000 & wait");
    helper_rig_expect_line(killed, "a\n");
    helper_rig_expect_line(stopped, "b\n");
    /* A signal before the trap is set would end the shell. */
    helper_rig_expect_line(killed, "set\n");
    helper_rig_expect_line(stopped, "set\n");
    reload_and_commit(&w, "hook c\n");
    reload_and_commit(&w, "hook d\n");
    helper_link_kill(w.link, helper_rig_asked(&w, 1), SIGTERM);
    helper_rig_expect_line(killed, "bye\n");
    helper_rig_expect_eof(killed);
    HELPER_RIG_AWAIT(&w, w.exited == 1);
    assert_true(w.end_of == 1 && w.end.value == 3);
    helper_rig_close(&w); /* b is stopped as its configuration says */
    helper_rig_expect_line(stopped, "bye\n");
    helper_rig_expect_eof(stopped);
}

/* The run of a, which had the number of x, counts against a and not against x. */
static void test_limits_hold_over_a_commit(void **state)
{
    struct helper_rig w;
    int in[2];

    (void)state;
    open_rig(&w, "hook a\n");
    assert_int_equal(pipe2(in, O_CLOEXEC), 0);
    int out = helper_rig_run_with(&w, 1, 0, in[0], "read x");
    helper_rig_expect_line(out, "a\n");
    reload_and_commit(&w, "hook x\nhook a\n");
    expect_hook(&w, 0, "x");
    helper_rig_expect_eof(helper_rig_run(&w, 2, 1, ""));
    HELPER_RIG_AWAIT(&w, w.end_of == 2);
    assert_int_equal(w.end.kind, RUN_END_REFUSED);
    assert_int_equal(w.end.stage, RUN_STAGE_CONCURRENCY);
    close(in[1]);
    helper_rig_expect_eof(out);
    HELPER_RIG_AWAIT(&w, w.end_of == 1);
    expect_hook(&w, 1, "a");
    helper_rig_close(&w);
}

/* ---- Files */

/* Tests of helper/file_watch have more. */
static void test_changes_are_told_with_the_new_numbers(void **state)
{
    struct helper_rig w;

    (void)state;
    put("p", "1");
    open_rig(&w, "file p\n");
    helper_link_open(w.link, 0, 0);
    HELPER_RIG_AWAIT(&w, w.opened == 1);
    reload_and_commit(&w, "file q\nfile p\n");
    HELPER_RIG_AWAIT(&w, w.changed == 1); /* for events that may have been told before */
    assert_int_equal(w.changed_file, 1);
    helper_link_open(w.link, 1, 1);
    HELPER_RIG_AWAIT(&w, w.opened == 2);
    helper_rig_close(&w);
}

/* A helper that a test plays: messages that cross a COMMIT on its way. */
struct played {
    struct helper_rig w; /* for its events */
    int far;
};

static void on_changed(void *arg, uint32_t file)
{
    struct played *p = arg;

    p->w.changed++;
    p->w.changed_file = file;
}

static void on_reloaded(void *arg, bool ok, int fd)
{
    struct played *p = arg;

    p->w.reloaded++;
    p->w.reload_ok = ok;
    if (fd >= 0)
        close(fd);
    loop_stop(p->w.loop);
}

static void on_lost(void *arg, const struct err *err)
{
    struct played *p = arg;

    p->w.lost++;
    p->w.err = *err;
    loop_stop(p->w.loop);
}

static void play(struct played *p)
{
    static const struct helper_link_events events = {
        .on_changed = on_changed, .on_reloaded = on_reloaded, .on_lost = on_lost};
    int ends[2];

    memset(p, 0, sizeof(*p));
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    p->w.loop = loop_create();
    p->w.link = helper_link_create(p->w.loop, ends[0], &events, p);
    p->far = ends[1];
}

static void end_play(struct played *p)
{
    close(p->far);
    helper_link_dispose(&p->w.link);
    loop_destroy(&p->w.loop);
}

static struct wire_request_image next_request(const struct played *p)
{
    struct wire_request_image head;

    assert_int_equal(recv(p->far, &head, sizeof(head), 0), sizeof(head));
    return head;
}

static void say(const struct played *p, struct wire_reply reply, int fd)
{
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = {
        .head = {CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS}
    };
    struct iovec iov = {&reply, sizeof(reply)};
    struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};

    if (fd >= 0) {
        memcpy(CMSG_DATA(&control.head), &fd, sizeof(fd));
        msg.msg_control = control.bytes;
        msg.msg_controllen = sizeof(control.bytes);
    }
    assert_int_equal(sendmsg(p->far, &msg, 0), sizeof(reply));
}

static void say_reloaded(const struct played *p, enum wire_reloaded how, uint64_t id)
{
    say(p, (struct wire_reply){.type = WIRE_RELOADED, .error = (int32_t)how, .id = id},
        how == WIRE_RELOADED_DROPPED ? -1 : STDERR_FILENO);
}

/* Asks for one reload and has it answered. */
static uint64_t play_reload(struct played *p, enum wire_reloaded how)
{
    helper_link_reload(p->w.link);
    struct wire_request_image head = next_request(p);
    assert_int_equal(head.type, WIRE_RELOAD);
    say_reloaded(p, how, head.id);
    loop_run(p->w.loop);
    return head.id;
}

static void test_a_change_that_crosses_a_commit_is_not_misunderstood(void **state)
{
    struct played p;

    (void)state;
    play(&p);
    say(&p, (struct wire_reply){.type = WIRE_CHANGED, .id = 3}, -1);
    uint64_t id = play_reload(&p, WIRE_RELOADED_READY);
    assert_true(p.w.changed == 1 && p.w.reload_ok);
    helper_link_commit(p.w.link);
    struct wire_request_image head = next_request(&p);
    assert_true(head.type == WIRE_COMMIT && head.id == id);
    say(&p, (struct wire_reply){.type = WIRE_CHANGED, .id = 4}, -1); /* of before the commit */
    say(&p, (struct wire_reply){.type = WIRE_CHANGED, .id = 5, .generation = 1}, -1);
    play_reload(&p, WIRE_RELOADED_REFUSED);
    assert_int_equal(p.w.changed, 2);
    assert_int_equal(p.w.changed_file, 5);
    end_play(&p);
}

static void test_an_answer_that_nobody_waits_for(void **state)
{
    struct played p;

    (void)state;
    play(&p);
    helper_link_reload(p.w.link);
    uint64_t first = next_request(&p).id;
    say_reloaded(&p, WIRE_RELOADED_READY, first); /* it crosses the second request */
    play_reload(&p, WIRE_RELOADED_REFUSED);
    assert_true(p.w.reloaded == 1 && !p.w.reload_ok);
    helper_link_reload(p.w.link);
    uint64_t dropped = next_request(&p).id;
    helper_link_drop(p.w.link);
    struct wire_request_image head = next_request(&p);
    assert_true(head.type == WIRE_DROP && head.id == dropped);
    say_reloaded(&p, WIRE_RELOADED_DROPPED, dropped);
    play_reload(&p, WIRE_RELOADED_READY);
    assert_true(p.w.reloaded == 2 && p.w.reload_ok && p.w.lost == 0);
    end_play(&p);
}

/* READY without a descriptor: this process has too many open files. */
static void test_a_bundle_that_does_not_arrive_is_dropped(void **state)
{
    struct played p;

    (void)state;
    play(&p);
    helper_link_reload(p.w.link);
    uint64_t id = next_request(&p).id;
    say(&p, (struct wire_reply){.type = WIRE_RELOADED, .id = id}, -1);
    loop_run(p.w.loop);
    assert_true(p.w.reloaded == 1 && !p.w.reload_ok);
    struct wire_request_image head = next_request(&p);
    assert_true(head.type == WIRE_DROP && head.id == id);
    end_play(&p);
}

static void test_a_helper_that_answers_twice_is_broken(void **state)
{
    struct played p;

    (void)state;
    for (enum wire_reloaded how = WIRE_RELOADED_READY; how <= WIRE_RELOADED_DROPPED; how++) {
        play(&p);
        uint64_t id = play_reload(&p, WIRE_RELOADED_READY);
        say_reloaded(&p, how, id);
        loop_run(p.w.loop);
        assert_true(p.w.reloaded == 1 && p.w.lost == 1);
        assert_int_equal(p.w.err.kind, ERR_PROTOCOL);
        helper_link_commit(p.w.link); /* nothing happens */
        end_play(&p);
    }
}

/* ---- A main that is broken */

struct peer {
    int fd;
    pid_t pid;
};

static struct peer start_helper(const char *conf)
{
    static const struct helper_reload reload_conf = {build, &the_arg};
    struct helper_params params = {.shared_runs = 1};
    struct peer p;

    alarm(60);
    put("conf", conf);
    assert_int_equal(helper_start(&params, &reload_conf, &p.fd, &p.pid, NULL), ERR_OK);
    return p;
}

static void ask(const struct peer *p, enum wire_request_type type, uint64_t id)
{
    const struct wire_request_image head = {.type = type, .id = id};

    assert_int_equal(send(p->fd, &head, sizeof(head), MSG_NOSIGNAL), sizeof(head));
}

/* The result of the reload with this tag, whose answer is the next one. */
static enum wire_reloaded answer(const struct peer *p, uint64_t tag)
{
    struct wire_reply r;

    assert_int_equal(recv(p->fd, &r, sizeof(r), 0), sizeof(r)); /* the file is closed */
    assert_int_equal(r.type, WIRE_RELOADED);
    assert_int_equal(r.id, tag);
    return (enum wire_reloaded)r.error;
}

static void expect_exit(const struct peer *p, int code)
{
    char rest[sizeof(struct wire_reply)];
    int status;

    if (code == 0)
        shutdown(p->fd, SHUT_WR);
    assert_int_equal(recv(p->fd, rest, sizeof(rest), 0), 0);
    close(p->fd);
    assert_int_equal(waitpid(p->pid, &status, 0), p->pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), code);
    alarm(0);
}

static void test_a_commit_of_nothing_ends_the_helper(void **state)
{
    struct peer p = start_helper("hook a\n");

    (void)state;
    ask(&p, WIRE_COMMIT, 0);
    expect_exit(&p, 1);
    p = start_helper("hook a\n");
    ask(&p, WIRE_RELOAD, 7);
    assert_int_equal(answer(&p, 7), WIRE_RELOADED_READY);
    ask(&p, WIRE_COMMIT, 8);
    expect_exit(&p, 1);
    p = start_helper("hook a\n");
    ask(&p, WIRE_RELOAD, 7);
    assert_int_equal(answer(&p, 7), WIRE_RELOADED_READY);
    ask(&p, WIRE_COMMIT, 7);
    ask(&p, WIRE_COMMIT, 7);
    expect_exit(&p, 1);
    p = start_helper("problem x\n");
    ask(&p, WIRE_RELOAD, 7);
    assert_int_equal(answer(&p, 7), WIRE_RELOADED_REFUSED);
    ask(&p, WIRE_COMMIT, 7);
    expect_exit(&p, 1);
    p = start_helper("hang\n");
    ask(&p, WIRE_RELOAD, 7);
    ask(&p, WIRE_COMMIT, 7); /* it is not ready */
    expect_exit(&p, 1);
}

static void test_after_a_drop_there_is_nothing_to_commit(void **state)
{
    struct peer p = start_helper("hook a\n");

    (void)state;
    ask(&p, WIRE_DROP, 0);
    ask(&p, WIRE_DROP, 6);
    ask(&p, WIRE_RELOAD, 7);
    ask(&p, WIRE_DROP, 6); /* of an earlier one, which has failed: no error */
    assert_int_equal(answer(&p, 7), WIRE_RELOADED_READY);
    ask(&p, WIRE_DROP, 7);
    ask(&p, WIRE_COMMIT, 7);
    expect_exit(&p, 1);
}

/* Its child is no run of main. */
static void test_the_reader_cannot_be_named(void **state)
{
    static const enum wire_request_type types[] = {WIRE_KILL, WIRE_CLEAR};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(types); i++) {
        struct wire_request_image head = {.type = types[i], .number = SIGKILL, .id = RELOAD_RUN_ID};
        struct peer p = start_helper("hang\n");

        ask(&p, WIRE_RELOAD, 7);
        assert_int_equal(send(p.fd, &head, sizeof(head), 0), sizeof(head));
        expect_exit(&p, 1);
    }
}

/* Each reload is answered, in order, and one child at a time reads. */
static void test_a_flood_of_reloads(void **state)
{
    struct peer p = start_helper("hang\n");

    (void)state;
    for (uint64_t tag = 1; tag <= FLOOD; tag++) {
        ask(&p, WIRE_RELOAD, tag);
        if (tag > 1)
            assert_int_equal(answer(&p, tag - 1), WIRE_RELOADED_DROPPED);
        if (tag % 20 == 0)
            assert_in_range(helper_rig_children(p.pid), 0, 1);
    }
    ask(&p, WIRE_DROP, FLOOD);
    assert_int_equal(answer(&p, FLOOD), WIRE_RELOADED_DROPPED);
    put("conf", "hook a\n");
    ask(&p, WIRE_RELOAD, 1);
    assert_int_equal(answer(&p, 1), WIRE_RELOADED_READY);
    expect_exit(&p, 0);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, temp_folder_enter, temp_folder_leave)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(test_a_commit_changes_the_numbers),
        IN_FOLDER(test_what_is_dropped_changes_nothing),
        IN_FOLDER(test_problems_are_told_and_nothing_changes),
        IN_FOLDER(test_a_reader_that_fails_ends_only_itself),
        IN_FOLDER(test_a_helper_without_a_reader_refuses),
        IN_FOLDER(test_no_descriptors_for_a_reader),
        IN_FOLDER(test_a_reader_that_hangs_holds_up_nobody),
        IN_FOLDER(test_dispose_from_the_event),
        IN_FOLDER(test_runs_go_on_over_a_commit),
        IN_FOLDER(test_limits_hold_over_a_commit),
        IN_FOLDER(test_changes_are_told_with_the_new_numbers),
        IN_FOLDER(test_a_change_that_crosses_a_commit_is_not_misunderstood),
        IN_FOLDER(test_an_answer_that_nobody_waits_for),
        IN_FOLDER(test_a_bundle_that_does_not_arrive_is_dropped),
        IN_FOLDER(test_a_helper_that_answers_twice_is_broken),
        IN_FOLDER(test_a_commit_of_nothing_ends_the_helper),
        IN_FOLDER(test_after_a_drop_there_is_nothing_to_commit),
        IN_FOLDER(test_the_reader_cannot_be_named),
        IN_FOLDER(test_a_flood_of_reloads),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
