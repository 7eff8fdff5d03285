/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store - the objects of one watch; pure. A list replaces a scope of the store in two phases, so
 * that a half-filled cache is never seen: items are staged beside the old objects, and a commit
 * swaps them in and tells the sink each real difference
 * (docs/kubernetes-protocol.md "Differences of a list"). A scope of the store is filled by one
 * list_watch; keys of different scopes never meet.
 */
#ifndef CACHE_STORE_H
#define CACHE_STORE_H

#include <stdbool.h>
#include <stddef.h>

#include "cache/delta.h"
#include "cache/skips.h"

struct store;

/* scopes >= 1. The sink runs inside store_commit(), store_apply(), store_leave(), store_put(),
 * store_drop(), store_remove() and store_remove_unusable(). Never NULL. */
struct store *store_create(size_t scopes, delta_sink *sink, void *arg);

/* Drops all objects, without running the sink, and sets *s to NULL. NULL is fine. */
void store_destroy(struct store **s);

/* A list of this scope begins; items that an unfinished list has staged are dropped. */
void store_begin(struct store *s, size_t scope);

/* The list that has just begun is one beside a watch, and only the watch gives the contents of objects:
 * objects that the watch could not use stay skipped. */
void store_compare(struct store *s, size_t scope);

/* In the list that has just begun, equal resourceVersions prove nothing: its items are compared by
 * their bytes as well. */
void store_doubt(struct store *s, size_t scope);

/* An item of the list; takes a reference if it differs from the stored object: in uid or
 * resourceVersion, or in bytes if it has no resourceVersion. */
void store_stage(struct store *s, size_t scope, struct object *o);

/* An item of the list that cannot be used: the old state of its key stays and is not DELETED, and
 * when the list is committed the key has a skip record. If the item's name is not valid, the object
 * that is stored with its uid stays. If its name cannot be read, the list deletes nothing: objects
 * that it does not name stay, and have skip records. */
void store_stage_kept(struct store *s, size_t scope, const struct unusable *u);

/* An item of the list that match does not select: if the object is stored, the commit says LEFT. */
void store_stage_left(struct store *s, size_t scope, const struct object *o);

/* An item of a LIST that only finds deleted objects: this incarnation of the key, if it is stored,
 * still exists. */
void store_stage_present(struct store *s, size_t scope, const struct object *o);

/* An initial event of a streaming list says that the object is deleted again: the staged item of
 * its key is dropped. */
void store_unstage(struct store *s, size_t scope, struct str key);

/* How many stored objects a commit would now delete: those that the list does not name, unless it
 * is known that they exist, and those that it names with another uid. */
size_t store_would_delete(const struct store *s, size_t scope);

/* Calls cb for each stored object that a commit would now take away because the list does not name
 * it, unless it is known that the object exists. */
void store_each_vanishing(const struct store *s, size_t scope,
                          void (*cb)(void *arg, struct object *o), void *arg);

/* Are there any such objects? */
bool store_has_vanishing(const struct store *s, size_t scope);

/* The server has the object, though the staged list does not name it: if it is stored with that
 * uid, the commit says LEFT. */
void store_stage_existing(struct store *s, size_t scope, const struct object *o);

/* Nobody can know which of the vanishing objects exist: those for which is_other returns true are
 * LEFT, as the watch does not select them any more. The guard counts them as deleted all the
 * same. */
void store_stage_guess(struct store *s, size_t scope, bool (*is_other)(void *arg, struct object *o),
                       void *arg);

/* Would a commit now tell the end of any incarnation, as DELETED or LEFT? */
bool store_would_end(const struct store *s, size_t scope);

/* Would a commit now tell the sink anything? */
bool store_would_tell(const struct store *s, size_t scope);

/* The list is complete. First come the objects that vanished, as LEFT or as DELETED with
 * final_state_unknown, then new and changed objects in the order of the list. */
void store_commit(struct store *s, size_t scope, enum delta_cause cause, struct now now);

/* The list failed: drops its staged items. Fine when no list is under way. */
void store_abort(struct store *s, size_t scope);

/* A watch says that the object was added or modified. An object with the stored uid and
 * resourceVersion (and the same bytes, where versions are in doubt) changes nothing. A list that is
 * under way beside the watch need not name it. */
void store_apply(struct store *s, size_t scope, struct object *o, struct now now);

/* A watch shows the object, but match does not select it: if its key is stored, LEFT with the last
 * state that was selected, or DELETED if that was another uid. */
void store_leave(struct store *s, const struct object *o, struct now now);

/* A watch says that an object was added or modified that cannot be used: its key gets a skip record
 * and keeps its old state until a usable state, its end or a list comes. Without a usable key it is
 * the key that is stored with its uid. */
void store_skip(struct store *s, size_t scope, const struct unusable *u);

/* A watch says that such an object is gone. The stored object of its key, or without a usable key
 * that of its uid, is DELETED with final_state_unknown; if the event is of another kind, only if
 * the uid is the same. */
void store_remove_unusable(struct store *s, size_t scope, const struct unusable *u, struct now now);

/* Sets the sink for skip records, before the first one. It must not change the store. */
void store_on_skip(struct store *s, skips_sink *sink, void *arg);

/* Takes a skip record that an earlier process has left; the sink does not run. */
void store_load_skip(struct store *s, const struct skip *skip);

/* The skip records. */
const struct skips *store_skips(const struct store *s);

/* A watch says that the object is gone; last is its last state. Nothing changes if its key is not
 * stored. */
void store_remove(struct store *s, struct object *last, struct now now);

/* For objects that are computed and not read from a server (views): o is the new state of its key,
 * and as says how that was found. An object that differs in resourceVersion and generation alone
 * replaces the old one without a delta. */
void store_put(struct store *s, struct object *o, struct delta as);

/* The same for a key that is gone: as.type is DELETED or LEFT. Nothing changes if the key is not
 * stored. */
void store_drop(struct store *s, struct str key, struct delta as);

/* Takes a reference to an object that an earlier process has had; the sink does not run. It
 * replaces an object that is stored under its key. While no list of the scope is under way. A bare
 * object stands for an unknown state: whatever a list or event says of its key is told. */
void store_load(struct store *s, size_t scope, struct object *o);

/* Drops the objects of the scope, its skip records, and the list under way; the sink does not
 * run. */
void store_unload(struct store *s, size_t scope);

/* The object of a key, borrowed, or NULL. */
struct object *store_get(const struct store *s, struct str key);

/* How many objects are stored. */
size_t store_count(const struct store *s);
/* How many bytes these objects hold (object_bytes()). */
size_t store_bytes(const struct store *s);
/* How many bytes the items hold that lists under way have staged. */
size_t store_staged_bytes(const struct store *s);

/* All objects sorted by key: a new array of store_count() borrowed objects, valid until the store
 * changes; the caller frees the array. */
struct object **store_sorted(const struct store *s);

/* Calls cb once for each object, in no order. cb must not change the store. */
void store_each(const struct store *s, void (*cb)(void *arg, struct object *o), void *arg);

#endif
