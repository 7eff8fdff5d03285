/* SPDX-License-Identifier: Apache-2.0 */
/*
 * forget_call - the requests that forget a hook which is not configured any more (hook/gone); pure.
 */
#ifndef ADMIN_FORGET_CALL_H
#define ADMIN_FORGET_CALL_H

struct call;

/* POST of /v1/hooks/NAME/forget[/files]: 202 with the answer of forget_call_show(). 404: nothing is
 * known of such a hook; 409: it is configured, or is being forgotten, or nothing can be written. */
void forget_call_order(struct call *c);

/* GET of /v1/hooks/NAME/forget: {"hook":NAME, "removing":N, "removed":N, "left":[{"hook", "file",
 * "because"}]} with how many files are still to be removed, how many were removed by the last order,
 * and those that stay. */
void forget_call_show(struct call *c);

#endif
