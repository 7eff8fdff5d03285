/* SPDX-License-Identifier: Apache-2.0 */
/*
 * marks - what the simulated daemon keeps of its hooks on the simulated disk of recall: in the same
 * batches, in their order. Stands where app/persist_hook stands in the daemon.
 */
#ifndef SIM_MARKS_H
#define SIM_MARKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hook/delivery_log.h"
#include "hook/hook_record.h"
#include "sim/account.h"
#include "sim/feature.h"
#include "sim/recall.h"

enum { MARKS_TEXT = 40 };

/* One row: of a life, of which a key has two at most. */
struct marks_row {
    bool is;
    char uid[24];
    struct delivery_record mark; /* with a reference of its object; key and uid are not set */
};

struct marks_file {
    bool is;
    size_t source;
    char path[MARKS_TEXT];
    char key[MARKS_TEXT];
    struct digest digest;
};

/* Of one hook. */
struct marks_hook {
    bool known;        /* a process had it ... */
    unsigned settings; /* ... with these settings */
    struct marks_row rows[RULES_SOURCES][ACCOUNT_KEYS][2];
    bool seen[RULES_SOURCES];
    struct marks_file files[API_KEYS];
    struct hook_record memory;
};

struct marks {
    struct restore *restore;
    struct marks_hook hooks[HOOKS]; /* on disk */
    struct hook_record last[HOOKS]; /* as put last, be it not on disk */
    unsigned settings[HOOKS];       /* as they are now: numbers */
    bool put_any;
    uint64_t *features; /* FEATURES counts */
};

/* Nothing is known. */
void marks_init(struct marks *m, struct restore *restore, uint64_t *features);

/* Frees what it holds. */
void marks_fini(struct marks *m);

/* Did an earlier process have the hooks? */
bool marks_known(const struct marks *m);

/* Puts what has changed, in this turn. False: nothing has. */
bool marks_put(struct marks *m, const struct hooks *hooks);

/* Gives new hooks what there is of them, and notes that they are there. A hook with other settings
 * is to run all again. */
void marks_load(struct marks *m, const struct hooks *hooks, uint64_t now_ms);

/* fn for each object that must be there or be told to have ended. */
void marks_each(const struct marks *m,
                void (*fn)(void *arg, size_t hook, size_t source, struct str key, struct str uid),
                void *arg);

#endif
