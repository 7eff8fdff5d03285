/* SPDX-License-Identifier: Apache-2.0 */
#include "app/rbac.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/visible.h"
#include "kube/resource.h"
#include "kube/token.h"
#include "proto/tls_identity.h"

/* Comments that stand above a rule in the printed YAML. */
#define WHY_IDENTITY \
    "its uid says which cluster this is: asked on new connections; without it the CA's key does"
#define WHY_PLURAL "must be the plural: kubectl api-resources has it"

/* The user whom a credential names, and the text that the name was read from. */
struct holder {
    struct rbac_subject subject; /* borrows from the members below */
    struct tls_identity identity;
    char *account;
};

static void free_holder(struct holder *h)
{
    tls_identity_fini(&h->identity);
    free(h->account);
}

static enum err_kind from_certificate(struct holder *h, struct str pem, struct err *err)
{
    if (!tls_identity_read(pem, &h->identity))
        return err_set(err, ERR_CREDENTIAL, 0, "the client certificate has no readable CN");
    h->subject = (struct rbac_subject){.kind = RBAC_USER, .name = str_c(h->identity.user)};
    return ERR_OK;
}

/* If this is the name of a service account, has h name it as one; else returns false. */
static bool from_account(struct holder *h, const char *name)
{
    static const char prefix[] = "system:serviceaccount:";
    struct err ignored;

    if (strncmp(name, prefix, sizeof(prefix) - 1) != 0)
        return false;
    h->account = mem_printf("ServiceAccount:%s", name + sizeof(prefix) - 1);
    return rbac_parse_subject(h->account, &h->subject, &ignored) == ERR_OK;
}

/* Takes the subject of a token only if it is a service account. For other tokens `sub` need not be
 * the name of the user: the server may take another claim, or put a prefix before it. */
static enum err_kind from_token(struct holder *h, struct str token, struct err *err)
{
    char *sub = token_subject(token);
    bool known = sub != NULL && from_account(h, sub);

    free(sub);
    if (!known)
        return err_set(err, ERR_CREDENTIAL, 0, "the token is not that of a service account");
    return ERR_OK;
}

/* name must live as long as h. */
static enum err_kind from_name(struct holder *h, const char *name)
{
    if (!from_account(h, name))
        h->subject = (struct rbac_subject){.kind = RBAC_USER, .name = str_c(name)};
    return ERR_OK;
}

static bool is_set(const struct cred_source *item)
{
    return item->data != NULL || item->path != NULL;
}

/* Reads whom a certificate or token names. */
static enum err_kind from_item(struct holder *h, const struct cluster_access_list *l,
                               const struct cluster_server *s, struct err *err)
{
    bool certificate = is_set(&s->items[CRED_CERT]);
    struct buf text = {0};
    enum err_kind kind =
        cluster_access_read_item(l, &s->items[certificate ? CRED_CERT : CRED_TOKEN], &text, err);

    if (kind == ERR_OK)
        kind = certificate ? from_certificate(h, buf_str(&text), err)
                           : from_token(h, buf_str(&text), err);
    mem_wipe(text.data, text.cap);
    buf_free(&text);
    return kind;
}

/* Finds out as whom informerd makes requests in a cluster. An impersonation replaces the user of
 * the credential. An API server looks at the certificate first, so a password or token counts only
 * without one (docs/kubernetes-protocol.md "Which credential counts"). All servers of a cluster must
 * know the same user, so the first one tells. */
static enum err_kind find_holder(struct holder *h, const struct cluster_access_list *l,
                                 const struct cluster_access *a, struct err *err)
{
    const struct cluster_server *s = &a->servers[0];

    if (a->awaits != NULL)
        return err_set(err, ERR_CREDENTIAL, 0, "the kubeconfig does not exist yet: %s", a->awaits);
    if (a->kubeconfig.impersonation.user != NULL)
        return from_name(h, a->kubeconfig.impersonation.user);
    if (is_set(&s->items[CRED_CERT]) || is_set(&s->items[CRED_TOKEN]))
        return from_item(h, l, s, err);
    if (a->kubeconfig.username != NULL)
        return from_name(h, a->kubeconfig.username);
    if (a->exec != NULL)
        return err_set(err, ERR_CREDENTIAL, 0,
                       "the credential comes from an exec plugin, which --print-rbac does not "
                       "start");
    return err_set(err, ERR_CREDENTIAL, 0,
                   "there is no client certificate, no token and no username");
}

/* Grants the rights for one namespace of a watch. Each name of the watch is a list and a watch with
 * the field selector metadata.name=NAME, for which servers look at resourceNames
 * (docs/kubernetes-protocol.md "RBAC"). */
static void grant_space(struct rbac *rbac, const struct conf_watch *w, struct rbac_grant *g)
{
    for (size_t i = 0; i < w->names.n; i++) {
        g->name = w->names.v[i].v;
        rbac_grant(rbac, g);
    }
    if (w->names.n == 0)
        rbac_grant(rbac, g);
}

static void grant_watch(struct rbac *rbac, const struct conf_watch *w, const struct resource *r)
{
    struct rbac_grant g = {
        .ns = "",
        .group = r->group,
        .plural = r->plural,
        .name = "",
        /* confirm_deletes asks for single objects. */
        .verbs = RBAC_LIST | RBAC_WATCH | (w->confirm_deletes.v ? RBAC_GET : 0u),
        .why = resource_is_known(r) ? "" : WHY_PLURAL,
    };
    bool everywhere = w->namespaces.n == 0 || strcmp(w->namespaces.v[0].v, "*") == 0;

    for (size_t i = 0; i < w->namespaces.n && !everywhere; i++) {
        g.ns = w->namespaces.v[i].v;
        grant_space(rbac, w, &g);
    }
    if (everywhere)
        grant_space(rbac, w, &g);
}

/* The group of a custom resource is not in our table, and no server is asked here: so its full name
 * must be in the configuration. */
static void take_watch(struct rbac *rbac, const struct conf_watch *w, struct problems *p)
{
    struct resource r = {0};
    struct err err;

    if (resource_parse(w->resource.v, &r, &err) != ERR_OK)
        problems_add(p, w->resource.at, "watches.%s.resource: %s", w->name.v, err.text);
    else if (!resource_has_path(&r))
        problems_add(p, w->resource.at,
                     "watches.%s.resource: \"%s\" is none of Kubernetes' own, so only a server "
                     "knows its group: write RESOURCE.VERSION.GROUP with the plural, as kubectl "
                     "api-resources has them, such as widgets.v1.example.com",
                     w->name.v, w->resource.v);
    else
        grant_watch(rbac, w, &r);
    resource_fini(&r);
}

/* Adds a hint: a right for a group of the certificate spares one binding for each node. */
static void put_groups(const struct holder *h, struct buf *out)
{
    for (size_t i = 0; i < h->identity.group_count; i++) {
        struct rbac_subject group = {.kind = RBAC_GROUP, .name = str_c(h->identity.groups[i])};

        buf_puts(out, "# Or for all whose certificate has the same O: --subject ");
        rbac_put_subject(&group, out);
        buf_putc(out, '\n');
    }
}

/* Adds one line for a user, group or extra value that the credential must be allowed to impersonate. */
static void put_impersonated(const char *resource, char *const *names, size_t n, struct buf *out)
{
    for (size_t i = 0; i < n; i++) {
        if (i == 0)
            buf_printf(out, "#   on %s: ", resource);
        else
            buf_puts(out, ", ");
        rbac_put_quoted(str_c(names[i]), out);
    }
    buf_puts(out, n > 0 ? "\n" : "");
}

/* Adds a hint: the roles are for the user in whose name requests are made, and the holder of the
 * credential needs rights of its own. */
static void put_impersonation(const struct impersonation *i, struct buf *out)
{
    if (i->user == NULL)
        return;
    buf_puts(out, "# The credential makes requests in this name: it needs the verb impersonate\n");
    put_impersonated("users (of a service account: serviceaccounts)", &i->user, 1, out);
    put_impersonated("uids.authentication.k8s.io", &i->uid, i->uid != NULL ? 1 : 0, out);
    put_impersonated("groups", i->groups, i->group_count, out);
    for (size_t k = 0; k < i->extra_count; k++) {
        const struct impersonation_extra *extra = &i->extra[k];
        struct buf resource = {0};

        buf_puts(&resource, "userextras.authentication.k8s.io/");
        rbac_put_quoted(str_c(extra->key), &resource);
        put_impersonated(buf_cstr(&resource), extra->values, extra->value_count, out);
        buf_free(&resource);
    }
}

static void put_cluster(struct rbac *rbac, const struct conf_cluster *c, const struct holder *h,
                        const struct impersonation *impersonation, struct buf *out)
{
    buf_printf(out, "# cluster %s, for ", c->name.v);
    rbac_put_subject(&h->subject, out);
    buf_puts(out,
             "\n# Discovery needs nothing: system:discovery is for all who are authenticated.\n");
    put_groups(h, out);
    put_impersonation(impersonation, out);
    rbac_put(rbac, &h->subject, out);
}

/* Grants the LIST that asks which cluster it is (docs/design.md "Cluster identity"). */
static void take_identity(struct rbac *rbac)
{
    static const struct rbac_grant identity = {
        .ns = "",
        .group = "",
        .plural = "namespaces",
        .name = "kube-system",
        .verbs = RBAC_GET | RBAC_LIST,
        .why = WHY_IDENTITY,
    };

    rbac_grant(rbac, &identity);
}

/* Grants the rights for all watches of a cluster; false if it has no watch. */
static bool take_watches(struct rbac *rbac, const struct conf *conf, const struct conf_cluster *c,
                         struct problems *p)
{
    bool any = false;

    for (size_t i = 0; i < conf->n_watches; i++) {
        const struct conf_watch *w = &conf->watches[i];

        if (conf_find_cluster(conf, w->cluster.v) != c)
            continue;
        take_watch(rbac, w, p);
        any = true;
    }
    return any;
}

static void complain(const char *cluster, const struct err *err)
{
    struct buf line = {0};

    visible_put(&line, str_c(err->text));
    fprintf(stderr,
            "informerd: cluster %s: %s: say who it is with --subject User:NAME, Group:NAME or "
            "ServiceAccount:NAMESPACE:NAME\n",
            cluster, buf_cstr(&line));
    buf_free(&line);
}

/* Appends the roles and bindings of one cluster. False, with a line on stderr, if nobody is given
 * and the credential names nobody. */
static bool print_cluster(const struct conf_cluster *c, const struct cluster_access_list *l,
                          const struct cluster_access *a, struct rbac *rbac,
                          const struct rbac_subject *given, struct buf *out)
{
    struct holder h = {0};
    struct err err;
    bool known = true;

    if (given != NULL)
        h.subject = *given;
    else
        known = find_holder(&h, l, a, &err) == ERR_OK;
    if (known)
        put_cluster(rbac, c, &h, &a->kubeconfig.impersonation, out);
    else
        complain(c->name.v, &err);
    free_holder(&h);
    return known;
}

/* Goes on after an error, so that all errors are told in one go. */
static int put_clusters(const struct conf *conf, const struct cluster_access_list *cluster_access,
                        const struct rbac_subject *subject, struct buf *out)
{
    struct problems p = {0};
    struct buf told = {0};
    bool known = true;

    for (size_t i = 0; i < conf->n_clusters; i++) {
        const struct conf_cluster *c = &conf->clusters[i];
        struct rbac *rbac = rbac_create();

        take_identity(rbac);
        if (take_watches(rbac, conf, c, &p))
            known = print_cluster(c, cluster_access, &cluster_access->v[i], rbac, subject, out) &&
                    known;
        else
            buf_printf(out, "# cluster %s: no watch uses it\n", c->name.v);
        rbac_destroy(&rbac);
    }
    problems_put(&p, &told);
    fputs(buf_cstr(&told), stderr);
    buf_free(&told);
    int code = problems_count(&p) > 0 ? EXIT_CODE_CONFIG : known ? EXIT_CODE_OK : EXIT_CODE_USAGE;
    problems_free(&p);
    return code;
}

int rbac_print(const struct conf *conf, const struct cluster_access_list *cluster_access,
               const struct rbac_subject *subject)
{
    struct buf out = {0};
    int code = put_clusters(conf, cluster_access, subject, &out);

    /* Half of the roles must not look like all of them: nothing is printed after an error. */
    if (code == EXIT_CODE_OK &&
        (fwrite(out.data, 1, out.len, stdout) != out.len || fflush(stdout) != 0))
        code = EXIT_CODE_FAILED;
    buf_free(&out);
    return code;
}
