/* SPDX-License-Identifier: Apache-2.0 */
/* The tables that informerctl prints of the daemon's answers, and its command line. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/visible.h"
#include "ctl/args.h"
#include "ctl/command.h"
#include "ctl/listing.h"
#include "ctl/reader.h"
#include "ctl/summary.h"
#include "ctl/table.h"
#include "ctl/tone.h"
#include "ctl/units.h"

/* 2024-05-01T10:20:30Z */
enum { THEN_S = 1714558830 };

static void check(struct buf *out, const char *expected)
{
    assert_string_equal(buf_cstr(out), expected);
    buf_clear(out);
}

static void test_durations(void **state)
{
    static const struct {
        uint64_t seconds;
        const char *text;
    } table[] = {
        {0,          "0s"              },
        {119,        "119s"            },
        {120,        "2m"              },
        {7199,       "119m"            },
        {7200,       "2h"              },
        {172799,     "47h"             },
        {172800,     "2d"              },
        {UINT64_MAX, "106751991167300d"},
    };
    struct buf out = {0};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        units_put_duration(&out, table[i].seconds);
        check(&out, table[i].text);
    }
    buf_free(&out);
}

static void test_sizes(void **state)
{
    static const struct {
        uint64_t bytes;
        const char *text;
    } table[] = {
        {0,                    "0B"       },
        {1023,                 "1023B"    },
        {1024,                 "1.0KiB"   },
        {1258291,              "1.2MiB"   },
        {1024 * 1024 - 1,      "1.0MiB"   },
        {UINT64_C(5) << 30,    "5.0GiB"   },
        {UINT64_C(5000) << 30, "5000.0GiB"},
    };
    struct buf out = {0};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        units_put_size(&out, table[i].bytes);
        check(&out, table[i].text);
    }
    buf_free(&out);
}

static void test_times(void **state)
{
    static const struct {
        const char *text;
        int64_t seconds;
    } good[] = {
        {"1970-01-01T00:00:00Z",           0         },
        {"2000-02-29T23:59:59Z",           951868799 },
        {"2024-05-01T10:20:30Z",           THEN_S    },
        {"2024-05-01T10:20:30.123456789Z", THEN_S    },
        {"2100-03-01T00:00:00Z",           4107542400},
    };
    static const char *const bad[] = {"",
                                      "Z",
                                      "2024-05-01",
                                      "2024-05-01T10:20:30",
                                      "2024-05-01T10:20:30+01:00",
                                      "2024-05-01T10:20:3xZ",
                                      "2024-05-01T10:20:30.1xZ",
                                      "2024-05-01 10:20:30Z"};
    int64_t seconds;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(good); i++) {
        assert_true(units_parse_time(str_c(good[i].text), &seconds));
        assert_int_equal(seconds, good[i].seconds);
    }
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        assert_false(units_parse_time(str_c(bad[i]), &seconds));
}

static void test_columns_are_aligned(void **state)
{
    static const char *const headings[] = {"NAME", "N", "ERROR"};
    struct table *t = table_create(headings, 3);
    struct buf out = {0};

    (void)state;
    table_put(&out, t);
    check(&out, "NAME  N  ERROR\n");
    table_add(t, (struct str[]){str_c("gr\xc3\xbcn"), str_c("1"), str_c("")});
    table_add(t, (struct str[]){str_c("longer"), str_c("22"), str_c("oh\nno")});
    assert_int_equal(table_rows(t), 2);
    table_put(&out, t);
    check(&out, "NAME    N   ERROR\n"
                "gr\xc3\xbcn    1   -\n"
                "longer  22  oh\\nno\n");
    table_destroy(&t);
    assert_null(t);
    buf_free(&out);
}

static void collect(void *arg, const struct leaf *leaf)
{
    struct buf *out = arg;

    for (size_t i = 0; i < leaf->depth; i++)
        buf_printf(out, "/%.*s", STR_ARG(leaf->path[i]));
    buf_printf(out, "=%.*s;", STR_ARG(leaf->text));
}

static void test_reader_gives_the_way_to_each_scalar(void **state)
{
    struct buf out = {0};
    struct err err = {0};

    (void)state;
    assert_int_equal(reader_scan(str_c("{\"a\":{\"b\":[1,{\"c\":\"x\"},[true,2]]},\"d\":3,\"e\":{},"
                                       "\"f\":[[[[[[[0]]]]]]],\"g\":[]}"),
                                 collect, &out, &err),
                     ERR_OK);
    check(&out, "/a/b/0=1;/a/b/1/c=x;/a/b/2/0=;/a/b/2/1=2;/d=3;");
    assert_int_equal(reader_scan(str_c("7"), collect, &out, &err), ERR_OK);
    check(&out, "=7;");
    assert_int_not_equal(reader_scan(str_c("{\"a\":"), collect, &out, &err), ERR_OK);
    assert_int_not_equal(reader_scan(str_c("hello"), collect, &out, &err), ERR_OK);
    buf_free(&out);
}

static const char status[] =
    "{\"version\":\"0.1.0\",\"pid\":12,\"started\":\"2024-05-01T10:20:30Z\",\"ready\":true,"
    "\"degraded\":[\"watch slices: forbidden: HTTP 403\"],"
    "\"state\":{\"dir\":\"/var/lib/informerd\",\"kept\":true,\"writable\":true,"
    "\"reason\":null,\"since\":null,\"waiting\":3,\"commits\":9},"
    "\"clusters\":{\"prod\":{\"server\":\"https://10.0.0.1:6443\",\"contact_age_s\":0.25,"
    "\"credential_expires\":\"2024-05-04T10:20:30Z\"},\"test\":{\"server\":\"https://b\","
    "\"contact_age_s\":null,\"credential_expires\":\"2024-05-01T10:20:30Z\"},"
    "\"dev\":{\"server\":\"https://c\",\"contact_age_s\":null,\"credential_expires\":null}},"
    "\"watches\":{\"services\":{\"cluster\":\"prod\",\"resource\":\"services\","
    "\"state\":\"watching\",\"synced\":true,\"stale\":false,\"held\":true,\"contact_age_s\":3.7,"
    "\"objects\":10000,\"bytes\":1258291,\"skipped\":0,\"resource_version\":\"99\",\"relists\":3,"
    "\"last_error\":null,\"held_reason\":\"deletes\",\"held_deletes\":6000,"
    "\"last_event_age_s\":300.5,\"last_bookmark_age_s\":8,"
    "\"relists_by\":{\"expired\":2,\"manual\":1},\"resumed\":\"watch\",\"events\":17,"
    "\"audit\":{\"state\":\"idle\",\"runs\":4,\"differences\":0}},"
    "\"slices\":{\"cluster\":\"prod\",\"resource\":\"endpointslices.discovery.k8s.io\","
    "\"state\":\"forbidden\",\"synced\":false,\"stale\":false,\"contact_age_s\":null,\"objects\":0,"
    "\"bytes\":0,\"skipped\":0,\"resource_version\":null,\"relists\":0,"
    "\"last_error\":\"HTTP 403\",\"held_reason\":null,\"last_event_age_s\":null,"
    "\"last_bookmark_age_s\":null,\"relists_by\":{}}},"
    "\"hooks\":{\"print\":{\"pending\":2,\"running\":1,\"parked\":3,\"forgotten\":0,\"paused\":"
    "true,"
    "\"oldest_pending_s\":130,"
    "\"last_success\":\"2024-05-01T10:20:30Z\",\"last_error\":null,\"runs_ok\":5,"
    "\"runs_failed\":0}}}";

static void test_summary(void **state)
{
    struct buf out = {0};
    struct err err = {0};
    bool degraded = false;

    (void)state;
    assert_int_equal(summary_put(&out, str_c(status),
                                 &(struct summary_look){.width = 0, .now_s = THEN_S + 3 * 3600},
                                 &err),
                     ERR_OK);
    check(&out, "informerd 0.1.0, pid 12, up 3h, ready, degraded:\n"
                "  watch slices: forbidden: HTTP 403\n"
                "state: /var/lib/informerd\n"
                "\n"
                "CLUSTER  SERVER                 CONTACT  EXPIRES\n"
                "prod     https://10.0.0.1:6443  0s       in 2d\n"
                "test     https://b              -        expired\n"
                "dev      https://c              -        -\n"
                "\n"
                "WATCH     RESOURCE                         STATE      SYNCED  HELD     CONTACT  "
                "OBJECTS  SIZE    ERROR\n"
                "services  services                         watching   yes     deletes  3s       "
                "10000    1.2MiB  -\n"
                "slices    endpointslices.discovery.k8s.io  forbidden  no      -        -        "
                "0        0B      HTTP 403\n"
                "\n"
                "HOOK   PENDING  OLDEST  RUNNING  PARKED  PAUSED  OK  FAILED  SUCCESS\n"
                "print  2        2m      1        3       yes     5   0       3h\n");
    assert_int_equal(summary_verdict(str_c(status), &degraded, &err), ERR_OK);
    assert_true(degraded);
    assert_int_equal(summary_verdict(str_c("{\"degraded\":[]}"), &degraded, &err), ERR_OK);
    assert_false(degraded);
    assert_int_equal(summary_verdict(str_c("<html>"), &degraded, &err), ERR_PROTOCOL);
    buf_free(&out);
}

static void check_head(const char *state, const char *line)
{
    struct buf json = {0};
    struct buf out = {0};
    struct err err = {0};

    buf_printf(&json, "{\"version\":\"1\",\"pid\":2,\"ready\":true,\"degraded\":[]%s}", state);
    assert_int_equal(summary_put(&out, buf_str(&json),
                                 &(struct summary_look){.width = 0, .now_s = THEN_S + 300}, &err),
                     ERR_OK);
    assert_ptr_equal(strstr(buf_cstr(&out), line), out.data);
    buf_free(&json);
    buf_free(&out);
}

static void test_the_table_of_kept_state(void **state)
{
    (void)state;
    check_head("", "informerd 1, pid 2, ready\n\n");
    check_head(",\"state\":{\"dir\":\"/s\",\"kept\":true,\"writable\":true,\"since\":null,"
               "\"waiting\":7}",
               "informerd 1, pid 2, ready\nstate: /s\n\n");
    check_head(",\"state\":{\"dir\":null,\"kept\":false,\"writable\":true,\"since\":null,"
               "\"waiting\":0}",
               "informerd 1, pid 2, ready\nstate: nothing is kept over restarts\n\n");
    check_head(",\"state\":{\"dir\":\"/s\",\"kept\":true,\"writable\":false,"
               "\"since\":\"2024-05-01T10:20:30Z\",\"waiting\":7}",
               "informerd 1, pid 2, ready\nstate: /s, not writable for 5m, 7 changes wait\n\n");
    check_head(",\"state\":{\"dir\":\"/s\",\"kept\":false,\"writable\":false,\"since\":null,"
               "\"waiting\":0}",
               "informerd 1, pid 2, ready\nstate: /s, not writable\n\n");
}

/* The table is there if any cluster has several servers. */
static void test_the_table_of_servers(void **state)
{
    static const char json[] =
        "{\"version\":\"1\",\"pid\":2,\"ready\":true,\"degraded\":[],\"clusters\":{"
        "\"prod\":{\"server\":\"https://b\",\"contact_age_s\":1,\"trouble\":null,\"servers\":["
        "{\"url\":\"https://a\",\"in_use\":false,\"tier\":1,\"state\":\"failed\",\"state_age_s\":7,"
        "\"failed_age_s\":5,\"error\":\"a: refused\"},"
        "{\"url\":\"https://b\",\"in_use\":true,\"tier\":2,\"state\":\"good\",\"state_age_s\":6,"
        "\"failed_age_s\":null,\"error\":null}]},"
        "\"test\":{\"server\":\"https://c\",\"contact_age_s\":1,\"trouble\":null,\"servers\":["
        "{\"url\":\"https://c\",\"in_use\":true,\"tier\":1,\"state\":\"good\",\"state_age_s\":9,"
        "\"failed_age_s\":null,\"error\":null}]}}}";
    struct buf out = {0};

    (void)state;
    assert_int_equal(summary_put(&out, str_c(json),
                                 &(struct summary_look){.wide = true, .width = 0, .now_s = THEN_S},
                                 NULL),
                     ERR_OK);
    assert_non_null(strstr(buf_cstr(&out),
                           "\n\nCLUSTER  SERVER     TIER  USED  STATE   FOR  FAILED  ERROR\n"
                           "prod     https://a  1     no    failed  7s   5s      a: refused\n"
                           "prod     https://b  2     yes   good    6s   -       -\n"
                           "test     https://c  1     yes   good    9s   -       -\n\n"));
    buf_free(&out);
}

static size_t longest_line(struct str text)
{
    size_t longest = 0;

    for (size_t n = 0; text.n > 0; text = str_of(text.p + n + 1, text.n - n - 1)) {
        n = (size_t)((const char *)memchr(text.p, '\n', text.n) - text.p);
        size_t width = visible_width(str_of(text.p, n));
        longest = width > longest ? width : longest;
    }
    return longest;
}

static void test_tables_fit_a_terminal(void **state)
{
    struct buf out = {0};
    struct err err = {0};

    (void)state;
    assert_int_equal(summary_put(&out, str_c(status),
                                 &(struct summary_look){.width = 80, .now_s = THEN_S + 3 * 3600},
                                 &err),
                     ERR_OK);
    assert_true(longest_line(buf_str(&out)) <= 80);
    assert_non_null(strstr(buf_cstr(&out), "\nslices    endpoin~  forbidden  no"));
    assert_non_null(strstr(buf_cstr(&out), "  HTTP ~\n"));
    buf_clear(&out);
    /* a wide table is for those who want all */
    assert_int_equal(
        summary_put(&out, str_c(status),
                    &(struct summary_look){.wide = true, .width = 80, .now_s = THEN_S + 3 * 3600},
                    &err),
        ERR_OK);
    assert_true(longest_line(buf_str(&out)) > 150);
    buf_free(&out);
}

static void test_cells_are_cut_the_widest_first(void **state)
{
    static const char *const headings[] = {"N", "TEXT", "KEY", "MORE"};
    struct table *t = table_create(headings, 4);
    struct buf out = {0};

    (void)state;
    table_add(t, (struct str[]){str_c("1"), str_c("gr\xc3\xbc\xc3\xbc\xc3\xbc\xc3\xbc\xc3\xbcn"),
                                str_c("a-long-key"), str_c("1234567")});
    table_may_cut(t, 1);
    table_may_cut(t, 3);
    table_fit(t, 29);
    table_put(&out, t);
    check(&out, "N  TEXT    KEY         MORE\n"
                "1  gr\xc3\xbc\xc3\xbc\xc3\xbc~  a-long-key  12345~\n");
    table_fit(t, 1); /* no further than this */
    table_hide(t, 3);
    table_put(&out, t);
    check(&out, "N  TEXT    KEY\n"
                "1  gr\xc3\xbc\xc3\xbc\xc3\xbc~  a-long-key\n");
    table_destroy(&t);
    buf_free(&out);
}

/* A name loses its middle, and only when cut texts are not enough. */
static void test_names_are_shortened_last(void **state)
{
    static const char *const headings[] = {"NAME", "TEXT", "N"};
    struct table *t = table_create(headings, ARRAY_LEN(headings));
    struct buf out = {0};

    (void)state;
    table_add(t, (struct str[]){str_c("the-name-of-a-backend-7"), str_c("a text that is long"),
                                str_c("12")});
    table_may_shorten(t, 0);
    table_may_cut(t, 1);
    table_may_shorten(t, 2);
    table_fit(t, 40);
    table_put(&out, t);
    check(&out, "NAME                     TEXT         N\n"
                "the-name-of-a-backend-7  a text tha~  12\n");
    table_fit(t, 22);
    table_put(&out, t);
    check(&out, "NAME        TEXT    N\n"
                "the-n~nd-7  a tex~  12\n");
    table_fit(t, 1); /* no further than this */
    table_put(&out, t);
    check(&out, "NAME    TEXT    N\n"
                "the~-7  a tex~  12\n");
    table_destroy(&t);
    buf_free(&out);
}

/* The text without its colours. */
static void put_plain(struct buf *out, struct str text)
{
    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] == '\x1b')
            while (text.p[i] != 'm')
                i++;
        else
            buf_putc(out, text.p[i]);
    }
}

static void test_colours_take_no_room(void **state)
{
    const struct summary_look plain = {.width = 80, .now_s = THEN_S};
    const struct summary_look coloured = {.width = 80, .now_s = THEN_S, .colour = true};
    struct buf expected = {0};
    struct buf out = {0};
    struct buf bare = {0};

    (void)state;
    assert_int_equal(summary_put(&expected, str_c(status), &plain, NULL), ERR_OK);
    assert_null(strchr(buf_cstr(&expected), '\x1b'));
    assert_int_equal(summary_put(&out, str_c(status), &coloured, NULL), ERR_OK);
    put_plain(&bare, buf_str(&out));
    assert_string_equal(buf_cstr(&bare), buf_cstr(&expected));
    assert_non_null(strstr(buf_cstr(&out), "\x1b[31m  watch slices: forbidden: HTTP 403\x1b[0m\n"));
    assert_non_null(strstr(buf_cstr(&out), "\x1b[1mHOOK\x1b[0m   \x1b[1mPENDING\x1b[0m  "));
    assert_non_null(strstr(buf_cstr(&out), "\nprint  \x1b[33m2\x1b[0m        "));
    buf_free(&expected);
    buf_free(&out);
    buf_free(&bare);
}

static void test_what_needs_a_person_is_red_and_what_waits_yellow(void **state)
{
    static const struct {
        const char *heading;
        const char *text;
        enum tone tone;
    } table[] = {
        {"STATE",   "watching",  TONE_PLAIN},
        {"STATE",   "forbidden", TONE_BAD  },
        {"STATE",   "failed",    TONE_BAD  },
        {"STATE",   "backoff",   TONE_WAITS},
        {"STALE",   "yes",       TONE_BAD  },
        {"STALE",   "no",        TONE_PLAIN},
        {"SYNCED",  "no",        TONE_WAITS},
        {"HELD",    "deletes",   TONE_BAD  },
        {"HELD",    "-",         TONE_PLAIN},
        {"PARKED",  "3",         TONE_BAD  },
        {"PARKED",  "0",         TONE_PLAIN},
        {"PAUSED",  "yes",       TONE_WAITS},
        {"PENDING", "2",         TONE_WAITS},
        {"EXPIRES", "expired",   TONE_BAD  },
        {"EXPIRES", "in 2d",     TONE_PLAIN},
        {"NAME",    "forbidden", TONE_PLAIN},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(table); i++)
        assert_int_equal(tone_of_cell(table[i].heading, table[i].text), table[i].tone);
}

static void test_wide_watches_and_names(void **state)
{
    const struct listing_look wide = {.rows = LISTING_GROUP, .wide = true, .now_s = THEN_S};
    struct buf out = {0};
    struct err err = {0};

    (void)state;
    assert_int_equal(listing_put_table(&out, &listing_watches, &wide, str_c(status), &err), ERR_OK);
    assert_non_null(strstr(buf_cstr(&out),
                           "CONTACT  EVENT  BOOKMARK  OBJECTS  SKIPPED  SIZE    VERSION  RELISTS  "
                           "REASONS             RESUMED  ERROR\n"));
    assert_non_null(strstr(
        buf_cstr(&out), "  3s       5m     8s        10000    0        1.2MiB  99       3        "
                        "expired=2 manual=1  watch    -\n"));
    assert_non_null(strstr(
        buf_cstr(&out), "  -        -      -         0        0        0B      -        0        "
                        "-                   -        HTTP 403\n"));
    buf_clear(&out);
    assert_int_equal(listing_put_keys(&out, &listing_watches, LISTING_GROUP, str_c(status), &err),
                     ERR_OK);
    check(&out, "services\nslices\n");
    assert_int_equal(listing_put_keys(&out, &listing_hooks, LISTING_GROUP, str_c(status), &err),
                     ERR_OK);
    check(&out, "print\n");
    buf_free(&out);
}

static const char objects[] =
    "[{\"kind\":\"Service\",\"metadata\":{\"name\":\"web\\u001b[1m\",\"namespace\":\"n\","
    "\"uid\":\"u\",\"resourceVersion\":\"5\",\"labels\":{\"name\":\"no\"},"
    "\"creationTimestamp\":\"2024-05-01T10:20:30Z\"},\"spec\":{\"metadata\":{\"name\":\"no\"}}},"
    "{\"metadata\":{\"name\":\"node-1\"}}]";

static void test_objects(void **state)
{
    struct listing_look look = {.rows = LISTING_ARRAY, .now_s = THEN_S + 90};
    struct buf out = {0};
    struct err err = {0};

    (void)state;
    assert_int_equal(listing_put_table(&out, &listing_objects, &look, str_c(objects), &err),
                     ERR_OK);
    check(&out, "NAMESPACE  NAME          AGE\n"
                "n          web\\u001b[1m  90s\n"
                "-          node-1        -\n");
    assert_int_equal(listing_put_keys(&out, &listing_objects, LISTING_ARRAY, str_c(objects), &err),
                     ERR_OK);
    check(&out, "n/web\\u001b[1m\nnode-1\n");
    look.rows = LISTING_ONE;
    look.wide = true;
    assert_int_equal(listing_put_table(&out, &listing_objects, &look,
                                       str_c("{\"metadata\":{\"name\":\"x\",\"uid\":\"u\"}}"),
                                       &err),
                     ERR_OK);
    check(&out, "NAMESPACE  NAME  AGE  VERSION  UID\n"
                "-          x     -    -        u\n");
    assert_int_equal(listing_put_table(&out, &listing_objects, &look, str_c("{\"a"), &err),
                     ERR_CLOSED);
    check(&out, "");
    buf_free(&out);
}

static enum err_kind parse(struct args *a, const char *const *words)
{
    const char *argv[10] = {"informerctl"};
    struct err err = {0};
    int argc = 1;

    for (; words[argc - 1] != NULL; argc++)
        argv[argc] = words[argc - 1];
    return args_parse(a, argc, argv, &err);
}

#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

static void test_options(void **state)
{
    struct args a;

    (void)state;
    assert_int_equal(parse(&a, WORDS("get", "-o", "json", "w", "--socket=/s", "--", "-k")), ERR_OK);
    assert_int_equal(a.output, OUTPUT_JSON);
    assert_string_equal(a.socket, "/s");
    assert_int_equal(a.word_count, 3);
    assert_string_equal(a.words[1], "w");
    assert_string_equal(a.words[2], "-k");
    assert_int_equal(parse(&a, WORDS("--socket", "/x", "status", "-owide")), ERR_OK);
    assert_string_equal(a.socket, "/x");
    assert_int_equal(a.output, OUTPUT_WIDE);
    assert_int_equal(parse(&a, WORDS("-h")), ERR_OK);
    assert_true(a.help);
    assert_int_equal(parse(&a, WORDS("--version")), ERR_OK);
    assert_true(a.version);
    assert_string_equal(a.socket, "/run/informerd/control.sock");
    assert_null(a.timeout);
    assert_int_equal(parse(&a, WORDS("verify", "w", "--timeout", "3s")), ERR_OK);
    assert_string_equal(a.timeout, "3s");
    assert_int_equal(a.timeout_ms, 3000);
    assert_false(a.wait || a.follow);
    assert_int_equal(parse(&a, WORDS("run", "h", "--wait")), ERR_OK);
    assert_true(a.wait);
    assert_int_equal(parse(&a, WORDS("events", "-f")), ERR_OK);
    assert_true(a.follow);
    assert_int_equal(parse(&a, WORDS("--wait=yes")), ERR_CONFIG);
    assert_int_equal(parse(&a, WORDS("-f1")), ERR_CONFIG);
    assert_int_equal(parse(&a, WORDS("run", "h", "--wait", "--timeout=1d")), ERR_OK);
    assert_int_equal(a.timeout_ms, 86400000);
    assert_int_equal(parse(&a, WORDS("--timeout=3")), ERR_CONFIG);
    assert_int_equal(parse(&a, WORDS("--timeout")), ERR_CONFIG);
    assert_int_equal(parse(&a, WORDS("-x")), ERR_CONFIG);
    assert_int_equal(parse(&a, WORDS("-")), ERR_CONFIG);
    assert_int_equal(parse(&a, WORDS("--soc", "/x")), ERR_CONFIG);
    assert_int_equal(parse(&a, WORDS("--socketx", "/x")), ERR_CONFIG);
    assert_int_equal(parse(&a, WORDS("--socket")), ERR_CONFIG);
    assert_int_equal(parse(&a, WORDS("--socket=")), ERR_CONFIG);
    assert_int_equal(parse(&a, WORDS("--help=yes")), ERR_CONFIG);
    assert_int_equal(parse(&a, WORDS("-o", "yaml")), ERR_CONFIG);
}

static void test_a_recording_may_have_many_watches(void **state)
{
    const char *argv[ARGS_WORDS + 3] = {"informerctl", "--with-secrets"};
    struct args a;
    struct err err;

    (void)state;
    for (int i = 0; i <= ARGS_WORDS; i++)
        argv[2 + i] = "a";
    assert_int_equal(args_parse(&a, 2 + ARGS_WORDS, argv, &err), ERR_OK);
    assert_true(a.with_secrets);
    assert_int_equal(a.word_count, ARGS_WORDS);
    assert_int_equal(args_parse(&a, 3 + ARGS_WORDS, argv, &err), ERR_CONFIG);
}

static void expect_exit(const char *const *words, enum command_exit code, const char *complaint)
{
    struct args a;
    struct buf out = {0};
    struct buf said = {0};

    assert_int_equal(parse(&a, words), ERR_OK);
    assert_int_equal(command_run(&a, &out, &said), code);
    assert_non_null(strstr(buf_cstr(&said), complaint));
    assert_int_equal(out.len, 0);
    buf_free(&out);
    buf_free(&said);
}

static void test_exit_codes_without_a_daemon(void **state)
{
    (void)state;
    expect_exit(WORDS("--socket=/nowhere/at/all", "status"), EXIT_UNREACHABLE,
                "there is no control socket /nowhere/at/all: is informerd running?");
    expect_exit(WORDS("--socket=/dev/null", "status"), EXIT_UNREACHABLE, "/dev/null");
    expect_exit(WORDS("fly"), EXIT_USAGE, "unknown command fly");
    expect_exit(WORDS("hok"), EXIT_USAGE, "unknown command hok: informerctl --help lists them");
    expect_exit(WORDS("hoks"), EXIT_USAGE,
                "unknown command hoks: did you mean hooks? informerctl --help lists them");
    expect_exit(WORDS("-ojson"), EXIT_USAGE, "a command is missing");
    expect_exit(WORDS("get"), EXIT_USAGE, "usage: informerctl get SOURCE [KEY]");
    expect_exit(WORDS("status", "x"), EXIT_USAGE, "usage: informerctl status");
    expect_exit(WORDS("status", "-oname"), EXIT_USAGE, "no -o name");
    expect_exit(WORDS("status", "--timeout=1s"), EXIT_USAGE, "status has no --timeout");
    expect_exit(WORDS("relist"), EXIT_USAGE, "usage: informerctl relist WATCH");
    expect_exit(WORDS("relist", "w", "x"), EXIT_USAGE, "usage: informerctl relist WATCH");
    expect_exit(WORDS("relist", "w", "--timeout=1s"), EXIT_USAGE, "relist has no --timeout");
    expect_exit(WORDS("verify"), EXIT_USAGE, "usage: informerctl verify WATCH [--timeout D]");
    expect_exit(WORDS("guard", "accept"), EXIT_USAGE, "informerctl guard accept|reject WATCH");
    expect_exit(WORDS("guard", "w", "accept"), EXIT_USAGE, "informerctl guard accept|reject WATCH");
    expect_exit(WORDS("--socket=/nowhere", "verify", "w"), EXIT_UNREACHABLE,
                "is informerd running?");
    expect_exit(WORDS("--socket=/nowhere", "relist", "w"), EXIT_UNREACHABLE,
                "is informerd running?");
    expect_exit(WORDS("--socket=/nowhere", "guard", "reject", "w"), EXIT_UNREACHABLE,
                "is informerd running?");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_durations),
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_times),
        cmocka_unit_test(test_columns_are_aligned),
        cmocka_unit_test(test_reader_gives_the_way_to_each_scalar),
        cmocka_unit_test(test_summary),
        cmocka_unit_test(test_the_table_of_kept_state),
        cmocka_unit_test(test_the_table_of_servers),
        cmocka_unit_test(test_tables_fit_a_terminal),
        cmocka_unit_test(test_cells_are_cut_the_widest_first),
        cmocka_unit_test(test_names_are_shortened_last),
        cmocka_unit_test(test_colours_take_no_room),
        cmocka_unit_test(test_what_needs_a_person_is_red_and_what_waits_yellow),
        cmocka_unit_test(test_wide_watches_and_names),
        cmocka_unit_test(test_objects),
        cmocka_unit_test(test_options),
        cmocka_unit_test(test_a_recording_may_have_many_watches),
        cmocka_unit_test(test_exit_codes_without_a_daemon),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
