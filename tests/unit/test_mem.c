/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays that grow one by one without a capacity beside them. */
#include <malloc.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"

static void test_an_array_has_room_for_the_next_element(void **state)
{
    uint64_t *v = NULL;
    size_t room = 0;
    size_t times = 0; /* that it grew */

    (void)state;
    for (size_t n = 0; n < 1000; n++) {
        v = mem_grow(v, n, sizeof(*v));
        times += malloc_usable_size(v) != room;
        room = malloc_usable_size(v);
        assert_true(room >= (n + 1) * sizeof(*v));
        v[n] = n;
        for (size_t i = 0; i <= n; i++)
            assert_int_equal(v[i], i);
    }
    assert_in_range(times, 1, 11); /* it doubles */
    free(v);
}

/* A size that wraps would give room for less than the array has. */
static void test_an_overflow_aborts(void **state)
{
    int status;

    (void)state;
    pid_t child = fork();
    if (child == 0) {
        setrlimit(RLIMIT_CORE, &(struct rlimit){0});
        signal(SIGABRT, SIG_DFL);
        close(STDERR_FILENO);
        free(mem_grow(NULL, SIZE_MAX / 2 + 1, 2));
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_array_has_room_for_the_next_element),
        cmocka_unit_test(test_an_overflow_aborts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
