/* SPDX-License-Identifier: Apache-2.0 */
#include "conf/hook_output.h"

#include <string.h>

#include "base/path_template.h"
#include "conf/check.h"

enum {
    DEFAULT_MODE = 0644,
    NEEDED_EVENTS = CONF_EVENT_ADDED | CONF_EVENT_MODIFIED | CONF_EVENT_DELETED | CONF_EVENT_LEFT,
    SOURCE_EVENTS = CONF_EVENT_STALE | CONF_EVENT_FRESH
};

/* Whether the names exist on this machine is checked in app/check. */
const char *hook_output_owner_fault(const char *text)
{
    const char *colon = strchr(text, ':');

    if (colon != NULL && (colon[1] == '\0' || strchr(colon + 1, ':') != NULL))
        return "must be \"USER\", \"USER:GROUP\" or \":GROUP\"";
    return NULL;
}

/* Only for hooks that are not of mode object. */
static const char *mode_name(const struct conf_hook *h)
{
    return h->mode.v == CONF_MODE_BATCH ? "batch" : "snapshot";
}

/* One file cannot have the name of one of many objects, and files of many objects must not have the
 * same path. ${node_name} is the same for all objects. */
static void check_variables_of(const struct conf_hook *h, unsigned used, struct problems *p)
{
    bool is_object = h->mode.v == CONF_MODE_OBJECT;
    unsigned of_object = used & ~(1U << PATH_TEMPLATE_NODE_NAME);

    if (!is_object && of_object != 0)
        problems_add(p, h->output.at,
                     "hooks.%s.output: ${namespace}, ${name} and ${cluster} need mode \"object\": "
                     "in mode \"%s\" there is one file for all objects",
                     h->name.v, mode_name(h));
    if (is_object && (used & 1U << PATH_TEMPLATE_NAME) == 0)
        problems_add(p, h->output.at,
                     "hooks.%s.output: needs ${name} in mode \"object\", where each object has a "
                     "file of its own (one file for all objects: mode = \"snapshot\")",
                     h->name.v);
}

/* Two hooks with one file would write it in turn, without end. Paths of mode object are compared as
 * templates only, as the names of objects are not known here. */
static void check_alone(const struct conf *c, const struct conf_hook *h, struct problems *p)
{
    for (const struct conf_hook *other = c->hooks; other < h; other++)
        if (strcmp(other->output.v, h->output.v) == 0) {
            problems_add(p, h->output.at,
                         "hooks.%s.output: \"%.80s\" is what hook %s (%s:%d) writes: each needs "
                         "a file of its own",
                         h->name.v, h->output.v, other->name.v, other->output.at.file,
                         other->output.at.line);
            return;
        }
}

/* A hook that does not hear of a change would leave an old file. */
static void check_events(const struct conf_hook *h, struct problems *p)
{
    if ((h->events.v & NEEDED_EVENTS) != NEEDED_EVENTS)
        problems_add(p, h->events.at,
                     "hooks.%s.events must have \"added\", \"modified\", \"deleted\" and "
                     "\"left\" with output (line %d): the file follows every change",
                     h->name.v, h->output.at.line);
    if (h->mode.v == CONF_MODE_OBJECT && (h->events.v & SOURCE_EVENTS) != 0)
        problems_add(p, h->events.at,
                     "hooks.%s.events: \"stale\" and \"fresh\" have no object, so no output "
                     "(line %d): leave them out, or use another hook for them",
                     h->name.v, h->output.at.line);
}

/* The rules for a hook that has output. Without a valid template the other rules have nothing to
 * look at. */
static void check_file(const struct conf *c, const struct conf_hook *h, struct problems *p)
{
    unsigned used = 0;
    struct err err;

    if (path_template_check(h->output.v, &used, &err) != ERR_OK) {
        problems_add(p, h->output.at, "hooks.%s.output: \"%.80s\" %s", h->name.v, h->output.v,
                     err.text);
        return;
    }
    check_variables_of(h, used, p);
    check_alone(c, h, p);
    check_events(h, p);
}

/* Nothing is looked up in PATH: programs are named by their path. */
static void check_absolute(const struct conf_hook *h, const char *key, const struct conf_list *argv,
                           struct problems *p)
{
    const char *fault = argv->n > 0 ? check_path(argv->v[0].v) : NULL;

    if (fault != NULL)
        problems_add(p, argv->v[0].at, "hooks.%s.%s[0]: \"%.80s\" %s", h->name.v, key, argv->v[0].v,
                     fault);
}

/* In mode object one apply is for the files of many objects (docs/design.md "Apply"), so ${file}
 * would not say which file. */
static void check_apply_file(const struct conf_hook *h, struct problems *p)
{
    for (size_t i = 0; i < h->apply.n && h->mode.v == CONF_MODE_OBJECT; i++)
        if (strstr(h->apply.v[i].v, "${file}") != NULL)
            problems_add(p, h->apply.v[i].at,
                         "hooks.%s.apply[%zu]: ${file} needs mode \"batch\" or \"snapshot\": in "
                         "mode \"object\" one apply is for the files of many objects",
                         h->name.v, i);
}

/* A setting without effect is a mistake that the user should hear of. */
static void check_needs_output(const struct conf_hook *h, const char *key, bool is_set,
                               struct where at, struct problems *p)
{
    if (is_set)
        problems_add(p, at, "hooks.%s.%s needs output: it is about the file that output names",
                     h->name.v, key);
}

void hook_output_check(const struct conf *c, const struct conf_hook *h, struct problems *p)
{
    check_absolute(h, "check", &h->check, p);
    check_absolute(h, "apply", &h->apply, p);
    check_apply_file(h, p);
    if (h->output.v[0] != '\0') {
        check_file(c, h, p);
    } else if (!problems_has(p, h->output.at)) { /* a refused output is empty, too */
        check_needs_output(h, "output_mode", h->output_mode.v != DEFAULT_MODE, h->output_mode.at,
                           p);
        check_needs_output(h, "output_owner", h->output_owner.v[0] != '\0', h->output_owner.at, p);
        check_needs_output(h, "check", h->check.n > 0, h->check.at, p);
        check_needs_output(h, "apply", h->apply.n > 0, h->apply.at, p);
    }
}
