/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hook - one hook and its rows: gives the hook the records that an earlier process has
 * left, and puts its changes into batches; a part of persist.
 */
#ifndef PERSIST_HOOK_H
#define PERSIST_HOOK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/digest.h"
#include "hook/hook.h"
#include "hook/hook_record.h"
#include "persist/contact.h"
#include "persist/restore.h"
#include "persist/row.h"

/* How long the effects of a run last: on disk, until the next boot, or until informerd ends. */
enum persist_effect { PERSIST_EFFECT_DISK, PERSIST_EFFECT_BOOT, PERSIST_EFFECT_PROCESS };

/* One hook, as the configuration has it. */
struct persist_hook_params {
    struct hook *hook;            /* borrowed */
    struct digest_forms settings; /* of its settings in the configuration: conf/hook_text.h */
    enum persist_effect effect;
};

/* One source of the hook, as its watches have it. */
struct persist_source_params {
    enum persist_bytes bytes; /* how much may be kept of the last states of its objects */
    const char *cluster;      /* the name of the cluster that the rows of its watch are from */
};

/* One source of the hook. */
struct persist_source {
    uint64_t item;
    enum persist_bytes bytes;
    char *cluster; /* the name of the cluster that its rows are from; NULL = it has no rows */
};

/* Which digests of a thing the state has. */
enum persist_knows {
    PERSIST_KNOWS_NOTHING,
    PERSIST_KNOWS_FORMER, /* only the former one: the release before has written it */
    PERSIST_KNOWS_BOTH,
};

struct persist_hook {
    struct hook *hook;
    struct digest_forms settings;
    const char *boot_id; /* borrowed; "": not known, so that it may be another boot than the last */
    uint64_t item;
    struct persist_source *sources; /* as hook->sources */
    size_t source_count;
    struct hook_record put; /* as it is on disk, or in a batch */
    enum persist_knows knows_program;
    struct digest_forms program; /* of its programs and files, as far as they are known */
};

/* Finds the rows of the hook and of its sources in the state, and makes those that are missing.
 * Gives the hook the records that the state has of it, before its first delta. Renews the hook if
 * its settings have changed or the effects of its runs are gone (docs/design.md "Renewal"). sources: one
 * for each source; borrowed for the call. Release with persist_hook_fini(). */
void persist_hook_load(struct persist_hook *mh, const struct persist_hook_params *params,
                       const struct persist_source_params *sources, const struct restore *r,
                       struct persist_now now, struct batch *b);

/* Gives the loaded hook a file that r does not have. Files that the hook has already are left out. */
void persist_hook_load_file(struct persist_hook *mh, const struct restore *r,
                            const struct files_seen *seen);

/* params->hook has taken the place of the retired hook, and its records: all but its new sources,
 * which get the rows that r has of them. Sources that it has no more are unused. The hook before must
 * have been put. Renews the hook if its settings have changed. */
void persist_hook_replaced(struct persist_hook *mh, const struct persist_hook_params *params,
                           const struct persist_source_params *sources, const struct restore *r,
                           struct persist_now now, struct batch *b);

/* The configuration does not have the hook any more: its items and those of its sources are unused. */
void persist_hook_leave(const struct persist_hook *mh, struct ids *ids, struct persist_now now,
                        struct batch *b);

/* Puts all rows of the hook, as for an empty state: into a batch that is not written. */
void persist_hook_put_all(struct persist_hook *mh, struct batch *b);

/* Frees the memory of the struct. */
void persist_hook_fini(struct persist_hook *mh);

/* The programs and files of the hook have these digests now. If they were others before, the hook
 * is renewed. */
void persist_hook_program(struct persist_hook *mh, const struct digest_forms *now, struct batch *b);

/* Would persist_hook_program() renew the hook? */
bool persist_hook_has_changed(const struct persist_hook *mh, const struct digest_forms *now);

/* Puts all that has changed since it was put last. Returns true if a person has paused or resumed
 * the hook: nobody else knows that, so the batch must be on disk at the end of the turn. */
bool persist_hook_put(struct persist_hook *mh, struct batch *b);

/* The objects of this source are from another cluster, or from an unknown one: drops the facts that
 * the hook has seen it, and of which cluster it was. */
void persist_hook_forget(struct persist_hook *mh, size_t source, struct batch *b);

/* The rows of this source are from the cluster of this name now. */
void persist_hook_is_of(struct persist_hook *mh, size_t source, const char *cluster,
                        struct batch *b);

/* All rows are lost: puts the facts, and makes persist_hook_put() put everything else again. */
void persist_hook_lost(struct persist_hook *mh, struct batch *b);

#endif
