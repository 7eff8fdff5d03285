/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report - the state of clusters, watches, views and hooks as JSON, and their faults in sentences
 * for people (docs/design.md "Health"); pure. informerctl(1) lists the members that users
 * may rely on (docs/design.md "Status report").
 */
#ifndef ADMIN_REPORT_H
#define ADMIN_REPORT_H

#include <stddef.h>
#include <stdint.h>

struct admin_model;
struct buf;
struct call;
struct gone_hook;
struct hook;
struct json_out;
struct watch;

/* The most skipped objects of a watch that are listed by name. */
enum { REPORT_SKIPS = 100 };

/* Answers GET /v1/status. Its member `degraded` has a sentence for each fault: the state cannot be
 * written; a cluster is another one or has not said yet which it is, its credentials cannot be used
 * or expire soon, or its servers are not verified; a watch is refused by the
 * server, started stale, is stale, or fails before its first list is complete ("watch NAME:
 * forbidden: ..."); the guard holds a list; objects of a watch cannot be used; a key of a hook is
 * pending, or a file of it waits for apply, for longer than limits.pending. A short interruption of
 * a watch is no fault. */
void report_status(struct call *c);

/* Answers {"watches":{...},"views":{...}}. */
void report_watches(struct call *c);

/* Answers {"hooks":{...}}. */
void report_hooks(struct call *c);

/* Answers with the state of the watch's audit and the result of the last one: number (audits that
 * have ended), state, done_age_s, applied, compared, not_compared, differences, keys (the first ones
 * that differ) and error. */
void report_verify(struct call *c, const struct watch *w);

/* Appends the files of a hook that is not configured any more, which stay, as elements of an array, as
 * in left_files; n = how many it has. Returns how many it has then. */
size_t report_put_gone(struct json_out *j, const struct admin_model *m, const struct gone_hook *gh,
                       size_t n);

/* hook: its name; NULL = no hook holds READY back. sentence: why READY was not sent, borrowed. */
typedef void report_not_ready_cb(void *arg, const char *hook, const char *sentence);

/* Calls cb for each hook whose first runs have not ended; with an output file its apply belongs to them.
 * If there is none, READY is about to be sent, and cb is called once. After READY it is not called. */
void report_each_not_ready(const struct admin_model *m, uint64_t now_ms, report_not_ready_cb *cb,
                           void *arg);

#endif
