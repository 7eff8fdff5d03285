/* SPDX-License-Identifier: Apache-2.0 */
/*
 * catalog - what one API server serves: groups, their versions, the resources of each; pure. The
 * core group "" comes first, the others in the order of the server; in each the versions in its
 * order of preference. Names are valid in paths, words of people are compared in any case.
 */
#ifndef KUBE_CATALOG_H
#define KUBE_CATALOG_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/str.h"
#include "kube/resource.h"

/* Most groups and versions together, and most resources, that a catalog takes. */
enum { CATALOG_MAX_VERSIONS = 2048, CATALOG_MAX_RESOURCES = 65536 };

struct catalog_resource {
    char *plural;
    char *kind;
    char *singular; /* NULL = none is given; the kind serves as one anyway */
    char *shorts;   /* separated by blanks; NULL = none */
    enum resource_scope scope;
    bool listable;  /* has the verb list */
    bool watchable; /* has the verbs list and watch */
};

enum catalog_state {
    CATALOG_UNASKED, /* its resources are not known yet */
    CATALOG_LISTED,
    CATALOG_FAILED, /* they could not be asked; some may be known still */
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
    size_t versions;  /* groups and versions so far */
    size_t resources; /* resources so far */
};

/* One way to read a name; views of somebody's text. */
struct catalog_name {
    struct str name;
    bool has_version;
    bool has_group;
    struct str version;
    struct str group;
};

struct catalog_hit {
    const struct catalog_group *group;
    const struct catalog_version *version;
    const struct catalog_resource *resource;
};

/* Each adds *item at the end of its owner, which takes it over: *item is zeroed. */
void catalog_add_resource(struct catalog_version *to, struct catalog_resource *item);
/* See above. */
void catalog_add_version(struct catalog_group *to, struct catalog_version *item);

/* The same for a whole group. What CATALOG_MAX_* leaves no room for is ERR_TOO_BIG, and freed. */
enum err_kind catalog_add_group(struct catalog *to, struct catalog_group *item,
                                struct err *err) MUST_CHECK;

/* Each frees what it holds and zeroes it. */
void catalog_resource_fini(struct catalog_resource *r);
/* See above. */
void catalog_version_fini(struct catalog_version *v);
/* See above. */
void catalog_group_fini(struct catalog_group *g);
/* See above. */
void catalog_fini(struct catalog *c);

/* The version was asked in vain. */
void catalog_set_failed(struct catalog_version *v, const struct err *why);

/* How text may be read: NAME; NAME.GROUP; NAME.VERSION.GROUP. out[0] is to be tried first: the
 * latter if the second word looks like a version (resource_is_version()). Returns how many: 1 or
 * 2. */
size_t catalog_readings(const char *text, struct catalog_name out[2]);

/* May a name be of this group: it names none, this one or, without a version, its begin? */
bool catalog_concerns(const struct catalog_name *n, struct str group);

/* Finds what a name means: the equal group before one that begins so; a plural before a short name
 * before a singular or kind; then the order of the catalog. Only what can be watched, if so wanted.
 * False: nothing. */
bool catalog_find(const struct catalog *c, const struct catalog_name *n, bool watchable,
                  struct catalog_hit *out);

#endif
