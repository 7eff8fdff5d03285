/* SPDX-License-Identifier: Apache-2.0 */
#include "conf/view_conf.h"

#include "conf/conf.h"

/* In the order of enum conf_view_type. */
static const char *const types[] = {"service_endpoints", NULL};

#define ROW_STRUCT struct conf_view
const struct setting view_conf_settings[] = {
    SETTING_ROW(WORD, type, .words = types),
    SETTING_ROW(STR, services, SETTING_RANGE(1, 0)),
    SETTING_ROW(STR, slices, SETTING_RANGE(1, 0)),
    SETTING_ROW(BOOL, local_only, SETTING_DEFAULT("false")),
    SETTING_ROW(MS, hold_empty, SETTING_DEFAULT("\"0s\""), SETTING_RANGE(0, SETTING_YEAR_MS)),
    {.key = NULL},
};
#undef ROW_STRUCT

/* One setting that names a watch. "" is a required setting that is missing, which is reported
 * already. */
static void check_watch(const struct conf *c, const struct conf_view *v, const char *key,
                        const struct conf_str *name, struct problems *p)
{
    if (name->v[0] == '\0' || conf_find_watch(c, name->v) != NULL)
        return;
    if (conf_find_view(c, name->v) != NULL)
        problems_add(p, name->at, "views.%s.%s: \"%.80s\" is a view: a view is made of watches",
                     v->name.v, key, name->v);
    else
        problems_add(p, name->at, "views.%s.%s: there is no watch \"%.80s\"", v->name.v, key,
                     name->v);
}

void view_conf_check(const struct conf *c, const struct conf_view *v, struct problems *p)
{
    /* Names of watches and views share one space, as `sources` of a hook takes both. */
    const struct conf_watch *twin = conf_find_watch(c, v->name.v);

    if (twin != NULL)
        problems_add(p, v->name.at,
                     "views.%s: a watch has this name already (%s:%d): hooks could not tell them "
                     "apart",
                     v->name.v, twin->name.at.file, twin->name.at.line);
    check_watch(c, v, "services", &v->services, p);
    check_watch(c, v, "slices", &v->slices, p);
}
