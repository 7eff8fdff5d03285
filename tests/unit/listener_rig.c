/* SPDX-License-Identifier: Apache-2.0 */
#include "listener_rig.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "admin/admin.h"
#include "admin/journal.h"
#include "admin/stream.h"
#include "io/deadline.h"
#include "io/loop.h"
#include "play_clock.h"

static void fill(struct buf *out, size_t bytes)
{
    for (size_t i = 0; i < bytes / 16; i++)
        buf_puts(out, "0123456789abcdef");
}

void rig_handle(void *arg, const struct admin_request *req, struct admin_response *out)
{
    struct rig *t = arg;

    buf_printf(&t->asked, "%.*s %.*s;", STR_ARG(req->method), STR_ARG(req->target));
    t->privileged = req->privileged;
    t->anonymous = req->anonymous;
    *out = (struct admin_response){.status = 200, .content_type = "text/plain"};
    if (str_is(req->target, "/big"))
        fill(&out->body, RIG_BIG_BYTES);
    else if (str_is(req->target, "/large"))
        fill(&out->body, RIG_LARGE_BYTES);
    else if (str_is(req->target, "/follow"))
        out->stream = admin_streams_follow_journal(t->streams);
    else
        buf_printf(&out->body, "%.*s<%.*s>", STR_ARG(req->host), STR_ARG(req->target));
    if (str_is(req->target, "/headers"))
        out->headers = "X-More: yes\r\n";
    if (t->dispose)
        listener_dispose(&t->listener);
}

static void read_some(struct rig_peer *p)
{
    char bytes[65536];
    ssize_t n;

    while (p->reading && !p->eof && (n = recv(p->fd, bytes, sizeof(bytes), MSG_DONTWAIT)) >= 0) {
        p->eof = n == 0;
        buf_append(&p->got, bytes, (size_t)n);
    }
    if (p->reading && !p->eof && errno != EAGAIN)
        p->eof = true; /* ECONNRESET */
}

static void on_tick(void *arg)
{
    struct rig *t = arg;

    for (size_t i = 0; i < t->peer_count; i++)
        read_some(&t->peers[i]);
    if (t->done(t)) {
        loop_stop(t->loop);
        return;
    }
    t->ticks++;
    deadline_start(t->tick, 1);
}

void rig_run_until(struct rig *t, bool (*done)(struct rig *t))
{
    t->done = done;
    t->ticks = 0;
    deadline_start(t->tick, 1);
    loop_run(t->loop);
    deadline_stop(t->tick);
}

void rig_start(struct rig *t)
{
    struct listener_params p = {.path = t->path,
                                .started_uid = getuid(),
                                .idle_ms = RIG_IDLE_MS,
                                .handle = rig_handle,
                                .arg = t};
    struct err err = {0};

    if (listener_bind(t->path, (gid_t)-1, &p.fd, &err) != ERR_OK)
        fail_msg("%s", err.text);
    t->listener = listener_create(t->loop, &p);
}

int rig_set_up(void **state)
{
    struct rig *t = test_calloc(1, sizeof(*t));

    signal(SIGPIPE, SIG_IGN);
    snprintf(t->dir, sizeof(t->dir), "/tmp/test_listener.XXXXXX");
    assert_non_null(mkdtemp(t->dir));
    snprintf(t->path, sizeof(t->path), "%s/s", t->dir);
    t->journal = journal_create();
    t->streams = admin_streams_create(t->journal);
    t->loop = loop_create();
    t->tick = deadline_create(t->loop, on_tick, t);
    *state = t;
    return 0;
}

int rig_tear_down(void **state)
{
    struct rig *t = *state;

    for (size_t i = 0; i < t->peer_count; i++) {
        close(t->peers[i].fd);
        buf_free(&t->peers[i].got);
    }
    listener_dispose(&t->listener);
    admin_streams_destroy(&t->streams);
    journal_destroy(&t->journal);
    deadline_dispose(&t->tick);
    loop_destroy(&t->loop);
    assert_int_equal(access(t->path, F_OK), -1); /* whatever happened, no socket stays */
    assert_int_equal(rmdir(t->dir), 0);
    buf_free(&t->asked);
    test_free(t);
    return 0;
}

struct rig_peer *rig_connect(struct rig *t)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    struct rig_peer *p = &t->peers[t->peer_count++];

    memcpy(at.sun_path, t->path, sizeof(t->path));
    p->reading = true;
    p->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(p->fd, (const struct sockaddr *)&at, sizeof(at)), 0);
    return p;
}

void rig_say(struct rig_peer *p, const char *text)
{
    assert_int_equal(send(p->fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
}

void rig_say_many(struct rig_peer *p, const char *text, size_t times)
{
    struct buf all = {0};

    for (size_t i = 0; i < times; i++)
        buf_puts(&all, text);
    rig_say(p, buf_cstr(&all));
    buf_free(&all);
}

void rig_pass(struct rig *t)
{
    for (int i = 0; i < 4; i++) {
        play_clock_pass(RIG_IDLE_MS);
        rig_run_until(t, rig_one_turn);
        rig_run_until(t, rig_one_turn);
    }
}

void rig_note(struct rig *t, size_t lines)
{
    for (size_t i = 0; i < lines; i++)
        journal_hook(t->journal, 1, "print", str_c("default/web"), "parked");
}

bool rig_first_answered(struct rig *t)
{
    return strchr(buf_cstr(&t->peers[0].got), '>') != NULL;
}

bool rig_first_eof(struct rig *t)
{
    return t->peers[0].eof;
}

bool rig_asked(struct rig *t)
{
    return t->asked.len > 0;
}

bool rig_one_turn(struct rig *t)
{
    return t->ticks > 0;
}
