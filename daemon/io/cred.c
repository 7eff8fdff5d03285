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
#include "io/api_client.h"
#include "io/deadline.h"
#include "io/helper_link.h"
#include "io/loop.h"
#include "proto/tls.h"

/* The CAs of a whole system have about 200 KB; a larger file is no credential. */
#define MAX_FILE_BYTES ((size_t)1024 * 1024)

/* A token that was read so long ago is read again. client-go does the same after 50 s: tokens live
 * for 10 minutes, and kubelets renew them at 80 % of that
 * (docs/kubernetes-protocol.md "Bearer tokens"). */
#define TOKEN_AGE_MS 50000

enum cred_state {
    CRED_LOADING,    /* reads all items, for the first time or again after a failure */
    CRED_READY,      /* the API client has its credentials */
    CRED_REFRESHING, /* reads the token alone; the old one stays in use meanwhile */
    CRED_BACKOFF,    /* waits before it loads again */
};

/* Where the token came from that the API client uses now. */
enum cred_token { TOKEN_NONE, TOKEN_DATA, TOKEN_FILE };

struct cred {
    struct cred_params params;
    cred_ready_cb *ready; /* NULL once it was called */
    void *arg;
    enum cred_state state;
    enum cred_token token;
    struct buf text[CRED_ITEMS]; /* secrets: filled while a round reads, wiped at its end */
    unsigned waiting;            /* answers of the helper that are still to come in this round */
    struct err err;              /* the first failure of this round, the token's left out */
    struct err token_err;        /* the token's failure: another token may stand in for it */
    struct tls_keys authorities;
    struct backoff backoff;
    struct rng rng;
    struct deadline *timer; /* BACKOFF: until the next try; READY: until the token is read again */
};

static const char *const item_names[] = {"CA", "client certificate", "client key", "token",
                                         "password"};

/* The whole capacity: earlier secrets may lie behind the length. */
static void wipe(struct buf *b)
{
    mem_wipe(b->data, b->cap);
    buf_free(b);
}

static void fail(struct cred *c, enum cred_item item, const char *why)
{
    struct err *err = item == CRED_TOKEN ? &c->token_err : &c->err;

    if (err->kind != ERR_OK)
        return;
    err_set(err, ERR_CREDENTIAL, 0, "%s %s: %s", item_names[item],
            c->params.items[item].path != NULL ? c->params.items[item].path : "", why);
}

/* The file counts before the data. The helper opens it, because only the helper may have the rights
 * to (docs/design.md "Two processes"); cred_opened() gets the answer. */
static void ask(struct cred *c, enum cred_item item)
{
    const struct cred_source *src = &c->params.items[item];

    wipe(&c->text[item]);
    if (src->path != NULL) {
        c->waiting++;
        helper_link_open(c->params.link, src->file, c->params.tag + item);
    } else if (src->data != NULL) {
        buf_puts(&c->text[item], src->data);
    }
}

static void complete(struct cred *c);

static void load(struct cred *c)
{
    c->state = CRED_LOADING;
    c->err = c->token_err = (struct err){0};
    for (int i = 0; i < CRED_ITEMS; i++)
        ask(c, (enum cred_item)i);
    if (c->waiting == 0)
        complete(c);
}

/* With plain http no token is sent (docs/kubernetes-protocol.md "Kubeconfig fields"). */
static bool has_token_file(const struct cred *c)
{
    return c->params.tls && c->params.items[CRED_TOKEN].path != NULL;
}

void cred_renew(struct cred *c)
{
    /* In all other states the token is read soon anyway. */
    if (c->state != CRED_READY || !has_token_file(c))
        return;
    deadline_stop(c->timer);
    c->state = CRED_REFRESHING;
    c->token_err = (struct err){0};
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

/* Reads the rest of fd. Returns NULL, or why it could not, for the error. The reads may
 * block the loop for a moment: credentials are small files. */
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

/* Gives the API client a TLS context. The keys of the CA are kept to tell clusters apart
 * (docs/design.md "Cluster identity"). */
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
    api_client_set_tls(c->params.client, ctx);
    tls_keys_read(p.ca_pem, &c->authorities);
    tls_ctx_unref(&ctx);
    return ERR_OK;
}

/* Gives the API client the token in c->text. White space around the token is cut off, as client-go
 * does; any other byte that a header must not have is an error, as it could add a header of its
 * own. */
static enum err_kind set_token(struct cred *c, enum cred_token from)
{
    struct buf *b = &c->text[CRED_TOKEN];
    size_t skip = 0;

    while (b->len > 0 && isspace((unsigned char)b->data[b->len - 1]))
        b->len--;
    while (skip < b->len && isspace((unsigned char)b->data[skip]))
        skip++;
    buf_consume(b, skip);
    if (b->len == 0)
        fail(c, CRED_TOKEN, "is empty");
    for (size_t i = 0; i < b->len; i++)
        if (!isgraph((unsigned char)b->data[i]))
            fail(c, CRED_TOKEN, "holds white space or control bytes: one token is expected");
    if (c->token_err.kind != ERR_OK)
        return c->token_err.kind;
    api_client_set_token(c->params.client, buf_cstr(b));
    c->token = from;
    return ERR_OK;
}

/* The first token: that of the file, or, as long as the file cannot be read, that of the kubeconfig
 * (docs/kubernetes-protocol.md "Kubeconfig fields"). */
static enum err_kind use_token(struct cred *c)
{
    const struct cred_source *src = &c->params.items[CRED_TOKEN];

    if (!c->params.tls || (src->data == NULL && src->path == NULL))
        return ERR_OK;
    enum cred_token from = src->path != NULL ? TOKEN_FILE : TOKEN_DATA;
    if (set_token(c, from) != ERR_OK && from == TOKEN_FILE && src->data != NULL) {
        log_warn("token file cannot be used: the token from the kubeconfig is used for now",
                 KV_STR("cluster", api_client_name(c->params.client)), KV_ERR(&c->token_err));
        wipe(&c->text[CRED_TOKEN]);
        buf_puts(&c->text[CRED_TOKEN], src->data);
        c->token_err = (struct err){0};
        (void)set_token(c, TOKEN_DATA);
    }
    c->err = c->token_err;
    return c->err.kind;
}

/* With plain http no password is sent, as no token is. */
static void use_basic(struct cred *c)
{
    if (c->params.tls && c->text[CRED_BASIC].len > 0)
        api_client_set_basic(c->params.client, buf_cstr(&c->text[CRED_BASIC]));
}

/* A good token is read again when it may be old. While the kubeconfig's token serves because the
 * file has never been readable, the file is tried again with the backoff of any other failure. */
static void schedule_refresh(struct cred *c)
{
    bool stands_in = c->token == TOKEN_DATA;

    c->state = CRED_READY;
    if (!stands_in)
        backoff_reset(&c->backoff);
    if (has_token_file(c))
        deadline_start(c->timer, stands_in ? backoff_step(&c->backoff, &c->params.retry, &c->rng)
                                           : TOKEN_AGE_MS);
}

/* Some item could not be read or used: all items are read again after a pause. */
static void retry(struct cred *c)
{
    uint64_t ms = backoff_step(&c->backoff, &c->params.retry, &c->rng);

    log_error("credentials cannot be used", KV_STR("cluster", api_client_name(c->params.client)),
              KV_ERR(&c->err), KV_MS("retry_in", ms));
    c->state = CRED_BACKOFF;
    deadline_start(c->timer, ms);
}

/* The token's file was read again, or not. The warning for a file that was never readable is out
 * already (use_token()), so repeated failures are for debugging only. */
static void refreshed(struct cred *c)
{
    enum cred_token was = c->token;
    const struct kv *fields =
        LOG_FIELDS(KV_STR("cluster", api_client_name(c->params.client)), KV_ERR(&c->token_err));

    if (set_token(c, TOKEN_FILE) != ERR_OK)
        log_emit(was == TOKEN_DATA ? LOG_LVL_DEBUG : LOG_LVL_WARN,
                 "token was not renewed; the old one stays in use", fields);
    else if (was == TOKEN_DATA)
        log_info("token file can be used now",
                 KV_STR("cluster", api_client_name(c->params.client)));
    schedule_refresh(c);
}

/* All answers of the helper are there: the round of reading is over. */
static void complete(struct cred *c)
{
    enum cred_state was = c->state;

    if (c->token_err.kind != ERR_OK) /* the file could not be read: use no part of it */
        wipe(&c->text[CRED_TOKEN]);
    if (was == CRED_REFRESHING) {
        refreshed(c);
    } else if (c->err.kind != ERR_OK || use_tls(c) != ERR_OK || use_token(c) != ERR_OK) {
        retry(c);
    } else {
        use_basic(c);
        backoff_reset(&c->backoff);
        schedule_refresh(c);
        if (c->ready != NULL)
            c->ready(c->arg);
        c->ready = NULL;
    }
    /* The TLS context and the API client have copies: no secret stays here longer than needed. */
    for (int i = 0; i < CRED_ITEMS; i++)
        wipe(&c->text[i]);
}

void cred_opened(struct cred *c, uint64_t tag, int fd, int error)
{
    enum cred_item item = (enum cred_item)(tag - c->params.tag);

    ensure(tag >= c->params.tag && item < CRED_ITEMS && c->waiting > 0);
    const char *why = fd >= 0          ? read_all(fd, &c->text[item])
                      : error == EPERM ? "not trusted: the helper has logged who could change it"
                                       : strerror(error);
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
