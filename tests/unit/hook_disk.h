/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hook_disk - the rows that a hook leaves to the next process, kept in memory; pure.
 */
#ifndef UNIT_HOOK_DISK_H
#define UNIT_HOOK_DISK_H

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
    struct hook_record record;
    size_t puts; /* how many delivery records, and sources that were seen, were put */
};

/* Puts the rows that have changed. */
void hook_disk_commit(struct hook_disk *d, struct hook *h);

/* Gives all rows to a hook of the next process. */
void hook_disk_restore(const struct hook_disk *d, struct hook *h, uint64_t now);

/* The delivery record of (source 0, key, uid), or NULL. */
const struct delivery_record *hook_disk_delivery(struct hook_disk *d, const char *key,
                                                 const char *uid);

/* Drops all rows. */
void hook_disk_clear(struct hook_disk *d);

#endif
