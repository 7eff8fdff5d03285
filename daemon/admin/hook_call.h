/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hook_call - answers /v1/runs, /v1/pause, /v1/resume and the paths below /v1/hooks/NAME; pure.
 */
#ifndef ADMIN_HOOK_CALL_H
#define ADMIN_HOOK_CALL_H

struct call;

/* Lists the runs that have ended, of all hooks or of the hook in the path. */
void hook_call_runs(struct call *c);

/* Says what the hook in the path, or one key of it, waits for. */
void hook_call_why(struct call *c);

/* Shows the input document that a run would get now. */
void hook_call_input(struct call *c);

/* Starts a manual run of the hook, or of one key; the answer has its number. */
void hook_call_run(struct call *c);

/* Says how far a manual run is, by its number: {"order":N,"units":N,"left":N,"failed":N}. */
void hook_call_order(struct call *c);

/* Pauses the hook in the path, or all hooks:
 * {"hooks":{NAME:{"paused":BOOL,"changed":BOOL,"running":N}},"kept":BOOL}. kept: the pause is
 * remembered over a restart. */
void hook_call_pause(struct call *c);
/* The same to resume. */
void hook_call_resume(struct call *c);

#endif
