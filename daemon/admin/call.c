/* SPDX-License-Identifier: Apache-2.0 */
#include "admin/call.h"

#include <string.h>

#include "hook/hook.h"

#define SECRETS "secrets"

/* Resources are compared by name: "secrets" of another API group counts as well, which is the safe
 * side. */
bool call_may_see(struct call *c, const char *resource)
{
    if (c->req->privileged || strcmp(resource, SECRETS) != 0)
        return true;
    admin_refuse(c->out, 403,
                 "objects of Secrets are shown to root and to the user that informerd was "
                 "started as");
    return false;
}

bool call_gets_secrets(const struct hook *h)
{
    for (size_t i = 0; i < h->source_count; i++)
        if (strcmp(source_resource(h->sources[i].of), SECRETS) == 0)
            return true;
    return false;
}

void call_end(struct call *c)
{
    buf_putc(&c->out->body, '\n');
}
