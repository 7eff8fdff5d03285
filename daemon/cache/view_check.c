/* SPDX-License-Identifier: Apache-2.0 */
/* Can a view be made of these watches? This is view_check() of cache/view.h. */
#include <string.h>

#include "base/panic.h"
#include "cache/view.h"
#include "kube/object_scan.h"
#include "proto/json_path.h"

/* A resource that a watch of a view may have, and an object of that kind with everything that the
 * view reads. A path that keep and drop leave out would be read as its default: for instance a Pod
 * that is not ready as ready. */
struct need {
    const char *plural;
    const char *group;
    const char *sample;
    const char *node; /* needed only for local_only */
    const char *paths[10];
};

static const struct need services = {
    .plural = "services",
    .group = "",
    .sample = "{\"metadata\":{\"namespace\":\"n\",\"name\":\"a\",\"uid\":\"u\"},\"spec\":{\"type\":"
              "\"t\",\"ports\":[{\"name\":\"p\",\"protocol\":\"q\",\"port\":1}]}}",
    .paths = {"spec.type", "spec.ports[*].name", "spec.ports[*].protocol", "spec.ports[*].port"},
};

static const struct need slices = {
    .plural = "endpointslices",
    .group = "discovery.k8s.io",
    .sample =
        "{\"metadata\":{\"namespace\":\"n\",\"name\":\"a\",\"uid\":\"u\",\"labels\":{"
        "\"kubernetes.io/"
        "service-name\":\"s\"}},\"addressType\":\"t\",\"endpoints\":[{\"addresses\":["
        "\"a\"],\"conditions\":{\"ready\":true,\"serving\":true,\"terminating\":true},\"nodeName\":"
        "\"n\"}],\"ports\":[{\"name\":\"p\",\"protocol\":\"q\",\"port\":1}]}",
    .node = "endpoints[*].nodeName",
    .paths = {"metadata.labels['kubernetes.io/service-name']", "addressType",
              "endpoints[*].addresses[*]", "endpoints[*].conditions.ready",
              "endpoints[*].conditions.serving", "endpoints[*].conditions.terminating",
              "ports[*].name", "ports[*].protocol", "ports[*].port"},
};

static const struct need endpoints = {
    .plural = "endpoints",
    .group = "",
    .sample = "{\"metadata\":{\"namespace\":\"n\",\"name\":\"a\",\"uid\":\"u\"},\"subsets\":[{"
              "\"addresses\":[{\"ip\":\"a\",\"nodeName\":\"n\"}],\"ports\":[{\"name\":\"p\","
              "\"protocol\":\"q\",\"port\":1}]}]}",
    .node = "subsets[*].addresses[*].nodeName",
    .paths = {"subsets[*].addresses[*].ip", "subsets[*].ports[*].name",
              "subsets[*].ports[*].protocol", "subsets[*].ports[*].port"},
};

static bool is_of(const struct watch *w, const struct need *need)
{
    const struct resource *r = watch_target(w);

    return strcmp(r->plural, need->plural) == 0 && r->group != NULL &&
           strcmp(r->group, need->group) == 0;
}

/* Appends what the watch would keep of the sample: the check uses the code that prunes objects, so
 * the two cannot disagree. */
static void put_kept(struct buf *out, const struct watch *w, const struct need *need)
{
    struct object_scan *scan = object_scan_create(list_watch_rules(watch_list_watch(w, 0)));
    struct object *o = NULL;

    object_scan_text(scan, str_c(need->sample));
    if (object_scan_end(scan, str_c("k"), str_c("v"), &o) == OBJECT_SCAN_OK)
        object_put_unversioned(out, o);
    else
        buf_puts(out, need->sample); /* over object_size: pruning cannot be tried */
    object_unref(&o);
    object_scan_destroy(&scan);
}

/* Does the path find anything in the object? The paths are constants, so they can be parsed. */
static bool selects(const char *text, struct str json)
{
    struct json_path *path = NULL;
    struct buf value = {0};

    ensure(json_path_parse(text, &path, NULL) == ERR_OK);
    const struct json_path *const paths[] = {path};
    ensure(json_path_values(paths, 1, json, &value, NULL) == ERR_OK);
    bool any = value.len > 0;
    json_path_destroy(&path);
    buf_free(&value);
    return any;
}

static const char *const setting_names[] = {
    [VIEW_SETTING_SERVICES] = "services", [VIEW_SETTING_SLICES] = "slices"};

static enum view_setting check_kept(enum view_setting setting, const struct watch *w,
                                    const struct need *need, bool local, struct err *err)
{
    const char *missing = NULL;
    struct buf kept = {0};

    if (watch_list_watch_count(w) == 0)
        return VIEW_SETTING_NONE; /* the rules need list_watches, which wait for discovery */
    put_kept(&kept, w, need);
    for (size_t i = 0; i < ARRAY_LEN(need->paths) && need->paths[i] != NULL; i++)
        if (missing == NULL && !selects(need->paths[i], buf_str(&kept)))
            missing = need->paths[i];
    if (missing == NULL && local && need->node != NULL && !selects(need->node, buf_str(&kept)))
        missing = need->node;
    buf_free(&kept);
    if (missing == NULL)
        return VIEW_SETTING_NONE;
    err_set(err, ERR_CONFIG, 0, "%s: keep and drop of watch %s leave out %s, which the view needs",
            setting_names[setting], watch_name(w), missing);
    return setting;
}

static enum view_setting tell_other(enum view_setting setting, const struct watch *w,
                                    const char *wants, struct err *err)
{
    err_set(err, ERR_CONFIG, 0, "%s: watch %s is of %s; a view of " VIEW_TYPE " needs %s",
            setting_names[setting], watch_name(w), watch_resource(w), wants);
    return setting;
}

/* Resources first: the messages of the later checks would confuse for a wrong watch. */
enum view_setting view_check(const struct view_params *p, struct err *err)
{
    const struct need *from = is_of(p->slices, &slices) ? &slices : &endpoints;
    enum view_setting wrong;

    if (!is_of(p->services, &services))
        return tell_other(VIEW_SETTING_SERVICES, p->services, "a watch of services", err);
    if (!is_of(p->slices, from))
        return tell_other(VIEW_SETTING_SLICES, p->slices,
                          "a watch of endpointslices (or endpoints)", err);
    if (strcmp(watch_cluster(p->services), watch_cluster(p->slices)) != 0) {
        err_set(err, ERR_CONFIG, 0,
                "slices: watch %s is of cluster %s, watch %s of cluster %s; a view joins watches "
                "of one cluster",
                watch_name(p->slices), watch_cluster(p->slices), watch_name(p->services),
                watch_cluster(p->services));
        return VIEW_SETTING_SLICES;
    }
    if (p->local_only && p->node_name[0] == '\0') {
        err_set(err, ERR_CONFIG, 0, "local_only: the name of this node is not known");
        return VIEW_SETTING_LOCAL_ONLY;
    }
    wrong = check_kept(VIEW_SETTING_SERVICES, p->services, &services, p->local_only, err);
    return wrong != VIEW_SETTING_NONE
               ? wrong
               : check_kept(VIEW_SETTING_SLICES, p->slices, from, p->local_only, err);
}
