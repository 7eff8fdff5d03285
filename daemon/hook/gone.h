/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gone - hooks that are not configured any more, and the output files that they have left: these stay
 * until a person has them removed, or the hook is configured again (docs/design.md "Files of hooks that
 * are gone"); pure.
 */
#ifndef HOOK_GONE_H
#define HOOK_GONE_H

#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "hook/strays.h"

struct hooks;

enum gone_state {
    GONE_KEPT,       /* its files and records stay */
    GONE_REMOVING,   /* a person has its files removed, and then its records */
    GONE_FORGETTING, /* a person has its records removed, and its files left in place */
    GONE_FORGOTTEN,  /* nothing is known of it any more */
};

/* One such hook. Its files are strays that are LEFT, or DUE while they are to be removed. */
struct gone_hook {
    char *name;
    uint64_t item; /* for persist: its id in the state */
    enum gone_state state;
    size_t removed; /* files that the last order has removed */
    struct strays files;
};

/* Zeroed is empty. */
struct gone {
    struct gone_hook **v;
    size_t n;
};

/* Frees all. */
void gone_fini(struct gone *g);

/* Adds a hook without files. The result is borrowed, and stays where it is. */
struct gone_hook *gone_add(struct gone *g, struct str name, uint64_t item);

/* The hook is configured again. Nothing may be under way for it: it is KEPT or FORGOTTEN. Does nothing
 * if there is no such hook. */
void gone_remove(struct gone *g, struct str name);

/* A file of the hook stays. */
void gone_add_file(struct gone_hook *gh, const struct files_seen *seen);

/* The hook with this name, borrowed; NULL = there is none. One that is FORGOTTEN is found, too. */
struct gone_hook *gone_find(const struct gone *g, struct str name);

/* Is a file that stays still nobody's? A hook that was renamed writes the same file under its new
 * name. */
bool gone_is_left(const struct hooks *hs, const struct stray *x);

/* A person has the hook forgotten; with_files: its files are DUE then, but for those that another hook
 * has. The hook must be KEPT. */
void gone_forget(struct gone_hook *gh, const struct hooks *hs, bool with_files);

/* The removal of a file that was DUE has ended. */
void gone_ended(struct gone_hook *gh, struct stray *x, enum stray_end end);

/* Is nothing to be done any more before the records of the hook can go? */
bool gone_is_done(const struct gone_hook *gh);

/* The records of the hook are gone from the state. True: files are left, and the hook is KEPT with
 * these as its only records, which are to be put again under another item. */
bool gone_dropped(struct gone_hook *gh);

#endif
