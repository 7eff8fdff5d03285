/* SPDX-License-Identifier: Apache-2.0 */
/*
 * persist_hook - one hook and its rows: gives the hook the records that an earlier process has
 * left, and puts its changes into batches; a part of persist.
 */
#ifndef APP_PERSIST_HOOK_H
#define APP_PERSIST_HOOK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "app/persist_watch.h"
#include "app/restore.h"
#include "base/digest.h"
#include "conf/conf.h"
#include "hook/hook.h"
#include "hook/hook_record.h"
#include "io/state_driver.h"

/* One source of the hook. */
struct persist_source {
    uint64_t item;
    enum conf_persist persist; /* how much may be kept of the last states of its objects */
};

struct persist_hook {
    struct hook *hook;
    const struct conf_hook *conf;
    struct digest settings; /* hook_text_digest() */
    const char *boot_id;    /* "": not known, so that it may be another boot than the last one */
    uint64_t item;
    struct persist_source *sources; /* as hook->sources */
    struct hook_record put;         /* as it is on disk, or in a batch */
    struct digest program;          /* digest of its programs and files, as far as it is known */
    bool knows_program;
};

/* Finds the rows of the hook and of its sources, and makes those that are missing. The caller has
 * set hook, conf, settings and boot_id. */
void persist_hook_init(struct persist_hook *mh, const struct conf *conf, struct ids *ids,
                       struct batch *b);

/* Frees what the struct owns. */
void persist_hook_fini(struct persist_hook *mh);

/* Gives the hook the records that the state has of it, before its first delta. Renews the hook if
 * its settings have changed or the effects of its runs are gone (docs/design.md "Renewal"). */
void persist_hook_load(struct persist_hook *mh, const struct restore *r, struct persist_now now,
                       struct batch *b);

/* The programs and files of the hook have this digest now. If it was another one before, the hook
 * is renewed. */
void persist_hook_program(struct persist_hook *mh, struct digest now, struct batch *b);

/* Puts all that has changed since it was put last. */
void persist_hook_put(struct persist_hook *mh, struct state_driver *k,
                      enum state_driver_haste haste);

/* Puts the facts that do not change while informerd runs: settings, boot, programs. */
void persist_hook_put_facts(const struct persist_hook *mh, struct batch *b);

/* The objects of this source are from another cluster: drops the fact that the hook has seen it. */
void persist_hook_forget(struct persist_hook *mh, size_t source, struct batch *b);

/* All rows are lost: puts the facts, and makes persist_hook_put() put everything else again. */
void persist_hook_lost(struct persist_hook *mh, struct batch *b);

#endif
