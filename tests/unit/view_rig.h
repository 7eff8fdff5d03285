/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view_rig - Services, slices and Endpoints for tests out of a few words, and a join that gets
 * them; pure.
 */
#ifndef UNIT_VIEW_RIG_H
#define UNIT_VIEW_RIG_H

#include "objects.h"

#include "cache/view_join.h"

/* Parts of JSON texts. conditions: "" or "\"ready\":false". */
#define PORT(name, number)      "{\"name\":\"" name "\",\"port\":" number ",\"protocol\":\"TCP\"}"
#define ENDPOINT(address, more) "{\"addresses\":[\"" address "\"]," more "}"
#define READY                   "\"conditions\":{\"ready\":true,\"serving\":true,\"terminating\":false}"
#define NOT_READY               "\"conditions\":{\"ready\":false,\"serving\":false,\"terminating\":false}"
#define DRAINING                "\"conditions\":{\"ready\":false,\"serving\":true,\"terminating\":true}"
#define ENDED                   "\"conditions\":{\"ready\":false,\"serving\":false,\"terminating\":true}"
#define ON(node)                ",\"nodeName\":\"" node "\""

/* The part of a slice behind its identity: a line. */
#define OF(service) ",\"labels\":{\"kubernetes.io/service-name\":\"" service "\"}"
#define NO_LABEL    ""
#define SLICE(labels, type, endpoints, ports) \
    labels "},\"addressType\":\"" type "\",\"endpoints\":[" endpoints "],\"ports\":[" ports "]}\n"

/* An object made of its JSON; one reference for the caller. */
struct object *view_rig_object(const char *kind, const char *api_version, const char *json);

/* key: "NS/NAME". spec: its JSON without braces. */
struct object *view_rig_service(const char *key, const char *uid, const char *rv, const char *spec);

/* rest: the text that SLICE() makes. */
struct object *view_rig_slice(const char *key, const char *rv, const char *rest);

/* subsets: JSON without brackets. */
struct object *view_rig_endpoints(const char *key, const char *subsets);

/* stale_after and guard.hold of the watches below; their guard begins with two objects. */
enum { VIEW_RIG_STALE_AFTER = 30000, VIEW_RIG_GUARD = 60000 };

/* A watch in all namespaces, without jitter. Never NULL. */
struct watch *view_rig_watch(const char *name, const char *cluster, const char *resource,
                             const struct shape_params *shape, const struct subscriber *events,
                             void *arg);

/* The watches "services" of services and "slices" of endpointslices, in cluster "c", of whole
 * objects. */
struct view_rig_watches {
    struct watch *services;
    struct watch *slices;
};

/* Makes both. */
struct view_rig_watches view_rig_watches(const struct subscriber *events, void *arg);

/* Destroys both. */
void view_rig_watches_fini(struct view_rig_watches *w);

/* A join and the deltas that it has reported: "+ns/a ~ns/a -ns/a xns/a " (left). */
struct view_rig {
    struct view_join *join;
    struct buf heard;
    struct buf text;
    uint64_t now_ms;
    struct delta last; /* its object is freed already */
};

/* Makes the join; params NULL: cluster c, node n1, of slices. Release with view_rig_fini(). */
void view_rig_init(struct view_rig *r, const struct view_join_params *params);

/* Frees the join. */
void view_rig_fini(struct view_rig *r);

/* One change of a Service, whose reference the join takes over; nothing is flushed. */
void view_rig_on_service(struct view_rig *r, enum delta_type type, struct object *o);

/* One change of a slice or of Endpoints, whose reference the join takes over; nothing is
 * flushed. */
void view_rig_on_slice(struct view_rig *r, enum delta_type type, struct object *o);

/* Flushes the join, and checks the deltas that it reports. */
void view_rig_says(struct view_rig *r, const char *want);

/* The value of a path in the object of a key, as kubectl writes it; "-" = no such object. */
const char *view_rig_get(struct view_rig *r, const char *key, const char *path);

/* The JSON of the object of a key. */
const char *view_rig_json(struct view_rig *r, const char *key);

#endif
