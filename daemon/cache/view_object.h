/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view_object - one Service with the endpoints that it uses, as an object and its JSON
 * (docs/design.md "Views"); pure.
 */
#ifndef CACHE_VIEW_OBJECT_H
#define CACHE_VIEW_OBJECT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "cache/view_pick.h"
#include "kube/object.h"

/* The values of object_api_version() and object_kind() for such an object. Its JSON does not have
 * them. */
#define VIEW_OBJECT_API_VERSION "informerd/v1"
#define VIEW_OBJECT_KIND        "ServiceEndpoints"

/* A port and the endpoints that it uses, as view_object_put_uses() writes them. Borrowed. */
struct view_object_port {
    const struct service_port *port;
    struct str uses;
};

/* Borrowed. */
struct view_object {
    const char *cluster;
    const struct object *service;
    struct view_pick_count count;
    bool held;
    const struct view_object_port *ports;
    size_t port_count;
};

/* Appends the value of "use" of a port. */
void view_object_put_uses(struct buf *out, const struct view_use *uses, size_t n);

/* The object, with key, uid, resourceVersion and generation of the Service. As in the Service, the
 * last two are not compared; when the object is written they stand inside of "service". One
 * reference for the caller. */
struct object *view_object_create(const struct view_object *v);

#endif
