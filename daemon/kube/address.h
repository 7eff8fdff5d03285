/* SPDX-License-Identifier: Apache-2.0 */
/*
 * address - an IP address as bytes: read as kube-proxy reads it, compared, and written in one way;
 * pure.
 */
#ifndef KUBE_ADDRESS_H
#define KUBE_ADDRESS_H

#include <stdbool.h>

#include "base/str.h"

enum address_family { ADDRESS_IPV4, ADDRESS_IPV6 };

struct address {
    enum address_family family;
    unsigned char bytes[16]; /* network order; IPv4: the first four, the others are 0 */
};

/* Enough for any address as text, NUL included. */
enum { ADDRESS_TEXT = 46 };

/* Reads an address. Leading zeros are decimal, and an IPv4 address mapped into IPv6 is IPv4, as in
 * kube-proxy (k8s.io/utils/net ParseIPSloppy). False: it is none; *out is then not set. */
bool address_parse(struct str text, struct address *out);

/* Order: family, then bytes. */
int address_cmp(const struct address *a, const struct address *b);

/* Writes the one way to spell it (RFC 5952) into text and returns that. */
const char *address_text(const struct address *a, char text[ADDRESS_TEXT]);

/* "IPv4" or "IPv6", as in addressType. */
const char *address_family_name(enum address_family family);

#endif
