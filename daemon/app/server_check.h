/* SPDX-License-Identifier: Apache-2.0 */
/*
 * server_check - checks the access to one API server, step by step: its name, TCP, TLS, the credential,
 * its version, the resources, and a review of each request that watches make; driver. It makes no
 * other requests, and uses the connections and credentials of the daemon (app/cluster_runtime).
 */
#ifndef APP_SERVER_CHECK_H
#define APP_SERVER_CHECK_H

#include <stddef.h>
#include <stdint.h>

#include "app/access_report.h"
#include "app/cluster_access.h"
#include "conf/conf.h"

struct helper_link;
struct loop;
struct server_check;

/* Everything is borrowed, and must outlive the object. */
struct server_check_params {
    struct loop *loop;
    struct helper_link *link;
    const struct conf *conf;
    const struct conf_cluster *cluster;
    const struct cluster_access *access;
    size_t server; /* of access->servers */
    uint64_t tag;  /* as in cluster_runtime_params */
    uint32_t plugin;
    const char *user_agent;
    const char *node_name;
    const char *credential_node;  /* cluster_access_node_of(); NULL = not known */
    struct access_report *report; /* rows are added to a block of the server's own */
};

/* Adds the block and starts. done runs once, from the loop, when all rows are there; it must not
 * dispose the object. Never NULL; release with server_check_dispose(). */
struct server_check *server_check_create(const struct server_check_params *params,
                                         void (*done)(void *arg), void *arg);

/* The helper's answer for a tag of this object, as cluster_runtime_opened(). */
void server_check_opened(struct server_check *c, uint64_t tag, int fd, int error);

/* The end for the user: *c is NULL. NULL is fine. */
void server_check_dispose(struct server_check **c);

#endif
