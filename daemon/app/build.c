/* SPDX-License-Identifier: Apache-2.0 */
#include "app/build.h"

#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "app/contents.h"
#include "app/exec_plugins.h"
#include "app/identity.h"
#include "app/outputs.h"
#include "app/scripts.h"
#include "app/sources.h"
#include "base/capability.h"
#include "base/mem.h"
#include "base/panic.h"
#include "cache/watch_digest.h"
#include "conf/hook_text.h"

/* How long apply waits without a `settle` of its hook (docs/design.md "Apply"). */
enum { APPLY_SETTLE_MIN_MS = 200, APPLY_SETTLE_MAX_MS = 2000 };

/* The numbers of these words are passed on as they are, without a table from one enum to the other,
 * so both enums must have the same numbers. */
_Static_assert((int)CONF_GUARD_OFF == (int)GUARD_OFF, "relist_deletes");
_Static_assert((int)CONF_WATCH_LIST_AUTO == (int)WATCH_LIST_AUTO &&
                   (int)CONF_WATCH_LIST_ON == (int)WATCH_LIST_ON &&
                   (int)CONF_WATCH_LIST_OFF == (int)WATCH_LIST_OFF,
               "watch_list");
_Static_assert((int)CONF_MODE_OBJECT == (int)HOOK_OBJECT &&
                   (int)CONF_MODE_BATCH == (int)HOOK_BATCH &&
                   (int)CONF_MODE_SNAPSHOT == (int)HOOK_SNAPSHOT,
               "mode");
_Static_assert((int)CONF_EXISTING_RUN == (int)HOOK_EXISTING_RUN &&
                   (int)CONF_EXISTING_SKIP == (int)HOOK_EXISTING_SKIP,
               "existing");
_Static_assert((int)CONF_REQUIRE_ALL == (int)HOOK_REQUIRE_ALL &&
                   (int)CONF_REQUIRE_ANY == (int)HOOK_REQUIRE_ANY,
               "require");
_Static_assert((int)CONF_WHEN_STALE_RUN == (int)HOOK_STALE_RUN &&
                   (int)CONF_WHEN_STALE_WAIT == (int)HOOK_STALE_WAIT,
               "when_stale");
_Static_assert((int)CONF_PERSIST_FULL == (int)PERSIST_FULL &&
                   (int)CONF_PERSIST_DIGEST == (int)PERSIST_DIGEST &&
                   (int)CONF_PERSIST_NONE == (int)PERSIST_NONE,
               "persist");
_Static_assert((int)CONF_EFFECT_DISK == (int)PERSIST_EFFECT_DISK &&
                   (int)CONF_EFFECT_BOOT == (int)PERSIST_EFFECT_BOOT &&
                   (int)CONF_EFFECT_PROCESS == (int)PERSIST_EFFECT_PROCESS,
               "effect");

const char *build_hook_user(const struct conf *conf, const struct conf_hook *h)
{
    return h->user.v[0] != '\0' ? h->user.v : conf->user.v;
}

uint64_t build_hook_capabilities(const struct conf_hook *h)
{
    uint64_t set = 0;
    unsigned number;

    for (size_t i = 0; i < h->capabilities.n; i++)
        if (capability_find(h->capabilities.v[i].v, &number))
            set |= CAPABILITY_BIT(number);
    return set;
}

/* A list of the configuration as an array that ends with NULL. The strings are borrowed, the array
 * is not. */
static const char **strings(const struct conf_list *list)
{
    const char **v = mem_array(list->n + 1, sizeof(*v));

    for (size_t i = 0; i < list->n; i++)
        v[i] = list->v[i].v;
    return v;
}

/* The settings of reflectors. A page_size that the user chose applies to lists from a version, too.
 * timeoutSeconds of a watch is in whole seconds, so its bounds are rounded up. */
static struct reflector_params reflector_params(const struct conf_tuning *t)
{
    return (struct reflector_params){
        .backoff = {.initial_ms = t->backoff.initial.v,
                    .max_ms = t->backoff.max.v,
                    .factor = t->backoff.factor.v,
                    .jitter = t->backoff.jitter.v},
        .reset_after_ms = t->backoff.reset_after.v,
        .page_size = (unsigned)t->page_size.v,
        .page_always = t->page_size.at.line > 0,
        .watch_min_s = (unsigned)((t->watch_timeout.min_ms + 999) / 1000),
        .watch_max_s = (unsigned)((t->watch_timeout.max_ms + 999) / 1000),
        .start_jitter_ms = t->start_jitter.v,
        .relist_jitter_ms = t->relist_jitter.v,
        .watch_list = (enum watch_list)t->watch_list.v,
    };
}

/* A seed that differs between watches, nodes and starts: jitter is there to spread requests, and
 * watches with one seed would ask together. */
static uint64_t fresh_seed(void)
{
    uint64_t seed = 0;

    if (getentropy(&seed, sizeof(seed)) != 0)
        panic("getentropy failed");
    return seed;
}

/* The lists of a watch as arrays. struct watch_params borrows them while watch_create() copies. */
struct lists {
    const char **namespaces; /* each ends with NULL */
    const char **names;
    const char **keep;
    const char **drop;
    char **match; /* owned, with ${node_name} replaced */
};

static struct lists make_lists(const struct conf_watch *w, const char *node_name)
{
    struct lists l = {
        .namespaces = strings(&w->namespaces),
        .names = strings(&w->names),
        .keep = strings(&w->keep),
        .drop = strings(&w->drop),
        .match = mem_array(w->match.n + 1, sizeof(char *)),
    };

    for (size_t i = 0; i < w->match.n; i++)
        l.match[i] = conf_expand(w->match.v[i].v, node_name);
    return l;
}

static void free_lists(struct lists *l)
{
    for (size_t i = 0; l->match[i] != NULL; i++)
        free(l->match[i]);
    free(l->match);
    free(l->namespaces);
    free(l->names);
    free(l->keep);
    free(l->drop);
}

enum err_kind build_watch(const struct conf *conf, const struct conf_watch *w,
                          const char *node_name, struct watch **out, struct digest *settings,
                          struct err *err)
{
    const struct conf_cluster *c = conf_find_cluster(conf, w->cluster.v);
    struct lists l = make_lists(w, node_name);
    char *labels = conf_expand(w->label_selector.v, node_name);
    char *fields = conf_expand(w->field_selector.v, node_name);

    ensure(c != NULL);
    struct watch_params p = {
        .name = w->name.v,
        .cluster = c->name.v,
        .resource = w->resource.v,
        .namespaces = l.namespaces,
        .namespace_count = w->namespaces.n,
        .names = l.names,
        .name_count = w->names.n,
        .label_selector = labels,
        .field_selector = fields,
        .object_size = conf->limits.object_size.v,
        .shape = {.keep = l.keep,
                  .keep_count = w->keep.n,
                  .drop = l.drop,
                  .drop_count = w->drop.n,
                  .match = (const char *const *)l.match,
                  .match_count = w->match.n,
                  .label_selector = labels},
        .reflector = reflector_params(&c->tuning),
        .guard = {.relist_deletes = (unsigned)w->guard.relist_deletes.v,
                  .at_least = (size_t)w->guard.at_least.v,
                  .hold_ms = w->guard.hold.v},
        .bookmark_timeout_ms = c->tuning.bookmark_timeout.v,
        .list_idle_timeout_ms = c->tuning.list_idle_timeout.v,
        .stale_after_ms = c->stale_after.v,
        .confirm_deletes = w->confirm_deletes.v,
        .seed = fresh_seed(),
    };
    enum err_kind kind = watch_create(&p, out, err);

    *settings = watch_digest(&p);
    free_lists(&l);
    free(labels);
    free(fields);
    return kind;
}

struct view_params build_view(const struct conf_view *v, struct watch *services,
                              struct watch *slices, const char *node_name)
{
    return (struct view_params){
        .name = v->name.v,
        .services = services,
        .slices = slices,
        .node_name = node_name,
        .local_only = v->local_only.v,
        .hold_empty_ms = v->hold_empty.v,
    };
}

/* Fills in r->fields. field_count counts the finished ones only, so hook_rules_fini() is right
 * after an error, too. */
static enum err_kind hook_fields(const struct conf_map *map, struct hook_rules *r, struct err *err)
{
    r->fields = mem_array(map->n + 1, sizeof(*r->fields));
    for (size_t i = 0; i < map->n; i++) {
        struct hook_field *f = &r->fields[r->field_count];

        if (json_path_parse(map->v[i].value, &f->path, err) != ERR_OK)
            return err_wrap(err, "fields: %s", map->v[i].name);
        f->name = mem_strdup(map->v[i].name);
        r->field_count++;
    }
    return ERR_OK;
}

static enum err_kind hook_rules(const struct conf_hook *h, struct hook_rules *r, struct err *err)
{
    *r = (struct hook_rules){
        .mode = (enum hook_mode)h->mode.v,
        .existing = (enum hook_existing)h->existing.v,
        .require = (enum hook_require)h->require.v,
        .when_stale = (enum hook_when_stale)h->when_stale.v,
        .include_old = h->include_old.v,
        .after = mem_array(h->after.n + 1, sizeof(char *)),
        .after_count = h->after.n,
        .park_exit = mem_array(h->park_exit.n + 1, sizeof(int)),
        .park_exit_count = h->park_exit.n,
        .parked_deletes = (size_t)h->parked_deletes.v,
        .parked_age_ms = h->parked_age.v,
    };
    for (size_t i = 0; i < h->after.n; i++)
        r->after[i] = mem_strdup(h->after.v[i].v);
    for (size_t i = 0; i < h->park_exit.n; i++)
        r->park_exit[i] = (int)h->park_exit.v[i].v;
    return hook_fields(&h->fields, r, err);
}

static struct work_queue_params work_queue_params(const struct conf_hook *h)
{
    return (struct work_queue_params){
        .settle_ms = h->settle.min_ms,
        .settle_max_ms = h->settle.max_ms,
        .splay_ms = h->splay.v,
        .min_interval_ms = h->min_interval.v,
        .rerun_ms = h->rerun_every.v,
        .concurrency = (unsigned)h->concurrency.v,
        .retry = {.initial_ms = h->retry.initial.v,
                  .max_ms = h->retry.max.v,
                  .factor = h->retry.factor.v},
        .attempts = (unsigned)h->retry.attempts.v,
    };
}

/* The work queue of the apply of a hook. It has one work item for all files, and waits for the
 * end of a burst of writes. Its intervals and retries are those of the hook
 * (docs/design.md "Apply"). */
static struct work_queue_params apply_params(const struct conf_hook *h)
{
    bool settles = h->settle.at.line > 0;
    struct work_queue_params p = work_queue_params(h);

    p.settle_ms = settles ? h->settle.min_ms : APPLY_SETTLE_MIN_MS;
    p.settle_max_ms = settles ? h->settle.max_ms : APPLY_SETTLE_MAX_MS;
    p.splay_ms = 0;
    p.rerun_ms = 0;
    p.concurrency = 1;
    return p;
}

static bool sets(const struct conf_map *env, const char *name)
{
    for (size_t i = 0; i < env->n; i++)
        if (strcmp(env->v[i].name, name) == 0)
            return true;
    return false;
}

/* The environment of a hook: its own variables, and PATH and LANG if it has not set them
 * (docs/design.md "Hook input"). */
static char **hook_env(const struct conf_hook *h, const char *node_name)
{
    const struct conf_map *env = &h->environment;
    char **v = mem_array(env->n + 3, sizeof(*v));
    size_t n = 0;

    if (!sets(env, "PATH"))
        v[n++] = mem_strdup("PATH=/usr/sbin:/usr/bin:/sbin:/bin");
    if (!sets(env, "LANG"))
        v[n++] = mem_strdup("LANG=C.UTF-8");
    for (size_t i = 0; i < env->n; i++) {
        char *value = conf_expand(env->v[i].value, node_name);

        v[n++] = mem_printf("%s=%s", env->v[i].name, value);
        free(value);
    }
    return v;
}

static void free_texts(char **texts)
{
    for (size_t i = 0; texts != NULL && texts[i] != NULL; i++)
        free(texts[i]);
    free(texts);
}

static void put_part(struct buf *key, const char *text)
{
    buf_printf(key, "%zu:%s", strlen(text), text);
}

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void put_rights(struct buf *key, const struct conf_hook *h)
{
    struct conf_rlimit limits[CONF_RLIMITS];
    size_t n = rlimits_conf_list(&h->rlimits, limits);

    buf_printf(key, "\n%" PRId64 " %" PRIx64 " %d", h->umask.v, build_hook_capabilities(h),
               h->no_new_privileges.v);
    for (size_t i = 0; i < n; i++)
        buf_printf(key, " %d %" PRIx64 " %" PRIx64, limits[i].resource, limits[i].soft,
                   limits[i].hard);
    buf_putc(key, '\n');
}

/* All that a run of `apply` can see but INFORMERD_*, so that hooks with the same text may share one
 * run (docs/design.md "Apply"): its arguments, its rights, and its environment, whose order does not
 * count. NULL: the hook has no apply. */
static char *apply_key(const struct conf *conf, const struct conf_hook *h, const char *node_name)
{
    char **argv = outputs_apply(h, node_name);
    char **env = hook_env(h, node_name);
    struct buf key = {0};
    char *text = NULL;
    size_t n = 0;

    for (size_t i = 0; argv != NULL && argv[i] != NULL; i++)
        put_part(&key, argv[i]);
    put_rights(&key, h);
    put_part(&key, build_hook_user(conf, h));
    put_part(&key, h->group.v);
    while (env[n] != NULL)
        n++;
    qsort(env, n, sizeof(*env), compare_texts);
    for (size_t i = 0; i < n; i++)
        put_part(&key, env[i]);
    if (argv != NULL)
        text = mem_strdup(buf_cstr(&key));
    buf_free(&key);
    free_texts(argv);
    free_texts(env);
    return text;
}

enum err_kind build_hook(const struct conf *conf, size_t index, const struct sources *sources,
                         const char *node_name, struct hook_params *p, struct err *err)
{
    const struct conf_hook *h = &conf->hooks[index];
    const char **paths = strings(&h->changes_in);
    struct hook_rules rules = {0};
    struct filter filter = {0};
    enum err_kind kind = hook_rules(h, &rules, err);

    if (kind == ERR_OK)
        kind = filter_init(&filter, h->events.v, paths, h->changes_in.n, err);
    free(paths);
    if (kind != ERR_OK) {
        /* filter_init() leaves nothing to free when it fails. */
        hook_rules_fini(&rules);
        return kind;
    }
    struct hook_source *v = mem_array(h->sources.n, sizeof(*v));
    for (size_t i = 0; i < h->sources.n; i++)
        v[i] = (struct hook_source){.name = h->sources.v[i].v,
                                    .of = sources_find(sources, h->sources.v[i].v)};
    *p = (struct hook_params){
        .name = h->name.v,
        .index = index,
        .rules = rules,
        .sources = v,
        .source_count = h->sources.n,
        .filter = filter,
        .work_queue = work_queue_params(h),
        .output = outputs_template(h, node_name),
        .from_members = h->files_from.v[0] != '\0',
        .applies = h->apply.n > 0,
        .apply = apply_params(h),
        .apply_key = apply_key(conf, h, node_name),
        .timeout_ms = h->timeout.v,
    };
    return ERR_OK;
}

/* Frees an array that is const for its users only. The union takes the const away without a cast,
 * which -Wcast-qual refuses. */
static void free_const(const void *p)
{
    union {
        const void *in;
        void *out;
    } u = {.in = p};

    free(u.out);
}

void build_hook_fini(struct hook_params *p)
{
    free_const(p->sources);
    free_const(p->output);
    free_const(p->apply_key);
    p->sources = NULL;
    p->output = NULL;
    p->apply_key = NULL;
}

/* The command of a hook as argv. A `shell` setting is one line for /bin/sh. NULL: with files_from
 * there is none. */
static const char **hook_argv(const struct conf_hook *h)
{
    if (h->files_from.v[0] != '\0')
        return NULL;
    if (h->command.n > 0)
        return strings(&h->command);
    const char **argv = mem_array(4, sizeof(*argv));
    argv[0] = "/bin/sh";
    argv[1] = "-c";
    argv[2] = h->shell.v;
    return argv;
}

struct paths {
    const char **v;
    size_t n;
};

static void add_path(void *arg, const struct conf_str *path)
{
    struct paths *paths = arg;

    paths->v[paths->n++] = path->v;
}

/* The files that must be root's alone if the hook runs as root: its programs, and scripts that
 * these interpret (docs/design.md "Trusted files"). */
static const char **hook_alone(const struct conf_hook *h)
{
    const struct conf_list *const programs[] = {&h->command, &h->check, &h->apply};
    struct paths paths = {
        .v = mem_array(h->command.n + h->check.n + h->apply.n + 1, sizeof(*paths.v))};

    for (size_t i = 0; i < ARRAY_LEN(programs); i++) {
        if (programs[i]->n > 0)
            add_path(&paths, &programs[i]->v[0]);
        scripts_each(programs[i], SCRIPTS_POSSIBLE, add_path, &paths);
    }
    return paths.v;
}

/* The rights of the hook's programs besides their user. */
static void fill_privileges(const struct conf_hook *h, struct helper_hook *out)
{
    struct conf_rlimit limits[CONF_RLIMITS];
    size_t n = rlimits_conf_list(&h->rlimits, limits);
    struct helper_rlimit *rlimits = mem_array(n + 1, sizeof(*rlimits));

    for (size_t i = 0; i < n; i++)
        rlimits[i] = (struct helper_rlimit){
            .resource = limits[i].resource, .soft = limits[i].soft, .hard = limits[i].hard};
    out->rlimits = rlimits;
    out->rlimit_count = n;
    out->capabilities = build_hook_capabilities(h);
    out->no_new_privileges = h->no_new_privileges.v;
}

/* If main has all the rights of the helper, there is nothing to protect from main. */
static bool main_is_alike(const struct conf *conf)
{
    return geteuid() != 0 || strcmp(conf->user.v, "root") == 0;
}

/* The weight of the kernel stays as it is: setting it needs a controller that may not be there. */
static struct run_limits limits_of(const struct conf_hook *h)
{
    enum { KERNEL_WEIGHT = 100 };
    uint64_t weight = (uint64_t)h->cpu_weight.v;

    return (struct run_limits){.memory_max = h->memory_max.v,
                               .pids_max = (uint64_t)h->pids_max.v,
                               .cpu_max = (uint64_t)h->cpu_max.v,
                               .cpu_weight = weight == KERNEL_WEIGHT ? 0 : weight};
}

static enum err_kind fill_helper_hook(const struct conf *conf, const struct conf_hook *h,
                                      const char *node_name, struct helper_hook *out,
                                      struct err *err)
{
    struct identity id = {0};

    out->kind = HELPER_HOOK;
    out->name = h->name.v;
    out->argv = hook_argv(h);
    out->env = (const char *const *)hook_env(h, node_name);
    out->contents = contents_of(h);
    out->umask = (mode_t)h->umask.v;
    out->kill_grace_ms = h->kill_grace.v;
    out->kill_signal = (int)h->kill_signal.v;
    out->kills_left = h->leave.v == CONF_LEAVE_KILL;
    out->limits = limits_of(h);
    out->concurrency = (unsigned)h->concurrency.v;
    out->change_user = geteuid() == 0;
    out->main_is_alike = main_is_alike(conf);
    fill_privileges(h, out);
    if (outputs_fill(h, node_name, out, err) != ERR_OK)
        return err_wrap(err, "hook %s", h->name.v);
    /* Without root there is one user for everything, and hook users are an error (app/check). */
    if (!out->change_user)
        return ERR_OK;
    if (identity_find(build_hook_user(conf, h), h->group.v, &id, err) != ERR_OK)
        return err_wrap(err, "hook %s", h->name.v);
    out->uid = id.uid;
    out->gid = id.gid;
    out->alone = id.uid == 0 ? hook_alone(h) : NULL;
    out->groups = id.groups;
    out->group_count = id.group_count;
    return ERR_OK;
}

/* The hook that stands for those that are not configured any more: it has no program, and removes
 * files. */
static void fill_gone(const struct conf *conf, struct helper_hook *out)
{
    out->kind = HELPER_GONE;
    out->name = "hooks that are gone";
    out->env = mem_array(1, sizeof(*out->env));
    out->concurrency = 1;
    out->kill_signal = SIGTERM;
    out->main_is_alike = main_is_alike(conf);
}

/* The hook that stands for metrics.textfile: it has no program, and an output file that everybody may
 * read. */
static void fill_textfile(const struct conf *conf, struct helper_hook *out)
{
    out->kind = HELPER_TEXTFILE;
    out->name = "metrics.textfile";
    out->env = mem_array(1, sizeof(*out->env));
    out->concurrency = 1;
    out->kill_signal = SIGTERM;
    out->main_is_alike = main_is_alike(conf);
    out->output =
        MEM_NEW(struct helper_output, .path = mem_strdup(conf_textfile(conf)), .mode = 0644);
}

uint32_t build_textfile_number(const struct conf *conf, const struct cluster_access_list *access)
{
    return build_gone_number(conf, access) + 1;
}

uint32_t build_gone_number(const struct conf *conf, const struct cluster_access_list *access)
{
    return exec_plugins_number(conf, access, access->n);
}

enum err_kind build_helper(const struct conf *conf, const struct cluster_access_list *access,
                           const char *node_name, struct helper_params *p, struct err *err)
{
    size_t most = conf->n_hooks + exec_plugins_count(access) + 2;
    struct helper_hook *hooks = mem_array(most + 1, sizeof(*hooks));

    *p = (struct helper_params){.hooks = hooks,
                                .files = access->files,
                                .file_count = access->file_count,
                                .shared_runs = (unsigned)conf->limits.hook_concurrency.v};
    for (size_t i = 0; i < conf->n_hooks; i++) {
        /* Counts this hook before it is complete, so that build_helper_fini() frees it after an
         * error. */
        p->hook_count++;
        if (fill_helper_hook(conf, &conf->hooks[i], node_name, &hooks[i], err) != ERR_OK)
            return err->kind;
    }
    for (size_t i = 0; i < access->n; i++)
        if (access->v[i].exec != NULL &&
            exec_plugins_fill(conf, access, i, &hooks[p->hook_count++], err) != ERR_OK)
            return err->kind;
    fill_gone(conf, &hooks[p->hook_count++]);
    if (conf_textfile(conf) != NULL)
        fill_textfile(conf, &hooks[p->hook_count++]);
    return ERR_OK;
}

void build_helper_fini(struct helper_params *p)
{
    for (size_t i = 0; i < p->hook_count; i++) {
        const struct helper_hook *h = &p->hooks[i];

        for (size_t k = 0; h->env != NULL && h->env[k] != NULL; k++)
            free_const(h->env[k]);
        free_const(h->env);
        free_const(h->argv);
        free_const(h->contents);
        free_const(h->alone);
        free_const(h->groups);
        free_const(h->rlimits);
        outputs_fini(h);
    }
    free_const(p->hooks);
    *p = (struct helper_params){0};
}

struct persist_cluster_params build_persist_cluster(const struct conf *conf,
                                                    const struct conf_cluster *c)
{
    uint64_t after_ms = conf->start_stale.after.v;

    return (struct persist_cluster_params){
        .name = c->name.v,
        /* The first request waits for the jitter, so the server has this much longer to answer. */
        .stale_after_ms = after_ms > 0 ? c->tuning.start_jitter.v + after_ms : 0,
        .stale_max_age_ms = conf->start_stale.max_age.v,
    };
}

struct persist_watch_params build_persist_watch(const struct conf *conf, size_t i,
                                                const struct sources *sources)
{
    const struct conf_watch *w = &conf->watches[i];

    return (struct persist_watch_params){
        .watch = sources_watches(sources)[i].watch,
        .name = w->name.v,
        .settings = sources_settings(sources, i),
        .bytes = (enum persist_bytes)w->persist.v,
        .cluster = (size_t)(conf_find_cluster(conf, w->cluster.v) - conf->clusters),
    };
}

struct persist_hook_params build_persist_hook(const struct conf *conf, size_t i, struct hook *h,
                                              const char *node_name)
{
    return (struct persist_hook_params){.hook = h,
                                        .settings =
                                            hook_text_digests(conf, &conf->hooks[i], node_name),
                                        .effect = (enum persist_effect)conf->hooks[i].effect.v};
}

struct persist_params build_persist(const struct conf *conf, const struct sources *sources,
                                    struct hooks *hooks, const char *node_name)
{
    struct persist_cluster_params *clusters = mem_array(conf->n_clusters + 1, sizeof(*clusters));
    struct persist_watch_params *watches = mem_array(conf->n_watches + 1, sizeof(*watches));
    struct persist_hook_params *by_hook = mem_array(conf->n_hooks + 1, sizeof(*by_hook));

    for (size_t i = 0; i < conf->n_clusters; i++)
        clusters[i] = build_persist_cluster(conf, &conf->clusters[i]);
    for (size_t i = 0; i < conf->n_watches; i++)
        watches[i] = build_persist_watch(conf, i, sources);
    for (size_t i = 0; i < conf->n_hooks; i++)
        by_hook[i] = build_persist_hook(conf, i, hooks->v[i], node_name);
    return (struct persist_params){.clusters = clusters,
                                   .cluster_count = conf->n_clusters,
                                   .watches = watches,
                                   .watch_count = conf->n_watches,
                                   .views = sources_views(sources),
                                   .view_count = conf->n_views,
                                   .hooks = hooks,
                                   .by_hook = by_hook};
}

void build_persist_fini(struct persist_params *p)
{
    free_const(p->clusters);
    free_const(p->watches);
    free_const(p->by_hook);
    *p = (struct persist_params){0};
}

struct runner_hook *build_runner_hooks(const struct conf *conf)
{
    struct runner_hook *v = mem_array(conf->n_hooks + 1, sizeof(*v));

    for (size_t i = 0; i < conf->n_hooks; i++) {
        const struct conf_hook *h = &conf->hooks[i];

        v[i] = (struct runner_hook){
            .program = h->command.n > 0 ? h->command.v[0].v : "/bin/sh",
            .check = h->check.n > 0 ? h->check.v[0].v : NULL,
            .apply = h->apply.n > 0 ? h->apply.v[0].v : NULL,
            .timeout_ms = h->timeout.v,
            .kill_signal = (int)h->kill_signal.v,
            .kill_grace_ms = h->kill_grace.v,
            .log_limit = h->log_limit.v,
            .hides_output = hook_conf_has_secrets(conf, h) && !h->log_secrets.v,
        };
    }
    return v;
}
