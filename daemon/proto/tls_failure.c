/* SPDX-License-Identifier: Apache-2.0 */
#define MBEDTLS_ALLOW_PRIVATE_ACCESS /* mbedTLS 3: for how a certificate is signed */
#include "proto/tls_failure.h"

#include <mbedtls/md.h>
#include <string.h>
#include <time.h>

#include "base/compiler.h"
#include "proto/tls_cert.h"
#include "proto/tls_ctx.h"

enum { WANT_MAX = 64, FROM_MAX = 100 };

/* The smallest keys that mbedTLS accepts (mbedtls_x509_crt_profile_default). */
enum { RSA_MIN_BITS = 2048, EC_MIN_BITS = 256 };

/* Where the CAs come from that decide. */
static void put_ca_from(struct buf *out, const struct tls_ctx *ctx)
{
    tls_cert_put_clean(out, str_c(ctx->ca_from != NULL ? ctx->ca_from : "the configured CA"),
                       FROM_MAX);
}

/* mbedTLS puts the certificate of a CA itself into the chain, not a copy. */
static bool is_ours(const struct tls_ctx *ctx, const mbedtls_x509_crt *crt)
{
    for (const mbedtls_x509_crt *c = &ctx->ca; c != NULL; c = c->next)
        if (c == crt)
            return true;
    return false;
}

/* Appends which certificate of the chain this is. */
static void put_subject(struct buf *out, const struct tls_ctx *ctx, const mbedtls_x509_crt *crt,
                        int depth)
{
    bool ours = is_ours(ctx, crt);

    buf_puts(out, depth == 0 ? "the server's certificate "
                  : ours     ? "the CA certificate "
                             : "the intermediate certificate of the server ");
    tls_cert_put_who(out, crt);
    if (ours && depth > 0) {
        buf_puts(out, " in ");
        put_ca_from(out, ctx);
    }
}

/* Only the day: the same failure must have the same text again, as it is logged once only
 * (log_failure_level()). */
static void put_today(struct buf *out, int64_t now_s)
{
    time_t s = (time_t)now_s;
    struct tm tm;
    char text[32];

    gmtime_r(&s, &tm);
    strftime(text, sizeof(text), "%Y-%m-%d", &tm);
    buf_printf(out, " (the clock of this machine says %s)", text);
}

/* ---- No CA of ours has signed the chain */

static bool same_name(const mbedtls_x509_buf *a, const mbedtls_x509_buf *b)
{
    return a->len == b->len && memcmp(a->p, b->p, a->len) == 0;
}

/* Whether the key of ca has signed crt. */
static bool has_signed(const mbedtls_x509_crt *ca, const mbedtls_x509_crt *crt)
{
    const mbedtls_md_info_t *md = mbedtls_md_info_from_type(crt->sig_md);
    unsigned char hash[MBEDTLS_MD_MAX_SIZE];
    /* mbedTLS takes a pointer that is not const and does not write through it. */
    mbedtls_pk_context key = ca->pk;

    if (md == NULL || mbedtls_md(md, crt->tbs.p, crt->tbs.len, hash) != 0)
        return false;
    return mbedtls_pk_can_do(&key, crt->sig_pk) != 0 &&
           mbedtls_pk_verify_ext(crt->sig_pk, crt->sig_opts, &key, crt->sig_md, hash,
                                 mbedtls_md_get_size(md), crt->sig.p, crt->sig.len) == 0;
}

/* Our certificate that has the name of crt's issuer: one that has signed crt rather than one that
 * has the name only; NULL = none. */
static const mbedtls_x509_crt *find_issuer(const struct tls_ctx *ctx, const mbedtls_x509_crt *crt)
{
    const mbedtls_x509_crt *found = NULL;

    for (const mbedtls_x509_crt *c = &ctx->ca; c != NULL; c = c->next) {
        if (!same_name(&c->subject_raw, &crt->issuer_raw))
            continue;
        if (has_signed(c, crt))
            return c;
        found = c;
    }
    return found;
}

/* We have a certificate with the name of the issuer, and mbedTLS does not take it as the issuer. */
static void put_unfit_issuer(struct buf *out, const struct tls_ctx *ctx,
                             const mbedtls_x509_crt *crt, const mbedtls_x509_crt *issuer)
{
    buf_puts(out, ", and the certificate of that issuer in ");
    put_ca_from(out, ctx);
    if (!has_signed(issuer, crt))
        buf_puts(out, " has another key: the cluster was built anew, or another one answers; take "
                      "the CA that the cluster has now");
    else if (issuer->ca_istrue == 0)
        buf_puts(out, " is no CA (basicConstraints without CA:TRUE); configure the CA that signs, "
                      "not a certificate that it signed");
    else if (mbedtls_x509_crt_check_key_usage(issuer, MBEDTLS_X509_KU_KEY_CERT_SIGN) != 0)
        buf_puts(out,
                 " may not sign certificates (keyUsage without keyCertSign); make the CA anew");
    else
        buf_puts(out, " allows fewer intermediate certificates (pathlen); make the CA anew");
}

static void put_not_trusted(struct buf *out, const struct tls_ctx *ctx, const mbedtls_x509_crt *crt,
                            int depth)
{
    const mbedtls_x509_crt *issuer = find_issuer(ctx, crt);
    bool self_signed = same_name(&crt->subject_raw, &crt->issuer_raw);

    if (issuer != NULL) {
        buf_puts(out, " is signed by no CA that is known");
        put_unfit_issuer(out, ctx, crt, issuer);
        return;
    }
    buf_puts(out, self_signed ? " is self-signed, and not in " : " is signed by no CA of ");
    put_ca_from(out, ctx);
    if (self_signed && depth == 0)
        buf_puts(out, "; check the server's address, or add this certificate there");
    else
        buf_puts(out, "; configure the CA of the cluster (ca_file, or certificate-authority in the "
                      "kubeconfig)");
    if (!self_signed && depth == 0 && crt->next == NULL)
        buf_puts(out, ", or have the server send its intermediate certificates: it sends none");
}

/* ---- Other refusals */

static void put_expired(struct buf *out, const struct tls_ctx *ctx, const mbedtls_x509_crt *crt,
                        int depth, int64_t now_s)
{
    buf_puts(out, " expired on ");
    tls_cert_put_time(out, &crt->valid_to);
    put_today(out, now_s);
    buf_puts(out, depth > 0 && is_ours(ctx, crt) ? "; configure the CA that the cluster has now"
                                                 : "; renew it at the server");
    buf_puts(out, ", or correct the clock");
}

static void put_future(struct buf *out, const mbedtls_x509_crt *crt, int64_t now_s)
{
    buf_puts(out, " is not valid before ");
    tls_cert_put_time(out, &crt->valid_from);
    put_today(out, now_s);
    buf_puts(out, "; correct the clock of this machine, or that of the one that made it");
}

static void put_other_name(struct buf *out, const mbedtls_x509_crt *crt, const char *want)
{
    buf_puts(out, " is for ");
    tls_cert_put_hosts(out, crt);
    buf_puts(out, ", not for ");
    tls_cert_put_clean(out, str_c(want), WANT_MAX);
    buf_puts(out, "; set tls_server_name to a name that it has, or fix the certificate");
}

static void put_weak_hash(struct buf *out, const mbedtls_x509_crt *crt)
{
    const char *name = crt->sig_md == MBEDTLS_MD_MD5      ? "MD5"
                       : crt->sig_md == MBEDTLS_MD_SHA1   ? "SHA-1"
                       : crt->sig_md == MBEDTLS_MD_SHA224 ? "SHA-224"
                                                          : "another one";

    buf_printf(out,
               " is signed with a hash that is too weak (%s); make it anew with SHA-256 or "
               "better",
               name);
}

static bool is_weak(const mbedtls_x509_crt *crt)
{
    size_t bits = mbedtls_pk_get_bitlen(&crt->pk);

    return mbedtls_pk_can_do(&crt->pk, MBEDTLS_PK_RSA) != 0 ? bits < RSA_MIN_BITS
                                                            : bits < EC_MIN_BITS;
}

/* mbedTLS sets the flag at a certificate whose own key is weak (depth 0 only), or that was signed by
 * a weak one. */
static void put_weak_key(struct buf *out, const mbedtls_x509_crt *crt, int depth)
{
    if (depth == 0 && is_weak(crt))
        buf_printf(out, " has a key that is too weak (%u bits)",
                   (unsigned)mbedtls_pk_get_bitlen(&crt->pk));
    else
        buf_puts(out, " is signed by a CA with a key that is too weak");
    buf_puts(out, "; make it anew with RSA of 2048 bits or more, or with ECDSA");
}

/* For flags without a text here: the library's own words. */
static void put_other(struct buf *out, uint32_t flags)
{
    char text[256] = "";

    mbedtls_x509_crt_verify_info(text, sizeof(text), "", flags);
    text[strcspn(text, "\n")] = '\0';
    buf_printf(out, " is refused: %s", text);
}

void tls_failure_put_chain(struct buf *out, const struct tls_failure_side *side,
                           const mbedtls_x509_crt *crt, int depth, uint32_t flags)
{
    const struct tls_ctx *ctx = side->ctx;

    /* mbedTLS shows an empty certificate for an empty list, which TLS 1.2 lets a server send. */
    if (crt->raw.p == NULL) {
        buf_puts(out, "the server has sent no certificate; check the server's address");
        return;
    }
    put_subject(out, ctx, crt, depth);
    /* In the order in which a person has to mend them: with an unknown CA the rest of the certificate
     * says nothing, and an expired one has to be replaced in any case. */
    if ((flags & MBEDTLS_X509_BADCERT_NOT_TRUSTED) != 0)
        put_not_trusted(out, ctx, crt, depth);
    else if ((flags & MBEDTLS_X509_BADCERT_EXPIRED) != 0)
        put_expired(out, ctx, crt, depth, side->now_s);
    else if ((flags & MBEDTLS_X509_BADCERT_FUTURE) != 0)
        put_future(out, crt, side->now_s);
    else if ((flags & MBEDTLS_X509_BADCERT_CN_MISMATCH) != 0)
        put_other_name(out, crt, side->want);
    else if ((flags & MBEDTLS_X509_BADCERT_BAD_MD) != 0)
        put_weak_hash(out, crt);
    else if ((flags & MBEDTLS_X509_BADCERT_BAD_KEY) != 0)
        put_weak_key(out, crt, depth);
    else
        put_other(out, flags);
}

void tls_failure_put_usage(struct buf *out, struct str who, uint32_t flags)
{
    buf_puts(out, "the server's certificate ");
    buf_append_str(out, who);
    if ((flags & MBEDTLS_X509_BADCERT_EXT_KEY_USAGE) != 0)
        buf_puts(out, " is not made for servers (extendedKeyUsage without serverAuth); check the "
                      "address, or make it anew with serverAuth");
    else if ((flags & MBEDTLS_X509_BADCERT_KEY_USAGE) != 0)
        buf_puts(out, " may not be used for this (keyUsage without digitalSignature); make it anew "
                      "with digitalSignature");
    else
        put_other(out, flags);
}

/* ---- Alerts of the server */

/* Whom an alert is about. MAYBE_CLIENT: a server also sends it when it wants a client certificate
 * and gets none. */
enum about { CONNECTION, CLIENT, MAYBE_CLIENT };

struct alert {
    int code;
    enum about about;
    const char *text;   /* the sentence that the user reads */
    const char *remedy; /* with CLIENT and MAYBE_CLIENT: if a client certificate was shown */
};

#define REISSUE "have the CA of the cluster issue a new one"
#define TRUSTED "use a certificate of a CA that the server takes clients from (--client-ca-file)"

/* RFC 8446 6, RFC 5246 7.2. */
static const struct alert alerts[] = {
    {40,  MAYBE_CLIENT, "handshake failure",
     "use one with a key of another type, or allow more cipher suites at the server"                                                                  },
    {41,  MAYBE_CLIENT, "no certificate",                                                               TRUSTED                                       },
    {42,  MAYBE_CLIENT, "bad certificate",                                                              TRUSTED                                       },
    {43,  CLIENT,       "unsupported certificate",                                                      "use one with a key of another type"          },
    {44,  CLIENT,       "certificate revoked",                                                          REISSUE                                       },
    {45,  CLIENT,       "certificate expired",                                                          "renew it, or correct the clock of the server"},
    {46,  CLIENT,       "certificate unknown",                                                          TRUSTED                                       },
    {48,  CLIENT,       "unknown CA",                                                                   TRUSTED                                       },
    {49,  CLIENT,       "access denied",                                                                TRUSTED                                       },
    {51,  CLIENT,       "decrypt error",                                                                "check that its key is the right one"         },
    {70,  CONNECTION,   "protocol version: it and this program share no version of TLS (1.2 or newer)",
     NULL                                                                                                                                             },
    {71,  CONNECTION,   "insufficient security: it wants stronger cipher suites or keys",               NULL                                          },
    {80,  CONNECTION,   "internal error; the log of the server says more",                              NULL                                          },
    {112, CONNECTION,
     "unrecognized name: it serves no such host; check the server's address or tls_server_name",        NULL                                          },
    {116, MAYBE_CLIENT, "certificate required",                                                         TRUSTED                                       },
    {120, CONNECTION,   "no application protocol: it does not speak HTTP/1.1 on this port",             NULL                                          },
};

/* Appends which certificate the server got from us. If its dates are wrong, they are the reason. */
static void put_client(struct buf *out, const struct tls_ctx *ctx, const char *remedy,
                       int64_t now_s)
{
    const mbedtls_x509_time *end = &ctx->cert.valid_to;

    buf_puts(out, "; check the client certificate ");
    tls_cert_put_who(out, &ctx->cert);
    if (ctx->cert_from != NULL) {
        buf_puts(out, " in ");
        tls_cert_put_clean(out, str_c(ctx->cert_from), FROM_MAX);
    }
    if (mbedtls_x509_time_is_past(end) != 0) {
        buf_puts(out, ", which expired on ");
        tls_cert_put_time(out, end);
        put_today(out, now_s);
        buf_puts(out, ": renew it, or correct the clock");
    } else if (mbedtls_x509_time_is_future(&ctx->cert.valid_from) != 0) {
        buf_puts(out, ", which is not valid before ");
        tls_cert_put_time(out, &ctx->cert.valid_from);
        put_today(out, now_s);
        buf_puts(out, ": correct the clocks");
    } else {
        buf_printf(out, ": %s", remedy);
    }
}

void tls_failure_put_alert(struct buf *out, const struct tls_failure_side *side, int alert)
{
    for (size_t i = 0; i < ARRAY_LEN(alerts); i++) {
        const struct alert *a = &alerts[i];

        if (a->code != alert)
            continue;
        buf_printf(out, "the server ended it with the alert: %s", a->text);
        if (a->about != CONNECTION && side->ctx->has_cert)
            put_client(out, side->ctx, a->remedy, side->now_s);
        else if (a->about == MAYBE_CLIENT)
            buf_puts(out, "; it wants a client certificate, perhaps, and none is configured: set "
                          "client_cert_file and client_key_file, or client-certificate and "
                          "client-key in the kubeconfig");
        return;
    }
    buf_printf(out, "the server ended it with alert %d", alert);
}
