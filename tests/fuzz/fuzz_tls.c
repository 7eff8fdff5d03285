/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes from a server that is not verified yet: no more than an error with a text. The first
 * byte is the size of the portions they come in. */
#include <stddef.h>
#include <stdint.h>

#include "base/panic.h"
#include "proto/tls.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char ca_pem[] = "-----BEGIN CERTIFICATE-----\n"
                             "MIIBdTCCARugAwIBAgIUdprNY2Ajqh0Tl5ml6sk0ehr+vEwwCgYIKoZIzj0EAwIw\n"
                             "DzENMAsGA1UEAwwEZnV6ejAgFw0yNjExMjEwMjI3MTFaGA8yMTA5MDExMDAyMjcx\n"
                             "MVowDzENMAsGA1UEAwwEZnV6ejBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABM7p\n"
                             "TXXCHBmuompCP27C7RrOTM594PDC6yy2BREmTZ5qJBN0vDyNkaBY57uLiVj34D8a\n"
                             "M9f5bDhUD6nDjLVEy3ijUzBRMB0GA1UdDgQWBBTJvx/QiXbyisr3RL2l+U2hNCta\n"
                             "UjAfBgNVHSMEGDAWgBTJvx/QiXbyisr3RL2l+U2hNCtaUjAPBgNVHRMBAf8EBTAD\n"
                             "AQH/MAoGCCqGSM49BAMCA0gAMEUCICPr8fFbd/2xF8af+w4o3jCEgZ56V/xnKFHW\n"
                             "LXWg5eCOAiEA4sP2u5qhxrHNPycjZmWmKu5a1G0eNfMsF1e5xZvWwWs=\n"
                             "-----END CERTIFICATE-----\n";

static struct tls_ctx *new_ctx(void)
{
    const struct tls_ctx_params p = {.ca_pem = str_c(ca_pem)};
    struct tls_ctx *ctx = NULL;

    ensure(tls_ctx_create(&p, &ctx, NULL) == ERR_OK);
    return ctx;
}

static void check_text(const struct err *err)
{
    ensure(err->kind == ERR_TLS && err->text[0] != '\0');
    for (const char *c = err->text; *c != '\0'; c++)
        ensure(*c >= ' ' && *c <= '~');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tls_ctx *ctx = new_ctx();
    struct err err = {0};

    if (size > 0) {
        struct tls *t = tls_create(ctx, data[0] % 2 == 0 ? "10.0.0.1" : "a.example", NULL);
        enum tls_result r = tls_handshake(t, &err);

        for (size_t at = 1; r == TLS_WANT && at < size;) {
            size_t n = size - at < data[0] || data[0] == 0 ? size - at : data[0];

            tls_feed(t, (const char *)data + at, n);
            at += n;
            tls_sent(t, tls_out(t).n);
            r = tls_handshake(t, &err);
        }
        ensure(r == TLS_WANT || r == TLS_FAILED); /* no key of fuzz's CA is around */
        if (r == TLS_FAILED)
            check_text(&err);
        tls_destroy(&t);
    }
    tls_ctx_unref(&ctx);
    return 0;
}
