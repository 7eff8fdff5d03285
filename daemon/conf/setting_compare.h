/* SPDX-License-Identifier: Apache-2.0 */
/*
 * setting_compare - finds the settings whose values differ between two structs that one settings
 * table has filled in; pure.
 */
#ifndef CONF_SETTING_COMPARE_H
#define CONF_SETTING_COMPARE_H

#include "conf/setting.h"

/* A setting with two values. */
struct setting_difference {
    const char *key;            /* with the groups that it is in: "retry.max" */
    const struct setting *row;  /* not of type GROUP */
    enum setting_change change; /* of the row, or of the outermost group that has a class */
    const void *a;              /* the two values, each a struct of conf/where.h; NAMED: NULL */
    const void *b;
};

/* Is called for one difference; all that d points to is borrowed for the time of the call. */
typedef void setting_compare_cb(void *arg, const struct setting_difference *d);

/* Calls fn for each setting of the table that has another value in b than in a, in the order of the
 * table. The place in the files makes no difference, except that of settings with written_counts:
 * whether the user wrote them. The order of lists counts, that of maps does not. A NAMED setting is
 * one setting: it differs if the elements have other names, another order, or any other value. */
void setting_compare(const struct setting *table, const void *a, const void *b,
                     setting_compare_cb *fn, void *arg);

#endif
