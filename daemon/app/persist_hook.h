/* SPDX-License-Identifier: Apache-2.0 */
/*
 * persist_hook - one hook and its rows: gives it what an earlier process has left, and puts what it
 * knows into batches; for memory.
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

/* Of one of its sources. */
struct persist_source {
    uint64_t item;
    enum conf_persist persist; /* of last states */
};

struct persist_hook {
    struct hook *hook;
    const struct conf_hook *conf;
    struct digest settings;
    const char *boot_id; /* "": not known: it may be another boot */
    uint64_t item;
    struct persist_source *sources; /* as hook->sources */
    struct hook_record put;         /* as it was put last */
    struct digest program;          /* what the last process knew of its programs and files */
    bool knows_program;
};

/* hook, conf, settings and boot_id are set. Finds its items, and makes those that are missing. */
void persist_hook_init(struct persist_hook *mh, const struct conf *conf, struct ids *ids,
                       struct batch *b);

/* Frees what it has. */
void persist_hook_fini(struct persist_hook *mh);

/* Gives the hook what is left of it, before any delta. If its settings are others, or what it did
 * is gone by now, it is to run again. */
void persist_hook_load(struct persist_hook *mh, const struct restore *r, struct persist_now now,
                       struct batch *b);

/* Its programs and files are these. If they were others, all is to run again. */
void persist_hook_program(struct persist_hook *mh, struct digest now, struct batch *b);

/* Puts what has changed since it was put last. */
void persist_hook_put(struct persist_hook *mh, struct state_driver *k,
                      enum state_driver_haste haste);

/* Puts what does not change: the settings, the boot it runs in, its programs. */
void persist_hook_put_facts(const struct persist_hook *mh, struct batch *b);

/* What it knows of a source is another cluster's. */
void persist_hook_forget(struct persist_hook *mh, size_t source, struct batch *b);

/* All that was put is lost. */
void persist_hook_lost(struct persist_hook *mh, struct batch *b);

#endif
