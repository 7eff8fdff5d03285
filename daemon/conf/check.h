/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check - rules for single strings that more than one settings table uses; pure. Each returns NULL
 * if the text keeps the rule, else what follows `KEY: "TEXT" ` in a message.
 */
#ifndef CONF_CHECK_H
#define CONF_CHECK_H

#include "conf/problems.h"
#include "conf/where.h"

/* Begins with a slash: nothing depends on the working directory. */
const char *check_path(const char *text);

/* Not empty. */
const char *check_filled(const char *text);

/* Names no variable but ${node_name}. */
const char *check_variables(const char *text);

/* Reports each string that stands in the list before; what is its dotted name. */
void check_distinct(const struct conf_list *list, const char *what, struct problems *p);

/* Reports initial > max; what is the dotted name of the group they stand in. */
void check_ladder(const struct conf_ms *initial, const struct conf_ms *max, const char *what,
                  struct problems *p);

#endif
