/* SPDX-License-Identifier: Apache-2.0 */
#include "streamed.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "proto/json_in.h"

struct streamed streamed;

static void on_delta(void *arg, struct watch *from, const struct delta *d)
{
    (void)arg;
    admin_streams_delta(streamed.hub, (struct source){.watch = from}, d);
}

static void on_stale(void *arg, struct watch *from, bool stale, uint64_t wall_ns)
{
    (void)arg;
    admin_streams_stale(streamed.hub, (struct source){.watch = from}, stale, wall_ns);
}

static void on_ready(void *arg)
{
    assert_ptr_equal(arg, &streamed.woken);
    streamed.woken++;
}

int streamed_set_up(void **state)
{
    static const struct watch_events events = {.on_delta = on_delta, .on_stale = on_stale};

    (void)state;
    log_set_level(LOG_LVL_ERROR);
    streamed = (struct streamed){
        .now = {1000000, STREAMED_WALL_NS}
    };
    streamed.watch = objects_watch("w", &events, NULL);
    streamed.journal = journal_create();
    streamed.hub = admin_streams_create(streamed.journal);
    return 0;
}

int streamed_tear_down(void **state)
{
    (void)state;
    admin_stream_destroy(&streamed.stream);
    admin_streams_destroy(&streamed.hub);
    journal_destroy(&streamed.journal);
    watch_destroy(&streamed.watch);
    buf_free(&streamed.out);
    buf_free(&streamed.summary);
    return 0;
}

void streamed_follow(const char *name)
{
    streamed.stream = admin_streams_follow(
        streamed.hub, name, (struct source){.watch = streamed.watch}, streamed.now.ms);
    admin_stream_on_ready(streamed.stream, on_ready, &streamed.woken);
}

void streamed_follow_journal(void)
{
    streamed.stream = admin_streams_follow_journal(streamed.hub);
    admin_stream_on_ready(streamed.stream, on_ready, &streamed.woken);
}

void streamed_sync(const char *const *keys, const char *rv)
{
    struct buf items = {0};

    for (size_t i = 0; keys[i] != NULL; i++) {
        if (i > 0)
            buf_putc(&items, ',');
        objects_put_item(&items, keys[i], "u", rv, NULL);
    }
    objects_sync(streamed.watch, buf_cstr(&items), rv, streamed.now);
    buf_free(&items);
}

void streamed_sync_many(size_t n, const char *uid, const char *rv)
{
    struct buf items = {0};
    char key[32];

    for (size_t i = 0; i < n; i++) {
        snprintf(key, sizeof(key), "%zu", i);
        buf_puts(&items, i > 0 ? "," : "");
        objects_put_item(&items, key, uid, rv, NULL);
    }
    objects_sync(streamed.watch, buf_cstr(&items), rv, streamed.now);
    buf_free(&items);
}

void streamed_ask_anew(void)
{
    watch_relist(streamed.watch, RELIST_MANUAL);
    assert_true(list_watch_is_ordered(watch_list_watch(streamed.watch, 0)));
    assert_int_equal(list_watch_restart(watch_list_watch(streamed.watch, 0), streamed.now).what,
                     LW_LIST);
}

void streamed_say(const char *type, const char *key, const char *rv)
{
    struct list_watch *f = watch_list_watch(streamed.watch, 0);
    struct buf event = {0};

    if (!list_watch_status(f).connected)
        list_watch_head(f,
                        &(struct http_head){.status = 200,
                                            .content_type = str_c("application/json"),
                                            .retry_after_s = -1},
                        streamed.now.ms);
    objects_put_event(&event, type, key, "u", rv, NULL);
    assert_true(list_watch_body(f, event.data, event.len, streamed.now));
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

const char *streamed_sum_up(void)
{
    buf_clear(&streamed.summary);
    for (size_t at = 0; at < streamed.out.len;) {
        const char *end = memchr(streamed.out.data + at, '\n', streamed.out.len - at);

        assert_non_null(end);
        struct str line = str_of(streamed.out.data + at, (size_t)(end - streamed.out.data) - at);
        check_line(line);
        buf_append_str(&streamed.summary, member(line, "type"));
        buf_putc(&streamed.summary, ' ');
        buf_append_str(&streamed.summary, member(line, "name"));
        buf_putc(&streamed.summary, ';');
        at += line.n + 1;
    }
    buf_clear(&streamed.out);
    return buf_cstr(&streamed.summary);
}

void streamed_expect(enum admin_stream_pulled pulled, const char *lines)
{
    assert_int_equal(admin_stream_pull(streamed.stream, &streamed.out, STREAMED_PIECE), pulled);
    assert_string_equal(streamed_sum_up(), lines);
}

size_t streamed_lines(void)
{
    size_t n = 0;

    for (size_t i = 0; i < streamed.out.len; i++)
        n += streamed.out.data[i] == '\n';
    return n;
}

enum admin_stream_pulled streamed_pull_all(void)
{
    enum admin_stream_pulled pulled;

    buf_clear(&streamed.out);
    do {
        pulled = admin_stream_pull(streamed.stream, &streamed.out, STREAMED_PIECE);
    } while (pulled == ADMIN_STREAM_MORE);
    return pulled;
}
