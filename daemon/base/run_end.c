/* SPDX-License-Identifier: Apache-2.0 */
#include "base/run_end.h"

#include <stddef.h>
#include <string.h>

struct run_end run_end_refused(enum run_program program, enum run_stage stage, int error)
{
    return (struct run_end){
        .program = program, .kind = RUN_END_REFUSED, .stage = stage, .value = error};
}

void run_end_cut(struct run_end *end, enum run_cut cut)
{
    if (cut != RUN_CUT_TIMEOUT || end->killed)
        end->cut = cut;
}

void run_end_follow(struct run_end *end, const struct run_end *before)
{
    end->cpu_us += before->cpu_us;
    if (end->memory_peak < before->memory_peak)
        end->memory_peak = before->memory_peak;
    end->cleared += before->cleared;
    if (end->left > 0) /* in the cgroup that both have */
        return;
    end->left = before->left;
    end->left_pid = before->left_pid;
    memcpy(end->left_comm, before->left_comm, sizeof(end->left_comm));
}

const char *run_end_limit(const struct run_end *end)
{
    static const char *const met[] = {
        [RUN_LIMIT_NONE] = "",
        [RUN_LIMIT_MEMORY] = ", out of memory (memory_max of the hook, or MemoryMax= of the unit)",
        [RUN_LIMIT_PIDS] = ", too many processes (pids_max of the hook, or TasksMax= of the unit)",
    };

    return run_end_is_good(end) ? "" : met[end->limit];
}

bool run_end_is_good(const struct run_end *end)
{
    return end->kind == RUN_END_EXITED && end->value == 0 && end->cut == RUN_CUT_NONE;
}

bool run_end_is_unfit(const struct run_end *end)
{
    return end->kind == RUN_END_REFUSED &&
           (end->stage == RUN_STAGE_FIELDS || end->stage == RUN_STAGE_TEMPLATE);
}

const char *run_stage_name(enum run_stage stage)
{
    static const char *const names[RUN_STAGES] = {
        [RUN_STAGE_NONE] = "",
        [RUN_STAGE_SAME] = "same",
        [RUN_STAGE_WRITTEN] = "written",
        [RUN_STAGE_REMOVED] = "removed",
        [RUN_STAGE_FIELDS] = "fields",
        [RUN_STAGE_MEMORY_FILE] = "memory file",
        [RUN_STAGE_SEND] = "send",
        [RUN_STAGE_RECEIVE] = "receive",
        [RUN_STAGE_CONCURRENCY] = "concurrency",
        [RUN_STAGE_ENVIRONMENT] = "environment",
        [RUN_STAGE_PIPE] = "pipe",
        [RUN_STAGE_FORK] = "fork",
        [RUN_STAGE_FILES] = "files",
        [RUN_STAGE_CGROUP] = "cgroup",
        [RUN_STAGE_SETPGID] = "setpgid",
        [RUN_STAGE_SIGNALS] = "signals",
        [RUN_STAGE_DESCRIPTORS] = "descriptors",
        [RUN_STAGE_LIMITS] = "limits",
        [RUN_STAGE_TRUST] = "trust",
        [RUN_STAGE_OUTPUT] = "output",
        [RUN_STAGE_SETGROUPS] = "setgroups",
        [RUN_STAGE_SETGID] = "setgid",
        [RUN_STAGE_SETUID] = "setuid",
        [RUN_STAGE_CAPABILITIES] = "capabilities",
        [RUN_STAGE_PDEATHSIG] = "pdeathsig",
        [RUN_STAGE_CHDIR] = "chdir",
        [RUN_STAGE_NO_NEW_PRIVILEGES] = "no_new_privileges",
        [RUN_STAGE_EXEC] = "exec",
        [RUN_STAGE_TEMPLATE] = "template",
        [RUN_STAGE_INPUT] = "input",
        [RUN_STAGE_FOLDER] = "folder",
        [RUN_STAGE_TARGET] = "target",
        [RUN_STAGE_CREATE] = "create",
        [RUN_STAGE_WRITE] = "write",
        [RUN_STAGE_OWNER] = "owner",
        [RUN_STAGE_MODE] = "mode",
        [RUN_STAGE_FSYNC] = "fsync",
        [RUN_STAGE_RENAME] = "rename",
        [RUN_STAGE_REMOVE] = "remove",
        [RUN_STAGE_FSYNC_FOLDER] = "fsync folder",
        [RUN_STAGE_READ] = "read",
        [RUN_STAGE_SWEEP] = "sweep",
    };

    return names[stage];
}

const char *run_end_file(const struct run_end *end)
{
    return end->stage >= RUN_STAGE_SAME && end->stage <= RUN_STAGE_REMOVED
               ? run_stage_name(end->stage)
               : NULL;
}
