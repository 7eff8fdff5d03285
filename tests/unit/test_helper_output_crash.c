/* SPDX-License-Identifier: Apache-2.0 */
/* Output files when the system or somebody else stops the writing: a full disk, a read-only one,
 * kill -9 at any moment. The file is the old or the new one, whole, at any time. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "base/mem.h"
#include "base/rng.h"
#include "campaign.h"
#include "output_rig.h"
#include "play_clock.h"

enum { DISK = 1024 * 1024 };

/* Bytes that show whether all of them are there: the same letter, and a dot at the end. */
static char *filled(size_t n, char letter)
{
    char *bytes = mem_alloc(n + 1);

    memset(bytes, letter, n);
    bytes[n - 1] = '.';
    bytes[n] = '\0';
    return bytes;
}

/* The caller has mounts of its own from here on. False if that is not allowed. */
static bool own_mounts(void)
{
    return unshare(CLONE_NEWNS) == 0 && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
}

static void test_full_disk(void **state)
{
    struct output_rig o;

    (void)state;
    if (!own_mounts())
        skip(); /* without root there is no small disk */
    char *small = filled(1000, 'a');
    char *big = filled((size_t)2 * DISK, 'b');
    output_rig_init(&o, "/${namespace}/f");
    assert_int_equal(mount("none", o.folder, "tmpfs", 0, "size=1m,mode=755"), 0);
    output_rig_start(&o);
    output_rig_refuse(&o, big, "write", ENOSPC);
    assert_int_equal(output_rig_count(&o, ""), 0);
    output_rig_write(&o, small, "written");
    output_rig_refuse(&o, big, "write", ENOSPC);
    output_rig_expect_file(&o, "shop/f", small);
    assert_int_equal(output_rig_count(&o, "shop"), 1);
    small[0] = 'c';
    output_rig_write(&o, small, "written"); /* there is room again */
    helper_rig_close(&o.w);
    assert_int_equal(umount(o.folder), 0);
    assert_int_equal(rmdir(o.folder), 0);
    close(o.out);
    free(o.template);
    free(small);
    free(big);
}

static void test_no_inodes(void **state)
{
    struct output_rig o;

    (void)state;
    if (!own_mounts())
        skip(); /* not root */
    output_rig_init(&o, "/${namespace}/f");
    assert_int_equal(mount("none", o.folder, "tmpfs", 0, "nr_inodes=2,mode=755"), 0);
    output_rig_start(&o);
    output_rig_refuse(&o, "x", "create", ENOSPC); /* there is room for the folder only */
    assert_int_equal(output_rig_count(&o, ""), 0);
    helper_rig_close(&o.w);
    assert_int_equal(umount(o.folder), 0);
    assert_int_equal(rmdir(o.folder), 0);
    close(o.out);
    free(o.template);
}

static void test_read_only_disk(void **state)
{
    struct output_rig o;

    (void)state;
    if (!own_mounts())
        skip(); /* not root */
    output_rig_init(&o, "/f");
    output_rig_put(&o, "f", "old");
    assert_int_equal(mount(o.folder, o.folder, NULL, MS_BIND, NULL), 0);
    assert_int_equal(mount(NULL, o.folder, NULL, MS_REMOUNT | MS_BIND | MS_RDONLY, NULL), 0);
    output_rig_start(&o);
    output_rig_refuse(&o, "x", "create", EROFS);
    output_rig_expect_file(&o, "f", "old");
    output_rig_write(&o, "old", "same");
    output_rig_begin(&o, RUN_PROGRAM_REMOVE, "shop", "web", "");
    output_rig_await(&o);
    output_rig_expect(&o, RUN_END_REFUSED, EROFS, "remove");
    assert_int_equal(umount(o.folder), 0);
    output_rig_close(&o);
}

/* A helper that is not root, in a folder of another user. */
static void test_read_only_folder(void **state)
{
    struct output_rig o;
    uid_t before = geteuid();

    (void)state;
    output_rig_init(&o, "/${name}/f");
    assert_int_equal(chmod(o.folder, 0555), 0);
    if (before == 0)
        assert_int_equal(seteuid(HELPER_RIG_NOBODY), 0);
    output_rig_start(&o);
    assert_int_equal(seteuid(before), 0);
    output_rig_refuse(&o, "x", "folder", EACCES);
    assert_int_equal(output_rig_count(&o, ""), 0);
    assert_int_equal(chmod(o.folder, 0755), 0);
    output_rig_close(&o);
}

/* ---- Kills */

enum { A = 700001, B = 300007 };

/* The file is whole: its own number of 'a's or 'b's, and the end. */
static void expect_whole(const struct output_rig *o)
{
    char *bytes = mem_alloc(A + B);
    int fd = open(output_rig_path(o, "shop/f"), O_RDONLY | O_CLOEXEC);

    assert_true(fd >= 0);
    ssize_t n = read(fd, bytes, A + B);
    close(fd);
    assert_true(n == A || n == B);
    for (ssize_t i = 0; i < n - 1; i++)
        assert_int_equal(bytes[i], n == A ? 'a' : 'b');
    assert_int_equal(bytes[n - 1], '.');
    free(bytes);
}

static void wait_ns(uint64_t ns)
{
    struct timespec start;
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &start);
    do
        clock_gettime(CLOCK_MONOTONIC, &now);
    while ((uint64_t)(now.tv_sec - start.tv_sec) * 1000000000 + (uint64_t)now.tv_nsec -
               (uint64_t)start.tv_nsec <
           ns);
}

static uint64_t measure_ns(struct output_rig *o, const char *bytes)
{
    struct timespec start;
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &start);
    output_rig_write(o, bytes, "written");
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)((now.tv_sec - start.tv_sec) * 1000000000 + now.tv_nsec - start.tv_nsec);
}

/* Writers of one file, with one of two contents, which are stopped at any moment. */
struct kills {
    struct output_rig o;
    struct rng rng;
    char *bytes[2];
    uint64_t took_ns; /* by a writer that is not stopped, when the machine has time for it */
};

static void kills_open(struct kills *k, uint64_t seed)
{
    *k = (struct kills){
        .bytes = {filled(A, 'a'), filled(B, 'b')},
          .took_ns = UINT64_MAX
    };
    rng_seed(&k->rng, seed);
    output_rig_open(&k->o, "/${namespace}/f");
    for (int i = 0; i < 6; i++) {
        uint64_t took_ns = measure_ns(&k->o, k->bytes[i % 2]);

        if (took_ns < k->took_ns)
            k->took_ns = took_ns;
    }
}

/* Begins to write, and returns at any moment of the writing, or shortly after it. */
static void kills_begin(struct kills *k)
{
    output_rig_begin(&k->o, RUN_PROGRAM_OUTPUT, "shop", "web",
                     k->bytes[rng_between(&k->rng, 0, 1)]);
    wait_ns(rng_between(&k->rng, 0, 2 * k->took_ns));
}

/* After all of them a run writes as usual, and no temporary file is left. */
static void kills_close(struct kills *k)
{
    output_rig_begin(&k->o, RUN_PROGRAM_OUTPUT, "shop", "web", k->bytes[1]);
    output_rig_await(&k->o);
    assert_int_equal(k->o.w.end.value, 0);
    assert_int_equal(output_rig_count(&k->o, "shop"), 1);
    output_rig_close(&k->o);
    free(k->bytes[0]);
    free(k->bytes[1]);
}

/* A signal to the group of the run, like at the end of a timeout's grace; the helper goes on. */
static void test_kills_of_a_run(void **state)
{
    const size_t kills = campaign_size(30, 200);
    size_t killed = 0;
    struct kills k;

    (void)state;
    kills_open(&k, 7);
    for (size_t i = 0; i < kills || killed == 0; i++) {
        kills_begin(&k);
        helper_link_kill(k.o.w.link, helper_rig_asked(&k.o.w, k.o.id), SIGKILL);
        output_rig_await(&k.o);
        killed += k.o.w.end.kind == RUN_END_SIGNALED;
        expect_whole(&k.o);
    }
    kills_close(&k);
}

/* A signal to the helper: the writer dies with it. */
static void test_kills_of_the_helper(void **state)
{
    const size_t kills = campaign_size(8, 30);
    struct kills k;

    (void)state;
    kills_open(&k, 8);
    for (size_t i = 0; i < kills; i++) {
        kills_begin(&k);
        assert_int_equal(kill(k.o.w.helper, SIGKILL), 0);
        assert_int_equal(helper_rig_wait(&k.o.w), -SIGKILL);
        helper_rig_expect_eof(k.o.out); /* the writer is gone */
        k.o.out = -1;
        k.o.w.helper = -1;
        helper_rig_close(&k.o.w);
        expect_whole(&k.o);
        output_rig_start(&k.o);
        k.o.id = 0;
    }
    kills_close(&k);
}

/* Files of other objects come and go, and the folder with them. */
NORETURN static void race(const char *folder)
{
    enum { PAUSE_NS = 100000 };

    prctl(PR_SET_PDEATHSIG, SIGKILL); /* whatever becomes of the test */
    play_clock_go();
    for (unsigned i = 0;; i++) {
        int rc = i % 4 == 0 ? mkdir(folder, 0755) : rmdir(folder);

        (void)rc;
        wait_ns(PAUSE_NS);
    }
}

static void test_folder_comes_and_goes(void **state)
{
    const size_t runs = campaign_size(25, 80);
    struct output_rig o;
    int status;

    (void)state;
    output_rig_open(&o, "/${namespace}/f");
    char *folder = mem_strdup(output_rig_path(&o, "shop"));
    pid_t racer = fork();
    if (racer == 0)
        race(folder);
    for (size_t i = 0; i < runs; i++) {
        output_rig_write(&o, "x", "written");
        output_rig_expect_file(&o, "shop/f", "x");
        output_rig_remove(&o, "removed");
    }
    assert_int_equal(kill(racer, SIGKILL), 0);
    assert_int_equal(waitpid(racer, &status, 0), racer);
    assert_true(WIFSIGNALED(status));
    free(folder);
    output_rig_close(&o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_full_disk),
        cmocka_unit_test(test_no_inodes),
        cmocka_unit_test(test_read_only_disk),
        cmocka_unit_test(test_read_only_folder),
        cmocka_unit_test(test_kills_of_a_run),
        cmocka_unit_test(test_kills_of_the_helper),
        cmocka_unit_test(test_folder_comes_and_goes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
