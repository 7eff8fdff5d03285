/* SPDX-License-Identifier: Apache-2.0 */
/*
 * strays - files that an earlier process wrote for a hook and that nothing names any more, because
 * the output or the watches of the hook were edited (docs/design.md "Stray files"); pure. They are
 * removed before the hook's new files are applied, unless somebody else has changed them.
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

/* The fate of a stray. */
enum stray_state {
    /* Not known yet whether a key names it; or the file that takes its place is not written yet. */
    STRAY_WAITING,
    STRAY_DUE,  /* to be removed */
    STRAY_LEFT, /* it stays, and `why` gives the reason */
};

/* One file that nothing names any more. */
struct stray {
    struct map_node node; /* in strays.by_path */
    struct list link;
    enum stray_state state;
    const char *why; /* LEFT: a constant text */
    struct digest digest;
    size_t source;     /* SIZE_MAX: the hook has no such source any more */
    char *source_name; /* "" in modes batch and snapshot */
    char *key;
    bool dirty; /* the sink has no record of it */
    /* The key of the record has this path, and `digest` says what was applied. */
    bool is_applied;
    char path[];
};

/* Embedded in its hook, or in a hook that is not configured any more (hook/gone). */
struct strays {
    struct map by_path; /* strays by their path */
    struct list all;
    struct list gone; /* no strays any more, but the sink still has a record of them */
    size_t waiting;
    size_t due;
    size_t left;
    bool is_dirty; /* some strays are dirty */
    bool look;     /* Something has changed that may decide about those that wait. */
};

/* Makes it empty. */
void strays_init(struct strays *s);

/* Frees all strays. */
void strays_fini(struct strays *s);

/* Takes over the record that an earlier process has left of a file; before the first run. If the
 * key of the record still has that path, the record goes to h->files; else the file is a stray.
 * seen->source is SIZE_MAX if the hook has no such source. */
void strays_restore(struct hook *h, const struct files_seen *seen);

/* The same for a hook of which no deliveries are known any more: whether the object exists decides.
 * True: the file is a stray now; false: that is for strays_restore(), as in modes batch and snapshot
 * the file has no object. */
bool strays_restore_alone(struct hook *h, const struct files_seen *seen);

/* The same for a source of which no deliveries are kept (persist = "none"). A key that still exists need
 * not apply a file that is as it was. */
bool strays_restore_unknown(struct hook *h, const struct files_seen *seen);

/* The hook is renewed: what was applied does not count. */
void strays_renew(struct strays *s);

/* Adds a file that stays; why is constant. */
void strays_add_left(struct strays *s, const struct files_seen *seen, const char *why);

/* Is this the path of the key by the present template, whatever source has the key? */
bool strays_is_named(const struct hook *h, struct str key, struct str path);

/* A person has a file removed that is LEFT: it is DUE. The helper must not be removing files of s. */
void strays_order(struct strays *s, struct stray *x);

/* The file is no stray any more: strays_put() drops its record and frees it. */
void strays_drop(struct strays *s, struct stray *x);

/* A key has this path now. True if the file was a stray: it is none any more, and the sink may have
 * a record of it. *applied is set to the digest of what was applied, or to zero. */
bool strays_claim(struct hook *h, struct str path, struct digest *applied);

/* Finds out which strays are to be removed. It does so once all sources that could name a file
 * have been seen and the first runs have ended, and not before the file that takes its place is
 * written. */
void strays_look(const struct hooks *hs, struct hook *h);

/* Are there strays to decide about now, or to remove? */
bool strays_are_busy(const struct hook *h);

/* How the removal of a stray has ended. */
enum stray_end {
    STRAY_END_REMOVED,
    STRAY_END_GONE,    /* there was no such file */
    STRAY_END_CHANGED, /* its bytes are not those of the record: it stays */
    /* The helper does not touch it: it is in another folder, or of another owner. */
    STRAY_END_FOREIGN,
    STRAY_END_FAILED,
};

/* The removal of a stray that was due has ended: strays_ended() without the hook. */
void strays_swept(struct strays *s, struct stray *x, enum stray_end end);

/* The removal of a stray that was due has ended. */
void strays_ended(struct hook *h, struct stray *x, enum stray_end end, uint64_t now_ms);

/* Puts the records that changed since they were put last. */
void strays_put(struct strays *s, const struct files_sink *sink, void *arg);

/* The sink has lost everything: the next strays_put() puts all records. */
void strays_touch_all(struct strays *s);

#endif
