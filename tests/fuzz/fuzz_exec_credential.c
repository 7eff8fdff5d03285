/* SPDX-License-Identifier: Apache-2.0 */
/* The output of an exec plugin: a token, a certificate with its key, or both; or an error with a text. The first byte
 * chooses the apiVersion. */
#include "base/buf.h"
#include "fuzz_input.h"
#include "kube/exec_credential.h"
#include "kube/token.h"

static void check(const struct exec_credential *c)
{
    int64_t issued;
    int64_t expires;

    ensure((c->cert_pem.len > 0) == (c->key_pem.len > 0));
    ensure(c->token.len > 0 || c->cert_pem.len > 0);
    (void)token_dates(buf_str(&c->token), &issued, &expires);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static const char *const versions[] = {"client.authentication.k8s.io/v1",
                                           "client.authentication.k8s.io/v1beta1"};
    struct str in = str_of((const char *)data, n);
    const char *version = versions[fuzz_take_below(&in, 2)];
    struct exec_credential c = {0};
    struct err err = {0};

    if (exec_credential_read(in, version, &c, &err) == ERR_OK) {
        check(&c);
    } else {
        ensure(err.kind == ERR_CREDENTIAL || err.kind == ERR_TOO_BIG);
        fuzz_check_line(err.text);
    }
    exec_credential_fini(&c);
    return 0;
}
