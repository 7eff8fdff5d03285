/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json_member - members of JSON objects, name and value in one call; pure.
 */
#ifndef PROTO_JSON_MEMBER_H
#define PROTO_JSON_MEMBER_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/json_out.h"

/* A string; NULL gives null. */
void json_member_text(struct json_out *j, const char *key, const char *value);

/* A string; an empty one gives null. */
void json_member_str(struct json_out *j, const char *key, struct str value);

/* A number. */
void json_member_count(struct json_out *j, const char *key, uint64_t value);

/* True or false. */
void json_member_flag(struct json_out *j, const char *key, bool value);

/* A duration in seconds with milliseconds; null when it is not known. */
void json_member_seconds(struct json_out *j, const char *key, bool known, uint64_t ms);

/* How long ago a moment was, in seconds; null when it never came (0). */
void json_member_age(struct json_out *j, const char *key, uint64_t then_ms, uint64_t now_ms);

/* A time, RFC 3339 with nanoseconds; 0 gives null. */
void json_member_time(struct json_out *j, const char *key, uint64_t wall_ns);

/* A string of whatever bytes a program printed: broken UTF-8 becomes U+FFFD, and control
 * characters, those behind ASCII too, are escaped, so that a terminal may be shown the JSON. */
void json_member_raw(struct json_out *j, const char *key, struct str bytes);

#endif
