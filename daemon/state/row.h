/* SPDX-License-Identifier: Apache-2.0 */
/*
 * row - what the state on disk is made of, as data: items (clusters, watches, hooks and their
 * parts), facts about them, objects last seen, marks of what hooks were told; pure. Strings and
 * bytes are borrowed. Numbers and words here are on disk: they are added to, never changed.
 */
#ifndef STATE_ROW_H
#define STATE_ROW_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/digest.h"
#include "base/str.h"

enum row_kind {
    ROW_KIND_CLUSTER = 1,
    ROW_KIND_WATCH = 2,
    ROW_KIND_SCOPE = 3, /* parent: its watch; the name says what it selects */
    ROW_KIND_HOOK = 4,
    ROW_KIND_SOURCE = 5, /* parent: its hook; the name of a watch or view */
};

/* Something with a name that others belong to. */
struct row_item {
    uint64_t id; /* 1, 2, ...; given anew only when nothing of the old one is left */
    enum row_kind kind;
    uint64_t parent;         /* 0 = none */
    struct str name;         /* unique among those of the same kind and parent */
    uint64_t unused_since_s; /* wall clock: no configuration has had it since; 0 = it is in use */
};

/* XX(identifier, word on disk) */
#define ROW_WHAT_MAP(XX)                                                                           \
    XX(IDENTITY, "identity")   /* cluster: what tells it from any other */                         \
    XX(SETTINGS, "settings")   /* watch, hook: digest of what the configuration says of it */      \
    XX(CLUSTER, "cluster")     /* watch: the name of its cluster */                                \
    XX(VERSION, "version")     /* stream: resourceVersion to resume from */                        \
    XX(CONTACT, "contact")     /* stream: the time at which the server was last heard: contact */  \
    XX(SKIPPED, "skipped")     /* stream, by what tells it: an object that cannot be used */       \
    XX(PROGRAM, "program")     /* hook: digest of its program and files */                         \
    XX(BOOT, "boot")           /* hook: boot id of the machine when it last ran */                 \
    XX(PAUSED, "paused")       /* hook: there = a person paused it */                              \
    XX(OUTPUT, "output")       /* hook, by path: digest of what the file was seen to hold */       \
    XX(OWED, "owed")           /* hook, by what: it owes a run that no key tells of */             \
    XX(SEEN, "seen")           /* source: the hook has seen it; what it skipped there is marked */ \
    XX(FORGOTTEN, "forgotten") /* hook: how many ends that were parked it has given up */

#define ROW_ENUM(id, word) ROW_##id,
enum row_what { ROW_WHAT_MAP(ROW_ENUM) ROW_WHATS };
#undef ROW_ENUM

/* One thing that is so of an item. */
struct row_fact {
    uint64_t item;
    enum row_what what;
    struct str key;   /* empty: there is only one */
    struct str value; /* bytes of the caller */
};

/* There is no such place in the body. */
#define ROW_NOWHERE UINT32_MAX

/* An object as it was last seen: what kube/object is made of. */
struct row_object {
    struct str key;
    struct str uid;
    struct str rv;
    struct str generation;
    struct str api_version;
    struct str kind;
    uint32_t rv_at; /* where in the body they go, or ROW_NOWHERE */
    uint32_t generation_at;
    struct digest digest; /* of the body; the writer finds it out if there is one */
    struct str body;      /* whole only */
    bool whole;           /* false: only the digest is kept */
};

/* What a hook was told of one life (uid) of a key. No mark: it was told nothing, or all is over. */
struct row_delivery {
    uint64_t source; /* an item: source of a hook */
    struct str key;
    struct str uid;
    bool is_handled; /* a run for this life has succeeded, with a state of digest `handled` */
    bool is_told;    /* a run was started, with a state of digest `told` */
    bool open;       /* a run was started since the last success: it may have had effects */
    bool is_ended;   /* the life is over and the hook still has to hear it: `last` counts */
    uint32_t note;   /* bits of the caller */
    struct digest handled;
    struct digest told;
    struct row_object last; /* its last known state; its key and uid are those of the mark */
};

/* The word on disk. */
const char *row_what_name(enum row_what what);

/* The meaning of a word on disk; ROW_WHATS = not known to this release. */
enum row_what row_what_find(struct str word);

/* What each row carries on disk to show that its bytes are still those that were written: SQLite
 * finds broken pages, but not bytes that have changed inside of them. scratch is any buffer. */
uint64_t row_item_sum(struct buf *scratch, const struct row_item *item);
/* See above. */
uint64_t row_fact_sum(struct buf *scratch, uint64_t item, struct str word, struct str key,
                      struct str value);
/* See above; the digest stands for the body. */
uint64_t row_object_sum(struct buf *scratch, uint64_t scope, const struct row_object *o);
/* See above. */
uint64_t row_delivery_sum(struct buf *scratch, const struct row_delivery *m);

#endif
