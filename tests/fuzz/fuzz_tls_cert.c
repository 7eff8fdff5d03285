/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a certificate (DER): the sentence about it is printable and bounded. The first byte
 * chooses the reason for which it is refused, and its place in the chain. */
#include <stddef.h>
#include <stdint.h>

#include "base/panic.h"
#include "proto/tls_cert.h"
#include "proto/tls_ctx.h"
#include "proto/tls_failure.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const unsigned char ip[16] = {10, 0, 0, 1};
    struct tls_ctx ctx = {.refs = 1};
    const struct tls_failure_side side = {&ctx, "a.example", 0};
    mbedtls_x509_crt crt;
    struct buf text = {0};

    if (size == 0)
        return 0;
    mbedtls_x509_crt_init(&ctx.ca);
    mbedtls_x509_crt_init(&crt);
    if (mbedtls_x509_crt_parse_der(&crt, data + 1, size - 1) == 0) {
        (void)tls_cert_has_ip(&crt, ip, 4);
        (void)tls_cert_has_ip(&crt, ip, 16);
        tls_failure_put_chain(&text, &side, &crt, data[0] / 16 % 3, 1U << data[0] % 16);
        ensure(text.len > 0 && text.len < 1000);
        for (size_t i = 0; i < text.len; i++)
            ensure(text.data[i] >= ' ' && text.data[i] <= '~');
    }
    buf_free(&text);
    mbedtls_x509_crt_free(&crt);
    return 0;
}
