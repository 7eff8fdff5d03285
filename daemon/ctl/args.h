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

enum { ARGS_WORDS = 4 };

enum args_output { OUTPUT_TABLE, OUTPUT_WIDE, OUTPUT_NAME, OUTPUT_JSON };

/* The strings are borrowed from argv. */
struct args {
    const char *socket;
    enum args_output output;
    const char *timeout; /* as the user wrote it; NULL = not given */
    uint64_t timeout_ms;
    bool wait;
    bool follow;
    bool help;
    bool version;
    const char *words[ARGS_WORDS]; /* the command and its arguments */
    size_t word_count;
};

/* Overwrites *a with the options and words of argv; argv[0] is skipped. "--" ends the options.
 * ERR_CONFIG: an unknown option, a missing, wrong or needless value, too many words. */
enum err_kind args_parse(struct args *a, int argc, const char *const *argv,
                         struct err *err) MUST_CHECK;

#endif
