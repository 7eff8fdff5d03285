/* SPDX-License-Identifier: Apache-2.0 */
/*
 * restart_oracle - judges the hooks of a daemon with delivery records, over all of its processes, by the
 * input of their programs and by the records that can be on disk: no change is lost, and no handled
 * state is delivered again unless its run was in flight. It does not read delivery records. Panics if a
 * promise is broken.
 */
#ifndef SIM_RESTART_ORACLE_H
#define SIM_RESTART_ORACLE_H

#include "hook/hook.h"
#include "sim/disk.h"
#include "sim/feature.h"
#include "sim/rules.h"

/* A key of a source, as one hook knows it; key RULES_OUTAGE is the outage of the
 * source. */
struct restart_oracle_key {
    struct api_object now;     /* in the cache of this process; uid 0 = no object */
    struct api_object told;    /* the state that the last program of this key was told */
    bool told_end;             /* the last program was told an end */
    bool done;                 /* the last program succeeded */
    struct api_object handled; /* the state of the last success; uid 0 = none, or over */
    struct api_object skipped; /* the state that existing = "skip" passed over */
    bool excused;              /* told may be delivered again, as its run was in flight */
    bool renewed;              /* the effects for this key are gone */
    uint64_t renewed_uid;      /* the incarnation whose effects are gone; 0 = none, or the disk may
                                * not know of it */
    bool parked;               /* after its last run */
    bool was_parked;           /* parked, as the disk has it */
    bool moved;                /* a change has come since the key was parked, perhaps undone, or a
                                * person wants a run of it */
    bool whole;                /* the state that this process loaded is the handled one */
    uint64_t number;           /* the batch with the last record of the key */
};

/* A uid of a source, as one hook knows it. */
struct restart_oracle_incarnation {
    bool announced; /* delivered, perhaps to the disk only */
    bool ended;     /* its end was handled */
};

struct restart_oracle_hook {
    const struct rules *rules;
    struct restart_oracle_key keys[RULES_SOURCES][RULES_KEYS];
    struct restart_oracle_incarnation *lives[RULES_SOURCES]; /* api->lives elements each */
    bool absent;     /* the configuration does not have the hook */
    bool replaced;   /* by a reload, and restart_oracle_begin_hook() has not come yet */
    bool was_absent; /* a source may have told meanwhile that an object has LEFT */
    bool open[RULES_SOURCES];
    bool seen[RULES_SOURCES];     /* by any process so far; as on disk */
    bool was_seen[RULES_SOURCES]; /* when this process began */
    bool paused;
    bool was_paused; /* as on disk */
    bool owed;       /* snapshot: there may be a run without changes */
    bool cut_off;    /* a run without changes has begun, and no run has succeeded since */
    bool lacks;      /* the last snapshot lacked a source that was seen before */
    bool renewed;    /* the hook was renewed at any time */
    bool renewing;   /* the hook was renewed, and no run has succeeded since */
    unsigned begun;  /* so many processes since then */
    bool parked;     /* modes batch and snapshot: after the last run */
    bool was_parked; /* parked, as the disk has it */
    uint64_t number; /* the batch with the record behind owed */
};

struct restart_oracle {
    struct clock *clock;
    const struct api *api;
    struct disk *disk;
    uint64_t *features; /* FEATURES counts */
    bool loading;       /* deltas show objects that an earlier process has left */
    struct restart_oracle_hook hooks[HOOKS];
};

/* Makes an oracle for hooks that have not run. All pointers are borrowed; rules has HOOKS
 * elements. */
void restart_oracle_init(struct restart_oracle *w, struct clock *clock, const struct api *api,
                         const struct rules *rules, struct disk *disk, uint64_t *features);

/* Frees all that the oracle holds. */
void restart_oracle_fini(struct restart_oracle *w);

/* A hook gets other settings, or loses its effects, before the next process begins. */
void restart_oracle_renew(struct restart_oracle *w, size_t hook);

/* A process begins. Until restart_oracle_loaded() deltas show the loaded objects. */
void restart_oracle_begin(struct restart_oracle *w, const struct hooks *hooks);

/* A reload has dropped the hook. */
void restart_oracle_drop(struct restart_oracle *w, size_t hook);

/* A reload has replaced the hook, which has no open source any more: changes until
 * restart_oracle_begin_hook() are of sources that are replaced, too. */
void restart_oracle_replace(struct restart_oracle *w, size_t hook);

/* A reload has replaced the hook, or has added it again: it knows the states in its records. */
void restart_oracle_begin_hook(struct restart_oracle *w, const struct hook *is);

/* A reload has renewed the hook: its keys are not parked any more. */
void restart_oracle_unpark(struct restart_oracle *w, size_t hook);

/* Such a hook is shown an object of a source, or (NULL) that the source is stale. */
void restart_oracle_show(struct restart_oracle *w, size_t hook, size_t source,
                         const struct object *o);

/* The process has loaded all objects. */
void restart_oracle_loaded(struct restart_oracle *w);

/* A source reports a change. Called before the hooks get it. */
void restart_oracle_delta(struct restart_oracle *w, size_t number, const struct delta *d);

/* A source is stale, or fresh again. */
void restart_oracle_stale(struct restart_oracle *w, size_t number, bool stale);

/* Hooks may have seen further sources. */
void restart_oracle_look(struct restart_oracle *w, const struct hooks *hooks);

/* A person has ordered a run of a key (RULES_KEYS = all keys). If a reload ends the hook before the
 * run starts, the key is due without being ordered any more. */
void restart_oracle_order(struct restart_oracle *w, size_t hook, size_t key);

/* A person pauses or resumes a hook. */
void restart_oracle_pause(struct restart_oracle *w, size_t hook, bool paused);

/* The scheduler has given out a run: panics if it must not. */
void restart_oracle_begin_run(struct restart_oracle *w, const struct run *run);

/* The program of the run starts. */
void restart_oracle_tell(struct restart_oracle *w, const struct run *run);

/* The run ends. Called before hooks_finish(). */
void restart_oracle_end(struct restart_oracle *w, const struct run *run,
                        const struct run_result *result);

/* Whether the work item of the run is parked after its end. */
void restart_oracle_verdict(struct restart_oracle *w, size_t hook, size_t source, size_t key,
                            bool parked);

/* The daemon dies while the run is under way. Called before restart_oracle_crash(). */
void restart_oracle_cut(struct restart_oracle *w, const struct run *run, bool started);

/* The daemon has died, and disk->written says which batches are on disk. */
void restart_oracle_crash(struct restart_oracle *w);

/* All is quiet, and nothing of the hook is parked: panics if the hook owes a snapshot. */
void restart_oracle_check_quiet(const struct restart_oracle *w, size_t hook);

/* The hook says that the work item of a key is parked: may it be? */
bool restart_oracle_may_park(const struct restart_oracle *w, size_t hook, size_t source,
                             size_t key);

/* Only for the files of restart_oracle: the flag gets the value when the batch of this turn is on
 * disk. */
void restart_oracle_put(struct restart_oracle *w, bool *flag, bool value);

/* Only for the files of restart_oracle: the key is parked or not, now and, with the batch of this
 * turn, on disk. */
void restart_oracle_park_whole(struct restart_oracle *w, struct restart_oracle_hook *h,
                               bool parked);

void restart_oracle_set_parked(struct restart_oracle *w, struct restart_oracle_key *k, bool parked);

/* Did existing = "skip" pass over this state of a key, so that no program need have been told of
 * it? */
bool restart_oracle_skips(const struct restart_oracle *w, size_t hook, size_t source, size_t key,
                          const struct api_object *now);

#endif
