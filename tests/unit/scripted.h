/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scripted - informerctl against a socket that answers from a script: its requests, its output, its
 * exit code.
 */
#ifndef UNIT_SCRIPTED_H
#define UNIT_SCRIPTED_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "ctl/command.h"

/* One request on a connection of its own, and its answer. */
struct scripted_exchange {
    const char *request; /* "POST /v1/watches/w/relist" */
    int status;
    const char *body; /* SCRIPTED_SILENT: the answer has no end, and nothing of it comes */
};

#define SCRIPTED_SILENT NULL

/* The output and exit code that informerctl must have. */
struct scripted_wanted {
    enum command_exit code;
    const char *out;       /* NULL = anything */
    const char *complaint; /* a part of the output; "" = there is none */
};

/* Runs informerctl with these words (the last is NULL) against a daemon that knows the script (the
 * last has no request). informerctl must make all requests of the script, in this order. */
void scripted_check(const struct scripted_exchange *script, const char *const *words,
                    struct scripted_wanted wanted);

/* The same for a command that ends with EXIT_FINE, whose output ends with these words. */
void scripted_check_end(const struct scripted_exchange *script, const char *const *words,
                        const char *end);

#define WORDS(...)  ((const char *const[]){__VA_ARGS__, NULL})
#define SCRIPT(...) ((const struct scripted_exchange[]){__VA_ARGS__, {0}})

#endif
