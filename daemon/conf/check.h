/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check - rules that more than one settings table uses; pure. The functions for one string return
 * NULL if the text keeps the rule. Otherwise they return the words that a message puts behind
 * `KEY: "TEXT" `; the caller does not free them.
 */
#ifndef CONF_CHECK_H
#define CONF_CHECK_H

#include "conf/problems.h"
#include "conf/where.h"

/* The text must begin with a slash, so that nothing depends on the working directory: hooks run in
 * "/" (docs/design.md "Processes"). */
const char *check_path(const char *text);

/* The text must not be empty. */
const char *check_filled(const char *text);

/* The text must not name a variable other than ${node_name}. */
const char *check_variables(const char *text);

/* Reports each string of the list that an earlier element has too. what is the dotted name of the
 * list ("hooks.print.sources"). */
void check_distinct(const struct conf_list *list, const char *what, struct problems *p);

/* Reports a backoff whose first wait is longer than its longest one (initial > max). what is the
 * dotted name of the group that holds both settings. */
void check_backoff(const struct conf_ms *initial, const struct conf_ms *max, const char *what,
                   struct problems *p);

#endif
