/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process that writes delivery records is killed many times while it writes, syncs and moves
 * pages: each record that it reported as committed is there, none goes back, and the file is sound.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/rng.h"
#include "campaign.h"
#include "state/syncer.h"
#include "state_rig.h"

enum { KEYS = 40 };

/* Of the child: syncs and checkpoints beside the writer. */
static void *sync_for_ever(void *arg)
{
    const struct folder *f = arg;
    struct err err;

    for (unsigned i = 0;; i++)
        if (syncer_run(f, i % 3 == 0, &err) != ERR_OK && err.kind != ERR_NOT_FOUND)
            _exit(3);
    return NULL;
}

/* Of the child: one delivery record after the other, and each number once it is committed. */
static void write_for_ever(const char *path, uint64_t number, int out)
{
    struct folder *f;
    pthread_t thread;
    struct err err;

    if (folder_open(path, &f, &err) != ERR_OK)
        _exit(2);
    struct writer *w = writer_create(f, STATE_RIG_LIMIT);
    if (pthread_create(&thread, NULL, sync_for_ever, f) != 0)
        _exit(2);
    for (struct batch b = {0};; number++) {
        struct writer_report report;
        char key[16];

        snprintf(key, sizeof(key), "k%d", (int)(number % KEYS));
        const struct row_delivery m = {.source = 5,
                                       .key = str_c(key),
                                       .uid = str_c("u"),
                                       .is_delivered = true,
                                       .delivered = {.lo = number}};
        batch_delivery(&b, &m, NULL);
        if (writer_apply(w, &b, &report, &err) != ERR_OK)
            _exit(4);
        batch_clear(&b);
        if (write(out, &number, sizeof(number)) != sizeof(number))
            _exit(5);
    }
}

/* The rows that were read back: the number of each key. */
struct deliveries {
    uint64_t of[KEYS];
};

static void on_item(void *arg, const struct row_item *item)
{
    (void)arg;
    (void)item;
}

static void on_fact(void *arg, const struct row_fact *fact)
{
    (void)arg;
    (void)fact;
}

static void on_object(void *arg, uint64_t stream, const struct row_object *o)
{
    (void)arg;
    (void)stream;
    (void)o;
}

static void on_delivery(void *arg, const struct row_delivery *m)
{
    struct deliveries *deliveries = arg;
    char key[16];

    snprintf(key, sizeof(key), "%.*s", STR_ARG(m->key));
    deliveries->of[strtoul(key + 1, NULL, 10)] = m->delivered.lo;
}

/* Reads the numbers until the child is dead; returns the last one. */
static uint64_t listen_and_kill(pid_t child, int in, unsigned after, uint64_t last)
{
    uint64_t number;
    unsigned seen = 0;

    while (read(in, &number, sizeof(number)) == sizeof(number)) {
        last = number;
        if (++seen == after)
            kill(child, SIGKILL);
    }
    return last;
}

static void expect_all(const struct folder *f, uint64_t last, uint64_t *begin)
{
    static const struct loader_sink sink = {on_item, on_fact, on_object, on_delivery};
    struct deliveries deliveries = {{0}};
    struct err err;

    if (loader_read(f, &sink, &deliveries, &err) != LOADER_STATE)
        fail_msg("not sound: %s", err.text);
    for (uint64_t number = last > KEYS ? last - KEYS + 1 : 1; number <= last; number++)
        assert_true(deliveries.of[number % KEYS] >= number);
    /* One more record may have been committed, whose number was not reported. */
    for (int i = 0; i < KEYS; i++)
        assert_true(deliveries.of[i] <= last + 1);
    *begin = last + 1;
}

static void test_no_committed_delivery_is_lost(void **state)
{
    struct state_rig r;
    struct rng rng;
    uint64_t begin = 1;
    uint64_t total = 0;
    const size_t kills = campaign_size(25, 200);

    (void)state;
    state_rig_init(&r);
    rng_seed(&rng, 11);
    for (size_t i = 0; i < kills; i++) {
        int pipes[2];
        int status;

        folder_close(&r.folder);
        assert_int_equal(pipe(pipes), 0);
        fflush(NULL);
        pid_t child = fork();
        if (child == 0) {
            close(pipes[0]);
            write_for_ever(r.path, begin, pipes[1]);
        }
        close(pipes[1]);
        uint64_t last =
            listen_and_kill(child, pipes[0], 1 + (unsigned)(rng_next(&rng) % 200), begin - 1);
        close(pipes[0]);
        assert_int_equal(waitpid(child, &status, 0), child);
        if (!WIFSIGNALED(status))
            fail_msg("the writer ended with %d", WEXITSTATUS(status));
        assert_int_equal(folder_open(r.path, &r.folder, &r.err), ERR_OK);
        total += last + 1 - begin;
        expect_all(r.folder, last, &begin);
    }
    assert_true(total > kills);
    state_rig_fini(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_no_committed_delivery_is_lost)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
