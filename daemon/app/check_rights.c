/* SPDX-License-Identifier: Apache-2.0 */
#include "app/check.h"

#include <inttypes.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "app/build.h"
#include "app/identity.h"
#include "base/capability.h"
#include "helper/capability_sets.h"

/* Root may have further names. */
static bool runs_as_root(const struct conf *conf, const struct conf_hook *h)
{
    struct identity id = {0};
    struct err err;
    bool is_root = geteuid() == 0 &&
                   identity_find(build_hook_user(conf, h), "", &id, &err) == ERR_OK && id.uid == 0;

    identity_fini(&id);
    return is_root;
}

/* Root has all capabilities of the bounding set after each exec, whatever it had before. Only
 * no_new_privileges keeps those that the hook names. */
static void check_capabilities(const struct conf *conf, const struct conf_hook *h,
                               uint64_t permitted, struct problems *p)
{
    unsigned number;

    for (size_t i = 0; i < h->capabilities.n; i++) {
        const struct conf_str *name = &h->capabilities.v[i];

        if (capability_find(name->v, &number) && (permitted & CAPABILITY_BIT(number)) == 0)
            problems_add(
                p, name->at,
                "hooks.%s.capabilities[%zu]: informerd itself does not have %s: leave it in "
                "CapabilityBoundingSet= of the unit, and start informerd as root or with it in "
                "AmbientCapabilities=",
                h->name.v, i, name->v);
    }
    if (h->capabilities.n > 0 && !h->no_new_privileges.v && runs_as_root(conf, h))
        problems_add(p, h->capabilities.at,
                     "hooks.%s.capabilities: a program of root has all others, too: set "
                     "no_new_privileges = true, or name another user",
                     h->name.v);
}

/* The kernel takes no higher limit of descriptors, not even from root. */
static uint64_t read_nr_open(void)
{
    FILE *f = fopen("/proc/sys/fs/nr_open", "re");
    char line[32];
    uint64_t n = 0;

    if (f != NULL && fgets(line, sizeof(line), f) != NULL)
        n = strtoull(line, NULL, 10);
    if (f != NULL)
        fclose(f);
    return n > 0 ? n : RLIM_INFINITY;
}

/* The highest hard limit that the helper can set. With CAP_SYS_RESOURCE there is no limit but that of
 * the kernel for descriptors. */
static uint64_t hard_limit(int resource, uint64_t permitted)
{
    bool may_raise = (permitted & CAPABILITY_BIT(CAP_SYS_RESOURCE)) != 0;
    struct rlimit limit;

    if (may_raise && resource == RLIMIT_NOFILE)
        return read_nr_open();
    if (may_raise || getrlimit((__rlimit_resource_t)resource, &limit) != 0)
        return RLIM_INFINITY;
    return limit.rlim_max;
}

static void check_rlimits(const struct conf_hook *h, uint64_t permitted, struct problems *p)
{
    struct conf_rlimit limits[CONF_RLIMITS];
    size_t n = rlimits_conf_list(&h->rlimits, limits);

    for (size_t i = 0; i < n; i++) {
        uint64_t most = hard_limit(limits[i].resource, permitted);

        if (limits[i].hard > most)
            problems_add(p, limits[i].text->at,
                         "hooks.%s.rlimits.%s: \"%.40s\" is above the hard limit of informerd, "
                         "%" PRIu64 ": %s",
                         h->name.v, limits[i].key, limits[i].text->v, most,
                         (permitted & CAPABILITY_BIT(CAP_SYS_RESOURCE)) != 0
                             ? "raise the sysctl fs.nr_open"
                             : "raise the limit of its unit (systemd.exec(5))");
    }
}

void check_rights(const struct conf *conf, struct problems *p)
{
    struct capability_sets sets;

    if (capability_sets_read(&sets) != 0)
        sets.permitted = CAPABILITY_ALL; /* not known: the start of a program will tell */
    for (size_t i = 0; i < conf->n_hooks; i++) {
        check_capabilities(conf, &conf->hooks[i], sets.permitted, p);
        check_rlimits(&conf->hooks[i], sets.permitted, p);
    }
}
