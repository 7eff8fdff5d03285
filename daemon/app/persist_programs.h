/* SPDX-License-Identifier: Apache-2.0 */
/*
 * persist_programs - finds out at the start whether the programs and files of hooks are still what
 * they were; for memory.
 */
#ifndef APP_PERSIST_PROGRAMS_H
#define APP_PERSIST_PROGRAMS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/digest.h"
#include "hook/hook.h"
#include "io/helper_link.h"

struct loop;
struct persist_programs;

/* Called from the loop, each in a turn of its own. */
struct persist_programs_events {
    /* Those of a hook; digest NULL: that could not be found out, and the log says why. */
    void (*on_program)(void *arg, size_t hook, const struct digest *digest);
    /* That was the last one. Once, also if nothing was asked. */
    void (*on_ready)(void *arg);
};

/* Borrowed, but for the struct itself. */
struct persist_programs_params {
    struct loop *loop;
    struct helper_link *link;
    const struct hooks *hooks;
    bool ask; /* false: nothing is kept that it would matter for */
};

/* Asks from the next turn on. Never NULL. */
struct persist_programs *persist_programs_create(const struct persist_programs_params *params,
                                                 const struct persist_programs_events *events,
                                                 void *arg);

/* The end of a run: false if it is another's (fingerprints_exited()). */
bool persist_programs_exited(struct persist_programs *p, const struct helper_link_exit *end);

/* The end for the user: *p is NULL, nothing is called any more. NULL is fine. */
void persist_programs_dispose(struct persist_programs **p);

#endif
