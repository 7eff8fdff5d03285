/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hook_disk - what a hook leaves to the next process, kept in memory; pure.
 */
#ifndef WORK_ITEM_HOOK_DISK_H
#define WORK_ITEM_HOOK_DISK_H

#include "objects.h"

#include "hook/delivery_log.h"
#include "hook/hook_record.h"

enum { DISK_DELIVERIES = 64, DISK_FILES = 8, DISK_SOURCES = 3 };

struct hook_disk_row {
    size_t source;
    char key[16];
    char uid[16];
    struct delivery_record delivery; /* with a reference of its object */
};

struct hook_disk_file {
    char path[32];
    char key[16];
    struct files_seen seen;
};

/* Zero-initialised is empty. */
struct hook_disk {
    struct hook_disk_row rows[DISK_DELIVERIES];
    size_t row_count;
    struct hook_disk_file files[DISK_FILES];
    size_t file_count;
    bool seen[DISK_SOURCES];
    struct hook_record memory;
    size_t puts; /* of marks, and of sources that were seen */
};

/* Puts what has changed. */
void hook_disk_commit(struct hook_disk *d, struct hook *h);

/* Gives it all to a new one. */
void hook_disk_restore(const struct hook_disk *d, struct hook *h, uint64_t now);

/* The mark of (source 0, key, uid), or NULL. */
const struct delivery_record *hook_disk_delivery(struct hook_disk *d, const char *key,
                                                 const char *uid);

/* Empties it. */
void hook_disk_clear(struct hook_disk *d);

#endif
