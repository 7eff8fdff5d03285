/* SPDX-License-Identifier: Apache-2.0 */
/*
 * service - the members of a Service that a join with its endpoints needs; pure.
 * publishNotReadyAddresses and externalTrafficPolicy are not among them: as in kube-proxy, the first
 * shows in the conditions that the server's controllers write, and the second does not decide which
 * endpoints there are (docs/design.md "Endpoints").
 */
#ifndef KUBE_SERVICE_H
#define KUBE_SERVICE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/str.h"

struct service_port {
    struct str name; /* may be empty if it is the only port */
    struct str protocol;
    struct str app_protocol; /* empty = none */
    unsigned port;
    unsigned node_port; /* 0 = none */
};

/* Zero-initialised is a Service without ports. */
struct service {
    bool external_name; /* of type ExternalName: a name in DNS, without endpoints */
    struct service_port *ports;
    size_t port_count;
};

/* Reads the JSON of a Service. An absent member has the server's default; a member of a wrong
 * type counts as absent. Errors as json_tree_read(); *out is then zeroed. Release with
 * service_fini(). *out does not refer to json. */
enum err_kind service_read(struct str json, struct service *out, struct err *err) MUST_CHECK;

/* Frees the memory of *s and zeroes it. */
void service_fini(struct service *s);

#endif
