/* SPDX-License-Identifier: Apache-2.0 */
/* proto/gzip: a body gives the same content wherever its bytes are cut, and one that is damaged, cut
 * short or a decompression bomb is an error. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "base/mem.h"
#include "base/rng.h"
#include "packed.h"
#include "proto/gzip.h"

#define MIB ((size_t)1024 * 1024)

/* The result of reading a body. */
struct outcome {
    struct buf content;
    struct err err;   /* kind OK: the body was complete */
    size_t most_made; /* the most content that one portion of the body has become */
};

static void reset(struct outcome *o)
{
    buf_free(&o->content);
    *o = (struct outcome){0};
}

/* Reads one portion, in memory of its own. */
static enum gzip_part read_portion(struct outcome *o, struct gzip *g, const char *bytes, size_t n)
{
    char *copy = mem_dup(bytes, n);
    struct str data = str_of(copy, n);
    size_t before = o->content.len;
    enum gzip_part part;
    struct str piece;

    while ((part = gzip_read(g, &data, &piece, &o->err)) == GZIP_PIECE) {
        assert_true(piece.n > 0 && piece.n <= 32768);
        buf_append_str(&o->content, piece);
    }
    assert_true(part == GZIP_FAILED || data.n == 0);
    if (o->content.len - before > o->most_made)
        o->most_made = o->content.len - before;
    free(copy);
    return part;
}

/* Reads a body: a first portion of first bytes, the others of step bytes. */
static void read_body(struct outcome *o, struct str body, size_t first, size_t step)
{
    struct gzip *g = gzip_create();
    enum gzip_part part = GZIP_MORE;
    size_t n = first;

    reset(o);
    for (size_t at = 0; part == GZIP_MORE && at < body.n; at += n, n = step) {
        n = n > 0 ? n : step;
        n = n < body.n - at ? n : body.n - at;
        part = read_portion(o, g, body.p + at, n);
    }
    if (part == GZIP_MORE)
        (void)!gzip_end(g, &o->err);
    gzip_destroy(&g);
    assert_null(g);
}

static void expect_content(const struct outcome *o, struct str want)
{
    assert_string_equal(o->err.text, "");
    assert_int_equal(o->content.len, want.n);
    assert_true(str_eq(buf_str(&o->content), want));
}

/* The body is complete however it is cut. */
static void expect_always(struct str body, const char *want)
{
    struct outcome o = {0};

    for (size_t cut = 0; cut <= body.n; cut++) {
        read_body(&o, body, cut, body.n);
        expect_content(&o, str_c(want));
    }
    for (size_t step = 1; step < 12; step++) {
        read_body(&o, body, step, step);
        expect_content(&o, str_c(want));
    }
    reset(&o);
}

/* The body is an error with this text however it is cut. */
static void expect_error(struct str body, const char *want)
{
    struct outcome o = {0};

    for (size_t step = 1; step <= body.n; step++) {
        read_body(&o, body, step, step);
        assert_int_equal(o.err.kind, ERR_PROTOCOL);
        assert_string_equal(o.err.text, want);
    }
    reset(&o);
}

static void test_one_member(void **state)
{
    struct buf body = {0};

    (void)state;
    packed_put(&body, str_c("{\"kind\":\"ServiceList\",\"items\":[]}"));
    expect_always(buf_str(&body), "{\"kind\":\"ServiceList\",\"items\":[]}");
    buf_free(&body);
}

static void test_a_header_with_all_its_fields(void **state)
{
    struct buf body = {0};

    (void)state;
    packed_put_full_header(&body, str_c("content"));
    expect_always(buf_str(&body), "content");
    buf_free(&body);
}

static void test_members_follow_each_other(void **state)
{
    struct buf body = {0};

    (void)state;
    packed_put(&body, str_c("one "));
    packed_put(&body, str_c("")); /* a flush without content */
    packed_put_full_header(&body, str_c("two "));
    packed_put(&body, str_c("three"));
    expect_always(buf_str(&body), "one two three");
    buf_free(&body);
}

static void test_no_content_is_complete(void **state)
{
    struct buf body = {0};

    (void)state;
    expect_always(str_c(""), "");
    packed_put(&body, str_c(""));
    expect_always(buf_str(&body), "");
    buf_free(&body);
}

/* Text that compresses by about a half. */
static void put_random(struct buf *out, size_t n, uint64_t seed)
{
    struct rng rng;

    rng_seed(&rng, seed);
    while (out->len < n)
        buf_printf(out, "%llx ", (unsigned long long)rng_next(&rng));
}

static void test_a_large_body_comes_in_small_pieces(void **state)
{
    static const size_t steps[] = {1, 17, 4096, 65536, SIZE_MAX};
    struct outcome o = {0};
    struct buf content = {0};
    struct buf body = {0};

    (void)state;
    put_random(&content, 3 * MIB, 1);
    packed_put(&body, buf_str(&content));
    for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
        read_body(&o, buf_str(&body), 0, steps[i]);
        expect_content(&o, buf_str(&content));
    }
    reset(&o);
    buf_free(&content);
    buf_free(&body);
}

/* All that can be known from the bytes so far is handed out with them, also where they become more
 * than a piece. */
static void test_content_does_not_wait_for_later_bytes(void **state)
{
    struct outcome o = {0};
    struct buf body = {0};

    (void)state;
    packed_put_fill(&body, 'x', MIB / 4);
    for (size_t n = 1; n <= body.len; n++) {
        read_body(&o, str_of(body.data, n), 0, n);
        assert_int_equal(o.content.len, packed_content(str_of(body.data, n), MIB));
    }
    assert_int_equal(o.content.len, MIB / 4);
    reset(&o);
    buf_free(&body);
}

static void test_a_body_that_is_cut_short(void **state)
{
    struct outcome o = {0};
    struct buf body = {0};

    (void)state;
    packed_put(&body, str_c("content"));
    for (size_t n = 1; n < body.len; n++) {
        read_body(&o, str_of(body.data, n), 0, n);
        assert_int_equal(o.err.kind, ERR_PROTOCOL);
        assert_non_null(strstr(o.err.text, "gzip: the body is cut short, after "));
    }
    assert_string_equal(o.err.text, "gzip: the body is cut short, after 7 bytes of content");
    /* The second member is the one that is cut. */
    packed_put(&body, str_c("more"));
    read_body(&o, str_of(body.data, body.len - 1), 0, 1);
    assert_string_equal(o.err.text, "gzip: the body is cut short, after 11 bytes of content");
    reset(&o);
    buf_free(&body);
}

static void test_bytes_behind_the_body(void **state)
{
    struct buf body = {0};

    (void)state;
    packed_put(&body, str_c("content"));
    buf_puts(&body, "{}");
    expect_error(buf_str(&body), "gzip: malformed behind member 1: incorrect header check");
    body.len -= 2;
    buf_append(&body, "\0\0\0\0", 4);
    expect_error(buf_str(&body), "gzip: malformed behind member 1: incorrect header check");
    buf_free(&body);
}

static void flip(struct buf *body, size_t bit)
{
    unsigned char *bytes = (unsigned char *)body->data;

    bytes[bit / 8] = (unsigned char)(bytes[bit / 8] ^ (1U << bit % 8));
}

static void test_wrong_checksums(void **state)
{
    struct buf body = {0};

    (void)state;
    packed_put(&body, str_c("content"));
    flip(&body, (body.len - 8) * 8);
    expect_error(buf_str(&body), "gzip: malformed: incorrect data check");
    flip(&body, (body.len - 8) * 8);
    flip(&body, (body.len - 4) * 8);
    expect_error(buf_str(&body), "gzip: malformed: incorrect length check");
    buf_free(&body);
}

static void test_bodies_that_are_no_gzip(void **state)
{
    static const char zlib_format[] = "\x78\x9c\x4b\x4c\x02\x00\x00\xc4\x00\xc3";

    (void)state;
    expect_error(str_c("{\"kind\":\"ServiceList\"}"), "gzip: malformed: incorrect header check");
    expect_error(str_of(zlib_format, sizeof(zlib_format) - 1),
                 "gzip: malformed: incorrect header check");
    expect_error(str_c("\x1f\x8b\x07xxxxxxx"), "gzip: malformed: unknown compression method");
    expect_error(str_c("\x1f\x8b\x08\xe0xxxxxxx"), "gzip: malformed: unknown header flags set");
}

/* A body with one wrong bit is an error, or the same content (a bit of the header that says
 * nothing). */
static void test_each_bit_counts(void **state)
{
    struct outcome o = {0};
    struct buf body = {0};

    (void)state;
    packed_put_full_header(&body, str_c("abc abc abc abc"));
    packed_put(&body, str_c(" and more"));
    for (size_t bit = 0; bit < body.len * 8; bit++) {
        flip(&body, bit);
        read_body(&o, buf_str(&body), 0, body.len);
        if (o.err.kind == ERR_OK)
            assert_string_equal(buf_cstr(&o.content), "abc abc abc abc and more");
        else
            assert_int_equal(o.err.kind, ERR_PROTOCOL);
        flip(&body, bit);
    }
    reset(&o);
    buf_free(&body);
}

static const char bomb[] = "gzip: the body grows to more than 100 times its size, as a "
                           "decompression bomb does; to list without gzip set tuning.compression = "
                           "\"off\"";

static void test_a_bomb_is_given_up_early(void **state)
{
    static const size_t steps[] = {1, 1000, 65536, SIZE_MAX};
    struct outcome o = {0};
    struct buf body = {0};

    (void)state;
    packed_put_fill(&body, ' ', 64 * MIB);
    assert_true(body.len < 64 * MIB / 1000);
    for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
        read_body(&o, buf_str(&body), 0, steps[i]);
        assert_string_equal(o.err.text, bomb);
        /* 20 KB of it were read by then. */
        assert_true(o.content.len > GZIP_ALLOWANCE_BYTES && o.content.len < 20 * MIB);
    }
    reset(&o);
    buf_free(&body);
}

/* A megabyte of zeros in a ConfigMap is no attack. */
static void test_a_part_of_a_body_may_be_very_dense(void **state)
{
    struct outcome o = {0};
    struct buf content = {0};
    struct buf body = {0};

    (void)state;
    for (uint64_t i = 0; i < 4; i++) {
        size_t begin = content.len;

        put_random(&content, begin + MIB, i);
        packed_put(&body, str_of(content.data + begin, content.len - begin));
        packed_put_fill(&body, 'A', GZIP_ALLOWANCE_BYTES);
        memset(buf_reserve(&content, GZIP_ALLOWANCE_BYTES), 'A', GZIP_ALLOWANCE_BYTES);
        content.len += GZIP_ALLOWANCE_BYTES;
    }
    read_body(&o, buf_str(&body), 0, 65536);
    expect_content(&o, buf_str(&content));
    reset(&o);
    buf_free(&content);
    buf_free(&body);
}

/* Megabytes that were hard to compress give no right to a larger bomb behind them. */
static void test_a_bomb_behind_a_long_body_is_as_small(void **state)
{
    struct outcome o = {0};
    struct buf content = {0};
    struct buf body = {0};

    (void)state;
    put_random(&content, 8 * MIB, 3);
    packed_put(&body, buf_str(&content));
    packed_put_fill(&body, ' ', 64 * MIB);
    read_body(&o, buf_str(&body), 0, 1000);
    assert_string_equal(o.err.text, bomb);
    assert_true(o.content.len < content.len + 20 * MIB);
    assert_true(o.most_made < 2 * MIB); /* of 1000 bytes */
    reset(&o);
    buf_free(&content);
    buf_free(&body);
}

/* Bytes without content are no error here: whoever reads them bounds the time without content. */
static void test_bytes_that_never_bring_content(void **state)
{
    struct outcome o = {0};
    struct buf body = {0};

    (void)state;
    for (int i = 0; i < 10000; i++)
        packed_put(&body, str_c(""));
    read_body(&o, buf_str(&body), 0, 1000);
    expect_content(&o, str_c(""));
    buf_clear(&body);
    buf_append(&body, "\x1f\x8b\x08\x08\0\0\0\0\0\x03", 10); /* a file name without end */
    memset(buf_reserve(&body, 10 * MIB), 'x', 10 * MIB);
    body.len += 10 * MIB;
    read_body(&o, buf_str(&body), 0, 65536);
    assert_string_equal(o.err.text, "gzip: the body is cut short, after 0 bytes of content");
    reset(&o);
    buf_free(&body);
}

static void test_nothing_to_destroy(void **state)
{
    struct gzip *g = NULL;

    (void)state;
    gzip_destroy(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_member),
        cmocka_unit_test(test_a_header_with_all_its_fields),
        cmocka_unit_test(test_members_follow_each_other),
        cmocka_unit_test(test_no_content_is_complete),
        cmocka_unit_test(test_a_large_body_comes_in_small_pieces),
        cmocka_unit_test(test_content_does_not_wait_for_later_bytes),
        cmocka_unit_test(test_a_body_that_is_cut_short),
        cmocka_unit_test(test_bytes_behind_the_body),
        cmocka_unit_test(test_wrong_checksums),
        cmocka_unit_test(test_bodies_that_are_no_gzip),
        cmocka_unit_test(test_each_bit_counts),
        cmocka_unit_test(test_a_bomb_is_given_up_early),
        cmocka_unit_test(test_a_part_of_a_body_may_be_very_dense),
        cmocka_unit_test(test_a_bomb_behind_a_long_body_is_as_small),
        cmocka_unit_test(test_bytes_that_never_bring_content),
        cmocka_unit_test(test_nothing_to_destroy),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
