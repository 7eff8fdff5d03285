/* SPDX-License-Identifier: Apache-2.0 */
/*
 * row - the rows of the state on disk, as data: items (clusters, watches with their scopes, hooks
 * with their sources), facts about items, the last known objects, and delivery records; pure.
 * Strings and bytes are borrowed. The numbers and words here are on disk, so new ones may be added
 * but none may ever change.
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
    ROW_KIND_SCOPE = 3, /* parent: its watch; the name is its namespace and name */
    ROW_KIND_HOOK = 4,
    ROW_KIND_SOURCE = 5, /* parent: its hook; the name of a watch or view */
};

/* A named thing that facts, objects or delivery records belong to. */
struct row_item {
    uint64_t id; /* 1, 2, ...; used again only when no row of the old item is left */
    enum row_kind kind;
    uint64_t parent;         /* 0 = none */
    struct str name;         /* unique among items of the same kind and parent */
    uint64_t unused_since_s; /* wall clock: since when no configuration has it; 0 = in use */
};

/* XX(identifier, word on disk). The comments say which kind of item has the fact, what tells
 * several facts of one item apart (the key), and what the value is. */
#define ROW_WHAT_MAP(XX)                                                                          \
    XX(IDENTITY, "identity")   /* cluster: its uid and CA keys */                                 \
    XX(SETTINGS, "settings")   /* hook: digest of all its settings */                             \
    XX(CLUSTER, "cluster")     /* watch, source: the name of its cluster */                       \
    XX(VERSION, "version")     /* scope: settings of its watch, versions to resume from */        \
    XX(CONTACT, "contact")     /* scope: when the server was last heard (persist/contact) */      \
    XX(SKIPPED, "skipped")     /* scope, by id: an object that cannot be used */                  \
    XX(PROGRAM, "program")     /* hook: digest of all its programs, and files */                  \
    XX(BOOT, "boot")           /* hook: boot id of the kernel when the row was written */         \
    XX(PAUSED, "paused")       /* hook: a person paused it; no value */                           \
    XX(OUTPUT, "output")       /* hook, by path: digest of its output file */                     \
    XX(OWED, "owed")           /* hook, by kind: a run that is due, of no key; "parked" */        \
    XX(SEEN, "seen")           /* source: the hook has seen it; keys it skipped have records */   \
    XX(FORGOTTEN, "forgotten") /* hook: number of parked DELETED that expired */                  \
    XX(RENEWING, "renewing")   /* hook: digest of the settings that renew it, and the value of  \
                                  "settings" beside which it was written */ \
    XX(CONTENT, "content")     /* hook: the same of its programs and files, and "program" */

#define ROW_ENUM(id, word) ROW_##id,
enum row_what { ROW_WHAT_MAP(ROW_ENUM) ROW_WHATS };
#undef ROW_ENUM

/* One property of an item. */
struct row_fact {
    uint64_t item;
    enum row_what what;
    struct str key;   /* empty if the item has only one such fact */
    struct str value; /* bytes that the caller chooses */
};

/* A position that the body does not have. */
#define ROW_NOWHERE UINT32_MAX

/* The last known state of an object: the data that kube/object is made of. */
struct row_object {
    struct str key;
    struct str uid;
    struct str rv;
    struct str generation;
    struct str api_version;
    struct str kind;
    uint32_t rv_at;         /* where rv belongs in the body, or ROW_NOWHERE */
    uint32_t generation_at; /* the same for generation */
    struct digest digest;   /* of the body; the writer computes it if there is one */
    struct str body;        /* only if whole */
    bool whole;             /* false: only the digest is kept */
};

/* A delivery record: the state that a hook got of one incarnation (uid) of a key. Without a record
 * the hook got nothing of it, or has handled its end. */
struct row_delivery {
    uint64_t source; /* id of an item: a source of a hook */
    struct str key;
    struct str uid;
    bool is_handled;   /* a run for this incarnation succeeded; `handled` is that state's digest */
    bool is_delivered; /* a run was started; `delivered` is the digest of the state it got */
    bool attempted;    /* a run was started since the last success, and may have had effects */
    bool is_ended;     /* the incarnation has ended, and its DELETED is due; `last` is set */
    uint32_t note;     /* bits that the caller chooses (hook/delivery_log.h) */
    struct digest handled;
    struct digest delivered;
    struct row_object last; /* the last known state, with the key and uid of the record */
};

/* The word on disk of a fact. Not for ROW_WHATS. */
const char *row_what_name(enum row_what what);

/* The fact that a word on disk means; ROW_WHATS: this release does not know it. */
enum row_what row_what_find(struct str word);

/* The checksum of an item's row. Each row has one on disk to show that its bytes are still those
 * that were written: SQLite finds broken pages, but not bytes that have changed inside of them.
 * scratch is any buffer. */
uint64_t row_item_sum(struct buf *scratch, const struct row_item *item);
/* The checksum of a fact's row; word is the word on disk, also one that is not known here. */
uint64_t row_fact_sum(struct buf *scratch, uint64_t item, struct str word, struct str key,
                      struct str value);
/* The checksum of an object's row. It covers the digest of the body, not the body itself. */
uint64_t row_object_sum(struct buf *scratch, uint64_t scope, const struct row_object *o);
/* The checksum of a delivery record's row. */
uint64_t row_delivery_sum(struct buf *scratch, const struct row_delivery *m);

#endif
