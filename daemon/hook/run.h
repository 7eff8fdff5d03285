/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run - one execution of a hook, as data; pure.
 */
#ifndef HOOK_RUN_H
#define HOOK_RUN_H

#include <stddef.h>
#include <stdint.h>

#include "base/list.h"
#include "hook/queue.h"

enum run_reason { RUN_EXISTING, RUN_CHANGE, RUN_RETRY };

/* An event of the run and the entry it came from, which stays while the run lives. */
struct run_event {
    struct queue_event ev; /* holds a reference of its object */
    struct entry *entry;
};

struct run {
    struct list link; /* of the runs under way */
    uint64_t id;      /* unique in this process */
    struct hook *hook;
    struct unit *unit;
    enum run_reason reason;
    unsigned attempt; /* 1, 2, ... */
    uint64_t started_ms;
    struct run_event *events; /* mode object: exactly one */
    size_t event_count;
    bool held_back; /* mode snapshot: the snapshot shows a life that changes had no room for */
};

/* How a run ended. */
struct run_result {
    bool ok;
    const char *text; /* "exit 3", "killed by signal KILL after the timeout of 30s"; borrowed */
};

#endif
