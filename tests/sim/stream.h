/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stream - one feed's connection to the simulated server, with everything that networks and
 * servers do to it; stands where io/source stands in the daemon.
 */
#ifndef SIM_STREAM_H
#define SIM_STREAM_H

#include "cache/feed.h"
#include "sim/api.h"
#include "sim/clock.h"

/* XX(identifier, text) */
#define FAULT_MAP(XX)                      \
    XX(REFUSED, "refused")                 \
    XX(CLOSED, "closed before the answer") \
    XX(SILENT, "no answer")                \
    XX(BUSY, "429")                        \
    XX(ERROR, "500")                       \
    XX(LAGGING, "too large RV")            \
    XX(GONE, "410 on a list")              \
    XX(HTML, "HTML with 200")              \
    XX(CUT, "body cut off")                \
    XX(STREAM_ERROR, "500 in the stream")  \
    XX(GARBAGE, "garbage in the stream")   \
    XX(DUPLICATE, "event twice")           \
    XX(STALL, "stream stalled")            \
    XX(EMPTY, "stream without an event")

#define FAULT_ENUM(id, text) FAULT_##id,
enum fault { FAULT_MAP(FAULT_ENUM) FAULTS };
#undef FAULT_ENUM

/* What all streams of a simulation share. */
struct net {
    struct clock *clock;
    struct api *api;
    unsigned percent; /* chance of a fault where one can happen; 0 = the network is well */
    uint64_t injected[FAULTS];
};

enum stream_state { STREAM_WAITING, STREAM_ASKED, STREAM_BODY, STREAM_WATCHING, STREAM_STALLED };

struct stream {
    struct net *net;
    struct feed *feed;
    size_t space; /* API_SPACES = all */
    enum stream_state state;
    struct alarm alarm;
    struct feed_action action; /* the one under way; its target is copied */
    char target[512];
    struct buf body; /* bytes that the network still holds */
    bool cut;        /* the body will end too early */
    uint64_t sent;   /* WATCHING: version up to which events are in body or beyond */
    uint64_t ends_ms;
    void (*on_progress)(void *arg);
    void *arg;
};

/* Starts the feed. */
void stream_start(struct stream *s);

/* Releases what it holds. */
void stream_fini(struct stream *s);

/* Is the feed up to date with the server? */
bool stream_is_current(const struct stream *s);

#endif
