/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/outputs.h"

#include "base/panic.h"
#include "sim/disk.h"

static size_t at(const struct outputs *o, const struct run *run)
{
    return o->rules->mode == HOOK_OBJECT ? api_find(str_c(run_key(run))) : 0;
}

static struct output_files_file *file_of(const struct outputs *o, const struct run *run)
{
    return run->file != NULL ? &o->output_files->files[at(o, run)] : NULL;
}

void outputs_renew(struct outputs *o)
{
    o->excused = true;
    for (size_t i = 0; i < API_KEYS; i++)
        o->unsure[i] = o->renewed[i] = true;
}

bool outputs_holds(const struct outputs *o, const struct run *run, uint64_t bytes)
{
    const struct output_files_file *f = file_of(o, run);

    if (f == NULL)
        return true;
    return run->kind == RUN_REMOVE ? !f->is : f->is && f->bytes == bytes;
}

void outputs_fill(struct outputs *o, const struct run *run, bool ok, bool writes, uint64_t bytes,
                  struct run_result *result)
{
    struct output_files_file *f = file_of(o, run);

    if (f == NULL)
        return;
    if (run->kind == RUN_REMOVE) {
        if (!ok)
            return;
        result->end.stage = f->is ? RUN_STAGE_REMOVED : RUN_STAGE_SAME;
        f->is = false;
        return;
    }
    if (ok) {
        result->end.stage = f->is && f->bytes == bytes ? RUN_STAGE_SAME : RUN_STAGE_WRITTEN;
        result->digest.lo = bytes;
    }
    if (!ok && !writes)
        return;
    f->is = true;
    f->bytes = bytes;
}

/* A run succeeded: from now on the daemon knows the content that this run found or wrote. */
static void note_known(struct outputs *o, const struct run *run, enum run_stage became)
{
    size_t i = at(o, run);

    if (became != RUN_STAGE_SAME || (o->renewed[i] && run->kind != RUN_REMOVE))
        o->writes++;
    else if (o->unsure[i])
        o->excused = true;
    o->unsure[i] = o->renewed[i] = false;
    o->numbers[i] = disk_number(o->disk);
}

void outputs_end(struct outputs *o, const struct run *run, bool ok, bool writes,
                 const struct run_result *result)
{
    if (run->reason == RUN_MANUAL || run->kind == RUN_REMOVE)
        o->excused = true;
    if (file_of(o, run) == NULL)
        return;
    if (ok) {
        note_known(o, run, result->end.stage);
    } else if (writes) {
        o->writes++;
        o->unsure[at(o, run)] = true;
    }
}

void outputs_cut(struct outputs *o, const struct run *run, bool writes, uint64_t bytes)
{
    struct output_files_file *f = file_of(o, run);

    if (f == NULL || !writes || outputs_holds(o, run, bytes))
        return;
    o->writes++;
    o->unsure[at(o, run)] = true;
    f->is = run->kind != RUN_REMOVE;
    f->bytes = bytes;
}

void outputs_begin_apply(struct outputs *o)
{
    if (o->writes == o->applied && !o->excused)
        panic("%s: is applied, and nothing was written since", o->rules->name);
    o->features[FEATURE_KEPT_APPLY] += o->kept && o->writes > o->applied;
    o->kept = false;
    o->covers = o->writes;
    o->excused = false;
    o->number = disk_number(o->disk);
}

void outputs_end_apply(struct outputs *o, bool ok)
{
    o->excused = o->excused || !ok;
    o->number = disk_number(o->disk);
    if (ok)
        o->applied = o->covers;
}

void outputs_begin_hook(struct outputs *o)
{
    o->kept = o->writes > o->applied;
}

void outputs_crash(struct outputs *o)
{
    for (size_t i = 0; i < API_KEYS; i++) {
        o->unsure[i] = o->unsure[i] || o->numbers[i] > o->disk->written;
        o->numbers[i] = 0;
    }
    o->excused = o->excused || o->number > o->disk->written;
    o->number = 0;
    o->kept = o->writes > o->applied;
}

void outputs_check_quiet(const struct outputs *o)
{
    if (o->rules->applies && o->writes > o->applied)
        panic("%s: all is quiet, and what it wrote was never applied", o->rules->name);
}
