/* SPDX-License-Identifier: Apache-2.0 */
/*
 * strays - files that an earlier process wrote for a hook and that nothing names any more, as its
 * output or its watches are others by now (docs/design.md "Stray files"); pure. They are removed
 * before what the hook has written is applied, unless somebody else has changed them.
 */
#ifndef HOOK_STRAYS_H
#define HOOK_STRAYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/digest.h"
#include "base/list.h"
#include "base/map.h"
#include "base/str.h"
#include "hook/files.h"

struct hook;
struct hooks;

enum stray_state {
    STRAY_WAITING, /* it is not known yet whether something names it, or its successor is not there */
    STRAY_DUE,     /* to be removed */
    STRAY_LEFT,    /* it stays, and why says for what */
};

struct stray {
    struct map_node node; /* by path */
    struct list link;
    enum stray_state state;
    const char *why; /* LEFT; constant */
    struct digest digest;
    size_t source;     /* SIZE_MAX: the hook has no such source any more */
    char *source_name; /* "" = modes batch and snapshot */
    char *key;
    bool dirty; /* the sink does not have it */
    char path[];
};

/* Embedded in its hook. */
struct strays {
    struct map by_path;
    struct list all;
    struct list gone; /* the sink has them still */
    size_t waiting;
    size_t due;
    size_t left;
    size_t removed; /* by this process */
    bool is_dirty;  /* some are */
    bool look; /* something has changed that may tell what is to be done with those that wait */
};

/* Makes it empty. */
void strays_init(struct strays *s);

/* Frees all. */
void strays_fini(struct strays *s);

/* What an earlier process has seen in a file, before the first run: a stray, or, if the key it belongs
 * to still has that path, one of h->files. seen->source is SIZE_MAX if there is no such source. */
void strays_restore(struct hook *h, const struct files_seen *seen);

/* A key has this path now. True if it was a stray, which it is no more. */
bool strays_claim(struct hook *h, struct str path);

/* Finds out what is to be removed: once all sources that could name a file have been seen and their
 * first runs have ended, and not before the file that takes its place is there. */
void strays_look(const struct hooks *hs, struct hook *h);

/* Is there something to find out, or to remove? */
bool strays_are_busy(const struct hook *h);

/* How the removal of one has ended. */
enum stray_end {
    STRAY_END_REMOVED,
    STRAY_END_GONE,    /* there was none */
    STRAY_END_CHANGED, /* its bytes are not those that were seen: it stays */
    STRAY_END_FOREIGN, /* the helper does not touch what is there: another folder, or owner */
    STRAY_END_FAILED,
};

/* One that is due was taken care of. */
void strays_ended(struct hook *h, struct stray *x, enum stray_end end, uint64_t now_ms);

/* Puts what has changed since it was put last. */
void strays_put(struct strays *s, const struct files_sink *sink, void *arg);

/* All that was put is lost. */
void strays_touch_all(struct strays *s);

#endif
