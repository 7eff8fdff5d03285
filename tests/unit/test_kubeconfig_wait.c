/* SPDX-License-Identifier: Apache-2.0 */
/* app/kubeconfig_wait with a stand-in for the helper; the clock stands unless the test moves it. */
#include "app/kubeconfig_wait.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "app/cluster_access.h"
#include "base/mem.h"
#include "base/wire.h"
#include "campaign.h"
#include "io/helper_link.h"
#include "io/loop.h"
#include "loop_until.h"
#include "play_clock.h"

enum { FIRST = 5, SECOND, FIRST_TAG = 100, CHECK_MS = 5 * 60 * 1000 };

static char first[] = "/etc/first", second[] = "/etc/second";

static struct cluster_awaited two[] = {
    {first,  FIRST },
    {second, SECOND}
};

struct rig {
    struct loop *loop;
    struct helper_link *link;
    int far;          /* the helper's end */
    int error[8];     /* the errno of opening this file; 0 = it is there */
    unsigned opens;   /* asked for */
    bool is_slow;     /* the helper does not answer */
    unsigned refused; /* openings that nobody has asked for */
    struct cluster_access access;
    uint64_t next_tag;
    struct kubeconfig_wait *wait;
    char there[128]; /* the paths that were told */
};

static void on_there(void *arg, const char *path, bool is_there)
{
    struct rig *r = arg;
    size_t n = strlen(r->there);

    snprintf(r->there + n, sizeof(r->there) - n, "%s%s ", is_there ? "" : "not ", path);
}

static void on_opened(void *arg, uint64_t tag, int fd, int error)
{
    struct rig *r = arg;

    if (kubeconfig_wait_opened(r->wait, tag, fd, error))
        return;
    r->refused++;
    if (fd >= 0)
        close(fd);
}

static void on_changed(void *arg, uint32_t file)
{
    const struct rig *r = arg;

    kubeconfig_wait_changed(r->wait, file);
}

static void on_lost(void *arg, const struct err *err)
{
    (void)arg;
    fail_msg("%s", err->text);
}

static void send_reply(const struct rig *r, struct wire_reply *reply, int fd)
{
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = {
        .head = {CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS}
    };
    struct iovec iov = {reply, sizeof(*reply)};
    struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};

    if (fd >= 0) {
        memcpy(CMSG_DATA(&control.head), &fd, sizeof(fd));
        msg.msg_control = control.bytes;
        msg.msg_controllen = sizeof(control.bytes);
    }
    assert_int_equal(sendmsg(r->far, &msg, 0), sizeof(*reply));
}

static bool answer_one(struct rig *r)
{
    struct wire_request_image head;

    if (r->is_slow || recv(r->far, &head, sizeof(head), MSG_DONTWAIT) < 0)
        return false;
    assert_int_equal(head.type, WIRE_OPEN);
    assert_in_range(head.number, FIRST, SECOND);
    r->opens++;
    struct wire_reply reply = {.type = WIRE_OPENED, .id = head.id, .error = r->error[head.number]};
    int fd = reply.error == 0 ? open("/dev/null", O_RDONLY | O_CLOEXEC) : -1;
    send_reply(r, &reply, fd);
    if (fd >= 0)
        close(fd);
    return true;
}

static void settle(struct rig *r)
{
    for (int quiet = 0; quiet < 3; quiet++) {
        play_clock_pass(1);
        loop_turns(r->loop, 1);
        while (answer_one(r))
            quiet = 0;
    }
}

static void tell_changed(struct rig *r, uint32_t file)
{
    send_reply(r, &(struct wire_reply){.type = WIRE_CHANGED, .id = file}, -1);
    settle(r);
}

/* So many of the two files are awaited from now on. */
static void set(struct rig *r, size_t n)
{
    r->access = (struct cluster_access){.awaited = two, .awaited_count = n};
    kubeconfig_wait_set(r->wait, &(struct cluster_access_list){.v = &r->access, .n = 1},
                        &r->next_tag);
    settle(r);
}

static void begin(struct rig *r)
{
    static const struct helper_link_events events = {
        .on_opened = on_opened, .on_changed = on_changed, .on_lost = on_lost};
    int ends[2];

    *r = (struct rig){.next_tag = FIRST_TAG};
    r->error[FIRST] = r->error[SECOND] = ENOENT;
    alarm(PATIENCE_S);
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    play_clock_stop();
    r->loop = loop_create();
    r->far = ends[1];
    r->link = helper_link_create(r->loop, ends[0], &events, r);
    r->wait = kubeconfig_wait_create(r->loop, r->link, on_there, r);
}

static void finish(struct rig *r)
{
    kubeconfig_wait_dispose(&r->wait);
    kubeconfig_wait_dispose(&r->wait);
    helper_link_dispose(&r->link);
    loop_destroy(&r->loop); /* panics if a handle is left */
    close(r->far);
    play_clock_go();
    alarm(0);
}

static void test_a_file_is_told_when_it_is_there(void **state)
{
    struct rig r;

    (void)state;
    begin(&r);
    set(&r, 2);
    assert_int_equal(r.opens, 2);
    assert_int_equal(r.next_tag, FIRST_TAG + 2);
    assert_string_equal(r.there, "");
    tell_changed(&r, SECOND);
    assert_int_equal(r.opens, 3);
    assert_string_equal(r.there, "");
    r.error[SECOND] = 0;
    tell_changed(&r, SECOND);
    assert_string_equal(r.there, "/etc/second ");
    finish(&r);
}

/* The reload that follows says why it cannot be used. */
static void test_a_file_that_cannot_be_opened_is_there(void **state)
{
    struct rig r;

    (void)state;
    begin(&r);
    set(&r, 1);
    r.error[FIRST] = ENOTDIR;
    tell_changed(&r, FIRST);
    assert_string_equal(r.there, "");
    r.error[FIRST] = EACCES;
    tell_changed(&r, FIRST);
    assert_string_equal(r.there, "/etc/first ");
    finish(&r);
}

static void test_a_file_that_was_told_is_told_again_when_it_changes(void **state)
{
    struct rig r;

    (void)state;
    begin(&r);
    r.error[FIRST] = 0;
    set(&r, 1);
    tell_changed(&r, FIRST);
    assert_string_equal(r.there, "/etc/first /etc/first ");
    finish(&r);
}

/* The reload that follows clears the failure of the one before. */
static void test_a_file_that_was_told_and_is_gone_again_is_told_once(void **state)
{
    struct rig r;

    (void)state;
    begin(&r);
    r.error[FIRST] = EACCES;
    set(&r, 1);
    r.error[FIRST] = ENOENT;
    tell_changed(&r, FIRST);
    tell_changed(&r, FIRST);
    assert_string_equal(r.there, "/etc/first not /etc/first ");
    finish(&r);
}

static void test_a_change_while_the_helper_is_slow_leads_to_one_more_look(void **state)
{
    struct rig r;

    (void)state;
    begin(&r);
    r.is_slow = true;
    set(&r, 1);
    tell_changed(&r, FIRST);
    tell_changed(&r, FIRST);
    r.is_slow = false;
    settle(&r);
    assert_int_equal(r.opens, 2);
    finish(&r);
}

static void test_files_are_looked_at_every_5_minutes(void **state)
{
    struct rig r;

    (void)state;
    begin(&r);
    set(&r, 1);
    r.error[FIRST] = 0;
    play_clock_pass(CHECK_MS - 1000);
    settle(&r);
    assert_string_equal(r.there, "");
    play_clock_pass(1000);
    settle(&r);
    assert_string_equal(r.there, "/etc/first ");
    finish(&r);
}

/* The reload that followed may have failed for a reason that the file does not show. */
static void test_a_file_that_is_there_is_told_every_5_minutes(void **state)
{
    struct rig r;

    (void)state;
    begin(&r);
    r.error[FIRST] = 0;
    set(&r, 1);
    play_clock_pass(CHECK_MS - 1000);
    settle(&r);
    assert_string_equal(r.there, "/etc/first ");
    play_clock_pass(1000);
    settle(&r);
    assert_string_equal(r.there, "/etc/first /etc/first ");
    finish(&r);
}

/* The answer belongs to a file that is awaited no more. */
static void test_what_is_awaited_no_more_is_not_told(void **state)
{
    struct rig r;

    (void)state;
    begin(&r);
    r.error[FIRST] = 0;
    r.is_slow = true;
    set(&r, 1);
    set(&r, 0);
    r.is_slow = false;
    settle(&r);
    assert_int_equal(r.refused, 1);
    tell_changed(&r, FIRST);
    play_clock_pass(CHECK_MS);
    settle(&r);
    assert_int_equal(r.opens, 1);
    assert_string_equal(r.there, "");
    finish(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_file_is_told_when_it_is_there),
        cmocka_unit_test(test_a_file_that_cannot_be_opened_is_there),
        cmocka_unit_test(test_a_file_that_was_told_is_told_again_when_it_changes),
        cmocka_unit_test(test_a_file_that_was_told_and_is_gone_again_is_told_once),
        cmocka_unit_test(test_a_change_while_the_helper_is_slow_leads_to_one_more_look),
        cmocka_unit_test(test_files_are_looked_at_every_5_minutes),
        cmocka_unit_test(test_a_file_that_is_there_is_told_every_5_minutes),
        cmocka_unit_test(test_what_is_awaited_no_more_is_not_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
