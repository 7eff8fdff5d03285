/* SPDX-License-Identifier: Apache-2.0 */
#include "admin/log_call.h"

#include "admin/call.h"
#include "base/log_levels.h"
#include "cache/watch.h"
#include "hook/hook.h"
#include "proto/json_member.h"
#include "proto/json_out.h"

/* The parts of the path: v1, log-level, LEVEL, watch or hook, NAME. */
enum { AT_LEVEL = 2, AT_SUBJECT = 3, AT_NAME = 4 };

static void put_special(struct json_out *j, const char *key, const struct log_levels *l,
                        enum log_subject subject)
{
    json_out_key(j, key);
    json_out_open(j, '{');
    for (const struct log_special *s = l->special; s != NULL; s = s->next)
        if (s->subject == subject)
            json_member_text(j, s->name, log_level_words[s->level]);
    json_out_close(j, '}');
}

void log_call_show(struct call *c)
{
    const struct log_levels *l = c->m->log_levels;
    struct json_out j = json_out_to(&c->out->body);

    json_out_open(&j, '{');
    json_member_text(&j, "level", log_level_words[l->all]);
    json_member_text(&j, "configured", log_level_words[c->m->log_configured]);
    put_special(&j, "watches", l, LOG_SUBJECT_WATCH);
    put_special(&j, "hooks", l, LOG_SUBJECT_HOOK);
    json_out_close(&j, '}');
    call_end(c);
}

/* Reads the level; ADMIN_LOG_DEFAULT for "default". False: the answer is 404. */
static bool find_level(struct call *c, int *level)
{
    struct str word = c->target->part[AT_LEVEL];

    *level = ADMIN_LOG_DEFAULT;
    if (str_is(word, "default"))
        return true;
    for (*level = 0; log_level_words[*level] != NULL; ++*level)
        if (str_is(word, log_level_words[*level]))
            return true;
    admin_refuse(c->out, 404, "there is no such level: error, warn, info, debug, trace, default");
    return false;
}

/* The name of the watch in log lines: a watch with several names logs under its first one. NULL:
 * the answer is 404. */
static const char *find_watch(struct call *c)
{
    for (size_t i = 0; i < c->m->watch_count; i++)
        if (str_is(c->target->part[AT_NAME], c->m->watches[i].name))
            return watch_name(c->m->watches[i].watch);
    admin_refuse(c->out, 404, "there is no watch of this name: informerctl watches lists them");
    return NULL;
}

static const char *find_hook(struct call *c)
{
    const struct hook *h = hooks_find(c->m->hooks, c->target->part[AT_NAME]);

    if (h == NULL)
        admin_refuse(c->out, 404, "there is no hook of this name: informerctl hooks lists them");
    return h != NULL ? h->name : NULL;
}

void log_call_set(struct call *c)
{
    bool special = c->target->count > AT_SUBJECT;
    bool is_watch = special && str_is(c->target->part[AT_SUBJECT], "watch");
    enum log_subject subject = is_watch  ? LOG_SUBJECT_WATCH
                               : special ? LOG_SUBJECT_HOOK
                                         : LOG_SUBJECT_ALL;
    const char *name = NULL;
    int level;

    if (!find_level(c, &level))
        return;
    if (special) {
        name = is_watch ? find_watch(c) : find_hook(c);
        if (name == NULL)
            return;
    }
    c->m->actions->log_level(c->m->arg, subject, name, level);
    log_call_show(c);
}
