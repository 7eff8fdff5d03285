/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run - one execution of a hook, as data: what it is told, and how it ended; pure.
 */
#ifndef HOOK_RUN_H
#define HOOK_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/digest.h"
#include "base/list.h"
#include "hook/delivery_snapshot.h"
#include "hook/shortage.h"

struct hook;

/* What is run. */
enum run_kind {
    RUN_COMMAND, /* the command, and what it prints becomes the file if the hook has output */
    RUN_REMOVE,  /* nothing: the file of a key that has ended is removed */
    RUN_APPLY,   /* the program that has files take effect; it has no events */
};

enum run_reason { RUN_EXISTING, RUN_CHANGE, RUN_RETRY, RUN_RERUN, RUN_RENEW, RUN_MANUAL };

/* An event of the run and the entry it came from, which stays while the run lives. */
struct run_event {
    struct delivery_event ev; /* holds a reference of its object */
    struct delivery *entry;
    struct object *old; /* MODIFIED: the last handled state, a reference; NULL = there is none */
    struct buf changed; /* MODIFIED: lines of paths (hook/changes) */
    struct delivery_snapshot was; /* from run_deliver() on */
};

struct run {
    struct list link;     /* of the runs under way */
    uint64_t id;          /* unique in this process; 0 = only looked at (run_preview()) */
    uint32_t manual_runs; /* of people that it fulfils (hook/manual_runs) */
    struct hook *hook;
    struct work_item *work_item;
    enum run_kind kind;
    enum run_reason reason;
    unsigned attempt; /* 1, 2, ... */
    uint64_t started_ms;
    struct run_event *events; /* mode object: exactly one; none of APPLY */
    size_t event_count;
    char *file;     /* its path, by files_claim(); NULL = none */
    bool held_back; /* mode snapshot: the snapshot shows a life that changes had no room for */
};

enum run_end {
    RUN_EXITED, /* with a status */
    RUN_FAILED, /* killed, timed out, not started */
    RUN_UNFIT,  /* it cannot be told what it must be told: no use trying before a change */
    RUN_NOT_STARTED, /* the system lacked what it takes to start it (hook/shortage): that is no attempt */
};

/* What became of the hook's file. */
enum run_file {
    RUN_FILE_NONE, /* nothing: it is as it was */
    RUN_FILE_SAME, /* it was already as it should be; REMOVE: there was none */
    RUN_FILE_WRITTEN,
    RUN_FILE_REMOVED,
};

/* How a run ended. Strings are borrowed. */
struct run_result {
    enum run_end end;
    int status;             /* EXITED */
    enum shortage shortage; /* NO_MEANS: what was short */
    const char *text;       /* "exit status 3", "timeout after 30000 ms: killed by signal 9" */
    uint64_t wall_ns;       /* when */
    uint64_t cpu_us;        /* user and system time of the program and what it waited for */
    struct str out;         /* the last of what it printed to stdout, whatever bytes they are */
    struct str err;         /* the same of stderr */
    uint64_t dropped;       /* bytes of output over log_limit */
    bool stopped; /* informerd has ended it, as it ends itself: the next process tries it anew */
    enum run_file file;
    struct digest digest; /* SAME, WRITTEN but of REMOVE: of the file's bytes */
};

/* What a run of the unit would be told now, events in order; dl is its entry in mode object, else
 * NULL. Nothing changes but references. NULL: there is nothing to tell. Free with run_free(). */
struct run *run_preview(struct hook *h, struct delivery *dl, uint64_t now_ms) MUST_CHECK;

/* Does it tell of all that there is, though it has not changed? */
bool run_tells_all(const struct run *run);

/* The run of apply that is due. Free with run_free(). */
struct run *run_of_apply(struct hook *h, uint64_t now_ms) MUST_CHECK;

/* Takes note in the entries that a run with these events starts. */
void run_deliver(struct run *run);

/* Frees it and what it refers to. Takes it off its list. */
void run_free(struct run *run);

/* The one event of a run for a key, in mode object; else NULL. */
const struct run_event *run_keyed(const struct run *run);

/* The key of that, or "". */
const char *run_key(const struct run *run);

/* "command", "remove", "apply". */
const char *run_kind_name(enum run_kind kind);

/* "same", "written", "removed", NULL. */
const char *run_file_name(enum run_file file);

/* "existing", "change", "retry", "rerun", "renew", "manual". */
const char *run_reason_name(enum run_reason reason);

#endif
