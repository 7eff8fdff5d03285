/* SPDX-License-Identifier: Apache-2.0 */
#include "hook/hook_source.h"

#include <string.h>

#include "base/mem.h"

/* One block: the array, and the names behind it. */
struct hook_source *hook_source_copy(const struct hook_source *v, size_t n)
{
    size_t bytes = n * sizeof(*v);

    for (size_t i = 0; i < n; i++)
        bytes += strlen(v[i].name) + 1;
    struct hook_source *out = mem_alloc(bytes);
    char *at = (char *)(out + n);
    for (size_t i = 0; i < n; i++) {
        size_t size = strlen(v[i].name) + 1;

        memcpy(at, v[i].name, size);
        out[i] = (struct hook_source){.name = at, .of = v[i].of};
        at += size;
    }
    return out;
}
