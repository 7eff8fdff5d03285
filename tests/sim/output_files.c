/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/output_files.h"

#include <inttypes.h>
#include <string.h>

#include "base/panic.h"
#include "hook/shortage.h"

/* apply waits for the command for 10 s at most (docs/design.md "Apply"), and for 1 s after a
 * shortage (docs/design.md "Retry"). */
enum { HOLD_MS = 10000, NOT_STARTED_MS = 1000 };

static uint64_t now(const struct output_files *s)
{
    return s->clock->now_ms;
}

static void count(struct output_files *s, enum feature f)
{
    s->features[f]++;
}

void output_files_begin_life(struct output_files *s)
{
    struct output_files was = *s;

    *s = (struct output_files){.rules = was.rules,
                               .clock = was.clock,
                               .features = was.features,
                               .writes = was.writes,
                               .touched_ms = NEVER_MS,
                               .covered_ms = NEVER_MS,
                               .first_ms = NEVER_MS};
    for (size_t i = 0; i < API_KEYS; i++)
        s->files[i] = (struct output_files_file){
            .is = was.files[i].is, .bytes = was.files[i].bytes, .left = was.files[i].is};
}

/* The file of a run; NULL: the hook has no output. */
static struct output_files_file *file_of(struct output_files *s, const struct run *run)
{
    if (!s->rules->output)
        return NULL;
    return &s->files[s->rules->mode == HOOK_OBJECT ? api_find(str_c(run_key(run))) : 0];
}

static size_t source_of(const struct run *run)
{
    return run_keyed(run) != NULL ? run_keyed(run)->delivery->source : 0;
}

bool output_files_claim(struct output_files *s, const struct run *run, bool *nothing)
{
    struct output_files_file *f = file_of(s, run);

    *nothing = false;
    if (f == NULL)
        return false;
    if (f->owner != 0 && f->owner != source_of(run) + 1) {
        bool removes = run->kind == RUN_REMOVE;

        count(s, removes ? FEATURE_FILE_NOT_OWN : FEATURE_FILE_TAKEN);
        f->contested = f->contested || !removes;
        *nothing = removes;
        return !removes;
    }
    f->owner = source_of(run) + 1;
    return false;
}

/* ---- Files that must be applied */

bool output_files_due(const struct output_files *s)
{
    return s->wants > 0 || s->running || s->ordered;
}

/* When the burst has settled, at the earliest or at the latest. */
static uint64_t settled_ms(const struct output_files *s, bool latest)
{
    const struct work_queue_params *l = &s->rules->apply;
    uint64_t quiet = s->last_ms + l->settle_ms;
    uint64_t last = s->first_ms + l->settle_max_ms;

    if (s->ordered || s->hurried || s->first_ms == NEVER_MS || (s->ready && !latest))
        return 0;
    return latest || last < quiet ? last : quiet;
}

static void touch(struct output_files *s)
{
    if (!s->rules->applies)
        return;
    if (s->first_ms != NEVER_MS && !s->running && now(s) >= settled_ms(s, false))
        s->ready = true;
    s->wants = ++s->writes;
    s->last_ms = now(s);
    if (s->touched_ms == NEVER_MS)
        s->touched_ms = now(s);
    if (s->first_ms == NEVER_MS)
        s->first_ms = now(s);
    if (!s->running)
        s->parked = false;
}

static void want(struct output_files *s)
{
    s->ordered = true;
    s->opened_ms = now(s); /* apply is due from now on, not since its last end */
    s->parked = false;
}

/* A manual run makes apply due at once, if files are not applied and no apply is under way. */
static void want_again(struct output_files *s, bool touched)
{
    if (!s->rules->applies || !output_files_due(s) || (!touched && s->running))
        return;
    want(s);
    if (s->touched_ms == NEVER_MS)
        s->touched_ms = now(s);
}

static void note_same(struct output_files *s, struct output_files_file *f, uint64_t bytes)
{
    if (f->seen && f->digest == bytes) {
        count(s, FEATURE_FILE_SAME);
        return;
    }
    count(s, FEATURE_FILE_FOUND);
    touch(s);
}

static void end_removal(struct output_files *s, struct output_files_file *f,
                        struct run_result *result)
{
    result->end.stage = f->is ? RUN_STAGE_REMOVED : RUN_STAGE_SAME;
    if (f->is || f->seen)
        touch(s);
    count(s, FEATURE_FILE_REMOVED);
    f->is = f->seen = f->left = false;
}

static void end_file(struct output_files *s, const struct run *run, bool ok, bool writes,
                     uint64_t bytes, struct run_result *result)
{
    struct output_files_file *f = run->file != NULL ? file_of(s, run) : NULL;

    if (f == NULL)
        return;
    if (run->kind == RUN_REMOVE && ok) {
        end_removal(s, f, result);
    } else if (ok) {
        bool same = f->is && f->bytes == bytes;

        result->end.stage = same ? RUN_STAGE_SAME : RUN_STAGE_WRITTEN;
        result->digest.lo = bytes;
        if (same)
            note_same(s, f, bytes);
        else
            touch(s);
        f->seen = true;
        f->digest = bytes;
    }
    if (run->kind != RUN_REMOVE && (ok || writes)) {
        f->is = true;
        f->left = false;
        f->bytes = bytes;
    }
    if (!ok && writes)
        count(s, FEATURE_FILE_LATE);
}

void output_files_end(struct output_files *s, const struct run *run, bool ok, bool writes,
                      uint64_t bytes, struct run_result *result)
{
    uint64_t before = s->writes;

    end_file(s, run, ok, writes, bytes, result);
    if (run->manual_runs != 0 && shortage_of(&result->end) == SHORTAGE_NONE)
        want_again(s, s->writes > before);
}

bool output_files_release(struct output_files *s, const struct run *run,
                          const struct run_result *result)
{
    struct output_files_file *f = run->file != NULL ? file_of(s, run) : NULL;
    bool not_started = shortage_of(&result->end) != SHORTAGE_NONE;
    bool removed = run->kind == RUN_REMOVE && run_end_is_good(&result->end);

    if (f == NULL || (not_started ? f->seen : !removed))
        return false;
    bool contested = f->contested;
    f->owner = 0;
    f->contested = false;
    if (contested)
        count(s, FEATURE_FILE_FREED);
    return contested;
}

bool output_files_end_first(struct output_files *s)
{
    s->hurried = output_files_due(s);
    return s->hurried;
}

void output_files_order(struct output_files *s)
{
    want_again(s, false);
}

/* ---- When apply must start */

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static uint64_t deadline_ms(const struct output_files *s)
{
    uint64_t due = later(s->others_ms, later(s->free_ms, s->opened_ms));

    if (s->touched_ms != NEVER_MS && s->awake)
        due = later(due, s->touched_ms + HOLD_MS);
    if (s->not_started)
        return later(due, s->ended_ms + NOT_STARTED_MS);
    if (s->ordered)
        return due;
    if (s->failures > 0)
        return later(due, s->ended_ms + s->rules->apply.retry.max_ms);
    return later(due, settled_ms(s, true));
}

void output_files_look(struct output_files *s, const struct output_files_view *v)
{
    if (!s->rules->applies)
        return;
    if (s->shut || s->awake)
        s->opened_ms = now(s);
    s->shut = v->shut;
    s->busy = v->busy;
    s->awake = v->awake;
    s->others_ms = v->others_ms;
    if (output_files_due(s) && !s->running && !s->parked && !v->shut && now(s) > deadline_ms(s))
        panic("%s: should have been applied at %" PRIu64 ", it is %" PRIu64 " (%u failures)",
              s->rules->name, deadline_ms(s), now(s), s->failures);
}

uint64_t output_files_delays_ms(const struct output_files *s, const struct output_files *other)
{
    uint64_t until = later(s->free_ms + other->rules->apply.min_interval_ms,
                           s->ended_ms + s->rules->apply.retry.initial_ms);

    if (s->not_started)
        until = later(until, s->ended_ms + NOT_STARTED_MS);

    return output_files_due(s) ? later(until, settled_ms(s, true)) : until;
}

const char *output_files_refuses(const struct output_files *s)
{
    if (s->running || s->shut)
        return s->running ? "twice at a time" : "while it must not";
    return output_files_due(s) ? NULL : "though nothing has changed";
}

const char *output_files_waits(const struct output_files *s, uint64_t since_ms)
{
    if (s->parked)
        return "though it is parked";
    if (now(s) < s->free_ms)
        return "before min_interval is over";
    if (s->busy && since_ms != NEVER_MS && now(s) < since_ms + HOLD_MS)
        return "while more may come";
    if (s->not_started && !s->ordered && now(s) < s->ended_ms + NOT_STARTED_MS)
        return "at once after it could not be started";
    if (s->failures == 0 && !s->not_started && now(s) < settled_ms(s, false))
        return "before it has settled";
    if (s->failures > 0 && !s->not_started && !s->ordered &&
        now(s) < s->ended_ms + s->rules->apply.retry.initial_ms)
        return "at once after it failed";
    return NULL;
}

static void count_start(struct output_files *s)
{
    count(s, FEATURE_APPLY);
    if (s->failures > 0)
        count(s, FEATURE_APPLY_RETRY);
    if (s->ordered)
        count(s, FEATURE_APPLY_ORDERED);
    if (s->busy)
        count(s, FEATURE_APPLY_HELD);
    if (s->hurried)
        count(s, FEATURE_APPLY_FIRST);
}

void output_files_begin_apply(struct output_files *s, const struct run *run)
{
    ensure(s->rules->applies);
    unsigned attempt = s->failures + 1;
    /* A run that hooks share counts as the attempt of the one that has failed most often. */
    bool is_right = run->other_count > 0 ? run->attempt >= attempt : run->attempt == attempt;

    if (!is_right || run->event_count > 0)
        panic("%s: is applied with another input", s->rules->name);
    count_start(s);
    s->running = true;
    s->ordered = s->hurried = s->not_started = s->ready = s->parked = false;
    s->covers = s->writes;
    s->covered_ms = s->touched_ms;
    s->touched_ms = s->first_ms = NEVER_MS;
    s->free_ms = now(s) + s->rules->apply.min_interval_ms;
}

static void note_failure(struct output_files *s)
{
    unsigned attempts = s->rules->apply.attempts;
    bool spent = attempts > 0 && s->failures + 1 >= attempts;

    s->failures++;
    s->parked = spent && s->touched_ms == NEVER_MS && !s->ordered;
    if (s->parked)
        count(s, FEATURE_APPLY_PARKED);
}

void output_files_end_apply(struct output_files *s, const struct run_result *result)
{
    bool ok = run_end_is_good(&result->end);

    s->running = false;
    s->ended_ms = s->opened_ms = now(s);
    s->not_started = shortage_of(&result->end) != SHORTAGE_NONE;
    if (s->not_started) {
        count(s, FEATURE_APPLY_NOT_STARTED);
        s->free_ms = 0;
        if (s->covered_ms != NEVER_MS)
            s->touched_ms = s->covered_ms;
        return;
    }
    if (!ok) {
        note_failure(s);
        return;
    }
    s->failures = 0;
    if (s->wants > s->covers)
        count(s, FEATURE_APPLY_AGAIN);
    else
        s->wants = 0;
}

/* ---- When all is quiet */

void output_files_check_quiet(const struct output_files *s)
{
    if (s->rules->applies && output_files_due(s) && !s->parked)
        panic("%s: all is quiet, and what it wrote is not applied", s->rules->name);
}
