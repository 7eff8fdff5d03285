/* SPDX-License-Identifier: Apache-2.0 */
#include "admin/first_expiry.h"

#include "admin/admin.h"

struct expiry_view first_expiry_look(const struct admin_cluster *c, enum expiry_item item,
                                     int64_t now_s, int64_t window_s)
{
    struct expiry_view first = {0};

    for (size_t i = 0; i < c->login_count; i++) {
        const struct expiry *e = c->logins[i].expiry;
        struct expiry_view view = {0};

        if (e != NULL)
            view = expiry_look(e, item, now_s, window_s);
        if (view.dates != NULL && (first.dates == NULL || view.dates->till_s < first.dates->till_s))
            first = view;
    }
    return first;
}
