/* SPDX-License-Identifier: Apache-2.0 */
#include "persist/contact.h"

#include <inttypes.h>

#define NS_PER_MS 1000000

void contact_put(struct buf *out, const struct contact *c)
{
    buf_printf(out, "%" PRIu64, c->wall_ns);
    if (c->boot_id.n > 0)
        buf_printf(out, " %" PRIu64 " %.*s", c->boot_ns, STR_ARG(c->boot_id));
}

/* Takes the digits at the beginning of text, and the space behind them; 0 if there are none. */
static uint64_t take_number(struct str *text)
{
    uint64_t n;

    str_take_u64(text, &n);
    if (text->n > 0 && text->p[0] == ' ')
        *text = str_of(text->p + 1, text->n - 1);
    return n;
}

struct contact contact_read(struct str text)
{
    struct contact c = {.wall_ns = take_number(&text)};

    c.boot_ns = take_number(&text);
    c.boot_id = text;
    return c;
}

enum contact_age contact_age(const struct contact *then, const struct contact *now,
                             uint64_t *age_ms)
{
    bool are_boots_known = then->boot_id.n > 0 && now->boot_id.n > 0;
    bool is_same_boot = are_boots_known && str_eq(then->boot_id, now->boot_id);

    if (then->wall_ns == 0)
        return CONTACT_NEVER;
    /* In one boot this clock only goes forward, whatever happens to the wall clock. */
    if (is_same_boot && now->boot_ns >= then->boot_ns) {
        *age_ms = (now->boot_ns - then->boot_ns) / NS_PER_MS;
        return CONTACT_KNOWN;
    }
    if (now->wall_ns < then->wall_ns)
        return CONTACT_CLOCK_BACK;
    *age_ms = (now->wall_ns - then->wall_ns) / NS_PER_MS;
    /* The moment was before this boot, so its age is at least the time since the boot, whatever the
     * wall clock says. */
    if (are_boots_known && !is_same_boot && *age_ms < now->boot_ns / NS_PER_MS)
        *age_ms = now->boot_ns / NS_PER_MS;
    return CONTACT_KNOWN;
}
