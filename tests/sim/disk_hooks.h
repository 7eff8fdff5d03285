/* SPDX-License-Identifier: Apache-2.0 */
/*
 * disk_hooks - what the simulated daemon keeps of its hooks on the simulated disk of recall: in the same
 * batches, in their order. Stands where app/persist_hook stands in the daemon.
 */
#ifndef SIM_DISK_HOOKS_H
#define SIM_DISK_HOOKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hook/delivery_log.h"
#include "hook/hook_record.h"
#include "sim/delivery_model.h"
#include "sim/disk.h"
#include "sim/feature.h"

enum { DISK_HOOKS_TEXT = 40 };

/* One row: of a life, of which a key has two at most. */
struct disk_hooks_row {
    bool is;
    char uid[24];
    struct delivery_record mark; /* with a reference of its object; key and uid are not set */
};

struct disk_hooks_file {
    bool is;
    size_t source;
    char path[DISK_HOOKS_TEXT];
    char key[DISK_HOOKS_TEXT];
    struct digest digest;
};

/* Of one hook. */
struct disk_hooks_hook {
    bool known;        /* a process had it ... */
    unsigned settings; /* ... with these settings */
    struct disk_hooks_row rows[RULES_SOURCES][DELIVERY_MODEL_KEYS][2];
    bool seen[RULES_SOURCES];
    struct disk_hooks_file files[API_KEYS];
    struct hook_record persist;
};

struct disk_hooks {
    struct disk *disk;
    struct disk_hooks_hook hooks[HOOKS]; /* on disk */
    struct hook_record last[HOOKS];      /* as put last, be it not on disk */
    unsigned settings[HOOKS];            /* as they are now: numbers */
    bool put_any;
    uint64_t *features; /* FEATURES counts */
};

/* Nothing is known. */
void disk_hooks_init(struct disk_hooks *m, struct disk *disk, uint64_t *features);

/* Frees what it holds. */
void disk_hooks_fini(struct disk_hooks *m);

/* Did an earlier process have the hooks? */
bool disk_hooks_known(const struct disk_hooks *m);

/* Puts what has changed, in this turn. False: nothing has. */
bool disk_hooks_put(struct disk_hooks *m, const struct hooks *hooks);

/* Gives new hooks what there is of them, and notes that they are there. A hook with other settings
 * is to run all again. */
void disk_hooks_load(struct disk_hooks *m, const struct hooks *hooks, uint64_t now_ms);

/* fn for each object that must be there or be told to have ended. */
void disk_hooks_each(const struct disk_hooks *m,
                     void (*fn)(void *arg, size_t hook, size_t source, struct str key,
                                struct str uid),
                     void *arg);

#endif
