/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recording - reads the lines of a recording (informerctl(1) "RECORDINGS"), and objects as
 * `kubectl get -o json` writes them; pure.
 */
#ifndef CACHE_RECORDING_H
#define CACHE_RECORDING_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "cache/delta.h"
#include "kube/object.h"

enum recording_what {
    RECORDING_HEAD,   /* the first line */
    RECORDING_WATCH,  /* a watch that the recording has, before its objects */
    RECORDING_CHANGE, /* an object of the list, a change, or STALE and FRESH */
    RECORDING_SYNCED, /* the list of the watch is complete */
    RECORDING_CUT,    /* the last line of a recording that did not end as it should */
};

/* One line; release with recording_line_fini(). */
struct recording_line {
    enum recording_what what;
    int64_t at_ms;  /* when it was written, in ms since 1970; 0 = not told */
    char *source;   /* the watch; NULL = HEAD */
    char *resource; /* WATCH: the resource and scope that it watches, for people; "" = not told */
    char *why;      /* CUT: the reason, for people */
    bool stale;     /* SYNCED: the watch is stale */
    enum delta_type type; /* CHANGE */
    enum delta_cause cause;
    bool final_state_unknown;
    struct object *object; /* CHANGE, but for STALE and FRESH: with all its bytes; else NULL */
};

/* Reads one line, without its newline. ERR_PROTOCOL: it is no JSON, or no such line.
 * ERR_CONFIG: a HEAD of a version that this informerd does not know. After an error there is
 * nothing to release. */
enum err_kind recording_read(struct str text, struct recording_line *out,
                             struct err *err) MUST_CHECK;

/* Frees what *l owns, and zeroes it. */
void recording_line_fini(struct recording_line *l);

/* Takes an object, which is borrowed. */
typedef void recording_take(void *arg, struct object *o);

/* Reads the text of one object, or of a list, whose items are taken in their order. ERR_PROTOCOL
 * says what is wrong, and with which item; items before it were taken. */
enum err_kind recording_read_objects(struct str text, recording_take *take, void *arg,
                                     struct err *err) MUST_CHECK;

#endif
