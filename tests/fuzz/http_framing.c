/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http_framing [responses] - reads what clients (or servers) may send and prints which messages that makes, as
 * io/listener (or io/exchange) reads them: for tests/wire/test_http_framing.py, which compares them with those of
 * another implementation.
 *
 * stdin: for each connection four bytes (the length, in the byte order of the machine) and its bytes. stdout: for
 * each message a line "METHOD TARGET BODY", or "STATUS  BODY", each part in hexadecimal digits behind a "=", and for
 * each connection a line: "more" (the last message is not complete), "closed" (none may follow) or "refused WHY".
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/panic.h"
#include "base/read_all.h"
#include "proto/http_in.h"

static void put_part(struct str text)
{
    printf("=");
    for (size_t i = 0; i < text.n; i++)
        printf("%02x", (unsigned char)text.p[i]);
    printf(" ");
}

/* The first two parts of a line. */
static void note_head(const struct http_head *head, struct buf front[2])
{
    buf_append_str(&front[0], head->method);
    buf_append_str(&front[1], head->target);
    if (head->status > 0)
        buf_printf(&front[0], "%d", head->status);
}

/* Takes one message off the front of *in, and prints it if it is complete. */
static enum http_in_part read_message(struct http_in *h, struct str *in, struct err *err)
{
    struct buf front[2] = {0};
    struct buf body = {0};
    enum http_in_part part;
    struct str piece;

    while ((part = http_in_read(h, in, &piece, err)) == HTTP_IN_HEAD || part == HTTP_IN_BODY)
        if (part == HTTP_IN_BODY)
            buf_append_str(&body, piece);
        else
            note_head(http_in_head(h), front);
    if (part == HTTP_IN_MORE && http_in_eof(h, NULL) == ERR_OK)
        part = HTTP_IN_END;
    if (part == HTTP_IN_END) {
        put_part(buf_str(&front[0]));
        put_part(buf_str(&front[1]));
        put_part(buf_str(&body));
        printf("\n");
    }
    buf_free(&front[0]);
    buf_free(&front[1]);
    buf_free(&body);
    return part;
}

static void read_connection(enum http_in_kind kind, struct str in)
{
    static const struct http_limits limits = {.head_bytes = 16384, .body_bytes = 65536};
    bool goes_on = true;

    while (goes_on) {
        struct http_in *h = http_in_create(kind, &limits);
        struct err err = {0};
        enum http_in_part part = read_message(h, &in, &err);

        goes_on = part == HTTP_IN_END && http_in_reusable(h);
        if (part == HTTP_IN_FAILED)
            printf("refused %s\n", err.text);
        else if (part == HTTP_IN_MORE)
            printf("more\n");
        else if (!goes_on)
            printf("closed\n");
        http_in_destroy(&h);
    }
}

int main(int argc, char **argv)
{
    bool is_client = argc > 1 && strcmp(argv[1], "responses") == 0;
    struct buf all = {0};
    uint32_t n;

    ensure(read_all(STDIN_FILENO, SIZE_MAX / 2, &all) == 0);
    for (size_t at = 0; at < all.len; at += n) {
        ensure(all.len - at >= sizeof(n));
        memcpy(&n, all.data + at, sizeof(n));
        at += sizeof(n);
        ensure(all.len - at >= n);
        read_connection(is_client ? HTTP_IN_RESPONSE : HTTP_IN_REQUEST, str_of(all.data + at, n));
    }
    buf_free(&all);
    return 0;
}
