/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ask - one request to the daemon, and the message for the user when it fails; driver.
 */
#ifndef CTL_ASK_H
#define CTL_ASK_H

#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "ctl/command.h"
#include "ctl/listing.h"

struct args;
struct client_reply;
struct leaf;

/* Appends a path. %0 in it stands for the command, %1 for its first argument and so on. "/%2" at
 * the end is left out if that argument was not given. An argument is escaped as one part of the
 * path: the '/' in the key NAMESPACE/NAME becomes %2F, and the daemon finds the whole key in one
 * part. */
void ask_put_path(struct buf *out, const char *path, const struct args *a);

/* How a table of the answer looks: as -o says, on this terminal, now. */
struct listing_look ask_look(const struct args *a, enum listing_rows rows);

/* Sends a request for the path (ask_put_path()) and waits for the answer. EXIT_FINE (status 200 or
 * 202): *json is the answer. Otherwise a line in complaint says why. *json is overwritten; the
 * caller frees it. */
enum command_exit ask_daemon(const struct args *a, const char *method, const char *path,
                             struct buf *json, struct buf *complaint) MUST_CHECK;

/* The same with a path that is escaped already. */
enum command_exit ask_target(const struct args *a, const char *method, const char *target,
                             struct buf *json, struct buf *complaint) MUST_CHECK;

/* The same for an answer that has one line and comes when the daemon is ready to give it, however long that
 * takes: no timeout of the connection counts. until_ms: when the caller gives up (clock_ms()), and *json
 * stays empty with EXIT_FINE; 0 = never. */
enum command_exit ask_for_line(const struct args *a, const char *method, const char *target,
                               uint64_t until_ms, struct buf *json,
                               struct buf *complaint) MUST_CHECK;

/* The daemon has refused the request: appends the daemon's own text to complaint, and returns the
 * exit code, which is EXIT_NOT_ALLOWED for status 403 and EXIT_NO for others. */
enum command_exit ask_refused(const struct client_reply *reply, struct buf *complaint);

/* Appends the text of {"error":"..."}, in which the daemon explains a refusal, to arg, a struct buf. The text may
 * quote names of the cluster. For reader_scan(). */
void ask_on_error_leaf(void *arg, const struct leaf *leaf);

/* No answer came: appends the reason to complaint, and returns EXIT_NOT_ALLOWED or
 * EXIT_UNREACHABLE. */
enum command_exit ask_failed(const struct err *why, struct buf *complaint);

/* The answer cannot be read: appends that to complaint, and returns EXIT_UNREACHABLE, as another
 * program than informerd may have answered. */
enum command_exit ask_unreadable(const struct args *a, const struct err *why,
                                 struct buf *complaint);

#endif
