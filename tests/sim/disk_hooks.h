/* SPDX-License-Identifier: Apache-2.0 */
/*
 * disk_hooks - the rows of the hooks on the simulated disk: they are put into the batches of
 * sim/disk, in their order. Stands where persist/hook stands in the daemon.
 */
#ifndef SIM_DISK_HOOKS_H
#define SIM_DISK_HOOKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hook/delivery_log.h"
#include "hook/hook_record.h"
#include "sim/disk.h"
#include "sim/feature.h"
#include "sim/rules.h"

enum { DISK_HOOKS_TEXT = 40 };

/* The row of one incarnation; a key has two rows at most. */
struct disk_hooks_row {
    bool is;
    char uid[24];
    struct delivery_record record; /* holds a reference to its object; key and uid are not set */
};

struct disk_hooks_file {
    bool is;
    size_t source;
    char path[DISK_HOOKS_TEXT];
    char key[DISK_HOOKS_TEXT];
    struct digest digest;
};

/* The rows of one hook. */
struct disk_hooks_hook {
    bool known;        /* a process had the hook */
    unsigned settings; /* the settings that it had then */
    struct disk_hooks_row rows[RULES_SOURCES][RULES_KEYS][2];
    bool seen[RULES_SOURCES];
    struct disk_hooks_file files[API_KEYS];
    struct hook_record persist;
};

struct disk_hooks {
    struct disk *disk;
    struct disk_hooks_hook hooks[HOOKS]; /* on disk */
    struct hook_record last[HOOKS];      /* as put last, perhaps not on disk yet */
    unsigned settings[HOOKS];            /* the present one; another number is another setting */
    bool dropped[HOOKS];                 /* the present configuration does not have the hook */
    bool put_any;
    uint64_t *features; /* FEATURES counts */
};

/* Makes a disk without rows of hooks. */
void disk_hooks_init(struct disk_hooks *m, struct disk *disk, uint64_t *features);

/* Frees all rows. */
void disk_hooks_fini(struct disk_hooks *m);

/* Adds the rows on disk, and the bytes of their objects. */
void disk_hooks_measure(const struct disk_hooks *m, size_t *rows, size_t *bytes);

/* Did an earlier process have the hooks? */
bool disk_hooks_known(const struct disk_hooks *m);

/* Puts all changes of the hooks into the batch of this turn. False: nothing has changed. */
bool disk_hooks_put(struct disk_hooks *m, const struct hooks *hooks);

/* Does the disk have the hook with other settings than the present ones? */
bool disk_hooks_is_other(const struct disk_hooks *m, size_t hook);

/* Gives a new hook its rows, and puts that the hook exists. If its settings are others, it is
 * renewed. */
void disk_hooks_load(struct disk_hooks *m, struct hook *h, uint64_t now_ms);

/* Puts the settings of a hook that has them since now. */
void disk_hooks_put_settings(struct disk_hooks *m, size_t hook);

/* Calls fn for each object that must be in the cache, or whose end must be delivered. */
void disk_hooks_each(const struct disk_hooks *m,
                     void (*fn)(void *arg, size_t hook, size_t source, struct str key,
                                struct str uid),
                     void *arg);

#endif
