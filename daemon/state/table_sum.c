/* SPDX-License-Identifier: Apache-2.0 */
#include "state/table_sum.h"

#include <sqlite3.h>

#include "state/db.h"

/* Triggers update the sum. Statements that drop many rows at once (all objects of a scope) never
 * show the caller the checksums of these rows; a trigger sees each of them. TEMP triggers belong to
 * the connection and are not in the file. */
#define FOLLOW(table)                                                   \
    "CREATE TEMP TRIGGER " table "_new AFTER INSERT ON main." table     \
    " BEGIN SELECT follow_total(0, NEW.sum); END;"                      \
    "CREATE TEMP TRIGGER " table "_changed AFTER UPDATE ON main." table \
    " BEGIN SELECT follow_total(OLD.sum, NEW.sum); END;"                \
    "CREATE TEMP TRIGGER " table "_gone AFTER DELETE ON main." table    \
    " BEGIN SELECT follow_total(OLD.sum, 0); END;"

static void follow_table_sum(struct sqlite3_context *call, int n, struct sqlite3_value **values)
{
    struct table_sum *t = sqlite3_user_data(call);

    (void)n;
    t->sum -= (uint64_t)sqlite3_value_int64(values[0]);
    t->sum += (uint64_t)sqlite3_value_int64(values[1]);
}

enum err_kind table_sum_read(struct sqlite3 *db, struct table_sum *t, struct err *err)
{
    int64_t sum;
    int64_t commits;

    if (db_number(db, "SELECT sum FROM total", &sum, err) != ERR_OK ||
        db_number(db, "SELECT commits FROM total", &commits, err) != ERR_OK)
        return err->kind;
    *t = (struct table_sum){.sum = (uint64_t)sum, .commits = (uint64_t)commits};
    return ERR_OK;
}

enum err_kind table_sum_follow(struct sqlite3 *db, struct table_sum *t, struct err *err)
{
    int rc = sqlite3_create_function_v2(db, "follow_total", 2, SQLITE_UTF8, t, follow_table_sum,
                                        NULL, NULL, NULL);

    if (rc != SQLITE_OK)
        return db_fail(db, rc, err);
    if (db_exec(db, FOLLOW("item") FOLLOW("fact") FOLLOW("object") FOLLOW("mark"), err) != ERR_OK)
        return err->kind;
    return table_sum_read(db, t, err);
}
