/* SPDX-License-Identifier: Apache-2.0 */
#include "app/kubeconfig_wait.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "app/cluster_access.h"
#include "base/mem.h"
#include "io/deadline.h"
#include "io/helper_link.h"

/* As often as credentials are read again (kube/credentials). */
enum { CHECK_MS = 5 * 60 * 1000 };

/* An awaited file. */
struct awaited {
    char *path;
    uint32_t file; /* its number with the helper */
    uint64_t tag;
    bool is_asked;    /* the helper is opening it */
    bool has_changed; /* meanwhile; so it is to be opened once more */
    bool was_there;   /* and was told */
};

struct kubeconfig_wait {
    struct helper_link *link;
    struct deadline *check;
    struct awaited *files;
    size_t count;
    kubeconfig_wait_cb *on_change;
    void *arg;
};

static void look(struct kubeconfig_wait *k, struct awaited *w)
{
    w->has_changed = w->is_asked;
    if (w->is_asked)
        return;
    w->is_asked = true;
    helper_link_open(k->link, w->file, w->tag);
}

static void look_at_all(void *arg)
{
    struct kubeconfig_wait *k = arg;

    for (size_t i = 0; i < k->count; i++)
        look(k, &k->files[i]);
    if (k->count > 0)
        deadline_start(k->check, CHECK_MS);
}

static void drop_files(struct kubeconfig_wait *k)
{
    for (size_t i = 0; i < k->count; i++)
        free(k->files[i].path);
    free(k->files);
    k->files = NULL;
    k->count = 0;
}

static bool is_awaited(const struct kubeconfig_wait *k, uint32_t file)
{
    for (size_t i = 0; i < k->count; i++)
        if (k->files[i].file == file)
            return true;
    return false;
}

/* Clusters may wait for one file with two contexts. */
static void add_files(struct kubeconfig_wait *k, const struct cluster_access *a, uint64_t *next_tag)
{
    for (size_t i = 0; i < a->awaited_count; i++) {
        if (is_awaited(k, a->awaited[i].file))
            continue;
        k->files = mem_grow(k->files, k->count, sizeof(*k->files));
        k->files[k->count++] = (struct awaited){.path = mem_strdup(a->awaited[i].path),
                                                .file = a->awaited[i].file,
                                                .tag = (*next_tag)++};
    }
}

void kubeconfig_wait_set(struct kubeconfig_wait *k, const struct cluster_access_list *list,
                         uint64_t *next_tag)
{
    drop_files(k);
    deadline_stop(k->check);
    for (size_t i = 0; i < list->n; i++)
        add_files(k, &list->v[i], next_tag);
    look_at_all(k);
}

/* A file that cannot be opened is there, too: the reload then says what is wrong with it. */
static bool is_there(int fd, int error)
{
    return fd >= 0 || (error != ENOENT && error != ENOTDIR);
}

bool kubeconfig_wait_opened(struct kubeconfig_wait *k, uint64_t tag, int fd, int error)
{
    for (size_t i = 0; i < k->count; i++) {
        struct awaited *w = &k->files[i];

        if (w->tag != tag)
            continue;
        if (fd >= 0)
            close(fd);
        w->is_asked = false;
        if (w->has_changed)
            look(k, w);
        bool was_there = w->was_there;
        w->was_there = is_there(fd, error);
        if (was_there || w->was_there)
            k->on_change(k->arg, w->path, w->was_there);
        return true;
    }
    return false;
}

void kubeconfig_wait_changed(struct kubeconfig_wait *k, uint32_t file)
{
    for (size_t i = 0; i < k->count; i++)
        if (k->files[i].file == file)
            look(k, &k->files[i]);
}

struct kubeconfig_wait *kubeconfig_wait_create(struct loop *loop, struct helper_link *link,
                                               kubeconfig_wait_cb *on_change, void *arg)
{
    struct kubeconfig_wait *k =
        MEM_NEW(struct kubeconfig_wait, .link = link, .on_change = on_change, .arg = arg);

    k->check = deadline_create(loop, look_at_all, k);
    return k;
}

void kubeconfig_wait_dispose(struct kubeconfig_wait **kp)
{
    struct kubeconfig_wait *k = *kp;

    if (k == NULL)
        return;
    *kp = NULL;
    deadline_dispose(&k->check);
    drop_files(k);
    free(k);
}
