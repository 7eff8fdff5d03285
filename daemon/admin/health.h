/* SPDX-License-Identifier: Apache-2.0 */
/*
 * health - answers /livez, /readyz and /healthz, as text and as JSON (docs/design.md "Health",
 * "Readiness"); pure. Status 200: all is well, and the text is "ok". 503: the reasons follow, one a
 * line.
 *
 * With the query format=json: {"ok":BOOL,"reasons":[{"reason","kind","name","text"}, ...]}. `reason` is
 * a word of docs/doctor.md, or one of /readyz: "first_run" of a hook, or "starting" if no hook is waited
 * for. kind and name are those of the watch, hook or cluster.
 */
#ifndef ADMIN_HEALTH_H
#define ADMIN_HEALTH_H

struct call;

/* /livez looks at nothing: it says only that the event loop runs, so that an outage of the API
 * restarts nothing. */
void health_livez(struct call *c);

/* The reasons are the hooks whose first runs have not ended, or that READY is about to be sent. */
void health_readyz(struct call *c);

/* The reasons are those of `degraded` in the status (admin/faults). */
void health_healthz(struct call *c);

#endif
