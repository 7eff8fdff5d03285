/* SPDX-License-Identifier: Apache-2.0 */
/*
 * output_rig - a real helper with one hook that has an output file in a folder of the test's own:
 * runs of its programs OUTPUT and REMOVE, and a look at the folder.
 */
#ifndef UNIT_OUTPUT_RIG_H
#define UNIT_OUTPUT_RIG_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "helper/helper.h"
#include "helper_rig.h"

enum { OUTPUT_RIG_HOOK = 1 };

struct output_rig {
    struct helper_rig w;
    char folder[320];
    struct helper_output output; /* the test may change it until output_rig_start() */
    struct helper_hook hook;     /* as output */
    char *template;
    uint64_t id; /* of the last run */
    int out;     /* reading end of its stdout and stderr */
};

/* Makes the folder; the path of the output file is that of the folder and template. */
void output_rig_init(struct output_rig *o, const char *template);

/* The same in the folder `parent`, an absolute path. */
void output_rig_init_in(struct output_rig *o, const char *parent, const char *template);

/* Starts the helper. */
void output_rig_start(struct output_rig *o);

/* output_rig_init(), then output_rig_start(). */
void output_rig_open(struct output_rig *o, const char *template);

/* output_rig_open() with the template "/f", for a file that root gives away: its owner (-1 = as it
 * comes) and mode. */
void output_rig_open_owned(struct output_rig *o, uid_t uid, gid_t gid, mode_t mode);

/* Ends the helper and removes the folder. */
void output_rig_close(struct output_rig *o);

/* Starts a run; namespace may be "". */
void output_rig_begin(struct output_rig *o, enum run_program program, const char *namespace,
                      const char *name, const char *bytes);

/* Waits for the end of the last run. */
void output_rig_await(struct output_rig *o);

/* OUTPUT of object "shop/web", to its end, which must have this stage; of the check: "check", or
 * "exec check" if it was refused. */
void output_rig_write(struct output_rig *o, const char *bytes, const char *stage);

/* OUTPUT of object "shop/web", which must not start, with this stage and error. */
void output_rig_refuse(struct output_rig *o, const char *bytes, const char *stage, int error);

/* REMOVE of object "shop/web", to its end, which must have this stage. */
void output_rig_remove(struct output_rig *o, const char *stage);

/* Asserts the end of the last run. */
void output_rig_expect(const struct output_rig *o, enum run_end_kind how, int value,
                       const char *stage);

/* The path of a name in the folder; valid until the next call but three. */
const char *output_rig_path(const struct output_rig *o, const char *name);

/* A file there must have these bytes; NULL = must not exist. */
void output_rig_expect_file(const struct output_rig *o, const char *name, const char *bytes);

/* Writes a file there, as the test. */
void output_rig_put(const struct output_rig *o, const char *name, const char *bytes);

/* lstat() of something there. */
struct stat output_rig_stat(const struct output_rig *o, const char *name);

/* How many names a folder there has; "" = the folder itself. */
size_t output_rig_count(const struct output_rig *o, const char *name);

#endif
