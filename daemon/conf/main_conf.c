/* SPDX-License-Identifier: Apache-2.0 */
#include "conf/main_conf.h"

#include <string.h>

#include "base/log.h"
#include "base/path_template.h"
#include "base/socket_address.h"
#include "conf/check.h"
#include "conf/cluster_conf.h"
#include "conf/hook_conf.h"
#include "conf/view_conf.h"
#include "conf/watch_conf.h"

/* A node name is a DNS subdomain (RFC 1123): 253 bytes at most. */
enum { INCLUDES_MAX = 100, LISTEN_MAX = 16, NODE_NAME_MAX = 253, USER_NAME_MAX = 255 };
enum { SOCKET_PATH_MAX = 107 };  /* sun_path of unix(7) without its NUL */
enum { FOLDER_PATH_MAX = 4000 }; /* PATH_MAX (4096) less room for the names of the files in it */

#define KIB INT64_C(1024)
#define MIB (KIB * KIB)
#define GIB (KIB * MIB)

/* enum conf_sandbox */
static const char *const sandbox_words[] = {"on", "off", NULL};

static const char *state_dir_fault(const char *text)
{
    if (strcmp(text, "none") == 0 || check_path(text) == NULL)
        return NULL;
    return "must be an absolute path, or \"none\"";
}

/* The helper takes the path for a template, as of any output file. */
static const char *textfile_fault(const char *text)
{
    unsigned used = 0;

    if (strcmp(text, "none") == 0)
        return NULL;
    if (path_template_check(text, &used, NULL) == ERR_OK && used == 0)
        return NULL;
    return "must be the absolute path of a file, without variables, or \"none\"";
}

static const char *listen_fault(const char *text)
{
    struct socket_address a;

    return socket_address_read(text, &a)
               ? NULL
               : "must be an IP address and a port: \"127.0.0.1:9916\" or \"[::1]:9916\"";
}

/* tests/lint/settings.py compares keys and defaults with config/informerd.conf. */
#define ROW_STRUCT struct conf_log
static const struct setting log_settings[] = {
    SETTING_ROW(WORD, level, SETTING_DEFAULT("\"info\""), .words = log_level_words),
    SETTING_ROW(WORD, format, SETTING_DEFAULT("\"auto\""), .words = log_format_words,
                .change = SETTING_RESTARTS),
    SETTING_ROW(INT, max_lines, SETTING_DEFAULT("10000"), SETTING_RANGE(100, 1000000),
                .change = SETTING_RESTARTS),
    {.key = NULL},
};
#undef ROW_STRUCT

#define ROW_STRUCT struct conf_control
static const struct setting control_settings[] = {
    SETTING_ROW(STR, socket, SETTING_DEFAULT("\"/run/informerd/control.sock\""),
                SETTING_RANGE(1, SOCKET_PATH_MAX), .check = check_path),
    SETTING_ROW(STR, group, SETTING_DEFAULT("\"\"")),
    {.key = NULL},
};
#undef ROW_STRUCT

#define ROW_STRUCT struct conf_limits
static const struct setting limits_settings[] = {
    SETTING_ROW(SIZE, object_size, SETTING_DEFAULT("\"16MiB\""), SETTING_RANGE(KIB, GIB)),
    SETTING_ROW(SIZE, memory, SETTING_DEFAULT("\"none\""), SETTING_RANGE(MIB, 1024 * GIB),
                .zero = "none"),
    SETTING_ROW(SIZE, state, SETTING_DEFAULT("\"1GiB\""), SETTING_RANGE(MIB, 1024 * GIB),
                .change = SETTING_RESTARTS),
    SETTING_ROW(INT, hook_concurrency, SETTING_DEFAULT("8"), SETTING_RANGE(1, 1000)),
    SETTING_ROW(MS, stop_timeout, SETTING_DEFAULT("\"30s\""), SETTING_RANGE(0, SETTING_YEAR_MS)),
    SETTING_ROW(MS, ready_timeout, SETTING_DEFAULT("\"60s\""), SETTING_RANGE(0, SETTING_YEAR_MS)),
    SETTING_ROW(MS, pending, SETTING_DEFAULT("\"10min\""), SETTING_RANGE(1, SETTING_YEAR_MS)),
    SETTING_ROW(MS, credential_expiry, SETTING_DEFAULT("\"24h\""),
                SETTING_RANGE(0, SETTING_YEAR_MS)),
    {.key = NULL},
};
#undef ROW_STRUCT

#define ROW_STRUCT struct conf_metrics
static const struct setting metrics_settings[] = {
    SETTING_ROW(LIST, listen, SETTING_DEFAULT("[ \"127.0.0.1:9916\" ]"),
                SETTING_RANGE(0, LISTEN_MAX), .check = listen_fault),
    SETTING_ROW(STR, textfile, SETTING_DEFAULT("\"none\""), SETTING_RANGE(1, FOLDER_PATH_MAX),
                .check = textfile_fault),
    SETTING_ROW(BOOL, page_keys, SETTING_DEFAULT("false")),
    {.key = NULL},
};
#undef ROW_STRUCT

#define ROW_STRUCT struct conf_start_stale
static const struct setting start_stale_settings[] = {
    SETTING_ROW(MS, after, SETTING_DEFAULT("\"10s\""), SETTING_RANGE(1, SETTING_YEAR_MS),
                .zero = "off"),
    SETTING_ROW(MS, max_age, SETTING_DEFAULT("\"24h\""), SETTING_RANGE(1, SETTING_YEAR_MS)),
    {.key = NULL},
};
#undef ROW_STRUCT

#define ROW_STRUCT struct conf
const struct setting main_conf_settings[] = {
    SETTING_ROW(LIST, include, SETTING_DEFAULT("[ \"conf.d/*.conf\" ]"),
                SETTING_RANGE(0, INCLUDES_MAX), .check = check_filled, .main_file_only = true),
    SETTING_ROW(STR, user, SETTING_DEFAULT("\"informerd\""), SETTING_RANGE(1, USER_NAME_MAX),
                .change = SETTING_RESTARTS),
    SETTING_ROW(STR, node_name, SETTING_DEFAULT("\"\""), SETTING_RANGE(0, NODE_NAME_MAX),
                .change = SETTING_RESTARTS),
    SETTING_ROW(STR, state_dir, SETTING_DEFAULT("\"/var/lib/informerd\""),
                SETTING_RANGE(1, FOLDER_PATH_MAX), .check = state_dir_fault,
                .change = SETTING_RESTARTS),
    SETTING_ROW(WORD, sandbox, SETTING_DEFAULT("\"on\""), .words = sandbox_words,
                .change = SETTING_RESTARTS),
    SETTING_ROW(GROUP, log, .group = log_settings),
    SETTING_ROW(GROUP, control, .group = control_settings, .change = SETTING_RESTARTS),
    SETTING_ROW(GROUP, limits, .group = limits_settings),
    SETTING_ROW(GROUP, metrics, .group = metrics_settings),
    SETTING_ROW(GROUP, start_stale, .group = start_stale_settings),
    SETTING_ROW(NAMED, clusters, .group = cluster_conf_settings,
                .named = {sizeof(struct conf_cluster), offsetof(ROW_STRUCT, n_clusters)}),
    SETTING_ROW(NAMED, watches, .group = watch_conf_settings,
                .named = {sizeof(struct conf_watch), offsetof(ROW_STRUCT, n_watches)}),
    SETTING_ROW(NAMED, views, .group = view_conf_settings,
                .named = {sizeof(struct conf_view), offsetof(ROW_STRUCT, n_views)}),
    SETTING_ROW(NAMED, hooks, .group = hook_conf_settings,
                .named = {sizeof(struct conf_hook), offsetof(ROW_STRUCT, n_hooks)}),
    {.key = NULL},
};
#undef ROW_STRUCT

void main_conf_check(const struct conf *c, struct problems *p)
{
    const struct conf_start_stale *s = &c->start_stale;
    /* The message points to max_age if the user wrote that, otherwise to after: one of the two was
     * written, as the defaults keep the rule. */
    bool by_age = s->max_age.at.line > 0;

    check_distinct(&c->metrics.listen, "metrics.listen", p);
    if (s->after.v > 0 && s->max_age.v <= s->after.v && !problems_has(p, s->after.at) &&
        !problems_has(p, s->max_age.at))
        problems_add(p, by_age ? s->max_age.at : s->after.at,
                     "start_stale.max_age must be longer than start_stale.after, or no state is "
                     "ever young enough: make it longer, or write after = \"off\"");
}
