/* SPDX-License-Identifier: Apache-2.0 */
/*
 * schema - the tables of the state and their versions. SQLite's user_version holds two numbers: in
 * the low 16 bits the version of the tables, above them the oldest version whose releases can still
 * read and write these tables. A release adds tables and columns that may be NULL, so that the
 * release before can go on; a change that breaks this takes two releases (docs/decisions.md
 * "user_version holds two numbers").
 */
#ifndef STATE_SCHEMA_H
#define STATE_SCHEMA_H

#include <stdbool.h>

#include "base/compiler.h"
#include "base/err.h"

struct sqlite3;

/* The columns that hold the state of an object, in tables object and mark, but for its uid: in the
 * order in which writer and loader take them. */
#define SCHEMA_STATE_COLUMNS "rv, generation, api_version, kind, rv_at, generation_at, digest, body"

/* The kind of file that schema_find() found. */
enum schema_found {
    SCHEMA_EMPTY,  /* it has no tables yet */
    SCHEMA_OLD,    /* tables of an older release: call schema_upgrade() */
    SCHEMA_USABLE, /* of this release, or of a later one that left it readable */
};

/* Looks at an open file. ERR_PROTOCOL: the file is of another program, or of a release that is too
 * new; other errors as db.h says. */
enum err_kind schema_find(struct sqlite3 *db, enum schema_found *found, struct err *err) MUST_CHECK;

/* Makes the tables, or brings them up to date, in one transaction. A file that is usable is left
 * alone. After an error the transaction is still open, so the connection must be closed. */
enum err_kind schema_upgrade(struct sqlite3 *db, struct err *err) MUST_CHECK;

#endif
