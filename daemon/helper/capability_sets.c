/* SPDX-License-Identifier: Apache-2.0 */
#include "helper/capability_sets.h"

#include <errno.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/capability.h"

enum { WORDS = _LINUX_CAPABILITY_U32S_3, WORD_BITS = 32, SET_BITS = 64 };

/* The system calls are used as they are: libcap would be one more library in a process with rights. */
static int get(struct __user_cap_data_struct words[WORDS])
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};

    return syscall(SYS_capget, &head, words) == 0 ? 0 : errno;
}

int capability_sets_read(struct capability_sets *out)
{
    struct __user_cap_data_struct words[WORDS] = {0}; /* valgrind sees only one of them written */
    int error = get(words);

    *out = (struct capability_sets){0};
    for (unsigned i = 0; i < WORDS && error == 0; i++) {
        out->effective |= (uint64_t)words[i].effective << (i * WORD_BITS);
        out->permitted |= (uint64_t)words[i].permitted << (i * WORD_BITS);
        out->inheritable |= (uint64_t)words[i].inheritable << (i * WORD_BITS);
    }
    return error;
}

int capability_sets_write(const struct capability_sets *sets)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct words[WORDS];

    for (unsigned i = 0; i < WORDS; i++)
        words[i] = (struct __user_cap_data_struct){
            .effective = (uint32_t)(sets->effective >> (i * WORD_BITS)),
            .permitted = (uint32_t)(sets->permitted >> (i * WORD_BITS)),
            .inheritable = (uint32_t)(sets->inheritable >> (i * WORD_BITS)),
        };
    return syscall(SYS_capset, &head, words) == 0 ? 0 : errno;
}

int capability_sets_settle(void)
{
    struct capability_sets sets;
    int error = capability_sets_read(&sets);

    if (error != 0 || sets.permitted == sets.effective)
        return error;
    sets.permitted = sets.effective;
    return capability_sets_write(&sets);
}

/* Without a difference no call is made: a unit may forbid capset to a process that has no
 * capabilities anyway. */
static int change_effective(struct capability_sets *sets, uint64_t effective)
{
    if (sets->effective == effective)
        return 0;
    sets->effective = effective;
    return capability_sets_write(sets);
}

int capability_sets_limit(uint64_t needed)
{
    struct capability_sets sets;
    int error = capability_sets_read(&sets);

    return error != 0 ? error : change_effective(&sets, needed & sets.permitted);
}

int capability_sets_raise(uint64_t wanted)
{
    struct capability_sets sets;
    int error = capability_sets_read(&sets);

    return error != 0 ? error : change_effective(&sets, sets.effective | (wanted & sets.permitted));
}

/* A capability must be permitted and inheritable before it can be ambient. The kernel takes those out of
 * the ambient set that are permitted no more. */
int capability_sets_become(uint64_t exactly)
{
    struct capability_sets sets;
    int error = capability_sets_read(&sets);

    if (error == 0 &&
        (sets.effective != exactly || sets.permitted != exactly || sets.inheritable != exactly))
        error = capability_sets_write(&(struct capability_sets){exactly, exactly, exactly});
    for (unsigned i = 0; i < SET_BITS && error == 0; i++)
        if ((exactly & CAPABILITY_BIT(i)) != 0 &&
            prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, i, 0, 0) < 0)
            error = errno;
    return error;
}
