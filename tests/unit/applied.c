/* SPDX-License-Identifier: Apache-2.0 */
#include "applied.h"

struct hook *applied_add(struct stage_hook p)
{
    p.applies = true;
    p.output = p.rules.mode == HOOK_OBJECT ? "/etc/x/${namespace}/${name}.conf" : "/etc/x.conf";
    return stage_add(&p);
}

/* The next run, which has claimed its file. */
struct run *applied_starts(enum delta_type type, const char *uid)
{
    struct run *run = stage_starts(type, uid);
    struct err err = {0};

    assert_int_equal(files_claim(run, &err), ERR_OK);
    return run;
}

struct run *applied_starts_whole(void)
{
    struct run *run = stage_next();
    struct err err = {0};

    assert_int_equal(run->kind, RUN_COMMAND);
    assert_int_equal(files_claim(run, &err), ERR_OK);
    return run;
}

void applied_write_first(const char *key, const char *uid)
{
    stage_change(0, DELTA_ADDED, key, uid, "\"a\":1");
    stage_end_file(applied_starts(DELTA_ADDED, uid), RUN_FILE_WRITTEN, 1);
}

void applied_apply_passes(enum run_reason reason)
{
    stage_end(stage_applies(reason, 1), 0);
}

/* A hook in mode object whose first runs are over and applied; ns/a is handled, its file is 1. */
struct hook *applied_add_settled(struct stage_hook p)
{
    struct hook *h = applied_add(p);

    stage_change(0, DELTA_ADDED, "ns/a", "u1", "\"a\":1");
    stage_sync(0);
    stage_end_file(applied_starts(DELTA_ADDED, "u1"), RUN_FILE_WRITTEN, 1);
    applied_apply_passes(RUN_EXISTING);
    assert_int_equal(h->gate, GATE_OPEN);
    stage_nothing();
    return h;
}
