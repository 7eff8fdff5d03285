/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of a size that a server chooses is not there: each such allocation fails once. The object, or the
 * answer, cannot be used; nothing aborts, nothing leaks, and the next one is fine. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "kube/event.h"
#include "kube/list.h"
#include "play_memory.h"

enum { LARGE = 64 * 1024, TEXT = 300 * 1024, PIECE = 16 * 1024, LIMIT = 1024 * 1024 };

/* How often an object came whole, and came as unusable for want of memory. */
struct seen {
    unsigned whole, lacking;
    bool next; /* the small object behind it came */
};

static void note_object(struct seen *s, const struct object *o)
{
    if (str_is(object_key(o), "big"))
        s->whole++;
    else
        s->next = true;
}

static void note_unusable(struct seen *s, const struct unusable *u)
{
    assert_string_equal(u->why, "it is larger than the memory that is left");
    assert_true(str_is(u->name, "big"));
    s->lacking++;
}

static void put_pod(struct buf *out, const char *name, size_t text)
{
    buf_printf(
        out,
        "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"%s\",\"uid\":\"u\","
        "\"resourceVersion\":\"1\"},\"data\":\"",
        name);
    while (text-- > 0)
        buf_putc(out, 'x');
    buf_puts(out, "\"}");
}

static void read_events(struct seen *s)
{
    const struct object_rules rules = {"Pod", "v1", LIMIT, NULL, false};
    struct event_reader *r = event_reader_create(&rules);
    struct buf body = {0};
    const struct event *e;
    struct err err;

    for (int i = 0; i < 2; i++) {
        buf_puts(&body, "{\"type\":\"ADDED\",\"object\":");
        put_pod(&body, i == 0 ? "big" : "next", i == 0 ? TEXT : 1);
        buf_puts(&body, "}\n");
    }
    for (size_t at = 0; at < body.len; at += PIECE) {
        size_t n = body.len - at < PIECE ? body.len - at : PIECE;

        assert_int_equal(event_reader_feed(r, body.data + at, n, &err), ERR_OK);
        while ((e = event_reader_next(r)) != NULL)
            if (e->type == EVENT_UNUSABLE)
                note_unusable(s, e->unusable);
            else
                note_object(s, e->object);
    }
    event_reader_destroy(&r);
    buf_free(&body);
}

static void on_item(void *arg, struct object *o, bool selected)
{
    assert_true(selected);
    note_object(arg, o);
}

static void on_unusable(void *arg, const struct unusable *u)
{
    note_unusable(arg, u);
}

static void read_list(struct seen *s)
{
    static const struct list_events events = {on_item, on_unusable};
    const struct object_rules rules = {"Pod", "v1", LIMIT, NULL, false};
    struct list_reader *r = list_reader_create(&rules, &events, s);
    struct list_page page;
    struct buf body = {0};
    struct err err;

    buf_puts(&body,
             "{\"kind\":\"PodList\",\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":\"7\"},"
             "\"items\":[");
    put_pod(&body, "big", TEXT);
    buf_putc(&body, ',');
    put_pod(&body, "next", 1);
    buf_puts(&body, "]}");
    for (size_t at = 0; at < body.len; at += PIECE) {
        size_t n = body.len - at < PIECE ? body.len - at : PIECE;

        assert_int_equal(list_reader_feed(r, body.data + at, n, &err), ERR_OK);
    }
    assert_int_equal(list_reader_end(r, &page, &err), ERR_OK);
    list_reader_destroy(&r);
    buf_free(&body);
}

static void fail_each(void (*read)(struct seen *s))
{
    struct seen s = {0};
    play_memory_fail(0, LARGE);
    read(&s);
    unsigned all = play_memory_seen();
    assert_true(s.whole == 1 && s.lacking == 0 && s.next && all > 0);
    for (unsigned n = 1; n <= all; n++) {
        s = (struct seen){0};
        play_memory_fail(n, LARGE);
        read(&s);
        assert_true(s.whole == 0 && s.lacking == 1 && s.next);
    }
    play_memory_fail(0, 0);
    print_message("%u allocations\n", all);
}

static void test_an_event_without_memory_is_skipped_alone(void **state)
{
    (void)state;
    fail_each(read_events);
}

static void test_an_item_without_memory_is_skipped_alone(void **state)
{
    (void)state;
    fail_each(read_list);
}

static void test_a_buffer_stays_as_it_was(void **state)
{
    struct buf b = {0};

    (void)state;
    buf_puts(&b, "kept");
    play_memory_fail(1, LARGE);
    assert_false(buf_try_room(&b, TEXT));
    assert_string_equal(buf_cstr(&b), "kept");
    assert_true(buf_try_room(&b, TEXT));
    assert_string_equal(buf_cstr(&b), "kept");
    play_memory_fail(0, 0);
    buf_free(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_event_without_memory_is_skipped_alone),
        cmocka_unit_test(test_an_item_without_memory_is_skipped_alone),
        cmocka_unit_test(test_a_buffer_stays_as_it_was),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
