/* SPDX-License-Identifier: Apache-2.0 */
#include "list_watch_script.h"
#include "identified.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"

enum { OBJECT_SIZE = 400, LIVED_MS = 2000 };

static void on_delta(void *arg, const struct delta *d)
{
    struct list_watch_script *t = arg;

    buf_printf(&t->heard, "%s%c%.*s:%.*s:%.*s%s", t->heard.len > 0 ? " " : "", "+~-x"[d->type],
               STR_ARG(object_key(d->object)), STR_ARG(object_uid(d->object)),
               STR_ARG(object_rv(d->object)), d -> final_state_unknown ? "?" : "");
    if (d->cause == CAUSE_AUDIT)
        buf_puts(&t->heard, "(audit)");
    assert_int_equal(d->received_ns, t->now.wall_ns);
}

static void put_action(struct list_watch_script *t)
{
    static const char *const names[] = {"LIST", "STREAM", "WATCH", "IDENTIFY", "WAIT"};
    const struct list_watch_action *a = &t->action;

    buf_puts(&t->next, names[a->what]);
    if (a->what == LW_WATCH || a->what == LW_STREAM)
        buf_printf(&t->next, " %" PRIu64, a->deadline_ms);
    if (a->what != LW_WAIT) {
        buf_printf(&t->next, " %s", a->target);
        return;
    }
    buf_printf(&t->next, " %" PRIu64 ", ", a->wait_ms);
    t->now.ms += a->wait_ms;
    t->action = list_watch_timer(t->list_watch, t->now.ms);
    put_action(t);
}

static struct shape *make_shape(const struct list_watch_script_setup *setup)
{
    struct shape *shape = NULL;
    const struct shape_params p = {
        .keep = &setup->keep,
        .keep_count = setup->keep != NULL,
        .match = &setup->match,
        .match_count = setup->match != NULL,
    };

    if (p.keep_count + p.match_count > 0)
        assert_int_equal(shape_create(&p, &shape, NULL), ERR_OK);
    return shape;
}

int list_watch_script_be_quiet(void **state)
{
    (void)state;
    log_set_level(LOG_LVL_ERROR);
    return 0;
}

void list_watch_script_init(struct list_watch_script *t,
                            const struct list_watch_script_setup *setup)
{
    unsigned percent = setup->relist_deletes > 0 ? setup->relist_deletes : GUARD_OFF;

    *t = (struct list_watch_script){
        .now = {1000000, 42},
          .shape = make_shape(setup)
    };
    assert_int_equal(resource_parse("configmaps", &t->resource, NULL), ERR_OK);
    t->store = store_create(1, on_delta, t);
    t->list_watch = list_watch_create(&(struct list_watch_params){
        .cluster = "c",
        .watch = "w",
        .resource = &t->resource,
        .label_selector = "",
        .field_selector = "",
        .shape = t->shape,
        .object_size = OBJECT_SIZE,
        .reflector = {.backoff = {800, 30000, 2, 0},
                      .reset_after_ms = 120000,
                      .page_size = 500,
                      .watch_min_s = 300,
                      .watch_max_s = 300,
                      .watch_list = setup->watch_list},
        .guard = {.relist_deletes = percent,            .hold_ms = setup->no_hold ? 0 : 60000      },
        .window = &t->window,
        .bookmark_timeout_ms = 150000,
        .list_idle_timeout_ms = 60000,
        .store = t->store,
    });
    list_watch_can_stream(t->list_watch, true);
    t->action = list_watch_start(t->list_watch, t->now.ms);
}

void list_watch_script_fini(struct list_watch_script *t)
{
    list_watch_destroy(&t->list_watch);
    store_destroy(&t->store);
    shape_destroy(&t->shape);
    resource_fini(&t->resource);
    buf_free(&t->heard);
    buf_free(&t->next);
}

void list_watch_script_restart(struct list_watch_script *t,
                               const struct list_watch_script_setup *setup)
{
    list_watch_script_fini(t);
    list_watch_script_init(t, setup);
}

void list_watch_script_head(struct list_watch_script *t)
{
    list_watch_head(t->list_watch, &(struct http_head){.status = 200, .retry_after_s = -1},
                    t->now.ms);
}

void list_watch_script_body(struct list_watch_script *t, const char *text)
{
    assert_true(list_watch_body(t->list_watch, text, strlen(text), t->now));
}

/* A copy of exactly these bytes, so that a sanitizer sees a read behind them. */
static bool give(struct list_watch_script *t, const char *data, size_t n)
{
    if (n == 0)
        return true;
    char *copy = mem_dup(data, n);
    bool go_on = list_watch_body(t->list_watch, copy, n, t->now);
    free(copy);
    return go_on;
}

static bool give_body(struct list_watch_script *t, const char *body, size_t cut)
{
    size_t n = strlen(body);
    size_t first = cut < n ? cut : n;

    if (cut != SIZE_MAX)
        return give(t, body, first) && give(t, body + first, n - first);
    for (size_t i = 0; i < n; i++)
        if (!give(t, body + i, 1))
            return false;
    return true;
}

static void give_head(struct list_watch_script *t, const struct answer *a)
{
    const char *type = a->type != NULL ? a->type : "application/json";

    list_watch_head(
        t->list_watch,
        &(struct http_head){.status = a->code,
                            .content_type = str_c(type),
                            .retry_after_s = a->retry_after_s > 0 ? a->retry_after_s : -1},
        t->now.ms);
}

void list_watch_script_answer(struct list_watch_script *t, const struct answer *a, size_t cut)
{
    const struct err broken = {.kind = a->cut_off, .text = "cut off"};
    bool whole = true;

    buf_clear(&t->heard);
    buf_clear(&t->next);
    t->now.wall_ns++;
    if (a->code != 0) {
        give_head(t, a);
        t->now.ms += a->brief ? 0 : LIVED_MS;
        whole = give_body(t, a->body, cut);
    }
    t->action = list_watch_end_identified(t->list_watch,
                                          whole && a->cut_off != ERR_OK ? &broken : NULL, t->now);
    put_action(t);
    assert_string_equal(buf_cstr(&t->heard), a->heard != NULL ? a->heard : "");
    assert_string_equal(buf_cstr(&t->next), a->next);
}

static void play(const struct list_watch_script_setup *setup, const struct answer *answers,
                 size_t n, size_t cut)
{
    struct list_watch_script t;

    list_watch_script_init(&t, setup);
    put_action(&t);
    assert_string_equal(buf_cstr(&t.next), setup->watch_list == WATCH_LIST_ON ? STREAM : LIST_ZERO);
    for (size_t i = 0; i < n; i++)
        list_watch_script_answer(&t, &answers[i], cut);
    list_watch_script_fini(&t);
}

void list_watch_script_check(const struct list_watch_script_setup *setup,
                             const struct answer *answers, size_t n)
{
    size_t longest = 0;

    for (size_t i = 0; i < n; i++)
        if (answers[i].code != 0 && strlen(answers[i].body) > longest)
            longest = strlen(answers[i].body);
    for (size_t cut = 0; cut <= longest && cut < 3000; cut++)
        play(setup, answers, n, cut);
    play(setup, answers, n, SIZE_MAX);
}

void list_watch_script_play(struct list_watch_script *t, const struct answer *answers, size_t n)
{
    for (size_t i = 0; i < n; i++)
        list_watch_script_answer(t, &answers[i], 0);
}
