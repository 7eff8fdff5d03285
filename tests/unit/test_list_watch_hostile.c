/* SPDX-License-Identifier: Apache-2.0 */
/* cache/list_watch: no server, however it answers, makes a list_watch ask without end. Servers that
 * answer at once, of every sort and at random; ten minutes each of virtual time. */
#include "list_watch_script.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/rng.h"
#include "campaign.h"
#include "identified.h"

enum {
    TEN_MINUTES_MS = 600000,
    MOST_REQUESTS = 350, /* in ten minutes; the pages behind the first one do not count */
    MOST_AT_ONCE = 15,   /* requests without a ms between them; pages do not count either */
    MOST_PAGES = 1001,   /* of one list without end */
};

/* The ways in which a server may answer; each answer is drawn from these. */
enum trick {
    EMPTY,          /* 200 without a body */
    ONE_EVENT,      /* 200 with an item */
    ONE_BOOKMARK,   /* 200 with an empty list */
    INITIAL,        /* the end of initial events, then the end */
    BACK_AND_FORTH, /* versions that jump */
    NO_OBJECTS,     /* for the guard */
    SAME_TOKEN,
    OTHER_TOKEN,
    TWO_TOKENS,
    HTTP_EXPIRED,
    HTTP_TOO_LARGE,
    HTTP_BUSY,
    HTTP_INVALID,
    HTTP_FORBIDDEN,
    HTTP_NOT_FOUND,
    HTTP_ERROR,
    STREAM_EXPIRED,
    STREAM_TOO_LARGE,
    STREAM_BUSY,
    STREAM_ERROR,
    BROKEN,
    HTML,
    CUT_OFF,
    NO_ANSWER,
    LIVES_A_WHILE, /* then the response ends */
    TRICKS,
};

struct hostile {
    struct rng rng;
    enum trick tricks[4]; /* of this server */
    size_t trick_count;
    struct list_watch_script script;
    struct buf body;
    uint64_t requests;
    uint64_t at_once; /* since ms */
    uint64_t ms;      /* of the last request */
    uint64_t pages;   /* in a row */
    uint64_t worst_at_once;
    uint64_t worst_pages;
    unsigned tokens;
};

static uint64_t pick(struct hostile *h, uint64_t n)
{
    return rng_between(&h->rng, 0, n - 1);
}

static bool is_event_request(const struct hostile *h)
{
    return h->script.action.what != LW_LIST;
}

static void head(struct hostile *h, int code, const char *type)
{
    list_watch_head(h->script.list_watch,
                    &(struct http_head){.status = code,
                                        .content_type = str_c(type),
                                        .retry_after_s = code == 504 || code == 429 ? 1 : -1},
                    h->script.now.ms);
}

static void put_page(struct hostile *h, const char *rv, const char *next, bool item)
{
    buf_printf(&h->body,
               "{\"kind\":\"ConfigMapList\",\"apiVersion\":\"v1\",\"metadata\":{"
               "\"resourceVersion\":\"%s\",\"continue\":\"%s\"},\"items\":[%s]}",
               rv, next, item ? ITEM("a", "u1", "3", "") : "");
}

/* 200 with a body that suits the request. */
static void put_good(struct hostile *h, enum trick trick)
{
    static const char *const versions[] = {"10", "5", "10", "900", "7"};
    static const char *const two[] = {"one", "two"};
    const char *rv = trick == BACK_AND_FORTH ? versions[pick(h, ARRAY_LEN(versions))] : "10";
    char token[24] = "";

    /* A list that never repeats a token and always has an item cannot be told from a long one. */
    bool item = trick == ONE_EVENT || (trick == TWO_TOKENS && h->trick_count == 1);

    h->tokens++;
    if (trick == SAME_TOKEN)
        (void)snprintf(token, sizeof(token), "same");
    if (trick == TWO_TOKENS)
        (void)snprintf(token, sizeof(token), "%s", two[h->tokens % 2]);
    if (trick == OTHER_TOKEN)
        (void)snprintf(token, sizeof(token), "t%u", h->tokens);
    if (!is_event_request(h)) {
        put_page(h, rv, token, item);
        return;
    }
    if (trick == ONE_EVENT)
        buf_puts(&h->body, EVENT("MODIFIED", "a", "u1", "10"));
    if (trick == ONE_BOOKMARK || trick == BACK_AND_FORTH)
        buf_printf(&h->body,
                   "{\"type\":\"BOOKMARK\",\"object\":{\"kind\":\"ConfigMap\",\"apiVersion\":"
                   "\"v1\",\"metadata\":{\"resourceVersion\":\"%s\"}}}",
                   rv);
    if (trick == INITIAL)
        buf_puts(&h->body, INITIAL_END("10"));
}

static const char too_large[] =
    "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":\"Failure\",\"reason\":\"Timeout\","
    "\"message\":\"Too large resource version\",\"details\":{\"causes\":[{\"reason\":"
    "\"ResourceVersionTooLarge\"}],\"retryAfterSeconds\":1},\"code\":504}";

static const char *error_text(enum trick trick)
{
    switch ((unsigned)trick) {
    case HTTP_EXPIRED:
    case STREAM_EXPIRED:
        return STATUS("410", "Expired", "x");
    case HTTP_TOO_LARGE:
    case STREAM_TOO_LARGE:
        return too_large;
    case HTTP_BUSY:
    case STREAM_BUSY:
        return STATUS("429", "TooManyRequests", "x");
    case HTTP_INVALID:
        return STATUS("422", "Invalid", "x");
    case HTTP_FORBIDDEN:
        return STATUS("403", "Forbidden", "x");
    case HTTP_NOT_FOUND:
        return STATUS("404", "NotFound", "x");
    default:
        return STATUS("500", "InternalError", "x");
    }
}

static int error_code(enum trick trick)
{
    static const int codes[TRICKS] = {
        [HTTP_EXPIRED] = 410,   [HTTP_TOO_LARGE] = 504, [HTTP_BUSY] = 429,  [HTTP_INVALID] = 422,
        [HTTP_FORBIDDEN] = 403, [HTTP_NOT_FOUND] = 404, [HTTP_ERROR] = 500,
    };

    return codes[trick];
}

/* Answers the request by this trick; returns whether the body was read to its end. */
static bool answer(struct hostile *h, enum trick trick)
{
    bool in_stream = trick >= STREAM_EXPIRED && trick <= STREAM_ERROR;

    buf_clear(&h->body);
    head(h, error_code(trick) > 0 ? error_code(trick) : 200,
         trick == HTML ? "text/html" : "application/json");
    if (error_code(trick) > 0)
        buf_puts(&h->body, error_text(trick));
    else if (in_stream && is_event_request(h))
        buf_printf(&h->body, "{\"type\":\"ERROR\",\"object\":%s}", error_text(trick));
    else if (trick == BROKEN)
        buf_puts(&h->body, "oops");
    else
        put_good(h, trick);
    if (h->body.len == 0)
        return true;
    return list_watch_body(h->script.list_watch, h->body.data, h->body.len, h->script.now);
}

static void note_request(struct hostile *h)
{
    bool page =
        h->script.action.what == LW_LIST && strstr(h->script.action.target, "continue=") != NULL;

    h->pages = page ? h->pages + 1 : 0;
    h->worst_pages = h->pages > h->worst_pages ? h->pages : h->worst_pages;
    if (page)
        return;
    h->requests++;
    h->at_once = h->script.now.ms == h->ms ? h->at_once + 1 : 1;
    h->ms = h->script.now.ms;
    h->worst_at_once = h->at_once > h->worst_at_once ? h->at_once : h->worst_at_once;
}

static void serve(struct hostile *h)
{
    const struct err cut = {.kind = ERR_CLOSED, .text = "cut"};
    const struct err none = {.kind = ERR_REFUSED, .text = "none"};
    enum trick trick = h->tricks[pick(h, h->trick_count)];
    const struct err *err = trick == NO_ANSWER ? &none : trick == CUT_OFF ? &cut : NULL;
    bool whole = true;

    note_request(h);
    buf_clear(&h->script.heard);
    if (trick != NO_ANSWER)
        whole = answer(h, trick);
    if (trick == LIVES_A_WHILE && is_event_request(h))
        h->script.now.ms += 1000 + pick(h, 6) * 1000;
    h->script.action =
        list_watch_end_identified(h->script.list_watch, whole ? err : NULL, h->script.now);
}

static void run(struct hostile *h, const struct list_watch_script_setup *setup)
{
    uint64_t end_ms;

    list_watch_script_init(&h->script, setup);
    end_ms = h->script.now.ms + TEN_MINUTES_MS;
    while (h->script.now.ms < end_ms && h->requests <= MOST_REQUESTS &&
           h->worst_pages <= MOST_PAGES && h->worst_at_once <= MOST_AT_ONCE) {
        if (h->script.action.what != LW_WAIT) {
            serve(h);
            continue;
        }
        h->script.now.ms += h->script.action.wait_ms;
        h->script.action = list_watch_timer(h->script.list_watch, h->script.now.ms);
    }
    list_watch_script_fini(&h->script);
    buf_free(&h->body);
}

static void check(const struct hostile *h, uint64_t seed)
{
    if (h->requests <= MOST_REQUESTS && h->worst_pages <= MOST_PAGES &&
        h->worst_at_once <= MOST_AT_ONCE)
        return;
    print_message("seed %" PRIu64 ": %" PRIu64 " requests, %" PRIu64 " at once, %" PRIu64
                  " pages; tricks",
                  seed, h->requests, h->worst_at_once, h->worst_pages);
    for (size_t i = 0; i < h->trick_count; i++)
        print_message(" %d", (int)h->tricks[i]);
    print_message("\n");
    fail();
}

static struct list_watch_script_setup any_setup(struct rng *rng)
{
    static const enum watch_list modes[] = {WATCH_LIST_OFF, WATCH_LIST_ON, WATCH_LIST_AUTO};

    return (struct list_watch_script_setup){
        .watch_list = modes[rng_between(rng, 0, 2)],
        .relist_deletes = rng_between(rng, 0, 1) == 0 ? 0 : 50,
        .no_hold = rng_between(rng, 0, 1) == 0,
    };
}

static void test_one_trick_alone_is_no_hot_loop(void **state)
{
    static const enum watch_list modes[] = {WATCH_LIST_OFF, WATCH_LIST_ON, WATCH_LIST_AUTO};

    (void)state;
    for (size_t mode = 0; mode < ARRAY_LEN(modes); mode++)
        for (int trick = 0; trick < TRICKS; trick++) {
            const struct list_watch_script_setup setup = {.watch_list = modes[mode],
                                                          .relist_deletes = 50};
            struct hostile h = {.tricks = {(enum trick)trick}, .trick_count = 1};

            rng_seed(&h.rng, 1);
            run(&h, &setup);
            check(&h, (uint64_t)trick);
            assert_true(h.requests > 5); /* the list_watch goes on trying */
        }
}

static void test_random_tricks_are_no_hot_loop(void **state)
{
    const size_t seeds = campaign_size(200, 1000);

    (void)state;
    for (uint64_t seed = 0; seed < seeds; seed++) {
        struct hostile h = {0};
        struct list_watch_script_setup setup;

        rng_seed(&h.rng, seed);
        setup = any_setup(&h.rng);
        h.trick_count = (size_t)rng_between(&h.rng, 1, ARRAY_LEN(h.tricks));
        for (size_t i = 0; i < h.trick_count; i++)
            h.tricks[i] = (enum trick)pick(&h, TRICKS);
        run(&h, &setup);
        check(&h, seed);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_trick_alone_is_no_hot_loop),
        cmocka_unit_test(test_random_tricks_are_no_hot_loop),
    };

    return cmocka_run_group_tests(tests, list_watch_script_be_quiet, NULL);
}
