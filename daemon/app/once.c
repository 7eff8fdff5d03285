/* SPDX-License-Identifier: Apache-2.0 */
#include "app/once.h"

#include "base/log.h"

/* Has a hook used up its attempts? A parked key alone does not say so: park_exit is an end that the
 * hook asked for. */
static bool any_given_up(const struct hooks *hs)
{
    for (size_t i = 0; i < hs->n; i++)
        if (hs->v[i]->given_up > 0 && hook_parked(hs->v[i]) > 0)
            return true;
    return false;
}

static bool any_stale(const struct hook *h)
{
    for (size_t i = 0; i < h->source_count; i++)
        if (h->sources[i].stale)
            return true;
    return false;
}

/* A paused hook is not waited for, so the user must hear of it: the exit code may be 0. */
static void tell_paused(const struct hooks *hs)
{
    for (size_t i = 0; i < hs->n; i++)
        if (hook_waits_for_people(hs, hs->v[i]) && hook_pending(hs->v[i]) > 0)
            log_warn("paused hook was not run: informerctl resume lets it run",
                     KV_STR("hook", hs->v[i]->name), KV_U64("waiting", hook_pending(hs->v[i])));
}

bool once_has_all(const struct once_look *look)
{
    for (size_t i = 0; i < look->hooks->n; i++)
        if (any_stale(look->hooks->v[i]))
            return false;
    return look->synced;
}

int once_judge(const struct once_look *look)
{
    if (look->synced && hooks_quiet(look->hooks)) {
        tell_paused(look->hooks);
        return any_given_up(look->hooks) ? EXIT_CODE_FAILED : EXIT_CODE_OK;
    }
    if (!look->over)
        return ONCE_GOES_ON;
    return look->synced ? EXIT_CODE_FAILED : EXIT_CODE_UNAVAILABLE;
}
