/* SPDX-License-Identifier: Apache-2.0 */
/*
 * log_call - answers requests about the level of the log; pure.
 */
#ifndef ADMIN_LOG_CALL_H
#define ADMIN_LOG_CALL_H

struct call;

/* GET /v1/log-level: {"level":"debug","configured":"info","watches":{NAME:LEVEL},"hooks":{...}}. */
void log_call_show(struct call *c);

/* POST /v1/log-level/LEVEL[/watch/NAME|/hook/NAME]: sets the level, of all lines or of those about
 * one watch or hook, and answers as log_call_show(). LEVEL may be "default": the configured one;
 * without a name it ends the levels of all watches and hooks, too. */
void log_call_set(struct call *c);

#endif
