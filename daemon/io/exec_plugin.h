/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exec_plugin - the exec plugin of one cluster: has the helper start it, reads its credential, and logs
 * its stderr, without secrets (docs/design.md "Exec plugins"); driver.
 */
#ifndef IO_EXEC_PLUGIN_H
#define IO_EXEC_PLUGIN_H

#include <stdint.h>

#include "base/err.h"
#include "kube/exec_credential.h"

struct exec_plugin;
struct helper_link;
struct loop;

/* client-go waits for ever. Plugins that ask a service on the other side of the world need a few
 * seconds. */
enum { EXEC_PLUGIN_TIMEOUT_MS = 60 * 1000 };

/* Copied, but the strings are borrowed and must outlive the object. */
struct exec_plugin_params {
    struct loop *loop;
    struct helper_link *link;
    uint32_t hook;            /* its number among the hooks of helper_params */
    const char *cluster;      /* its name, for the log */
    const char *command;      /* as the kubeconfig names the program, for messages */
    const char *api_version;  /* of the kubeconfig */
    const char *install_hint; /* of the kubeconfig; NULL = none */
};

/* A run is over. credential is borrowed; NULL: there is none, and err says why (ERR_CREDENTIAL,
 * ERR_TOO_BIG, ERR_TIMEOUT, ERR_IO). Runs from the loop, never inside a call of the user. May begin
 * the next run, or dispose the object. */
typedef void exec_plugin_cb(void *arg, const struct exec_credential *credential,
                            const struct err *err);

/* Does not start the program yet. Never NULL; release with exec_plugin_dispose(). */
struct exec_plugin *exec_plugin_create(const struct exec_plugin_params *params, exec_plugin_cb *cb,
                                       void *arg);

/* The number of the plugin is another one, since the helper has another configuration. */
void exec_plugin_renumber(struct exec_plugin *p, uint32_t hook);

/* Starts the program, which is killed after EXEC_PLUGIN_TIMEOUT_MS with all of its process group. cb
 * comes once, unless the link is lost before. Nothing happens while the program runs. */
void exec_plugin_run(struct exec_plugin *p);

/* The end for the user: *p is NULL, and cb does not come any more. A program that runs is killed with
 * all of its process group. NULL is fine. */
void exec_plugin_dispose(struct exec_plugin **p);

#endif
