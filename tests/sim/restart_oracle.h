/* SPDX-License-Identifier: Apache-2.0 */
/*
 * restart_oracle - judges the hooks of a daemon that remembers, over all of its lives, by what their
 * programs were told and by what can be on disk: nothing is lost, and nothing that was handled is
 * told again but what was in flight. It knows nothing of ledgers. Panics if a promise is broken.
 */
#ifndef SIM_RESTART_ORACLE_H
#define SIM_RESTART_ORACLE_H

#include "hook/hook.h"
#include "sim/delivery_model.h"
#include "sim/disk.h"
#include "sim/feature.h"

/* A key of a source, as one hook knows it; DELIVERY_MODEL_OUTAGE: that the source is stale. */
struct restart_oracle_key {
    struct api_object now;     /* in the cache of this life; uid 0 = none */
    struct api_object told;    /* the last thing that a program was told ... */
    bool told_end;             /* ... as an end */
    bool done;                 /* ... and it succeeded */
    struct api_object handled; /* the state of the last success; uid 0 = none, or over */
    struct api_object skipped; /* as it was when existing = "skip" passed it over */
    bool excused;              /* what was told last may be told again: it was in flight */
    bool renewed;              /* what was done for it is gone ... */
    uint64_t renewed_uid;      /* ... for this life; 0 = none, or no disk may know of it */
    bool parked;               /* its last run was one too many ... */
    bool was_parked;           /* ... on disk */
    bool moved;                /* something has changed since then, be it undone */
    bool whole;                /* what this life was given of it first is what was handled */
    uint64_t number;           /* the batch with what is known of it */
};

/* A uid of a source, as one hook knows it. */
struct restart_oracle_life {
    bool announced; /* perhaps to the disk alone */
    bool ended;     /* and that is handled */
};

struct restart_oracle_hook {
    const struct rules *rules;
    struct restart_oracle_key keys[RULES_SOURCES][DELIVERY_MODEL_KEYS];
    struct restart_oracle_life lives[RULES_SOURCES][API_LIVES];
    bool open[RULES_SOURCES];
    bool seen[RULES_SOURCES];     /* by an earlier life, or this one; on disk */
    bool was_seen[RULES_SOURCES]; /* when this life began */
    bool paused;
    bool was_paused; /* on disk */
    bool owed;       /* snapshot: there may be a run without changes ... */
    bool cut_off;    /* ... and one has begun, and none has succeeded since */
    bool lacks;      /* the last snapshot did not show a source that an earlier one did */
    bool renewed;    /* once */
    bool renewing;   /* and no run has succeeded since */
    unsigned begun;  /* lives since then */
    bool parked;     /* modes batch and snapshot, by this life */
    uint64_t number; /* of owed */
};

struct restart_oracle {
    struct clock *clock;
    const struct api *api;
    struct disk *disk;
    uint64_t *features; /* FEATURES counts */
    bool loading;       /* what is told is what an earlier life has left */
    struct restart_oracle_hook hooks[HOOKS];
};

/* Nothing was told. All is borrowed; rules: HOOKS of them. */
void restart_oracle_init(struct restart_oracle *w, struct clock *clock, const struct api *api,
                         const struct rules *rules, struct disk *disk, uint64_t *features);

/* The settings of a hook, or what it did, are gone before the next life. */
void restart_oracle_renew(struct restart_oracle *w, size_t hook);

/* A life begins; it is told what it has until restart_oracle_loaded(). */
void restart_oracle_begin(struct restart_oracle *w, const struct hooks *hooks);
/* See above. */
void restart_oracle_loaded(struct restart_oracle *w);

/* A source tells of a change; before the hooks hear of it. */
void restart_oracle_delta(struct restart_oracle *w, size_t number, const struct delta *d);

/* One is stale, or fresh again. */
void restart_oracle_stale(struct restart_oracle *w, size_t number, bool stale);

/* Hooks may have seen sources. */
void restart_oracle_look(struct restart_oracle *w, const struct hooks *hooks);

/* A person stops a hook, or lets it go on. */
void restart_oracle_pause(struct restart_oracle *w, size_t hook, bool paused);

/* A run has left the schedule: may it? */
void restart_oracle_begin_run(struct restart_oracle *w, const struct run *run);

/* Its program starts. */
void restart_oracle_tell(struct restart_oracle *w, const struct run *run);

/* It ends; before hooks_finish(). */
void restart_oracle_end(struct restart_oracle *w, const struct run *run,
                        const struct run_result *result);

/* Its unit, that of a key in mode object, is parked behind that, or not. */
void restart_oracle_verdict(struct restart_oracle *w, size_t hook, size_t source, size_t key,
                            bool parked);

/* The daemon dies while it is under way. Before restart_oracle_crash(). */
void restart_oracle_cut(struct restart_oracle *w, const struct run *run, bool started);

/* The daemon has died; how much of its batches is on disk is known. */
void restart_oracle_crash(struct restart_oracle *w);

/* All is quiet, and nothing of the hook is parked. */
void restart_oracle_check_quiet(const struct restart_oracle *w, size_t hook);

/* The hook core says that the unit of a key is parked: may it be? */
bool restart_oracle_may_park(const struct restart_oracle *w, size_t hook, size_t source,
                             size_t key);

/* For the files of witness: the flag is this when what is put in this turn is on disk. */
void restart_oracle_put(struct restart_oracle *w, bool *flag, bool value);

/* See above. */
void restart_oracle_set_parked(struct restart_oracle *w, struct restart_oracle_key *k, bool parked);

/* Was this state of a key passed over, so that nobody need have been told of it? */
bool restart_oracle_skips(const struct restart_oracle *w, size_t hook, size_t source, size_t key,
                          const struct api_object *now);

#endif
