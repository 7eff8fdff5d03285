/* SPDX-License-Identifier: Apache-2.0 */
#include "resume_rig.h"
#include "identified.h"

#include <string.h>

#include "base/log.h"

struct resume_rig resume_rig;

/* "SCOPE+key:rv" or "SCOPE-key". */
static void keep(const struct delta *d)
{
    bool gone = d->type == DELTA_DELETED || d->type == DELTA_LEFT;

    buf_printf(&resume_rig.kept, "%s%zu%c%.*s", resume_rig.kept.len > 0 ? " " : "",
               watch_scope_of(resume_rig.w, d->object), gone ? '-' : '+',
               STR_ARG(object_key(d->object)));
    if (!gone)
        buf_printf(&resume_rig.kept, ":%.*s", STR_ARG(object_rv(d->object)));
}

/* "+key:uid:rv ~ - x", with "?" for a final state that is not known, and the cause. */
static void on_delta(void *arg, struct source from, const struct delta *d)
{
    assert_ptr_equal(arg, &resume_rig.kept);
    assert_ptr_equal(from.watch, resume_rig.w);
    keep(d);
    buf_printf(&resume_rig.heard, "%s%c%.*s:%.*s:%.*s%s(%s)", resume_rig.heard.len > 0 ? " " : "",
               "+~-x"[d->type], STR_ARG(object_key(d->object)), STR_ARG(object_uid(d->object)),
               STR_ARG(object_rv(d->object)), d -> final_state_unknown ? "?" : "",
               delta_cause_name(d->cause));
}

static void on_stale(void *arg, struct source from, bool stale, struct now now)
{
    assert_ptr_equal(arg, &resume_rig.kept);
    assert_ptr_equal(from.watch, resume_rig.w);
    assert_int_equal(now.wall_ns, resume_rig.now.wall_ns);
    buf_printf(&resume_rig.heard, "%s%s", resume_rig.heard.len > 0 ? " " : "",
               stale ? "stale" : "fresh");
}

static const struct subscriber events = {.on_delta = on_delta, .on_stale = on_stale};

void resume_rig_make(void)
{
    watch_destroy(&resume_rig.w);
    assert_int_equal(watch_create(&resume_rig.params, &resume_rig.w, NULL), ERR_OK);
    watch_subscribe(resume_rig.w, &events, &resume_rig.kept);
}

const char *const resume_rig_everywhere[1] = {"*"};

int resume_rig_set_up(void **state)
{
    (void)state;
    log_set_level(LOG_LVL_ERROR);
    resume_rig.now = (struct now){1000000, 1};
    resume_rig.params = objects_watch_params();
    resume_rig.params.reflector.watch_list = WATCH_LIST_OFF;
    resume_rig_make();
    return 0;
}

int resume_rig_clean_up(void **state)
{
    (void)state;
    watch_destroy(&resume_rig.w);
    buf_free(&resume_rig.heard);
    buf_free(&resume_rig.kept);
    return 0;
}

void resume_rig_hears(const char *want)
{
    assert_string_equal(buf_cstr(&resume_rig.heard), want);
    buf_clear(&resume_rig.heard);
}

void resume_rig_keeps(const char *want)
{
    assert_string_equal(buf_cstr(&resume_rig.kept), want);
    buf_clear(&resume_rig.kept);
}

void resume_rig_load(const char *key, const char *uid, const char *rv)
{
    struct object *o = objects_make(key, uid, rv, "");

    watch_load(resume_rig.w, o);
    object_unref(&o);
}

void resume_rig_load_bare(const char *ns, const char *name, const char *uid)
{
    struct object *o = object_create(&(struct object_parts){.ns = str_c(ns),
                                                            .name = str_c(name),
                                                            .uid = str_c(uid),
                                                            .rv_at = SIZE_MAX,
                                                            .generation_at = SIZE_MAX});

    watch_load(resume_rig.w, o);
    object_unref(&o);
}

void resume_rig_resume(enum resume_kind kind, const char *rv)
{
    for (size_t i = 0; i < watch_scope_count(resume_rig.w); i++)
        watch_resume(resume_rig.w, i,
                     &(struct resume_point){.kind = kind, .rv = rv, .collection_rv = "9"});
}

struct list_watch *resume_rig_list_watch(void)
{
    return watch_list_watch(resume_rig.w, 0);
}

void resume_rig_asks(const char *want)
{
    assert_string_equal(resume_rig.next.target, want);
}

void resume_rig_start(void)
{
    resume_rig.next = list_watch_start(resume_rig_list_watch(), resume_rig.now.ms);
}

void resume_rig_head(void)
{
    list_watch_head(resume_rig_list_watch(),
                    &(struct http_head){.status = 200, .retry_after_s = -1}, resume_rig.now.ms);
}

void resume_rig_answer(const char *body)
{
    bool ignored;

    resume_rig_head();
    ignored = list_watch_body(resume_rig_list_watch(), body, strlen(body), resume_rig.now);
    (void)ignored;
    resume_rig.next = list_watch_end_identified(resume_rig_list_watch(), NULL, resume_rig.now);
}

void resume_rig_start_from(enum resume_kind kind, const char *rv)
{
    resume_rig_load("ns/a", "u1", "3");
    resume_rig_load("ns/b", "u2", "4");
    resume_rig_resume(kind, rv);
    resume_rig_start();
}

void resume_rig_body(const char *text)
{
    assert_true(list_watch_body(resume_rig_list_watch(), text, strlen(text), resume_rig.now));
}

void resume_rig_silence(uint64_t ms)
{
    resume_rig.now.ms += ms;
    if (resume_rig.now.ms >= list_watch_due_ms(resume_rig_list_watch()))
        assert_false(list_watch_overdue(resume_rig_list_watch(), resume_rig.now.ms));
}

void resume_rig_has_version(const char *want)
{
    const char *rv = NULL;
    const char *collection_rv = NULL;
    struct buf is = {0};

    if (watch_version(resume_rig.w, 0, &rv, &collection_rv))
        buf_printf(&is, "%s %s", rv, collection_rv);
    assert_string_equal(buf_cstr(&is), want);
    buf_free(&is);
}
