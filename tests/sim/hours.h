/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hours - the books of a world that lives for hours: its counts of events, runs and faults, and its
 * memory, each time that it is quiet. Nothing may grow from the first hours to the last ones.
 */
#ifndef SIM_HOURS_H
#define SIM_HOURS_H

#include <stddef.h>
#include <stdint.h>

/* The world at a moment at which all is quiet. Counts are those since its beginning. */
struct hours_sample {
    uint64_t virtual_ms;
    uint64_t changes;
    uint64_t runs;
    uint64_t faults;
    uint64_t lists;
    uint64_t watches;
    uint64_t starts;     /* of the daemon */
    uint64_t incomplete; /* watches that limits.memory has stopped */
    size_t pending;      /* the most keys that were due for all hooks at once in this storm */
    size_t batches;      /* the most batches that were on their way to disk at once in this storm */
    size_t state_rows;   /* on disk */
    size_t state_bytes;  /* of the objects on disk */
    size_t heap_bytes;   /* 0 = the allocator does not say */
};

struct hours {
    uint64_t storms; /* so many in all; the world is quiet after each */
    uint64_t storm_ms;
    struct hours_sample *samples; /* one for each storm that is over */
    size_t n;
};

/* Makes the books of so many hours of storm, with room for all samples. */
void hours_init(struct hours *h, uint64_t hours);

/* Frees the samples. */
void hours_fini(struct hours *h);

/* Comes first in main(): starts the program again, without the allocator's cache of free blocks, which
 * count as used. */
void hours_count_exactly(char **argv);

/* The bytes of the heap that are in use, without those of the books of the judges, which grow. */
size_t hours_heap_bytes(size_t books);

/* A storm is over: keeps what the world shows. */
void hours_note(struct hours *h, const struct hours_sample *s);

/* Prints all samples, and panics if something grows. */
void hours_check(const struct hours *h, uint64_t seed);

#endif
