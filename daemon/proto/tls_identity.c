/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/tls_identity.h"

#include <ctype.h>
#include <stdlib.h>

#include <mbedtls/oid.h>
#include <mbedtls/x509_crt.h>

#include "base/mem.h"

static char *printable_copy(const mbedtls_x509_buf *value)
{
    for (size_t i = 0; i < value->len; i++)
        if (!isgraph(value->p[i]))
            return NULL;
    return value->len > 0 ? mem_strndup((const char *)value->p, value->len) : NULL;
}

char *tls_identity_common_name(struct str pem)
{
    char *text = mem_strndup(pem.p, pem.n); /* the parser wants a NUL behind PEM, and counts it */
    char *name = NULL;
    mbedtls_x509_crt crt;

    mbedtls_x509_crt_init(&crt);
    if (mbedtls_x509_crt_parse(&crt, (const unsigned char *)text, pem.n + 1) >= 0) {
        for (const mbedtls_x509_name *n = &crt.subject; n != NULL && name == NULL; n = n->next)
            if (MBEDTLS_OID_CMP(MBEDTLS_OID_AT_CN, &n->oid) == 0)
                name = printable_copy(&n->val);
    }
    mbedtls_x509_crt_free(&crt);
    free(text);
    return name;
}
