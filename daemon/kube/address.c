/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/address.h"

#include <arpa/inet.h>

#include "base/compiler.h"
#include "base/panic.h"

/* Reads one number of a dotted address from *at on and moves *at behind it. inet_pton() is of no
 * use here, as it refuses leading zeros, which kube-proxy takes as decimal. */
static bool read_octet(struct str text, size_t *at, unsigned char *out)
{
    size_t start = *at;
    unsigned value = 0;

    for (; *at < text.n && text.p[*at] >= '0' && text.p[*at] <= '9'; ++*at) {
        value = 10 * value + (unsigned)(text.p[*at] - '0');
        if (value > 255)
            return false;
    }
    *out = (unsigned char)value;
    return *at > start;
}

static bool parse_v4(struct str text, struct address *out)
{
    size_t at = 0;

    *out = (struct address){.family = ADDRESS_IPV4};
    for (size_t i = 0; i < 4; i++) {
        if (i > 0 && (at == text.n || text.p[at++] != '.'))
            return false;
        if (!read_octet(text, &at, &out->bytes[i]))
            return false;
    }
    return at == text.n;
}

static bool parse_v6(struct str text, struct address *out)
{
    static const unsigned char mapped[12] = {[10] = 0xff, [11] = 0xff};
    char copy[ADDRESS_TEXT];

    /* inet_pton() needs a C string. A NUL byte inside of text would end that string early, so its
     * length is checked as well. */
    if (text.n >= sizeof(copy))
        return false;
    memcpy(copy, text.p, text.n);
    copy[text.n] = '\0';
    *out = (struct address){.family = ADDRESS_IPV6};
    if (strlen(copy) != text.n || inet_pton(AF_INET6, copy, out->bytes) != 1)
        return false;
    /* ::ffff:1.2.3.4 and 1.2.3.4 are one address and have to compare as equal. */
    if (memcmp(out->bytes, mapped, sizeof(mapped)) == 0) {
        out->family = ADDRESS_IPV4;
        memcpy(out->bytes, out->bytes + sizeof(mapped), 4);
        memset(out->bytes + 4, 0, sizeof(out->bytes) - 4);
    }
    return true;
}

bool address_parse(struct str text, struct address *out)
{
    struct address a;
    bool v6 = text.n > 0 && memchr(text.p, ':', text.n) != NULL;

    if (text.n == 0 || !(v6 ? parse_v6(text, &a) : parse_v4(text, &a)))
        return false;
    *out = a;
    return true;
}

int address_cmp(const struct address *a, const struct address *b)
{
    if (a->family != b->family)
        return a->family < b->family ? -1 : 1;
    /* The bytes that an IPv4 address does not use are 0, so all 16 can be compared. */
    return memcmp(a->bytes, b->bytes, sizeof(a->bytes));
}

const char *address_text(const struct address *a, char text[ADDRESS_TEXT])
{
    int family = a->family == ADDRESS_IPV4 ? AF_INET : AF_INET6;

    ensure(inet_ntop(family, a->bytes, text, ADDRESS_TEXT) != NULL);
    return text;
}

const char *address_family_name(enum address_family family)
{
    return family == ADDRESS_IPV4 ? "IPv4" : "IPv6";
}
