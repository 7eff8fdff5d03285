/* SPDX-License-Identifier: Apache-2.0 */
/*
 * payload - what a run is told: INFORMERD_* variables and the JSON document on stdin
 * (docs/design.md "Hook input"); pure.
 */
#ifndef HOOK_PAYLOAD_H
#define HOOK_PAYLOAD_H

#include <stdint.h>

#include "base/buf.h"
#include "hook/hook.h"
#include "hook/run.h"

/* Facts about the process that runs share; borrowed. */
struct payload_context {
    const char *node;     /* INFORMERD_NODE */
    const char *instance; /* unique per process: with run.id it makes INFORMERD_RUN unique */
};

/* Appends the run's id: "INSTANCE-N". */
void payload_put_run_id(struct buf *out, const struct payload_context *ctx, uint64_t id);

/* Appends NAME=VALUE strings, each ended by NUL. An error means that the run cannot be told its
 * fields: a value with a NUL (ERR_CONFIG), or too many bytes (ERR_TOO_BIG). out is then of no
 * use. What removes a file is told no fields. */
enum err_kind payload_put_env(struct buf *out, const struct payload_context *ctx,
                              const struct run *run, struct err *err) MUST_CHECK;

/* Appends the input document and a newline; of apply without anything that happened. */
void payload_put_json(struct buf *out, const struct payload_context *ctx, const struct run *run,
                      uint64_t now_ms);

#endif
