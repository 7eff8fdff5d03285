/* SPDX-License-Identifier: Apache-2.0 */
/*
 * output_files - the output files of one simulated hook, which outlive the daemon, and a naive
 * model of when they must be applied, by docs/design.md "Output files", "Apply". Panics if a
 * promise is broken.
 */
#ifndef SIM_OUTPUT_FILES_H
#define SIM_OUTPUT_FILES_H

#include "sim/feature.h"
#include "sim/rules.h"

/* The file at a path: one for each key in mode object, else the first only. */
struct output_files_file {
    bool is;
    uint64_t bytes;
    bool left; /* by an earlier process, and no run of this process has looked at it */
    bool seen; /* this process knows the content that the file has or had: */
    uint64_t digest;
    size_t owner;     /* the source of the key that has the file, plus 1; 0 = no key */
    bool contested;   /* another key wanted the file */
    uint64_t version; /* of the last write */
};

struct output_files {
    const struct rules *rules;
    struct clock *clock;
    uint64_t *features;
    struct output_files_file files[API_KEYS];
    uint64_t writes; /* so many in all */
    /* The rest is of this process. A touch is a write, or a look that may find a file which was
     * never applied. */
    uint64_t wants;      /* the number of the touch that must be applied; 0 = none */
    uint64_t covers;     /* writes when the apply under way began */
    uint64_t touched_ms; /* the first touch since the last start of apply; NEVER_MS = none */
    uint64_t covered_ms; /* touched_ms as it was at the last start */
    uint64_t last_ms;    /* the last touch */
    uint64_t first_ms;   /* the first touch of the burst that settles */
    bool running;
    bool parked;
    bool not_started;
    bool ordered;
    bool hurried;       /* the apply that is due is that of the first runs */
    bool shut;          /* as seen last: paused, or the first runs have not ended */
    bool busy;          /* as seen last: the command runs */
    bool awake;         /* as seen last */
    uint64_t others_ms; /* the same */
    bool ready;         /* the burst has settled */
    uint64_t opened_ms; /* until then shut or awake was true */
    unsigned failures;
    uint64_t ended_ms;
    uint64_t free_ms; /* min_interval */
};

/* A process of the daemon starts that remembers nothing of the files. */
void output_files_begin_life(struct output_files *s);

/* A run of the command or a removal starts. Returns whether the run must be refused, as its file
 * belongs to another key. *nothing: it is the removal of a file that belongs to another key. */
bool output_files_claim(struct output_files *s, const struct run *run, bool *nothing);

/* The run ends; bytes is the content that it would write. writes: the file has that content from
 * now on, although the run may have failed. If ok, fills in the members of the result about the
 * file. */
void output_files_end(struct output_files *s, const struct run *run, bool ok, bool writes,
                      uint64_t bytes, struct run_result *result);

/* Lets go of the file if the key's file is gone for good, or never was there. True if another key
 * that wanted the file may have it now. */
bool output_files_release(struct output_files *s, const struct run *run,
                          const struct run_result *result);

/* The first runs are over. True if an apply of their files is due. */
bool output_files_end_first(struct output_files *s);

/* A person wants a manual run of the whole hook. */
void output_files_order(struct output_files *s);

/* The state of the hook that apply depends on. */
struct output_files_view {
    bool shut;
    bool busy;  /* the command runs */
    bool awake; /* the command runs, or may be about to, or that of a hook which shares apply */
    uint64_t others_ms; /* apply may have to wait until then for hooks that share it */
};

/* Called before and behind each look at the schedule: notes the state of the hook, and panics if
 * apply is late. */
void output_files_look(struct output_files *s, const struct output_files_view *v);

/* Until when another hook may have to wait for this one, with which it shares apply, and whose
 * command rests. */
uint64_t output_files_delays_ms(const struct output_files *s, const struct output_files *other);

/* The reason for which a run of apply may not be for this hook; NULL = there is none. */
const char *output_files_refuses(const struct output_files *s);

/* The reason for which no run of apply may start because of this hook alone; NULL = there is none. since_ms:
 * the first write that waits, of this hook or of one that shares the run; NEVER_MS = none waits. */
const char *output_files_waits(const struct output_files *s, uint64_t since_ms);

/* A run of apply starts. */
void output_files_begin_apply(struct output_files *s, const struct run *run);

/* The run of apply ends. */
void output_files_end_apply(struct output_files *s, const struct run_result *result);

/* Is an apply due or under way? */
bool output_files_due(const struct output_files *s);

/* All is quiet: panics if a file is not applied. */
void output_files_check_quiet(const struct output_files *s);

#endif
