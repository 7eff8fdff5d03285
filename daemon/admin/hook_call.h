/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hook_call - the answers of /v1/runs, /v1/pause, /v1/resume and what is below /v1/hooks/NAME;
 * pure.
 */
#ifndef ADMIN_HOOK_CALL_H
#define ADMIN_HOOK_CALL_H

struct call;

/* Runs that have ended, of all hooks or of the hook of the path. */
void hook_call_runs(struct call *c);

/* What the hook of the path, or a key, waits for. */
void hook_call_why(struct call *c);

/* What a run would be told now. */
void hook_call_input(struct call *c);

/* Has the hook, or a key of it, run. */
void hook_call_run(struct call *c);

/* What became of a hook_call_run(), by its number: {"order":N,"units":N,"left":N,"failed":N}. */
void hook_call_order(struct call *c);

/* Pauses or resumes the hook of the path, or all:
 * {"hooks":{NAME:{"paused":BOOL,"changed":BOOL,"running":N}}}. */
void hook_call_pause(struct call *c);
/* See above. */
void hook_call_resume(struct call *c);

#endif
