/* SPDX-License-Identifier: Apache-2.0 */
#include "reflex.h"

#include <inttypes.h>

struct reflex reflex;

const struct reflector_params reflex_defaults = {
    .backoff = {.initial_ms = REFLEX_INITIAL, .max_ms = 30000, .factor = 2, .jitter = 0},
    .reset_after_ms = REFLEX_RESET_AFTER,
    .page_size = 500,
    .watch_min_s = 300,
    .watch_max_s = 600,
    .watch_list = WATCH_LIST_OFF,
};

void reflex_use(const struct reflector_params *p)
{
    reflector_destroy(&reflex.r);
    reflex = (struct reflex){.now = 1000000, .r = reflector_create(p, 1)};
}

int reflex_set_up(void **state)
{
    (void)state;
    reflex_use(&reflex_defaults);
    return 0;
}

int reflex_clean_up(void **state)
{
    (void)state;
    reflector_destroy(&reflex.r);
    reflector_destroy(&reflex.r);
    assert_null(reflex.r);
    return 0;
}

void reflex_start(void)
{
    reflex.last = reflector_start(reflex.r, reflex.now);
}

void reflex_listed(const char *rv, const char *next)
{
    reflex.last = reflector_listed(reflex.r, str_c(rv), str_c(next), reflex.now);
}

void reflex_sync_at(const char *rv)
{
    reflex_start();
    reflex_listed(rv, "");
}

void reflex_ended_after(uint64_t ms)
{
    reflex.now += ms;
    reflex.last = reflector_ended(reflex.r, reflex.now);
}

void reflex_failed_asking(enum err_kind kind, uint64_t retry_after_ms)
{
    reflex.last =
        reflector_failed(reflex.r, &(struct err){.kind = kind}, retry_after_ms, reflex.now);
}

void reflex_failed(enum err_kind kind)
{
    reflex_failed_asking(kind, 0);
}

void reflex_refused(int code)
{
    reflex.last =
        reflector_failed(reflex.r, &(struct err){.kind = ERR_SERVER, .code = code}, 0, reflex.now);
}

void reflex_timer(void)
{
    assert_int_equal(reflex.last.what, REFLECTOR_WAIT);
    reflex.now += reflex.last.wait_ms;
    reflex.last = reflector_timer(reflex.r, reflex.now);
}

void reflex_held(uint64_t wait_ms)
{
    reflex.last = reflector_held(reflex.r, wait_ms);
}

void reflex_relist(enum relist_reason why)
{
    reflex.last = reflector_relist(reflex.r, why, reflex.now);
}

void reflex_seen(const char *rv)
{
    reflector_seen(reflex.r, str_c(rv));
}

uint64_t reflex_relists(enum relist_reason why)
{
    return reflector_relists(reflex.r)[why];
}

uint64_t reflex_all_relists(void)
{
    uint64_t n = 0;

    for (size_t i = 0; i < RELIST_REASONS; i++)
        n += reflector_relists(reflex.r)[i];
    return n;
}

static void put_rv(struct buf *out, const char *letter, const char *rv)
{
    buf_printf(out, "%s(%s)", letter, rv != NULL ? rv : "-");
}

/* Does the state say what is being done? */
static void check_state(enum reflector_do what)
{
    static const enum reflector_state states[] = {REFLECTOR_LISTING, REFLECTOR_STREAMING,
                                                  REFLECTOR_WATCHING, REFLECTOR_PROBING};
    enum reflector_state is = reflector_state(reflex.r);

    if (what == REFLECTOR_WATCH && reflex.last.rv == NULL)
        assert_int_equal(is, REFLECTOR_COMPARING);
    else if (what == REFLECTOR_WAIT)
        assert_true(is == REFLECTOR_BACKOFF || is == REFLECTOR_HELD || is == REFLECTOR_IDLE);
    else
        assert_int_equal(is, states[what]);
}

static void put_action(struct buf *out, const struct reflector_action *a)
{
    static const char *const letters[] = {"L", "S", "W", "P"};

    if (a->what == REFLECTOR_WAIT) {
        buf_printf(out, "wait %" PRIu64, a->wait_ms);
        return;
    }
    if (a->next != NULL)
        buf_printf(out, "L continue=%s", a->next);
    else
        put_rv(out, letters[a->what], a->rv);
    if (a->limit > 0)
        buf_printf(out, " limit=%u", a->limit);
}

void reflex_want(const char *want)
{
    const struct reflector_action *a = &reflex.last;
    struct buf got = {0};

    put_action(&got, a);
    assert_string_equal(buf_cstr(&got), want);
    buf_free(&got);
    check_state(a->what);
    if (a->what == REFLECTOR_WATCH)
        assert_string_equal(reflector_last_sync_rv(reflex.r), a->rv != NULL ? a->rv : "");
    if (a->what == REFLECTOR_WATCH || a->what == REFLECTOR_STREAM)
        assert_in_range(a->timeout_s, 300, 600);
    else
        assert_int_equal(a->timeout_s, 0);
    assert_true(a->next == NULL || a->rv == NULL);
}

void reflex_want_wait_then(uint64_t ms, const char *want)
{
    struct buf wait = {0};

    buf_printf(&wait, "wait %" PRIu64, ms);
    reflex_want(buf_cstr(&wait));
    buf_free(&wait);
    reflex_timer();
    reflex_want(want);
}
