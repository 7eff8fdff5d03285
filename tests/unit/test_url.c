/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses of API servers: good ones, and errors in words for bad ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "proto/url.h"

static void test_understood(void **state)
{
    /* address, its parts as SCHEME HOST PORT PREFIX, host for a Host header */
    static const char *const cases[][3] = {
        {"https://api.example",              "https api.example 443 ",            "api.example"      },
        {"http://api.example",               "http api.example 80 ",              "api.example"      },
        {"HTTPS://Api.Example:6443/",        "https Api.Example 6443 ",           "Api.Example:6443" },
        {"https://api.example:443",          "https api.example 443 ",            "api.example"      },
        {"https://api.example:80",           "https api.example 80 ",             "api.example:80"   },
        {"http://api.example:443",           "http api.example 443 ",             "api.example:443"  },
        {"api.example",                      "https api.example 443 ",            "api.example"      },
        {"api:6443",                         "https api 6443 ",                   "api:6443"         },
        {"api:1/x",                          "https api 1 /x",                    "api:1"            },
        {"10.0.0.1:65535",                   "https 10.0.0.1 65535 ",             "10.0.0.1:65535"   },
        {"https://[::1]:6443",               "https ::1 6443 ",                   "[::1]:6443"       },
        {"[fd00::1]",                        "https fd00::1 443 ",                "[fd00::1]"        },
        {"[::ffff:10.0.0.1]/p",              "https ::ffff:10.0.0.1 443 /p",      "[::ffff:10.0.0.1]"},
        {"https://h/k8s/clusters/c-1%2F2//", "https h 443 /k8s/clusters/c-1%2F2", "h"                },
        {"https://h//",                      "https h 443 ",                      "h"                },
        {"https://a_b-c.example.",           "https a_b-c.example. 443 ",         "a_b-c.example."   },
        {"https://1.example:0443",           "https 1.example 443 ",              "1.example"        },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct url u = {0};
        struct err err = {0};
        struct buf host = {0};
        char text[200];

        if (url_parse(cases[i][0], &u, &err) != ERR_OK)
            fail_msg("%s", err.text);
        snprintf(text, sizeof(text), "%s %s %u %s", u.tls ? "https" : "http", u.host,
                 (unsigned)u.port, u.prefix);
        assert_string_equal(text, cases[i][1]);
        url_put_host(&host, &u);
        assert_string_equal(buf_cstr(&host), cases[i][2]);
        buf_free(&host);
        url_fini(&u);
        assert_null(u.host);
        assert_null(u.prefix);
    }
}

static void test_refused(void **state)
{
    static const char *const cases[][2] = {
        {"",                                  "address: it is empty"                                                         },
        {"https://",                          "address: it names no host"                                                    },
        {"https:///x",                        "address: it names no host"                                                    },
        {":6443",                             "address: it names no host"                                                    },
        {"ftp://a",                           "address: \"ftp\" is a scheme other than http and https"                       },
        {"unix:///run/x",                     "address: \"unix\" is a scheme other than http and https"                      },
        {"https://a b",                       "address: it holds a blank, a control byte or a letter that is not ASCII"      },
        {" https://a",                        "address: it holds a blank, a control byte or a letter that is not ASCII"      },
        {"https://a\n",                       "address: it holds a blank, a control byte or a letter that is not ASCII"      },
        {"https://m\xc3\xbcller",
         "address: it holds a blank, a control byte or a letter that is not ASCII"                                           },
        {"https://me:secret@a",
         "address: it holds a user name or an \"@\"; give credentials by token or certificate"                               },
        {"https://a/?token=secret",           "address: it holds a query (?) or a fragment (#)"                              },
        {"https://a#b",                       "address: it holds a query (?) or a fragment (#)"                              },
        {"https://a:",                        "address: \"\" is not a port (1 to 65535)"                                     },
        {"https://a:0",                       "address: \"0\" is not a port (1 to 65535)"                                    },
        {"https://a:65536",                   "address: \"65536\" is not a port (1 to 65535)"                                },
        {"https://a:99999999999999999999999",
         "address: \"99999999999999999999999\" is not a port (1 to 65535)"                                                   },
        {"https://a:64x3",                    "address: \"64x3\" is not a port"                                              },
        {"https://a:-1",                      "address: \"-1\" is not a port"                                                },
        {"::1",                               "address: \"::1\" has several colons; write an IPv6 address in brackets: [::1]"},
        {"https://fd00::1:6443",
         "address: \"fd00::1:6443\" has several colons; write an IPv6 address in brackets: [::1]"                            },
        {"[::1",                              "address: \"[::1\" lacks the \"]\" behind an IPv6 address"                     },
        {"[::1]6443",                         "address: \"[::1]6443\" has something else than a port behind the \"]\""       },
        {"[]",                                "address: it names no host"                                                    },
        {"[a]",                               "address: \"a\" is not an IPv6 address"                                        },
        {"[10.0.0.1]",                        "address: \"10.0.0.1\" is not an IPv6 address"                                 },
        {"[fe80::1%eth0]",
         "address: \"fe80::1%eth0\" names a zone; link-local addresses are not supported"                                    },
        {"https://10.0.0.256",                "address: \"10.0.0.256\" is not an IPv4 address"                               },
        {"https://10.0.1",                    "address: \"10.0.1\" is not an IPv4 address"                                   },
        {"6443",                              "address: \"6443\" is not an IPv4 address"                                     },
        {"https://a..b",                      "address: \"a..b\" is not a host name"                                         },
        {"https://.a",                        "address: \".a\" is not a host name"                                           },
        {"https://a\"b",                      "address: \"a\"b\" is not a host name"                                         },
        {"https://*.a",                       "address: \"*.a\" is not a host name"                                          },
        {"https://a/%zz",                     "address: \"/%zz\" has a \"%\" without two hexadecimal digits behind it"       },
        {"https://a/x%2",                     "address: \"/x%2\" has a \"%\" without two hexadecimal digits behind it"       },
        {"https://a/<x>",                     "address: \"/<x>\" holds a character that a path cannot have"                  },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct url u = {.port = 7};
        struct err err = {0};

        assert_int_equal(url_parse(cases[i][0], &u, &err), ERR_CONFIG);
        assert_string_equal(err.text, cases[i][1]);
        assert_int_equal(u.port, 7);
        assert_null(strstr(err.text, "secret"));
    }
}

/* A host name of labels of 63 bytes, n bytes in all. */
static void try_length(size_t n, enum err_kind want)
{
    char text[3000] = "";
    struct url u = {0};

    for (size_t i = 0; i < n; i++)
        text[i] = i % 64 == 63 ? '.' : 'a';
    assert_int_equal(url_parse(text, &u, NULL), want);
    url_fini(&u);
}

static void test_lengths(void **state)
{
    char label[65];
    struct url u = {0};
    struct err err = {0};

    (void)state;
    try_length(253, ERR_OK);
    try_length(254, ERR_CONFIG);
    try_length(2049, ERR_CONFIG);
    memset(label, 'a', 64);
    label[64] = '\0';
    assert_int_equal(url_parse(label, &u, &err), ERR_CONFIG);
    assert_non_null(strstr(err.text, "is not a host name"));
}

static void test_escaping(void **state)
{
    struct buf out = {0};

    (void)state;
    url_put_escaped(&out, str_c("azAZ09-._~"));
    url_put_escaped(&out, str_of("\0 /&=,%\xff", 8));
    assert_string_equal(buf_cstr(&out), "azAZ09-._~%00%20%2F%26%3D%2C%25%FF");
    buf_free(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_understood),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_lengths),
        cmocka_unit_test(test_escaping),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
