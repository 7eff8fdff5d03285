/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store - the objects of one watch; pure. A list replaces a part of it in two phases, so that no
 * half-filled cache is ever seen: items are staged beside the old ones, and commit swaps them in
 * and tells the sink each real difference (docs/kubernetes-protocol.md "Differences of a list").
 * A scope of the store is what one list_watch fills (one namespace, one name); keys of different
 * scopes never meet.
 */
#ifndef CACHE_STORE_H
#define CACHE_STORE_H

#include <stdbool.h>
#include <stddef.h>

#include "cache/delta.h"
#include "cache/skips.h"

struct store;

/* parts >= 1. The sink runs inside store_commit(), store_apply() and store_remove(). Never NULL. */
struct store *store_create(size_t scopes, delta_sink *sink, void *arg);

/* Drops all objects silently and sets *s to NULL. NULL is fine. */
void store_destroy(struct store **s);

/* A list of this part begins; what an earlier unfinished one staged is dropped. */
void store_begin(struct store *s, size_t scope);

/* The list that has just begun stands beside a watch, which alone tells what objects are like: what could not be used
 * stays so. */
void store_compare(struct store *s, size_t scope);

/* Versions are in doubt in the list that has just begun: items are compared by their bytes as
 * well. */
void store_doubt(struct store *s, size_t scope);

/* An item of the list; takes a reference when it differs from what is stored (uid and RV; its bytes
 * when it has no RV). */
void store_stage(struct store *s, size_t scope, struct object *o);

/* An item of the list that cannot be used: the old state of its key stays, no DELETED, and when the
 * list is committed it has a mark. If its name is none, what is stored with its uid stays. If its
 * name cannot be read, the list deletes nothing: what it does not name stays, and has a mark. */
void store_stage_kept(struct store *s, size_t scope, const struct unusable *u);

/* An item of the list that the watch does not select (match): if it is stored, commit says LEFT. */
void store_stage_left(struct store *s, size_t scope, const struct object *o);

/* An item of a list that does no more than find what is gone: the life that is stored is not. */
void store_stage_present(struct store *s, size_t scope, const struct object *o);

/* Initial events of a stream: the object is gone again; what was staged of its key is dropped. */
void store_unstage(struct store *s, size_t scope, struct str key);

/* How many stored objects a commit would now delete: those not named, unless it is known that they exist, and
 * those of another uid. */
size_t store_would_delete(const struct store *s, size_t scope);

/* cb for each stored object that a commit would now take away, as the list does not name it, and of which it is not
 * known that it exists. */
void store_each_vanishing(const struct store *s, size_t scope,
                          void (*cb)(void *arg, struct object *o), void *arg);

/* Are there any? */
bool store_has_vanishing(const struct store *s, size_t scope);

/* The server has the object, though the list that is staged does not name it: if it is stored with that
 * uid, commit says LEFT. */
void store_stage_existing(struct store *s, size_t scope, const struct object *o);

/* It cannot be known which of those exist: those that is_other says yes to are LEFT, too, as the watch does
 * not select them any more. For the guard they count as deleted. */
void store_stage_guess(struct store *s, size_t scope, bool (*is_other)(void *arg, struct object *o),
                       void *arg);

/* Would a commit now tell an end of any kind: DELETED or LEFT, of the same uid or another one? */
bool store_would_end(const struct store *s, size_t scope);

/* Would a commit now tell anything? */
bool store_would_tell(const struct store *s, size_t scope);

/* The list is complete: vanished objects are DELETED with final_state_unknown or LEFT, then new and
 * changed ones come in the order of the list. */
void store_commit(struct store *s, size_t scope, enum delta_cause cause, uint64_t received_ns);

/* The list failed: what was staged is dropped. Fine when none is under way. */
void store_abort(struct store *s, size_t scope);

/* A watch says the object was added or modified; same uid and RV as stored changes nothing (where
 * versions are in doubt the bytes must be the same, too). A list that is under way meanwhile needs
 * not name it. */
void store_apply(struct store *s, size_t scope, struct object *o, uint64_t received_ns);

/* A watch shows the object, but it is not selected (match): LEFT with the last state that was, if
 * it is stored; DELETED if that was another uid. */
void store_leave(struct store *s, const struct object *o, uint64_t received_ns);

/* A watch says that an object was added or modified that cannot be used: its key has a mark, and
 * keeps its old state, until a usable state comes, its end, or a list. Without a usable key it is that
 * of its uid. */
void store_skip(struct store *s, size_t scope, const struct unusable *u);

/* A watch says that such an object is gone. What is stored of its key, or without a usable one of its
 * uid, is DELETED with final_state_unknown; if it is of another kind, only with the same uid. */
void store_remove_unusable(struct store *s, size_t scope, const struct unusable *u,
                           uint64_t received_ns);

/* Who hears of marks; before the first one. Must not change the store. */
void store_on_skip(struct store *s, skips_sink *sink, void *arg);

/* A mark that an earlier process has left: nobody is told. */
void store_load_skip(struct store *s, const struct skip *skip);

/* The marks there are. */
const struct skips *store_skips(const struct store *s);

/* A watch says the object is gone; last is its last state. A key that is not stored changes
 * nothing. */
void store_remove(struct store *s, struct object *last, uint64_t received_ns);

/* For objects that are computed and not read from a server (views): o is the state of its key now,
 * as says how that was found. One that differs by RV and generation alone takes the place of the
 * old one silently. */
void store_put(struct store *s, struct object *o, struct delta as);

/* The like for a key that is gone: as.type is DELETED or LEFT. A key that is not stored changes
 * nothing. */
void store_drop(struct store *s, struct str key, struct delta as);

/* An object that an earlier process has had, a reference is taken: nobody is told. One that is
 * stored under its key is replaced. No list of the part is under way. A bare one stands for a state
 * that is not known: whatever a list or event says of it is told. */
void store_load(struct store *s, size_t scope, struct object *o);

/* Drops what is stored of the part, its marks, and the list under way: nobody is told. */
void store_unload(struct store *s, size_t scope);

/* The object of a key, borrowed, or NULL. */
struct object *store_get(const struct store *s, struct str key);

/* Objects stored, and their bytes. */
size_t store_count(const struct store *s);
/* See above. */
size_t store_bytes(const struct store *s);

/* All objects sorted by key: a new array of store_count() borrowed objects, valid until the store
 * changes; the caller frees the array. */
struct object **store_sorted(const struct store *s);

/* All objects in no order: cb once each. cb must not change the store. */
void store_each(const struct store *s, void (*cb)(void *arg, struct object *o), void *arg);

#endif
