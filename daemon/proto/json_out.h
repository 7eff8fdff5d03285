/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json_out - writes JSON into a buffer and sets the commas; pure. Invalid UTF-8 in values becomes
 * U+FFFD, so the result is always valid. Characters that cannot be seen are escaped (base/visible), so it
 * can be shown on a terminal.
 */
#ifndef PROTO_JSON_OUT_H
#define PROTO_JSON_OUT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

struct json_out {
    struct buf *buf; /* borrowed */
    bool comma;      /* a comma is due before the next key or value */
};

/* A writer that appends to buf, which must outlive it. */
struct json_out json_out_to(struct buf *buf);

/* Opens an object with '{' or an array with '['. */
void json_out_open(struct json_out *j, char bracket);
/* Closes the innermost object with '}' or array with ']'. */
void json_out_close(struct json_out *j, char bracket);

/* Writes the name of a member; its value must follow. */
void json_out_key(struct json_out *j, const char *key);

/* Writes a string. */
void json_out_str(struct json_out *j, struct str s);
/* Writes a string; NULL gives null. */
void json_out_cstr(struct json_out *j, const char *s);
/* Writes a number. */
void json_out_u64(struct json_out *j, uint64_t v);
/* Writes milliseconds as a number of seconds with up to three decimals. */
void json_out_ms_as_s(struct json_out *j, uint64_t ms);
/* Writes true or false. */
void json_out_bool(struct json_out *j, bool v);
/* Writes a time as a string: RFC 3339 in UTC with nanoseconds. */
void json_out_time(struct json_out *j, uint64_t wall_ns);
/* Writes null. */
void json_out_null(struct json_out *j);
/* Begins a raw value: writes the comma if one is due. The caller then appends valid JSON to the
 * returned buffer. */
struct buf *json_out_raw(struct json_out *j);

/* Appends s as a JSON string with its quotes, without a comma. */
void json_out_quote(struct buf *out, struct str s);

#endif
