/* SPDX-License-Identifier: Apache-2.0 */
/*
 * persist_removed - files of hooks that are not in the configuration any more, as the state knows them:
 * they stay, since a file that is lost for a minute may be a load balancer's configuration; for
 * memory.
 */
#ifndef APP_PERSIST_REMOVED_H
#define APP_PERSIST_REMOVED_H

#include <stddef.h>

#include "admin/admin.h"
#include "app/restore.h"
#include "hook/hook.h"

struct persist_removed {
    struct admin_left_file *v; /* owned, with their strings but `because` */
    size_t n;
};

/* Finds them, and names them in the log; after ids_use() of all that the configuration has. */
void persist_removed_load(struct persist_removed *g, const struct restore *r, const struct ids *ids,
                          const struct hooks *hooks);

/* Frees them. */
void persist_removed_fini(struct persist_removed *g);

#endif
