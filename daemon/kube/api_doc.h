/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_doc - one body of a server's discovery, read into a catalog; pure. Aggregated
 * (APIGroupDiscoveryList v2, v2beta1) or one of the three old kinds. Members come in any order.
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
    struct catalog groups;          /* GROUP_DISCOVERY, GROUPS; VERSIONS: one, "" */
    struct catalog_version version; /* RESOURCES: without its name, LISTED */
};

/* Reads a whole body. Versions that are Stale (their own API server did not answer) come FAILED,
 * others that name no resources yet UNASKED. What cannot stand in a path, subresources, and groups
 * or resources without a name are left out. ERR_PROTOCOL: not JSON, or none of these kinds;
 * ERR_TOO_BIG: see catalog.h. *out needs api_doc_fini() after ERR_OK only. */
enum err_kind api_doc_parse(struct str body, struct api_doc *out, struct err *err) MUST_CHECK;

/* Frees what is left in it. */
void api_doc_fini(struct api_doc *doc);

#endif
