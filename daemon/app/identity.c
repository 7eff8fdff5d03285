/* SPDX-License-Identifier: Apache-2.0 */
#include "app/identity.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"

static enum err_kind find_group(const char *name, gid_t *gid, struct err *err)
{
    const struct group *g = getgrnam(name); /* before the loop runs: one thread */

    if (g == NULL)
        return err_set(err, ERR_CONFIG, 0, "group %s does not exist", name);
    *gid = g->gr_gid;
    return ERR_OK;
}

static void find_groups(const char *user, struct identity *id)
{
    int n = 32;

    id->groups = mem_array((size_t)n, sizeof(gid_t));
    while (getgrouplist(user, id->gid, id->groups, &n) < 0)
        id->groups = mem_realloc(id->groups, (size_t)n * sizeof(gid_t));
    id->group_count = (size_t)n;
}

enum err_kind identity_find(const char *user, const char *group, struct identity *out,
                            struct err *err)
{
    const struct passwd *pw = getpwnam(user);
    struct identity id = {0};

    if (pw == NULL)
        return err_set(err, ERR_CONFIG, 0,
                       "user %s does not exist: create it (systemd-sysusers), or name another",
                       user);
    id.uid = pw->pw_uid;
    id.gid = pw->pw_gid;
    if (group[0] != '\0' && find_group(group, &id.gid, err) != ERR_OK)
        return err->kind;
    find_groups(user, &id);
    *out = id;
    return ERR_OK;
}

void identity_fini(struct identity *id)
{
    free(id->groups);
    *id = (struct identity){0};
}

enum err_kind identity_become(const struct identity *id, struct err *err)
{
    if (setgroups(id->group_count, id->groups) != 0 || setresgid(id->gid, id->gid, id->gid) != 0 ||
        setresuid(id->uid, id->uid, id->uid) != 0)
        return err_set(err, ERR_IO, errno, "cannot become uid %u: %s", (unsigned)id->uid,
                       strerror(errno));
    if (id->uid != 0 && setuid(0) == 0)
        return err_set(err, ERR_IO, 0, "privileges could be taken back after dropping them");
    return ERR_OK;
}
