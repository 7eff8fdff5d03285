/* SPDX-License-Identifier: Apache-2.0 */
/* proto/proxy_env: the tables of Go's httpproxy and of client-go's CIDRs, and the differences from them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "proto/proxy_env.h"

static struct url url_of(const char *text)
{
    struct url url;
    struct err err;

    if (url_parse(text, &url, &err) != ERR_OK)
        fail_msg("%s: %s", text, err.text);
    return url;
}

static const struct {
    const char *no_proxy;
    const char *server;
    bool exempt;
} exemptions[] = {
    {"",                             "https://example.com",         false},
 /* this machine, whatever NO_PROXY says */
    {"",                             "https://localhost",           true },
    {"",                             "https://LOCALHOST:6443",      true },
    {"",                             "https://localhost.",          true },
    {"",                             "https://127.0.0.1:6443",      true },
    {"",                             "https://127.9.9.9",           true },
    {"",                             "https://[::1]:6443",          true },
    {"",                             "https://[::ffff:127.0.0.1]",  true },
    {"",                             "https://128.0.0.1",           false},
    {"",                             "https://[::2]",               false},
    {"",                             "https://localhost.example",   false},
    {"",                             "https://127.example",         false},
 /* a name is itself and all names below it */
    {"example.com",                  "https://example.com",         true },
    {"example.com",                  "https://api.example.com",     true },
    {"example.com",                  "https://a.b.example.com",     true },
    {"EXAMPLE.com",                  "https://api.example.COM",     true },
    {"example.com",                  "https://example.com.",        true },
    {"example.com",                  "https://notexample.com",      false},
    {"example.com",                  "https://example.com.evil",    false},
    {"example.com",                  "https://example.org",         false},
    {"example.com",                  "https://com",                 false},
    {"com",                          "https://example.com",         true },
 /* ".x" and "*.x" are the names below it */
    {".example.com",                 "https://api.example.com",     true },
    {".example.com",                 "https://example.com",         false},
    {"*.example.com",                "https://api.example.com",     true },
    {"*.example.com",                "https://example.com",         false},
    {"*example.com",                 "https://api.example.com",     false},
 /* ports */
    {"example.com:6443",             "https://example.com:6443",    true },
    {"example.com:6443",             "https://example.com",         false},
    {"example.com:443",              "https://example.com",         true },
    {"example.com:80",               "http://example.com",          true },
    {"example.com:",                 "https://example.com",         true },
    {"example.com:x",                "https://example.com",         false},
    {".example.com:6443",            "https://a.example.com:6443",  true },
    {"10.0.0.1:6443",                "https://10.0.0.1:6443",       true },
    {"10.0.0.1:6443",                "https://10.0.0.1:443",        false},
    {"[fd00::1]:6443",               "https://[fd00::1]:6443",      true },
    {"[fd00::1]:6443",               "https://[fd00::1]",           false},
 /* addresses */
    {"10.0.0.1",                     "https://10.0.0.1:6443",       true },
    {"10.0.0.1",                     "https://10.0.0.10",           false},
    {"::ffff:10.0.0.1",              "https://10.0.0.1",            true },
    {"fd00::1",                      "https://[fd00:0::1]:6443",    true },
    {"fd00::1",                      "https://[fd00::2]",           false},
    {"[fd00::1]",                    "https://[fd00::1]",           true },
    {"0.1",                          "https://10.0.0.1",            false},
    {"1.2.3.4",                      "https://1.2.3.4.example.com", false},
 /* nets */
    {"10.0.0.0/8",                   "https://10.200.3.4:6443",     true },
    {"10.0.0.0/8",                   "https://11.0.0.1",            false},
    {"192.168.4.0/22",               "https://192.168.7.255",       true },
    {"192.168.4.0/22",               "https://192.168.8.0",         false},
    {"10.1.2.3/32",                  "https://10.1.2.3",            true },
    {"10.1.2.3/32",                  "https://10.1.2.2",            false},
    {"0.0.0.0/0",                    "https://10.1.2.3",            true },
    {"0.0.0.0/0",                    "https://[fd00::1]",           false},
    {"0.0.0.0/0",                    "https://example.com",         false},
    {"fd00:1::/32",                  "https://[fd00:1:2::3]",       true },
    {"fd00:1::/32",                  "https://[fd00:2::3]",         false},
    {"fd00:1::/29",                  "https://[fd00:7::1]",         true },
    {"fd00:1::/29",                  "https://[fd00:8::1]",         false},
    {"::/0",                         "https://[fd00::1]",           true },
    {"::/0",                         "https://10.0.0.1",            false},
    {"10.0.0.0/33",                  "https://10.0.0.1",            false},
    {"10.0.0.0/",                    "https://10.0.0.1",            false},
    {"10.0.0.0/x",                   "https://10.0.0.1",            false},
    {"10.0.0.0/-1",                  "https://10.0.0.1",            false},
    {"10.0.0.0/99999999999",         "https://10.0.0.1",            false},
    {"10.0.0/24",                    "https://10.0.0.1",            false},
 /* lists */
    {"*",                            "https://example.com",         true },
    {"*",                            "https://10.0.0.1",            true },
    {"a.example, *",                 "https://10.0.0.1",            true },
    {" , a.example ,\t10.0.0.0/8,,", "https://a.example",           true },
    {" , a.example ,\t10.0.0.0/8,,", "https://10.9.9.9",            true },
    {" , a.example ,\t10.0.0.0/8,,", "https://b.example",           false},
    {"a.example b.example",          "https://b.example",           false},
    {",,,",                          "https://example.com",         false},
    {":6443",                        "https://example.com:6443",    false},
    {".",                            "https://example.com",         false},
    {"*.",                           "https://example.com",         false},
    {"[",                            "https://example.com",         false},
    {"[]",                           "https://example.com",         false},
    {"[fd00::1",                     "https://[fd00::1]",           false},
    {"http://example.com",           "https://example.com",         false},
};

static void test_no_proxy(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(exemptions); i++) {
        struct url url = url_of(exemptions[i].server);

        if (proxy_env_exempts(str_c(exemptions[i].no_proxy), &url) != exemptions[i].exempt)
            fail_msg("NO_PROXY=%s, %s", exemptions[i].no_proxy, exemptions[i].server);
        url_fini(&url);
    }
}

static void test_which_variable_counts(void **state)
{
    static const struct {
        struct proxy_env env;
        const char *server;
        const char *proxy; /* HOST[:PORT]; NULL = none */
    } cases[] = {
        {{"http://p:3128", NULL, NULL},       "https://api.example",   "p:3128"},
        {{"http://p:3128", NULL, NULL},       "http://api.example",    NULL    },
        {{NULL, "http://p:3128", NULL},       "http://api.example",    "p:3128"},
        {{NULL, "http://p:3128", NULL},       "https://api.example",   NULL    },
        {{"http://a", "http://b", NULL},      "https://api.example",   "a"     },
        {{"http://a", "http://b", NULL},      "http://api.example",    "b"     },
        {{"", "", ""},                        "https://api.example",   NULL    },
        {{"p:3128", NULL, NULL},              "https://api.example",   "p:3128"},
        {{"p", NULL, NULL},                   "https://api.example",   "p"     },
        {{"user:pass@p:3128", NULL, NULL},    "https://api.example",   "p:3128"},
        {{"https://p", NULL, NULL},           "https://api.example",   "p"     },
        {{"http://p", NULL, "api.example"},   "https://api.example",   NULL    },
        {{"http://p", NULL, "10.0.0.0/8"},    "https://10.0.0.1:6443", NULL    },
        {{"http://p", NULL, NULL},            "https://localhost",     NULL    },
 /* a proxy that cannot be used does not matter to a server that is exempt */
        {{"socks5://p", NULL, "api.example"}, "https://api.example",   NULL    },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct url url = url_of(cases[i].server);
        struct buf host = {0};
        struct proxy p;
        struct err err;

        assert_int_equal(proxy_env_find(&cases[i].env, &url, &p, &err), ERR_OK);
        if (p.url.host != NULL)
            url_put_host(&host, &p.url);
        assert_string_equal(buf_cstr(&host), cases[i].proxy != NULL ? cases[i].proxy : "");
        proxy_fini(&p);
        url_fini(&url);
        buf_free(&host);
    }
}

static void test_an_address_that_cannot_be_used_names_its_variable(void **state)
{
    static const struct proxy_env env = {"socks5://user:secret@p", "http://u:secret@p:x", NULL};
    struct url https = url_of("https://api.example"), http = url_of("http://api.example");
    struct proxy p;
    struct err err;

    (void)state;
    assert_int_equal(proxy_env_find(&env, &https, &p, &err), ERR_CONFIG);
    assert_string_equal(err.text, "HTTPS_PROXY: address: SOCKS proxies are not supported; give an "
                                  "HTTP proxy (http:// or https://)");
    assert_null(p.url.host);
    assert_int_equal(proxy_env_find(&env, &http, &p, &err), ERR_CONFIG);
    assert_string_equal(err.text, "HTTP_PROXY: address: \"x\" is not a port");
    url_fini(&https);
    url_fini(&http);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_proxy),
        cmocka_unit_test(test_which_variable_counts),
        cmocka_unit_test(test_an_address_that_cannot_be_used_names_its_variable),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
