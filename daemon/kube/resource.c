/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/resource.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "proto/url.h"

enum { LABEL_MAX = 63, GROUP_MAX = 253 };

/* The singular is the kind in small letters. */
struct builtin {
    const char *plural;
    const char *kind;
    const char *shorts; /* separated by spaces */
    const char *group;
    const char *version;
    enum resource_scope scope;
};

/* Groups and the version to ask for: what every supported server has (Kubernetes 1.30). */
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

/* What can be listed and watched, core first: a bare name means the first that has it. */
static const struct builtin builtins[] = {
    ROW("configmaps", "ConfigMap", "cm", CORE, SCOPE_NAMESPACED),
    ROW("endpoints", "Endpoints", "ep", CORE, SCOPE_NAMESPACED),
    ROW("events", "Event", "ev", CORE, SCOPE_NAMESPACED),
    ROW("limitranges", "LimitRange", "limits", CORE, SCOPE_NAMESPACED),
    ROW("namespaces", "Namespace", "ns", CORE, SCOPE_CLUSTER),
    ROW("nodes", "Node", "no", CORE, SCOPE_CLUSTER),
    ROW("persistentvolumeclaims", "PersistentVolumeClaim", "pvc", CORE, SCOPE_NAMESPACED),
    ROW("persistentvolumes", "PersistentVolume", "pv", CORE, SCOPE_CLUSTER),
    ROW("pods", "Pod", "po", CORE, SCOPE_NAMESPACED),
    ROW("podtemplates", "PodTemplate", "", CORE, SCOPE_NAMESPACED),
    ROW("replicationcontrollers", "ReplicationController", "rc", CORE, SCOPE_NAMESPACED),
    ROW("resourcequotas", "ResourceQuota", "quota", CORE, SCOPE_NAMESPACED),
    ROW("secrets", "Secret", "", CORE, SCOPE_NAMESPACED),
    ROW("serviceaccounts", "ServiceAccount", "sa", CORE, SCOPE_NAMESPACED),
    ROW("services", "Service", "svc", CORE, SCOPE_NAMESPACED),
    ROW("controllerrevisions", "ControllerRevision", "", APPS, SCOPE_NAMESPACED),
    ROW("daemonsets", "DaemonSet", "ds", APPS, SCOPE_NAMESPACED),
    ROW("deployments", "Deployment", "deploy", APPS, SCOPE_NAMESPACED),
    ROW("replicasets", "ReplicaSet", "rs", APPS, SCOPE_NAMESPACED),
    ROW("statefulsets", "StatefulSet", "sts", APPS, SCOPE_NAMESPACED),
    ROW("cronjobs", "CronJob", "cj", BATCH, SCOPE_NAMESPACED),
    ROW("jobs", "Job", "", BATCH, SCOPE_NAMESPACED),
    ROW("horizontalpodautoscalers", "HorizontalPodAutoscaler", "hpa", AUTOSCALING,
        SCOPE_NAMESPACED),
    ROW("ingressclasses", "IngressClass", "", NETWORKING, SCOPE_CLUSTER),
    ROW("ingresses", "Ingress", "ing", NETWORKING, SCOPE_NAMESPACED),
    ROW("networkpolicies", "NetworkPolicy", "netpol", NETWORKING, SCOPE_NAMESPACED),
    ROW("endpointslices", "EndpointSlice", "", DISCOVERY, SCOPE_NAMESPACED),
    ROW("poddisruptionbudgets", "PodDisruptionBudget", "pdb", POLICY, SCOPE_NAMESPACED),
    ROW("clusterrolebindings", "ClusterRoleBinding", "", RBAC, SCOPE_CLUSTER),
    ROW("clusterroles", "ClusterRole", "", RBAC, SCOPE_CLUSTER),
    ROW("rolebindings", "RoleBinding", "", RBAC, SCOPE_NAMESPACED),
    ROW("roles", "Role", "", RBAC, SCOPE_NAMESPACED),
    ROW("csidrivers", "CSIDriver", "", STORAGE, SCOPE_CLUSTER),
    ROW("csinodes", "CSINode", "", STORAGE, SCOPE_CLUSTER),
    ROW("csistoragecapacities", "CSIStorageCapacity", "", STORAGE, SCOPE_NAMESPACED),
    ROW("storageclasses", "StorageClass", "sc", STORAGE, SCOPE_CLUSTER),
    ROW("volumeattachments", "VolumeAttachment", "", STORAGE, SCOPE_CLUSTER),
    ROW("leases", "Lease", "", COORDINATION, SCOPE_NAMESPACED),
    ROW("runtimeclasses", "RuntimeClass", "", NODE, SCOPE_CLUSTER),
    ROW("priorityclasses", "PriorityClass", "pc", SCHEDULING, SCOPE_CLUSTER),
    ROW("customresourcedefinitions", "CustomResourceDefinition", "crd crds", EXTENSIONS,
        SCOPE_CLUSTER),
    ROW("apiservices", "APIService", "", REGISTRATION, SCOPE_CLUSTER),
    ROW("mutatingwebhookconfigurations", "MutatingWebhookConfiguration", "", ADMISSION,
        SCOPE_CLUSTER),
    ROW("validatingadmissionpolicies", "ValidatingAdmissionPolicy", "", ADMISSION, SCOPE_CLUSTER),
    ROW("validatingadmissionpolicybindings", "ValidatingAdmissionPolicyBinding", "", ADMISSION,
        SCOPE_CLUSTER),
    ROW("validatingwebhookconfigurations", "ValidatingWebhookConfiguration", "", ADMISSION,
        SCOPE_CLUSTER),
    ROW("certificatesigningrequests", "CertificateSigningRequest", "csr", CERTIFICATES,
        SCOPE_CLUSTER),
    ROW("events", "Event", "ev", EVENTS, SCOPE_NAMESPACED),
    ROW("flowschemas", "FlowSchema", "", FLOWCONTROL, SCOPE_CLUSTER),
    ROW("prioritylevelconfigurations", "PriorityLevelConfiguration", "", FLOWCONTROL,
        SCOPE_CLUSTER),
};

static bool same_word(struct str a, const char *b)
{
    return a.n == strlen(b) && strncasecmp(a.p, b, a.n) == 0;
}

static bool is_short(const struct builtin *b, struct str name)
{
    for (const char *at = b->shorts; *at != '\0'; at += strspn(at, " ")) {
        size_t n = strcspn(at, " ");

        if (n == name.n && strncasecmp(at, name.p, n) == 0)
            return true;
        at += n;
    }
    return false;
}

/* group NULL = any. */
static const struct builtin *find_builtin(struct str name, const char *group)
{
    for (size_t i = 0; i < ARRAY_LEN(builtins); i++) {
        const struct builtin *b = &builtins[i];

        if ((group == NULL || strcasecmp(group, b->group) == 0) &&
            (same_word(name, b->plural) || same_word(name, b->kind) || is_short(b, name)))
            return b;
    }
    return NULL;
}

/* v1, v2beta3, ... */
static bool is_version(struct str s)
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

/* Small letters, digits and -, also points if it is a group. */
static bool is_dns(struct str s, const char *punctuation, size_t max)
{
    for (size_t i = 0; i < s.n; i++) {
        bool edge = i == 0 || i == s.n - 1;
        bool plain = (s.p[i] >= 'a' && s.p[i] <= 'z') || (s.p[i] >= '0' && s.p[i] <= '9');

        if (!plain && (edge || strchr(punctuation, s.p[i]) == NULL))
            return false;
    }
    return s.n > 0 && s.n <= max;
}

static void fill(struct resource *out, const struct builtin *b, struct str version)
{
    *out = (struct resource){
        .plural = mem_strdup(b->plural),
        .group = mem_strdup(b->group),
        .version = mem_strndup(version.p, version.n),
        .kind = mem_strdup(b->kind),
        .scope = b->scope,
    };
}

static enum err_kind parse_full(struct str name, struct str version, const char *group,
                                struct resource *out, struct err *err)
{
    const struct builtin *b = find_builtin(name, group);

    if (b != NULL) {
        fill(out, b, version);
        return ERR_OK;
    }
    if (!is_dns(name, "-", LABEL_MAX) ||
        (group[0] != '\0' && !is_dns(str_c(group), "-.", GROUP_MAX)))
        return err_set(err, ERR_CONFIG, 0,
                       "\"%.*s.%.*s.%s\" is no resource: the plural and the group are small "
                       "letters, digits and -, such as widgets.v1.example.com",
                       STR_ARG(name), STR_ARG(version), group);
    *out = (struct resource){
        .plural = mem_strndup(name.p, name.n),
        .group = mem_strdup(group),
        .version = mem_strndup(version.p, version.n),
        .scope = SCOPE_UNKNOWN,
    };
    return ERR_OK;
}

enum err_kind resource_parse(const char *text, struct resource *out, struct err *err)
{
    struct str name = str_of(text, strcspn(text, "."));
    const char *rest = text[name.n] == '.' ? text + name.n + 1 : NULL;
    struct str second = rest != NULL ? str_of(rest, strcspn(rest, ".")) : str_of(NULL, 0);

    if (rest != NULL && is_version(second) && rest[second.n] == '.')
        return parse_full(name, second, rest + second.n + 1, out, err);
    if (rest != NULL && is_version(second) && rest[second.n] == '\0')
        return err_set(err, ERR_CONFIG, 0, "\"%s\" is no resource: write %s. for the core group",
                       text, text);

    const struct builtin *b = find_builtin(name, rest);
    if (b != NULL) {
        fill(out, b, str_c(b->version));
        return ERR_OK;
    }
    return err_set(err, ERR_CONFIG, 0,
                   "\"%.100s\" is none of Kubernetes' own resources: any other is named with "
                   "version and group, RESOURCE.VERSION.GROUP, such as widgets.v1.example.com",
                   text);
}

void resource_fini(struct resource *r)
{
    free(r->plural);
    free(r->group);
    free(r->version);
    free(r->kind);
    *r = (struct resource){0};
}

void resource_put_path(struct buf *out, const struct resource *r, const char *ns)
{
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
    if (r->group[0] != '\0')
        buf_printf(out, "%s/", r->group);
    buf_puts(out, r->version);
}

void resource_put_name(struct buf *out, const struct resource *r)
{
    buf_puts(out, r->plural);
    if (r->group[0] != '\0')
        buf_printf(out, ".%s", r->group);
}
