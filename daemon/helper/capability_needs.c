/* SPDX-License-Identifier: Apache-2.0 */
#include "helper/capability_needs.h"

#include <linux/capability.h>

#include "base/capability.h"

enum { READ = CAP_DAC_READ_SEARCH };

/* Folders of others are written to, and files of others get a mode and a mark. */
uint64_t capability_needs_of_files(void)
{
    return CAPABILITY_BIT(READ) | CAPABILITY_BIT(CAP_DAC_OVERRIDE) | CAPABILITY_BIT(CAP_FOWNER);
}

/* KILL: the processes of a run may have another user than the helper. SYS_PTRACE: so that the helper sees
 * them in a /proc that shows each user its own only (ProtectProc=invisible). FOWNER: the pipes of a run, which belong to main,
 * get another mode. READ: a program may lie where only its own user may look. */
static uint64_t of_programs(const struct helper_hook *h)
{
    uint64_t needs =
        CAPABILITY_BIT(CAP_KILL) | CAPABILITY_BIT(CAP_SYS_PTRACE) | CAPABILITY_BIT(READ);

    if (h->argv == NULL && h->check == NULL && h->apply == NULL)
        return 0;
    if (h->change_user)
        needs |=
            CAPABILITY_BIT(CAP_SETUID) | CAPABILITY_BIT(CAP_SETGID) | CAPABILITY_BIT(CAP_FOWNER);
    if (h->rlimit_count > 0)
        needs |= CAPABILITY_BIT(CAP_SYS_RESOURCE);
    return needs;
}

/* HELPER_GONE has no output: the rare sweep of its files raises what it needs (helper/child.h). */
static uint64_t of_hook(const struct helper_hook *h)
{
    uint64_t needs = of_programs(h);

    if (h->contents != NULL)
        needs |= CAPABILITY_BIT(READ);
    if (h->output != NULL)
        needs |= capability_needs_of_files();
    if (h->output != NULL && h->output->set_owner)
        needs |= CAPABILITY_BIT(CAP_CHOWN);
    return needs;
}

uint64_t capability_needs(const struct helper_params *params, uint64_t permitted)
{
    uint64_t needs = params->file_count > 0 ? CAPABILITY_BIT(READ) : 0;

    for (size_t i = 0; i < params->hook_count; i++)
        needs |= of_hook(&params->hooks[i]);
    /* A unit may leave the helper only the one that can read and write. */
    if ((needs & ~permitted & CAPABILITY_BIT(READ)) != 0)
        needs |= CAPABILITY_BIT(CAP_DAC_OVERRIDE);
    return needs & permitted;
}
