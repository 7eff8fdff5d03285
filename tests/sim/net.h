/* SPDX-License-Identifier: Apache-2.0 */
/*
 * net - the servers behind one address, and the faults of networks and proxies on the way to them;
 * counts all faults and requests.
 */
#ifndef SIM_NET_H
#define SIM_NET_H

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "sim/feature.h"
#include "sim/server.h"
#include "sim/setup.h"

/* XX(identifier, text): the faults. */
#define FAULT_MAP(XX)                                                        \
    XX(REFUSED, "connection refused")                                        \
    XX(CLOSED, "closed before the answer")                                   \
    XX(SILENT, "no answer")                                                  \
    XX(BUSY, "429")                                                          \
    XX(ERROR, "500")                                                         \
    XX(UNAUTHORIZED, "401")                                                  \
    XX(FORBIDDEN, "403")                                                     \
    XX(HTML, "HTML with 200")                                                \
    XX(GONE, "410 on a list")                                                \
    XX(OLDER, "list older than asked for")                                   \
    XX(BACK, "bookmark of an older version")                                 \
    XX(GONE_PAGE, "410 on a continue token")                                 \
    XX(GONE_WATCH, "410 on a watch")                                         \
    XX(TOO_LARGE, "too large version")                                       \
    XX(FUTURE, "watch from a version of the future")                         \
    XX(BEHIND, "server behind the version asked for")                        \
    XX(NO_STREAM, "streamed list refused")                                   \
    XX(NO_ETCD, "server cut off from etcd asked")                            \
    XX(CUT, "body or stream cut off")                                        \
    XX(HUNG, "stream hung by a proxy")                                       \
    XX(CUTTER, "stream ended by a proxy after one frame")                    \
    XX(STREAM_ERROR, "error in the stream")                                  \
    XX(GARBAGE, "garbage in the stream")                                     \
    XX(DUPLICATE, "event twice")                                             \
    XX(EMPTY, "stream without an event")                                     \
    XX(UNNAMED_ITEM, "item of a list without a name")                        \
    XX(UNNAMED_EVENT, "event of an object without a name")                   \
    XX(COMPACTED, "compaction, or old events forgotten")                     \
    XX(RESTART, "server restarted")                                          \
    XX(RESTORE, "etcd restored from a backup")                               \
    XX(FOREIGN_LOWER, "another cluster at the address, with lower versions") \
    XX(FOREIGN_EQUAL, "another cluster, with the same versions")             \
    XX(FOREIGN_HIGHER, "another cluster, with higher versions")              \
    XX(FOREIGN_ASKED, "another cluster asked which one it is")               \
    XX(FOREIGN_LIST, "list of another cluster")                              \
    XX(UNASKABLE, "server that does not say which cluster it is")            \
    XX(SPLIT, "server cut off from etcd")                                    \
    XX(AWAY, "server cut off from its clients")                              \
    XX(DRILL, "all servers gone for long")                                   \
    XX(CRASH, "daemon killed")                                               \
    XX(ORDER, "relist by hand")                                              \
    XX(ACCEPT, "guard: accepted by hand")                                    \
    XX(REJECT, "guard: rejected by hand")

#define FAULT_ENUM(id, text) FAULT_##id,
enum fault { FAULT_MAP(FAULT_ENUM) FAULTS };
#undef FAULT_ENUM

/* XX(identifier, text): the kinds of requests. */
#define REQUEST_MAP(XX)                          \
    XX(FIRST, "list from 0")                     \
    XX(NEWEST, "list of the newest")             \
    XX(SINCE, "list from a version")             \
    XX(PAGE, "further page")                     \
    XX(STREAM, "list as a stream")               \
    XX(WATCH, "watch")                           \
    XX(PROBE, "probe")                           \
    XX(IDENTITY, "question which cluster it is") \
    XX(GET, "object whose deletion is to be confirmed")

#define REQUEST_ENUM(id, text) REQUEST_##id,
enum request { REQUEST_MAP(REQUEST_ENUM) REQUESTS };
#undef REQUEST_ENUM

enum { SERVERS = 3 };

struct net {
    struct clock *clock;
    struct api *api;
    const struct setup *setup;
    uint64_t *features; /* FEATURES counts; set by the user */
    struct server servers[SERVERS];
    struct list streams; /* of the daemon that runs */
    uint64_t foreign_rv; /* version of another cluster that has the address; 0 = no such cluster */
    bool asks_all;    /* lists ask first, too, as a server has once answered (io/server_identity) */
    unsigned percent; /* chance of a fault where one can happen; 0 = the network is well */
    uint64_t injected[FAULTS];
    uint64_t requests[REQUESTS];
    uint64_t busiest; /* the most requests of one scope in 10 s, without further pages of lists */
};

/* Makes servers that run, and a network without faults. */
void net_init(struct net *n, struct clock *clock, struct api *api, const struct setup *setup);

/* Does this fault happen now? If so, it is counted. */
bool net_strikes(struct net *n, enum fault fault);

/* Counts and traces a fault. */
void net_count(struct net *n, enum fault fault);

/* Something happened in etcd. */
void net_poke(struct net *n);

/* Restarts a server: its streams are cut off. */
void net_restart(struct net *n, struct server *s);

/* Another cluster takes the address, with versions as the kind of fault says. Its servers are other
 * processes, to which no stream is connected. */
void net_replace(struct net *n, enum fault kind);

/* The other cluster gives the address back. */
void net_give_back(struct net *n);

/* A server cannot be reached any more: its streams are cut off, or hang. */
void net_take_away(struct net *n, struct server *s);

/* No server can be reached: all streams are lost. */
void net_cut_off(struct net *n);

/* All servers can be reached again, and reach etcd. */
void net_heal(struct net *n);

/* The text of a fault: "429". */
const char *net_fault_text(enum fault fault);

/* The text of a kind of request: "list from 0". */
const char *net_request_text(enum request request);

#endif
