/* SPDX-License-Identifier: Apache-2.0 */
/*
 * persist_programs - finds out at the start whether the programs and files of hooks are the same as
 * before; a part of persist.
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
    /* The programs and files of a hook have this digest; NULL: they could not be read, and the log
     * says why. */
    void (*on_program)(void *arg, size_t hook, const struct digest *digest);
    /* All hooks have been reported. Called once, also if nothing was asked. */
    void (*on_ready)(void *arg);
};

/* Everything is borrowed; the struct itself is copied. */
struct persist_programs_params {
    struct loop *loop;
    struct helper_link *link;
    const struct hooks *hooks;
    bool ask; /* false: no state is kept, so there is nothing to compare with */
};

/* Asks the helper, from the next turn of the loop on. Never NULL; release with
 * persist_programs_dispose(). events must outlive the object. */
struct persist_programs *persist_programs_create(const struct persist_programs_params *params,
                                                 const struct persist_programs_events *events,
                                                 void *arg);

/* The helper reports the end of a process. Returns false if it belongs to somebody else
 * (fingerprints_exited()). */
bool persist_programs_exited(struct persist_programs *p, const struct helper_link_exit *end);

/* The end for the user: *p is NULL, and nothing is called any more. NULL is fine. */
void persist_programs_dispose(struct persist_programs **p);

#endif
