/* SPDX-License-Identifier: Apache-2.0 */
#include "reflector_rig.h"

#include <inttypes.h>

struct reflector_rig reflector_rig;

const struct reflector_params reflector_rig_defaults = {
    .backoff = {.initial_ms = REFLECTOR_RIG_INITIAL, .max_ms = 30000, .factor = 2, .jitter = 0},
    .reset_after_ms = REFLECTOR_RIG_RESET_AFTER,
    .page_size = 500,
    .watch_min_s = 300,
    .watch_max_s = 600,
    .watch_list = WATCH_LIST_OFF,
};

void reflector_rig_use(const struct reflector_params *p)
{
    reflector_destroy(&reflector_rig.r);
    reflector_rig = (struct reflector_rig){.now = 1000000, .r = reflector_create(p, 1)};
}

int reflector_rig_set_up(void **state)
{
    (void)state;
    reflector_rig_use(&reflector_rig_defaults);
    return 0;
}

int reflector_rig_clean_up(void **state)
{
    (void)state;
    reflector_destroy(&reflector_rig.r);
    reflector_destroy(&reflector_rig.r);
    assert_null(reflector_rig.r);
    return 0;
}

void reflector_rig_start(void)
{
    reflector_rig.last = reflector_start(reflector_rig.r, reflector_rig.now);
}

void reflector_rig_listed(const char *rv, const char *next)
{
    reflector_rig.last =
        reflector_listed(reflector_rig.r, str_c(rv), str_c(next), reflector_rig.now);
}

void reflector_rig_sync_at(const char *rv)
{
    reflector_rig_start();
    reflector_rig_listed(rv, "");
}

static void end_after(uint64_t ms, bool is_cut)
{
    reflector_rig.now += ms;
    reflector_rig.last =
        reflector_ended(reflector_rig.r, is_cut, reflector_rig.others, reflector_rig.now);
}

void reflector_rig_ended_after(uint64_t ms)
{
    end_after(ms, false);
}

void reflector_rig_cut_after(uint64_t ms)
{
    end_after(ms, true);
}

void reflector_rig_failed_asking(enum err_kind kind, uint64_t retry_after_ms)
{
    reflector_rig.last = reflector_failed(reflector_rig.r, &(struct err){.kind = kind},
                                          retry_after_ms, reflector_rig.others, reflector_rig.now);
}

void reflector_rig_failed(enum err_kind kind)
{
    reflector_rig_failed_asking(kind, 0);
}

void reflector_rig_refused(int code)
{
    reflector_rig.last =
        reflector_failed(reflector_rig.r, &(struct err){.kind = ERR_SERVER, .code = code}, 0,
                         reflector_rig.others, reflector_rig.now);
}

void reflector_rig_timer(void)
{
    assert_int_equal(reflector_rig.last.what, REFLECTOR_WAIT);
    reflector_rig.now += reflector_rig.last.wait_ms;
    reflector_rig.last = reflector_timer(reflector_rig.r, reflector_rig.now);
}

void reflector_rig_held(uint64_t wait_ms)
{
    reflector_rig.last = reflector_held(reflector_rig.r, wait_ms);
}

void reflector_rig_relist(enum relist_reason why)
{
    reflector_rig.last = reflector_relist(reflector_rig.r, why, reflector_rig.now);
}

void reflector_rig_seen(const char *rv)
{
    reflector_seen(reflector_rig.r, str_c(rv));
}

uint64_t reflector_rig_relists(enum relist_reason why)
{
    return reflector_relists(reflector_rig.r)[why];
}

uint64_t reflector_rig_all_relists(void)
{
    uint64_t n = 0;

    for (size_t i = 0; i < RELIST_REASONS; i++)
        n += reflector_relists(reflector_rig.r)[i];
    return n;
}

static void put_rv(struct buf *out, const char *letter, const char *rv)
{
    buf_printf(out, "%s(%s)", letter, rv != NULL ? rv : "-");
}

/* Does the reflector's state fit the action? */
static void check_state(enum reflector_do what)
{
    static const enum reflector_state states[] = {REFLECTOR_LISTING, REFLECTOR_STREAMING,
                                                  REFLECTOR_WATCHING, REFLECTOR_PROBING};
    enum reflector_state is = reflector_state(reflector_rig.r);

    if (what == REFLECTOR_WATCH && reflector_rig.last.rv == NULL)
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

void reflector_rig_want(const char *want)
{
    const struct reflector_action *a = &reflector_rig.last;
    struct buf got = {0};

    put_action(&got, a);
    assert_string_equal(buf_cstr(&got), want);
    buf_free(&got);
    check_state(a->what);
    if (a->what == REFLECTOR_WATCH)
        assert_string_equal(reflector_last_sync_rv(reflector_rig.r), a->rv != NULL ? a->rv : "");
    if (a->what == REFLECTOR_WATCH || a->what == REFLECTOR_STREAM)
        assert_in_range(a->timeout_s, 300, 600);
    else
        assert_int_equal(a->timeout_s, 0);
    assert_true(a->next == NULL || a->rv == NULL);
}

void reflector_rig_want_wait_then(uint64_t ms, const char *want)
{
    struct buf wait = {0};

    buf_printf(&wait, "wait %" PRIu64, ms);
    reflector_rig_want(buf_cstr(&wait));
    buf_free(&wait);
    reflector_rig_timer();
    reflector_rig_want(want);
}

void reflector_rig_hasty_streams(int n)
{
    for (int i = 0; i < n; i++) {
        reflector_rig_seen("8");
        reflector_rig_ended_after(10);
    }
}
