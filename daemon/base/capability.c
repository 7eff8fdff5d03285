/* SPDX-License-Identifier: Apache-2.0 */
#include "base/capability.h"

#include <stddef.h>
#include <string.h>

/* In the order of their numbers, which the kernel never changes. The names do not come from
 * linux/capability.h, so that a release knows the same ones whatever headers it is built with. */
static const char *const names[] = {
    "CAP_CHOWN",
    "CAP_DAC_OVERRIDE",
    "CAP_DAC_READ_SEARCH",
    "CAP_FOWNER",
    "CAP_FSETID",
    "CAP_KILL",
    "CAP_SETGID",
    "CAP_SETUID",
    "CAP_SETPCAP",
    "CAP_LINUX_IMMUTABLE",
    "CAP_NET_BIND_SERVICE",
    "CAP_NET_BROADCAST",
    "CAP_NET_ADMIN",
    "CAP_NET_RAW",
    "CAP_IPC_LOCK",
    "CAP_IPC_OWNER",
    "CAP_SYS_MODULE",
    "CAP_SYS_RAWIO",
    "CAP_SYS_CHROOT",
    "CAP_SYS_PTRACE",
    "CAP_SYS_PACCT",
    "CAP_SYS_ADMIN",
    "CAP_SYS_BOOT",
    "CAP_SYS_NICE",
    "CAP_SYS_RESOURCE",
    "CAP_SYS_TIME",
    "CAP_SYS_TTY_CONFIG",
    "CAP_MKNOD",
    "CAP_LEASE",
    "CAP_AUDIT_WRITE",
    "CAP_AUDIT_CONTROL",
    "CAP_SETFCAP",
    "CAP_MAC_OVERRIDE",
    "CAP_MAC_ADMIN",
    "CAP_SYSLOG",
    "CAP_WAKE_ALARM",
    "CAP_BLOCK_SUSPEND",
    "CAP_AUDIT_READ",
    "CAP_PERFMON",
    "CAP_BPF",
    "CAP_CHECKPOINT_RESTORE",
};

bool capability_find(const char *name, unsigned *number)
{
    for (unsigned i = 0; i < ARRAY_LEN(names); i++)
        if (strcmp(name, names[i]) == 0) {
            *number = i;
            return true;
        }
    return false;
}

void capability_put(struct buf *out, uint64_t set)
{
    const char *before = "";

    for (unsigned i = 0; i < 64; i++) {
        if ((set & CAPABILITY_BIT(i)) == 0)
            continue;
        if (i < ARRAY_LEN(names))
            buf_printf(out, "%s%s", before, names[i]);
        else
            buf_printf(out, "%s%u", before, i);
        before = " ";
    }
}
