/* SPDX-License-Identifier: Apache-2.0 */
/* proto/proxy: addresses of proxies, CONNECT, and the meaning of each status. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/base64.h"
#include "proto/proxy.h"

static void test_addresses_that_can_be_used(void **state)
{
    static const struct {
        const char *text;
        bool tls;
        const char *host;
        uint16_t port;
        const char *credentials; /* as sent, decoded; NULL = none */
    } cases[] = {
        {"http://p",                              false, "p",             80,   NULL               },
        {"https://p",                             true,  "p",             443,  NULL               },
        {"HTTP://proxy.example:3128",             false, "proxy.example", 3128, NULL               },
        {"http://10.0.0.1:3128/",                 false, "10.0.0.1",      3128, NULL               },
        {"http://[fd00::1]:3128",                 false, "fd00::1",       3128, NULL               },
        {"http://p:3128/some/path",               false, "p",             3128, NULL               },
        {"http://user:pass@p:3128",               false, "p",             3128, "user:pass"        },
        {"https://user:pass@[fd00::1]",           true,  "fd00::1",       443,  "user:pass"        },
        {"http://user@p",                         false, "p",             80,   "user:"            },
        {"http://user:@p",                        false, "p",             80,   "user:"            },
        {"http://:pass@p",                        false, "p",             80,   ":pass"            },
        {"http://@p",                             false, "p",             80,   ":"                },
        {"http://user:pa:ss@p",                   false, "p",             80,   "user:pa:ss"       },
        {"http://user:p@ss@p",                    false, "p",             80,   "user:p@ss"        },
        {"http://do%6Dain%5cuser:p%40%2F%25@p:1", false, "p",             1,    "domain\\user:p@/%"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct buf sent = {0};
        struct proxy p;
        struct err err;

        if (proxy_parse(cases[i].text, &p, &err) != ERR_OK)
            fail_msg("%s: %s", cases[i].text, err.text);
        assert_int_equal(p.url.tls, cases[i].tls);
        assert_string_equal(p.url.host, cases[i].host);
        assert_int_equal(p.url.port, cases[i].port);
        assert_int_equal(p.authorization != NULL, cases[i].credentials != NULL);
        if (p.authorization != NULL) {
            assert_memory_equal(p.authorization, "Basic ", 6);
            assert_true(base64_decode(str_c(p.authorization + 6), &sent));
            assert_string_equal(buf_cstr(&sent), cases[i].credentials);
        }
        buf_free(&sent);
        proxy_fini(&p);
        assert_null(p.authorization);
    }
}

static void test_addresses_that_are_refused_show_no_secret(void **state)
{
    static const char *const cases[][2] = {
        {"socks5://user:secret@p:1080", "SOCKS proxies are not supported"       },
        {"socks5h://p",                 "SOCKS proxies are not supported"       },
        {"SOCKS4://p",                  "SOCKS proxies are not supported"       },
        {"ftp://user:secret@p",         "must begin with http:// or https://"   },
        {"p:3128",                      "must begin with http:// or https://"   },
        {"user:secret@p:3128",          "must begin with http:// or https://"   },
        {"",                            "must begin with http:// or https://"   },
        {"://p",                        "must begin with http:// or https://"   },
        {"http://",                     "names no host"                         },
        {"http://user:secret@",         "names no host"                         },
        {"http://user:secret@p:0",      "\"0\" is not a port"                   },
        {"http://user:secret@p:port",   "\"port\" is not a port"                },
        {"http://user:secret@p_:x",     "\"x\" is not a port"                   },
        {"http://user:secret@fd00::1",  "several colons"                        },
        {"http://user:secret@p q",      "blank"                                 },
        {"http://user:%secret@p",       "hexadecimal"                           },
        {"http://user:secret%4@p",      "hexadecimal"                           },
        {"http://user:secret%@p",       "hexadecimal"                           },
        {"http://user:%zzsecret@p",     "hexadecimal"                           },
        {"http://user:12345/secret@p",  "write %2F"                             },
        {"http://user:secret?@p",       "write %2F for a \"/\", %3F for a \"?\""},
        {"http://user:secret#x@p",      "%23 for a \"#\""                       },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct proxy p = {0};
        struct err err;

        assert_int_equal(proxy_parse(cases[i][0], &p, &err), ERR_CONFIG);
        if (strstr(err.text, cases[i][1]) == NULL)
            fail_msg("%s: %s", cases[i][0], err.text);
        assert_null(strstr(err.text, "secret"));
        assert_null(strstr(err.text, "12345"));
        assert_null(p.url.host);
    }
}

static void expect_connect(const char *proxy, const char *host, uint16_t port, const char *request)
{
    struct buf out = {0};
    struct proxy p;
    struct err err;

    assert_int_equal(proxy_parse(proxy, &p, &err), ERR_OK);
    proxy_put_connect(&out, &p, host, port);
    assert_string_equal(buf_cstr(&out), request);
    buf_free(&out);
    proxy_fini(&p);
}

static void test_the_request(void **state)
{
    (void)state;
    expect_connect("http://p", "api.example", 443,
                   "CONNECT api.example:443 HTTP/1.1\r\nHost: api.example:443\r\n\r\n");
    expect_connect("https://p", "fd00::1", 6443,
                   "CONNECT [fd00::1]:6443 HTTP/1.1\r\nHost: [fd00::1]:6443\r\n\r\n");
    expect_connect("http://Aladdin:open%20sesame@p", "a", 1,
                   "CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n"
                   "Proxy-Authorization: Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==\r\n\r\n");
}

static void test_what_each_status_means(void **state)
{
    static const struct {
        int status;
        bool has_credentials;
        const char *advice;
    } cases[] = {
        {407, false, "it wants a user name and a password"          },
        {407, true,  "it does not accept the user name and password"},
        {403, false, "does not let us connect to this host and port"},
        {502, false, "cannot reach the server"                      },
        {503, true,  "cannot reach the server"                      },
        {504, false, "cannot reach the server"                      },
        {302, false, "may be no HTTP proxy"                         },
        {400, false, "may be no HTTP proxy"                         },
        {405, false, "may be no HTTP proxy"                         },
        {501, false, "may be no HTTP proxy"                         },
        {429, false, "see its log"                                  },
        {500, false, "see its log"                                  },
    };
    struct err err;

    (void)state;
    for (int status = 200; status < 300; status++)
        assert_int_equal(proxy_judge(status, false, &err), ERR_OK);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char shown[32];

        (void)snprintf(shown, sizeof(shown), "status %d: ", cases[i].status);
        assert_int_equal(proxy_judge(cases[i].status, cases[i].has_credentials, &err), ERR_IO);
        assert_int_equal(err.code, cases[i].status);
        assert_non_null(strstr(err.text, shown));
        assert_non_null(strstr(err.text, cases[i].advice));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_addresses_that_can_be_used),
        cmocka_unit_test(test_addresses_that_are_refused_show_no_secret),
        cmocka_unit_test(test_the_request),
        cmocka_unit_test(test_what_each_status_means),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
