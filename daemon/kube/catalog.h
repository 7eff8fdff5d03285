/* SPDX-License-Identifier: Apache-2.0 */
/*
 * catalog - the resources that one API server serves: groups, their versions, and the resources of each
 * version; pure. The core group "" comes first, the other groups in the order of the server, and the
 * versions of a group in its order of preference. Names are valid in paths. Words that people write are
 * compared in any case.
 */
#ifndef KUBE_CATALOG_H
#define KUBE_CATALOG_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/str.h"
#include "kube/resource.h"

/* A catalog takes at most so many groups and versions together, and so many resources. */
enum { CATALOG_MAX_VERSIONS = 2048, CATALOG_MAX_RESOURCES = 65536 };

struct catalog_resource {
    char *plural;
    char *kind;
    char *singular; /* NULL = not given; the kind serves as a singular anyway */
    char *shorts;   /* separated by blanks; NULL = none */
    enum resource_scope scope;
    bool listable;  /* has the verb list */
    bool watchable; /* has the verbs list and watch */
};

enum catalog_state {
    CATALOG_UNASKED, /* its resources are not known yet */
    CATALOG_LISTED,
    CATALOG_FAILED, /* could not be asked for its resources; some may be known still */
};

struct catalog_version {
    char *name; /* "v1" */
    enum catalog_state state;
    struct err *err; /* why it FAILED; NULL otherwise */
    struct catalog_resource *resources;
    size_t count;
};

struct catalog_group {
    char *name; /* "" = core */
    struct catalog_version *versions;
    size_t count;
};

/* Zero-initialised is empty. */
struct catalog {
    struct catalog_group *groups;
    size_t count;
    size_t versions;  /* number of groups and versions so far */
    size_t resources; /* number of resources so far */
};

/* The kinds of documents in which a server lists its groups and resources. */
enum catalog_doc_kind {
    CATALOG_DOC_GROUP_DISCOVERY, /* groups, versions and resources at once */
    CATALOG_DOC_GROUPS,          /* APIGroupList: groups and versions, the preferred one first */
    CATALOG_DOC_VERSIONS,        /* APIVersions: the versions of the core group */
    CATALOG_DOC_RESOURCES,       /* APIResourceList: of the group version that was asked for */
};

/* The contents of one document. */
struct catalog_doc {
    enum catalog_doc_kind kind;
    struct catalog groups;          /* GROUP_DISCOVERY, GROUPS; VERSIONS: one group, "" */
    struct catalog_version version; /* RESOURCES: LISTED, without a name */
};

/* One way to read a name. The strings are views of the text that catalog_readings() was given. */
struct catalog_name {
    struct str name;
    bool has_version;
    bool has_group;
    struct str version;
    struct str group;
};

/* A resource that was found, with its version and group; borrowed from the catalog. */
struct catalog_hit {
    const struct catalog_group *group;
    const struct catalog_version *version;
    const struct catalog_resource *resource;
};

/* Adds *item at the end of the catalog, which takes it over. ERR_TOO_BIG: CATALOG_MAX_* leave no room
 * for the group, which is then freed; *item is zeroed in any case. */
enum err_kind catalog_add_group(struct catalog *to, struct catalog_group *item,
                                struct err *err) MUST_CHECK;

/* Frees the entries of the catalog, and zeroes it. */
void catalog_fini(struct catalog *c);

/* Reads the whole body of an answer. A version that is marked Stale (its own API server did not answer) comes
 * FAILED, with the resources that the body has of it. Any other version comes LISTED in the
 * aggregated form, which has all its resources, and UNASKED in the older kinds. Names that cannot
 * stand in a path, subresources, and groups or resources without a name are left out.
 * ERR_PROTOCOL: the body is not JSON, or none of these kinds; ERR_TOO_BIG: it exceeds
 * CATALOG_MAX_VERSIONS or CATALOG_MAX_RESOURCES. *out needs catalog_doc_fini() after ERR_OK only. */
enum err_kind catalog_doc_parse(struct str body, struct catalog_doc *out,
                                struct err *err) MUST_CHECK;

/* Frees everything that the caller has not moved out of the document. */
void catalog_doc_fini(struct catalog_doc *doc);

/* Makes the version FAILED, as its resources could not be asked for. why is copied. */
void catalog_set_failed(struct catalog_version *v, const struct err *why);

/* Fills out with the ways to read text: NAME, NAME.GROUP or NAME.VERSION.GROUP. Returns their
 * number, 1 or 2. out[0] is to be tried first: NAME.VERSION.GROUP if the second word looks like a
 * version (resource_is_version()), else NAME.GROUP. */
size_t catalog_readings(const char *text, struct catalog_name out[2]);

/* May the resource of this name be in this group? It may if the name has no group, has this
 * group, or has no version and the beginning of this group, which kubectl takes as well. */
bool catalog_may_be_in(const struct catalog_name *n, struct str group);

/* Finds the resource that a name means. An equal group comes before one that begins like it; then
 * a plural before a short name before a singular or kind; then the order of the catalog decides.
 * With watchable only resources that can be listed and watched count. False: there is none, and
 * *out is of no use. */
bool catalog_find(const struct catalog *c, const struct catalog_name *n, bool watchable,
                  struct catalog_hit *out);

#endif
