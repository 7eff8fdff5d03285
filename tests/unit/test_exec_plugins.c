/* SPDX-License-Identifier: Apache-2.0 */
/* From the exec section of a kubeconfig to the program that the helper starts. */
#include "app/exec_plugins.h"

#include <fcntl.h>
#include <pwd.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "app/build.h"
#include "app/identity.h"
#include "base/buf.h"
#include "base/mem.h"
#include "conf_files.h"
#include "helper/file_source.h"
#include "temp_folder.h"

#define API_VERSION "client.authentication.k8s.io/v1"
#define INFO                                                     \
    "{\"kind\":\"ExecCredential\",\"apiVersion\":\"" API_VERSION \
    "\",\"spec\":{\"interactive\":false"

/* A user who is not root and may be started as. */
#define USER (getuid() == 0 ? "nobody" : getpwuid(getuid())->pw_name)

struct rig {
    struct conf *conf;
    struct cluster_access_list list;
    struct helper_params helper;
    struct problems others;   /* with the clusters */
    struct problems problems; /* with their plugins */
    struct buf told;
};

/* A file that root trusts. */
static void put(const char *path, const char *text)
{
    conf_files_write(path, text);
    assert_int_equal(chmod(path, 0600), 0);
}

/* Writes the kubeconfig `name`; exec and cluster are more fields, as YAML in one line. */
static void put_kubeconfig(const char *name, const char *cluster, const char *exec)
{
    char *text = mem_printf("current-context: x\n"
                            "contexts: [{name: x, context: {cluster: x, user: x}}]\n"
                            "clusters: [{name: x, cluster: {server: 'https://a:1'%s}}]\n"
                            "users: [{name: x, user: {exec: {apiVersion: " API_VERSION
                            ", interactiveMode: Never%s}}}]\n",
                            cluster, exec);

    put(name, text);
    free(text);
}

static void load_main(struct rig *r, const char *text)
{
    *r = (struct rig){0};
    put("main.conf", text);
    r->conf = conf_files_read("main.conf");
    struct file_set files = {.source = &file_source_disk, .as_root = geteuid() == 0};
    cluster_access_load(&r->list, r->conf, &files, &r->others);
    file_set_fini(&files);
    exec_plugins_check(r->conf, &r->list, &r->problems);
    problems_put(&r->problems, &r->told);
}

/* Loads clusters a, b, .. with the kubeconfigs named, and one hook. */
static void load(struct rig *r, const char *user, const char *const *kubeconfigs)
{
    struct buf text = {0};

    buf_printf(&text, "user = \"%s\";\nclusters : {\n", user);
    for (char name = 'a'; *kubeconfigs != NULL; name++, kubeconfigs++)
        buf_printf(&text, "%c : { kubeconfig = \"%s/%s\"; };\n", name, temp_folder_path(),
                   *kubeconfigs);
    buf_puts(&text, "};\nwatches : { w : { resource = \"nodes\"; cluster = \"a\"; }; };\n"
                    "hooks : { h : { sources = [ \"w\" ]; shell = \"x\"; }; };\n");
    load_main(r, buf_cstr(&text));
    buf_free(&text);
}

/* The same without problems, and with the parameters that the helper gets. */
static void build(struct rig *r, const char *const *kubeconfigs)
{
    struct err err;

    load(r, USER, kubeconfigs);
    assert_string_equal(buf_cstr(&r->told), "");
    if (build_helper(r->conf, &r->list, "node", &r->helper, &err) != ERR_OK)
        fail_msg("%s", err.text);
}

static void finish(struct rig *r)
{
    build_helper_fini(&r->helper);
    cluster_access_fini(&r->list);
    conf_destroy(&r->conf);
    problems_free(&r->others);
    problems_free(&r->problems);
    buf_free(&r->told);
}

/* The value of a variable of the plugin, which must have it once at most; NULL = it has none. */
static const char *variable(const struct rig *r, size_t hook, const char *name)
{
    const char *value = NULL;
    size_t n = strlen(name);

    for (const char *const *env = r->helper.hooks[hook].env; *env != NULL; env++) {
        if (strncmp(*env, name, n) != 0 || (*env)[n] != '=')
            continue;
        assert_null(value);
        value = *env + n + 1;
    }
    return value;
}

static size_t count_env(const struct rig *r, size_t hook)
{
    size_t n = 0;

    while (r->helper.hooks[hook].env[n] != NULL)
        n++;
    return n;
}

static void test_plugins_stand_behind_the_hooks(void **state)
{
    static const char *const files[] = {"one", "none", "two", NULL};
    struct rig r;

    (void)state;
    put_kubeconfig("one", "", ", command: one, args: [a, 'b c']");
    put_kubeconfig("two", "", ", command: bin/two");
    put("none", "current-context: x\ncontexts: [{name: x, context: {cluster: x, user: x}}]\n"
                "clusters: [{name: x, cluster: {server: 'https://a:1'}}]\n"
                "users: [{name: x, user: {token: t}}]\n");
    build(&r, files);
    assert_int_equal(exec_plugins_count(&r.list), 2);
    assert_int_equal(r.helper.hook_count, 4); /* behind them one for the hooks that are gone */
    assert_int_equal(exec_plugins_number(r.conf, &r.list, 0), 1);
    assert_int_equal(exec_plugins_number(r.conf, &r.list, 2), 2);
    assert_string_equal(r.helper.hooks[1].argv[0], "one");
    assert_string_equal(r.helper.hooks[1].argv[1], "a");
    assert_string_equal(r.helper.hooks[1].argv[2], "b c");
    assert_null(r.helper.hooks[1].argv[3]);
    char *two = mem_printf("%s/bin/two", temp_folder_path());
    assert_string_equal(r.helper.hooks[2].argv[0], two);
    assert_null(r.helper.hooks[2].argv[1]);
    free(two);
    for (size_t i = 1; i < 3; i++) {
        assert_int_equal(r.helper.hooks[i].concurrency, 3);
        assert_int_equal(r.helper.hooks[i].umask, 077);
    }
    finish(&r);
}

static void test_started_as_root_a_plugin_is_not_root(void **state)
{
    static const char *const files[] = {"k", NULL};
    struct rig r;

    (void)state;
    if (getuid() != 0)
        skip();
    put_kubeconfig("k", "", ", command: plug");
    build(&r, files);
    const struct helper_hook *plugin = &r.helper.hooks[1];
    assert_true(plugin->change_user);
    assert_int_equal(plugin->uid, identity_uid("nobody"));
    assert_int_not_equal(plugin->gid, 0);
    for (size_t i = 0; i < plugin->group_count; i++)
        assert_int_not_equal(plugin->groups[i], 0);
    assert_string_equal(plugin->alone[0], "plug");
    assert_null(plugin->alone[1]);
    finish(&r);
}

static void test_the_least_environment(void **state)
{
    static const char *const files[] = {"k", NULL};
    char *home = identity_home(getuid() == 0 ? "nobody" : NULL);
    struct rig r;

    (void)state;
    put_kubeconfig("k", "", ", command: plug");
    build(&r, files);
    assert_int_equal(count_env(&r, 1), 4);
    assert_string_equal(variable(&r, 1, "PATH"),
                        "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
    assert_string_equal(variable(&r, 1, "HOME"), home);
    assert_string_equal(variable(&r, 1, "LANG"), "C.UTF-8");
    assert_string_equal(variable(&r, 1, "KUBERNETES_EXEC_INFO"), INFO "}}");
    finish(&r);
    free(home);
}

static void test_the_variables_of_the_kubeconfig_win(void **state)
{
    static const char *const files[] = {"k", NULL};
    struct rig r;

    (void)state;
    setenv("HTTPS_PROXY", "http://proxy:1", 1);
    setenv("no_proxy", "a,b", 1);
    setenv("NO_PROXY", "c", 1);
    setenv("AWS_PROFILE", "ours", 1);
    put_kubeconfig("k", "",
                   ", command: plug, env: [{name: A, value: first}, {name: HOME, value: /h}, "
                   "{name: PATH, value: /p}, {name: A, value: last}, {name: NO_PROXY, value: ''}, "
                   "{name: KUBERNETES_EXEC_INFO, value: x}]");
    build(&r, files);
    assert_string_equal(variable(&r, 1, "A"), "last");
    assert_string_equal(variable(&r, 1, "HOME"), "/h");
    assert_string_equal(variable(&r, 1, "PATH"), "/p");
    assert_string_equal(variable(&r, 1, "HTTPS_PROXY"), "http://proxy:1");
    assert_string_equal(variable(&r, 1, "no_proxy"), "a,b");
    assert_string_equal(variable(&r, 1, "NO_PROXY"), "");
    assert_string_equal(variable(&r, 1, "KUBERNETES_EXEC_INFO"), INFO "}}");
    assert_null(variable(&r, 1, "AWS_PROFILE"));
    finish(&r);
    unsetenv("HTTPS_PROXY");
    unsetenv("no_proxy");
    unsetenv("NO_PROXY");
    unsetenv("AWS_PROFILE");
}

static void test_the_cluster_is_told_if_the_kubeconfig_says_so(void **state)
{
    static const char *const files[] = {"data", "file", "system", "missing", NULL};
    static const char more[] = ", command: plug, provideClusterInfo: true";
    struct rig r;

    (void)state;
    put("ca.pem", "a PEM\n");
    put_kubeconfig("data",
                   ", tls-server-name: n, proxy-url: 'http://p:3', disable-compression: true, "
                   "certificate-authority-data: YSBQRU0K, extensions: [{name: "
                   "client.authentication.k8s.io/exec, extension: {audience: me}}]",
                   more);
    put_kubeconfig("file", ", certificate-authority: ca.pem", more);
    put_kubeconfig("system", ", insecure-skip-tls-verify: true", more);
    put_kubeconfig("missing", ", certificate-authority: none.pem", more);
    build(&r, files);
    assert_string_equal(variable(&r, 1, "KUBERNETES_EXEC_INFO"),
                        INFO ",\"cluster\":{\"server\":\"https://a:1\",\"tls-server-name\":\"n\","
                             "\"certificate-authority-data\":\"YSBQRU0K\","
                             "\"proxy-url\":\"http://p:3\",\"disable-compression\":true,"
                             "\"config\":{\"audience\":\"me\"}}}}");
    assert_string_equal(variable(&r, 2, "KUBERNETES_EXEC_INFO"),
                        INFO ",\"cluster\":{\"server\":\"https://a:1\","
                             "\"certificate-authority-data\":\"YSBQRU0K\"}}}");
    assert_string_equal(variable(&r, 3, "KUBERNETES_EXEC_INFO"),
                        INFO ",\"cluster\":{\"server\":\"https://a:1\","
                             "\"insecure-skip-tls-verify\":true}}}");
    assert_string_equal(variable(&r, 4, "KUBERNETES_EXEC_INFO"),
                        INFO ",\"cluster\":{\"server\":\"https://a:1\"}}}");
    finish(&r);
}

/* The log of a build with this kubeconfig. */
static const char *logged(const char *const *files)
{
    static char text[4096];
    int log = memfd_create("log", MFD_CLOEXEC);
    int stderr_fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
    struct rig r;

    assert_true(dup2(log, STDERR_FILENO) >= 0);
    build(&r, files);
    finish(&r);
    dup2(stderr_fd, STDERR_FILENO);
    ssize_t n = pread(log, text, sizeof(text) - 1, 0);
    assert_true(n >= 0);
    text[n] = '\0';
    close(stderr_fd);
    close(log);
    return text;
}

static void test_only_a_plugin_that_wants_the_ca_misses_it(void **state)
{
    static const char *const files[] = {"k", NULL};

    (void)state;
    put_kubeconfig("k", ", certificate-authority: none.pem", ", command: plug");
    assert_string_equal(logged(files), "");
    put_kubeconfig("k", ", certificate-authority: none.pem",
                   ", command: plug, provideClusterInfo: true");
    assert_non_null(strstr(logged(files), "exec plugin is not told the CA of its cluster"));
    assert_non_null(strstr(logged(files), "none.pem: No such file or directory"));
}

/* ---- Checks */

static void expect_problem(const char *user, const char *problem)
{
    static const char *const files[] = {"k", NULL};
    struct rig r;
    char *line = mem_printf("main.conf:3: clusters.a: exec plugin: %s\n", problem);

    load(&r, user, files);
    assert_string_equal(buf_cstr(&r.told), problem[0] != '\0' ? line : "");
    finish(&r);
    free(line);
}

/* A kubeconfig with a CA of 3 * groups bytes, and a tls-server-name of so many bytes. */
static void put_large(size_t groups, int name, const char *exec)
{
    struct buf cluster = {0};

    buf_printf(&cluster, ", tls-server-name: %.*s, certificate-authority-data: ", name, "aaaaaaaa");
    for (size_t i = 0; i < groups; i++)
        buf_puts(&cluster, "YWFh");
    put_kubeconfig("k", buf_cstr(&cluster), exec);
    buf_free(&cluster);
}

/* The longest string that a program can get has 128 KiB with its NUL. */
static void test_a_cluster_that_does_not_fit_into_a_variable(void **state)
{
    static const char *const files[] = {"k", NULL};
    static const char exec[] = ", command: plug, provideClusterInfo: true";
    const size_t most = (size_t)128 * 1024 - 1;
    struct rig r;

    (void)state;
    put_large(1, 1, exec);
    build(&r, files);
    size_t rest =
        most - strlen("KUBERNETES_EXEC_INFO=") - strlen(variable(&r, 1, "KUBERNETES_EXEC_INFO"));
    finish(&r);
    put_large(1 + rest / 4, 1 + (int)(rest % 4), exec);
    expect_problem(USER, "");
    put_large(1 + rest / 4, 2 + (int)(rest % 4), exec);
    expect_problem(USER, "KUBERNETES_EXEC_INFO would be larger than 128 KiB, which is more than a "
                         "program can get: set provideClusterInfo to false, or name a smaller CA");
    put_large(1 + rest / 4, 2 + (int)(rest % 4), ", command: plug");
    expect_problem(USER, "");
}

static void test_no_plugin_runs_as_root(void **state)
{
    (void)state;
    if (getuid() != 0)
        skip();
    put_kubeconfig("k", "", ", command: plug");
    expect_problem("root", "it does not run as root: set `user` to another user");
}

static void test_only_root_and_the_user_may_name_a_plugin(void **state)
{
    struct rig r;

    (void)state;
    if (getuid() != 0)
        skip();
    put_kubeconfig("k", "", ", command: plug");
    assert_int_equal(chown("k", identity_uid("nobody"), (gid_t)-1), 0);
    expect_problem("nobody", "");
    /* The credentials belong to a third user. */
    char *text = mem_printf("user = \"nobody\";\nclusters : { a : { kubeconfig = \"%s/k\"; "
                            "credential_owner = \"daemon\"; }; };\n",
                            temp_folder_path());
    char *line = mem_printf("main.conf:2: clusters.a: exec plugin: its kubeconfig belongs to uid "
                            "%u, but the program would run as user \"nobody\": give the file to "
                            "root or to that user\n",
                            (unsigned)identity_uid("daemon"));
    assert_int_equal(chown("k", identity_uid("daemon"), (gid_t)-1), 0);
    load_main(&r, text);
    assert_string_equal(buf_cstr(&r.told), line);
    finish(&r);
    free(text);
    free(line);
}

/* The file with the user counts: it names the program. */
static void test_of_several_kubeconfigs_that_of_the_user_counts(void **state)
{
    struct rig r;

    (void)state;
    if (getuid() != 0)
        skip();
    put("c", "current-context: x\ncontexts: [{name: x, context: {cluster: x, user: x}}]\n"
             "clusters: [{name: x, cluster: {server: 'https://a:1'}}]\n");
    put("u", "users: [{name: x, user: {exec: {apiVersion: " API_VERSION
             ", interactiveMode: Never, command: plug}}}]\n");
    char *text = mem_printf("user = \"nobody\";\nclusters : { a : { kubeconfig = \"%s/c:%s/u\"; "
                            "credential_owner = \"daemon\"; }; };\n",
                            temp_folder_path(), temp_folder_path());
    assert_int_equal(chown("c", identity_uid("daemon"), (gid_t)-1), 0);
    load_main(&r, text);
    assert_string_equal(buf_cstr(&r.told), "");
    finish(&r);
    assert_int_equal(chown("c", 0, (gid_t)-1), 0);
    assert_int_equal(chown("u", identity_uid("daemon"), (gid_t)-1), 0);
    load_main(&r, text);
    assert_non_null(strstr(buf_cstr(&r.told), "exec plugin: its kubeconfig belongs to uid "));
    finish(&r);
    free(text);
}

static void test_only_root_may_change_the_program(void **state)
{
    static const char *const files[] = {"k", NULL};
    struct rig r;

    (void)state;
    if (getuid() != 0)
        skip();
    put_kubeconfig("k", "", ", command: bin/plug");
    assert_int_equal(mkdir("bin", 0755), 0);
    put("bin/plug", "#!/bin/sh\n");
    assert_int_equal(chmod("bin/plug", 0755), 0);
    expect_problem("nobody", "");
    assert_int_equal(chown("bin/plug", identity_uid("nobody"), (gid_t)-1), 0);
    load(&r, "nobody", files);
    assert_non_null(strstr(buf_cstr(&r.told), "main.conf:3: clusters.a: exec plugin: "));
    assert_non_null(strstr(buf_cstr(&r.told), "/bin/plug"));
    finish(&r);
}

static void test_what_is_not_installed(void **state)
{
    static const char *const files[] = {"none", "hint", "some", NULL};
    struct problems problems = {0};
    struct buf told = {0};
    struct rig r;

    (void)state;
    put_kubeconfig("none", "", ", command: no-such-plugin");
    put_kubeconfig("hint", "",
                   ", command: /no/such/plugin, installHint: \"apt\\ninstall\\x1bplug\"");
    put_kubeconfig("some", "", ", command: sh");
    load(&r, USER, files);
    assert_string_equal(buf_cstr(&r.told), "");
    exec_plugins_check_installed(r.conf, &r.list, &problems);
    problems_put(&problems, &told);
    assert_string_equal(buf_cstr(&told),
                        "main.conf:3: clusters.a: exec plugin: no-such-plugin is not installed\n"
                        "main.conf:4: clusters.b: exec plugin: /no/such/plugin is not installed: "
                        "apt\\ninstall\\u001bplug\n");
    problems_free(&problems);
    buf_free(&told);
    finish(&r);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, temp_folder_enter, temp_folder_leave)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_plugins_stand_behind_the_hooks),
        TEST(test_started_as_root_a_plugin_is_not_root),
        TEST(test_the_least_environment),
        TEST(test_the_variables_of_the_kubeconfig_win),
        TEST(test_the_cluster_is_told_if_the_kubeconfig_says_so),
        TEST(test_only_a_plugin_that_wants_the_ca_misses_it),
        TEST(test_a_cluster_that_does_not_fit_into_a_variable),
        TEST(test_no_plugin_runs_as_root),
        TEST(test_only_root_and_the_user_may_name_a_plugin),
        TEST(test_of_several_kubeconfigs_that_of_the_user_counts),
        TEST(test_only_root_may_change_the_program),
        TEST(test_what_is_not_installed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
