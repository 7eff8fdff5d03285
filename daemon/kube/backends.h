/* SPDX-License-Identifier: Apache-2.0 */
/*
 * backends - the usable endpoints that one EndpointSlice or one Endpoints object names, by
 * kube-proxy's rules; pure. Those that are neither ready nor draining are left out: nothing depends
 * on them. Kept by the ten thousands, so texts are positions in one buffer.
 */
#ifndef KUBE_BACKENDS_H
#define KUBE_BACKENDS_H

#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "kube/address.h"

/* See backends_str(). n = 0: absent. */
struct backends_text {
    uint32_t at;
    uint32_t n;
};

/* The better ones first. */
enum backend_state {
    BACKEND_READY,
    BACKEND_READY_ENDING, /* ready although its Pod ends: publishNotReadyAddresses */
    BACKEND_DRAINING,     /* its Pod ends, and serves still */
};

struct backend {
    struct address address;
    enum backend_state state;
    struct backends_text node;
    struct backends_text zone;
    struct backends_text pod;
    unsigned first_hint; /* zones, in order, each once */
    unsigned hint_count;
};

struct backend_port {
    struct backends_text name; /* absent: that of a Service's only port */
    struct backends_text protocol;
    uint16_t number;
};

/* Each of these endpoints has each of these ports. A slice is one group, an Endpoints one a
 * subset. */
struct backend_group {
    unsigned first_port;
    unsigned port_count;
    unsigned first_backend;
    unsigned backend_count;
};

/* Zero-initialised is empty. Numbers of elements are in the n_ fields. */
struct backends {
    struct backends_text service; /* in the same namespace; absent = nobody's */
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

/* Reads an EndpointSlice (discovery.k8s.io/v1) from its JSON. Its addresses are none unless its
 * addressType is IPv4 or IPv6. Errors as json_tree_read(); *out is then empty. Release with
 * backends_fini(). */
enum err_kind backends_read_slice(struct str json, struct backends *out,
                                  struct err *err) MUST_CHECK;

/* The like for Endpoints (v1). */
enum err_kind backends_read_endpoints(struct str json, struct backends *out,
                                      struct err *err) MUST_CHECK;

/* A text, valid as long as b. */
struct str backends_str(const struct backends *b, struct backends_text t);

/* Frees its memory; *b is empty. */
void backends_fini(struct backends *b);

#endif
