/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verb - the description of a command of informerctl, and functions that commands share; driver.
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

/* One command. It has method, put_target and print: the request, and how the answer is printed. Or
 * it has only `run`, which does everything itself. */
struct verb {
    const char *name;
    const char *arguments;
    const char *help;
    size_t min; /* the least and the most arguments */
    size_t max;
    unsigned options; /* enum verb_option */
    const char *method;
    void (*put_target)(struct buf *out, const struct args *a);
    enum err_kind (*print)(struct verb_call *c, struct err *err);
    bool (*fits)(const struct args *a); /* does the command take these? NULL = it takes any */
    enum command_exit (*run)(const struct args *a, struct buf *out, struct buf *complaint);
};

/* One answer of the daemon that is being printed. */
struct verb_call {
    const struct args *args;
    struct str json;
    struct buf *out;
    enum command_exit exit; /* the exit code if print succeeds; EXIT_FINE before */
};

/* Sends the request of a command without `run`, and prints the answer. Parameters and result as for
 * command_run(). */
enum command_exit verb_ask(const struct verb *v, const struct args *a, struct buf *out,
                           struct buf *complaint);

/* Appends the daemon's own answer, and a newline unless it ends with one. */
void verb_put_json(struct verb_call *c);

/* Appends the answer in the format that -o asks for: a table, keys, or the JSON itself.
 * ERR_PROTOCOL: the answer is no JSON. */
enum err_kind verb_put_rows(struct verb_call *c, const struct listing *l, enum listing_rows rows,
                            struct err *err) MUST_CHECK;

/* Appends the path "/v1/" folder "/" name "/" what, and "/" key if key is not NULL. name and key
 * are escaped. */
void verb_put_path(struct buf *out, const char *folder, const char *name, const char *what,
                   const char *key);

/* The wall clock in seconds since 1970. */
int64_t verb_now_s(void);

/* Milliseconds of a clock that only goes forward. */
uint64_t verb_now_ms(void);

/* Sleeps; a signal may end the sleep early. */
void verb_pause(unsigned ms);

#endif
