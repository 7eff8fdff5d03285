/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/tls_dates.h"

#include <mbedtls/x509_crt.h>
#include <stdlib.h>
#include <time.h>

#include "base/buf.h"
#include "base/mem.h"
#include "proto/tls_cert.h"

/* Times in certificates are UTC (RFC 5280 4.1.2.5). */
static int64_t seconds_of(const mbedtls_x509_time *t)
{
    struct tm tm = {.tm_year = t->year - 1900,
                    .tm_mon = t->mon - 1,
                    .tm_mday = t->day,
                    .tm_hour = t->hour,
                    .tm_min = t->min,
                    .tm_sec = t->sec};

    return timegm(&tm);
}

static char *who_is(const mbedtls_x509_crt *crt)
{
    struct buf text = {0};

    tls_cert_put_who(&text, crt);
    char *copy = mem_strdup(buf_cstr(&text));
    buf_free(&text);
    return copy;
}

size_t tls_dates_read(struct str pem, struct tls_dates *out, size_t max)
{
    char *text = mem_strndup(pem.p, pem.n); /* the parser wants a NUL behind PEM, and counts it */
    mbedtls_x509_crt first;
    size_t n = 0;

    mbedtls_x509_crt_init(&first);
    if (mbedtls_x509_crt_parse(&first, (const unsigned char *)text, pem.n + 1) >= 0)
        for (const mbedtls_x509_crt *c = &first; c != NULL && c->raw.p != NULL; c = c->next) {
            if (n < max)
                out[n] = (struct tls_dates){seconds_of(&c->valid_from), seconds_of(&c->valid_to),
                                            who_is(c)};
            n++;
        }
    mbedtls_x509_crt_free(&first);
    /* The file of a client certificate may hold the key, too. */
    mem_wipe(text, pem.n);
    free(text);
    return n;
}
