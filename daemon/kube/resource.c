/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/resource.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "base/panic.h"
#include "proto/url.h"

/* Lengths of a DNS label and a DNS subdomain. */
enum { LABEL_MAX = 63, GROUP_MAX = 253 };

/* A row of the table. The singular needs no column, as it is the kind in small letters. */
struct builtin {
    const char *plural;
    const char *kind;
    const char *shorts; /* separated by spaces */
    const char *group;
    const char *version;
    enum resource_scope scope;
};

/* Groups and the version to ask for. Every supported server (Kubernetes 1.30 to 1.36) serves
 * these. Younger resources (servicecidrs, resourceclaims, ...) are not in the table: their
 * version depends on the server, so discovery finds them
 * (docs/decisions.md "Discovery is asked only for names that are not built in"). */
#define CORE         "", "v1"
#define APPS         "apps", "v1"
#define BATCH        "batch", "v1"
#define AUTOSCALING  "autoscaling", "v2"
#define NETWORKING   "networking.k8s.io", "v1"
#define DISCOVERY    "discovery.k8s.io", "v1"
#define POLICY       "policy", "v1"
#define RBAC         "rbac.authorization.k8s.io", "v1"
#define STORAGE      "storage.k8s.io", "v1"
#define COORDINATION "coordination.k8s.io", "v1"
#define NODE         "node.k8s.io", "v1"
#define SCHEDULING   "scheduling.k8s.io", "v1"
#define EXTENSIONS   "apiextensions.k8s.io", "v1"
#define REGISTRATION "apiregistration.k8s.io", "v1"
#define ADMISSION    "admissionregistration.k8s.io", "v1"
#define CERTIFICATES "certificates.k8s.io", "v1"
#define EVENTS       "events.k8s.io", "v1"
#define FLOWCONTROL  "flowcontrol.apiserver.k8s.io", "v1"
#define ROW(...)    \
    {               \
        __VA_ARGS__ \
    }

/* Kubernetes' own resources that can be listed and watched. The core group comes first, as a bare
 * name means the first row that has it: "events" is the resource of the core group. */
static const struct builtin builtins[] = {
    ROW("configmaps", "ConfigMap", "cm", CORE, RESOURCE_NAMESPACED),
    ROW("endpoints", "Endpoints", "ep", CORE, RESOURCE_NAMESPACED),
    ROW("events", "Event", "ev", CORE, RESOURCE_NAMESPACED),
    ROW("limitranges", "LimitRange", "limits", CORE, RESOURCE_NAMESPACED),
    ROW("namespaces", "Namespace", "ns", CORE, RESOURCE_CLUSTER_SCOPED),
    ROW("nodes", "Node", "no", CORE, RESOURCE_CLUSTER_SCOPED),
    ROW("persistentvolumeclaims", "PersistentVolumeClaim", "pvc", CORE, RESOURCE_NAMESPACED),
    ROW("persistentvolumes", "PersistentVolume", "pv", CORE, RESOURCE_CLUSTER_SCOPED),
    ROW("pods", "Pod", "po", CORE, RESOURCE_NAMESPACED),
    ROW("podtemplates", "PodTemplate", "", CORE, RESOURCE_NAMESPACED),
    ROW("replicationcontrollers", "ReplicationController", "rc", CORE, RESOURCE_NAMESPACED),
    ROW("resourcequotas", "ResourceQuota", "quota", CORE, RESOURCE_NAMESPACED),
    ROW("secrets", "Secret", "", CORE, RESOURCE_NAMESPACED),
    ROW("serviceaccounts", "ServiceAccount", "sa", CORE, RESOURCE_NAMESPACED),
    ROW("services", "Service", "svc", CORE, RESOURCE_NAMESPACED),
    ROW("controllerrevisions", "ControllerRevision", "", APPS, RESOURCE_NAMESPACED),
    ROW("daemonsets", "DaemonSet", "ds", APPS, RESOURCE_NAMESPACED),
    ROW("deployments", "Deployment", "deploy", APPS, RESOURCE_NAMESPACED),
    ROW("replicasets", "ReplicaSet", "rs", APPS, RESOURCE_NAMESPACED),
    ROW("statefulsets", "StatefulSet", "sts", APPS, RESOURCE_NAMESPACED),
    ROW("cronjobs", "CronJob", "cj", BATCH, RESOURCE_NAMESPACED),
    ROW("jobs", "Job", "", BATCH, RESOURCE_NAMESPACED),
    ROW("horizontalpodautoscalers", "HorizontalPodAutoscaler", "hpa", AUTOSCALING,
        RESOURCE_NAMESPACED),
    ROW("ingressclasses", "IngressClass", "", NETWORKING, RESOURCE_CLUSTER_SCOPED),
    ROW("ingresses", "Ingress", "ing", NETWORKING, RESOURCE_NAMESPACED),
    ROW("networkpolicies", "NetworkPolicy", "netpol", NETWORKING, RESOURCE_NAMESPACED),
    ROW("endpointslices", "EndpointSlice", "", DISCOVERY, RESOURCE_NAMESPACED),
    ROW("poddisruptionbudgets", "PodDisruptionBudget", "pdb", POLICY, RESOURCE_NAMESPACED),
    ROW("clusterrolebindings", "ClusterRoleBinding", "", RBAC, RESOURCE_CLUSTER_SCOPED),
    ROW("clusterroles", "ClusterRole", "", RBAC, RESOURCE_CLUSTER_SCOPED),
    ROW("rolebindings", "RoleBinding", "", RBAC, RESOURCE_NAMESPACED),
    ROW("roles", "Role", "", RBAC, RESOURCE_NAMESPACED),
    ROW("csidrivers", "CSIDriver", "", STORAGE, RESOURCE_CLUSTER_SCOPED),
    ROW("csinodes", "CSINode", "", STORAGE, RESOURCE_CLUSTER_SCOPED),
    ROW("csistoragecapacities", "CSIStorageCapacity", "", STORAGE, RESOURCE_NAMESPACED),
    ROW("storageclasses", "StorageClass", "sc", STORAGE, RESOURCE_CLUSTER_SCOPED),
    ROW("volumeattachments", "VolumeAttachment", "", STORAGE, RESOURCE_CLUSTER_SCOPED),
    ROW("leases", "Lease", "", COORDINATION, RESOURCE_NAMESPACED),
    ROW("runtimeclasses", "RuntimeClass", "", NODE, RESOURCE_CLUSTER_SCOPED),
    ROW("priorityclasses", "PriorityClass", "pc", SCHEDULING, RESOURCE_CLUSTER_SCOPED),
    ROW("customresourcedefinitions", "CustomResourceDefinition", "crd crds", EXTENSIONS,
        RESOURCE_CLUSTER_SCOPED),
    ROW("apiservices", "APIService", "", REGISTRATION, RESOURCE_CLUSTER_SCOPED),
    ROW("mutatingwebhookconfigurations", "MutatingWebhookConfiguration", "", ADMISSION,
        RESOURCE_CLUSTER_SCOPED),
    ROW("validatingadmissionpolicies", "ValidatingAdmissionPolicy", "", ADMISSION,
        RESOURCE_CLUSTER_SCOPED),
    ROW("validatingadmissionpolicybindings", "ValidatingAdmissionPolicyBinding", "", ADMISSION,
        RESOURCE_CLUSTER_SCOPED),
    ROW("validatingwebhookconfigurations", "ValidatingWebhookConfiguration", "", ADMISSION,
        RESOURCE_CLUSTER_SCOPED),
    ROW("certificatesigningrequests", "CertificateSigningRequest", "csr", CERTIFICATES,
        RESOURCE_CLUSTER_SCOPED),
    ROW("events", "Event", "ev", EVENTS, RESOURCE_NAMESPACED),
    ROW("flowschemas", "FlowSchema", "", FLOWCONTROL, RESOURCE_CLUSTER_SCOPED),
    ROW("prioritylevelconfigurations", "PriorityLevelConfiguration", "", FLOWCONTROL,
        RESOURCE_CLUSTER_SCOPED),
};

bool resource_is_word(struct str text, const char *word)
{
    return word != NULL && text.n == strlen(word) && strncasecmp(text.p, word, text.n) == 0;
}

bool resource_has_short(const char *shorts, struct str name)
{
    for (const char *at = shorts; at != NULL && *at != '\0'; at += strspn(at, " ")) {
        size_t n = strcspn(at, " ");

        if (n == name.n && strncasecmp(at, name.p, n) == 0)
            return true;
        at += n;
    }
    return false;
}

/* Finds a row by any of its words. group NULL = any. */
static const struct builtin *find_builtin(struct str name, const char *group)
{
    for (size_t i = 0; i < ARRAY_LEN(builtins); i++) {
        const struct builtin *b = &builtins[i];

        if ((group == NULL || strcasecmp(group, b->group) == 0) &&
            (resource_is_word(name, b->plural) || resource_is_word(name, b->kind) ||
             resource_has_short(b->shorts, name)))
            return b;
    }
    return NULL;
}

/* v, digits, and then perhaps alpha or beta with digits, as Kubernetes names versions. */
bool resource_is_version(struct str s)
{
    size_t i = 1;

    if (s.n < 2 || s.p[0] != 'v')
        return false;
    while (i < s.n && s.p[i] >= '0' && s.p[i] <= '9')
        i++;
    if (i == 1)
        return false;
    struct str rest = str_of(s.p + i, s.n - i);
    size_t word = rest.n > 5 && strncmp(rest.p, "alpha", 5) == 0  ? 5
                  : rest.n > 4 && strncmp(rest.p, "beta", 4) == 0 ? 4
                                                                  : 0;
    for (i = word; i < rest.n && rest.p[i] >= '0' && rest.p[i] <= '9'; i++)
        ;
    return rest.n == 0 || (word > 0 && i == rest.n);
}

bool resource_is_dns(struct str s, const char *punctuation, size_t max)
{
    for (size_t i = 0; i < s.n; i++) {
        bool edge = i == 0 || i == s.n - 1;
        bool plain = (s.p[i] >= 'a' && s.p[i] <= 'z') || (s.p[i] >= '0' && s.p[i] <= '9');

        if (!plain && (edge || s.p[i] == '\0' || strchr(punctuation, s.p[i]) == NULL))
            return false;
        /* The first byte is never a point, so there is one before this. */
        if (s.p[i] == '.' && s.p[i - 1] == '.')
            return false;
    }
    return s.n > 0 && s.n <= max;
}

/* The names of Kubernetes are ASCII, and tolower() would depend on the locale. */
static char *small_letters(struct str s)
{
    char *out = mem_strndup(s.p, s.n);

    for (size_t i = 0; i < s.n; i++)
        if (out[i] >= 'A' && out[i] <= 'Z')
            out[i] = (char)(out[i] - 'A' + 'a');
    return out;
}

/* The words of a name; version.n 0 = no version, group NULL = no group. */
struct parts {
    struct str name;
    struct str version;
    const char *group;
};

/* Splits a name. A second word that looks like a version and has a point behind it is one; a
 * group like v1.example.com has to be written with its version before it. */
static struct parts split(const char *text)
{
    struct parts p = {.name = str_of(text, strcspn(text, "."))};
    const char *rest = text + p.name.n;

    if (*rest == '\0')
        return p;
    p.group = rest + 1;
    struct str second = str_of(p.group, strcspn(p.group, "."));
    if (p.group[second.n] == '.' && resource_is_version(second)) {
        p.version = second;
        p.group += second.n + 1;
    }
    return p;
}

/* A version without a group behind it is most likely meant to be of the core group, which is
 * written with a point at the end: the error says that. */
static enum err_kind check_syntax(const char *text, const struct parts *p, struct err *err)
{
    char *name = small_letters(p->name);
    char *group = small_letters(str_c(p->group));
    bool core = p->version.n > 0 && group[0] == '\0';
    bool name_fits = resource_is_dns(str_c(name), "-", LABEL_MAX);
    bool fits =
        name_fits && (p->group == NULL || core || resource_is_dns(str_c(group), "-.", GROUP_MAX));
    bool lacks_point = fits && p->version.n == 0 && resource_is_version(str_c(group));

    free(name);
    free(group);
    if (lacks_point)
        return err_set(err, ERR_CONFIG, 0, "\"%s\" is no resource: write %s. for the core group",
                       text, text);
    if (!fits)
        return err_set(err, ERR_CONFIG, 0,
                       "\"%.100s\" is no resource: write NAME, NAME.GROUP or NAME.VERSION.GROUP of "
                       "letters, digits and -, such as services, deployments.apps or "
                       "widgets.v1.example.com",
                       text);
    return ERR_OK;
}

enum err_kind resource_parse(const char *text, struct resource *out, struct err *err)
{
    struct parts p = split(text);
    enum err_kind kind = check_syntax(text, &p, err);

    if (kind != ERR_OK)
        return kind;
    /* The version that the user has written counts, even if the table has another one. */
    const struct builtin *b = find_builtin(p.name, p.group);
    struct str version = p.version.n > 0 ? p.version : str_c(b != NULL ? b->version : NULL);
    *out = (struct resource){
        .text = mem_strdup(text),
        .plural = b != NULL ? mem_strdup(b->plural) : small_letters(p.name),
        .group = b != NULL         ? mem_strdup(b->group)
                 : p.group != NULL ? small_letters(str_c(p.group))
                                   : NULL,
        .version = version.n > 0 ? mem_strndup(version.p, version.n) : NULL,
        .kind = b != NULL ? mem_strdup(b->kind) : NULL,
        .scope = b != NULL ? b->scope : RESOURCE_SCOPE_UNKNOWN,
    };
    return ERR_OK;
}

bool resource_is_known(const struct resource *r)
{
    return resource_has_path(r) && r->kind != NULL && r->scope != RESOURCE_SCOPE_UNKNOWN;
}

bool resource_has_path(const struct resource *r)
{
    return r->group != NULL && r->version != NULL;
}

void resource_copy(struct resource *out, const struct resource *r)
{
    *out = (struct resource){
        .text = mem_strdup(r->text),
        .plural = mem_strdup(r->plural),
        .group = mem_strdup(r->group),
        .version = mem_strdup(r->version),
        .kind = mem_strdup(r->kind),
        .scope = r->scope,
    };
}

void resource_fini(struct resource *r)
{
    free(r->text);
    free(r->plural);
    free(r->group);
    free(r->version);
    free(r->kind);
    *r = (struct resource){0};
}

/* The core group is under /api, all others are under /apis. */
void resource_put_path(struct buf *out, const struct resource *r, const char *ns)
{
    ensure(resource_has_path(r));
    buf_puts(out, r->group[0] != '\0' ? "/apis/" : "/api/");
    resource_put_api_version(out, r);
    if (ns != NULL && ns[0] != '\0') {
        buf_puts(out, "/namespaces/");
        url_put_escaped(out, str_c(ns));
    }
    buf_putc(out, '/');
    buf_puts(out, r->plural);
}

void resource_put_api_version(struct buf *out, const struct resource *r)
{
    ensure(resource_has_path(r));
    if (r->group[0] != '\0')
        buf_printf(out, "%s/", r->group);
    buf_puts(out, r->version);
}

enum err_kind resource_no_verb(const struct resource *r, enum resource_verb verb, struct err *err)
{
    static const char *const words[][2] = {
        [RESOURCE_LIST] = {"listed",  "list" },
        [RESOURCE_WATCH] = {"watched", "watch"},
    };
    struct buf version = {0};

    resource_put_api_version(&version, r);
    err_set(err, ERR_NO_VERB, 405, "%.150s %.80s cannot be %s: the API has no %s verb",
            buf_cstr(&version), r->plural, words[verb][0], words[verb][1]);
    buf_free(&version);
    return ERR_NO_VERB;
}

void resource_put_name(struct buf *out, const struct resource *r)
{
    buf_puts(out, r->plural);
    if (r->group != NULL && r->group[0] != '\0')
        buf_printf(out, ".%s", r->group);
}
