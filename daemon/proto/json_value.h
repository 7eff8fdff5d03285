/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json_value - what a JSON text says, however it is written; pure. White space, the order of
 * members and escapes make no difference, nor does a member that is absent in other words. Numbers
 * are taken as they are written.
 */
#ifndef PROTO_JSON_VALUE_H
#define PROTO_JSON_VALUE_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/json_in.h"

/* Is such a member the same as none? A creationTimestamp that is null: servers before Kubernetes
 * 1.34 write it in each template. */
bool json_value_is_void(struct str name, enum json_type type);

/* A digest of the value, or of several in their order: equal values have equal ones, others in
 * practice never. A member whose value was cut out of the text counts as absent. What is no JSON
 * has a digest, too, by its bytes. */
uint64_t json_value_digest(struct str text);

#endif
