/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_spawn - how many times a second a small fresh process starts a program with posix_spawn() and
 * collects its exit status: hooks.py compares informerd with it.
 *
 *     bench_spawn RUNS AT_ONCE PROGRAM
 *
 * Prints the seconds that all runs took.
 */
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>

#include "base/panic.h"

static double now_s(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static void start(char *program)
{
    char *argv[] = {program, NULL};
    char *env[] = {NULL};
    pid_t pid;

    ensure(posix_spawn(&pid, program, NULL, NULL, argv, env) == 0);
}

static void collect(void)
{
    int status;

    ensure(wait(&status) > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

int main(int argc, char **argv)
{
    if (argc != 4)
        return 64;
    unsigned long runs = strtoul(argv[1], NULL, 10);
    unsigned long at_once = strtoul(argv[2], NULL, 10);
    double begin = now_s();

    for (unsigned long started = 0, ended = 0; ended < runs;) {
        while (started < runs && started - ended < at_once) {
            start(argv[3]);
            started++;
        }
        collect();
        ended++;
    }
    printf("%.6f\n", now_s() - begin);
    return 0;
}
