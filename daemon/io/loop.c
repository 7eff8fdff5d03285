/* SPDX-License-Identifier: Apache-2.0 */
#include "io/loop.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include <uv.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/panic.h"

/* For so long the slow tasks of one turn go on. Ten times as long would still be a short wait for an
 * event of some watch, but the poll before the tasks takes its time, too: 6 ms if a thousand
 * connections break at once (tests/bench/reopen.py). */
#define SLICE_NS UINT64_C(2000000)

#define NS_PER_MS UINT64_C(1000000)

struct loop {
    uv_loop_t uv;
    /* Active while a task is queued, and until the next turn after one was cancelled. libuv does
     * not block in poll then, so the next turn comes at once. */
    uv_idle_t turn;
    struct list tasks;
    struct list slow_tasks;
    uv_signal_t *signals; /* one for each number that is caught */
    size_t signal_count;
    loop_signal_cb *on_signal;
    void *signal_arg;
    unsigned work; /* in worker threads, under way */
    uv_prepare_t measure;
    struct loop_lag turns;
    uint64_t turn_ns; /* when the turn began, and the idle time of all turns before it */
    uint64_t idle_ns;
    char recv[LOOP_RECV_BYTES];
};

static void run_first(struct list *tasks)
{
    struct loop_task *task = list_entry(list_first(tasks), struct loop_task, link);

    list_remove(&task->link);
    task->fn(task);
}

/* Runs slow tasks until their time is over, at least one of them. Tasks that they queue are for the
 * next turn. */
static void run_slow(struct loop *l)
{
    const struct list *last = l->slow_tasks.prev;
    bool more = !list_is_empty(&l->slow_tasks);
    uint64_t end_ns = more ? uv_hrtime() + SLICE_NS : 0;

    while (more) {
        more = list_first(&l->slow_tasks) != last;
        run_first(&l->slow_tasks);
        more = more && !list_is_empty(&l->slow_tasks) && uv_hrtime() < end_ns;
    }
}

/* Runs the tasks that are queued now. They are first moved to a list of their own, because a task
 * may queue further ones, and these are for the next turn: tasks that queue each other must not
 * keep the loop from its sockets and timers. A task on that list can still be cancelled. */
static void on_turn(uv_idle_t *turn)
{
    struct loop *l = container_of(turn, struct loop, turn);
    struct list now;

    list_init(&now);
    list_each (pos, tmp, &l->tasks) {
        list_remove(pos);
        list_append(&now, pos);
    }
    while (!list_is_empty(&now))
        run_first(&now);
    run_slow(l);
    /* loop_cancel() does not stop the idle handle; this check does it a turn later. */
    if (list_is_empty(&l->tasks) && list_is_empty(&l->slow_tasks))
        uv_idle_stop(turn);
}

/* Runs before the loop looks for events, which is the end of a turn: callbacks of sockets run inside
 * of that, so only libuv knows how long the loop has slept there. */
static void on_measure(uv_prepare_t *measure)
{
    struct loop *l = container_of(measure, struct loop, measure);
    uint64_t now_ns = uv_hrtime();
    uint64_t idle_ns = uv_metrics_idle_time(&l->uv);
    uint64_t took_ns = now_ns - l->turn_ns;
    uint64_t slept_ns = idle_ns - l->idle_ns;
    uint64_t busy_ns = took_ns > slept_ns ? took_ns - slept_ns : 0;

    if (l->turn_ns > 0) {
        histogram_add(&l->turns.count, (busy_ns + NS_PER_MS - 1) / NS_PER_MS);
        l->turns.busy_ns += busy_ns;
    }
    l->turn_ns = now_ns;
    l->idle_ns = idle_ns;
}

/* Not referenced: it keeps no loop alive. */
static void begin_to_measure(struct loop *l)
{
    ensure(uv_loop_configure(&l->uv, UV_METRICS_IDLE_TIME) == 0);
    uv_prepare_init(&l->uv, &l->measure);
    uv_prepare_start(&l->measure, on_measure);
    uv_unref((uv_handle_t *)&l->measure);
}

const struct loop_lag *loop_lag(const struct loop *l)
{
    return &l->turns;
}

struct loop *loop_create(void)
{
    struct loop *l = mem_zalloc(sizeof(*l));

    list_init(&l->tasks);
    list_init(&l->slow_tasks);
    if (uv_loop_init(&l->uv) != 0)
        panic("cannot make an event loop: out of memory or file descriptors");
    uv_idle_init(&l->uv, &l->turn);
    begin_to_measure(l);
    return l;
}

/* Logs each handle that its owner did not close, so that the panic that follows can be
 * understood. */
static void count_leak(uv_handle_t *h, void *arg)
{
    unsigned *leaks = arg;

    if (uv_is_closing(h))
        return;
    (*leaks)++;
    log_error("handle was not closed before the loop", KV_STR("type", uv_handle_type_name(h->type)),
              KV_INT("active", uv_is_active(h)));
}

/* Closes the loop's own handles. All others must be closing already. */
static void close_handles(struct loop *l)
{
    unsigned leaks = 0;

    ensure(list_is_empty(&l->tasks) && list_is_empty(&l->slow_tasks));
    uv_close((uv_handle_t *)&l->turn, NULL);
    uv_close((uv_handle_t *)&l->measure, NULL);
    for (size_t i = 0; i < l->signal_count; i++)
        uv_close((uv_handle_t *)&l->signals[i], NULL);
    uv_walk(&l->uv, count_leak, &leaks);
    if (leaks > 0)
        panic("%u handles leaked", leaks);
}

void loop_destroy(struct loop **lp)
{
    struct loop *l = *lp;

    if (l == NULL)
        return;
    *lp = NULL;
    close_handles(l);
    /* Runs the close callbacks, which free the owners of the handles. */
    uv_run(&l->uv, UV_RUN_DEFAULT);
    ensure(uv_loop_close(&l->uv) == 0);
    free(l->signals);
    free(l);
}

static void count_handle(uv_handle_t *h, void *arg)
{
    (void)h;
    ++*(unsigned *)arg;
}

/* Is nothing left on the loop but work in threads? */
static bool has_only_work(struct loop *l)
{
    unsigned handles = 0;

    uv_walk(&l->uv, count_handle, &handles);
    return handles == 0 && l->uv.active_reqs.count == l->work;
}

static void end_now(int status, void *arg)
{
    (void)arg;
    (void)fflush(NULL);
    _exit(status);
}

bool loop_finish(struct loop **lp)
{
    struct loop *l = *lp;

    if (l->work == 0) {
        loop_destroy(lp);
        return true;
    }
    *lp = NULL;
    close_handles(l);
    while (!has_only_work(l))
        uv_run(&l->uv, UV_RUN_ONCE);
    (void)on_exit(end_now, NULL);
    return false;
}

void loop_work_began(struct loop *l)
{
    l->work++;
}

void loop_work_ended(struct loop *l)
{
    ensure(l->work > 0);
    l->work--;
}

static void do_nothing(uv_work_t *work)
{
    (void)work;
}

static void after_nothing(uv_work_t *work, int status)
{
    (void)work;
    (void)status;
}

/* The threads are libuv's and serve all loops: any work on any loop starts all of them. libuv lets
 * lookups of names have half of the threads, rounded up, so that with four threads the writer of the
 * state and its sync always have one each (io/resolver). */
void loop_start_workers(void)
{
    struct loop *l = loop_create();
    uv_work_t work;

    ensure(uv_os_setenv("UV_THREADPOOL_SIZE", "4") == 0);

    ensure(uv_queue_work(&l->uv, &work, do_nothing, after_nothing) == 0);
    loop_run(l);
    loop_destroy(&l);
}

void loop_run(struct loop *l)
{
    uv_run(&l->uv, UV_RUN_DEFAULT);
}

void loop_stop(struct loop *l)
{
    uv_stop(&l->uv);
}

struct uv_loop_s *loop_uv(struct loop *l)
{
    return &l->uv;
}

uint64_t loop_now_ms(const struct loop *l)
{
    return uv_now(&l->uv);
}

void loop_update_now(struct loop *l)
{
    uv_update_time(&l->uv);
}

static uint64_t read_clock_ns(clockid_t clock)
{
    struct timespec ts;

    clock_gettime(clock, &ts);
    return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

uint64_t loop_wall_ns(void)
{
    return read_clock_ns(CLOCK_REALTIME);
}

uint64_t loop_boot_ns(void)
{
    return read_clock_ns(CLOCK_BOOTTIME);
}

void loop_task_init(struct loop_task *task, void (*fn)(struct loop_task *task))
{
    list_init(&task->link);
    task->fn = fn;
}

static void queue(struct loop *l, struct list *tasks, struct loop_task *task)
{
    if (!list_is_empty(&task->link))
        return;
    list_append(tasks, &task->link);
    uv_idle_start(&l->turn, on_turn);
}

void loop_defer(struct loop *l, struct loop_task *task)
{
    queue(l, &l->tasks, task);
}

void loop_defer_slow(struct loop *l, struct loop_task *task)
{
    queue(l, &l->slow_tasks, task);
}

bool loop_cancel(struct loop_task *task)
{
    bool was_queued = !list_is_empty(&task->link);

    list_remove(&task->link);
    return was_queued;
}

static void on_signal(uv_signal_t *handle, int number)
{
    const struct loop *l = container_of(handle->loop, struct loop, uv);

    l->on_signal(l->signal_arg, number);
}

void loop_catch(struct loop *l, const int *numbers, size_t n, loop_signal_cb *cb, void *arg)
{
    ensure(n > 0 && l->signals == NULL);
    l->signals = mem_array(n, sizeof(*l->signals));
    l->signal_count = n;
    l->on_signal = cb;
    l->signal_arg = arg;
    for (size_t i = 0; i < n; i++) {
        uv_signal_init(&l->uv, &l->signals[i]);
        uv_signal_start(&l->signals[i], on_signal, numbers[i]);
    }
}

char *loop_recv_buffer(struct loop *l)
{
    return l->recv;
}
