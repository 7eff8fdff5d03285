/* SPDX-License-Identifier: Apache-2.0 */
/*
 * serve - how simulated servers answer the requests of a stream: as real servers do, by
 * docs/kubernetes-protocol.md.
 */
#ifndef SIM_SERVE_H
#define SIM_SERVE_H

#include <stdint.h>

#include "sim/stream.h"

/* Sends the request of a stream to one of the servers, or loses it on the way. */
void serve_request(struct stream *s);

/* FRESHENING: has the server become new enough, or has it lost its patience? */
void serve_fresh(struct stream *s);

/* WATCHING: puts the events and bookmarks into the body that are to be sent by now. */
void serve_more(struct stream *s);

/* WATCHING: puts an error or garbage into the body, as the fault in store for the stream says. */
void serve_break(struct stream *s);

/* WATCHING: does a proxy end the stream here? */
bool serve_cuts(struct stream *s);

/* WATCHING: the next time at which the stream has something to do although nothing happens in
 * etcd. */
uint64_t serve_next_ms(const struct stream *s);

#endif
