/* SPDX-License-Identifier: Apache-2.0 */
#include "admin/call.h"

#include <string.h>

#include "cache/watch.h"
#include "hook/hook.h"

bool call_may_see(struct call *c, bool secrets)
{
    if (c->req->privileged || !secrets)
        return true;
    admin_refuse(c->out, 403,
                 "objects of Secrets are shown to root and to the user that informerd was "
                 "started as");
    return false;
}

bool call_has_secrets(struct source from)
{
    const struct resource *r = from.watch != NULL ? watch_target(from.watch) : NULL;

    return r != NULL && strcmp(r->plural, "secrets") == 0 &&
           (r->group == NULL || *r->group == '\0');
}

bool call_gets_secrets(const struct hook *h)
{
    for (size_t i = 0; i < h->source_count; i++)
        if (call_has_secrets(h->sources[i].of))
            return true;
    return false;
}

void call_end(struct call *c)
{
    buf_putc(&c->out->body, '\n');
}
