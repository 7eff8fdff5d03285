/* SPDX-License-Identifier: Apache-2.0 */
/*
 * payload - the input of a run: INFORMERD_* variables and the JSON document on stdin
 * (docs/design.md "Hook input"); pure.
 */
#ifndef HOOK_PAYLOAD_H
#define HOOK_PAYLOAD_H

#include <stdint.h>

#include "base/buf.h"
#include "hook/hook.h"
#include "hook/run.h"

/* Facts about this process that all runs share; borrowed. */
struct payload_context {
    const char *node;     /* INFORMERD_NODE */
    const char *instance; /* unique per process: with run.id it makes INFORMERD_RUN unique */
};

/* Appends the run's id: "INSTANCE-N". */
void payload_put_run_id(struct buf *out, const struct payload_context *ctx, uint64_t id);

/* Appends NAME=VALUE strings, each ended by NUL. An error means that the run cannot get its fields:
 * a value has a NUL (ERR_CONFIG), or the variables have more than WIRE_ENV_MAX bytes (ERR_TOO_BIG);
 * out is of no use then. A run that removes a file gets no fields. */
enum err_kind payload_put_env(struct buf *out, const struct payload_context *ctx,
                              const struct run *run, struct err *err) MUST_CHECK;

/* Takes the contents of out, and empties it, each time when there is much in it, between two objects. */
struct payload_drain {
    void (*fn)(void *arg, struct buf *out);
    void *arg;
};

/* Appends the input document and a newline. The document of a run of `apply` has no events. now_ms: the
 * age of sources is counted to this time. drain may be NULL; the caller takes the rest that is left in
 * out at the end. */
void payload_put_json(struct buf *out, const struct payload_context *ctx, const struct run *run,
                      uint64_t now_ms, const struct payload_drain *drain);

#endif
