/* SPDX-License-Identifier: Apache-2.0 */
/*
 * persist_removed - the output files of hooks that are not in the configuration any more, as the
 * state knows them. They stay on disk, since a file that is lost for a minute may be the
 * configuration of a load balancer (docs/design.md "Stray files"); a part of persist.
 */
#ifndef APP_PERSIST_REMOVED_H
#define APP_PERSIST_REMOVED_H

#include <stddef.h>

#include "admin/admin.h"
#include "app/restore.h"
#include "hook/hook.h"

struct persist_removed {
    struct admin_left_file *v; /* owned, with the strings except `because` */
    size_t n;
};

/* Finds these files in the state and names them in the log. Call it after ids_use() of everything
 * in the configuration. Release with persist_removed_fini(). */
void persist_removed_load(struct persist_removed *g, const struct restore *r, const struct ids *ids,
                          const struct hooks *hooks);

/* Frees the array and its strings; *g is zeroed. */
void persist_removed_fini(struct persist_removed *g);

#endif
