/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reload - has a child of the helper read the configuration anew when main asks for it, and keeps the
 * new parameters until main commits or drops them (docs/decisions.md "A child of the helper reads the
 * configuration"); driver.
 */
#ifndef HELPER_RELOAD_H
#define HELPER_RELOAD_H

#include <stdint.h>
#include <sys/resource.h>

#include "base/compiler.h"
#include "base/err.h"
#include "base/run_end.h"
#include "helper/channel.h"
#include "helper/helper.h"
#include "helper/runs.h"

/* The id of the child in runs: no run of main may have it. */
#define RELOAD_RUN_ID UINT64_MAX

/* READING: the child reads for the last RELOAD. AGAIN: it is being killed, and then another one
 * begins. STOPPING: it is being killed, and no other one begins. READY: the new parameters wait. */
enum reload_state { RELOAD_IDLE, RELOAD_READING, RELOAD_AGAIN, RELOAD_STOPPING, RELOAD_READY };

struct reload {
    enum reload_state state;
    const struct helper_reload *how; /* NULL = impossible */
    struct runs *runs;
    struct channel *channel;
    rlim_t nofile_soft;
    uint64_t tag;                 /* of the last RELOAD; READING, AGAIN: to be answered */
    int tables_fd;                /* of the child; -1 = none */
    int answer_fd;                /* of the child: the file that main will get; -1 = none */
    struct helper_params *params; /* READY: in memory of tables */
};

/* Begins IDLE; everything is borrowed until reload_fini(). */
void reload_init(struct reload *r, const struct helper_reload *how, rlim_t nofile_soft,
                 struct runs *runs, struct channel *channel);

/* Frees the parameters that wait. The child belongs to runs. */
void reload_fini(struct reload *r);

/* RELOAD: reads the configuration. Drops parameters that wait, and kills a child that reads. Each
 * RELOAD gets one RELOADED, maybe inside this call. */
void reload_begin(struct reload *r, uint64_t tag);

/* COMMIT: gives out the parameters that wait; release them with tables_free(). ERR_PROTOCOL: none
 * wait for this tag, which main knows. */
enum err_kind reload_commit(struct reload *r, uint64_t tag, struct helper_params **params,
                            struct err *err) MUST_CHECK;

/* DROP: forgets the RELOAD of this tag. Does nothing if it has failed: main may not know yet. */
void reload_drop(struct reload *r, uint64_t tag);

/* The child has ended: to be called by runs_end_cb for RELOAD_RUN_ID. */
void reload_on_end(struct reload *r, const struct run_end *end);

#endif
