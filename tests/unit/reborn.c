/* SPDX-License-Identifier: Apache-2.0 */
#include "reborn.h"

struct reborn reborn;

void reborn_add(struct stage_hook params)
{
    reborn.params = params;
    reborn.hook = stage_add(&reborn.params);
}

void reborn_keep(void)
{
    hook_disk_commit(&reborn.disk, reborn.hook);
}

void reborn_restart(void)
{
    stage_clean_up(NULL);
    stage_set_up(NULL);
    reborn.hook = stage_add(&reborn.params);
    hook_disk_restore(&reborn.disk, reborn.hook, 55);
}

int reborn_clean_up(void **state)
{
    hook_disk_clear(&reborn.disk);
    return stage_clean_up(state);
}
