/* SPDX-License-Identifier: Apache-2.0 */
#include "base/log_levels.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* The link that points to the special level, or to NULL where there is none. */
static struct log_special **find(struct log_levels *l, enum log_subject subject, const char *name)
{
    struct log_special **at = &l->special;

    while (*at != NULL && ((*at)->subject != subject || strcmp((*at)->name, name) != 0))
        at = &(*at)->next;
    return at;
}

static void drop(struct log_special **at)
{
    struct log_special *s = *at;

    *at = s->next;
    free(s);
}

void log_levels_set(struct log_levels *l, enum log_subject subject, const char *name,
                    enum log_level level)
{
    if (subject == LOG_SUBJECT_ALL) {
        l->all = level;
        return;
    }
    log_levels_unset(l, subject, name);
    struct log_special *s = mem_alloc(sizeof(*s) + strlen(name) + 1);
    s->next = l->special;
    s->subject = subject;
    s->level = level;
    memcpy(s->name, name, strlen(name) + 1);
    l->special = s;
}

void log_levels_unset(struct log_levels *l, enum log_subject subject, const char *name)
{
    if (subject == LOG_SUBJECT_ALL) {
        while (l->special != NULL)
            drop(&l->special);
        return;
    }
    struct log_special **at = find(l, subject, name);
    if (*at != NULL)
        drop(at);
}

static bool is_about(const struct log_special *s, const struct kv *f)
{
    const char *key = s->subject == LOG_SUBJECT_WATCH ? "watch" : "hook";

    return f->type == KV_TYPE_STR && strcmp(f->key, key) == 0 && str_is(f->s, s->name);
}

bool log_levels_admit(const struct log_levels *l, enum log_level level, const struct kv *fields)
{
    bool any = false;

    for (const struct log_special *s = l->special; s != NULL; s = s->next)
        for (const struct kv *f = fields; f->type != KV_TYPE_END; f++) {
            if (!is_about(s, f))
                continue;
            if (level <= s->level)
                return true;
            any = true;
        }
    return !any && level <= l->all;
}
