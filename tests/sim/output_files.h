/* SPDX-License-Identifier: Apache-2.0 */
/*
 * output_files - the output files of one simulated hook, which outlive the daemon, and what must be
 * applied of them and when, by docs/design.md "Output files", "Apply" and from the outside. Panics
 * if a promise is broken.
 */
#ifndef SIM_OUTPUT_FILES_H
#define SIM_OUTPUT_FILES_H

#include "sim/delivery_model.h"
#include "sim/feature.h"

/* What lies under a path: by key in mode object, else the first. */
struct output_files_file {
    bool is;
    uint64_t bytes;
    bool left;        /* by an earlier life, and no run of this one has looked at it */
    bool seen;        /* this life knows what it holds ... */
    uint64_t digest;  /* ... or held */
    size_t owner;     /* the source of the key that has it, plus 1; 0 = nobody */
    bool contested;   /* another one wanted it */
    uint64_t version; /* of the last write */
};

struct output_files {
    const struct rules *rules;
    struct clock *clock;
    uint64_t *features;
    struct output_files_file files[API_KEYS];
    uint64_t writes; /* in all */
    /* Of this life: */
    uint64_t wants;      /* the write, or look, that must be applied; 0 = none */
    uint64_t covers;     /* what the apply under way began with */
    uint64_t touched_ms; /* the first one since the last start; NEVER_MS = none */
    uint64_t covered_ms; /* what that was at the last start */
    uint64_t last_ms;    /* the last one */
    uint64_t first_ms;   /* the first one that settles */
    bool running;
    bool parked;
    bool not_started;
    bool ordered;
    bool hurried;       /* it is of the first runs */
    bool shut;          /* paused, or before the first runs have ended; as seen last ... */
    bool busy;          /* the command runs; the same ... */
    bool awake;         /* ... or may be about to */
    bool ready;         /* it has settled */
    uint64_t opened_ms; /* ... and until when that was so */
    unsigned failures;
    uint64_t ended_ms;
    uint64_t free_ms; /* min_interval */
};

/* A process of the daemon starts: it knows nothing. */
void output_files_begin_life(struct output_files *s);

/* A run of the command or a removal starts: must it be refused, as its file is another key's?
 * *nothing: it is to remove what is not its own. */
bool output_files_claim(struct output_files *s, const struct run *run, bool *nothing);

/* It ends: what the file holds is bytes. writes: so it does from now on, although the run may have
 * failed. Fills what the result says of the file if ok. */
void output_files_end(struct output_files *s, const struct run *run, bool ok, bool writes,
                      uint64_t bytes, struct run_result *result);

/* Is the key's file gone for good, or was never there? True if somebody else may have it now. */
bool output_files_release(struct output_files *s, const struct run *run,
                          const struct run_result *result);

/* Nothing of the first runs is left. True if what they wrote is to be applied. */
bool output_files_end_first(struct output_files *s);

/* A person wants all of the hook run. */
void output_files_order(struct output_files *s);

/* How the hook stands. */
struct output_files_view {
    bool shut;
    bool busy;  /* its command runs ... */
    bool awake; /* ... or may be about to */
};

/* How things stand now, before each look at the schedule and behind it: is apply late? */
void output_files_look(struct output_files *s, const struct output_files_view *v);

/* A run of apply starts, and ends. */
void output_files_begin_apply(struct output_files *s, const struct run *run);
/* See above. */
void output_files_end_apply(struct output_files *s, const struct run_result *result);

/* Something is to be applied, or is. */
bool output_files_due(const struct output_files *s);

/* All is quiet: is it applied, and is there nothing that should not be? */
void output_files_check_quiet(const struct output_files *s);

#endif
