/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/json_member.h"

#include "base/visible.h"

void json_member_text(struct json_out *j, const char *key, const char *value)
{
    json_out_key(j, key);
    json_out_cstr(j, value);
}

void json_member_str(struct json_out *j, const char *key, struct str value)
{
    json_out_key(j, key);
    if (value.n > 0)
        json_out_str(j, value);
    else
        json_out_null(j);
}

void json_member_shown(struct json_out *j, const char *key, const char *value)
{
    struct buf shown = {0};

    visible_put(&shown, str_c(value));
    json_member_text(j, key, value != NULL ? buf_cstr(&shown) : NULL);
    buf_free(&shown);
}

void json_member_count(struct json_out *j, const char *key, uint64_t value)
{
    json_out_key(j, key);
    json_out_u64(j, value);
}

void json_member_flag(struct json_out *j, const char *key, bool value)
{
    json_out_key(j, key);
    json_out_bool(j, value);
}

void json_member_seconds(struct json_out *j, const char *key, bool known, uint64_t ms)
{
    json_out_key(j, key);
    if (known)
        json_out_ms_as_s(j, ms);
    else
        json_out_null(j);
}

void json_member_age(struct json_out *j, const char *key, uint64_t then_ms, uint64_t now_ms)
{
    json_member_seconds(j, key, then_ms > 0, now_ms > then_ms ? now_ms - then_ms : 0);
}

void json_member_time(struct json_out *j, const char *key, uint64_t wall_ns)
{
    json_out_key(j, key);
    if (wall_ns > 0)
        json_out_time(j, wall_ns);
    else
        json_out_null(j);
}

void json_member_raw(struct json_out *j, const char *key, struct str bytes)
{
    json_out_key(j, key);
    json_out_str(j, bytes);
}
