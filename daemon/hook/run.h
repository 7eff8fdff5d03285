/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run - one execution of a hook as data: the events that it delivers, and how it ended; pure.
 */
#ifndef HOOK_RUN_H
#define HOOK_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/digest.h"
#include "base/list.h"
#include "base/run_end.h"
#include "hook/delivery_queue.h"

struct hook;
struct members;

/* Which program a run starts. */
enum run_kind {
    RUN_COMMAND, /* the command; with output its stdout becomes the file */
    RUN_REMOVE,  /* no program: the helper removes the file of a key that has ended */
    RUN_APPLY,   /* the program `apply`; such a run has no events */
    RUN_WRITE,   /* no program: the helper writes the members of the object to files */
};

/* INFORMERD_REASON: why the run happens (docs/hooks.md lists the reasons). */
enum run_reason { RUN_EXISTING, RUN_CHANGE, RUN_RETRY, RUN_RERUN, RUN_RENEW, RUN_MANUAL };

/* An event of the run, and the delivery that it came from, which stays while the run lives. */
struct run_event {
    struct delivery_event ev; /* with a reference to its object */
    struct delivery *delivery;
    struct object *old; /* MODIFIED: the last handled state, with a reference; NULL = not known */
    struct buf changed; /* MODIFIED: `changed`, lines of paths (hook/changes) */
    struct delivery_snapshot was; /* the delivery before this run; from run_deliver() on */
};

/* Another hook whose files a run of `apply` is for, too (hook/apply_group). It stays while the run
 * lives. */
struct run_other {
    struct hook *hook;
    uint32_t manual_runs;
};

/* A run from hooks_next() to hooks_finish(), or the preview of one. */
struct run {
    struct list link;     /* in hooks.runs */
    uint64_t id;          /* unique in this process; 0 = a preview that does not run */
    uint32_t manual_runs; /* set of manual runs that it belongs to (hook/manual_runs) */
    struct hook *hook;
    struct work_item *work_item;
    enum run_kind kind;
    enum run_reason reason;
    unsigned attempt; /* 1, 2, ... */
    uint64_t started_ms;
    struct run_event *events; /* mode object: exactly one; APPLY: none */
    size_t event_count;
    struct run_other *others; /* APPLY: hooks that share it, without `hook`; else NULL */
    size_t other_count;
    char *file;              /* the path of its file, set by files_claim(); NULL = none */
    struct members *members; /* the same: its files with files_from; else NULL */
    /* Mode snapshot: an incarnation in the snapshot is not in `changes` yet, as its key has two
     * events already. */
    bool held_back;
};

/* The result of a run. Strings are borrowed. */
struct run_result {
    struct run_end end; /* of its last program; a shortage (hook/shortage) is no run of the hook */
    const char *text;   /* "exit status 3", "timeout after 30000 ms: killed by signal 9" */
    uint64_t wall_ns;   /* when it ended */
    struct str out;     /* the last bytes of its stdout, not always UTF-8 */
    struct str err;     /* the last bytes of its stderr */
    uint64_t dropped;   /* bytes of output beyond log_limit, not logged */
    /* Informerd stopped the run because informerd itself ends, or because a reload replaces or drops
     * the hook: the next process, or the new hook, runs it again. */
    bool stopped;
    struct digest digest; /* of the file's bytes; SAME and WRITTEN, but not of REMOVE */
};

/* Makes the run that a work item would get now, with its events in order; dl is the delivery in
 * mode object, else NULL. Takes references and changes nothing else. NULL: there is no event to
 * deliver. Free with run_free(). */
struct run *run_preview(struct hook *h, struct delivery *dl, uint64_t now_ms) MUST_CHECK;

/* Does the run deliver all objects, changed or not? In mode batch only reruns and manual runs do;
 * mode object has just one object, and a snapshot shows all of them anyway. */
bool run_tells_all(const struct run *run);

/* Makes the run of `apply` that is due. Free with run_free(). */
struct run *run_of_apply(struct hook *h, uint64_t now_ms) MUST_CHECK;

/* The run of `apply`, which has room for one more in `others`, is for the files of this hook, too.
 * Its manual runs become those of the run. */
void run_share(struct run *run, struct hook *h);

/* The run starts: notes in each delivery that its event is delivered, and keeps the state before
 * that in run_event.was. */
void run_deliver(struct run *run);

/* Takes the run off its list, frees it and drops its references. */
void run_free(struct run *run);

/* The one event of a run for a key in mode object; NULL in other modes and for `apply`. */
const struct run_event *run_keyed(const struct run *run);

/* The key of that event, or "". */
const char *run_key(const struct run *run);

/* "command", "remove", "apply", "write". */
const char *run_kind_name(enum run_kind kind);

/* "existing", "change", "retry", "rerun", "renew", "manual". */
const char *run_reason_name(enum run_reason reason);

#endif
