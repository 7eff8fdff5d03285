/* SPDX-License-Identifier: Apache-2.0 */
#include "app/check_access.h"

#include <stdio.h>
#include <stdlib.h>

#include "app/access_report.h"
#include "app/cluster_runtime.h"
#include "app/exec_plugins.h"
#include "app/options.h"
#include "app/server_check.h"
#include "base/mem.h"
#include "io/helper_link.h"
#include "io/loop.h"

struct check_access {
    struct loop *loop;
    struct helper_link *link;
    struct access_report *report;
    struct server_check **checks; /* of the servers of all clusters in turn */
    size_t n;
    size_t n_done;
    int exit_code;
};

static size_t count_servers(const struct cluster_access_list *l)
{
    size_t n = 0;

    for (size_t i = 0; i < l->n; i++)
        n += l->v[i].server_count;
    return n;
}

char **check_access_nodes(const struct cluster_access_list *l)
{
    char **nodes = mem_array(count_servers(l) + 1, sizeof(char *));
    size_t n = 0;

    for (size_t i = 0; i < l->n; i++)
        for (size_t k = 0; k < l->v[i].server_count; k++)
            nodes[n++] = cluster_access_node_of(l, &l->v[i], &l->v[i].servers[k]);
    return nodes;
}

void check_access_free_nodes(const struct cluster_access_list *l, char ***nodes)
{
    for (size_t i = 0; i < count_servers(l); i++)
        free((*nodes)[i]);
    free(*nodes);
    *nodes = NULL;
}

/* Each server has its tags. */
static void on_opened(void *arg, uint64_t tag, int fd, int error)
{
    struct check_access *a = arg;

    server_check_opened(a->checks[tag / CLUSTER_RUNTIME_TAGS], tag, fd, error);
}

/* The credentials of now are checked. */
static void on_changed(void *arg, uint32_t file)
{
    (void)arg;
    (void)file;
}

static void on_lost(void *arg, const struct err *err)
{
    struct check_access *a = arg;

    fprintf(stderr, "informerd: the helper process has ended: %s\n", err->text);
    a->exit_code = EXIT_CODE_FAILED;
    loop_stop(a->loop);
}

static void on_done(void *arg)
{
    struct check_access *a = arg;

    if (++a->n_done == a->n)
        loop_stop(a->loop);
}

static void start(struct check_access *a, const struct check_access_params *p, const char *agent)
{
    const struct cluster_access_list *l = p->cluster_access;

    a->checks = mem_array(count_servers(l) + 1, sizeof(struct server_check *));
    for (size_t i = 0; i < l->n; i++)
        for (size_t k = 0; k < l->v[i].server_count; k++, a->n++)
            a->checks[a->n] = server_check_create(
                &(struct server_check_params){
                    .loop = a->loop,
                    .link = a->link,
                    .conf = p->conf,
                    .cluster = &p->conf->clusters[i],
                    .access = &l->v[i],
                    .server = k,
                    .tag = (uint64_t)a->n * CLUSTER_RUNTIME_TAGS,
                    .plugin = exec_plugins_number(p->conf, l, i),
                    .user_agent = agent,
                    .node_name = p->node_name,
                    .credential_node = p->nodes[a->n],
                    .report = a->report,
                },
                on_done, a);
}

/* Half of a report must not look like all of it: after a failure nothing is printed. */
static void print(struct check_access *a)
{
    struct buf text = {0};

    if (a->exit_code != EXIT_CODE_OK)
        return;
    access_report_put(&text, a->report);
    if (fwrite(text.data, 1, text.len, stdout) != text.len || fflush(stdout) != 0)
        a->exit_code = EXIT_CODE_FAILED;
    else if (!access_report_is_ok(a->report))
        a->exit_code = EXIT_CODE_NO_PERMISSION;
    buf_free(&text);
}

int check_access_run(const struct check_access_params *p)
{
    static const struct helper_link_events events = {
        .on_opened = on_opened, .on_changed = on_changed, .on_lost = on_lost};
    struct check_access a = {.exit_code = EXIT_CODE_OK};
    char *agent = mem_printf("informerd/%s (linux) node/%s", INFORMERD_VERSION, p->node_name);

    a.loop = loop_create();
    a.link = helper_link_create(a.loop, p->helper_fd, &events, &a);
    a.report = access_report_create();
    start(&a, p, agent);
    if (a.n > 0)
        loop_run(a.loop);
    print(&a);
    for (size_t i = 0; i < a.n; i++)
        server_check_dispose(&a.checks[i]);
    helper_link_dispose(&a.link);
    (void)loop_finish(&a.loop);
    access_report_destroy(&a.report);
    free(a.checks);
    free(agent);
    return a.exit_code;
}
