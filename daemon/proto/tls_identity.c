/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/tls_identity.h"

#include <stdlib.h>

#include <mbedtls/asn1.h>
#include <mbedtls/oid.h>
#include <mbedtls/x509_crt.h>

#include "base/mem.h"
#include "base/utf8.h"

/* A copy of a name, or NULL if it is empty, of another string type, not UTF-8, or holds a NUL. */
static char *text_copy(const mbedtls_x509_buf *value)
{
    bool text = value->tag == MBEDTLS_ASN1_UTF8_STRING ||
                value->tag == MBEDTLS_ASN1_PRINTABLE_STRING ||
                value->tag == MBEDTLS_ASN1_IA5_STRING;
    size_t n = 1;

    for (size_t i = 0; i < value->len && n > 0; i += n)
        n = value->p[i] != '\0' ? utf8_len(value->p + i, value->len - i) : 0;
    return text && value->len > 0 && n > 0 ? mem_strndup((const char *)value->p, value->len) : NULL;
}

/* Notes a name of the subject if it is a common name or an organization. False: it is one of these,
 * and cannot be written as text. */
static bool take_name(struct tls_identity *id, const mbedtls_x509_name *n)
{
    bool user = MBEDTLS_OID_CMP(MBEDTLS_OID_AT_CN, &n->oid) == 0;

    if (!user && MBEDTLS_OID_CMP(MBEDTLS_OID_AT_ORGANIZATION, &n->oid) != 0)
        return true;
    char *text = text_copy(&n->val);
    if (user) {
        free(id->user);
        id->user = text;
    } else if (text != NULL) {
        id->groups = mem_realloc(id->groups, (id->group_count + 1) * sizeof(*id->groups));
        id->groups[id->group_count++] = text;
    }
    return text != NULL;
}

bool tls_identity_read(struct str pem, struct tls_identity *out)
{
    char *text = mem_strndup(pem.p, pem.n); /* the parser wants a NUL behind PEM, and counts it */
    mbedtls_x509_crt crt;

    *out = (struct tls_identity){0};
    mbedtls_x509_crt_init(&crt);
    bool good = mbedtls_x509_crt_parse(&crt, (const unsigned char *)text, pem.n + 1) >= 0;
    for (const mbedtls_x509_name *n = &crt.subject; n != NULL && good; n = n->next)
        /* The first element of the list has no OID if the subject is empty. */
        good = n->oid.p == NULL || take_name(out, n);
    good = good && out->user != NULL;
    mbedtls_x509_crt_free(&crt);
    /* The file of a client certificate may hold the key, too. */
    mem_wipe(text, pem.n);
    free(text);
    if (!good)
        tls_identity_fini(out);
    return good;
}

void tls_identity_fini(struct tls_identity *id)
{
    for (size_t i = 0; i < id->group_count; i++)
        free(id->groups[i]);
    free(id->groups);
    free(id->user);
    *id = (struct tls_identity){0};
}
