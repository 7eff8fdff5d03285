/* SPDX-License-Identifier: Apache-2.0 */
#include "hook/hook_source.h"

#include <string.h>

#include "base/mem.h"

/* The names stand behind the array. */
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
        out[i] = (struct hook_source){.name = at, .watch = v[i].watch};
        at += size;
    }
    return out;
}

bool hook_source_is(const struct hook_source *s, const struct watch *w)
{
    return s->watch == w;
}

const char *hook_source_cluster(const struct hook_source *s)
{
    return watch_cluster(s->watch);
}

const char *hook_source_resource(const struct hook_source *s)
{
    return watch_resource(s->watch);
}

bool hook_source_synced(const struct hook_source *s)
{
    return watch_synced(s->watch);
}

const struct store *hook_source_store(const struct hook_source *s)
{
    return watch_store(s->watch);
}

struct watch_status hook_source_status(const struct hook_source *s, uint64_t now_ms)
{
    return watch_status(s->watch, now_ms);
}
