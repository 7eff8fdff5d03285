/* SPDX-License-Identifier: Apache-2.0 */
#include "resumed.h"
#include "trusted.h"

#include <string.h>

#include "base/log.h"

struct resumed resumed;

/* "+key:uid:rv ~ - x", with "?" for a final state that is not known, and the cause. */
static void on_delta(void *arg, struct watch *from, const struct delta *d)
{
    (void)arg;
    (void)from;
    buf_printf(&resumed.heard, "%s%c%.*s:%.*s:%.*s%s(%s)", resumed.heard.len > 0 ? " " : "",
               "+~-x"[d->type], STR_ARG(object_key(d->object)), STR_ARG(object_uid(d->object)),
               STR_ARG(object_rv(d->object)), d -> final_state_unknown ? "?" : "",
               delta_cause_name(d->cause));
}

static void on_stale(void *arg, struct watch *from, bool stale, uint64_t wall_ns)
{
    assert_ptr_equal(arg, &resumed.kept);
    assert_ptr_equal(from, resumed.w);
    assert_int_equal(wall_ns, resumed.now.wall_ns);
    buf_printf(&resumed.heard, "%s%s", resumed.heard.len > 0 ? " " : "", stale ? "stale" : "fresh");
}

/* "STREAM+key:rv" or "STREAM-key". */
static void on_kept(void *arg, struct watch *from, size_t stream, struct object *o, bool gone)
{
    assert_ptr_equal(arg, &resumed.kept);
    assert_ptr_equal(from, resumed.w);
    buf_printf(&resumed.kept, "%s%zu%c%.*s", resumed.kept.len > 0 ? " " : "", stream,
               gone ? '-' : '+', STR_ARG(object_key(o)));
    if (!gone)
        buf_printf(&resumed.kept, ":%.*s", STR_ARG(object_rv(o)));
}

static const struct watch_events events = {
    .on_delta = on_delta, .on_stale = on_stale, .on_kept = on_kept};

void resumed_make(void)
{
    watch_destroy(&resumed.w);
    assert_int_equal(watch_create(&resumed.params, &events, &resumed.kept, &resumed.w, NULL),
                     ERR_OK);
}

const char *const resumed_everywhere[1] = {"*"};

int resumed_set_up(void **state)
{
    (void)state;
    log_set_level(LOG_LVL_ERROR);
    resumed.now = (struct list_watch_now){1000000, 1};
    resumed.params = objects_watch_params();
    resumed.params.reflector.watch_list = WATCH_LIST_OFF;
    resumed_make();
    return 0;
}

int resumed_clean_up(void **state)
{
    (void)state;
    watch_destroy(&resumed.w);
    buf_free(&resumed.heard);
    buf_free(&resumed.kept);
    return 0;
}

void resumed_hears(const char *want)
{
    assert_string_equal(buf_cstr(&resumed.heard), want);
    buf_clear(&resumed.heard);
}

void resumed_keeps(const char *want)
{
    assert_string_equal(buf_cstr(&resumed.kept), want);
    buf_clear(&resumed.kept);
}

void resumed_load(const char *key, const char *uid, const char *rv)
{
    struct object *o = objects_make(key, uid, rv, "");

    watch_load(resumed.w, o);
    object_unref(&o);
}

void resumed_load_bare(const char *ns, const char *name, const char *uid)
{
    struct object *o = object_create(&(struct object_parts){.ns = str_c(ns),
                                                            .name = str_c(name),
                                                            .uid = str_c(uid),
                                                            .rv_at = SIZE_MAX,
                                                            .generation_at = SIZE_MAX});

    watch_load(resumed.w, o);
    object_unref(&o);
}

void resumed_resume(enum resume_kind kind, const char *rv)
{
    for (size_t i = 0; i < watch_scope_count(resumed.w); i++)
        watch_resume(resumed.w, i,
                     &(struct resume_point){.kind = kind, .rv = rv, .collection_rv = "9"});
}

struct list_watch *resumed_feed(void)
{
    return watch_list_watch(resumed.w, 0);
}

void resumed_asks(const char *want)
{
    assert_string_equal(resumed.next.target, want);
}

void resumed_start(void)
{
    resumed.next = list_watch_start(resumed_feed(), resumed.now.ms);
}

void resumed_head(void)
{
    list_watch_head(resumed_feed(), &(struct http_head){.status = 200, .retry_after_s = -1},
                    resumed.now.ms);
}

void resumed_answer(const char *body)
{
    bool ignored;

    resumed_head();
    ignored = list_watch_body(resumed_feed(), body, strlen(body), resumed.now);
    (void)ignored;
    resumed.next = list_watch_end_trusted(resumed_feed(), NULL, resumed.now);
}

void resumed_start_from(enum resume_kind kind, const char *rv)
{
    resumed_load("ns/a", "u1", "3");
    resumed_load("ns/b", "u2", "4");
    resumed_resume(kind, rv);
    resumed_start();
}

void resumed_body(const char *text)
{
    assert_true(list_watch_body(resumed_feed(), text, strlen(text), resumed.now));
}

void resumed_silence(uint64_t ms)
{
    resumed.now.ms += ms;
    if (resumed.now.ms >= list_watch_due_ms(resumed_feed()))
        assert_false(list_watch_overdue(resumed_feed(), resumed.now.ms));
}

void resumed_has_version(const char *want)
{
    const char *rv = NULL;
    const char *mark = NULL;
    struct buf is = {0};

    if (watch_version(resumed.w, 0, &rv, &mark))
        buf_printf(&is, "%s %s", rv, mark);
    assert_string_equal(buf_cstr(&is), want);
    buf_free(&is);
}
