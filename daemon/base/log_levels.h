/* SPDX-License-Identifier: Apache-2.0 */
/*
 * log_levels - the level of the log, and levels of its own for single watches and hooks; pure.
 */
#ifndef BASE_LOG_LEVELS_H
#define BASE_LOG_LEVELS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/log.h"

/* The kind of thing that a line is about, as its fields say (watch="services"). ALL stands for every line. */
enum log_subject { LOG_SUBJECT_ALL, LOG_SUBJECT_WATCH, LOG_SUBJECT_HOOK };

/* The level of one watch or hook. */
struct log_special {
    struct log_special *next;
    enum log_subject subject;
    enum log_level level;
    char name[];
};

/* Zero-initialised: errors only, and no special levels. */
struct log_levels {
    enum log_level all;
    struct log_special *special; /* the last one that was set comes first */
};

/* Sets the level of all lines, or of those about one watch or hook. name is copied; it is ignored
 * with ALL. */
void log_levels_set(struct log_levels *l, enum log_subject subject, const char *name,
                    enum log_level level);

/* The lines about this watch or hook have the level of all others again. With ALL: those about any
 * watch or hook have. */
void log_levels_unset(struct log_levels *l, enum log_subject subject, const char *name);

/* Is a line of this level, with these fields, to be written? The level of its watch or hook counts
 * if there is one, the most talkative if there are two; else that of all lines. */
bool log_levels_admit(const struct log_levels *l, enum log_level level, const struct kv *fields);

/* The levels of this process, for log_emit(). */
struct log_levels *log_levels(void);

#endif
