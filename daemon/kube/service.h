/* SPDX-License-Identifier: Apache-2.0 */
/*
 * service - what of a Service a join with its endpoints needs; pure. publishNotReadyAddresses and
 * externalTrafficPolicy are not among it: as in kube-proxy, the first shows in the conditions that
 * the server's controllers write, and the second decides nothing about what an endpoint is.
 */
#ifndef KUBE_SERVICE_H
#define KUBE_SERVICE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/str.h"

struct service_port {
    struct str name; /* empty: the only port may have none */
    struct str protocol;
    struct str app_protocol; /* empty = none */
    unsigned port;
    unsigned node_port; /* 0 = none */
};

/* Zero-initialised is one without ports. */
struct service {
    bool external_name; /* a name in DNS, without endpoints of its own */
    struct service_port *ports;
    size_t port_count;
};

/* Reads the object's JSON. What is absent has the server's default; what is of a wrong type counts
 * as absent. Errors as json_tree_read(); *out is then zeroed. Release with service_fini(). */
enum err_kind service_read(struct str json, struct service *out, struct err *err) MUST_CHECK;

/* Frees its memory; *s is zeroed. */
void service_fini(struct service *s);

#endif
