/* SPDX-License-Identifier: Apache-2.0 */
#include "io/resolver.h"

#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include "base/compiler.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/panic.h"
#include "io/deadline.h"
#include "io/loop.h"

/* How long a lookup is waited for if addresses are known from before. A resolver that answers at
 * all answers within this time; without any answer glibc gives up only after 10 s and more. */
enum { PATIENCE_MS = 1000 };

enum name_state {
    NAME_IDLE,    /* no lookup is under way */
    NAME_LOOKING, /* one is, and who asks waits for it */
    NAME_LATE,    /* one is, for longer than PATIENCE_MS: who asks gets the last known addresses */
};

struct resolved_name {
    struct loop *loop;
    struct resolver *resolver; /* NULL = disposed */
    struct list link;          /* in resolver->names */
    enum name_state state;
    char *name;
    uv_getaddrinfo_t lookup;
    struct addresses known; /* the last answer; empty = there was none */
    struct err failure;     /* of the last lookup; ERR_OK = it did not fail */
    struct list waiting;
    struct deadline *patience;
    struct loop_task give; /* calls those who wait */
};

struct resolver {
    struct loop *loop;
    struct list names;
};

static void enter(struct resolved_name *n, enum name_state state)
{
    static const char *const names[] = {"idle", "looking", "late"};

    n->state = state;
    deadline_stop(n->patience);
    log_trace("name lookup", KV_STR("name", n->name), KV_STR("state", names[state]));
}

/* Calls all who wait now. A callback may ask again, or cancel others. */
static void give(struct resolved_name *n)
{
    struct list now;
    struct list *first;

    list_init(&now);
    list_each (pos, tmp, &n->waiting) {
        list_remove(pos);
        list_append(&now, pos);
    }
    while ((first = list_first(&now)) != NULL) {
        struct resolver_wait *w = list_entry(first, struct resolver_wait, link);

        list_remove(first);
        w->found(w, n->known.n > 0 ? &n->known : NULL, &n->failure);
    }
}

static void on_give(struct loop_task *task)
{
    give(container_of(task, struct resolved_name, give));
}

/* The lookup is slow: those who wait go on with the last known addresses. */
static void on_patience_over(void *arg)
{
    struct resolved_name *n = arg;

    log_debug("name lookup is slow: the last known addresses are tried", KV_STR("name", n->name));
    enter(n, NAME_LATE);
    give(n);
}

static void learn(struct resolved_name *n, const struct addrinfo *found)
{
    struct addresses fresh = {0};

    for (const struct addrinfo *i = found; i != NULL; i = i->ai_next)
        addresses_add(&fresh, i->ai_addr);
    if (fresh.n == 0) {
        err_set(&n->failure, ERR_IO, UV_EAI_NODATA, "the name has no address");
        return;
    }
    addresses_remember(&fresh, &n->known);
    n->known = fresh;
    n->failure.kind = ERR_OK;
}

static void free_name(struct resolved_name *n)
{
    free(n->name);
    free(n);
}

static void on_looked_up(uv_getaddrinfo_t *req, int status, struct addrinfo *found)
{
    struct resolved_name *n = container_of(req, struct resolved_name, lookup);

    loop_work_ended(n->loop);
    if (n->resolver == NULL) {
        uv_freeaddrinfo(found);
        free_name(n);
        return;
    }
    enter(n, NAME_IDLE);
    if (status == 0)
        learn(n, found);
    else
        err_set(&n->failure, ERR_IO, status, "%s", uv_strerror(status));
    uv_freeaddrinfo(found);
    if (n->failure.kind != ERR_OK && n->known.n > 0)
        log_debug("name lookup failed: the last known addresses are tried", KV_STR("name", n->name),
                  KV_ERR(&n->failure));
    give(n);
}

/* libuv may refuse a name without asking anybody (a label of 64 bytes). */
static void look_up(struct resolved_name *n)
{
    const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    int e = uv_getaddrinfo(loop_uv(n->loop), &n->lookup, on_looked_up, n->name, NULL, &hints);

    if (e == 0) {
        loop_work_began(n->loop);
        enter(n, NAME_LOOKING);
        return;
    }
    err_set(&n->failure, ERR_IO, e, "%s", uv_strerror(e));
    loop_defer(n->loop, &n->give);
}

static struct resolved_name *find(struct resolver *r, const char *name)
{
    list_each (pos, tmp, &r->names) {
        struct resolved_name *n = list_entry(pos, struct resolved_name, link);

        if (strcmp(n->name, name) == 0)
            return n;
    }
    return NULL;
}

static struct resolved_name *add(struct resolver *r, const char *name)
{
    struct resolved_name *n =
        MEM_NEW(struct resolved_name, .loop = r->loop, .resolver = r, .name = mem_strdup(name));

    list_init(&n->link);
    list_init(&n->waiting);
    list_append(&r->names, &n->link);
    loop_task_init(&n->give, on_give);
    n->patience = deadline_create(r->loop, on_patience_over, n);
    return n;
}

struct resolver *resolver_create(struct loop *loop)
{
    struct resolver *r = MEM_NEW(struct resolver, .loop = loop);

    list_init(&r->names);
    return r;
}

void resolver_wait_init(struct resolver_wait *w,
                        void (*found)(struct resolver_wait *w, const struct addresses *addresses,
                                      const struct err *err))
{
    w->found = found;
    list_init(&w->link);
}

void resolver_find(struct resolver *r, const char *name, struct resolver_wait *w)
{
    struct resolved_name *n = find(r, name);

    if (n == NULL)
        n = add(r, name);
    list_append(&n->waiting, &w->link);
    if (n->state == NAME_IDLE)
        look_up(n);
    if (n->state == NAME_LATE)
        loop_defer(r->loop, &n->give);
    else if (n->state == NAME_LOOKING && n->known.n > 0 && !deadline_pending(n->patience))
        deadline_start(n->patience, PATIENCE_MS);
}

void resolver_cancel(struct resolver_wait *w)
{
    list_remove(&w->link);
}

void resolver_note(struct resolver *r, const char *name, const struct address *to, bool worked)
{
    struct resolved_name *n = find(r, name);

    if (n != NULL)
        addresses_note(&n->known, to, worked ? 0 : loop_now_ms(r->loop));
}

/* libuv still knows the memory of a lookup that is under way; on_looked_up() frees it then. */
static void dispose_name(struct resolved_name *n)
{
    ensure(list_is_empty(&n->waiting));
    list_remove(&n->link);
    loop_cancel(&n->give);
    deadline_dispose(&n->patience);
    n->resolver = NULL;
    if (n->state == NAME_IDLE)
        free_name(n);
    else /* works only for a lookup that no thread has begun */
        uv_cancel((uv_req_t *)&n->lookup);
}

void resolver_dispose(struct resolver **rp)
{
    struct resolver *r = *rp;

    if (r == NULL)
        return;
    *rp = NULL;
    list_each (pos, tmp, &r->names)
        dispose_name(list_entry(pos, struct resolved_name, link));
    free(r);
}
