/* SPDX-License-Identifier: Apache-2.0 */
#include "admin/restore_status.h"

#include "admin/admin.h"
#include "cache/store.h"
#include "cache/view.h"
#include "cache/watch.h"

#define NS_PER_MS 1000000U

/* Whether a scope of the watch still shows objects that an earlier process stored. RESUME_OVER: a
 * list or the running watch has replaced them. */
static bool is_restored(const struct watch *w)
{
    for (size_t i = 0; i < watch_scope_count(w); i++) {
        enum resume_kind resume = watch_resume_point(w, i);

        if (resume != RESUME_NONE && resume != RESUME_OVER)
            return true;
    }
    return false;
}

bool restore_status_is(struct source c)
{
    if (c.view == NULL)
        return is_restored(c.watch);
    /* A view is computed from its watches, and as old as the older one. */
    for (size_t i = 0; i < VIEW_WATCHES; i++)
        if (is_restored(view_watch(c.view, i)))
            return true;
    return false;
}

/* Scopes of one watch may begin differently. The status shows the scope that begins with the least, and
 * an edited one (EDITED, RESHAPED) before all others. */
enum resume_kind restore_status_began(const struct watch *w)
{
    enum resume_kind least = RESUME_WHOLE;
    bool any = false;

    for (size_t i = 0; i < watch_scope_count(w); i++) {
        enum resume_kind left = watch_resume_left(w, i);

        any = any || left != RESUME_NONE;
        if (left != RESUME_WHOLE && least != RESUME_EDITED && least != RESUME_RESHAPED)
            least = left;
    }
    if (!any)
        return RESUME_NONE;
    return least == RESUME_NONE ? RESUME_PARTIAL : least;
}

uint64_t restore_status_wall_ns(const struct admin_model *m, uint64_t then_ms)
{
    /* Counted from the start, not from the present wall clock, which may be set meanwhile: the same
     * moment gives the same time in each answer. */
    uint64_t ahead_ms = then_ms > m->started_ms ? then_ms - m->started_ms : 0;

    return m->started_ns + ahead_ms * NS_PER_MS;
}
