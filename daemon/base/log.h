/* SPDX-License-Identifier: Apache-2.0 */
/*
 * log - writes one line for each event: a constant message and typed fields. Level, format and the
 * state of stderr belong to the process: they are the only global state outside app/.
 *
 *     log_warn("watch lost", KV_STR("watch", name), KV_MS("lived", ms), KV_ERR(err));
 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

enum log_level { LOG_LVL_ERROR, LOG_LVL_WARN, LOG_LVL_INFO, LOG_LVL_DEBUG, LOG_LVL_TRACE };
enum log_format { LOG_FMT_AUTO, LOG_FMT_TEXT, LOG_FMT_JSON, LOG_FMT_JOURNAL };

enum kv_type {
    KV_TYPE_END,
    KV_TYPE_STR,
    KV_TYPE_I64,
    KV_TYPE_U64,
    KV_TYPE_MS,
    KV_TYPE_ERR,
    KV_TYPE_NONE
};

/* One field, made with the macros below. Values are borrowed for the call. A field of type NONE is
 * left out. */
struct kv {
    enum kv_type type;
    const char *key;
    struct str s;
    int64_t i;
    uint64_t u;
    const struct err *err;
};

#define KV_STR(k, v)  ((struct kv){.type = KV_TYPE_STR, .key = (k), .s = str_c(v)})
#define KV_VIEW(k, v) ((struct kv){.type = KV_TYPE_STR, .key = (k), .s = (v)})
#define KV_INT(k, v)  ((struct kv){.type = KV_TYPE_I64, .key = (k), .i = (v)})
#define KV_U64(k, v)  ((struct kv){.type = KV_TYPE_U64, .key = (k), .u = (v)})
#define KV_MS(k, v)   ((struct kv){.type = KV_TYPE_MS, .key = (k), .u = (v)})
#define KV_ERR(e)     ((struct kv){.type = KV_TYPE_ERR, .key = "err", .err = (e)})

/* Sets the level. Lines of a higher one are not written; base/log_levels knows exceptions. */
void log_set_level(enum log_level level);

/* No line is written any more, of whatever level. For a command whose output says everything. */
void log_mute(void);

/* Sets the format. AUTO: JOURNAL if stderr goes to the journal, else TEXT. TEXT: with time and
 * level. JOURNAL: entries with fields (base/log_journal); where stderr is not the journal, or for a line
 * that its socket does not take, lines on stderr with "<n>" in front, from which the journal takes the
 * priority, and without time. JSON: one object a line. */
void log_set_format(enum log_format format);

enum { LOG_LINES_DEFAULT = 10000 };

/* How many lines of each of the levels error, warn and info are written in 30 s; the rest is left out, and a
 * line says how many that were. LOG_LINES_DEFAULT if it is not called. */
void log_set_lines(uint64_t lines);

/* The words of the settings, "error" to "trace" and "auto" to "journal", in the order of the enums;
 * NULL ends them. */
extern const char *const log_level_words[];
extern const char *const log_format_words[];

/* Writes one line to stderr or the journal; the macros below call it. fields end with KV_TYPE_END.
 * Control bytes and invalid UTF-8 in values are escaped, so a value never makes a second line. If the
 * reader of stderr has stopped, lines are dropped after a short wait, and a later line says how many
 * (docs/decisions.md "Logging never holds the daemon up"). errno stays as it is. */
void log_emit(enum log_level level, const char *msg, const struct kv *fields);

/* The level of a failure that may come again and again: WARN, or DEBUG if it is the one that was
 * logged last (by its text). *logged becomes *err; kind OK = none was logged. */
enum log_level log_failure_level(struct err *logged, const struct err *err);

#define LOG_FIELDS(...)     ((const struct kv[]){__VA_ARGS__, {.type = KV_TYPE_END}})
#define log_error(msg, ...) log_emit(LOG_LVL_ERROR, msg, LOG_FIELDS(__VA_ARGS__))
#define log_warn(msg, ...)  log_emit(LOG_LVL_WARN, msg, LOG_FIELDS(__VA_ARGS__))
#define log_info(msg, ...)  log_emit(LOG_LVL_INFO, msg, LOG_FIELDS(__VA_ARGS__))
#define log_debug(msg, ...) log_emit(LOG_LVL_DEBUG, msg, LOG_FIELDS(__VA_ARGS__))
#define log_trace(msg, ...) log_emit(LOG_LVL_TRACE, msg, LOG_FIELDS(__VA_ARGS__))

#endif
