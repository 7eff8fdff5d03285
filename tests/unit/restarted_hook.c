/* SPDX-License-Identifier: Apache-2.0 */
#include "restarted_hook.h"

struct restarted_hook restarted_hook;

void restarted_hook_add(struct hook_rig_hook params)
{
    restarted_hook.params = params;
    restarted_hook.hook = hook_rig_add(&restarted_hook.params);
}

void restarted_hook_keep(void)
{
    hook_disk_commit(&restarted_hook.disk, restarted_hook.hook);
}

void restarted_hook_restart(void)
{
    hook_rig_clean_up(NULL);
    hook_rig_set_up(NULL);
    restarted_hook.hook = hook_rig_add(&restarted_hook.params);
    hook_disk_restore(&restarted_hook.disk, restarted_hook.hook, 55);
}

int restarted_hook_clean_up(void **state)
{
    hook_disk_clear(&restarted_hook.disk);
    return hook_rig_clean_up(state);
}
