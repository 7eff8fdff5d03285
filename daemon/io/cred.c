/* SPDX-License-Identifier: Apache-2.0 */
#include "io/cred.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/panic.h"
#include "base/read_all.h"
#include "io/deadline.h"
#include "io/exec_plugin.h"
#include "io/expiry_driver.h"
#include "io/helper_link.h"
#include "io/loop.h"
#include "kube/credentials.h"
#include "kube/token.h"
#include "proto/tls.h"

/* The CAs of a whole system have about 200 KB; a larger file is no credential. */
#define MAX_FILE_BYTES ((size_t)1024 * 1024)

enum { NS_PER_S = 1000000000, MS_PER_S = 1000 };

struct cred {
    struct cred_params params;
    const struct cred_events *events;
    void *arg;
    bool is_ready; /* on_ready was called */
    struct credentials credentials;
    struct buf read[CRED_ITEMS]; /* secrets: filled while a source is read, wiped at its end */
    struct buf used[CRED_ITEMS]; /* secrets: in use; a context is made of old and new ones */
    unsigned waiting[CREDENTIALS_SOURCES]; /* answers of the helper that are still to come */
    struct err err[CREDENTIALS_SOURCES];   /* the first failure of the reading */
    /* The last failure that a person should know of, until a reading is good again. */
    struct err trouble[CREDENTIALS_SOURCES];
    bool is_gone[CREDENTIALS_SOURCES]; /* the source cannot be read any more (CRED_GONE) */
    bool has_stand_in_token; /* the token in use is that of the kubeconfig, not of its file */
    struct expiry_driver *expiry;
    struct tls_keys authorities;
    struct deadline *timer;     /* credentials_due_ms() */
    struct exec_plugin *plugin; /* NULL = none */
    char plugin_output[160];    /* the name of the plugin's credential in messages */
    int64_t plugin_till_s;      /* when that expires, by its expirationTimestamp; 0 = it has none */
};

static const char *const item_names[] = {"CA", "client certificate", "client key", "token"};

/* The whole capacity: earlier secrets may lie behind the length. */
static void wipe(struct buf *b)
{
    mem_wipe(b->data, b->cap);
    buf_free(b);
}

static enum credentials_source source_of(const struct cred *c, enum cred_item item)
{
    static const enum credentials_source sources[CRED_ITEMS] = {
        [CRED_CA] = CREDENTIALS_CA,
        [CRED_CERT] = CREDENTIALS_PAIR,
        [CRED_KEY] = CREDENTIALS_PAIR,
        [CRED_TOKEN] = CREDENTIALS_TOKEN,
    };

    return c->plugin != NULL && item != CRED_CA ? CREDENTIALS_PLUGIN : sources[item];
}

static const struct cred_source *item_of(const struct cred *c, enum cred_item item)
{
    return &c->params.items[item];
}

/* Certificate and key are in one file, as the kubelet has them. It is read once, so that its two
 * halves always fit. */
static bool is_combined(const struct cred *c)
{
    const struct cred_source *cert = item_of(c, CRED_CERT);
    const struct cred_source *key = item_of(c, CRED_KEY);

    return cert->path != NULL && key->path != NULL && strcmp(cert->path, key->path) == 0;
}

static enum credentials_how how_of(const struct cred *c, enum credentials_source source)
{
    enum credentials_how how = CREDENTIALS_NONE;

    if (source == CREDENTIALS_PLUGIN)
        return c->plugin != NULL ? CREDENTIALS_PROGRAM : CREDENTIALS_NONE;
    for (enum cred_item i = CRED_CA; i < CRED_ITEMS && c->params.tls; i++) {
        if (source_of(c, i) != source)
            continue;
        if (item_of(c, i)->path != NULL)
            how = CREDENTIALS_FILES;
        else if (item_of(c, i)->data != NULL && how == CREDENTIALS_NONE)
            how = CREDENTIALS_FIXED;
    }
    return how;
}

/* ---- Log */

static struct kv cluster(const struct cred *c)
{
    return KV_STR("cluster", c->params.cluster);
}

static void tell_failure(const struct cred *c, enum credentials_source source,
                         enum credentials_verdict verdict)
{
    static const char *const kept[CREDENTIALS_SOURCES] = {
        [CREDENTIALS_CA] = "CA was not renewed; the old one stays in use",
        [CREDENTIALS_PAIR] = "client certificate was not renewed; the old one stays in use",
        [CREDENTIALS_TOKEN] = "token was not renewed; the old one stays in use",
        [CREDENTIALS_PLUGIN] =
            "credential of the exec plugin was not renewed; the old one stays in use",
    };
    struct kv err = KV_ERR(&c->err[source]);
    uint64_t due_ms = credentials_next_ms(&c->credentials, source);

    if (verdict == CREDENTIALS_KEEP)
        log_warn(kept[source], cluster(c), err);
    else if (verdict == CREDENTIALS_STAND_IN)
        log_warn("token file cannot be used: the token from the kubeconfig is used for now",
                 cluster(c), err);
    else
        log_error("credentials cannot be used", cluster(c), err,
                  KV_MS("retry_in", due_ms - loop_now_ms(c->params.loop)));
}

static void tell_recovery(const struct cred *c, enum credentials_source source)
{
    static const char *const again[CREDENTIALS_SOURCES] = {
        [CREDENTIALS_CA] = "CA file can be used now",
        [CREDENTIALS_PAIR] = "client certificate file can be used now",
        [CREDENTIALS_TOKEN] = "token file can be used now",
        [CREDENTIALS_PLUGIN] = "exec plugin gives credentials again",
    };

    log_info(again[source], cluster(c));
}

/* Tokens and the credentials of plugins are renewed each hour or more often, so the line is for
 * debugging only. */
static void tell_renewal(const struct cred *c, enum credentials_source source)
{
    static const char *const renewed[CREDENTIALS_SOURCES] = {
        [CREDENTIALS_CA] = "CA was renewed",
        [CREDENTIALS_PAIR] = "client certificate was renewed",
        [CREDENTIALS_TOKEN] = "token was renewed",
        [CREDENTIALS_PLUGIN] = "credential of the exec plugin was renewed",
    };
    bool is_frequent = source == CREDENTIALS_TOKEN || source == CREDENTIALS_PLUGIN;

    log_emit(is_frequent ? LOG_LVL_DEBUG : LOG_LVL_INFO, renewed[source], LOG_FIELDS(cluster(c)));
}

/* ---- Can it be used? */

static void fail(struct cred *c, enum cred_item item, const char *why)
{
    const struct cred_source *src = item_of(c, item);
    struct err *err = &c->err[source_of(c, item)];

    if (err->kind != ERR_OK)
        return;
    err_set(err, ERR_CREDENTIAL, 0, "%s %s: %s%s%s%s", item_names[item],
            src->path != NULL ? src->path : "of the kubeconfig", why,
            src->named_by != NULL ? " (" : "", src->named_by != NULL ? src->named_by : "",
            src->named_by != NULL ? ")" : "");
}

/* Cuts off white space around a token, as client-go does. */
static void trim(struct buf *b)
{
    size_t skip = 0;

    while (b->len > 0 && isspace((unsigned char)b->data[b->len - 1]))
        b->len--;
    while (skip < b->len && isspace((unsigned char)b->data[skip]))
        skip++;
    buf_consume(b, skip);
}

/* Returns NULL, or why the token cannot be used: a byte that a header must not have could add a
 * header of its own. */
static const char *check_token(const struct buf *b)
{
    if (b->len == 0)
        return "is empty";
    for (size_t i = 0; i < b->len; i++)
        if (!isgraph((unsigned char)b->data[i]))
            return "holds white space or control bytes: one token is expected";
    return NULL;
}

/* The name of an item's source in messages. */
static const char *name_of(const struct cred *c, enum cred_item item)
{
    static const char *const data_names[] = {
        "certificate-authority-data of the kubeconfig",
        "client-certificate-data of the kubeconfig",
        "client-key-data of the kubeconfig",
        "the kubeconfig",
    };
    const struct cred_source *src = item_of(c, item);

    if (source_of(c, item) == CREDENTIALS_PLUGIN)
        return c->plugin_output;
    if (src->path == NULL || (item == CRED_TOKEN && c->has_stand_in_token))
        return data_names[item];
    return src->name != NULL ? src->name : src->path;
}

static struct tls_ctx_params tls_params(const struct cred *c, const struct buf *items)
{
    return (struct tls_ctx_params){.ca_pem = buf_str(&items[CRED_CA]),
                                   .cert_pem = buf_str(&items[CRED_CERT]),
                                   .key_pem = buf_str(&items[CRED_KEY]),
                                   .ca_from = name_of(c, CRED_CA),
                                   .cert_from = name_of(c, CRED_CERT),
                                   .key_from = name_of(c, CRED_KEY),
                                   .insecure = c->params.insecure};
}

/* Can the credential of the plugin be used? It has a token, a pair, or both. */
static bool check_plugin(struct cred *c, const struct tls_ctx_params *p)
{
    struct err *err = &c->err[CREDENTIALS_PLUGIN];
    bool has_token = c->read[CRED_TOKEN].len > 0 || p->cert_pem.n == 0;
    const char *why = has_token ? check_token(&c->read[CRED_TOKEN]) : NULL;

    if (why != NULL)
        err_set(err, ERR_CREDENTIAL, 0, "%s: the token %s", c->plugin_output, why);
    return why == NULL && (p->cert_pem.n == 0 || tls_check_pair(p, err) == ERR_OK);
}

/* Can the bytes that were read of the source be used? If not, c->err says why. */
static bool check(struct cred *c, enum credentials_source source)
{
    const struct tls_ctx_params p = tls_params(c, c->read);
    const char *why = NULL;

    switch (source) {
    case CREDENTIALS_CA:
        return tls_check_ca(&p, &c->err[source]) == ERR_OK;
    case CREDENTIALS_PAIR:
        return tls_check_pair(&p, &c->err[source]) == ERR_OK;
    case CREDENTIALS_TOKEN:
        why = check_token(&c->read[CRED_TOKEN]);
        if (why != NULL)
            fail(c, CRED_TOKEN, why);
        return why == NULL;
    case CREDENTIALS_PLUGIN:
        return check_plugin(c, &p);
    case CREDENTIALS_SOURCES:
        break;
    }
    panic("there is no such source of credentials");
}

static struct digest digest_read(const struct cred *c, enum credentials_source source)
{
    struct digest all[CRED_ITEMS] = {0};

    for (enum cred_item i = CRED_CA; i < CRED_ITEMS; i++)
        if (source_of(c, i) == source)
            all[i] = digest_of(c->read[i].data, c->read[i].len);
    return digest_of(all, sizeof(all));
}

/* ---- Use */

/* Is the source configured, and nothing of it in use yet? */
static bool is_lacking(const struct cred *c, enum credentials_source source)
{
    size_t used = 0;

    for (enum cred_item i = CRED_CA; i < CRED_ITEMS; i++)
        used += source_of(c, i) == source ? c->used[i].len : 0;
    return how_of(c, source) != CREDENTIALS_NONE && used == 0;
}

/* Certificate, key or CA are other ones. They were checked, so an error is a bug; the earlier
 * context stays then. */
static void use_tls(const struct cred *c)
{
    const struct tls_ctx_params p = tls_params(c, c->used);
    struct tls_ctx *ctx;
    struct err err;

    if (is_lacking(c, CREDENTIALS_CA) || is_lacking(c, CREDENTIALS_PAIR) ||
        is_lacking(c, CREDENTIALS_PLUGIN))
        return; /* at the start, another one is still to be read */
    if (tls_ctx_create(&p, &ctx, &err) != ERR_OK) {
        log_error("credentials cannot be used", cluster(c), KV_ERR(&err));
        return;
    }
    c->events->on_tls(c->arg, ctx);
    tls_ctx_unref(&ctx);
}

static void note_authorities(struct cred *c)
{
    struct tls_keys before = c->authorities;

    tls_keys_read(buf_str(&c->used[CRED_CA]), &c->authorities);
    if (c->authorities.n > 0)
        tls_keys_add(&c->authorities, &before);
}

/* Tells when the items of the source that are in use expire. A key has no date of its own. */
static void note_expiry(struct cred *c, enum credentials_source source)
{
    static const enum expiry_item items[CRED_ITEMS] = {
        [CRED_CA] = EXPIRY_CA, [CRED_CERT] = EXPIRY_CERT, [CRED_TOKEN] = EXPIRY_TOKEN};

    for (enum cred_item i = CRED_CA; i < CRED_ITEMS; i++) {
        if (source_of(c, i) != source || i == CRED_KEY)
            continue;
        if (source == CREDENTIALS_PLUGIN)
            expiry_driver_set_given(c->expiry, items[i], buf_str(&c->used[i]), name_of(c, i),
                                    c->plugin_till_s);
        else
            expiry_driver_set(c->expiry, items[i], buf_str(&c->used[i]), name_of(c, i));
    }
}

/* Takes the bytes that were read of the item into use. Returns whether they differ from those before. */
static bool use_item(struct cred *c, enum cred_item item)
{
    bool is_new = !str_eq(buf_str(&c->used[item]), buf_str(&c->read[item]));

    wipe(&c->used[item]);
    c->used[item] = c->read[item];
    c->read[item] = (struct buf){0};
    return is_new;
}

/* Takes the items that were read of the source into use. A plugin may give a new token with the same
 * certificate: then connections stay. */
static void use(struct cred *c, enum credentials_source source)
{
    bool is_token_new = false;
    bool is_tls_new = source == CREDENTIALS_PLUGIN && is_lacking(c, source);

    for (enum cred_item i = CRED_CA; i < CRED_ITEMS; i++) {
        if (source_of(c, i) != source)
            continue;
        bool is_new = use_item(c, i);
        is_token_new = is_token_new || (is_new && i == CRED_TOKEN);
        is_tls_new = is_tls_new || (is_new && i != CRED_TOKEN);
    }
    note_expiry(c, source);
    if (source == CREDENTIALS_CA)
        note_authorities(c);
    if (is_token_new)
        c->events->on_token(c->arg,
                            c->used[CRED_TOKEN].len > 0 ? buf_cstr(&c->used[CRED_TOKEN]) : NULL);
    if (is_tls_new)
        use_tls(c);
}

/* Puts the token of the kubeconfig where that of the file would be. False: there is none that can
 * be used. */
static bool read_stand_in(struct cred *c)
{
    const char *data = item_of(c, CRED_TOKEN)->data;

    wipe(&c->read[CRED_TOKEN]);
    if (data == NULL)
        return false;
    buf_puts(&c->read[CRED_TOKEN], data);
    trim(&c->read[CRED_TOKEN]);
    return check_token(&c->read[CRED_TOKEN]) == NULL;
}

/* ---- Readings */

/* When a token expires, in seconds since 1970; 0 = never, or it does not say. */
static uint64_t expiry_of_token(const struct buf *token)
{
    int64_t issued_s;
    int64_t expires_s;

    return token_dates(buf_str(token), &issued_s, &expires_s) ? (uint64_t)expires_s : 0;
}

/* When the credential of a plugin expires: by its expirationTimestamp, or by the dates of token and
 * certificate themselves if they end earlier. 0 = never, or it is not known. */
static uint64_t expiry_of_plugin(const struct cred *c)
{
    struct expiry said = {0};

    expiry_set_given(&said, EXPIRY_TOKEN, buf_str(&c->read[CRED_TOKEN]), "", c->plugin_till_s);
    expiry_set_given(&said, EXPIRY_CERT, buf_str(&c->read[CRED_CERT]), "", c->plugin_till_s);
    int64_t till_s = expiry_first_s(&said, 0);
    expiry_fini(&said);
    return (uint64_t)till_s;
}

/* Looks into the bytes that were read of the source, for kube/credentials to judge. */
static struct credentials_reading look_at(struct cred *c, enum credentials_source source)
{
    struct credentials_reading r = {.wall_s = loop_wall_ns() / NS_PER_S};

    if (source == CREDENTIALS_PAIR && is_combined(c))
        buf_append_str(&c->read[CRED_KEY], buf_str(&c->read[CRED_CERT]));
    if (source == source_of(c, CRED_TOKEN))
        trim(&c->read[CRED_TOKEN]);
    r.digest = digest_read(c, source);
    r.is_good = c->err[source].kind == ERR_OK &&
                (credentials_has(&c->credentials, source, r.digest) || check(c, source));
    if (source == CREDENTIALS_TOKEN && r.is_good)
        r.expires_s = expiry_of_token(&c->read[CRED_TOKEN]);
    if (source == CREDENTIALS_PLUGIN && r.is_good)
        r.expires_s = expiry_of_plugin(c);
    return r;
}

/* The log tells of a trouble once, and once more when it is over; the status tells of it all the
 * time in between. */
static void tell_good(struct cred *c, enum credentials_source source, bool is_news)
{
    if (is_news)
        tell_recovery(c, source);
    c->trouble[source] = (struct err){0};
}

static void tell_bad(struct cred *c, enum credentials_source source,
                     enum credentials_verdict verdict, bool is_news)
{
    if (is_news)
        tell_failure(c, source, verdict);
    else
        log_debug("new credentials cannot be used yet", cluster(c), KV_ERR(&c->err[source]));
    if (is_news || c->trouble[source].kind != ERR_OK)
        c->trouble[source] = c->err[source];
}

/* The source was read, well or not: uses it or leaves it. */
static void complete(struct cred *c, enum credentials_source source)
{
    bool is_first = is_lacking(c, source);
    const struct credentials_reading r = look_at(c, source);
    bool is_news;
    enum credentials_verdict verdict =
        credentials_judge(&c->credentials, source, &r, loop_now_ms(c->params.loop), &is_news);

    if (r.is_good)
        tell_good(c, source, is_news);
    else
        tell_bad(c, source, verdict, is_news);
    if (verdict == CREDENTIALS_LACK && c->events->on_lack != NULL)
        c->events->on_lack(c->arg, &c->err[source]);
    if (verdict == CREDENTIALS_USE && !is_first)
        tell_renewal(c, source);
    if (verdict == CREDENTIALS_USE || (verdict == CREDENTIALS_STAND_IN && read_stand_in(c))) {
        if (source == CREDENTIALS_TOKEN)
            c->has_stand_in_token = verdict == CREDENTIALS_STAND_IN;
        use(c, source);
    } else if (verdict == CREDENTIALS_SAME && source == CREDENTIALS_PLUGIN) {
        note_expiry(c, source); /* a plugin may give the same token for a longer time */
    }
    for (enum cred_item i = CRED_CA; i < CRED_ITEMS; i++)
        if (source_of(c, i) == source)
            wipe(&c->read[i]);
}

/* The file counts before the data. The helper opens it, because only the helper may have the rights
 * to (docs/design.md "Two processes"); cred_opened() gets the answer. */
static void read_item(struct cred *c, enum cred_item item)
{
    const struct cred_source *src = item_of(c, item);

    wipe(&c->read[item]);
    if (item == CRED_KEY && is_combined(c))
        return;
    if (src->path != NULL) {
        c->waiting[source_of(c, item)]++;
        helper_link_open(c->params.link, src->file, c->params.tag + item);
    } else if (src->data != NULL) {
        buf_puts(&c->read[item], src->data);
    }
}

/* A source that is gone is never judged again, so it is never due again either. */
static void read_source(struct cred *c, enum credentials_source source)
{
    if (c->is_gone[source])
        return;
    c->err[source] = (struct err){0};
    if (source == CREDENTIALS_PLUGIN) {
        exec_plugin_run(c->plugin); /* on_plugin_end() comes later */
        return;
    }
    for (enum cred_item i = CRED_CA; i < CRED_ITEMS; i++)
        if (source_of(c, i) == source)
            read_item(c, i);
    if (c->waiting[source] == 0)
        complete(c, source);
}

/* Is on_ready to come now? */
static bool is_due(const struct cred *c)
{
    return !c->is_ready && credentials_are_usable(&c->credentials);
}

/* on_ready is due at once if nothing is configured. */
static void schedule(const struct cred *c)
{
    deadline_start_at(c->timer, is_due(c) ? 0 : credentials_due_ms(&c->credentials));
}

/* Reads the sources that are due. */
static void go_on(struct cred *c)
{
    enum credentials_source source;

    while (credentials_take(&c->credentials, loop_now_ms(c->params.loop), &source))
        read_source(c, source);
    bool has_become_ready = is_due(c);
    if (has_become_ready && c->params.insecure && c->plugin == NULL &&
        how_of(c, CREDENTIALS_PAIR) == CREDENTIALS_NONE)
        use_tls(c); /* nothing that was read led to a context */
    c->is_ready = c->is_ready || has_become_ready;
    schedule(c);
    if (has_become_ready)
        c->events->on_ready(c->arg);
}

static void on_timer(void *arg)
{
    go_on(arg);
}

/* Returns NULL, or why it could not be read, for the error. The reads may block the loop for a moment:
 * credentials are small files. */
static const char *read_file(int fd, struct buf *out)
{
    int error = read_all(fd, MAX_FILE_BYTES, out);

    if (error == 0)
        return NULL;
    return error == EFBIG ? "larger than 1 MiB" : strerror(error);
}

void cred_opened(struct cred *c, uint64_t tag, int fd, int error)
{
    enum cred_item item = (enum cred_item)(tag - c->params.tag);

    ensure(tag >= c->params.tag && item < CRED_ITEMS && c->waiting[source_of(c, item)] > 0);
    const char *why = fd >= 0          ? read_file(fd, &c->read[item])
                      : error == EPERM ? "not trusted: the helper has logged who could change it"
                      : error == EACCES
                          ? "Permission denied; the user that informerd is started as "
                            "must be able to read it"
                          : strerror(error);
    if (why != NULL)
        fail(c, item, why);
    if (fd >= 0)
        close(fd);
    if (--c->waiting[source_of(c, item)] > 0)
        return;
    complete(c, source_of(c, item));
    go_on(c);
}

/* An exec_plugin_cb. An expiry before 1970 is over as well, and 0 would mean that there is none. */
static void on_plugin_end(void *arg, const struct exec_credential *credential,
                          const struct err *err)
{
    struct cred *c = arg;

    c->plugin_till_s = 0;
    c->err[CREDENTIALS_PLUGIN] = *err;
    if (credential != NULL) {
        buf_append_str(&c->read[CRED_CERT], buf_str(&credential->cert_pem));
        buf_append_str(&c->read[CRED_KEY], buf_str(&credential->key_pem));
        buf_append_str(&c->read[CRED_TOKEN], buf_str(&credential->token));
        if (credential->expires)
            c->plugin_till_s =
                credential->expires_ms >= MS_PER_S ? credential->expires_ms / MS_PER_S : 1;
    }
    complete(c, CREDENTIALS_PLUGIN);
    go_on(c);
}

void cred_changed(struct cred *c, uint32_t file)
{
    for (enum cred_item i = CRED_CA; i < CRED_ITEMS; i++)
        if (c->params.items[i].path != NULL && c->params.items[i].file == file &&
            !c->is_gone[source_of(c, i)])
            credentials_changed(&c->credentials, source_of(c, i), loop_now_ms(c->params.loop));
    schedule(c);
}

void cred_renumber(struct cred *c, const uint32_t files[CRED_ITEMS], uint32_t plugin)
{
    for (enum cred_item i = CRED_CA; i < CRED_ITEMS; i++) {
        c->params.items[i].file = files[i];
        if (c->params.items[i].path != NULL && files[i] == CRED_GONE)
            c->is_gone[source_of(c, i)] = true;
    }
    if (c->plugin == NULL)
        return;
    exec_plugin_renumber(c->plugin, plugin);
    if (plugin == CRED_GONE)
        c->is_gone[CREDENTIALS_PLUGIN] = true;
}

void cred_renew(struct cred *c)
{
    credentials_refused(&c->credentials, loop_now_ms(c->params.loop));
    schedule(c);
}

/* ---- Begin and end */

struct cred *cred_create(const struct cred_params *params, const struct cred_events *events,
                         void *arg)
{
    struct cred *c = MEM_NEW(struct cred, .params = *params, .events = events, .arg = arg);
    struct credentials_params p = {.retry = params->retry, .seed = params->seed};

    if (params->plugin.command != NULL && params->tls)
        c->plugin = exec_plugin_create(&params->plugin, on_plugin_end, c);
    (void)snprintf(c->plugin_output, sizeof(c->plugin_output), "the output of exec plugin %.100s",
                   params->plugin.command != NULL ? params->plugin.command : "");
    for (enum credentials_source s = CREDENTIALS_CA; s < CREDENTIALS_SOURCES; s++)
        p.how[s] = how_of(c, s);
    p.has_stand_in[CREDENTIALS_TOKEN] = read_stand_in(c);
    wipe(&c->read[CRED_TOKEN]);
    credentials_init(&c->credentials, &p, loop_now_ms(params->loop));
    c->timer = deadline_create(params->loop, on_timer, c);
    c->expiry = expiry_driver_create(params->loop, params->cluster, params->expiry_ms);
    schedule(c);
    return c;
}

const struct tls_keys *cred_authorities(const struct cred *c)
{
    return &c->authorities;
}

const struct expiry *cred_expiry(const struct cred *c)
{
    return expiry_driver_expiry(c->expiry);
}

const char *cred_trouble(const struct cred *c)
{
    for (int i = 0; i < CREDENTIALS_SOURCES; i++)
        if (c->trouble[i].kind != ERR_OK)
            return c->trouble[i].text;
    return NULL;
}

void cred_dispose(struct cred **cp)
{
    struct cred *c = *cp;

    if (c == NULL)
        return;
    *cp = NULL;
    for (int i = 0; i < CRED_ITEMS; i++) {
        wipe(&c->read[i]);
        wipe(&c->used[i]);
    }
    exec_plugin_dispose(&c->plugin);
    deadline_dispose(&c->timer);
    expiry_driver_dispose(&c->expiry);
    free(c);
}
