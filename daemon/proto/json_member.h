/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json_member - writes members of JSON objects, name and value in one call; pure.
 */
#ifndef PROTO_JSON_MEMBER_H
#define PROTO_JSON_MEMBER_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/json_out.h"

/* Writes a string; NULL gives null. */
void json_member_text(struct json_out *j, const char *key, const char *value);

/* Writes a string; an empty one gives null. */
void json_member_str(struct json_out *j, const char *key, struct str value);

/* Writes a string for a reader that shows it as it is, such as a browser: with the escapes of
 * visible_put() as a part of the text. NULL gives null. */
void json_member_shown(struct json_out *j, const char *key, const char *value);

/* Writes a number. */
void json_member_count(struct json_out *j, const char *key, uint64_t value);

/* Writes true or false. */
void json_member_flag(struct json_out *j, const char *key, bool value);

/* Writes a duration in seconds with up to three decimals; null when it is not known. */
void json_member_seconds(struct json_out *j, const char *key, bool known, uint64_t ms);

/* Writes how long ago a moment was, in seconds; null when it never came (then_ms 0). A moment in
 * the future gives 0. */
void json_member_age(struct json_out *j, const char *key, uint64_t then_ms, uint64_t now_ms);

/* Writes a time as RFC 3339 with nanoseconds; 0 gives null. */
void json_member_time(struct json_out *j, const char *key, uint64_t wall_ns);

/* Writes a string of any bytes, such as a program's output; an empty one stays empty. */
void json_member_raw(struct json_out *j, const char *key, struct str bytes);

#endif
