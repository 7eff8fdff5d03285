/* SPDX-License-Identifier: Apache-2.0 */
#include "play_clock.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { NS_PER_MS = 1000000, NS_PER_S = 1000000000 };

/* At the real time since_ns the clock showed then_ns. From there on it takes slowness real
 * nanoseconds for one of its own; 0 = the clock stands. play_clock_pass() and play_clock_step() add
 * to that. */
static atomic_llong since_ns;
static atomic_llong then_ns;
static atomic_llong slowness = 1;
static atomic_llong ahead_ns;
static atomic_llong step_ns;
static atomic_llong wall_s; /* where CLOCK_REALTIME stands; 0 = it goes */

/* libuv calls this one in place of the C library's. */
int play_clock(clockid_t clock, struct timespec *now) __asm__("clock_gettime");

static int read_real(clockid_t clock, struct timespec *now)
{
    return (int)syscall(SYS_clock_gettime, clock, now);
}

static long long in_ns(const struct timespec *t)
{
    return (long long)t->tv_sec * NS_PER_S + t->tv_nsec;
}

static long long played_ns(long long real)
{
    long long slow = atomic_load(&slowness);
    long long since = atomic_load(&since_ns);

    return atomic_load(&then_ns) + (slow > 0 ? (real - since) / slow : 0);
}

int play_clock(clockid_t clock, struct timespec *now)
{
    bool is_ours = clock == CLOCK_MONOTONIC || clock == CLOCK_MONOTONIC_COARSE;
    int result = read_real(is_ours ? CLOCK_MONOTONIC : clock, now);

    if (result == 0 && clock == CLOCK_REALTIME && atomic_load(&wall_s) != 0)
        *now = (struct timespec){.tv_sec = (time_t)atomic_load(&wall_s)};
    if (result != 0 || !is_ours)
        return result;
    long long step = atomic_load(&step_ns);
    long long ns = played_ns(in_ns(now)) + atomic_fetch_add(&ahead_ns, step) + step;

    now->tv_sec = (time_t)(ns / NS_PER_S);
    now->tv_nsec = (long)(ns % NS_PER_S);
    return result;
}

static void set_slowness(long long slow)
{
    struct timespec now;

    read_real(CLOCK_MONOTONIC, &now);
    long long real = in_ns(&now);
    atomic_store(&then_ns, played_ns(real));
    atomic_store(&since_ns, real);
    atomic_store(&slowness, slow);
}

void play_clock_stop(void)
{
    set_slowness(0);
}

void play_clock_slow(unsigned times)
{
    set_slowness(times);
}

void play_clock_go(void)
{
    set_slowness(1);
}

void play_clock_pass(uint64_t ms)
{
    atomic_fetch_add(&ahead_ns, (long long)ms * NS_PER_MS);
}

void play_clock_step(uint64_t ms)
{
    atomic_store(&step_ns, (long long)ms * NS_PER_MS);
}

void play_clock_set_wall(int64_t since_1970_s)
{
    atomic_store(&wall_s, since_1970_s);
}
