/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory_gone - files of hooks that are not in the configuration any more, as the state knows them:
 * they stay, since a file that is lost for a minute may be a load balancer's configuration; for
 * memory.
 */
#ifndef APP_MEMORY_GONE_H
#define APP_MEMORY_GONE_H

#include <stddef.h>

#include "admin/admin.h"
#include "app/recall.h"
#include "hook/hook.h"

struct memory_gone {
    struct admin_left_file *v; /* owned, with their strings but `because` */
    size_t n;
};

/* Finds them, and names them in the log; after roster_use() of all that the configuration has. */
void memory_gone_load(struct memory_gone *g, const struct recall *r, const struct roster *roster,
                      const struct hooks *hooks);

/* Frees them. */
void memory_gone_fini(struct memory_gone *g);

#endif
