/* SPDX-License-Identifier: Apache-2.0 */
#include "io/helper_link.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

#include "base/buf.h"
#include "base/compiler.h"
#include "base/list.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/memfile.h"
#include "base/panic.h"
#include "base/wire.h"
#include "io/loop.h"

enum {
    FDS_MAX = WIRE_RUN_FDS,
    REPLIES_PER_TURN = 64 /* so many in a row, then the loop sees to others */
};

enum link_state { LINK_OPEN, LINK_LOST, LINK_DISPOSED };

/* READY: on_reloaded() has reported a new configuration. */
enum reload_state { RELOAD_NONE, RELOAD_ASKED, RELOAD_READY };

struct helper_link {
    uv_poll_t poll;
    struct loop *loop;
    enum link_state state;
    int fd;
    const struct helper_link_events *events;
    void *arg;
    struct list unsent;      /* requests, of struct message, oldest first: the socket was full */
    struct list runs;        /* of struct helper_run: asked for, and not ended yet */
    struct list refused;     /* of struct helper_run: on_refuse() reports their end */
    struct loop_task refuse; /* queued if refused is not empty */
    uint64_t last_id;        /* of a run or a reload */
    enum reload_state reload;
    uint64_t reload_id;  /* ASKED, READY */
    uint64_t generation; /* how many commits were asked for */
};

/* A request and its descriptors, until the socket has taken it. */
struct message {
    struct list link;
    struct wire_request_image head;
    struct str env;
    int fds[FDS_MAX];
    size_t fd_count;
    char env_bytes[]; /* the bytes of env, once queued */
};

/* Room for the descriptors of one message, aligned as the kernel wants it. */
union control {
    struct cmsghdr align;
    char bytes[CMSG_SPACE(FDS_MAX * sizeof(int))];
};

static void close_fds(const int *fds, size_t n)
{
    for (size_t i = 0; i < n; i++)
        close(fds[i]);
}

static void drop_message(struct message *m)
{
    close_fds(m->fds, m->fd_count);
    list_remove(&m->link);
    free(m);
}

static void on_poll(uv_poll_t *poll, int status, int events);

/* Writability matters only while requests wait: else the loop would spin. */
static void listen_to(struct helper_link *l)
{
    int events = UV_READABLE | (list_is_empty(&l->unsent) ? 0 : UV_WRITABLE);

    uv_poll_start(&l->poll, events, on_poll);
}

void helper_run_forget(struct helper_run *run)
{
    if (run->id != 0)
        list_remove(&run->link);
    run->id = 0;
}

static void forget_all(struct list *runs)
{
    list_each (pos, tmp, runs)
        helper_run_forget(list_entry(pos, struct helper_run, link));
}

/* Changes the state. From LOST on nothing is sent, received or reported. */
static void enter(struct helper_link *l, enum link_state state)
{
    static const char *const names[] = {"open", "lost", "disposed"};

    log_debug("helper link", KV_STR("from", names[l->state]), KV_STR("to", names[state]));
    l->state = state;
    if (state == LINK_OPEN) {
        listen_to(l);
        return;
    }
    uv_poll_stop(&l->poll);
    loop_cancel(&l->refuse);
    list_each (pos, tmp, &l->unsent)
        drop_message(list_entry(pos, struct message, link));
    forget_all(&l->runs);
    forget_all(&l->refused);
}

static void lose(struct helper_link *l, const struct err *err)
{
    enter(l, LINK_LOST);
    l->events->on_lost(l->arg, err);
}

/* ---- Requests */

static struct helper_run *find(const struct helper_link *l, uint64_t id)
{
    list_each (pos, tmp, &l->runs)
        if (list_entry(pos, struct helper_run, link)->id == id)
            return list_entry(pos, struct helper_run, link);
    return NULL;
}

/* Reports the end of one run that could not be asked for. Only one in each turn, and last: the event
 * may begin another run, which is refused too, or dispose the link. */
static void on_refuse(struct loop_task *task)
{
    struct helper_link *l = container_of(task, struct helper_link, refuse);
    struct list *first = list_first(&l->refused);

    if (first == NULL) /* forgotten meanwhile */
        return;
    struct helper_run *run = list_entry(first, struct helper_run, link);
    helper_run_forget(run);
    if (!list_is_empty(&l->refused))
        loop_defer(l->loop, &l->refuse);
    run->on_exited(run, &run->refused);
}

/* The run could not be asked for: it ends as refused, in a later turn, since on_exited never comes
 * inside helper_link_run(). With SEND hook/shortage sees that the system was short of something. */
static void refuse(struct helper_link *l, const struct wire_request_image *head, int error)
{
    struct helper_run *run = find(l, head->id);

    if (run == NULL) /* forgotten meanwhile */
        return;
    run->refused = run_end_refused((enum run_program)head->program, RUN_STAGE_SEND, error);
    list_remove(&run->link);
    list_append(&l->refused, &run->link);
    loop_defer(l->loop, &l->refuse);
}

/* Must the message arrive? Without a COMMIT main and the helper would mean different things by a
 * number, an OPEN that is lost has no answer, and a KILL that is lost leaves a run. Only a run that
 * could not be asked for is told as such, and tried again. */
static bool must_arrive(const struct message *m)
{
    return m->head.type != WIRE_RUN && m->head.type != WIRE_CLEAR;
}

/* Sends one request without blocking: one message of a SOCK_SEQPACKET socket. Returns 0 or an errno;
 * EAGAIN: the socket is full, or the system is short of memory for a message that must arrive. */
static int send_now(const struct helper_link *l, struct message *m)
{
    union control control = {0};
    char *env;

    memcpy(&env, &m->env.p, sizeof(env)); /* iovec has no const, though sendmsg() only reads */
    struct iovec iov[] = {
        {&m->head, sizeof(m->head)},
        {env,      m->env.n       },
    };
    struct msghdr msg = {.msg_iov = iov, .msg_iovlen = m->env.n > 0 ? 2 : 1};

    if (m->fd_count > 0) {
        size_t n = m->fd_count * sizeof(int);

        control.align = (struct cmsghdr){CMSG_LEN(n), SOL_SOCKET, SCM_RIGHTS};
        memcpy(CMSG_DATA(&control.align), m->fds, n);
        msg.msg_control = control.bytes;
        msg.msg_controllen = CMSG_SPACE(n);
    }
    while (sendmsg(l->fd, &msg, MSG_DONTWAIT | MSG_NOSIGNAL) < 0) {
        if (must_arrive(m) && (errno == ENOBUFS || errno == ENOMEM))
            return EAGAIN;
        if (errno != EINTR)
            return errno;
    }
    return 0;
}

/* Looks at the result of a send. After EPIPE or ECONNRESET the helper is gone: the next read
 * notices that, and on_lost reports it once for all runs. Any other error ends a run; the other
 * requests are only logged. */
static void finish(struct helper_link *l, const struct message *m, int error)
{
    if (error == 0 || error == EPIPE || error == ECONNRESET)
        return;
    if (m->head.type == WIRE_RUN || m->head.type == WIRE_CLEAR)
        refuse(l, &m->head, error);
    else
        log_error("helper: a request could not be sent", KV_U64("type", m->head.type),
                  KV_STR("err", strerrordesc_np(error)));
}

/* Keeps a copy of the request, whose env the caller may free now, until the socket takes it. */
static void enqueue(struct helper_link *l, const struct message *m)
{
    struct message *copy = mem_alloc(sizeof(*copy) + m->env.n);

    *copy = *m;
    if (m->env.n > 0)
        memcpy(copy->env_bytes, m->env.p, m->env.n);
    copy->env.p = copy->env_bytes;
    list_append(&l->unsent, &copy->link);
    listen_to(l);
}

/* Sends a request now, or queues it behind others so that the order stays. Takes the descriptors
 * over, borrows env. On a lost link the request is dropped: on_lost was the last event. */
static void submit(struct helper_link *l, struct message *m)
{
    int error = EAGAIN;

    if (l->state != LINK_OPEN) {
        close_fds(m->fds, m->fd_count);
        return;
    }
    if (m->env.n > HELPER_LINK_ENV_MAX) /* the helper receives no message that is longer */
        error = E2BIG;
    else if (list_is_empty(&l->unsent))
        error = send_now(l, m);
    if (error == EAGAIN) {
        enqueue(l, m);
        return;
    }
    finish(l, m, error);
    close_fds(m->fds, m->fd_count);
}

/* The socket has room: sends queued requests until it is full again. */
static void send_queued(struct helper_link *l)
{
    list_each (pos, tmp, &l->unsent) {
        struct message *m = list_entry(pos, struct message, link);
        int error = send_now(l, m);

        if (error == EAGAIN)
            return;
        finish(l, m, error);
        drop_message(m);
    }
    listen_to(l);
}

/* Notes that a run is under way, and asks for it. */
static void begin(struct helper_link *l, struct helper_run *run, struct message *m)
{
    if (l->state == LINK_OPEN) {
        ensure(run->id == 0);
        run->id = m->head.id = ++l->last_id;
        list_init(&run->link);
        list_append(&l->runs, &run->link);
    }
    submit(l, m);
}

void helper_link_run(struct helper_link *l, struct helper_run *run, uint32_t hook,
                     enum run_program program, struct str env, const int fds[3])
{
    struct message m = {
        .head = {WIRE_RUN, hook, 0, program, 0},
          .env = env, .fd_count = FDS_MAX
    };

    memcpy(m.fds, fds, sizeof(m.fds));
    begin(l, run, &m);
}

/* Fills the descriptors of a program that answers: ends is the pipe for its answer. Returns 0 or an
 * errno. */
static int open_question(struct str question, const int ends[2], int fds[FDS_MAX])
{
    struct err err = {0};

    fds[STDOUT_FILENO] = ends[1];
    fds[STDERR_FILENO] = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (fds[STDERR_FILENO] < 0 || fcntl(ends[0], F_SETFL, O_NONBLOCK) < 0)
        return errno;
    if (memfile_create("informerd-question", question, &fds[STDIN_FILENO], &err) == ERR_OK)
        return 0;
    return err.code;
}

int helper_link_ask(struct helper_link *l, struct helper_run *run, uint32_t hook,
                    enum run_program program, struct str question)
{
    int fds[FDS_MAX];
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) < 0)
        return -1;
    int error = open_question(question, ends, fds);
    if (error == 0) {
        helper_link_run(l, run, hook, program, str_c(NULL), fds);
        return ends[0];
    }
    close_fds(ends, 2);
    if (fds[STDERR_FILENO] >= 0)
        close(fds[STDERR_FILENO]);
    errno = error;
    return -1;
}

void helper_link_kill(struct helper_link *l, const struct helper_run *run, int signal_number)
{
    struct message m = {
        .head = {WIRE_KILL, (uint32_t)signal_number, run->id, 0, 0}
    };

    ensure(signal_number > 0 && signal_number < NSIG);
    if (run->id != 0) /* else it has ended already */
        submit(l, &m);
}

void helper_link_clear(struct helper_link *l, struct helper_run *run, struct str env)
{
    struct message m = {.head.type = WIRE_CLEAR, .env = env};

    begin(l, run, &m);
}

void helper_link_log_level(struct helper_link *l, enum log_level level)
{
    struct message m = {
        .head = {WIRE_LOG_LEVEL, (uint32_t)level, 0, 0, 0}
    };

    submit(l, &m);
}

void helper_link_open(struct helper_link *l, uint32_t file, uint64_t tag)
{
    struct message m = {
        .head = {WIRE_OPEN, file, tag, 0, 0}
    };

    submit(l, &m);
}

/* ---- Reload */

static void submit_reload(struct helper_link *l, enum wire_request_type type)
{
    struct message m = {
        .head = {type, 0, l->reload_id, 0, 0}
    };

    submit(l, &m);
}

void helper_link_reload(struct helper_link *l)
{
    l->reload = RELOAD_ASKED;
    l->reload_id = ++l->last_id;
    submit_reload(l, WIRE_RELOAD);
}

void helper_link_commit(struct helper_link *l)
{
    ensure(l->reload == RELOAD_READY || l->state != LINK_OPEN);
    l->reload = RELOAD_NONE;
    l->generation++;
    submit_reload(l, WIRE_COMMIT);
}

void helper_link_drop(struct helper_link *l)
{
    if (l->reload == RELOAD_NONE)
        return;
    l->reload = RELOAD_NONE;
    submit_reload(l, WIRE_DROP);
}

/* A descriptor that the kernel could not give to this process is missing: then there is nothing that
 * main could commit. An answer to an earlier reload counts no more. */
static enum err_kind on_reloaded(struct helper_link *l, const struct wire_reply *reply, int fd,
                                 struct err *err)
{
    bool is_ready = reply->error == WIRE_RELOADED_READY && fd >= 0;

    if (l->reload == RELOAD_NONE || reply->id != l->reload_id) {
        if (fd >= 0)
            close(fd);
        return ERR_OK;
    }
    if (l->reload == RELOAD_READY || reply->error == WIRE_RELOADED_DROPPED)
        return err_set(err, ERR_PROTOCOL, 0, "reply of the helper: a reload ended twice");
    if (!is_ready && reply->error == WIRE_RELOADED_READY)
        helper_link_drop(l);
    l->reload = is_ready ? RELOAD_READY : RELOAD_NONE;
    l->events->on_reloaded(l->arg, is_ready, fd);
    return ERR_OK;
}

/* ---- Replies */

/* Receives one reply and its descriptor (-1 = none). ERR_BUSY: nothing is there. There is room for
 * one descriptor; others would be closed by the kernel. */
static enum err_kind receive(const struct helper_link *l, struct wire_reply *reply, int *fd,
                             struct err *err)
{
    char bytes[sizeof(*reply)];
    union control control;
    struct iovec iov = {bytes, sizeof(bytes)};
    struct msghdr msg = {.msg_iov = &iov,
                         .msg_iovlen = 1,
                         .msg_control = control.bytes,
                         .msg_controllen = CMSG_LEN(sizeof(int))};
    ssize_t n = recvmsg(l->fd, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

    *fd = -1;
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return ERR_BUSY;
    if (n < 0 && errno != ECONNRESET)
        return err_set(err, ERR_IO, errno, "helper: receive: %s", strerrordesc_np(errno));
    if (n <= 0)
        return err_set(err, ERR_CLOSED, 0, "the helper process has ended");
    const struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
    if (c != NULL && c->cmsg_type == SCM_RIGHTS && c->cmsg_len == CMSG_LEN(sizeof(int)))
        memcpy(fd, CMSG_DATA(c), sizeof(*fd));
    if ((msg.msg_flags & MSG_TRUNC) != 0)
        return err_set(err, ERR_PROTOCOL, 0, "reply of the helper: longer than %zd bytes", n);
    return wire_reply_decode(str_of(bytes, (size_t)n), reply, err);
}

/* Reports one reply. If the result is ERR_OK, fd was given to the event. A descriptor that no reply
 * should have is a broken helper. */
static enum err_kind deliver(struct helper_link *l, const struct wire_reply *reply, int fd,
                             struct err *err)
{
    bool is_file = reply->type == WIRE_OPENED && reply->error == 0;
    bool is_text = reply->type == WIRE_RELOADED && reply->error != WIRE_RELOADED_DROPPED;
    struct helper_run *run;

    if (fd >= 0 && !is_file && !is_text)
        return err_set(err, ERR_PROTOCOL, 0,
                       "reply of the helper: a descriptor that nobody asked for, type %d",
                       (int)reply->type);
    switch (reply->type) {
    case WIRE_EXITED:
        run = find(l, reply->id);
        if (run == NULL) /* it was forgotten */
            break;
        helper_run_forget(run);
        run->on_exited(run, &reply->end);
        break;
    /* The error is 0 without a descriptor: the file was opened, but this process has too many
     * open. */
    case WIRE_OPENED:
        l->events->on_opened(l->arg, reply->id, fd, is_file && fd < 0 ? EMFILE : reply->error);
        break;
    /* After a commit the helper reports the change once more, with the new number. */
    case WIRE_CHANGED:
        if (reply->generation == l->generation)
            l->events->on_changed(l->arg, (uint32_t)reply->id);
        break;
    case WIRE_RELOADED:
        return on_reloaded(l, reply, fd, err);
    }
    return ERR_OK;
}

static enum err_kind receive_one(struct helper_link *l, struct err *err)
{
    struct wire_reply reply = {0};
    int fd;
    enum err_kind kind = receive(l, &reply, &fd, err);

    if (kind == ERR_OK)
        kind = deliver(l, &reply, fd, err);
    if (kind != ERR_OK && fd >= 0)
        close(fd);
    return kind;
}

/* Sends the messages that wait and reads replies. Any event may dispose l; its memory stays until the
 * loop is back (ARCHITECTURE.md "Lifetime"). A negative status is a hangup or an error of the socket:
 * reading finds out which. */
static void on_poll(uv_poll_t *poll, int status, int events)
{
    struct helper_link *l = container_of(poll, struct helper_link, poll);
    enum err_kind kind = ERR_OK;
    struct err err;

    if (status == 0 && (events & UV_WRITABLE) != 0)
        send_queued(l);
    for (int n = 0; kind == ERR_OK && l->state == LINK_OPEN && n < REPLIES_PER_TURN; n++)
        kind = receive_one(l, &err);
    if (l->state != LINK_OPEN)
        return;
    if (kind != ERR_OK && kind != ERR_BUSY)
        lose(l, &err);
    else if (status < 0) /* on an error libuv stops watching: begin again for the rest */
        listen_to(l);
}

/* ---- Begin and end */

struct helper_link *helper_link_create(struct loop *loop, int fd,
                                       const struct helper_link_events *events, void *arg)
{
    struct helper_link *l =
        MEM_NEW(struct helper_link, .loop = loop, .fd = fd, .events = events, .arg = arg);

    list_init(&l->unsent);
    list_init(&l->runs);
    list_init(&l->refused);
    loop_task_init(&l->refuse, on_refuse);
    ensure(uv_poll_init(loop_uv(loop), &l->poll, fd) == 0);
    enter(l, LINK_OPEN);
    return l;
}

/* The poll handle is the only handle of a link: its close callback frees the link. */
static void on_closed(uv_handle_t *handle)
{
    free(container_of(handle, struct helper_link, poll));
}

void helper_link_dispose(struct helper_link **lp)
{
    struct helper_link *l = *lp;

    if (l == NULL)
        return;
    *lp = NULL;
    /* The descriptor is closed after uv_close(), which stops polling: libuv must not poll a number
     * that another file may have by then. */
    enter(l, LINK_DISPOSED);
    uv_close((uv_handle_t *)&l->poll, on_closed);
    close(l->fd);
}
