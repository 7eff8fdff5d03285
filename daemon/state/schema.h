/* SPDX-License-Identifier: Apache-2.0 */
/*
 * schema - the tables of the state and their versions. user_version holds two numbers: the version
 * of the tables, and the oldest version whose releases can still read and write them. A release adds
 * tables and columns that may be NULL, so that the one before can go on; what breaks that is done in
 * two releases.
 */
#ifndef STATE_SCHEMA_H
#define STATE_SCHEMA_H

#include <stdbool.h>

#include "base/compiler.h"
#include "base/err.h"

struct sqlite3;

/* What a file turned out to be. */
enum schema_found {
    SCHEMA_EMPTY,  /* nothing is in it yet */
    SCHEMA_OLD,    /* to be brought up to date (schema_upgrade()) */
    SCHEMA_USABLE, /* of this release, or of a later one that kept it readable */
};

/* Looks at an open file. ERR_PROTOCOL: it is not ours, or of a release that is too new. */
enum err_kind schema_find(struct sqlite3 *db, enum schema_found *found, struct err *err) MUST_CHECK;

/* Makes the tables, or brings them up to date, in one transaction; after an error the
 * connection must be closed. A file that is usable is left alone. */
enum err_kind schema_upgrade(struct sqlite3 *db, struct err *err) MUST_CHECK;

#endif
