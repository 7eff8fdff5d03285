/* SPDX-License-Identifier: Apache-2.0 */
#include "apply_rig.h"

struct hook *apply_rig_add(struct hook_rig_hook p)
{
    p.applies = true;
    p.output = p.rules.mode == HOOK_OBJECT ? "/etc/x/${namespace}/${name}.conf" : "/etc/x.conf";
    return hook_rig_add(&p);
}

struct run *apply_rig_starts(enum delta_type type, const char *uid)
{
    struct run *run = hook_rig_starts(type, uid);
    struct err err = {0};

    assert_int_equal(files_claim(run, &err), ERR_OK);
    return run;
}

struct run *apply_rig_starts_whole(void)
{
    struct run *run = hook_rig_next();
    struct err err = {0};

    assert_int_equal(run->kind, RUN_COMMAND);
    assert_int_equal(files_claim(run, &err), ERR_OK);
    return run;
}

void apply_rig_write_first(const char *key, const char *uid)
{
    hook_rig_change(0, DELTA_ADDED, key, uid, "\"a\":1");
    hook_rig_end_file(apply_rig_starts(DELTA_ADDED, uid), RUN_STAGE_WRITTEN, 1);
}

void apply_rig_apply_passes(enum run_reason reason)
{
    hook_rig_end(hook_rig_applies(reason, 1), 0);
}

struct hook *apply_rig_add_settled(struct hook_rig_hook p)
{
    struct hook *h = apply_rig_add(p);

    hook_rig_change(0, DELTA_ADDED, "ns/a", "u1", "\"a\":1");
    hook_rig_sync(0);
    hook_rig_end_file(apply_rig_starts(DELTA_ADDED, "u1"), RUN_STAGE_WRITTEN, 1);
    apply_rig_apply_passes(RUN_EXISTING);
    assert_int_equal(h->gate, GATE_OPEN);
    hook_rig_nothing();
    return h;
}
