/* SPDX-License-Identifier: Apache-2.0 */
#include "admin_stream_rig.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "proto/json_in.h"

struct admin_stream_rig admin_stream_rig;

static void on_ready(void *arg)
{
    assert_ptr_equal(arg, &admin_stream_rig.woken);
    admin_stream_rig.woken++;
}

void admin_stream_rig_delta(const struct delta *d)
{
    admin_streams_subscriber.on_delta(admin_stream_rig.hub,
                                      (struct source){.watch = admin_stream_rig.watch}, d);
}

void admin_stream_rig_stale(bool stale)
{
    admin_streams_subscriber.on_stale(admin_stream_rig.hub,
                                      (struct source){.watch = admin_stream_rig.watch}, stale,
                                      admin_stream_rig.now);
}

int admin_stream_rig_set_up(void **state)
{
    (void)state;
    log_set_level(LOG_LVL_ERROR);
    admin_stream_rig = (struct admin_stream_rig){
        .now = {1000000, ADMIN_STREAM_RIG_WALL_NS}
    };
    admin_stream_rig.journal = journal_create();
    admin_stream_rig.hub = admin_streams_create(admin_stream_rig.journal);
    admin_stream_rig.watch = objects_watch("w", &admin_streams_subscriber, admin_stream_rig.hub);
    return 0;
}

int admin_stream_rig_tear_down(void **state)
{
    (void)state;
    admin_stream_destroy(&admin_stream_rig.stream);
    admin_streams_destroy(&admin_stream_rig.hub);
    journal_destroy(&admin_stream_rig.journal);
    watch_destroy(&admin_stream_rig.watch);
    buf_free(&admin_stream_rig.out);
    buf_free(&admin_stream_rig.summary);
    return 0;
}

void admin_stream_rig_follow(const char *name)
{
    admin_stream_rig.stream = admin_streams_follow(
        admin_stream_rig.hub, name, (struct source){.watch = admin_stream_rig.watch});
    admin_stream_on_ready(admin_stream_rig.stream, on_ready, &admin_stream_rig.woken);
}

void admin_stream_rig_follow_journal(void)
{
    admin_stream_rig.stream = admin_streams_follow_journal(admin_stream_rig.hub);
    admin_stream_on_ready(admin_stream_rig.stream, on_ready, &admin_stream_rig.woken);
}

void admin_stream_rig_sync(const char *const *keys, const char *rv)
{
    struct buf items = {0};

    for (size_t i = 0; keys[i] != NULL; i++) {
        if (i > 0)
            buf_putc(&items, ',');
        objects_put_item(&items, keys[i], "u", rv, NULL);
    }
    objects_sync(admin_stream_rig.watch, buf_cstr(&items), rv, admin_stream_rig.now);
    buf_free(&items);
}

void admin_stream_rig_sync_many(size_t n, const char *uid, const char *rv)
{
    struct buf items = {0};
    char key[32];

    for (size_t i = 0; i < n; i++) {
        snprintf(key, sizeof(key), "%zu", i);
        buf_puts(&items, i > 0 ? "," : "");
        objects_put_item(&items, key, uid, rv, NULL);
    }
    objects_sync(admin_stream_rig.watch, buf_cstr(&items), rv, admin_stream_rig.now);
    buf_free(&items);
}

void admin_stream_rig_ask_anew(void)
{
    watch_relist(admin_stream_rig.watch, RELIST_MANUAL);
    assert_true(list_watch_is_ordered(watch_list_watch(admin_stream_rig.watch, 0)));
    assert_int_equal(
        list_watch_restart(watch_list_watch(admin_stream_rig.watch, 0), admin_stream_rig.now).what,
        LW_LIST);
}

void admin_stream_rig_say(const char *type, const char *key, const char *rv)
{
    struct list_watch *f = watch_list_watch(admin_stream_rig.watch, 0);
    struct buf event = {0};

    if (!list_watch_status(f).connected)
        list_watch_head(f,
                        &(struct http_head){.status = 200,
                                            .content_type = str_c("application/json"),
                                            .retry_after_s = -1},
                        admin_stream_rig.now.ms);
    objects_put_event(&event, type, key, "u", rv, NULL);
    assert_true(list_watch_body(f, event.data, event.len, admin_stream_rig.now));
    buf_free(&event);
}

static bool any_token(void *arg, const struct json_token *t)
{
    (void)arg;
    (void)t;
    return true;
}

/* The value of a member with a string, by its first place in the line; "" = none. */
static struct str member(struct str line, const char *key)
{
    char mark[32];
    int n = snprintf(mark, sizeof(mark), "\"%s\":\"", key);
    const char *at = memmem(line.p, line.n, mark, (size_t)n);

    if (at == NULL)
        return str_c("");
    at += n;
    return str_of(at, (size_t)((const char *)memchr(at, '"', (size_t)(line.p + line.n - at)) - at));
}

static void check_line(struct str line)
{
    struct err err = {0};

    if (json_in_scan(line, any_token, NULL, &err) != ERR_OK)
        fail_msg("%s: %.*s", err.text, STR_ARG(line));
}

const char *admin_stream_rig_sum_up(void)
{
    buf_clear(&admin_stream_rig.summary);
    for (size_t at = 0; at < admin_stream_rig.out.len;) {
        const char *end =
            memchr(admin_stream_rig.out.data + at, '\n', admin_stream_rig.out.len - at);

        assert_non_null(end);
        struct str line =
            str_of(admin_stream_rig.out.data + at, (size_t)(end - admin_stream_rig.out.data) - at);
        check_line(line);
        buf_append_str(&admin_stream_rig.summary, member(line, "type"));
        buf_putc(&admin_stream_rig.summary, ' ');
        buf_append_str(&admin_stream_rig.summary, member(line, "name"));
        buf_putc(&admin_stream_rig.summary, ';');
        at += line.n + 1;
    }
    buf_clear(&admin_stream_rig.out);
    return buf_cstr(&admin_stream_rig.summary);
}

void admin_stream_rig_expect(enum admin_stream_pulled pulled, const char *lines)
{
    assert_int_equal(
        admin_stream_pull(admin_stream_rig.stream, &admin_stream_rig.out, ADMIN_STREAM_RIG_PIECE),
        pulled);
    assert_string_equal(admin_stream_rig_sum_up(), lines);
}

size_t admin_stream_rig_lines(void)
{
    size_t n = 0;

    for (size_t i = 0; i < admin_stream_rig.out.len; i++)
        n += admin_stream_rig.out.data[i] == '\n';
    return n;
}

enum admin_stream_pulled admin_stream_rig_pull_all(void)
{
    enum admin_stream_pulled pulled;

    buf_clear(&admin_stream_rig.out);
    do {
        pulled = admin_stream_pull(admin_stream_rig.stream, &admin_stream_rig.out,
                                   ADMIN_STREAM_RIG_PIECE);
    } while (pulled == ADMIN_STREAM_MORE);
    return pulled;
}
