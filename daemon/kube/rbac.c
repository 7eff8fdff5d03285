/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/rbac.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "kube/resource.h"

#define API_GROUP "rbac.authorization.k8s.io"

enum { LABEL_MAX = 63, NAME_MAX_BYTES = 253 };

static const char *const kinds[RBAC_KINDS] = {"User", "Group", "ServiceAccount"};

struct grant {
    char *ns;
    char *group;
    char *plural;
    char *name;
    char *why;
    unsigned verbs;
};

struct rbac {
    struct grant *v;
    size_t n;
};

/* A rule that is being made: its resources and names, beside group, verbs and comment of its
 * first grant. */
struct rule {
    const struct grant *first;
    struct buf resources; /* quoted, with commas */
    struct buf names;     /* the same; empty = any */
};

struct rules {
    struct rule *v;
    size_t n;
};

struct rbac *rbac_create(void)
{
    return mem_zalloc(sizeof(struct rbac));
}

static void free_grant(struct grant *g)
{
    free(g->ns);
    free(g->group);
    free(g->plural);
    free(g->name);
    free(g->why);
}

void rbac_destroy(struct rbac **r)
{
    if (*r == NULL)
        return;
    for (size_t i = 0; i < (*r)->n; i++)
        free_grant(&(*r)->v[i]);
    free((*r)->v);
    free(*r);
    *r = NULL;
}

void rbac_grant(struct rbac *r, const struct rbac_grant *g)
{
    r->v = mem_realloc(r->v, (r->n + 1) * sizeof(*r->v));
    r->v[r->n++] = (struct grant){
        .ns = mem_strdup(g->ns),
        .group = mem_strdup(g->group),
        .plural = mem_strdup(g->plural),
        .name = mem_strdup(g->name),
        .why = mem_strdup(g->why),
        .verbs = g->verbs,
    };
}

static int compare_grants(const void *a, const void *b)
{
    const struct grant *x = a;
    const struct grant *y = b;
    int d = strcmp(x->ns, y->ns);

    d = d != 0 ? d : strcmp(x->group, y->group);
    d = d != 0 ? d : strcmp(x->plural, y->plural);
    d = d != 0 ? d : strcmp(x->name, y->name);
    return d != 0 ? d : strcmp(y->why, x->why); /* the grant with a comment first */
}

/* Sorts the grants, by namespace first, and makes one of those that differ only in verbs and
 * comment. The one with a comment stands first, so its comment stays. */
static void unite(struct rbac *r)
{
    size_t n = 0;

    if (r->n > 0)
        qsort(r->v, r->n, sizeof(*r->v), compare_grants);
    for (size_t i = 0; i < r->n; i++) {
        struct grant *last = n > 0 ? &r->v[n - 1] : NULL;
        struct grant *g = &r->v[i];

        if (last == NULL || strcmp(last->ns, g->ns) != 0 || strcmp(last->group, g->group) != 0 ||
            strcmp(last->plural, g->plural) != 0 || strcmp(last->name, g->name) != 0) {
            r->v[n++] = *g;
        } else {
            last->verbs |= g->verbs;
            free_grant(g);
        }
    }
    r->n = n;
}

/* Does wide cover whatever g is for, verbs aside? A grant without namespace is for the whole
 * cluster, one without name for every object. */
static bool covers(const struct grant *wide, const struct grant *g)
{
    bool place = wide->ns[0] == '\0' || strcmp(wide->ns, g->ns) == 0;
    bool name = wide->name[0] == '\0' || strcmp(wide->name, g->name) == 0;

    return wide != g && place && name && strcmp(wide->group, g->group) == 0 &&
           strcmp(wide->plural, g->plural) == 0;
}

/* Takes verbs that a wider grant has from the narrower one. The order makes no difference: a
 * grant that covers the wider one also covers the narrower one. */
static void narrow(struct rbac *r)
{
    for (size_t i = 0; i < r->n; i++)
        for (size_t k = 0; k < r->n; k++)
            if (covers(&r->v[k], &r->v[i]))
                r->v[i].verbs &= ~r->v[k].verbs;
}

/* Writes one character of n bytes as a YAML escape; n = 0, a byte that is no UTF-8, becomes
 * U+FFFD. */
static void put_utf8(const unsigned char *p, size_t n, struct buf *out)
{
    uint32_t code = n == 0 ? 0xfffd : n == 1 ? p[0] : p[0] & (0xffu >> (n + 1));

    for (size_t i = 1; i < n; i++)
        code = code << 6 | (p[i] & 0x3f);
    buf_printf(out, "\\U%08" PRIX32, code);
}

/* Appends s as a YAML string in double quotes, in ASCII whatever s holds. A YAML comment may hold it
 * as well, as there is no line end in it. */
void rbac_put_quoted(struct str s, struct buf *out)
{
    const unsigned char *p = (const unsigned char *)s.p;

    buf_putc(out, '"');
    for (size_t i = 0; i < s.n;) {
        size_t n = utf8_len(p + i, s.n - i);

        if (n == 1 && p[i] >= ' ' && p[i] <= '~')
            buf_printf(out, "%s%c", p[i] == '"' || p[i] == '\\' ? "\\" : "", p[i]);
        else
            put_utf8(p + i, n, out);
        i += n > 0 ? n : 1;
    }
    buf_putc(out, '"');
}

static void put_item(struct buf *list, const char *text)
{
    if (list->len > 0)
        buf_puts(list, ", ");
    rbac_put_quoted(str_c(text), list);
}

/* Could both grants stand in one rule, as far as group, verbs and comment go? */
static bool same_head(const struct grant *a, const struct grant *b)
{
    return strcmp(a->group, b->group) == 0 && a->verbs == b->verbs && strcmp(a->why, b->why) == 0;
}

/* The rule that the name of this grant can be added to: a rule of the same resource, which has
 * names already. A rule without names allows all objects, so it takes no name. */
static struct rule *rule_for_name(struct rules *rules, const struct grant *g)
{
    for (size_t i = 0; i < rules->n; i++) {
        struct rule *r = &rules->v[i];

        if (g->name[0] != '\0' && r->names.len > 0 && same_head(r->first, g) &&
            strcmp(r->first->plural, g->plural) == 0)
            return r;
    }
    return NULL;
}

static void add_grant(struct rules *rules, const struct grant *g)
{
    struct rule *r = rule_for_name(rules, g);

    if (r == NULL) {
        r = &rules->v[rules->n++];
        r->first = g;
        put_item(&r->resources, g->plural);
    }
    if (g->name[0] != '\0')
        put_item(&r->names, g->name);
}

static void free_rule(struct rule *r)
{
    buf_free(&r->resources);
    buf_free(&r->names);
}

/* Makes one rule of those that differ only in their resources. Rules with a comment stay apart,
 * as the comment is about their resource. */
static void fold(struct rules *rules)
{
    size_t n = 0;

    for (size_t i = 0; i < rules->n; i++) {
        struct rule *r = &rules->v[i];
        size_t k = 0;

        while (k < n && (r->first->why[0] != '\0' || !same_head(rules->v[k].first, r->first) ||
                         !str_eq(buf_str(&rules->v[k].names), buf_str(&r->names))))
            k++;
        if (k == n) {
            rules->v[n++] = *r;
            continue;
        }
        buf_puts(&rules->v[k].resources, ", ");
        buf_append_str(&rules->v[k].resources, buf_str(&r->resources));
        free_rule(r);
    }
    rules->n = n;
}

static void put_list(struct buf *out, const char *key, const struct buf *items)
{
    if (items->len > 0)
        buf_printf(out, "    %s: [%.*s]\n", key, STR_ARG(buf_str(items)));
}

static void put_rule(struct buf *out, const struct rule *r)
{
    static const char *const verbs[] = {"get", "list", "watch"};
    struct buf list = {0};

    for (size_t i = 0; i < ARRAY_LEN(verbs); i++)
        /* The bits of enum rbac_verb are in the order of these words. */
        if (r->first->verbs & 1u << i)
            put_item(&list, verbs[i]);
    if (r->first->why[0] != '\0')
        buf_printf(out, "  # %s\n", r->first->why);
    buf_puts(out, "  - apiGroups: [");
    rbac_put_quoted(str_c(r->first->group), out);
    buf_puts(out, "]\n");
    put_list(out, "resources", &r->resources);
    put_list(out, "resourceNames", &r->names);
    put_list(out, "verbs", &list);
    buf_free(&list);
}

/* Writes the name of all roles and bindings, quoted. It depends on the subject alone, not on the
 * configuration: roles that are printed and applied later replace those that were printed before. RBAC
 * takes any byte but / and % in names. A name in which bytes had to be replaced gets a digest, so that
 * two subjects never share it. */
static void put_role_name(struct buf *out, const struct rbac_subject *s)
{
    struct buf text = {0};
    bool changed = false;

    buf_puts(&text, s->ns.n > 0 ? ":" : "");
    buf_append_str(&text, s->ns);
    buf_putc(&text, ':');
    buf_append_str(&text, s->name);
    struct digest digest = digest_of(text.data, text.len);
    for (size_t i = 0; i < text.len; i++)
        if (!isalnum((unsigned char)text.data[i]) && strchr(".:@_-", text.data[i]) == NULL) {
            text.data[i] = '-';
            changed = true;
        }
    buf_puts(out, "\"informerd-");
    for (const char *c = kinds[s->kind]; *c != '\0'; c++)
        buf_putc(out, (char)tolower((unsigned char)*c));
    buf_append_str(out, buf_str(&text));
    if (changed)
        buf_printf(out, "-%08" PRIx32, (uint32_t)digest.lo);
    buf_putc(out, '"');
    buf_free(&text);
}

/* Writes a document from its beginning to the end of its metadata. */
static void put_head(struct buf *out, const char *kind, const char *ns, const char *name)
{
    buf_printf(out,
               "---\n"
               "apiVersion: " API_GROUP "/v1\n"
               "kind: %s\n"
               "metadata:\n"
               "  name: %s\n",
               kind, name);
    if (ns[0] == '\0')
        return;
    buf_puts(out, "  namespace: ");
    rbac_put_quoted(str_c(ns), out);
    buf_putc(out, '\n');
}

/* A service account has a namespace and no apiGroup; users and groups are the other way round. */
static void put_binding(struct buf *out, const char *role, const char *name,
                        const struct rbac_subject *s)
{
    buf_printf(out,
               "roleRef:\n"
               "  apiGroup: " API_GROUP "\n"
               "  kind: %s\n"
               "  name: %s\n"
               "subjects:\n"
               "  - kind: %s\n",
               role, name, kinds[s->kind]);
    if (s->ns.n > 0) {
        buf_puts(out, "    namespace: ");
        rbac_put_quoted(s->ns, out);
    } else {
        buf_puts(out, "    apiGroup: " API_GROUP);
    }
    buf_puts(out, "\n    name: ");
    rbac_put_quoted(s->name, out);
    buf_putc(out, '\n');
}

/* Writes the rules of n grants of one namespace. */
static void put_rules(struct buf *out, const struct grant *v, size_t n)
{
    struct rules rules = {.v = mem_array(n, sizeof(struct rule))};

    for (size_t i = 0; i < n; i++)
        add_grant(&rules, &v[i]);
    fold(&rules);
    buf_puts(out, "rules:\n");
    for (size_t i = 0; i < rules.n; i++) {
        put_rule(out, &rules.v[i]);
        free_rule(&rules.v[i]);
    }
    free(rules.v);
}

/* Removes grants that have no verbs left. */
static void drop_empty(struct rbac *r)
{
    size_t n = 0;

    for (size_t i = 0; i < r->n; i++) {
        if (r->v[i].verbs != 0)
            r->v[n++] = r->v[i];
        else
            free_grant(&r->v[i]);
    }
    r->n = n;
}

void rbac_put(struct rbac *r, const struct rbac_subject *subject, struct buf *out)
{
    struct buf role_name = {0};

    put_role_name(&role_name, subject);
    unite(r);
    narrow(r);
    drop_empty(r);
    /* Grants are sorted by namespace: each run of one namespace is a role, the first one, of "",
     * a ClusterRole. */
    for (size_t i = 0, n; i < r->n; i += n) {
        const char *ns = r->v[i].ns;
        const char *name = buf_cstr(&role_name);

        for (n = 1; i + n < r->n && strcmp(r->v[i + n].ns, ns) == 0;)
            n++;
        put_head(out, ns[0] != '\0' ? "Role" : "ClusterRole", ns, name);
        put_rules(out, &r->v[i], n);
        put_head(out, ns[0] != '\0' ? "RoleBinding" : "ClusterRoleBinding", ns, name);
        put_binding(out, ns[0] != '\0' ? "Role" : "ClusterRole", name, subject);
    }
    buf_free(&role_name);
}

static bool is_utf8(struct str s)
{
    size_t n = 1;

    for (size_t i = 0; i < s.n && n > 0; i += n)
        n = utf8_len((const unsigned char *)s.p + i, s.n - i);
    return s.n > 0 && n > 0;
}

static bool is_subject(const struct rbac_subject *s)
{
    if (s->kind != RBAC_SERVICE_ACCOUNT)
        return is_utf8(s->name);
    return resource_is_dns(s->ns, "-", LABEL_MAX) && resource_is_dns(s->name, "-.", NAME_MAX_BYTES);
}

enum err_kind rbac_parse_subject(const char *text, struct rbac_subject *out, struct err *err)
{
    struct str kind = str_of(text, strcspn(text, ":"));
    const char *rest = text[kind.n] == ':' ? text + kind.n + 1 : "";
    size_t ns = strcspn(rest, ":");

    *out = (struct rbac_subject){.kind = RBAC_USER};
    while (out->kind < RBAC_KINDS && !resource_is_word(kind, kinds[out->kind]))
        out->kind++;
    out->name = str_c(rest);
    if (out->kind == RBAC_SERVICE_ACCOUNT) {
        out->ns = str_of(rest, ns);
        out->name = str_c(rest[ns] == ':' ? rest + ns + 1 : "");
    }
    if (out->kind < RBAC_KINDS && is_subject(out))
        return ERR_OK;
    return err_set(err, ERR_CONFIG, 0,
                   "\"%.100s\" is no subject: write User:NAME, Group:NAME or "
                   "ServiceAccount:NAMESPACE:NAME",
                   text);
}

void rbac_put_subject(const struct rbac_subject *subject, struct buf *out)
{
    struct buf text = {0};

    buf_printf(&text, "%s:%.*s%s%.*s", kinds[subject->kind], STR_ARG(subject->ns),
               subject->ns.n > 0 ? ":" : "", STR_ARG(subject->name));
    rbac_put_quoted(buf_str(&text), out);
    buf_free(&text);
}
