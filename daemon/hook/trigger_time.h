/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trigger_time - when the change was made that an EndpointSlice or Endpoints is there for: the
 * annotation endpoints.kubernetes.io/last-change-trigger-time of the endpoint controllers, from which
 * kube-proxy measures, too; pure.
 */
#ifndef HOOK_TRIGGER_TIME_H
#define HOOK_TRIGGER_TIME_H

#include "base/str.h"

struct object;

/* The time as the annotation has it, borrowed (base/rfc3339 reads it). Empty: the object is of another kind,
 * does not have the annotation in its first 4 KiB, or had the same time in its state before (NULL = none is
 * known). */
struct str trigger_time_new(const struct object *o, const struct object *old);

#endif
