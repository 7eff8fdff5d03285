/* SPDX-License-Identifier: Apache-2.0 */
/*
 * args - the command line of informerctl; pure. Options may stand before and after the command.
 */
#ifndef CTL_ARGS_H
#define CTL_ARGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define ARGS_SOCKET "/run/informerd/control.sock"

/* How long `run --wait`, `verify` and `wait` wait when --timeout was not given. */
#define ARGS_TIMEOUT "2min"

/* The command, and as many watches as informerd streams at a time (LISTENER_STREAMS). */
enum { ARGS_WORDS = 17 };

enum args_output { OUTPUT_TABLE, OUTPUT_WIDE, OUTPUT_NAME, OUTPUT_JSON };

/* The strings are borrowed from argv. */
struct args {
    const char *socket;
    enum args_output output;
    const char *timeout; /* as the user wrote it; NULL = not given */
    uint64_t timeout_ms;
    const char *wait_for; /* synced, ready or idle; NULL = not given */
    const char *watch;    /* --watch, --hook; NULL = not given */
    const char *hook;
    bool wait;
    bool files;
    bool follow;
    bool with_secrets;
    bool repeat;
    bool dry_run;
    bool help;
    bool version;
    uint32_t given;                /* for args_has() */
    const char *words[ARGS_WORDS]; /* the command and its arguments */
    size_t word_count;
};

/* Overwrites *a with the options and words of argv; argv[0] is skipped. "--" ends the options.
 * ERR_CONFIG: an unknown option, a missing, wrong or needless value, too many words. */
enum err_kind args_parse(struct args *a, int argc, const char *const *argv,
                         struct err *err) MUST_CHECK;

/* The name of the option of a word ("-o", "--output") whose value is the next word; NULL: it is no
 * option, takes no value, or has it already. */
const char *args_option_of(const char *word);

/* Was the option of this name ("output") given? */
bool args_has(const struct args *a, const char *name);

/* Calls cb with the name of each option ("output"), whatever command it belongs to. */
void args_each_option(void (*cb)(void *arg, const char *name), void *arg);

/* The conditions of `wait --for`, with NULL at the end. */
const char *const *args_conditions(void);

/* The timeout that was given, or ARGS_TIMEOUT. */
uint64_t args_timeout_ms(const struct args *a);

#endif
