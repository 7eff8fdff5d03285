/* SPDX-License-Identifier: Apache-2.0 */
/*
 * members - the members of a ConfigMap or Secret that become files (docs/design.md "Files from
 * objects"): their names and decoded bytes, and the input of the helper's program FILES; pure.
 */
#ifndef HOOK_MEMBERS_H
#define HOOK_MEMBERS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/digest.h"
#include "base/err.h"
#include "base/str.h"
#include "kube/object.h"

/* One file of a run. */
struct member {
    char *name;           /* ${key} */
    char *path;           /* of its file; set by hook/files */
    struct digest digest; /* of its bytes */
    bool goes;            /* the object does not have it any more: its file is to be removed */
    bool is_new;          /* no file of the hook had this path before this run; set by hook/files */
};

struct members {
    struct member *v;
    size_t n;
    struct buf input; /* struct wire_member, name and bytes of each one, in the same order */
};

/* No members. */
struct members *members_create(void);

/* Adds those of `data` and `binaryData`, decoded: all of a Secret is base64, of other objects
 * binaryData is. ERR_CONFIG, ERR_TOO_BIG: there can be no files of them; the text has names, never
 * bytes. */
enum err_kind members_read(struct members *m, const struct object *o, struct err *err) MUST_CHECK;

/* Adds one that goes. Behind it only others that go may be added. False: one run can take no more. */
bool members_add_gone(struct members *m, struct str name, const char *path) MUST_CHECK;

/* The input is made: its bytes are not needed any more. */
void members_drop_input(struct members *m);

/* Frees *m and sets it to NULL. NULL is fine. */
void members_destroy(struct members **m);

#endif
