/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/exec_credential.h"

#include "base/base64.h"
#include "base/mem.h"
#include "base/rfc3339.h"
#include "proto/json_out.h"
#include "proto/json_pick.h"
#include "proto/json_tree.h"

/* ---- KUBERNETES_EXEC_INFO */

static void put_text(struct json_out *j, const char *key, const char *text)
{
    if (text == NULL || text[0] == '\0')
        return;
    json_out_key(j, key);
    json_out_cstr(j, text);
}

static void put_flag(struct json_out *j, const char *key, bool is_set)
{
    if (!is_set)
        return;
    json_out_key(j, key);
    json_out_bool(j, true);
}

static void put_ca(struct json_out *j, struct str pem)
{
    if (pem.n == 0)
        return;
    json_out_key(j, "certificate-authority-data");
    struct buf *raw = json_out_raw(j);
    buf_putc(raw, '"');
    base64_encode(pem, raw);
    buf_putc(raw, '"');
}

static void put_cluster(struct json_out *j, const struct exec_credential_cluster *c)
{
    json_out_key(j, "cluster");
    json_out_open(j, '{');
    put_text(j, "server", c->server);
    put_text(j, "tls-server-name", c->tls_server_name);
    put_flag(j, "insecure-skip-tls-verify", c->insecure_skip_tls_verify);
    put_ca(j, c->ca_pem);
    put_text(j, "proxy-url", c->proxy_url);
    put_flag(j, "disable-compression", c->disable_compression);
    if (c->config != NULL) {
        json_out_key(j, "config");
        buf_puts(json_out_raw(j), c->config);
    }
    json_out_close(j, '}');
}

void exec_credential_put_info(const char *api_version,
                              const struct exec_credential_cluster *cluster, struct buf *out)
{
    struct json_out j = json_out_to(out);

    json_out_open(&j, '{');
    json_out_key(&j, "kind");
    json_out_cstr(&j, "ExecCredential");
    json_out_key(&j, "apiVersion");
    json_out_cstr(&j, api_version);
    json_out_key(&j, "spec");
    json_out_open(&j, '{');
    json_out_key(&j, "interactive");
    json_out_bool(&j, false);
    if (cluster != NULL)
        put_cluster(&j, cluster);
    json_out_close(&j, '}');
    json_out_close(&j, '}');
}

/* ---- The answer */

static enum err_kind refuse(struct err *err, const char *why)
{
    return err_set(err, ERR_CREDENTIAL, 0, "its output %s", why);
}

static void copy_text(const struct json_tree *t, unsigned in, const char *name, struct buf *out)
{
    struct str text = json_pick_str(t, in, name);

    buf_make_room(out, text.n + 1); /* for buf_cstr(), too: a secret never moves */
    buf_append_str(out, text);
}

/* The apiVersion is shown only if it looks like one of the right group: in garbage it could be anything. */
static bool may_be_shown(struct str version)
{
    static const char group[] = "client.authentication.k8s.io/";
    bool good = version.n >= sizeof(group) - 1 && version.n < 60 &&
                memcmp(version.p, group, sizeof(group) - 1) == 0;

    for (size_t i = sizeof(group) - 1; good && i < version.n; i++)
        good = (version.p[i] >= 'a' && version.p[i] <= 'z') ||
               (version.p[i] >= '0' && version.p[i] <= '9');
    return good;
}

static enum err_kind refuse_version(struct str version, const char *api_version, struct err *err)
{
    bool is_known = may_be_shown(version);

    return err_set(err, ERR_CREDENTIAL, 0,
                   "its output has %s%.*s, but the kubeconfig says %s: write into the kubeconfig "
                   "what the plugin prints",
                   is_known ? "the apiVersion " : "another apiVersion",
                   is_known ? (int)version.n : 0, is_known ? version.p : "", api_version);
}

static enum err_kind check_type(const struct json_tree *t, const char *api_version, struct err *err)
{
    struct str version = json_pick_str(t, 0, "apiVersion");

    if (t->v[0].type != JSON_OBJECT)
        return refuse(err, "is no ExecCredential: a JSON object is expected");
    if (!str_is(json_pick_str(t, 0, "kind"), "ExecCredential"))
        return refuse(err, "is no ExecCredential: its kind is another one");
    return str_eq(version, str_c(api_version)) ? ERR_OK : refuse_version(version, api_version, err);
}

static enum err_kind read_expiry(const struct json_tree *t, unsigned status,
                                 struct exec_credential *out, struct err *err)
{
    unsigned at = json_pick(t, status, "expirationTimestamp");

    if (at == JSON_PICK_NONE || t->v[at].type == JSON_NULL)
        return ERR_OK;
    out->expires = rfc3339_read(json_pick_text(t, at), &out->expires_ms);
    return out->expires
               ? ERR_OK
               : refuse(err, "has an expirationTimestamp that is no time of RFC 3339, such as "
                             "2026-01-31T23:59:59Z");
}

/* json_pick_str() takes a member of another type for none: the error would name the wrong thing. */
static enum err_kind check_strings(const struct json_tree *t, unsigned status, struct err *err)
{
    static const char *const names[] = {"token", "clientCertificateData", "clientKeyData"};

    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        unsigned at = json_pick(t, status, names[i]);

        if (at != JSON_PICK_NONE && t->v[at].type != JSON_STRING && t->v[at].type != JSON_NULL)
            return err_set(err, ERR_CREDENTIAL, 0, "its output has a status.%s that is no string",
                           names[i]);
    }
    return ERR_OK;
}

static enum err_kind check_whole(const struct exec_credential *c, struct err *err)
{
    if (c->cert_pem.len == 0 && c->key_pem.len > 0)
        return refuse(err, "has a clientKeyData without clientCertificateData");
    if (c->cert_pem.len > 0 && c->key_pem.len == 0)
        return refuse(err, "has a clientCertificateData without clientKeyData");
    if (c->token.len == 0 && c->cert_pem.len == 0)
        return refuse(err, "has no credential: neither token nor clientCertificateData with "
                           "clientKeyData");
    return ERR_OK;
}

static enum err_kind read_tree(const struct json_tree *t, const char *api_version,
                               struct exec_credential *out, struct err *err)
{
    unsigned status = json_pick(t, 0, "status");
    enum err_kind kind;

    copy_text(t, status, "token", &out->token);
    copy_text(t, status, "clientCertificateData", &out->cert_pem);
    copy_text(t, status, "clientKeyData", &out->key_pem);
    kind = check_type(t, api_version, err);
    if (kind == ERR_OK && (status == JSON_PICK_NONE || t->v[status].type != JSON_OBJECT))
        kind = refuse(err, "has no status");
    if (kind == ERR_OK)
        kind = check_strings(t, status, err);
    if (kind == ERR_OK)
        kind = check_whole(out, err);
    return kind == ERR_OK ? read_expiry(t, status, out, err) : kind;
}

enum err_kind exec_credential_read(struct str text, const char *api_version,
                                   struct exec_credential *out, struct err *err)
{
    struct json_tree tree = {.text = text};
    enum err_kind kind;

    *out = (struct exec_credential){0};
    if (text.n > EXEC_CREDENTIAL_MAX)
        return err_set(err, ERR_TOO_BIG, 0, "its output is larger than 1 MiB");
    if (json_tree_read(&tree, NULL) == ERR_OK)
        kind = read_tree(&tree, api_version, out, err);
    else
        kind = refuse(err, text.n == 0 ? "is empty" : "is no JSON");
    mem_wipe(tree.decoded.data, tree.decoded.cap);
    json_tree_free(&tree);
    return kind;
}

static void wipe(struct buf *b)
{
    mem_wipe(b->data, b->cap);
    buf_free(b);
}

void exec_credential_fini(struct exec_credential *c)
{
    wipe(&c->token);
    wipe(&c->cert_pem);
    wipe(&c->key_pem);
    *c = (struct exec_credential){0};
}
