/* SPDX-License-Identifier: Apache-2.0 */
/* io/resolver: one lookup for all who wait, the last known addresses when the resolver fails or
 * hangs, and threads that are left for others. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>
#include <uv.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "base/panic.h"
#include "campaign.h"
#include "io/loop.h"
#include "io/resolver.h"
#include "loop_until.h"
#include "play_clock.h"
#include "play_names.h"

/* Longer than a lookup is waited for if addresses are known. */
enum { PATIENCE_MS = 1000 };

/* One caller that asks for a name, and the answers that it got. */
struct asker {
    struct resolver_wait wait;
    bool calling; /* inside resolver_find(): the answer must not come */
    unsigned answers;
    struct buf addresses; /* with blanks between them; empty = an error */
    struct err err;
};

static void on_found(struct resolver_wait *w, const struct addresses *addresses,
                     const struct err *err)
{
    struct asker *a = container_of(w, struct asker, wait);

    ensure(!a->calling);
    a->answers++;
    buf_clear(&a->addresses);
    for (size_t i = 0; addresses != NULL && i < addresses->n; i++) {
        buf_puts(&a->addresses, i > 0 ? " " : "");
        address_put(&a->addresses, &addresses->v[i]);
    }
    if (addresses == NULL)
        a->err = *err;
}

static void ask(struct resolver *r, const char *name, struct asker *a)
{
    if (a->wait.found == NULL)
        resolver_wait_init(&a->wait, on_found);
    a->calling = true;
    resolver_find(r, name, &a->wait);
    a->calling = false;
}

static bool has_answer(void *arg)
{
    const struct asker *a = arg;

    return a->answers > 0;
}

/* Runs the loop until the answer is there, and checks it. */
static void expect(struct loop *l, struct asker *a, const char *addresses)
{
    loop_until(l, has_answer, a);
    assert_int_equal(a->answers, 1);
    assert_string_equal(buf_cstr(&a->addresses), addresses);
    a->answers = 0;
    buf_free(&a->addresses);
}

static bool has_begun(void *arg)
{
    return play_names_begun() >= *(const unsigned *)arg;
}

static void test_all_who_wait_share_one_lookup(void **state)
{
    struct loop *l = loop_create();
    struct resolver *r = resolver_create(l);
    struct asker a[3] = {0};

    (void)state;
    play_names_set("api.test", "fd00::1 10.0.0.1");
    for (size_t i = 0; i < ARRAY_LEN(a); i++)
        ask(r, "api.test", &a[i]);
    for (size_t i = 0; i < ARRAY_LEN(a); i++)
        expect(l, &a[i], "fd00::1 10.0.0.1");
    assert_int_equal(play_names_begun(), 1);
    resolver_dispose(&r);
    loop_destroy(&l);
}

static void test_each_later_connection_looks_the_name_up_anew(void **state)
{
    struct loop *l = loop_create();
    struct resolver *r = resolver_create(l);
    struct asker a = {0};

    (void)state;
    play_names_set("api.test", "10.0.0.1");
    ask(r, "api.test", &a);
    expect(l, &a, "10.0.0.1");
    play_names_set("api.test", "10.0.0.2 10.0.0.3");
    ask(r, "api.test", &a);
    expect(l, &a, "10.0.0.2 10.0.0.3");
    assert_int_equal(play_names_begun(), 2);
    resolver_dispose(&r);
    loop_destroy(&l);
}

static void test_a_lookup_that_fails_gives_the_last_known_addresses(void **state)
{
    struct loop *l = loop_create();
    struct resolver *r = resolver_create(l);
    struct asker a = {0}, b = {0};

    (void)state;
    ask(r, "api.test", &a);
    expect(l, &a, "");
    assert_int_equal(a.err.kind, ERR_IO);
    assert_string_equal(a.err.text, "unknown node or service");
    play_names_set("api.test", "10.0.0.1");
    ask(r, "api.test", &a);
    expect(l, &a, "10.0.0.1");
    play_names_set("api.test", "");
    ask(r, "api.test", &a);
    expect(l, &a, "10.0.0.1");
    ask(r, "other.test", &b); /* the answers of names are not mixed up */
    expect(l, &b, "");
    resolver_dispose(&r);
    loop_destroy(&l);
}

static void test_a_name_that_libuv_refuses_is_an_error(void **state)
{
    static const char label[] =
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.\xff";
    struct loop *l = loop_create();
    struct resolver *r = resolver_create(l);
    struct asker a = {0};

    (void)state;
    ask(r, label, &a);
    expect(l, &a, "");
    assert_int_equal(a.err.kind, ERR_IO);
    resolver_dispose(&r);
    loop_destroy(&l);
}

static void test_a_slow_lookup_holds_nobody_up_who_knows_addresses(void **state)
{
    struct loop *l = loop_create();
    struct resolver *r = resolver_create(l);
    struct asker a = {0}, late = {0};
    unsigned two = 2;

    (void)state;
    play_names_set("api.test", "10.0.0.1");
    ask(r, "api.test", &a);
    expect(l, &a, "10.0.0.1");
    play_names_set("api.test", "10.0.0.2");
    play_names_hang();
    ask(r, "api.test", &a);
    loop_until(l, has_begun, &two);
    play_clock_pass(PATIENCE_MS - 1);
    uv_run(loop_uv(l), UV_RUN_NOWAIT);
    assert_int_equal(a.answers, 0);
    play_clock_pass(1);
    expect(l, &a, "10.0.0.1");
    ask(r, "api.test", &late); /* he does not wait for as long again */
    expect(l, &late, "10.0.0.1");
    assert_int_equal(play_names_begun(), 2);
    play_names_go();
    /* The answer that came late is known from now on. */
    do {
        ask(r, "api.test", &a);
        loop_until(l, has_answer, &a);
        a.answers = 0;
    } while (str_is(buf_str(&a.addresses), "10.0.0.1"));
    assert_string_equal(buf_cstr(&a.addresses), "10.0.0.2");
    buf_free(&a.addresses);
    resolver_dispose(&r);
    loop_destroy(&l);
}

static void test_who_cancels_gets_no_answer_and_the_others_do(void **state)
{
    struct loop *l = loop_create();
    struct resolver *r = resolver_create(l);
    struct asker gone = {0}, stays = {0};

    (void)state;
    play_names_set("api.test", "10.0.0.1");
    ask(r, "api.test", &gone);
    ask(r, "api.test", &stays);
    resolver_cancel(&gone.wait);
    resolver_cancel(&gone.wait);
    expect(l, &stays, "10.0.0.1");
    assert_int_equal(gone.answers, 0);
    resolver_dispose(&r);
    loop_destroy(&l);
}

static void test_dispose_while_lookups_hang_or_wait_for_a_thread(void **state)
{
    static const char *const hanging[] = {"a.test", "b.test", "c.test", "d.test", "e.test"};
    struct loop *l = loop_create();
    struct resolver *r = resolver_create(l);
    unsigned two = 2;

    (void)state;
    play_names_hang();
    for (size_t i = 0; i < ARRAY_LEN(hanging); i++) {
        struct asker a = {0};

        ask(r, hanging[i], &a);
        resolver_cancel(&a.wait);
    }
    loop_until(l, has_begun, &two);
    resolver_dispose(&r);
    resolver_dispose(&r);
    play_names_go();
    loop_destroy(&l);
}

static void work(uv_work_t *req)
{
    (void)req;
}

static void after_work(uv_work_t *req, int status)
{
    (void)status;
    *(bool *)req->data = true;
}

static bool is_true(void *arg)
{
    return *(const bool *)arg;
}

/* If the lookups took all threads, the loop would wait here until the test is killed. */
static void test_lookups_that_hang_leave_threads_for_the_state(void **state)
{
    static const char *const hanging[] = {"a.test", "b.test", "c.test", "d.test", "e.test"};
    struct asker a[ARRAY_LEN(hanging)] = {0};
    struct loop *l = loop_create();
    struct resolver *r = resolver_create(l);
    unsigned two = 2;
    bool done = false;
    uv_work_t req = {.data = &done};

    (void)state;
    play_names_hang();
    for (size_t i = 0; i < ARRAY_LEN(hanging); i++)
        ask(r, hanging[i], &a[i]);
    loop_until(l, has_begun, &two);
    assert_int_equal(uv_queue_work(loop_uv(l), &req, work, after_work), 0);
    loop_until(l, is_true, &done);
    assert_int_equal(play_names_begun(), 2);
    play_names_go();
    for (size_t i = 0; i < ARRAY_LEN(a); i++)
        expect(l, &a[i], "");
    resolver_dispose(&r);
    loop_destroy(&l);
}

static int reset(void **state)
{
    (void)state;
    play_names_reset();
    play_clock_stop(); /* no lookup is slow unless the test says so */
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_all_who_wait_share_one_lookup, reset),
        cmocka_unit_test_setup(test_each_later_connection_looks_the_name_up_anew, reset),
        cmocka_unit_test_setup(test_a_lookup_that_fails_gives_the_last_known_addresses, reset),
        cmocka_unit_test_setup(test_a_name_that_libuv_refuses_is_an_error, reset),
        cmocka_unit_test_setup(test_a_slow_lookup_holds_nobody_up_who_knows_addresses, reset),
        cmocka_unit_test_setup(test_who_cancels_gets_no_answer_and_the_others_do, reset),
        cmocka_unit_test_setup(test_dispose_while_lookups_hang_or_wait_for_a_thread, reset),
        cmocka_unit_test_setup(test_lookups_that_hang_leave_threads_for_the_state, reset),
    };

    alarm(PATIENCE_S);
    /* The environment of a service may name another number of threads. */
    setenv("UV_THREADPOOL_SIZE", "1", 1);
    loop_start_workers();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
