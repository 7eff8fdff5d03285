/* SPDX-License-Identifier: Apache-2.0 */
/*
 * graph - the modules behind TLS: one watch of EndpointSlices, hooks and the journal, fed with the plain
 * bytes of HTTP responses, in virtual time. All that the cost programs know of the daemon is in this
 * module.
 */
#ifndef COST_GRAPH_H
#define COST_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "hook/hook_params.h"

struct graph;

/* A watch that has asked for its first list, and no hooks. Never NULL; release with
 * graph_destroy(). */
struct graph *graph_create(void);

/* Frees it and sets *g to NULL. */
void graph_destroy(struct graph **g);

/* Adds a hook of the watch. In mode object it looks only at addresses and conditions
 * (`changes_in`). */
void graph_add_hook(struct graph *g, enum hook_mode mode);

/* The server begins to answer: the head of the response comes. The request before this one must be
 * over. */
void graph_begin(struct graph *g);

/* The connection gives the next n bytes of that response. */
void graph_read(struct graph *g, const char *data, size_t n);

/* The response is over; the next request is a LIST again (a page follows), or else a WATCH. */
void graph_end(struct graph *g, bool list_follows);

/* How many objects the cache has. */
size_t graph_count(const struct graph *g);

/* Starts runs whose programs never end, as long as there are slots. */
void graph_hang(struct graph *g);

/* Starts and ends runs until nothing is due any more, and moves the clock over pauses. Each run gets
 * its whole input. Of the runs in mode object, each fail_every-th fails (0 = none does). Returns how
 * many runs there were. */
size_t graph_run_all(struct graph *g, size_t fail_every);

#endif
