/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_doc - reads one body of a server's discovery into a catalog; pure. The body has the
 * aggregated form (APIGroupDiscoveryList v2, v2beta1) or one of the three older kinds
 * (docs/kubernetes-protocol.md "Discovery"). Members come in any order.
 */
#ifndef KUBE_API_DOC_H
#define KUBE_API_DOC_H

#include "base/err.h"
#include "base/str.h"
#include "kube/catalog.h"

enum api_doc_kind {
    API_DOC_GROUP_DISCOVERY, /* groups, versions and resources at once */
    API_DOC_GROUPS,          /* APIGroupList: groups and versions, the preferred one first */
    API_DOC_VERSIONS,        /* APIVersions: the versions of the core group */
    API_DOC_RESOURCES,       /* APIResourceList: of the group version that was asked for */
};

struct api_doc {
    enum api_doc_kind kind;
    struct catalog groups;          /* GROUP_DISCOVERY, GROUPS; VERSIONS: one group, "" */
    struct catalog_version version; /* RESOURCES: LISTED, without a name */
};

/* Reads a whole body. A version that is marked Stale (its own API server did not answer) comes
 * FAILED, with the resources that the body has of it. Any other version comes LISTED in the
 * aggregated form, which has all its resources, and UNASKED in the older kinds. Names that cannot
 * stand in a path, subresources, and groups or resources without a name are left out.
 * ERR_PROTOCOL: the body is not JSON, or none of these kinds; ERR_TOO_BIG: it exceeds
 * CATALOG_MAX_VERSIONS or CATALOG_MAX_RESOURCES. *out needs api_doc_fini() after ERR_OK only. */
enum err_kind api_doc_parse(struct str body, struct api_doc *out, struct err *err) MUST_CHECK;

/* Frees everything that the caller has not moved out of the document. */
void api_doc_fini(struct api_doc *doc);

#endif
