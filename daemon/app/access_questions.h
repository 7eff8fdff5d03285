/* SPDX-License-Identifier: Apache-2.0 */
/*
 * access_questions - which reviews of an access --check-access asks a server for: one for each verb
 * of each scope of each watch; pure.
 */
#ifndef APP_ACCESS_QUESTIONS_H
#define APP_ACCESS_QUESTIONS_H

#include <stddef.h>

#include "app/access_report.h"
#include "conf/watch_conf.h"
#include "kube/resource.h"

struct access_question {
    const char *watch; /* borrowed; NULL = the cluster's identity */
    char *text;        /* access_review_put_text() */
    char *body; /* access_review_put(); NULL = nothing is asked: text and verdict are the row */
    enum access_verdict verdict;
};

/* Zero-initialised is empty. */
struct access_questions {
    struct access_question *v;
    size_t n;
};

/* Adds the LIST that asks which cluster it is (kube/cluster_identity). */
void access_questions_add_identity(struct access_questions *q);

/* Adds a row in the place of the questions of a watch, about which nothing can be asked. */
void access_questions_add_row(struct access_questions *q, const struct conf_watch *w,
                              enum access_verdict verdict, const char *text);

/* Adds list and watch, with confirm_deletes also get, of each namespace times each name of a watch. Its
 * selectors get this node_name. r is its resource, as the server knows it. */
void access_questions_add_watch(struct access_questions *q, const struct conf_watch *w,
                                const struct resource *r, const char *node_name);

/* Frees the questions and zeroes *q. */
void access_questions_fini(struct access_questions *q);

#endif
