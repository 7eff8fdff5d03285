/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/tls_cert.h"

#include <arpa/inet.h>
#include <mbedtls/asn1.h>
#include <mbedtls/oid.h>
#include <mbedtls/x509.h>
#include <string.h>

#include "base/compiler.h"

enum {
    /* GeneralName (RFC 5280 4.2.1.6): [2] dNSName, [7] iPAddress. */
    SAN_DNS = MBEDTLS_ASN1_CONTEXT_SPECIFIC | 2,
    SAN_IP = MBEDTLS_ASN1_CONTEXT_SPECIFIC | 7,
    SEQUENCE = MBEDTLS_ASN1_CONSTRUCTED | MBEDTLS_ASN1_SEQUENCE,
    NAMES_MAX = 140, /* bytes of a list of names in an error text */
    NAME_MAX_BYTES = 64,
    DN_MAX = 80,
    SERIAL_MAX = 20, /* the longest serial number (RFC 5280 4.1.2.2) */
};

/* The bytes of a certificate that are still to be read, up to end. */
struct names {
    unsigned char *p;
    const unsigned char *end;
};

/* Narrows *n to the content of the next element, which must have this tag. *after (may be NULL) is
 * set to the end of that element. */
static bool open_element(struct names *n, int tag, unsigned char **after)
{
    size_t len = 0;

    if (mbedtls_asn1_get_tag(&n->p, n->end, &len, tag) != 0)
        return false;
    n->end = n->p + len;
    if (after != NULL)
        *after = n->p + len;
    return true;
}

/* Narrows *ext, one extension (RFC 5280 4.1: OID, optional critical flag, value), to the names in
 * its value. False if it is not subjectAltName (2.5.29.17). */
static bool open_san(struct names *ext)
{
    static const unsigned char oid_san[] = {0x55, 0x1d, 0x11};
    struct names oid = *ext;
    int critical = 0;

    if (!open_element(&oid, MBEDTLS_ASN1_OID, &ext->p))
        return false;
    if ((size_t)(oid.end - oid.p) != sizeof(oid_san) ||
        memcmp(oid.p, oid_san, sizeof(oid_san)) != 0)
        return false;
    int ret = mbedtls_asn1_get_bool(&ext->p, ext->end, &critical);
    if (ret != 0 && ret != MBEDTLS_ERR_ASN1_UNEXPECTED_TAG)
        return false;
    return open_element(ext, MBEDTLS_ASN1_OCTET_STRING, NULL) && open_element(ext, SEQUENCE, NULL);
}

/* Finds the names in subjectAltName. False if the certificate has none. v3_ext has the raw
 * extensions in both generations of mbedTLS. */
static bool find_names(const mbedtls_x509_crt *crt, struct names *out)
{
    if (crt->v3_ext.len == 0)
        return false;
    struct names all = {crt->v3_ext.p, crt->v3_ext.p + crt->v3_ext.len};

    if (!open_element(&all, SEQUENCE, NULL))
        return false;
    while (all.p < all.end) {
        *out = all;
        if (!open_element(out, SEQUENCE, &all.p))
            return false;
        if (open_san(out))
            return true;
    }
    return false;
}

/* Takes the next name with its tag. False at the end, or where the bytes are malformed. */
static bool next_name(struct names *n, int *tag, struct str *value)
{
    size_t len = 0;

    if (n->p >= n->end)
        return false;
    *tag = *n->p++;
    if (mbedtls_asn1_get_len(&n->p, n->end, &len) != 0)
        return false;
    *value = str_of((const char *)n->p, len);
    n->p += len;
    return true;
}

bool tls_cert_has_ip(const mbedtls_x509_crt *crt, const unsigned char *ip, size_t n)
{
    struct names names;
    struct str value;
    int tag = 0;

    if (!find_names(crt, &names))
        return false;
    while (next_name(&names, &tag, &value))
        if (tag == SAN_IP && str_eq(value, str_of((const char *)ip, n)))
            return true;
    return false;
}

void tls_cert_put_clean(struct buf *out, struct str s, size_t max)
{
    for (size_t i = 0; i < s.n && i < max; i++) {
        char c = s.p[i];

        if (c < ' ' || c > '~' || c == '"' || c == '\\')
            c = '?';
        buf_putc(out, c);
    }
    if (s.n > max)
        buf_puts(out, "...");
}

/* Only names that put_alternative_names() has chosen: SAN_DNS or SAN_IP. */
static void put_name(struct buf *out, int tag, struct str value)
{
    char text[INET6_ADDRSTRLEN];

    if (tag == SAN_DNS)
        tls_cert_put_clean(out, value, NAME_MAX_BYTES);
    else if (value.n == 4 && inet_ntop(AF_INET, value.p, text, sizeof(text)) != NULL)
        buf_puts(out, text);
    else if (value.n == 16 && inet_ntop(AF_INET6, value.p, text, sizeof(text)) != NULL)
        buf_puts(out, text);
    else
        buf_puts(out, "a malformed address");
}

/* Appends the common names of the subject (OID 2.5.4.3). They count only if there is no
 * subjectAltName (RFC 6125 6.4.4). */
static void put_common_names(struct buf *out, const mbedtls_x509_crt *crt)
{
    static const unsigned char oid_cn[] = {0x55, 0x04, 0x03};

    for (const mbedtls_x509_name *n = &crt->subject; n != NULL && out->len < NAMES_MAX;
         n = n->next) {
        if (n->oid.len != sizeof(oid_cn) || memcmp(n->oid.p, oid_cn, sizeof(oid_cn)) != 0)
            continue;
        buf_puts(out, out->len > 0 ? ", " : "");
        tls_cert_put_clean(out, str_of((const char *)n->val.p, n->val.len), NAME_MAX_BYTES);
    }
}

static void put_alternative_names(struct buf *out, struct names names)
{
    struct str value;
    int tag = 0;

    while (next_name(&names, &tag, &value)) {
        if (tag != SAN_DNS && tag != SAN_IP)
            continue;
        if (out->len >= NAMES_MAX) {
            buf_puts(out, ", ...");
            return;
        }
        buf_puts(out, out->len > 0 ? ", " : "");
        put_name(out, tag, value);
    }
}

void tls_cert_put_hosts(struct buf *out, const mbedtls_x509_crt *crt)
{
    struct buf list = {0};
    struct names names;

    if (find_names(crt, &names))
        put_alternative_names(&list, names);
    else
        put_common_names(&list, crt);
    if (list.len == 0)
        buf_puts(&list, "no host at all");
    buf_append_str(out, buf_str(&list));
    buf_free(&list);
}

/* mbedtls_x509_dn_gets() is not used: version 3 escapes characters that version 2 leaves as they
 * are. */
void tls_cert_put_dn(struct buf *out, const mbedtls_x509_name *dn)
{
    struct buf text = {0};

    /* The first element of the list has no OID if the name is empty. */
    for (const mbedtls_x509_name *n = dn; n != NULL && n->oid.p != NULL; n = n->next) {
        const char *type = NULL;

        if (mbedtls_oid_get_attr_short_name(&n->oid, &type) != 0)
            type = "?";
        buf_printf(&text, "%s%s=", text.len > 0 ? ", " : "", type);
        buf_append(&text, n->val.p, n->val.len);
    }
    buf_putc(out, '"');
    tls_cert_put_clean(out, buf_str(&text), DN_MAX);
    buf_putc(out, '"');
    buf_free(&text);
}

/* DER puts a zero byte in front of a number whose first bit is set. */
static void put_serial(struct buf *out, const mbedtls_x509_buf *serial)
{
    size_t from = serial->len > 1 && serial->p[0] == 0 ? 1 : 0;

    for (size_t i = from; i < serial->len && i < from + SERIAL_MAX; i++)
        buf_printf(out, "%02X", serial->p[i]);
}

void tls_cert_put_who(struct buf *out, const mbedtls_x509_crt *crt)
{
    buf_puts(out, "(subject ");
    tls_cert_put_dn(out, &crt->subject);
    buf_puts(out, ", issuer ");
    tls_cert_put_dn(out, &crt->issuer);
    buf_puts(out, ", serial ");
    put_serial(out, &crt->serial);
    buf_putc(out, ')');
}

void tls_cert_put_time(struct buf *out, const mbedtls_x509_time *t)
{
    buf_printf(out, "%04d-%02d-%02d %02d:%02d:%02d UTC", t->year, t->mon, t->day, t->hour, t->min,
               t->sec);
}
