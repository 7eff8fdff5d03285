/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hook_call - answers /v1/runs, /v1/pause, /v1/resume and the paths below /v1/hooks/NAME; pure.
 */
#ifndef ADMIN_HOOK_CALL_H
#define ADMIN_HOOK_CALL_H

struct call;

/* The most keys of one answer of hook_call_why(). */
enum { HOOK_CALL_KEYS = 1000 };

/* Lists the runs that have ended, of all hooks or of the hook in the path, the newest last. To a
 * peer that is not privileged, the output of hooks that get Secrets is not shown. */
void hook_call_runs(struct call *c);

/* Says what the hook in the path, or one key of it, waits for: {"hook":H,"units":[...],"left_out":N}.
 * Each unit is one work item: program, source, key, reason, of, text, before_restart, until,
 * failures, event {type, cause, received}, digest, last_run (as in the list of runs, without
 * output). A unit for the hook as a whole, with key null, stands first; in mode object it is left
 * out if its reason is HANDLED and keys are pending. Then a unit for apply, if the hook has one. In
 * mode object the pending keys follow, the longest waiting first; left_out counts those beyond
 * HOOK_CALL_KEYS. With a key in the path there is a unit for each source that knows the key. Digests
 * of a hook that gets Secrets are shown to privileged peers only. */
void hook_call_why(struct call *c);

/* Shows the input document that a run would get now. */
void hook_call_input(struct call *c);

/* Starts a manual run of the hook, or of one key; the answer has its number. */
void hook_call_run(struct call *c);

/* Says how far a manual run is, by its number: {"order":N,"units":N,"left":N,"failed":N}. */
void hook_call_order(struct call *c);

/* Pauses or resumes the hook in the path, or all hooks:
 * {"hooks":{NAME:{"paused":BOOL,"changed":BOOL,"running":N}},"kept":BOOL}. kept: the pause is
 * remembered over a restart. */
void hook_call_pause(struct call *c);

#endif
