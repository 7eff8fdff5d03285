/* SPDX-License-Identifier: Apache-2.0 */
/*
 * identity - users and groups by name, and how this process becomes one of them.
 */
#ifndef APP_IDENTITY_H
#define APP_IDENTITY_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/compiler.h"
#include "base/err.h"

struct identity {
    uid_t uid;
    gid_t gid;
    gid_t *groups; /* all supplementary groups */
    size_t group_count;
};

/* Looks up a user, with all of the user's groups. group: replaces the user's own main group; ""
 * = does not. ERR_CONFIG names the user or group that does not exist. Release with
 * identity_fini(). */
enum err_kind identity_find(const char *user, const char *group, struct identity *out,
                            struct err *err) MUST_CHECK;

/* Looks up "USER", "USER:GROUP" or ":GROUP". A user or group that text does not name becomes -1.
 * ERR_CONFIG as of identity_find(). */
enum err_kind identity_find_owner(const char *text, uid_t *uid, gid_t *gid,
                                  struct err *err) MUST_CHECK;

/* Looks up a group. ERR_CONFIG: it does not exist. */
enum err_kind identity_find_group(const char *name, gid_t *gid, struct err *err) MUST_CHECK;

/* The uid of a user; 0 for "", and for a user that does not exist (app/check reports that one). */
uid_t identity_uid(const char *user) MUST_CHECK;

/* The home folder of a user; user NULL: of the user that this process is. "/" if there is none. The
 * caller frees it. */
char *identity_home(const char *user) MUST_CHECK;

/* Could this process give a new file that owner (of identity_find_owner())? Root can give any;
 * others only themselves and their own groups. */
bool identity_may_own(uid_t uid, gid_t gid) MUST_CHECK;

/* Frees the groups; *id is zeroed. */
void identity_fini(struct identity *id);

/* Empties the inheritable set of capabilities, which some containers fill, and which a change of the user
 * leaves. To be called before the first fork and thread, as both get a copy. Started as another user than
 * root, this process keeps the set: the unit may have given it ambient capabilities. ERR_IO if the system
 * refuses. */
enum err_kind identity_drop_inheritable(struct err *err) MUST_CHECK;

/* This process becomes that user for good. ERR_IO if the system refuses, or if root's rights could
 * be taken back. */
enum err_kind identity_become(const struct identity *id, struct err *err) MUST_CHECK;

#endif
