/* SPDX-License-Identifier: Apache-2.0 */
/* cache/list_watch, cache/renewal: a second watch takes the place of the first one, and no event is
 * lost or told twice (docs/design.md "New credentials"). */
#include "identified.h"
#include "list_watch_script.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

static const struct list_watch_script_setup plain = {.watch_list = WATCH_LIST_OFF};
static const struct list_watch_script_setup streamed = {.watch_list = WATCH_LIST_ON};

static struct list_watch_script script;
static struct list_watch *lw;

/* The list_watch knows a and b, and watches from 10; the head has come. */
static int set_up(void **state)
{
    static const struct answer synced = SYNCED;

    (void)state;
    list_watch_script_init(&script, &plain);
    list_watch_script_play(&script, &synced, 1);
    lw = script.list_watch;
    buf_clear(&script.heard);
    list_watch_script_head(&script);
    return 0;
}

static int clean_up(void **state)
{
    (void)state;
    list_watch_script_fini(&script);
    return 0;
}

/* The deltas of the store since the last time. */
static void hears(const char *want)
{
    assert_string_equal(buf_cstr(&script.heard), want);
    buf_clear(&script.heard);
}

static void asks_from(const struct list_watch_action *a, const char *rv)
{
    char want[64];

    snprintf(want, sizeof(want), "&resourceVersion=%s", rv);
    assert_int_equal(a->what, LW_WATCH);
    assert_non_null(strstr(a->target, want));
    assert_null(strstr(strstr(a->target, want) + strlen(want), "&"));
    assert_int_equal(strlen(strstr(a->target, want)), strlen(want));
}

static void renew_from(const char *rv)
{
    assert_true(list_watch_can_renew(lw));
    struct list_watch_action a = list_watch_renew(lw, script.now.ms);

    asks_from(&a, rv);
    assert_int_equal(a.deadline_ms, 310000);
    assert_false(list_watch_can_renew(lw));
}

static bool second_head(int status)
{
    return list_watch_renewal_head(
        lw, &(struct http_head){
                .status = status, .content_type = str_c("application/json"), .retry_after_s = -1});
}

static enum renewal_outcome second_body(const char *text)
{
    return list_watch_renewal_body(lw, text, strlen(text));
}

/* The first event of the second watch comes. */
static bool take_over(const char *text)
{
    assert_int_equal(second_body(text), RENEWAL_SERVED);
    assert_true(list_watch_renewed(lw, script.now));
    return list_watch_body(lw, "", 0, script.now);
}

static void body(const char *text)
{
    list_watch_script_body(&script, text);
}

static struct list_watch_action ends(const struct err *err)
{
    return list_watch_end_identified(lw, err, script.now);
}

static struct list_watch_status status(void)
{
    return list_watch_status(lw);
}

static void was_never_relisted(void)
{
    for (int i = 0; i < RELIST_REASONS; i++)
        assert_int_equal(status().relists[i], 0);
}

/* ---- Every place to cut. */

struct step {
    const char *bytes;
    const char *told;
    const char *rv;
};

#define CHANGE(type, sign, name, uid, version)                                                 \
    {                                                                                          \
        .bytes = EVENT(type, name, uid, version), .told = sign "ns/" name ":" uid ":" version, \
        .rv = (version)                                                                        \
    }
#define MARK(version)                                           \
    {                                                           \
        .bytes = BOOKMARK(version), .told = "", .rv = (version) \
    }

static const struct step history[] = {
    CHANGE("ADDED", "+", "c", "u3", "11"),
    CHANGE("MODIFIED", "~", "a", "u1", "12"),
    CHANGE("MODIFIED", "~", "a", "u1", "13"),
    MARK("14"),
    CHANGE("DELETED", "-", "b", "u2", "15"),
    CHANGE("ADDED", "+", "b", "u4", "16"),
    CHANGE("DELETED", "-", "b", "u4", "17"),
    CHANGE("ADDED", "+", "b", "u5", "18"),
    MARK("19"),
    CHANGE("MODIFIED", "~", "c", "u3", "20"),
};

enum { ALL = ARRAY_LEN(history), HALF = 60 };

static void everything_was_told_once(void)
{
    struct buf want = {0};

    for (size_t i = 0; i < ALL; i++)
        if (*history[i].told != '\0')
            buf_printf(&want, "%s%s", want.len > 0 ? " " : "", history[i].told);
    hears(buf_cstr(&want));
    buf_free(&want);
    was_never_relisted();
}

static const char *version_at(size_t i)
{
    return i == 0 ? "10" : history[i - 1].rv;
}

/* The second watch brings the history from `from` on up to `to`, in pieces of n bytes. */
static void bring(size_t from, size_t to, size_t n)
{
    struct buf all = {0};
    bool second = true;

    for (size_t i = from; i < to; i++)
        buf_puts(&all, history[i].bytes);
    for (size_t at = 0; at < all.len; at += n) {
        size_t left = all.len - at < n ? all.len - at : n;
        char *piece = mem_dup(all.data + at, left);

        if (!second) {
            assert_true(list_watch_body(lw, piece, left, script.now));
        } else if (list_watch_renewal_body(lw, piece, left) == RENEWAL_SERVED) {
            assert_true(list_watch_renewed(lw, script.now));
            assert_true(list_watch_body(lw, "", 0, script.now));
            second = false;
        }
        free(piece);
    }
    if (second) /* nothing came: the time of the trial is over */
        assert_true(list_watch_renewed(lw, script.now));
    buf_free(&all);
}

/* The first watch has brought the history up to `asked` when the second one is asked for, and then
 * goes on up to `heard` and a half. The second one brings the history up to `last`, then ends, and
 * the next watch goes on from there. */
static void play(size_t asked, size_t heard, size_t last, size_t n)
{
    set_up(NULL);
    for (size_t i = 0; i < asked; i++)
        body(history[i].bytes);
    renew_from(version_at(asked));
    assert_true(second_head(200));
    for (size_t i = asked; i < heard; i++)
        body(history[i].bytes);
    if (heard < ALL)
        assert_true(list_watch_body(lw, history[heard].bytes, HALF, script.now));
    bring(asked, last, n);
    assert_true(status().connected);
    assert_string_equal(status().rv, version_at(last > heard ? last : heard));
    script.now.ms += 1000;
    script.action = ends(NULL);
    asks_from(&script.action, version_at(last > heard ? last : heard));
    list_watch_script_head(&script);
    for (size_t i = last > heard ? last : heard; i < ALL; i++)
        body(history[i].bytes);
    everything_was_told_once();
    clean_up(NULL);
}

static void test_no_event_is_lost_or_told_twice_wherever_the_streams_are_cut(void **state)
{
    static const size_t pieces[] = {1, 100, 100000};

    (void)state;
    for (size_t asked = 0; asked <= ALL; asked++)
        for (size_t heard = asked; heard <= ALL; heard++)
            for (size_t last = asked; last <= ALL; last++)
                for (size_t i = 0; i < ARRAY_LEN(pieces); i++)
                    play(asked, heard, last, pieces[i]);
}

/* ---- The second watch on trial. */

static void test_the_first_event_ends_the_trial(void **state)
{
    (void)state;
    renew_from("10");
    assert_true(second_head(200));
    assert_int_equal(second_body("{\"type\":\"ADDED\","), RENEWAL_GOES_ON);
    hears("");
    assert_int_equal(second_body(strchr(EVENT("ADDED", "c", "u3", "11"), ',') + 1), RENEWAL_SERVED);
    hears("");
    assert_true(list_watch_renewed(lw, script.now));
    assert_true(list_watch_body(lw, "", 0, script.now));
    hears("+ns/c:u3:11");
    assert_true(list_watch_can_renew(lw));
}

static void test_the_first_watch_goes_on_until_the_second_is_served(void **state)
{
    (void)state;
    renew_from("10");
    body(EVENT("ADDED", "c", "u3", "11"));
    hears("+ns/c:u3:11");
    assert_true(second_head(200));
    body(EVENT("MODIFIED", "c", "u3", "12"));
    hears("~ns/c:u3:12");
    assert_true(status().connected);
    assert_true(take_over(EVENT("ADDED", "c", "u3", "11") EVENT("MODIFIED", "c", "u3", "12")));
    hears("");
    body(EVENT("MODIFIED", "c", "u3", "13"));
    hears("~ns/c:u3:13");
}

/* A refusal of any sort: the first watch has not noticed it. */
static void check_refusal(int code, const char *text, enum err_kind kind)
{
    struct err why = {0};

    set_up(NULL);
    body(BOOKMARK("12"));
    renew_from("12");
    second_head(code);
    if (*text != '\0')
        assert_int_not_equal(second_body(text), RENEWAL_SERVED);
    list_watch_renewal_end(lw, NULL, &why);
    assert_int_equal(why.kind, kind);
    assert_true(why.text[0] != '\0');
    assert_true(status().connected);
    assert_int_equal(status().err->kind, ERR_OK);
    body(EVENT("ADDED", "c", "u3", "13"));
    hears("+ns/c:u3:13");
    renew_from("13"); /* tried again */
    assert_true(second_head(200));
    assert_true(list_watch_renewed(lw, script.now));
    body(EVENT("MODIFIED", "c", "u3", "14"));
    hears("~ns/c:u3:14");
    was_never_relisted();
    clean_up(NULL);
}

static void test_a_refused_second_watch_changes_nothing(void **state)
{
    (void)state;
    check_refusal(401, STATUS("401", "Unauthorized", "no"), ERR_UNAUTHORIZED);
    check_refusal(403, STATUS("403", "Forbidden", "no"), ERR_FORBIDDEN);
    check_refusal(404, "404 page not found", ERR_NOT_FOUND);
    check_refusal(410, STATUS("410", "Expired", "too old"), ERR_EXPIRED);
    check_refusal(429, STATUS("429", "TooManyRequests", "wait"), ERR_BUSY);
    check_refusal(500, STATUS("500", "InternalError", "oops"), ERR_SERVER);
    check_refusal(503, "", ERR_SERVER);
    check_refusal(200, ERROR_EVENT("410", "Expired", "too old"), ERR_EXPIRED);
    check_refusal(200, ERROR_EVENT("500", "InternalError", "oops"), ERR_SERVER);
    check_refusal(200, "<html>", ERR_PROTOCOL);
    check_refusal(200, EVENT("ADDED", "c", "u3", "13") "<html>", ERR_PROTOCOL);
    check_refusal(200, "", ERR_SERVER); /* ended at once */
}

static void test_a_second_watch_that_is_html_by_its_head_is_refused(void **state)
{
    struct err why = {0};

    (void)state;
    renew_from("10");
    assert_false(list_watch_renewal_head(
        lw, &(struct http_head){.status = 200, .content_type = str_c("text/html")}));
    assert_int_equal(second_body("<html>"), RENEWAL_REFUSED);
    list_watch_renewal_end(lw, NULL, &why);
    assert_int_equal(why.kind, ERR_PROTOCOL);
    assert_non_null(strstr(why.text, "text/html"));
}

static void test_a_lost_connection_is_the_reason_if_nothing_else_is_known(void **state)
{
    const struct err lost = {.kind = ERR_CLOSED, .text = "lost"};
    struct err why = {0};

    (void)state;
    renew_from("10");
    assert_int_equal(list_watch_renewal_end(lw, &lost, &why), 0);
    assert_string_equal(why.text, "lost");
    renew_from("10");
    assert_true(second_head(200));
    list_watch_renewal_end(lw, &lost, &why);
    assert_string_equal(why.text, "lost");
}

static void test_the_server_says_when_to_try_again(void **state)
{
    struct err why = {0};

    (void)state;
    renew_from("10");
    assert_false(
        list_watch_renewal_head(lw, &(struct http_head){.status = 429, .retry_after_s = 7}));
    assert_int_equal(list_watch_renewal_end(lw, NULL, &why), 7000);
    renew_from("10");
    assert_true(second_head(200));
    assert_int_equal(
        second_body("{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"apiVersion\":\"v1\","
                    "\"reason\":\"TooManyRequests\",\"code\":429,"
                    "\"details\":{\"retryAfterSeconds\":9}}}"),
        RENEWAL_REFUSED);
    assert_int_equal(list_watch_renewal_end(lw, NULL, &why), 9000);
}

/* A Retry-After of the second watch must not delay the next request of the first one. */
static void test_a_refusal_does_not_delay_the_first_watch(void **state)
{
    (void)state;
    body(BOOKMARK("11"));
    renew_from("11");
    assert_false(
        list_watch_renewal_head(lw, &(struct http_head){.status = 429, .retry_after_s = 70}));
    assert_false(list_watch_body(lw, ERROR_EVENT("429", "TooManyRequests", "wait"),
                                 strlen(ERROR_EVENT("429", "TooManyRequests", "wait")),
                                 script.now));
    script.action = ends(NULL);
    assert_int_equal(script.action.what, LW_WAIT);
    assert_int_equal(script.action.wait_ms, 800);
}

/* ---- Which watches can be renewed. */

static void test_requests_before_the_watch_are_not_renewed(void **state)
{
    struct list_watch_script t;

    (void)state;
    list_watch_script_init(&t, &plain);
    assert_false(list_watch_can_renew(t.list_watch)); /* LIST */
    static const struct answer synced = SYNCED;
    list_watch_script_play(&t, &synced, 1);
    assert_false(list_watch_can_renew(t.list_watch)); /* no head */
    list_watch_script_head(&t);
    assert_true(list_watch_can_renew(t.list_watch));
    list_watch_order(t.list_watch, RELIST_MANUAL);
    assert_false(list_watch_can_renew(t.list_watch));
    t.action = list_watch_restart(t.list_watch, t.now);
    assert_false(list_watch_can_renew(t.list_watch));
    list_watch_script_fini(&t);
}

static void test_a_streaming_list_is_renewed_when_it_has_become_a_watch(void **state)
{
    (void)state;
    list_watch_script_restart(&script, &streamed);
    lw = script.list_watch;
    list_watch_script_head(&script);
    body(EVENT("ADDED", "a", "u1", "3"));
    assert_false(list_watch_can_renew(lw));
    body(INITIAL_END("10"));
    hears("+ns/a:u1:3");
    renew_from("10");
    assert_true(second_head(200));
    body(EVENT("MODIFIED", "a", "u1", "11"));
    assert_true(take_over(EVENT("MODIFIED", "a", "u1", "11") EVENT("DELETED", "a", "u1", "12")));
    hears("~ns/a:u1:11 -ns/a:u1:12");
    assert_true(list_watch_is_ahead(lw, "11")); /* it is a watch now, and no streaming list */
    script.now.ms += 6000;
    script.action = ends(NULL);
    asks_from(&script.action, "12");
}

/* Without a version of the list nobody can ask for a second watch: it would bring everything. */
static void test_a_watch_without_a_version_is_not_renewed(void **state)
{
    static const struct answer unversioned = {
        .code = 200,
        .body = PAGE("", "", ITEM("a", "u1", "3", "")),
        .heard = "+ns/a:u1:3",
        .next = "WATCH 310000 " PATH "?watch=true&allowWatchBookmarks=true&timeoutSeconds=300"};
    struct list_watch_script t;

    (void)state;
    list_watch_script_init(&t, &plain);
    list_watch_script_play(&t, &unversioned, 1);
    list_watch_script_head(&t);
    assert_false(list_watch_can_renew(t.list_watch)); /* COMPARING */
    list_watch_script_fini(&t);
}

/* ---- The end of the first watch. */

static void test_the_end_of_the_first_watch_ends_the_second_request(void **state)
{
    (void)state;
    body(EVENT("ADDED", "c", "u3", "11"));
    renew_from("11");
    body(EVENT("MODIFIED", "c", "u3", "12"));
    script.now.ms += 6000;
    script.action = ends(NULL);
    asks_from(&script.action, "12");
    list_watch_script_head(&script);
    body(EVENT("MODIFIED", "c", "u3", "13")); /* nothing is taken for a repetition */
    hears("+ns/c:u3:11 ~ns/c:u3:12 ~ns/c:u3:13");
    assert_true(list_watch_can_renew(lw));
}

static void test_an_ordered_list_ends_the_second_request(void **state)
{
    (void)state;
    renew_from("10");
    list_watch_order(lw, RELIST_MANUAL);
    script.action = list_watch_restart(lw, script.now);
    assert_int_equal(script.action.what, LW_LIST);
}

/* ---- The renewed watch. */

static void test_a_renewed_watch_that_ends_soon_is_neither_empty_nor_hasty(void **state)
{
    (void)state;
    body(BOOKMARK("11"));
    for (int i = 0; i < 20; i++) {
        renew_from("11");
        assert_true(second_head(200));
        script.now.ms += RENEWAL_TRIAL_MS;
        assert_true(list_watch_renewed(lw, script.now));
    }
    script.now.ms += 10;
    script.action = ends(NULL);
    asks_from(&script.action, "11");
    was_never_relisted();
}

static void test_renewed_watches_that_end_early_wait_as_all_others(void **state)
{
    (void)state;
    for (int i = 0; i < 6; i++) {
        assert_int_equal(script.action.what, LW_WATCH);
        script.now.ms += 60000; /* the first watch is old */
        renew_from("10");
        assert_true(second_head(200));
        script.now.ms += RENEWAL_TRIAL_MS;
        assert_true(list_watch_renewed(lw, script.now));
        body(EVENT("MODIFIED", "a", "u1", "10"));
        script.now.ms += 3000;
        script.action = ends(NULL);
        if (i < 5)
            list_watch_script_head(&script);
    }
    assert_int_equal(script.action.what, LW_WAIT);
    was_never_relisted();
}

/* The event is only one that comes again, but a server that sends it has served the watch. */
static void test_a_repeated_event_shows_that_the_watch_was_served(void **state)
{
    (void)state;
    renew_from("10");
    body(EVENT("ADDED", "c", "u3", "11"));
    assert_true(second_head(200));
    assert_true(take_over(EVENT("ADDED", "c", "u3", "11")));
    script.now.ms += 10;
    script.action = ends(NULL);
    asks_from(&script.action, "11");
    was_never_relisted();
}

/* Two silent watches in a row make a probe necessary; a renewal ends none. */
static void test_a_renewal_is_no_silent_watch(void **state)
{
    (void)state;
    for (int i = 0; i < 5; i++) {
        renew_from("10");
        assert_true(second_head(200));
        script.now.ms += 60000;
        assert_true(list_watch_renewed(lw, script.now));
    }
    script.now.ms += 60000;
    script.action = ends(NULL);
    asks_from(&script.action, "10");
    list_watch_script_head(&script);
    script.now.ms += 300000;
    script.action = ends(NULL);
    assert_int_equal(script.action.what, LW_LIST);
    assert_non_null(strstr(script.action.target, "?limit=1"));
}

static void test_the_events_before_a_renewal_count_for_the_watch(void **state)
{
    (void)state;
    script.now.ms += 60000;
    script.action = ends(NULL); /* silent */
    list_watch_script_head(&script);
    body(EVENT("ADDED", "c", "u3", "11"));
    renew_from("11");
    assert_true(second_head(200));
    assert_true(list_watch_renewed(lw, script.now));
    script.now.ms += 300000;
    script.action = ends(NULL); /* the second part was silent */
    asks_from(&script.action, "11");
}

static void test_bookmarks_are_expected_when_the_new_stream_has_had_one(void **state)
{
    (void)state;
    body(BOOKMARK("11"));
    assert_int_equal(list_watch_due_ms(lw), script.now.ms + 150000);
    renew_from("11");
    assert_true(second_head(200));
    script.now.ms += 1000;
    assert_true(list_watch_renewed(lw, script.now));
    assert_int_equal(list_watch_due_ms(lw), UINT64_MAX);
    assert_int_equal(status().contact_ms, script.now.ms);
    body(BOOKMARK("12"));
    assert_int_equal(list_watch_due_ms(lw), script.now.ms + 150000);
}

/* The second server is a little behind: its first bookmark is older than the last one of the first
 * server, but it is none of a server that went back. */
static void test_an_older_bookmark_of_the_second_server_is_passed_over(void **state)
{
    (void)state;
    body(BOOKMARK("11"));
    renew_from("11");
    body(EVENT("ADDED", "c", "u3", "15"));
    body(BOOKMARK("20"));
    assert_true(second_head(200));
    assert_true(take_over(BOOKMARK("13")));
    assert_string_equal(status().rv, "20");
    assert_string_equal(status().collection_rv, "20");
    body(EVENT("ADDED", "c", "u3", "15"));
    body(BOOKMARK("18"));
    assert_string_equal(status().rv, "20");
    body(BOOKMARK("20"));
    body(BOOKMARK("21"));
    assert_string_equal(status().rv, "21");
    hears("+ns/c:u3:15");
    was_never_relisted();
}

static void goes_back_at(const char *text)
{
    assert_false(list_watch_body(lw, text, strlen(text), script.now));
    script.action = ends(NULL);
    assert_int_equal(script.action.what, LW_WAIT);
    script.action = list_watch_timer(lw, script.now.ms);
    assert_int_equal(script.action.what, LW_LIST);
    assert_int_equal(status().relists[RELIST_BACKWARDS], 1);
}

static void test_a_bookmark_from_before_the_request_shows_a_server_that_went_back(void **state)
{
    (void)state;
    body(BOOKMARK("11"));
    renew_from("11");
    body(BOOKMARK("20"));
    assert_true(second_head(200));
    assert_true(list_watch_renewed(lw, script.now));
    goes_back_at(BOOKMARK("10"));
}

static void test_behind_the_common_time_bookmarks_may_not_go_back(void **state)
{
    (void)state;
    body(BOOKMARK("11"));
    renew_from("11");
    body(BOOKMARK("20"));
    assert_true(second_head(200));
    assert_true(take_over(BOOKMARK("21")));
    goes_back_at(BOOKMARK("19"));
}

/* The second server does not know the versions that the first one has sent. The next watch does, and no
 * list is needed. */
static void test_streams_that_do_not_fit_together_are_followed_by_a_watch(void **state)
{
    (void)state;
    renew_from("10");
    body(EVENT("ADDED", "c", "u3", "zz"));
    assert_true(second_head(200));
    assert_false(take_over(EVENT("ADDED", "d", "u4", "yy")));
    hears("+ns/c:u3:zz");
    script.action = ends(NULL);
    asks_from(&script.action, "zz");
    was_never_relisted();
}

static void test_a_first_watch_with_events_without_versions_goes_on(void **state)
{
    struct err why = {0};

    (void)state;
    renew_from("10");
    assert_true(second_head(200));
    body("{\"type\":\"DELETED\",\"object\":{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\","
         "\"metadata\":{\"namespace\":\"ns\",\"name\":\"b\",\"uid\":\"u2\"}}}\n");
    assert_int_equal(second_body(EVENT("ADDED", "c", "u3", "11")), RENEWAL_SERVED);
    assert_false(list_watch_renewed(lw, script.now));
    list_watch_renewal_end(lw, NULL, &why);
    body(EVENT("ADDED", "c", "u3", "11"));
    hears("-ns/b:u2: +ns/c:u3:11");
    renew_from("11");
    assert_true(second_head(200));
    assert_true(list_watch_renewed(lw, script.now));
}

/* A second rotation: the watch that is renewed has itself not repeated all events yet. */
static void test_a_watch_is_renewed_while_it_still_repeats_events(void **state)
{
    (void)state;
    renew_from("10");
    body(EVENT("ADDED", "c", "u3", "11"));
    body(EVENT("MODIFIED", "c", "u3", "12"));
    assert_true(second_head(200));
    assert_true(take_over(EVENT("ADDED", "c", "u3", "11")));
    renew_from("12");
    body(EVENT("MODIFIED", "c", "u3", "12"));
    body(EVENT("MODIFIED", "c", "u3", "13"));
    assert_true(second_head(200));
    assert_true(take_over(EVENT("MODIFIED", "c", "u3", "13")));
    body(EVENT("MODIFIED", "c", "u3", "14"));
    hears("+ns/c:u3:11 ~ns/c:u3:12 ~ns/c:u3:13 ~ns/c:u3:14");
}

static void test_a_server_behind_the_version_of_the_request_is_known(void **state)
{
    (void)state;
    body(EVENT("ADDED", "c", "u3", "12"));
    renew_from("12");
    body(EVENT("MODIFIED", "c", "u3", "15")); /* after the server was asked */
    assert_true(list_watch_renewal_is_ahead(lw, "11"));
    assert_false(list_watch_renewal_is_ahead(lw, "12"));
    assert_false(list_watch_renewal_is_ahead(lw, "13"));
    assert_false(list_watch_renewal_is_ahead(lw, ""));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, clean_up)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_event_is_lost_or_told_twice_wherever_the_streams_are_cut),
        TEST(test_the_first_event_ends_the_trial),
        TEST(test_the_first_watch_goes_on_until_the_second_is_served),
        cmocka_unit_test(test_a_refused_second_watch_changes_nothing),
        TEST(test_a_second_watch_that_is_html_by_its_head_is_refused),
        TEST(test_a_lost_connection_is_the_reason_if_nothing_else_is_known),
        TEST(test_the_server_says_when_to_try_again),
        TEST(test_a_refusal_does_not_delay_the_first_watch),
        cmocka_unit_test(test_requests_before_the_watch_are_not_renewed),
        TEST(test_a_streaming_list_is_renewed_when_it_has_become_a_watch),
        cmocka_unit_test(test_a_watch_without_a_version_is_not_renewed),
        TEST(test_the_end_of_the_first_watch_ends_the_second_request),
        TEST(test_an_ordered_list_ends_the_second_request),
        TEST(test_a_renewed_watch_that_ends_soon_is_neither_empty_nor_hasty),
        TEST(test_renewed_watches_that_end_early_wait_as_all_others),
        TEST(test_a_repeated_event_shows_that_the_watch_was_served),
        TEST(test_a_renewal_is_no_silent_watch),
        TEST(test_the_events_before_a_renewal_count_for_the_watch),
        TEST(test_bookmarks_are_expected_when_the_new_stream_has_had_one),
        TEST(test_an_older_bookmark_of_the_second_server_is_passed_over),
        TEST(test_a_bookmark_from_before_the_request_shows_a_server_that_went_back),
        TEST(test_behind_the_common_time_bookmarks_may_not_go_back),
        TEST(test_streams_that_do_not_fit_together_are_followed_by_a_watch),
        TEST(test_a_first_watch_with_events_without_versions_goes_on),
        TEST(test_a_watch_is_renewed_while_it_still_repeats_events),
        TEST(test_a_server_behind_the_version_of_the_request_is_known),
    };

    return cmocka_run_group_tests(tests, list_watch_script_be_quiet, NULL);
}
