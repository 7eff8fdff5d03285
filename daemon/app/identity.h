/* SPDX-License-Identifier: Apache-2.0 */
/*
 * identity - users and groups by name, and becoming one of them.
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

/* Looks up a user, and a group that replaces the user's own one ("" = does not). ERR_CONFIG names
 * what does not exist. Release with identity_fini(). */
enum err_kind identity_find(const char *user, const char *group, struct identity *out,
                            struct err *err) MUST_CHECK;

/* Looks up "USER", "USER:GROUP" or ":GROUP"; what is not named becomes -1. ERR_CONFIG as above. */
enum err_kind identity_find_owner(const char *text, uid_t *uid, gid_t *gid,
                                  struct err *err) MUST_CHECK;

/* The uid of a user; 0 for "", and for one that does not exist, which is told elsewhere. */
uid_t identity_uid(const char *user) MUST_CHECK;

/* Is a file of that owner (of identity_find_owner()) one that this process can make without being
 * root? */
bool identity_may_own(uid_t uid, gid_t gid) MUST_CHECK;

/* Frees it. */
void identity_fini(struct identity *id);

/* This process becomes that user for good. ERR_IO if the system refuses. */
enum err_kind identity_become(const struct identity *id, struct err *err) MUST_CHECK;

#endif
