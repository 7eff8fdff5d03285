/* SPDX-License-Identifier: Apache-2.0 */
/*
 * backends - the usable endpoints that one EndpointSlice or one Endpoints object names, by the
 * rules of kube-proxy (docs/design.md "Endpoints"); pure. Endpoints that are neither ready nor
 * draining are left out, because nothing depends on them. A view keeps tens of thousands of these
 * structs, so texts are positions in one buffer.
 */
#ifndef KUBE_BACKENDS_H
#define KUBE_BACKENDS_H

#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

enum address_family { ADDRESS_IPV4, ADDRESS_IPV6 };

/* An IP address as bytes: parsed by the rules of kube-proxy, and written in its one canonical form. */
struct address {
    enum address_family family;
    unsigned char bytes[16]; /* network order; IPv4 has the first four, the others are 0 */
};

/* Bytes that hold any address as text, NUL included. */
enum { ADDRESS_TEXT = 46 };

/* A text of struct backends, read by backends_str(). n = 0: absent. */
struct backends_text {
    uint32_t at;
    uint32_t n;
};

/* Ordered: the better state comes first. */
enum backend_state {
    BACKEND_READY,
    BACKEND_READY_ENDING, /* ready although its Pod ends: publishNotReadyAddresses */
    BACKEND_DRAINING,     /* its Pod ends, but still serves */
};

struct backend {
    struct address address;
    enum backend_state state;
    struct backends_text node;
    struct backends_text zone;
    struct backends_text pod;
    unsigned first_hint; /* in hints: its zones, sorted, each once */
    unsigned hint_count;
};

struct backend_port {
    struct backends_text name; /* absent: the only port of its Service has no name */
    struct backends_text protocol;
    uint16_t number;
};

/* Each endpoint of a group has each port of that group. A slice is one group, an Endpoints object
 * has one for each subset. */
struct backend_group {
    unsigned first_port;
    unsigned port_count;
    unsigned first_backend;
    unsigned backend_count;
};

/* Zero-initialised is empty. The n_ fields count the elements; n counts those of v. */
struct backends {
    struct backends_text service; /* its name, in the same namespace; absent = belongs to none */
    struct backend_group *groups;
    unsigned n_groups;
    struct backend_port *ports;
    unsigned n_ports;
    struct backend *v;
    unsigned n;
    struct backends_text *hints;
    unsigned n_hints;
    struct buf text;
};

/* Reads an EndpointSlice (discovery.k8s.io/v1) from its JSON. A slice whose addressType is
 * neither IPv4 nor IPv6 has no endpoints. Errors as json_tree_read(); *out is then empty. Release
 * with backends_fini(). */
enum err_kind backends_read_slice(struct str json, struct backends *out,
                                  struct err *err) MUST_CHECK;

/* The same for an Endpoints object (v1). */
enum err_kind backends_read_endpoints(struct str json, struct backends *out,
                                      struct err *err) MUST_CHECK;

/* Returns the characters of a text, borrowed as long as b lives. */
struct str backends_str(const struct backends *b, struct backends_text t);

/* Frees the memory of *b, which is empty then. */
void backends_fini(struct backends *b);

/* Orders addresses by family, IPv4 first, then by their bytes. Returns < 0, 0 or > 0. */
int address_cmp(const struct address *a, const struct address *b);

/* Writes the canonical form of the address (RFC 5952) into text and returns text. */
const char *address_text(const struct address *a, char text[ADDRESS_TEXT]);

/* The name of a family as in addressType of an EndpointSlice: "IPv4" or "IPv6". A constant. */
const char *address_family_name(enum address_family family);

#endif
