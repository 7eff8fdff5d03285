/* SPDX-License-Identifier: Apache-2.0 */
/* From when until when certificates are valid. */
#include "proto/tls_dates.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tls_peer.h"

static void test_dates_of_a_file(void **state)
{
    struct tls_dates v[2];
    struct tls_peer_id id;
    struct buf pem = {0};

    (void)state;
    tls_peer_issue(&id, NULL,
                   &(struct tls_peer_spec){
                       .subject = "CN=a", .from = "20240229235959", .till = "20991231000001"});
    buf_puts(&pem, id.key_pem); /* a kubelet's file has the key, too */
    buf_puts(&pem, id.cert_pem);
    assert_int_equal(tls_dates_read(buf_str(&pem), v, 2), 1);
    assert_int_equal(v[0].from_s, 1709251199);
    assert_int_equal(v[0].till_s, 4102358401);
    assert_string_equal(v[0].who, "(subject \"CN=a\", issuer \"CN=a\", serial 1234)");
    free(v[0].who);
    buf_puts(&pem, id.cert_pem);
    assert_int_equal(tls_dates_read(buf_str(&pem), v, 1), 2); /* the second one is not written */
    free(v[0].who);
    buf_free(&pem);
    tls_peer_id_fini(&id);
}

static void test_texts_without_a_certificate(void **state)
{
    static const char *const texts[] = {
        "", "nonsense", "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"};
    struct tls_dates v;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        assert_int_equal(tls_dates_read(str_c(texts[i]), &v, 1), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dates_of_a_file),
        cmocka_unit_test(test_texts_without_a_certificate),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
