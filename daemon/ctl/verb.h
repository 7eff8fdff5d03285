/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verb - what a command of informerctl is made of, and what commands share.
 */
#ifndef CTL_VERB_H
#define CTL_VERB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "ctl/command.h"
#include "ctl/listing.h"

struct args;
struct verb_call;

/* Options that not every command has. */
enum verb_option {
    VERB_NAMES = 1,   /* -o name */
    VERB_TIMEOUT = 2, /* --timeout */
    VERB_WAIT = 4,    /* --wait */
    VERB_FOLLOW = 8,  /* -f */
};

/* What is asked and how the answer is printed, or `run` alone. */
struct verb {
    const char *name;
    const char *arguments;
    const char *help;
    size_t min; /* arguments */
    size_t max;
    unsigned options; /* enum verb_option */
    const char *method;
    void (*put_target)(struct buf *out, const struct args *a);
    enum err_kind (*print)(struct verb_call *c, struct err *err);
    bool (*fits)(const struct args *a); /* are the arguments such as it takes? NULL = all are */
    enum command_exit (*run)(const struct args *a, struct buf *out, struct buf *complaint);
};

/* One answer on its way to the reader. */
struct verb_call {
    const struct args *args;
    struct str json;
    struct buf *out;
    enum command_exit exit; /* if nothing goes wrong */
};

/* Asks the daemon and prints; for verbs without `run`. */
enum command_exit verb_ask(const struct verb *v, const struct args *a, struct buf *out,
                           struct buf *complaint);

/* Appends the daemon's own answer, and a newline if it has none. */
void verb_put_json(struct verb_call *c);

/* Appends the answer as -o says: a table, keys, or as it is. ERR_PROTOCOL: it is no JSON. */
enum err_kind verb_put_rows(struct verb_call *c, const struct listing *l, enum listing_rows rows,
                            struct err *err) MUST_CHECK;

/* Appends the path "/v1/" folder "/" name "/" what, and "/" key if that is not NULL. */
void verb_put_path(struct buf *out, const char *folder, const char *name, const char *what,
                   const char *key);

/* The wall clock in seconds since 1970. */
int64_t verb_now_s(void);

/* A clock that only goes forward. */
uint64_t verb_now_ms(void);

/* Waits. */
void verb_pause(unsigned ms);

#endif
