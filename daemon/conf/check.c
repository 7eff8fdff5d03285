/* SPDX-License-Identifier: Apache-2.0 */
#include "conf/check.h"

#include <string.h>

const char *check_path(const char *text)
{
    return text[0] == '/' ? NULL : "must be an absolute path";
}

const char *check_filled(const char *text)
{
    return text[0] != '\0' ? NULL : "must not be empty";
}

const char *check_variables(const char *text)
{
    static const char node_name[] = "${node_name}";

    /* A "$" without "{" is an ordinary character. */
    for (const char *at = strstr(text, "${"); at != NULL; at = strstr(at + 2, "${"))
        if (strncmp(at, node_name, strlen(node_name)) != 0)
            return "names an unknown variable: only ${node_name} is replaced";
    return NULL;
}

/* Is element i equal to one before it? */
static bool stands_before(const struct conf_list *list, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (strcmp(list->v[k].v, list->v[i].v) == 0)
            return true;
    return false;
}

void check_distinct(const struct conf_list *list, const char *what, struct problems *p)
{
    for (size_t i = 0; i < list->n; i++)
        if (stands_before(list, i))
            problems_add(p, list->v[i].at, "%s: \"%.80s\" is named twice", what, list->v[i].v);
}

void check_backoff(const struct conf_ms *initial, const struct conf_ms *max, const char *what,
                   struct problems *p)
{
    /* The user wrote at least one of the two, as the defaults keep the rule: the message points
     * there. */
    struct where at = max->at.line > 0 ? max->at : initial->at;

    if (initial->v > max->v)
        problems_add(p, at, "%s: initial must not be longer than max", what);
}
