/* SPDX-License-Identifier: Apache-2.0 */
#include "app/identity.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "helper/capability_sets.h"

enum err_kind identity_find_group(const char *name, gid_t *gid, struct err *err)
{
    /* Not thread-safe: called before the loop and its threads run. */
    const struct group *g = getgrnam(name);

    if (g == NULL)
        return err_set(err, ERR_CONFIG, 0,
                       "group %s does not exist: create it (systemd-sysusers), or name another",
                       name);
    *gid = g->gr_gid;
    return ERR_OK;
}

static void find_groups(const char *user, struct identity *id)
{
    int n = 32;

    id->groups = mem_array((size_t)n, sizeof(gid_t));
    /* getgrouplist() sets n to the number of groups when the array is too small. */
    while (getgrouplist(user, id->gid, id->groups, &n) < 0)
        id->groups = mem_realloc(id->groups, (size_t)n * sizeof(gid_t));
    id->group_count = (size_t)n;
}

static enum err_kind find_user(const char *name, const struct passwd **out, struct err *err)
{
    *out = getpwnam(name);
    if (*out != NULL)
        return ERR_OK;
    return err_set(err, ERR_CONFIG, 0,
                   "user %s does not exist: create it (systemd-sysusers), or name another", name);
}

enum err_kind identity_find(const char *user, const char *group, struct identity *out,
                            struct err *err)
{
    const struct passwd *pw;
    struct identity id = {0};

    if (find_user(user, &pw, err) != ERR_OK)
        return err->kind;
    id.uid = pw->pw_uid;
    id.gid = pw->pw_gid;
    if (group[0] != '\0' && identity_find_group(group, &id.gid, err) != ERR_OK)
        return err->kind;
    find_groups(user, &id);
    *out = id;
    return ERR_OK;
}

enum err_kind identity_find_owner(const char *text, uid_t *uid, gid_t *gid, struct err *err)
{
    const char *colon = strchrnul(text, ':');
    char *user = mem_strndup(text, (size_t)(colon - text));
    const struct passwd *pw = NULL;
    enum err_kind kind = user[0] != '\0' ? find_user(user, &pw, err) : ERR_OK;

    free(user);
    *uid = pw != NULL ? pw->pw_uid : (uid_t)-1;
    *gid = (gid_t)-1;
    if (kind == ERR_OK && colon[0] != '\0')
        kind = identity_find_group(colon + 1, gid, err);
    return kind;
}

uid_t identity_uid(const char *user)
{
    const struct passwd *pw = user[0] != '\0' ? getpwnam(user) : NULL;

    return pw != NULL ? pw->pw_uid : 0;
}

char *identity_home(const char *user)
{
    const struct passwd *pw = user != NULL ? getpwnam(user) : getpwuid(geteuid());

    return mem_strdup(pw != NULL && pw->pw_dir[0] == '/' ? pw->pw_dir : "/");
}

static bool is_member(gid_t gid)
{
    int n = getgroups(0, NULL);
    gid_t *groups = mem_array((size_t)n + 1, sizeof(*groups));
    bool found = gid == getegid();

    n = getgroups(n, groups);
    for (int i = 0; i < n; i++)
        found = found || groups[i] == gid;
    free(groups);
    return found;
}

bool identity_may_own(uid_t uid, gid_t gid)
{
    return geteuid() == 0 ||
           ((uid == (uid_t)-1 || uid == geteuid()) && (gid == (gid_t)-1 || is_member(gid)));
}

void identity_fini(struct identity *id)
{
    free(id->groups);
    *id = (struct identity){0};
}

enum err_kind identity_drop_inheritable(struct err *err)
{
    struct capability_sets sets;

    if (geteuid() != 0 || capability_sets_read(&sets) != 0 || sets.inheritable == 0)
        return ERR_OK;
    sets.inheritable = 0;
    int error = capability_sets_write(&sets);
    if (error == 0)
        return ERR_OK;
    return err_set(err, ERR_IO, error, "cannot drop inheritable capabilities: %s", strerror(error));
}

enum err_kind identity_become(const struct identity *id, struct err *err)
{
    /* Groups first: once the uid has changed, the process may not change them any more. All three
     * ids are set, so that no saved id leads back to root. */
    if (setgroups(id->group_count, id->groups) != 0 || setresgid(id->gid, id->gid, id->gid) != 0 ||
        setresuid(id->uid, id->uid, id->uid) != 0)
        return err_set(err, ERR_IO, errno, "cannot become uid %u: %s", (unsigned)id->uid,
                       strerror(errno));
    /* Must fail; if it does not, the parsers would run with root's rights in reach. */
    if (id->uid != 0 && setuid(0) == 0)
        return err_set(err, ERR_IO, 0, "privileges could be taken back after dropping them");
    return ERR_OK;
}
