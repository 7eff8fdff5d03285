/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/tls_keys.h"

#include <stdbool.h>
#include <stdlib.h>

#include <mbedtls/x509_crt.h>

#include "base/mem.h"

void tls_keys_read(struct str pem, struct tls_keys *out)
{
    char *text = mem_strndup(pem.p, pem.n); /* the parser wants a NUL behind PEM, and counts it */
    mbedtls_x509_crt first;
    size_t n = 0;

    *out = (struct tls_keys){0};
    mbedtls_x509_crt_init(&first);
    if (mbedtls_x509_crt_parse(&first, (const unsigned char *)text, pem.n + 1) >= 0)
        for (const mbedtls_x509_crt *c = &first; c != NULL && c->pk_raw.p != NULL; c = c->next) {
            if (n < TLS_KEYS_MAX)
                out->v[n] = digest_of(c->pk_raw.p, c->pk_raw.len);
            n++;
        }
    out->n = n <= TLS_KEYS_MAX ? n : 0;
    mbedtls_x509_crt_free(&first);
    free(text);
}

static bool has(const struct tls_keys *keys, struct digest key)
{
    for (size_t i = 0; i < keys->n; i++)
        if (digest_eq(keys->v[i], key))
            return true;
    return false;
}

void tls_keys_add(struct tls_keys *keys, const struct tls_keys *more)
{
    for (size_t i = 0; i < more->n && keys->n < TLS_KEYS_MAX; i++)
        if (!has(keys, more->v[i]))
            keys->v[keys->n++] = more->v[i];
}
