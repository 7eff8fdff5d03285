/* SPDX-License-Identifier: Apache-2.0 */
/* A plan notices a change of each setting, and of each field of a kubeconfig. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "conf/main_conf.h"
#include "conf/setting_compare.h"
#include "conf_files.h"
#include "reload_rig.h"
#include "temp_folder.h"

/* A row of a table (clang-format 14 crashes on some with braces). */
#define ROW(...)    \
    {               \
        __VA_ARGS__ \
    }

/* ---- Kubeconfigs */

static const char with_token[] =
    "{current-context: a, contexts: [{name: a, context: {cluster: k, user: u}}], clusters: [{name: "
    "k, cluster: {server: \"https://h:1/p\", tls-server-name: sni, certificate-authority: /ca,\n"
    "proxy-url: \"http://proxy:1\", disable-compression: false}}], users: [{name: u, user: {token: "
    "t, tokenFile: /t, as: im, as-uid: \"7\", as-groups: [g, h], as-user-extra: {e: [v]}}}]}\n";

static const char with_plugin[] =
    "{current-context: a, contexts: [{name: a, context: {cluster: k, user: u}}], clusters: [{name: "
    "k, cluster: {server: \"https://h:1\", certificate-authority-data: Q0EK, extensions: [{name: "
    "client.authentication.k8s.io/exec, extension: {x: y}}]}}], users: [{name: u, user: {exec: "
    "{command: cmd, apiVersion: client.authentication.k8s.io/v1, args: [arg, more],\n"
    "env: [{name: E, value: val}], installHint: hint, provideClusterInfo: true, interactiveMode: "
    "Never}}}]}\n";

static const char with_files[] =
    "{current-context: a, contexts: [{name: a, context: {cluster: k, user: u}}], clusters: [{name: "
    "k, cluster: {server: \"https://h:1\", insecure-skip-tls-verify: true}}], users: [{name: u, "
    "user: {client-certificate: /crt, client-key: /key, username: nn, password: pw}}]}\n";

static const char with_data[] =
    "{current-context: a, contexts: [{name: a, context: {cluster: k, user: u}}], clusters: [{name: "
    "k, cluster: {server: \"https://h:1\"}}], users: [{name: u, user: {client-certificate-data: "
    "Q0VSVAo=, client-key-data: S0VZCg==}}]}\n";

static void load_kubeconfig(struct reload_rig *l, const char *kubeconfig)
{
    char *text = mem_printf("clusters : { c : { kubeconfig = \"%s/k\"; }; };\n"
                            "watches : { "
                            "p : { resource = \"pods\"; };"
                            " };\n",
                            temp_folder_path());

    conf_files_write("k", kubeconfig);
    reload_rig_load(l, text);
    free(text);
}

static void expect_kubeconfig(const char *was, const char *from, const char *to,
                              const char *expected)
{
    char *now = reload_rig_replaced(was, from, to);
    struct reload_rig a;
    struct reload_rig b;

    load_kubeconfig(&a, was);
    load_kubeconfig(&b, now);
    reload_rig_expect(&a, &b, expected);
    reload_rig_unload(&a);
    reload_rig_unload(&b);
    free(now);
}

static void test_each_field_of_a_kubeconfig_counts(void **state)
{
    static const struct {
        const char *text;
        const char *from;
        const char *to;
    } edits[] = {
        ROW(with_token, "//h:1/p", "//h:2/p"),
        ROW(with_token, "//h:1/p", "//h:1/q"),
        ROW(with_token, "//h:1/p", "//i:1/p"),
        ROW(with_token, "sni", "snx"),
        ROW(with_token, "certificate-authority: /ca,", ""),
        ROW(with_token, "/ca", "/cb"),
        ROW(with_token, "proxy:1", "proxy:2"),
        ROW(with_token, "http://proxy", "http://me@proxy"),
        ROW(with_token, "disable-compression: false", "disable-compression: true"),
        ROW(with_token, "token: t", "token: tt"),
        ROW(with_token, "/t,", "/tt,"),
        ROW(with_token, "as: im", "as: in"),
        ROW(with_token, "\"7\"", "\"8\""),
        ROW(with_token, "[g, h]", "[g, i]"),
        ROW(with_token, "[g, h]", "[g]"),
        ROW(with_token, "{e: [v]}", "{f: [v]}"),
        ROW(with_token, "{e: [v]}", "{e: [w]}"),
        ROW(with_token, "{e: [v]}", "{e: [v], f: [v]}"),
        ROW(with_plugin, "Q0EK", "Q0IK"),
        ROW(with_plugin, "{x: y}", "{x: z}"),
        ROW(with_plugin, "cmd", "cme"),
        ROW(with_plugin, "io/v1", "io/v1beta1"),
        ROW(with_plugin, "[arg, more]", "[arg, less]"),
        ROW(with_plugin, "[arg, more]", "[arg]"),
        ROW(with_plugin, "name: E", "name: F"),
        ROW(with_plugin, "val}", "vam}"),
        ROW(with_plugin, "hint", "hinu"),
        ROW(with_plugin, "provideClusterInfo: true", "provideClusterInfo: false"),
        ROW(with_files, "insecure-skip-tls-verify: true", "insecure-skip-tls-verify: false"),
        ROW(with_files, "/crt", "/cru"),
        ROW(with_files, "/key", "/kez"),
        ROW(with_files, "username: nn", "username: mm"),
        ROW(with_files, "password: pw", "password: px"),
        ROW(with_data, "Q0VSVAo=", "Q0VSVgo="),
        ROW(with_data, "S0VZCg==", "S0VXCg=="),
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(edits); i++)
        expect_kubeconfig(edits[i].text, edits[i].from, edits[i].to,
                          "cluster c change kubeconfig content\n");
}

static void test_names_in_a_kubeconfig_do_not_count(void **state)
{
    (void)state;
    expect_kubeconfig(with_token, "current-context: a, contexts: [{name: a",
                      "current-context: b, contexts: [{name: b", "");
}

/* ---- Settings */

/* One setting of a struct that a table has filled in. */
struct leaf {
    const struct setting *row;
    enum setting_change change;
    char *slot;
    char key[64];
};

/* Finds setting number *n of a table, with those of groups; counts *n down on the way. */
static bool find_leaf(const struct setting *table, char *base, const struct leaf *group, size_t *n,
                      struct leaf *out)
{
    for (const struct setting *s = table; s->key != NULL; s++) {
        struct leaf l = {.row = s, .change = s->change};

        l.slot = base + s->offset;
        if (group != NULL && group->change != SETTING_NO_CLASS)
            l.change = group->change;
        snprintf(l.key, sizeof(l.key), "%s%s%s", group != NULL ? group->key : "",
                 group != NULL ? "." : "", s->key);
        if (s->type == SETTING_GROUP) {
            if (find_leaf(s->group, l.slot, &l, n, out))
                return true;
        } else if (s->type != SETTING_NAMED && (*n)-- == 0) {
            *out = l;
            return true;
        }
    }
    return false;
}

static struct conf_str new_str(const char *text)
{
    return (struct conf_str){.v = mem_strdup(text)};
}

static void edit_list(struct conf_list *l)
{
    if (l->n > 1) {
        free(l->v[--l->n].v);
    } else {
        l->v = mem_realloc(l->v, (l->n + 1) * sizeof(*l->v));
        l->v[l->n++] = new_str("x");
    }
}

static void edit_map(struct conf_map *m)
{
    m->v = mem_realloc(m->v, (m->n + 1) * sizeof(*m->v));
    m->v[m->n++] = (struct conf_pair){.name = mem_strdup("X"), .value = mem_strdup("x")};
}

static void edit_ints(struct conf_ints *l)
{
    l->v = mem_realloc(l->v, (l->n + 1) * sizeof(*l->v));
    l->v[l->n++] = (struct conf_int){.v = 7};
}

/* A setting with one word cannot have another value. */
static bool has_another(const struct leaf *l)
{
    return l->row->type != SETTING_WORD || l->row->words[1] != NULL;
}

static void edit_word(const struct setting *row, struct conf_word *w)
{
    w->v = w->v > 0 ? w->v - 1 : 1;
    assert_non_null(row->words[w->v]);
}

/* Any other value will do, as only references are looked up; "other" is the name of a watch. */
static void edit(const struct leaf *l)
{
    void *slot = l->slot;
    struct conf_str *str = slot;

    switch (l->row->type) {
    case SETTING_STR:
        free(str->v);
        *str = new_str("other");
        break;
    case SETTING_BOOL:
        ((struct conf_bool *)slot)->v ^= true;
        break;
    case SETTING_INT:
    case SETTING_CODE: /* signal 15 becomes 14 */
        ((struct conf_int *)slot)->v ^= 1;
        break;
    case SETTING_NUM:
        ((struct conf_num *)slot)->v += 1;
        break;
    case SETTING_MS:
        ((struct conf_ms *)slot)->v += 1;
        break;
    case SETTING_SIZE:
        ((struct conf_size *)slot)->v += 1;
        break;
    case SETTING_WORD:
        edit_word(l->row, slot);
        break;
    case SETTING_WORDS:
        ((struct conf_words *)slot)->v ^= 1U;
        break;
    case SETTING_SPAN:
        ((struct conf_span *)slot)->max_ms += 1;
        break;
    case SETTING_LIST:
        edit_list(slot);
        break;
    case SETTING_MAP:
        edit_map(slot);
        break;
    case SETTING_INTS:
        edit_ints(slot);
        break;
    case SETTING_GROUP:
    case SETTING_NAMED:
        fail();
    }
}

static const char full[] =
    "clusters : { c : { server : { x : { url = \"https://x\"; }; }; }; };\n"
    "watches : { other : { resource = \"nodes\"; }; s : { resource = \"services\"; };\n"
    "  e : { resource = \"endpointslices\"; }; p : { resource = \"pods\"; }; };\n"
    "views : { v : { type = \"service_endpoints\"; services = \"s\"; slices = \"e\"; }; };\n"
    "hooks : { h : { sources = [ \"p\", \"s\" ]; mode = \"batch\"; shell = \"x\"; }; };\n";

/* Where the settings of a table are, and the entry that a plan must have when one of them differs. */
struct walk {
    const struct setting *table;
    char *(*base)(struct conf *c);
    void (*judge)(const struct leaf *l, const struct reload_plan *p);
};

/* Edits setting number i of the table and judges the plan. False: there is none. */
static bool walk_to(const struct walk *w, const struct reload_rig *was, size_t i)
{
    struct reload_rig now;
    struct leaf l;

    reload_rig_load(&now, full);
    bool found = find_leaf(w->table, w->base(now.conf), NULL, &i, &l);
    if (found && has_another(&l)) {
        edit(&l);
        if (strcmp(l.key, "node_name") == 0) {
            free(now.node_name);
            now.node_name = mem_strdup(now.conf->node_name.v);
        }
        struct reload_plan *p = reload_rig_plan(was, &now);
        w->judge(&l, p);
        reload_plan_destroy(&p);
    }
    reload_rig_unload(&now);
    return found;
}

/* Edits each setting of the table by itself. Returns how many there are. */
static size_t walk(const struct walk *w)
{
    struct reload_rig was;
    size_t n = 0;

    reload_rig_load(&was, full);
    while (walk_to(w, &was, n))
        n++;
    reload_rig_unload(&was);
    return n;
}

static bool has_text(const struct reload_texts *t, const char *text)
{
    for (size_t i = 0; i < t->n; i++)
        if (strcmp(t->v[i], text) == 0)
            return true;
    return false;
}

static const struct reload_entry *entry(const struct reload_entries *e, const char *name)
{
    for (size_t i = 0; i < e->n; i++)
        if (strcmp(e->v[i].name, name) == 0)
            return &e->v[i];
    fail_msg("%s has no entry", name);
    return NULL;
}

/* The entry has this change, because of this setting alone. */
static void expect_entry(const struct reload_entry *e, enum reload_change change, const char *key)
{
    if (e->change != change || e->settings.n != 1 || !has_text(&e->settings, key))
        fail_msg("%s: change %d by %zu settings, not %d by %s", e->name, (int)e->change,
                 e->settings.n, (int)change, key);
}

static char *main_base(struct conf *c)
{
    return (char *)c;
}

static void judge_main(const struct leaf *l, const struct reload_plan *p)
{
    bool restarts = false;

    for (size_t i = 0; i < p->restart_count; i++)
        restarts = restarts || strcmp(p->restarts[i].setting, l->key) == 0;
    assert_int_equal(restarts, l->change == SETTING_RESTARTS);
    assert_int_equal(has_text(&p->settings, l->key), l->change != SETTING_RESTARTS);
}

static char *cluster_base(struct conf *c)
{
    return (char *)&c->clusters[0];
}

/* A new setting belongs into this list if build_watch() does not read it. */
static void judge_cluster(const struct leaf *l, const struct reload_plan *p)
{
    static const char *const not_of_watches[] = {
        "kubeconfig",
        "context",
        "in_cluster",
        "servers",
        "ca_file",
        "client_cert_file",
        "client_key_file",
        "token_file",
        "credential_owner",
        "tls_server_name",
        "insecure_skip_tls_verify",
        "proxy_url",
        "tuning.connect_timeout",
        "tuning.tls_timeout",
        "tuning.response_timeout",
        "tuning.list_concurrency",
        "tuning.compression",
    };
    char *key = mem_printf("clusters.c.%s", l->key);
    bool replaces = true;

    for (size_t i = 0; i < ARRAY_LEN(not_of_watches); i++)
        replaces = replaces && strcmp(l->key, not_of_watches[i]) != 0;
    expect_entry(entry(&p->clusters, "c"), RELOAD_CHANGE, l->key);
    for (size_t i = 0; i < p->watches.n; i++)
        if (replaces)
            expect_entry(&p->watches.v[i], RELOAD_REPLACE, key);
        else
            assert_int_equal(p->watches.v[i].change, RELOAD_KEEP);
    free(key);
}

static char *server_base(struct conf *c)
{
    return (char *)&c->clusters[0].server[0];
}

static void judge_server(const struct leaf *l, const struct reload_plan *p)
{
    (void)l;
    expect_entry(entry(&p->clusters, "c"), RELOAD_CHANGE, "server");
}

static char *watch_base(struct conf *c)
{
    return (char *)&c->watches[3];
}

static void judge_watch(const struct leaf *l, const struct reload_plan *p)
{
    enum reload_change change = strcmp(l->key, "audit") == 0     ? RELOAD_CHANGE
                                : strcmp(l->key, "cluster") == 0 ? RELOAD_ADD
                                                                 : RELOAD_REPLACE;

    expect_entry(entry(&p->watches, "p"), change, l->key);
    assert_int_equal(entry(&p->hooks, "h")->change,
                     change == RELOAD_CHANGE ? RELOAD_KEEP : RELOAD_REPLACE);
}

static char *view_base(struct conf *c)
{
    return (char *)&c->views[0];
}

static void judge_view(const struct leaf *l, const struct reload_plan *p)
{
    expect_entry(entry(&p->views, "v"), RELOAD_REPLACE, l->key);
}

static char *hook_base(struct conf *c)
{
    return (char *)&c->hooks[0];
}

static void judge_hook(const struct leaf *l, const struct reload_plan *p)
{
    const struct reload_entry *e = entry(&p->hooks, "h");
    bool renews = l->change == SETTING_RENEWS;

    assert_true(renews || l->change == SETTING_IN_PLACE);
    expect_entry(e, renews ? RELOAD_REPLACE : RELOAD_CHANGE, l->key);
    assert_int_equal(e->effect, renews ? RELOAD_RUNS_FOR_ALL : RELOAD_NO_RUN);
}

static const struct setting *table_of(const struct setting *table, const char *key)
{
    while (strcmp(table->key, key) != 0)
        table++;
    return table->group;
}

/* No setting is forgotten: the plan notices each of them, and has the kind of change that it needs. */
static void test_each_setting_counts(void **state)
{
    const struct walk all[] = {
        {main_conf_settings,             main_base,    judge_main      },
        {cluster_conf_settings,          cluster_base, judge_cluster   },
        {table_of(cluster_conf_settings, "server"),    server_base,      judge_server},
        {watch_conf_settings,                              watch_base,                        judge_watch},
        {view_conf_settings,                              view_base,                         judge_view  },
        {hook_conf_settings,                              hook_base,                         judge_hook},
    };
    size_t n = 0;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        n += walk(&all[i]);
    assert_true(n >= 116); /* as many as there were when this test was written */
}

static void count_difference(void *arg, const struct setting_difference *d)
{
    size_t *n = arg;

    (void)d;
    ++*n;
}

/* The node's name is not read from the settings after the start, so conf_keep() leaves it out. */
static bool is_kept(const struct leaf *l)
{
    return l->change == SETTING_RESTARTS && strcmp(l->key, "node_name") != 0;
}

/* Edits setting number i at the top; if only a restart can change it, it must be as before after
 * conf_keep(). False: there is none. */
static bool keep_one(const struct conf *was, size_t i, size_t *kept)
{
    struct reload_rig now;
    struct leaf l;
    size_t left = 0;

    reload_rig_load(&now, full);
    bool found = find_leaf(main_conf_settings, (char *)now.conf, NULL, &i, &l);
    if (found && is_kept(&l)) {
        edit(&l);
        conf_keep(now.conf, was);
        setting_compare(main_conf_settings, was, now.conf, count_difference, &left);
        if (left > 0)
            fail_msg("conf_keep() forgets %s", l.key);
        ++*kept;
    }
    reload_rig_unload(&now);
    return found;
}

static void test_each_setting_that_needs_a_restart_is_kept(void **state)
{
    struct reload_rig was;
    size_t kept = 0;

    (void)state;
    reload_rig_load(&was, full);
    for (size_t i = 0; keep_one(was.conf, i, &kept); i++)
        continue;
    reload_rig_unload(&was);
    assert_true(kept >= 5); /* as many as there were when this test was written */
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, temp_folder_enter, temp_folder_leave)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(test_each_field_of_a_kubeconfig_counts),
        IN_FOLDER(test_names_in_a_kubeconfig_do_not_count),
        IN_FOLDER(test_each_setting_counts),
        IN_FOLDER(test_each_setting_that_needs_a_restart_is_kept),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
