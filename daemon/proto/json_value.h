/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json_value - compares JSON texts by value, not by bytes; pure. White space, the order of members,
 * escapes, and members that mean the same as no member make no difference. Numbers are compared as
 * they are written (docs/design.md "Equality").
 */
#ifndef PROTO_JSON_VALUE_H
#define PROTO_JSON_VALUE_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/json_in.h"

/* Whether a member of this name and type means the same as no member: a creationTimestamp that is
 * null, which servers before Kubernetes 1.34 write in each template. */
bool json_value_is_void(struct str name, enum json_type type);

/* A digest of the value, or of several values in their order: equal values have equal digests,
 * different ones practically never. A member whose value was cut out of the text counts as absent.
 * A text that is no JSON has a digest, too, computed from its bytes. */
uint64_t json_value_digest(struct str text);

#endif
