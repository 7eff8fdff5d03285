/* SPDX-License-Identifier: Apache-2.0 */
#include "io/cred.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/panic.h"
#include "io/cluster.h"
#include "io/deadline.h"
#include "io/helper_link.h"
#include "io/loop.h"
#include "proto/tls.h"

#define MAX_FILE_BYTES ((size_t)1024 * 1024)

/* A token read so long ago is read again (PROTOCOL 2.4: kubelet renews at 80 % of 10 min). */
#define TOKEN_AGE_MS 50000

enum cred_state {
    CRED_LOADING, /* everything, for the first time or again after a failure */
    CRED_READY,
    CRED_REFRESHING, /* the token alone; the old one stays in use */
    CRED_BACKOFF,
};

struct cred {
    struct cred_params params;
    cred_ready_cb *ready;
    void *arg;
    enum cred_state state;
    struct buf text[CRED_ITEMS];
    unsigned waiting; /* answers of the helper that are still to come */
    struct err err;   /* the first failure of this round */
    struct tls_keys authorities;
    struct backoff backoff;
    struct rng rng;
    struct deadline *timer; /* of BACKOFF, and the age of the token in READY */
};

static const char *const item_names[] = {"CA", "client certificate", "client key", "token"};

static void wipe(struct buf *b)
{
    mem_wipe(b->data, b->cap);
    buf_free(b);
}

static void fail(struct cred *c, enum cred_item item, const char *why)
{
    if (c->err.kind != ERR_OK)
        return;
    err_set(&c->err, ERR_CREDENTIAL, 0, "%s %s: %s", item_names[item],
            c->params.items[item].path != NULL ? c->params.items[item].path : "", why);
}

static void ask(struct cred *c, enum cred_item item)
{
    const struct cred_source *src = &c->params.items[item];

    wipe(&c->text[item]);
    if (src->data != NULL) {
        buf_puts(&c->text[item], src->data);
    } else if (src->path != NULL) {
        c->waiting++;
        helper_link_open(c->params.link, src->file, c->params.tag + item);
    }
}

static void complete(struct cred *c);

static void load(struct cred *c)
{
    c->state = CRED_LOADING;
    c->err = (struct err){0};
    for (int i = 0; i < CRED_ITEMS; i++)
        ask(c, (enum cred_item)i);
    if (c->waiting == 0)
        complete(c);
}

void cred_renew(struct cred *c)
{
    const struct cred_source *token = &c->params.items[CRED_TOKEN];

    if (c->state != CRED_READY || token->data != NULL || token->path == NULL)
        return;
    deadline_stop(c->timer);
    c->state = CRED_REFRESHING;
    c->err = (struct err){0};
    ask(c, CRED_TOKEN);
}

static void on_timer(void *arg)
{
    struct cred *c = arg;

    if (c->state == CRED_READY)
        cred_renew(c);
    else
        load(c);
}

struct cred *cred_create(const struct cred_params *params, cred_ready_cb *ready, void *arg)
{
    struct cred *c = mem_zalloc(sizeof(*c));

    c->params = *params;
    c->ready = ready;
    c->arg = arg;
    rng_seed(&c->rng, params->seed);
    c->timer = deadline_create(params->loop, on_timer, c);
    deadline_start(c->timer, 0);
    return c;
}

static const char *read_all(int fd, struct buf *out)
{
    for (;;) {
        ssize_t n = read(fd, buf_reserve(out, 4096), 4096);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return strerror(errno);
        if (n == 0)
            return NULL;
        out->len += (size_t)n;
        if (out->len > MAX_FILE_BYTES)
            return "larger than 1 MiB";
    }
}

static enum err_kind use_tls(struct cred *c)
{
    struct tls_ctx *ctx;
    struct tls_ctx_params p = {.ca_pem = buf_str(&c->text[CRED_CA]),
                               .cert_pem = buf_str(&c->text[CRED_CERT]),
                               .key_pem = buf_str(&c->text[CRED_KEY])};

    if (!c->params.tls)
        return ERR_OK;
    if (tls_ctx_create(&p, &ctx, &c->err) != ERR_OK)
        return c->err.kind;
    cluster_set_tls(c->params.cluster, ctx);
    tls_keys_read(p.ca_pem, &c->authorities);
    tls_ctx_unref(&ctx);
    return ERR_OK;
}

/* White space around a token is no part of it; anything else that cannot stand in a header is
 * wrong. */
static enum err_kind use_token(struct cred *c)
{
    const struct cred_source *src = &c->params.items[CRED_TOKEN];
    struct buf *b = &c->text[CRED_TOKEN];
    size_t from = 0;

    if (!c->params.tls || (src->data == NULL && src->path == NULL))
        return ERR_OK;
    while (b->len > 0 && isspace((unsigned char)b->data[b->len - 1]))
        b->len--;
    while (from < b->len && isspace((unsigned char)b->data[from]))
        from++;
    buf_consume(b, from);
    if (b->len == 0)
        fail(c, CRED_TOKEN, "is empty");
    for (size_t i = 0; i < b->len; i++)
        if (!isgraph((unsigned char)b->data[i]))
            fail(c, CRED_TOKEN, "holds white space or control bytes: one token is expected");
    if (c->err.kind == ERR_OK)
        cluster_set_token(c->params.cluster, buf_cstr(b));
    return c->err.kind;
}

static void schedule_refresh(struct cred *c)
{
    c->state = CRED_READY;
    if (c->params.items[CRED_TOKEN].data == NULL && c->params.items[CRED_TOKEN].path != NULL)
        deadline_start(c->timer, TOKEN_AGE_MS);
}

static void retry(struct cred *c)
{
    uint64_t ms = backoff_step(&c->backoff, &c->params.retry, &c->rng);

    log_error("credentials cannot be used", KV_STR("cluster", cluster_name(c->params.cluster)),
              KV_ERR(&c->err), KV_MS("retry_in", ms));
    c->state = CRED_BACKOFF;
    deadline_start(c->timer, ms);
}

static void refreshed(struct cred *c)
{
    if (use_token(c) != ERR_OK)
        log_warn("token was not renewed; the old one stays in use",
                 KV_STR("cluster", cluster_name(c->params.cluster)), KV_ERR(&c->err));
    schedule_refresh(c);
}

/* All answers are there. */
static void complete(struct cred *c)
{
    enum cred_state was = c->state;

    if (was == CRED_REFRESHING) {
        if (c->err.kind != ERR_OK) /* unreadable: nothing to look at */
            wipe(&c->text[CRED_TOKEN]);
        refreshed(c);
    } else if (c->err.kind != ERR_OK || use_tls(c) != ERR_OK || use_token(c) != ERR_OK) {
        retry(c);
    } else {
        backoff_reset(&c->backoff);
        schedule_refresh(c);
        if (c->ready != NULL)
            c->ready(c->arg);
        c->ready = NULL;
    }
    for (int i = 0; i < CRED_ITEMS; i++)
        wipe(&c->text[i]);
}

void cred_opened(struct cred *c, uint64_t tag, int fd, int error)
{
    enum cred_item item = (enum cred_item)(tag - c->params.tag);

    ensure(tag >= c->params.tag && item < CRED_ITEMS && c->waiting > 0);
    const char *why = fd < 0 ? strerror(error) : read_all(fd, &c->text[item]);
    if (why != NULL)
        fail(c, item, why);
    if (fd >= 0)
        close(fd);
    if (--c->waiting == 0)
        complete(c);
}

const struct tls_keys *cred_authorities(const struct cred *c)
{
    return &c->authorities;
}

void cred_dispose(struct cred **cp)
{
    struct cred *c = *cp;

    if (c == NULL)
        return;
    *cp = NULL;
    for (int i = 0; i < CRED_ITEMS; i++)
        wipe(&c->text[i]);
    deadline_dispose(&c->timer);
    free(c);
}
