/* SPDX-License-Identifier: Apache-2.0 */
/*
 * access_reviews - asks one API server which resources it has, and whether it would allow each request
 * that the watches of its cluster make (app/access_questions); driver.
 */
#ifndef APP_ACCESS_REVIEWS_H
#define APP_ACCESS_REVIEWS_H

#include <stddef.h>

#include "app/access_report.h"
#include "conf/conf.h"

struct access_reviews;
struct api_client;
struct discovery_driver;
struct loop;

/* Everything is borrowed, and must outlive the object. */
struct access_reviews_params {
    struct loop *loop;
    struct api_client *client; /* of this server alone */
    struct discovery_driver *discovery_driver;
    const struct conf *conf;
    const struct conf_cluster *cluster;
    const char *node_name;
    struct access_report *report; /* rows are added to this block of it */
    size_t block;
};

/* Starts to ask. done runs once, from the loop, when all rows are there; it must not dispose the
 * object. Never NULL; release with access_reviews_dispose(). */
struct access_reviews *access_reviews_create(const struct access_reviews_params *params,
                                             void (*done)(void *arg), void *arg);

/* The end for the user, before the client and the discovery driver are disposed: *r is NULL. NULL is
 * fine. */
void access_reviews_dispose(struct access_reviews **r);

#endif
