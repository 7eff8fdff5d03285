/* SPDX-License-Identifier: Apache-2.0 */
/* The address of a proxy, the value of NO_PROXY, and the proxy's answer to CONNECT, whole and cut. No text shows
 * the password, and the tunnel begins at the same byte. */
#include <stdlib.h>

#include "base/mem.h"
#include "fuzz_cut.h"
#include "proto/http_in.h"
#include "proto/proxy.h"
#include "proto/proxy_env.h"

/* As io/conn reads the answer: the bytes behind its head are the server's. */
static void read_answer(void *arg, struct fuzz_pieces *pieces, struct buf *seen)
{
    const struct http_limits limits = {.head_bytes = PROXY_ANSWER_BYTES};
    struct http_in *h = http_in_create(HTTP_IN_RESPONSE, &limits);
    enum http_in_part part = HTTP_IN_MORE;
    struct str piece = {0};
    struct str body;
    struct err err = {0};

    while (part == HTTP_IN_MORE && fuzz_pieces_next(pieces, &piece))
        part = http_in_read(h, &piece, &body, &err);
    ensure(part == HTTP_IN_MORE || part == HTTP_IN_HEAD || part == HTTP_IN_FAILED);
    if (part == HTTP_IN_HEAD && proxy_judge(http_in_head(h)->status, arg != NULL, &err) == ERR_OK)
        buf_printf(seen, "tunnel of %zu bytes", piece.n + pieces->rest.n);
    if (err.kind != ERR_OK)
        fuzz_check_line(err.text);
    buf_printf(seen, "%d", (int)err.kind);
    http_in_destroy(&h);
}

static void parse_address(const char *text)
{
    struct proxy p = {0};
    struct buf request = {0};
    struct err err = {0};

    if (proxy_parse(text, &p, &err) == ERR_OK) {
        proxy_put_connect(&request, &p, "fd00::1", 6443);
        const struct str r = buf_str(&request);
        /* One request, whatever user and password are. */
        ensure(r.n > 4 && memcmp(r.p + r.n - 4, "\r\n\r\n", 4) == 0);
        ensure(memmem(r.p, r.n - 1, "\r\n\r\n", 4) == NULL && memchr(r.p, '\0', r.n) == NULL);
    } else {
        ensure(p.url.host == NULL && err.kind == ERR_CONFIG && err.text[0] != '\0');
    }
    ensure((proxy_check(text, &err) == ERR_OK) == (p.url.host != NULL));
    proxy_fini(&p);
    buf_free(&request);
}

static void find(const char *address, const char *no_proxy)
{
    static const char *const servers[] = {"https://10.0.0.1:6443", "http://[fd00::1]/a",
                                          "https://api.example.com"};
    const struct proxy_env env = {address, address, no_proxy};

    for (size_t i = 0; i < ARRAY_LEN(servers); i++) {
        struct url server;
        struct proxy p = {0};
        struct err err;

        ensure(url_parse(servers[i], &server, NULL) == ERR_OK);
        bool is_exempt = proxy_env_exempts(str_c(no_proxy), &server);
        if (proxy_env_find(&env, &server, &p, &err) == ERR_OK)
            ensure(!is_exempt || p.url.host == NULL);
        proxy_fini(&p);
        url_fini(&server);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct str in = str_of((const char *)data, n);
    struct str part = fuzz_take_part(&in);
    char *address = mem_strndup(part.p, part.n);

    part = fuzz_take_part(&in);
    char *no_proxy = mem_strndup(part.p, part.n);
    parse_address(address);
    find(address, no_proxy);
    free(address);
    free(no_proxy);
    fuzz_cut_compare(in, read_answer, NULL);
    fuzz_cut_compare(in, read_answer, &in); /* with credentials */
    return 0;
}
