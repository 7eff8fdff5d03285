/* SPDX-License-Identifier: Apache-2.0 */
/*
 * address - an IP address as bytes: parsed by the rules of kube-proxy, compared, and written in its
 * one canonical form; pure.
 */
#ifndef KUBE_ADDRESS_H
#define KUBE_ADDRESS_H

#include <stdbool.h>

#include "base/str.h"

enum address_family { ADDRESS_IPV4, ADDRESS_IPV6 };

struct address {
    enum address_family family;
    unsigned char bytes[16]; /* network order; IPv4 has the first four, the others are 0 */
};

/* Bytes that hold any address as text, NUL included. */
enum { ADDRESS_TEXT = 46 };

/* Reads an IPv4 or IPv6 address as kube-proxy does (k8s.io/utils/net ParseIPSloppy): leading
 * zeros of a number are decimal, and an IPv4 address mapped into IPv6 (::ffff:1.2.3.4) becomes
 * IPv4. False: text is no address, and *out is not set. */
bool address_parse(struct str text, struct address *out);

/* Orders addresses by family, IPv4 first, then by their bytes. Returns < 0, 0 or > 0. */
int address_cmp(const struct address *a, const struct address *b);

/* Writes the canonical form of the address (RFC 5952) into text and returns text. */
const char *address_text(const struct address *a, char text[ADDRESS_TEXT]);

/* The name of a family as in addressType of an EndpointSlice: "IPv4" or "IPv6". A constant. */
const char *address_family_name(enum address_family family);

#endif
