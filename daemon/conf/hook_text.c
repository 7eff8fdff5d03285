/* SPDX-License-Identifier: Apache-2.0 */
#include "conf/hook_text.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "conf/hook_conf.h"
#include "conf/setting_print.h"

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct conf_pair *)a)->name, ((const struct conf_pair *)b)->name);
}

/* The same pairs in the order of their names. The strings are borrowed; the caller frees v. */
static struct conf_map sorted(const struct conf_map *map)
{
    struct conf_map copy = {.v = mem_array(map->n + 1, sizeof(*copy.v)), .n = map->n};

    for (size_t i = 0; i < map->n; i++)
        copy.v[i] = map->v[i];
    qsort(copy.v, copy.n, sizeof(*copy.v), by_name);
    return copy;
}

static bool uses_node_name(const struct conf_hook *h)
{
    /* ${node_name} is replaced only in these two settings of a hook. */
    static const char variable[] = "${node_name}";

    for (size_t i = 0; i < h->environment.n; i++)
        if (strstr(h->environment.v[i].value, variable) != NULL)
            return true;
    return strstr(h->output.v, variable) != NULL;
}

void hook_text_put(const struct conf *c, const struct conf_hook *h, const char *node_name,
                   enum hook_text_form form, struct buf *out)
{
    enum setting_change class = form == HOOK_TEXT_FORMER ? SETTING_NO_CLASS : SETTING_RENEWS;
    struct conf_hook defaults = {0};
    struct conf_hook hook = *h;
    char nobody[] = "";

    setting_defaults(hook_conf_settings, &defaults);
    /* user is left out of the changed settings and written below for every hook: the effects of a
     * hook without user depend on the daemon's user, which is another setting. */
    hook.user.v = nobody;
    hook.environment = sorted(&h->environment);
    hook.fields = sorted(&h->fields);
    setting_print_changed(hook_conf_settings, class, &hook, &defaults, out);
    buf_printf(out, "user: %s\n", h->user.v[0] != '\0' ? h->user.v : c->user.v);
    /* A node that was renamed has other arguments for these hooks, and for no others. */
    if (uses_node_name(h))
        buf_printf(out, "node_name: %s\n", node_name);
    free(hook.environment.v);
    free(hook.fields.v);
    setting_fini(hook_conf_settings, &defaults);
}

static struct digest digest_in(const struct conf *c, const struct conf_hook *h,
                               const char *node_name, enum hook_text_form form)
{
    struct buf text = {0};

    hook_text_put(c, h, node_name, form, &text);
    struct digest digest = digest_of(text.data, text.len);
    buf_free(&text);
    return digest;
}

struct digest_forms hook_text_digests(const struct conf *c, const struct conf_hook *h,
                                      const char *node_name)
{
    return (struct digest_forms){.now = digest_in(c, h, node_name, HOOK_TEXT_RENEWING),
                                 .former = digest_in(c, h, node_name, HOOK_TEXT_FORMER)};
}
