/* SPDX-License-Identifier: Apache-2.0 */
/*
 * outbox - a real helper with one hook that has an output file in a folder of the test's own: runs of
 * its programs OUTPUT and REMOVE, and what is in the folder then.
 */
#ifndef UNIT_OUTBOX_H
#define UNIT_OUTBOX_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "helped.h"
#include "helper/helper.h"

enum { OUTBOX_HOOK = 1 };

struct outbox {
    struct helped w;
    char folder[64];
    struct helper_output output; /* until outbox_start() the test's to change */
    struct helper_hook hook;     /* as that */
    char *template;
    uint64_t id; /* of the last run */
    int out;     /* reading end of its stdout and stderr */
};

/* Makes the folder; template is what comes behind it. */
void outbox_init(struct outbox *o, const char *template);

/* Starts the helper. */
void outbox_start(struct outbox *o);

/* Both. */
void outbox_open(struct outbox *o, const char *template);

/* Ends the helper and removes the folder. */
void outbox_close(struct outbox *o);

/* Starts a run; namespace may be "". */
void outbox_begin(struct outbox *o, enum wire_program program, const char *namespace,
                  const char *name, const char *bytes);

/* Waits for its end. */
void outbox_await(struct outbox *o);

/* OUTPUT of object "shop/web", to its end, which must be this. */
void outbox_write(struct outbox *o, const char *bytes, const char *stage);

/* The same with NOT_STARTED. */
void outbox_refuse(struct outbox *o, const char *bytes, const char *stage, int error);

/* REMOVE of object "shop/web", to its end. */
void outbox_remove(struct outbox *o, const char *stage);

/* The end of the last run. */
void outbox_expect(const struct outbox *o, enum helper_link_how how, int value, const char *stage);

/* A path in the folder; valid until the next but three. */
const char *outbox_path(const struct outbox *o, const char *name);

/* A file there must have these bytes; NULL = must not exist. */
void outbox_expect_file(const struct outbox *o, const char *name, const char *bytes);

/* Writes a file there, as the test. */
void outbox_put(const struct outbox *o, const char *name, const char *bytes);

/* lstat() of something there. */
struct stat outbox_stat(const struct outbox *o, const char *name);

/* How many names a folder there has; "" = the folder itself. */
size_t outbox_count(const struct outbox *o, const char *name);

#endif
