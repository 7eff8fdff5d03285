/* SPDX-License-Identifier: Apache-2.0 */
/*
 * serve - how simulated servers answer the requests of a stream, as
 * docs/kubernetes-protocol.md says that real ones do.
 */
#ifndef SIM_SERVE_H
#define SIM_SERVE_H

#include <stdint.h>

#include "sim/stream.h"

/* The request has arrived at one of the servers, or did not. */
void serve_request(struct stream *s);

/* FRESHENING: has the server become new enough, or has it lost its patience? */
void serve_fresh(struct stream *s);

/* WATCHING: puts into the body what there is to tell by now. */
void serve_more(struct stream *s);

/* WATCHING: puts an error or garbage into the body, as the stream's doom says. */
void serve_break(struct stream *s);

/* WATCHING: is it ended here by a proxy? */
bool serve_cuts(struct stream *s);

/* WATCHING: when there will be something to do although nothing happens. */
uint64_t serve_next_ms(const struct stream *s);

#endif
