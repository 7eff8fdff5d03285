/* SPDX-License-Identifier: Apache-2.0 */
#include "app/check.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app/build.h"
#include "app/exec_plugins.h"
#include "app/identity.h"
#include "app/outputs.h"
#include "app/programs.h"
#include "app/scripts.h"
#include "base/compiler.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/path_template.h"
#include "helper/output_base.h"
#include "helper/path_trust.h"
#include "kube/resource.h"
#include "kube/selector.h"
#include "kube/shape.h"
#include "proto/json_path.h"
#include "state/folder.h"

/* A parser of another layer that takes a text and says what is wrong with it. */
typedef enum err_kind text_check(const char *text, struct err *err);

static void check_text(const char *text, struct where at, const char *what, text_check *check,
                       struct problems *p)
{
    struct err err;

    if (check(text, &err) != ERR_OK)
        problems_add(p, at, "%s: %s", what, err.text);
}

/* The same for a text with ${node_name}. The node's name is not known yet; any valid name will
 * do. */
static void check_expanded(const struct conf_str *s, const char *what, text_check *check,
                           struct problems *p)
{
    char *text = conf_expand(s->v, "node");

    check_text(text, s->at, what, check, p);
    free(text);
}

static void check_shape(const struct conf_watch *w, struct problems *p)
{
    for (size_t i = 0; i < w->match.n; i++)
        check_expanded(&w->match.v[i], "match", shape_check_match, p);
    for (size_t i = 0; i < w->keep.n; i++)
        check_text(w->keep.v[i].v, w->keep.v[i].at, "keep", shape_check_path, p);
    for (size_t i = 0; i < w->drop.n; i++)
        check_text(w->drop.v[i].v, w->drop.v[i].at, "drop", shape_check_path, p);
}

/* Makes a watch that never starts, to see whether its settings fit together: the resource, and
 * whether namespaces fit its scope. Errors go to p, unless p is NULL. Returns NULL after an
 * error. */
static struct watch *trial_watch(const struct conf *conf, const struct conf_watch *w,
                                 struct problems *p)
{
    struct watch *trial = NULL;
    struct digest settings;
    struct err err;

    if (build_watch(conf, w, "node", &trial, &settings, &err) != ERR_OK && p != NULL)
        problems_add(p, w->resource.at, "watch %s: %s", w->name.v, err.text);
    return trial;
}

static void check_watch(const struct conf *conf, const struct conf_watch *w, struct problems *p)
{
    size_t before = problems_count(p);

    check_expanded(&w->label_selector, "label_selector", selector_check_labels, p);
    check_expanded(&w->field_selector, "field_selector", selector_check_fields, p);
    check_shape(w, p);
    /* watch_create() would only repeat these errors, at the line of the resource. */
    if (problems_count(p) > before)
        return;
    struct watch *trial = trial_watch(conf, w, p);
    watch_destroy(&trial);
}

/* Checks that the watches of a view fit it. If a watch is wrong in itself, check_watch() has reported
 * that, and there is nothing to compare. */
static void check_view(const struct conf *conf, const struct conf_view *v, struct problems *p)
{
    struct watch *services = trial_watch(conf, conf_find_watch(conf, v->services.v), NULL);
    struct watch *slices = trial_watch(conf, conf_find_watch(conf, v->slices.v), NULL);
    struct err err;

    if (services != NULL && slices != NULL) {
        const struct view_params params = build_view(v, services, slices, "node");
        const struct where at[] = {[VIEW_SETTING_SERVICES] = v->services.at,
                                   [VIEW_SETTING_SLICES] = v->slices.at,
                                   [VIEW_SETTING_LOCAL_ONLY] = v->local_only.at};
        enum view_setting wrong = view_check(&params, &err);

        if (wrong != VIEW_SETTING_NONE)
            problems_add(p, at[wrong], "views.%s.%s", v->name.v, err.text);
    }
    watch_destroy(&services);
    watch_destroy(&slices);
}

static enum err_kind try_path(const char *text, struct err *err)
{
    struct json_path *path = NULL;
    enum err_kind kind = json_path_parse(text, &path, err);

    json_path_destroy(&path);
    return kind;
}

static void check_paths(const struct conf_hook *h, struct problems *p)
{
    for (size_t i = 0; i < h->changes_in.n; i++) {
        char *what = mem_printf("hooks.%s.changes_in[%zu]", h->name.v, i);

        check_text(h->changes_in.v[i].v, h->changes_in.v[i].at, what, try_path, p);
        free(what);
    }
    for (size_t i = 0; i < h->fields.n; i++) {
        char *what = mem_printf("hooks.%s.fields.%s", h->name.v, h->fields.v[i].name);

        check_text(h->fields.v[i].value, h->fields.v[i].at, what, try_path, p);
        free(what);
    }
}

/* Does the resource have members that can become files? */
static bool has_members(const char *resource)
{
    struct resource r = {0};
    bool has = false;

    if (resource_parse(resource, &r, NULL) == ERR_OK)
        has = r.kind != NULL && r.group[0] == '\0' &&
              (strcmp(r.kind, "ConfigMap") == 0 || strcmp(r.kind, "Secret") == 0);
    resource_fini(&r);
    return has;
}

/* Does the path of keep or drop begin with this member of an object? */
static bool begins_with(const char *path, const char *member)
{
    size_t n = strlen(member);

    return strncmp(path, member, n) == 0 && (path[n] == '\0' || path[n] == '.' || path[n] == '[');
}

/* Can keep and drop leave any member of an object? A path that begins with a bracket may mean
 * anything. */
static bool keeps_members(const struct conf_watch *w)
{
    bool kept = w->keep.n == 0;

    for (size_t i = 0; i < w->keep.n && !kept; i++)
        kept = w->keep.v[i].v[0] == '[' || begins_with(w->keep.v[i].v, "data") ||
               begins_with(w->keep.v[i].v, "binaryData");
    return kept && !(conf_list_has(&w->drop, "data") && conf_list_has(&w->drop, "binaryData"));
}

/* Each source of files_from must be a watch of ConfigMaps or Secrets. */
static void check_members(const struct conf *conf, const struct conf_hook *h, struct problems *p)
{
    for (size_t i = 0; i < h->sources.n && h->files_from.v[0] != '\0'; i++) {
        const struct conf_watch *w = conf_find_watch(conf, h->sources.v[i].v);

        if (w == NULL || !has_members(w->resource.v))
            problems_add(p, h->files_from.at,
                         "hooks.%s.files_from: \"%s\" is no watch of configmaps or secrets",
                         h->name.v, h->sources.v[i].v);
        else if (!keeps_members(w))
            problems_add(p, h->files_from.at,
                         "hooks.%s.files_from: keep or drop of watch %s (line %d) leaves no data: "
                         "there would be no file",
                         h->name.v, w->name.v, w->keep.n > 0 ? w->keep.at.line : w->drop.at.line);
    }
}

static void check_user(const char *user, const char *group, struct where at, struct problems *p)
{
    struct identity id = {0};
    struct err err;

    if (identity_find(user, group, &id, &err) != ERR_OK)
        problems_add(p, at, "%s", err.text);
    identity_fini(&id);
}

/* Without root, informerd cannot become another user. */
static void check_hook_user(const struct conf *conf, const struct conf_hook *h, struct problems *p)
{
    bool named = h->user.v[0] != '\0' || h->group.v[0] != '\0';
    struct where at = h->user.v[0] != '\0' ? h->user.at : h->group.at;

    if (!named)
        return;
    if (geteuid() != 0)
        problems_add(p, at, "hook %s: user and group need informerd to be started as root",
                     h->name.v);
    else
        check_user(build_hook_user(conf, h), h->group.v, at, p);
}

static void check_output_owner(const struct conf_hook *h, struct problems *p)
{
    uid_t uid;
    gid_t gid;
    struct err err;

    if (h->output_owner.v[0] == '\0')
        return;
    if (identity_find_owner(h->output_owner.v, &uid, &gid, &err) != ERR_OK)
        problems_add(p, h->output_owner.at, "hook %s: output_owner: %s", h->name.v, err.text);
    else if (!identity_may_own(uid, gid))
        problems_add(p, h->output_owner.at,
                     "hook %s: output_owner \"%s\" needs informerd to be started as root",
                     h->name.v, h->output_owner.v);
}

/* Only root can give the control socket any group. */
static void check_control_group(const struct conf *conf, struct problems *p)
{
    const struct conf_str *group = &conf->control.group;
    gid_t gid;
    struct err err;

    if (group->v[0] == '\0')
        return;
    if (identity_find_group(group->v, &gid, &err) != ERR_OK)
        problems_add(p, group->at, "control.group: %s", err.text);
    else if (!identity_may_own((uid_t)-1, gid))
        problems_add(p, group->at,
                     "control.group \"%s\" needs informerd to be started as root, or by a user of "
                     "this group",
                     group->v);
}

/* Reports a file that root may not trust. path_trust NULL: the file must be root's alone. */
static void check_trust(const char *path, const struct path_trust *path_trust, struct where at,
                        struct problems *p)
{
    struct err err;

    if (path_trust_check(path, path_trust, &err) != ERR_OK)
        problems_add(p, at, "%s", err.text);
}

typedef void program_check(const struct conf_hook *h, const struct conf_str *program,
                           struct problems *p);

/* Calls check for the program of command, check and apply, as far as the hook has them. */
static void each_program(const struct conf_hook *h, program_check *check, struct problems *p)
{
    const struct conf_list *const all[] = {&h->command, &h->check, &h->apply};

    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        if (all[i]->n > 0)
            check(h, &all[i]->v[0], p);
}

static void check_program_trust(const struct conf_hook *h, const struct conf_str *program,
                                struct problems *p)
{
    (void)h;
    check_trust(program->v, NULL, program->at, p);
}

static void check_script_trust(void *arg, const struct conf_str *script)
{
    check_trust(script->v, NULL, script->at, arg);
}

/* Programs must be root's alone, whoever runs them. Scripts matter only if the hook runs as root;
 * `files` may also belong to the user of the hook (docs/design.md "Trusted files"). */
static void check_hook_trust(const struct conf *conf, const struct conf_hook *h, struct problems *p)
{
    const struct conf_list *const all[] = {&h->command, &h->check, &h->apply};
    const struct path_trust path_trust = {.owners = {identity_uid(build_hook_user(conf, h))}};

    each_program(h, check_program_trust, p);
    for (size_t i = 0; i < ARRAY_LEN(all) && path_trust.owners[0] == 0; i++)
        scripts_each(all[i], SCRIPTS_POSSIBLE, check_script_trust, p);
    for (size_t i = 0; i < h->files.n; i++)
        check_trust(h->files.v[i].v, &path_trust, h->files.v[i].at, p);
}

/* The checks that only a start as root needs: then the helper opens files and starts programs with
 * all rights. */
static void check_root_start(const struct conf *conf, struct problems *p)
{
    /* A file that stands in for another one will get its owner when it is put there. */
    for (size_t i = 0; i < conf->n_files; i++)
        if (!conf->files[i].stands_in)
            check_trust(conf->files[i].path, NULL, (struct where){conf->files[i].shown, 0}, p);
    for (size_t i = 0; i < conf->n_clusters; i++)
        if (conf->clusters[i].credential_owner.v[0] != '\0')
            check_user(conf->clusters[i].credential_owner.v, "",
                       conf->clusters[i].credential_owner.at, p);
    for (size_t i = 0; i < conf->n_hooks; i++)
        check_hook_trust(conf, &conf->hooks[i], p);
}

void check_settings(const struct conf *conf, struct problems *p)
{
    for (size_t i = 0; i < conf->n_watches; i++)
        check_watch(conf, &conf->watches[i], p);
    for (size_t i = 0; i < conf->n_views; i++)
        check_view(conf, &conf->views[i], p);
    for (size_t i = 0; i < conf->n_hooks; i++) {
        check_paths(&conf->hooks[i], p);
        check_members(conf, &conf->hooks[i], p);
    }
}

/* conf has checked the path, but not with the name of this node, which may hold anything. */
static void check_output_path(const struct conf_hook *h, const char *node_name, struct problems *p)
{
    char *path = outputs_template(h, node_name);
    unsigned used;
    struct err err;

    if (path != NULL && path_template_check(path, &used, &err) != ERR_OK)
        problems_add(p, h->output.at, "hook %s: output \"%.160s\" %s", h->name.v, path, err.text);
    free(path);
}

void check_machine(const struct conf *conf, const struct cluster_access_list *cluster_access,
                   struct problems *p)
{
    char *node_name = cluster_access_node_name(cluster_access, conf);

    for (size_t i = 0; i < conf->n_hooks; i++) {
        check_hook_user(conf, &conf->hooks[i], p);
        check_output_owner(&conf->hooks[i], p);
        check_output_path(&conf->hooks[i], node_name, p);
    }
    free(node_name);
    check_rights(conf, p);
    if (geteuid() == 0)
        check_root_start(conf, p);
}

void check_kept(const struct conf *conf, struct problems *p)
{
    check_control_group(conf, p);
    if (geteuid() == 0)
        check_user(conf->user.v, "", conf->user.at, p);
}

/* Reports that the token of the pod cannot be read. If root may not trust its path, check_credentials()
 * reports that with all files of credentials. */
static void check_pod_token(const struct cluster_access_list *l, size_t cluster,
                            const struct conf_cluster *c, struct problems *p)
{
    const struct cluster_access *a = &l->v[cluster];
    struct buf text = {0};
    struct err err;

    if (a->server_count > 0 &&
        cluster_access_read_item(l, &a->servers[0].items[CRED_TOKEN], &text, &err) != ERR_OK &&
        err.code != EPERM)
        problems_add(p, c->in_cluster.at,
                     "clusters.%s.in_cluster: %s: the pod has no token of a service account (see "
                     "automountServiceAccountToken)",
                     c->name.v, err.text);
    mem_wipe(text.data, text.cap);
    buf_free(&text);
}

/* The field of a kubeconfig that names the file; NULL = a setting does. */
static const char *named_by(const struct cluster_access_list *l, size_t file)
{
    for (size_t i = 0; i < l->n; i++)
        for (size_t k = 0; k < l->v[i].server_count; k++)
            for (size_t m = 0; m < CRED_ITEMS; m++) {
                const struct cred_source *item = &l->v[i].servers[k].items[m];

                if (item->path != NULL && item->file == file && item->named_by != NULL)
                    return item->named_by;
            }
    return NULL;
}

void check_credentials(const struct conf *conf, const struct cluster_access_list *cluster_access,
                       struct problems *p)
{
    for (size_t i = 0; i < conf->n_clusters; i++)
        if (conf->clusters[i].in_cluster.v)
            check_pod_token(cluster_access, i, &conf->clusters[i], p);
    for (size_t i = 0; geteuid() == 0 && i < cluster_access->file_count; i++) {
        const struct helper_file *file = &cluster_access->files[i];
        const char *by = named_by(cluster_access, i);
        struct err err;

        if (path_trust_check(file->path, &file->path_trust, &err) != ERR_OK)
            problems_add(p, cluster_access->places[i], "%s%s%s", err.text,
                         by != NULL ? "; it is " : "", by != NULL ? by : "");
    }
}

static void check_program_is_there(const struct conf_hook *h, const struct conf_str *program,
                                   struct problems *p)
{
    struct err err;

    if (programs_check(program->v, &err) != ERR_OK)
        problems_add(p, program->at, "hook %s: %s", h->name.v, err.text);
}

static const char *output_advice(int error)
{
    if (error == ENOENT)
        return ": make it; only folders below a ${variable} are made";
    if (error == ELOOP)
        return ": the path has a symbolic link that others than root could have made: name the "
               "folder that it leads to";
    return "";
}

/* Opens the output folder in the same way as the helper will, so that the same links are
 * refused. */
static void check_output_folder(const struct conf_hook *h, struct problems *p)
{
    char *folder = outputs_folder(h);
    int fd = -1;
    int error = folder != NULL ? output_base_open(folder, &fd) : 0;

    if (error != 0)
        problems_add(p, h->output.at, "hook %s: output: folder %s: %s%s", h->name.v, folder,
                     strerror(error), output_advice(error));
    if (fd >= 0)
        close(fd);
    free(folder);
}

static void check_file_is_there(const struct conf_hook *h, const struct conf_str *file,
                                struct problems *p)
{
    struct stat st;

    if (stat(file->v, &st) != 0)
        problems_add(p, file->at, "hook %s: files: %s: %s", h->name.v, file->v, strerror(errno));
    else if (!S_ISREG(st.st_mode))
        problems_add(p, file->at, "hook %s: files: %s is no file: name the files themselves",
                     h->name.v, file->v);
}

/* The folder must be usable by the user that main will become. */
void check_state_folder(const struct conf *conf, struct problems *p, struct problems *warnings)
{
    const char *path = conf_state_folder(conf);
    struct identity id = {.uid = geteuid()};
    struct err err;

    if (path == NULL)
        return;
    if (geteuid() == 0 && identity_find(conf->user.v, "", &id, &err) != ERR_OK)
        return; /* check_root_start() has reported it */
    if (folder_check(path, id.uid, &err) != ERR_OK)
        problems_add(err.kind == ERR_CONFIG ? p : warnings, conf->state_dir.at, "%s", err.text);
    identity_fini(&id);
}

void check_surroundings(const struct conf *conf, struct problems *p)
{
    for (size_t i = 0; i < conf->n_hooks; i++) {
        each_program(&conf->hooks[i], check_program_is_there, p);
        check_output_folder(&conf->hooks[i], p);
        for (size_t k = 0; k < conf->hooks[i].files.n; k++)
            check_file_is_there(&conf->hooks[i], &conf->hooks[i].files.v[k], p);
    }
}

void check_secret_fields(const struct conf *conf, struct problems *p)
{
    for (size_t i = 0; i < conf->n_hooks; i++) {
        const struct conf_hook *h = &conf->hooks[i];
        const char *field = hook_conf_secret_field(conf, h);

        if (field != NULL)
            problems_add(p, h->fields.at, "hook %s: fields: %s " HOOK_CONF_SECRET_FIELD, h->name.v,
                         field);
    }
}

static void add_warning(void *arg, const struct conf_cluster *c, const char *text, struct kv about)
{
    problems_add(arg, c->name.at, "clusters.%s: %s (%s %.*s)", c->name.v, text, about.key,
                 STR_ARG(about.s));
}

void check_clusters(const struct conf *conf, const struct cluster_access_list *cluster_access,
                    struct problems *p)
{
    exec_plugins_check_installed(conf, cluster_access, p);
    cluster_access_warn(cluster_access, conf, add_warning, p);
}
